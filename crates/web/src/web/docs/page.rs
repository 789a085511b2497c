//! The layout of all pages below `/docs`, and how they are sent.

use askama::Template;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY,
    VARY,
};
use http::{HeaderMap, StatusCode};
use kit::secret::{hex, sha256};

use super::markdown::Heading;
use super::reference::Group;
use super::search::Entry;
use crate::error::{Error, Result};
use crate::web::{assets, precondition};

/// A page without its layout.
#[derive(Debug, Default)]
pub struct Content {
    pub path: String,
    pub title: String,
    /// What the page is about, for search engines.
    pub summary: String,
    /// The main part.
    pub html: String,
    /// The headings for "On this page", or what the menu shows below the page.
    pub contents: Vec<Heading>,
    /// What the search finds on it.
    pub entries: Vec<Entry>,
    /// Whether it has examples next to the text, and its contents are in the menu.
    pub is_reference: bool,
}

/// The menu: guides, and the groups of the reference.
pub struct Menu {
    /// Path and title of each group of the reference.
    groups: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "docs/layout.html")]
struct Layout<'a> {
    content: &'a Content,
    menu: &'a Menu,
    query: &'a str,
}

impl Menu {
    pub fn new(groups: &[Group]) -> Self {
        let groups = groups.iter().map(|group| (group.path.clone(), group.title.clone()));
        let types =
            (super::reference::NOTIFICATION_TYPES.to_owned(), "Notification types".to_owned());
        Self { groups: groups.chain([types]).collect() }
    }

    /// The page with its layout. `query` is what the visitor searched for.
    pub fn page(&self, content: &Content, query: &str) -> Result<String> {
        render(&Layout { content, menu: self, query })
    }
}

impl Layout<'_> {
    /// `aria-current` for links to the current page.
    fn current(&self, path: &str) -> &'static str {
        if self.content.path == path { " aria-current=\"page\"" } else { "" }
    }

    /// Whether the menu begins with the reference.
    fn is_in_reference(&self) -> bool {
        self.content.path.starts_with(super::reference::REFERENCE)
    }

    /// The headings for "On this page".
    fn headings(&self) -> Vec<&Heading> {
        let is_shown =
            |heading: &&Heading| !self.content.is_reference && matches!(heading.level, 2 | 3);
        let headings: Vec<_> = self.content.contents.iter().filter(is_shown).collect();
        if headings.len() > 1 { headings } else { Vec::new() }
    }
}

/// Renders a template.
pub fn render<T: Template>(template: &T) -> Result<String> {
    template.render().map_err(|error| Error::internal(format!("cannot render a page: {error}")))
}

/// The Content-Security-Policy: nothing may be loaded from or sent to another server, and nothing is inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
pub const HTML: &str = "text/html; charset=utf-8";

/// A response that is the same for everybody, with its tag.
pub struct Cached {
    content_type: &'static str,
    gzipped: Bytes,
    tag: String,
}

impl Cached {
    pub fn new(content_type: &'static str, text: &str) -> Self {
        let tag = hex(&sha256(text.as_bytes())[..8]);
        Self { content_type, gzipped: assets::gzip(text.as_bytes()), tag }
    }

    /// The response. `plain` creates the text for clients that do not accept gzip.
    pub fn response(
        &self,
        headers: &HeaderMap,
        plain: impl FnOnce() -> String,
    ) -> Result<Response> {
        // A weak tag: the compressed and the plain text have different bytes.
        let quoted = format!("W/\"{}\"", self.tag);
        let vary =
            if self.content_type == HTML { "accept-encoding, cookie" } else { "accept-encoding" };
        let common =
            [(ETAG, quoted.as_str()), (CACHE_CONTROL, "public, max-age=300"), (VARY, vary)];
        if precondition::has_tag(headers, &self.tag)? {
            return Ok((StatusCode::NOT_MODIFIED, common).into_response());
        }
        let fixed = page_headers(self.content_type);
        if assets::accepts_gzip(headers) {
            let encoding = [(CONTENT_ENCODING, "gzip")];
            return Ok((common, fixed, encoding, self.gzipped.clone()).into_response());
        }
        Ok((common, fixed, plain()).into_response())
    }
}

/// A page for one visitor only.
pub fn private(html: String) -> Response {
    let caching = [(CACHE_CONTROL, "private, no-store"), (VARY, "accept-encoding, cookie")];
    (page_headers(HTML), caching, html).into_response()
}

fn page_headers(content_type: &'static str) -> [(http::HeaderName, &'static str); 3] {
    [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ]
}
