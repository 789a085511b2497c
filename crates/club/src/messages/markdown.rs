//! Renders the body of a message as HTML: a safe subset of Markdown without scripts and external resources.
//!
//! Supports paragraphs, line breaks, emphasis, lists, links, headings, code and quotes. HTML in the text is escaped, an
//! image is replaced by its alternative text, and only `http`, `https` and `mailto` links stay links.

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};

/// Renders Markdown as safe HTML.
pub fn html(text: &str) -> String {
    let mut page = String::with_capacity(text.len() * 3 / 2);
    let mut links = Vec::new();
    let events = Parser::new_ext(text, Options::empty());
    html::push_html(&mut page, events.filter_map(|event| sanitize(event, &mut links)));
    page
}

/// The beginning of the text without markup, on one line, of at most `max` characters.
pub fn plain_text(text: &str, max: usize) -> String {
    let mut plain = String::new();
    for event in Parser::new_ext(text, Options::empty()) {
        match event {
            Event::Text(piece)
            | Event::Code(piece)
            | Event::Html(piece)
            | Event::InlineHtml(piece) => {
                plain.push_str(&piece);
            }
            // Inline markup can end in the middle of a word.
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Image) => {}
            Event::SoftBreak | Event::HardBreak | Event::End(_) => plain.push(' '),
            _ => {}
        }
        // Spaces are joined afterwards, so a little more is read.
        if plain.len() > max * 8 {
            break;
        }
    }
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", plain[..end].trim_end()),
        None => plain,
    }
}

/// The sanitized event, or `None` to drop it. `links` has an entry for every open link: whether it stays a link.
fn sanitize<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(tag) => sanitize_start(tag, links),
        Event::End(tag) => sanitize_end(tag, links),
        // A single line break in the text is a line break in the output.
        Event::SoftBreak => Some(Event::HardBreak),
        Event::Rule => None,
        other => Some(other),
    }
}

fn sanitize_start<'a>(tag: Tag<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    let sanitized = match tag {
        Tag::HtmlBlock => Tag::Paragraph,
        Tag::Heading { level, .. } => Tag::Heading {
            level: demote_heading(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        },
        Tag::CodeBlock(_) => Tag::CodeBlock(CodeBlockKind::Indented),
        Tag::Image { .. } => return None,
        Tag::Link { link_type, dest_url, .. } => {
            let href = safe_href(link_type, dest_url);
            links.push(href.is_some());
            return href.map(|href| {
                let link = format!("<a href=\"{href}\" rel=\"nofollow noopener noreferrer\">");
                Event::InlineHtml(link.into())
            });
        }
        other => other,
    };
    Some(Event::Start(sanitized))
}

fn sanitize_end<'a>(tag: TagEnd, links: &mut Vec<bool>) -> Option<Event<'a>> {
    let sanitized = match tag {
        TagEnd::HtmlBlock => TagEnd::Paragraph,
        TagEnd::Heading(level) => TagEnd::Heading(demote_heading(level)),
        TagEnd::Image => return None,
        TagEnd::Link if links.pop() != Some(true) => return None,
        other => other,
    };
    Some(Event::End(sanitized))
}

