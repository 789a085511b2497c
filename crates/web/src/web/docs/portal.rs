//! Builds all pages below `/docs` and the search index from the guides and the OpenAPI document.

use std::collections::BTreeMap;

use askama::Template;

use super::guides::{self, Guide};
use super::markdown::{self, CodeLinks, Heading, Section};
use super::page::{Content, Menu, render};
use super::reference;
use super::search::{Entry, Hit, Index, Kind};
use crate::prelude::*;
use crate::web::document;

/// All pages, rendered.
pub struct Portal {
    /// The pages by their path.
    pages: BTreeMap<String, String>,
    menu: Menu,
    index: Index,
}

#[derive(Template)]
#[template(path = "docs/home.html")]
struct Home {
    sample: String,
}

#[derive(Template)]
#[template(path = "docs/search.html")]
struct Results<'a> {
    query: &'a str,
    hits: Vec<Hit<'a>>,
}

#[derive(Template)]
#[template(path = "docs/errors.html")]
struct Errors {
    statuses: Vec<Status>,
}

/// An HTTP status with its codes.
struct Status {
    number: u16,
    description: &'static str,
    codes: Vec<(&'static str, &'static str, bool)>,
}

/// The example on the start page.
const FIRST_REQUEST: [(&str, &str); 2] = [
    (
        "sh",
        "curl 'https://club.example.org/api/public/v1/teams?limit=10' \\\n  -H \"Authorization: Bearer $TOUCHLINE_API_KEY\"",
    ),
    (
        "ts",
        "import { Touchline } from 'touchline'\n\nconst touchline = new Touchline({\n  baseUrl: 'https://club.example.org',\n  \
         apiKey: process.env.TOUCHLINE_API_KEY,\n})\n\nfor await (const team of touchline.teams.list()) {\n  console.log(team.id, team.name)\n}",
    ),
];

impl Portal {
    /// Builds the pages of this OpenAPI document.
    pub fn build(document: &str) -> Result<Self> {
        let document: Value = serde_json::from_str(document)
            .map_err(|error| Error::internal(format!("the OpenAPI document: {error}")))?;
        let groups = reference::groups(&document);
        let links = reference::code_links(&groups);
        let mut contents = vec![home()?];
        for guide in guides::all() {
            contents.push(guide_page(guide, &links)?);
        }
        contents.extend(reference::pages(&document, &groups)?);
        let menu = Menu::new(&groups);
        let mut pages = BTreeMap::new();
        for content in &contents {
            pages.insert(content.path.clone(), menu.page(content, "")?);
        }
        let index = Index::new(contents.into_iter().flat_map(|content| content.entries));
        Ok(Self { pages, menu, index })
    }

    /// The page at a path, if there is one.
    pub fn page(&self, path: &str) -> Option<&str> {
        self.pages.get(path).map(String::as_str)
    }

    /// The paths of all pages.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.pages.keys().map(String::as_str)
    }

    /// The page with the results of a search.
    pub fn search(&self, query: &str) -> Result<String> {
        let results = Results { query, hits: self.index.find(query) };
        let content = Content {
            path: "/docs/search".to_owned(),
            title: "Search".to_owned(),
            html: render(&results)?,
            ..Content::default()
        };
        self.menu.page(&content, query)
    }
}

fn home() -> Result<Content> {
    Ok(Content {
        path: "/docs".to_owned(),
        title: "Developer documentation".to_owned(),
        summary: "Guides and reference of the Touchline API.".to_owned(),
        html: render(&Home { sample: markdown::sample("first-request", &FIRST_REQUEST) })?,
        ..Content::default()
    })
}

fn guide_page(guide: &Guide, links: &CodeLinks) -> Result<Content> {
    let mut rendered = markdown::guide(guide.text, links);
    let mut entries: Vec<_> =
        rendered.sections.iter().map(|section| guide_entry(guide, section)).collect();
    let mut contents: Vec<Heading> =
        rendered.sections.into_iter().map(|section| section.heading).collect();
    if guide.name == "errors" {
        let statuses = statuses();
        entries.extend(statuses.iter().flat_map(|status| &status.codes).map(error_entry));
        rendered.html.push_str(&render(&Errors { statuses })?);
        let title = "All error codes".to_owned();
        contents.push(Heading { id: "all-error-codes".to_owned(), title, level: 2 });
    }
    Ok(Content {
        path: guide.path(),
        title: guide.title.to_owned(),
        summary: guide.summary.to_owned(),
        html: rendered.html,
        contents,
        entries,
        is_reference: false,
    })
}

fn guide_entry(guide: &Guide, section: &Section) -> Entry {
    let Heading { id, title, level } = &section.heading;
    let (href, keywords) = if *level == 1 {
        (guide.path(), guide.summary.to_owned())
    } else {
        (format!("{}#{id}", guide.path()), String::new())
    };
    Entry {
        kind: Kind::Guide,
        href,
        title: title.clone(),
        place: guide.title.to_owned(),
        keywords,
        text: section.text.trim().to_owned(),
    }
}

fn error_entry((code, title, _): &(&'static str, &'static str, bool)) -> Entry {
    Entry {
        kind: Kind::Error,
        href: format!("/docs/errors#{code}"),
        title: (*code).to_owned(),
        place: "Errors".to_owned(),
        keywords: String::new(),
        text: (*title).to_owned(),
    }
}

/// The list of all error codes by status. The `type` of a problem document points to a code.
fn statuses() -> Vec<Status> {
    let mut statuses: BTreeMap<u16, Status> = BTreeMap::new();
    for (code, word) in Code::ALL {
        let status = code.status().as_u16();
        let entry = statuses.entry(status).or_insert_with(|| Status {
            number: status,
            description: document::error_description(status),
            codes: Vec::new(),
        });
        entry.codes.push((word, code.title(), code.retryable()));
    }
    statuses.into_values().collect()
}
