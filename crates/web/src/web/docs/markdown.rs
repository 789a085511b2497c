//! Renders the Markdown of guides and descriptions as HTML.
//!
//! A guide links to another one by its file name (`cards.md#refunds`), so that the link works in the repository.
//! The page links to `/docs/cards#refunds`. Inline code that names an endpoint or a notification type links to the reference.

use std::collections::HashMap;

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use super::guides;
use super::highlight;

/// Where inline code links to: `GET /teams` or `team.created`.
#[derive(Debug, Default)]
pub struct CodeLinks(HashMap<String, String>);

/// A heading of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub id: String,
    pub title: String,
    /// 1 is the title of the page.
    pub level: u8,
}

/// A heading with the text up to the next one, for the search.
#[derive(Debug, Clone)]
pub struct Section {
    pub heading: Heading,
    pub text: String,
}

/// A rendered text.
#[derive(Debug, Default)]
pub struct Rendered {
    pub html: String,
    pub sections: Vec<Section>,
}

/// A code block.
struct Block {
    language: String,
    code: String,
}

impl CodeLinks {
    /// Adds an endpoint, such as `GET` and `/teams/{team_id}`.
    pub fn add_endpoint(&mut self, method: &str, path: &str, href: &str) {
        let path = without_names(path);
        self.0.insert(format!("{method} {path}"), href.to_owned());
        // A path without a method usually is about reading.
        if method == "GET" || !self.0.contains_key(&path) {
            self.0.insert(path, href.to_owned());
        }
    }

    /// Adds another name.
    pub fn add(&mut self, name: &str, href: &str) {
        self.0.insert(name.to_owned(), href.to_owned());
    }

    fn find(&self, code: &str) -> Option<&str> {
        let code = code.split('?').next()?.replace("/api/public/v1", "");
        self.0.get(&without_names(&code)).map(String::as_str)
    }
}

/// A path with `{}` for each of its parameters.
fn without_names(path: &str) -> String {
    let part = |part: &str| match part.split_once('}') {
        Some((_, rest)) => format!("{{}}{rest}"),
        None => part.to_owned(),
    };
    let mut parts = path.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(part).collect::<String>()
}

/// Renders a guide.
pub fn guide(text: &str, links: &CodeLinks) -> Rendered {
    let mut renderer = Renderer::default();
    let mut output: Vec<Event<'_>> = Vec::new();
    let mut events = Parser::new_ext(text, Options::ENABLE_TABLES).peekable();
    let mut blocks: Vec<Block> = Vec::new();
    let mut in_link = false;
    while let Some(event) = events.next() {
        if let Event::Start(Tag::CodeBlock(kind)) = event {
            blocks.push(code_block(&kind, &mut events));
            continue;
        }
        renderer.flush(&mut blocks, &mut output);
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                renderer.heading(level, &mut events, &mut output);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                in_link = true;
                let dest_url = page_link(&dest_url).map_or(dest_url, CowStr::from);
                output.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            other => {
                in_link &= other != Event::End(TagEnd::Link);
                renderer.index(&other);
                let href = match &other {
                    Event::Code(code) if !in_link => links.find(code),
                    _ => None,
                };
                output.extend(href.map(|href| Event::Html(format!("<a href=\"{href}\">").into())));
                output.push(other);
                output.extend(href.map(|_| Event::Html("</a>".into())));
            }
        }
    }
    renderer.flush(&mut blocks, &mut output);
    html::push_html(&mut renderer.rendered.html, output.into_iter());
    // Makes wide tables focusable, so that they can be scrolled with the keyboard.
    renderer.rendered.html = renderer.rendered.html.replace("<table>", "<table tabindex=\"0\">");
    renderer.rendered
}

/// Renders a description of the API.
pub fn description(text: &str) -> String {
    let mut html = String::new();
    html::push_html(&mut html, Parser::new_ext(text, Options::ENABLE_TABLES));
    html
}

