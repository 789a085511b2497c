//! The text of a message as HTML: a small part of Markdown, and nothing that could run or load.
//!
//! Paragraphs, line breaks, emphasis, lists, links, headings, code and quotes. HTML that somebody
//! typed is shown as the text it is; an image becomes the words that describe it; a link keeps its
//! address only if it leads to a web page or to mail.

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};

/// The text as HTML that can be put into any page.
pub fn html(text: &str) -> String {
    let mut page = String::with_capacity(text.len() * 3 / 2);
    let mut links = Vec::new();
    let events = Parser::new_ext(text, Options::empty());
    html::push_html(&mut page, events.filter_map(|event| kept(event, &mut links)));
    page
}

/// The event as it may be shown. `links` says of every link that is open whether it is one.
fn kept<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(tag) => opened(tag, links),
        Event::End(tag) => closed(tag, links),
        // Whoever starts a new line means a new line.
        Event::SoftBreak => Some(Event::HardBreak),
        Event::Rule => None,
        other => Some(other),
    }
}

fn opened<'a>(tag: Tag<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    let shown = match tag {
        Tag::HtmlBlock => Tag::Paragraph,
        Tag::Heading { level, .. } => {
            Tag::Heading { level: lower(level), id: None, classes: Vec::new(), attrs: Vec::new() }
        }
        Tag::CodeBlock(_) => Tag::CodeBlock(CodeBlockKind::Indented),
        Tag::Image { .. } => return None,
        Tag::Link { link_type, dest_url, .. } => {
            let address = address(link_type, dest_url);
            links.push(address.is_some());
            return address.map(|address| {
                let link = format!("<a href=\"{address}\" rel=\"nofollow noopener noreferrer\">");
                Event::InlineHtml(link.into())
            });
        }
        other => other,
    };
    Some(Event::Start(shown))
}

fn closed<'a>(tag: TagEnd, links: &mut Vec<bool>) -> Option<Event<'a>> {
    let shown = match tag {
        TagEnd::HtmlBlock => TagEnd::Paragraph,
        TagEnd::Heading(level) => TagEnd::Heading(lower(level)),
        TagEnd::Image => return None,
        TagEnd::Link if links.pop() != Some(true) => return None,
        other => other,
    };
    Some(Event::End(shown))
}

/// A message is a part of a page: its headings stand below those of the page.
fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// Where a link leads, ready to stand between quotes, if it leads to a web page or to mail.
fn address(kind: LinkType, written: CowStr<'_>) -> Option<String> {
    let mail = if kind == LinkType::Email { "mailto:" } else { "" };
    let address = format!("{mail}{written}");
    let begins = |scheme: &str| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let known = ["http://", "https://", "mailto:"].iter().any(|scheme| begins(scheme));
    known.then(|| {
        let quoted = address.replace('&', "&amp;").replace('"', "&quot;");
        quoted.replace('\'', "&#39;").replace('<', "&lt;").replace('>', "&gt;")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every tag that may come out, as it is written.
    const TAGS: &[&str] = &[
        "p",
        "/p",
        "br /",
        "em",
        "/em",
        "strong",
        "/strong",
        "ul",
        "/ul",
        "ol",
        "/ol",
        "li",
        "/li",
        "h3",
        "/h3",
        "h4",
        "/h4",
        "h5",
        "/h5",
        "h6",
        "/h6",
        "code",
        "/code",
        "pre",
        "/pre",
        "blockquote",
        "/blockquote",
        "/a",
    ];

    /// The tags of a page; every `<` begins one, since those of the text are escaped.
    fn tags(page: &str) -> Vec<&str> {
        page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()).collect()
    }

    fn is_harmless(tag: &str) -> bool {
        let rel = "\" rel=\"nofollow noopener noreferrer\"";
        let link = tag.strip_prefix("a href=\"").and_then(|rest| rest.strip_suffix(rel));
        let leads = |address: &str| {
            let address = address.to_lowercase();
            let known = ["http://", "https://", "mailto:"].iter().any(|s| address.starts_with(s));
            known && !address.contains('"')
        };
        let start = tag.strip_prefix("ol start=\"").and_then(|rest| rest.strip_suffix('"'));
        TAGS.contains(&tag)
            || link.is_some_and(leads)
            || start.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    }

    fn assert_harmless(text: &str) -> std::result::Result<(), TestCaseError> {
        let page = html(text);
        for tag in tags(&page) {
            prop_assert!(is_harmless(tag), "<{}> came of {:?}: {}", tag, text, page);
        }
        prop_assert!(!page.to_lowercase().contains("<script"));
        Ok(())
    }

    proptest! {
        #[test]
        fn no_text_becomes_anything_that_runs_or_loads(text in "\\PC{0,200}") {
            assert_harmless(&text)?;
        }

        #[test]
        fn no_mixture_of_what_is_dangerous_becomes_anything_that_runs_or_loads(
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
    fn what_people_type_is_shown_as_they_mean_it() {
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
