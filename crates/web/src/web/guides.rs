//! The guides of the `docs` folder, served as pages below `/docs`.
//!
//! A guide links to another one by its file name (`cards.md#refunds`), so that the link works in the repository.
//! The page links to `/docs/cards#refunds`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A guide and its page.
pub struct Guide {
    /// The last segment of its path, and the name of its file without `.md`.
    pub name: &'static str,
    /// Its title in the menu and in the browser.
    pub title: &'static str,
    page: LazyLock<String>,
}

macro_rules! guides {
    ($($name:literal: $title:literal;)+) => {
        /// Every guide, in the order of the menu.
        pub static GUIDES: [Guide; [$($name),+].len()] = [$(Guide {
            name: $name,
            title: $title,
            page: LazyLock::new(|| {
                page($title, include_str!(concat!("../../../../docs/", $name, ".md")))
            }),
        }),+];
    };
}

guides! {
    "pages": "Pages of the team app";
    "api": "Using the API";
    "oauth": "Connecting apps";
    "webhooks": "Receiving webhooks";
    "store": "The store";
    "dues": "Dues";
    "cards": "Card payments";
    "safeguarding": "Safeguarding";
    "admin": "Managing a club";
    "operations": "Running the service";
}

impl Guide {
    /// The guide as a page.
    pub fn html(&self) -> &str {
        &self.page
    }
}

/// Links to the reference and to all guides.
fn menu() -> String {
    let mut links =
        "<a href=\"/docs\">API reference</a> · <a href=\"/docs/errors\">Errors</a>".to_owned();
    for Guide { name, title, .. } in &GUIDES {
        let _ = write!(links, " · <a href=\"/docs/{name}\">{title}</a>");
    }
    links
}

fn page(title: &str, text: &str) -> String {
    include_str!("../../assets/written.html")
        .replace("{title}", title)
        .replace("{menu}", &menu())
        .replace("{body}", &body(text))
}

fn body(text: &str) -> String {
    let events: Vec<_> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut slugs = slugs(&events).into_iter();
    let events = events.into_iter().map(|event| match event {
        Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
            let id = slugs.next().map(CowStr::from);
            Event::Start(Tag::Heading { level, id, classes, attrs })
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = page_link(&dest_url).map_or(dest_url, CowStr::from);
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        other => other,
    });
    let mut body = String::new();
    html::push_html(&mut body, events);
    // Makes wide tables focusable, so that they can be scrolled with the keyboard.
    body.replace("<table>", "<table tabindex=\"0\">")
}

/// Translates a link to the file of another guide into the path of its page.
fn page_link(link: &str) -> Option<String> {
    let (file, anchor) =
        link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let name = file.strip_suffix(".md")?;
    GUIDES.iter().find(|guide| guide.name == name)?;
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    Some(format!("/docs/{name}{anchor}"))
}

/// The anchors of all headings, the same as on GitHub.
fn slugs(events: &[Event<'_>]) -> Vec<String> {
    let (mut slugs, mut heading): (Vec<String>, Option<String>) = (Vec::new(), None);
    for event in events {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let earlier = slugs.iter().filter(|known| **known == slug).count();
                slugs.push(if earlier == 0 { slug } else { format!("{slug}-{earlier}") });
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(text);
                }
            }
            _ => {}
        }
    }
    slugs
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

    #[test]
    fn links_between_guides_point_to_pages() {
        let html = body(
            "# Two `words`, one\n\n[a](cards.md#set-up) [b](https://example.org/x.md) [c](nothing.md)",
        );
        assert!(html.contains("<h1 id=\"two-words-one\">"), "{html}");
        assert!(html.contains("href=\"/docs/cards#set-up\""), "{html}");
        assert!(html.contains("href=\"https://example.org/x.md\""), "{html}");
        assert!(html.contains("href=\"nothing.md\""), "{html}");
    }

    #[test]
    fn headings_with_the_same_text_have_different_anchors() {
        let html = body("## Limits\n\n## Limits");
        assert!(html.contains("id=\"limits\"") && html.contains("id=\"limits-1\""), "{html}");
    }
}