/// Renders a description without the paragraph around it, if it is a single one.
pub fn inline_description(text: &str) -> String {
    let html = description(text);
    let inner = html.trim().strip_prefix("<p>").and_then(|html| html.strip_suffix("</p>"));
    inner.filter(|inner| !inner.contains("<p>")).unwrap_or(html.trim()).to_owned()
}

/// The text of a description without its markup.
pub fn plain(text: &str) -> String {
    let mut plain = String::new();
    for event in Parser::new(text) {
        match event {
            Event::Text(text) | Event::Code(text) => plain.push_str(&text),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => plain.push(' '),
            _ => {}
        }
    }
    plain.trim().to_owned()
}

fn code_block<'a>(kind: &CodeBlockKind<'a>, events: &mut impl Iterator<Item = Event<'a>>) -> Block {
    let info = match kind {
        CodeBlockKind::Fenced(info) => info.as_ref(),
        CodeBlockKind::Indented => "",
    };
    let language = info.split_whitespace().next().unwrap_or_default().to_owned();
    let mut code = String::new();
    for event in events.by_ref() {
        match event {
            Event::Text(text) => code.push_str(&text),
            Event::End(TagEnd::CodeBlock) => break,
            _ => {}
        }
    }
    Block { language, code: code.trim_end().to_owned() }
}

#[derive(Default)]
struct Renderer {
    /// How often each anchor was used.
    slugs: HashMap<String, usize>,
    /// The number of code examples so far.
    samples: usize,
    rendered: Rendered,
}

impl Renderer {
    /// Writes the code blocks so far. Blocks in several languages that follow each other become tabs.
    fn flush(&mut self, blocks: &mut Vec<Block>, output: &mut Vec<Event<'_>>) {
        let mut rest = std::mem::take(blocks).into_iter().peekable();
        while let Some(block) = rest.next() {
            self.samples += 1;
            let mut tabs = vec![block];
            let is_next = |next: &Block| next.language == "ts";
            if tabs[0].language == "sh" {
                tabs.extend(rest.next_if(is_next));
            }
            let tabs: Vec<_> =
                tabs.iter().map(|tab| (tab.language.as_str(), tab.code.as_str())).collect();
            output.push(Event::Html(sample(&format!("example-{}", self.samples), &tabs).into()));
        }
    }

    fn heading<'e>(
        &mut self,
        level: HeadingLevel,
        events: &mut impl Iterator<Item = Event<'e>>,
        output: &mut Vec<Event<'e>>,
    ) {
        let content: Vec<_> =
            events.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_)))).collect();
        let title: String = content
            .iter()
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect();
        let slug = slug(&title);
        let used = self.slugs.entry(slug.clone()).or_default();
        let id = if *used == 0 { slug } else { format!("{slug}-{used}") };
        *used += 1;
        let level = level as u8;
        let link = if level == 1 { String::new() } else { anchor(&id, &title) };
        output.push(Event::Html(format!("<h{level} id=\"{id}\">").into()));
        output.extend(content);
        output.push(Event::Html(format!("{link}</h{level}>\n").into()));
        let heading = Heading { id, title, level };
        self.rendered.sections.push(Section { heading, text: String::new() });
    }

    /// Adds a text to the search.
    fn index(&mut self, event: &Event<'_>) {
        let Some(section) = self.rendered.sections.last_mut() else { return };
        match event {
            Event::Text(text) | Event::Code(text) => section.text.push_str(text),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell)
                if !section.text.ends_with(' ') =>
            {
                section.text.push(' ');
            }
            _ => {}
        }
    }
}

/// The link of a heading to itself.
pub fn anchor(id: &str, title: &str) -> String {
    let title = kit::text::escape_html(title);
    format!("<a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to {title}\">#</a>")
}