/// Lowers a heading by two levels: a message is part of a page, whose headings are higher.
fn demote_heading(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// The escaped value of `href`, if the link is a web or email address.
fn safe_href(kind: LinkType, destination: CowStr<'_>) -> Option<String> {
    let prefix = if kind == LinkType::Email { "mailto:" } else { "" };
    let url = format!("{prefix}{destination}");
    let has_scheme = |scheme: &str| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let is_allowed = ["http://", "https://", "mailto:"].iter().any(|scheme| has_scheme(scheme));
    is_allowed.then(|| {
        let escaped = url.replace('&', "&amp;").replace('"', "&quot;");
        escaped.replace('\'', "&#39;").replace('<', "&lt;").replace('>', "&gt;")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All elements that the output may contain, except for line breaks and links.
    const ELEMENTS: &str = "p em strong ul ol li h3 h4 h5 h6 code pre blockquote";

    /// The tags in the output. Every `<` starts a tag, since those in the text are escaped.
    fn tags(page: &str) -> Vec<&str> {
        page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()).collect()
    }

    fn is_harmless(tag: &str) -> bool {
        let rel = "\" rel=\"nofollow noopener noreferrer\"";
        let link = tag.strip_prefix("a href=\"").and_then(|rest| rest.strip_suffix(rel));
        let is_safe_url = |url: &str| {
            let url = url.to_lowercase();
            let is_known = ["http://", "https://", "mailto:"].iter().any(|s| url.starts_with(s));
            is_known && !url.contains('"')
        };
        let start = tag.strip_prefix("ol start=\"").and_then(|rest| rest.strip_suffix('"'));
        ELEMENTS.split(' ').any(|name| name == tag.strip_prefix('/').unwrap_or(tag))
            || matches!(tag, "br /" | "/a")
            || link.is_some_and(is_safe_url)
            || start.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    }

    fn assert_harmless(text: &str) -> std::result::Result<(), TestCaseError> {
        let page = html(text);
        for tag in tags(&page) {
            prop_assert!(is_harmless(tag), "<{}> from {:?}: {}", tag, text, page);
        }
        prop_assert!(!page.to_lowercase().contains("<script"));
        Ok(())
    }

    proptest! {
        #[test]
        fn arbitrary_text_renders_as_safe_html(text in "\\PC{0,200}") {
            assert_harmless(&text)?;
        }

        #[test]
        fn combinations_of_dangerous_fragments_render_as_safe_html(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "<script>", "</script>", "<img src=x onerror=alert(1)>", "<a onclick='x'>", "[a](", ")", "](",
                "javascript:alert(1)", "java&#115;cript:", "jAvAsCrIpT&colon;", "data:text/html,x", "![", "<http://x.org>",
                "<javascript:x>", "http://x.org/\" onclick=\"x", "<http://x.org/'\"onload=x>", "\n", "\n\n", "# ", "- ", "1. ", "> ", "    ",
                "```html\n", "`", "*", "**", "_", "\\", "&lt;", "&#60;script&#62;", "<!--", "-->", "<![CDATA[", "]]>", "<?x", "\t",
                "[x]: javascript:alert(1)\n", "[x]", "[y]: https://y.org \"onload=x\"\n", "[y][y]", "---\n", "|a|b|\n|-|-|\n", "a@b.org", "<a@b.org>", "é🏉", "\u{202e}",
            ]), 0..30)
        ) {
            assert_harmless(&pieces.concat())?;
        }
    }

    #[test]
    fn plain_text_is_the_beginning_without_markup() {
        for (text, plain) in [
            ("# News\n\n- **one**\n- two", "News one two"),
            ("a *b*c <i>\nd", "a bc <i> d"),
            ("שלום 🏉 hello there", "שלום 🏉 hello…"),
            ("", ""),
        ] {
            assert_eq!(plain_text(text, 12), plain, "{text}");
        }
    }

    #[test]
    fn supported_markdown_renders_as_expected() {
        for (text, page) in [
            ("One\ntwo", "<p>One<br />\ntwo</p>\n"),
            ("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>\n"),
            ("# Big\n\n#### Small", "<h3>Big</h3>\n<h6>Small</h6>\n"),
            ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
            ("3. a", "<ol start=\"3\">\n<li>a</li>\n</ol>\n"),
            ("> q", "<blockquote>\n<p>q</p>\n</blockquote>\n"),
            ("```js\nx<1\n```", "<pre><code>x&lt;1\n</code></pre>\n"),
            (
                "[a](https://x.org/?a=1&b=2 \"t\")",
                "<p><a href=\"https://x.org/?a=1&amp;b=2\" rel=\"nofollow noopener noreferrer\">a</a></p>\n",
            ),
            (
                "<me@x.org>",
                "<p><a href=\"mailto:me@x.org\" rel=\"nofollow noopener noreferrer\">me@x.org</a></p>\n",
            ),
            ("[a](javascript:alert(1))", "<p>a</p>\n"),
            ("[a](/teams)", "<p>a</p>\n"),
            ("![the pitch](https://x.org/p.png)", "<p>the pitch</p>\n"),
            ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
            ("<script>\nx\n</script>", "<p>&lt;script&gt;\nx\n&lt;/script&gt;</p>\n"),
            ("|a|\n|-|", "<p>|a|<br />\n|-|</p>\n"),
            ("שלום 🏉", "<p>שלום 🏉</p>\n"),
        ] {
            assert_eq!(html(text), page, "{text}");
        }
    }
}
