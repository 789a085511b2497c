//! The guides of the `docs` folder, served as pages below `/docs`.
//!
//! A guide links to another one by its file name (`cards.md#refunds`), so that the link works in the repository.
//! The page links to `/docs/cards#refunds`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A guide and where it is served.
pub struct Guide {
    /// The last part of its address, and the name of its file without `.md`.
    pub name: &'static str,
    /// Its title in lists and in the browser.
    pub title: &'static str,
    text: &'static str,
    page: LazyLock<String>,
}

macro_rules! guides {
    ($($name:literal: $title:literal;)+) => {
        /// Every guide, in the order of the menu.
        pub static GUIDES: [Guide; [$($name),+].len()] = [$(Guide {
            name: $name,
            title: $title,
            text: include_str!(concat!("../../../../docs/", $name, ".md")),
            page: LazyLock::new(|| page($name)),
        }),+];
    };
}

guides! {
    "api": "Using the API";
    "oauth": "Connecting apps";
    "webhooks": "Receiving webhooks";
    "store": "The store";
    "dues": "Dues";
    "cards": "Paying by card";
    "safeguarding": "Safeguarding";
    "admin": "Looking after a club";
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

fn page(name: &str) -> String {
    let Some(guide) = GUIDES.iter().find(|guide| guide.name == name) else { return String::new() };
    include_str!("../../assets/written.html")
        .replace("{title}", guide.title)
        .replace("{menu}", &menu())
        .replace("{body}", &body(guide.text))
}

fn body(text: &str) -> String {
    let events: Vec<_> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let slugs = slugs(&events);
    let mut slugs = slugs.into_iter();
    let events = events.into_iter().map(|event| match event {
        Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
            let id = slugs.next().map(CowStr::from);
            Event::Start(Tag::Heading { level, id, classes, attrs })
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = served(&dest_url).map_or(dest_url, CowStr::from);
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        other => other,
    });
    let mut body = String::new();
    html::push_html(&mut body, events);
    // A wide table scrolls sideways, also with the keyboard.
    body.replace("<table>", "<table tabindex=\"0\">")
}

/// Where a link to the file of another guide leads on the served pages.
fn served(link: &str) -> Option<String> {
    let (file, anchor) =
        link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let name = file.strip_suffix(".md")?;
    GUIDES.iter().find(|guide| guide.name == name)?;
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    Some(format!("/docs/{name}{anchor}"))
}

/// The anchor of every heading: the same that GitHub gives it.
fn slugs(events: &[Event<'_>]) -> Vec<String> {
    let (mut slugs, mut open): (Vec<String>, Option<String>) = (Vec::new(), None);
    for event in events {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&open.take().unwrap_or_default());
                let earlier = slugs.iter().filter(|known| **known == slug).count();
                slugs.push(if earlier == 0 { slug } else { format!("{slug}-{earlier}") });
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut open {
                    heading.push_str(text);
                }
            }
            _ => {}
        }
    }
    slugs
}

/// A heading as GitHub writes it in an anchor.
pub fn slug(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    heading
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_between_guides_lead_to_pages() {
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