/// The name of a language on its tab.
fn label(language: &str, is_tab: bool) -> &str {
    match language {
        "sh" if is_tab => "curl",
        "sh" => "Shell",
        "ts" | "typescript" => "TypeScript",
        "python" => "Python",
        "json" => "JSON",
        "php" => "PHP",
        "go" => "Go",
        "rust" => "Rust",
        "http" => "HTTP",
        "" => "Text",
        other => other,
    }
}

/// An example in one or several languages. Tabs are radio buttons, so that they work without scripts.
pub fn sample(id: &str, tabs: &[(&str, &str)]) -> String {
    let mut html = "<div class=\"sample\">".to_owned();
    if let [_, _, ..] = tabs {
        html.push_str("<fieldset><legend>Language</legend>");
        for (at, (language, _)) in tabs.iter().enumerate() {
            let checked = if at == 0 { " checked" } else { "" };
            html.push_str(&format!(
                "<label><input type=\"radio\" name=\"{id}\" value=\"{language}\" autocomplete=\"off\"{checked}>{}</label>",
                label(language, true)
            ));
        }
        html.push_str("</fieldset>");
    } else if let [(language, _)] = tabs {
        html.push_str(&format!("<div class=\"bar\">{}</div>", label(language, false)));
    }
    for (language, code) in tabs {
        html.push_str(&format!(
            "<pre class=\"{language}\" tabindex=\"0\"><code>{}</code></pre>",
            highlight::html(code, language)
        ));
    }
    html.push_str("</div>\n");
    html
}

/// Translates a link to the file of another guide into the path of its page.
fn page_link(link: &str) -> Option<String> {
    let (file, anchor) =
        link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let name = file.strip_suffix(".md")?;
    let guide = guides::all().find(|guide| guide.name == name)?;
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    Some(format!("{}{anchor}", guide.path()))
}

/// The anchor that GitHub gives to a heading.
pub fn slug(heading: &str) -> String {
    let is_allowed = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading
        .to_lowercase()
        .chars()
        .filter(is_allowed)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut links = CodeLinks::default();
        links.add_endpoint("GET", "/teams/{team_id}", "/docs/reference/teams#teams.get");
        guide(text, &links).html
    }

    #[test]
    fn links_between_guides_point_to_pages() {
        let html = html(
            "# Two `words`, one\n\n[a](cards.md#set-up) [b](https://example.org/x.md) [c](nothing.md)",
        );
        assert!(html.contains("<h1 id=\"two-words-one\">"), "{html}");
        assert!(html.contains("href=\"/docs/cards#set-up\""), "{html}");
        assert!(html.contains("href=\"https://example.org/x.md\""), "{html}");
        assert!(html.contains("href=\"nothing.md\""), "{html}");
    }

    #[test]
    fn headings_with_the_same_text_have_different_anchors() {
        let html = html("## Limits\n\n## Limits");
        assert!(html.contains("id=\"limits\"") && html.contains("id=\"limits-1\""), "{html}");
    }

    #[test]
    fn endpoints_in_code_link_to_the_reference() {
        let html = html("`GET /teams/{id}`, `/api/public/v1/teams/{id}?x=1` and `/nothing`");
        assert_eq!(
            html.matches("<a href=\"/docs/reference/teams#teams.get\">").count(),
            2,
            "{html}"
        );
        assert!(html.contains("<code>/nothing</code>"), "{html}");
    }

    #[test]
    fn a_shell_example_and_its_translation_are_tabs() {
        let html = html("```sh\ncurl x\n```\n\n```ts\nf()\n```\n\n```json\n{}\n```\n");
        assert_eq!(html.matches("<input").count(), 2, "{html}");
        assert_eq!(html.matches("class=\"sample\"").count(), 2, "{html}");
    }

    #[test]
    fn a_section_has_the_text_below_its_heading() {
        let rendered = guide("# A\n\nOne *two*.\n\n## B\n\nThree", &CodeLinks::default());
        let texts: Vec<_> = rendered.sections.iter().map(|section| section.text.trim()).collect();
        assert_eq!(texts, ["One two.", "Three"]);
    }
}
