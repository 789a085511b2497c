//! Forms: what a page's visitor filled in, read within bounds and only from our own pages.

use std::collections::BTreeMap;
use std::fmt::Debug;

use axum::extract::Request;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName};

use super::body;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::expected::Expected;
use kit::secret::{hex, same, sha256};

/// The largest form, and the most fields it can have.
const LARGEST: usize = 64 * 1024;
const MOST: usize = 1000;
/// The name of the field that proves that a form came from our own page.
pub const CSRF: &str = "csrf";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The fields of a form, in the order they came.
#[derive(Debug, Clone, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form. `csrf` is the token that our page gave to this browser.
    pub async fn read(request: Request, app: &App, csrf: &str) -> Result<Self> {
        own_page(app, request.headers())?;
        check_type(request.headers())?;
        let bytes = body::read(request, app, LARGEST).await?;
        let form = Self::parse(&bytes)?;
        let told = form.get(CSRF).unwrap_or_default();
        if same(told.as_bytes(), csrf.as_bytes()) { Ok(form) } else { Err(stale()) }
    }

    /// The fields of a body or a query.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let fields: Vec<_> = form_urlencoded::parse(bytes)
            .take(MOST + 1)
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        if fields.len() > MOST {
            return Err(Error::new(Code::InvalidRequest, "The form has too many fields."));
        }
        Ok(Self(fields))
    }

    /// The value of a field as it was typed.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a field without spaces around it; empty if it is not there.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default().trim()
    }

    /// The value of a field that may be left empty.
    pub fn maybe(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// Every value of a field that can be chosen several times.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let chosen = self.0.iter().filter(|(known, _)| known == name);
        chosen.map(|(_, value)| value.as_str()).collect()
    }

    /// The fields whose names begin like this, in the order they came.
    pub fn beginning<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let named = self.0.iter().filter(move |(name, _)| name.starts_with(start));
        named.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether a box was ticked.
    pub fn ticked(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// What somebody is told whose form shows what is no longer so.
const CHANGED_MEANWHILE: &str = "Somebody else changed this while you had it open. What you typed is still here: \
    save again to keep it, or open the page anew to see what was changed.";

/// What somebody expects to change who was shown this version. Whoever does not say which has seen none.
pub fn shown_version(typed: &str) -> Expected {
    Expected::Versions(typed.parse().into_iter().collect())
}

/// Stands for what a form shows, where not everything that changes is shown: whoever saves it must have seen what is there.
pub fn mark(shown: &impl Debug) -> String {
    hex(&sha256(format!("{shown:?}").as_bytes())[..8])
}

/// What is wrong with a form, by the name of the field.
#[derive(Debug, Clone, Default)]
pub struct Faults(BTreeMap<String, String>);

impl Faults {
    /// What the form shows is no longer so.
    pub fn changed_meanwhile() -> Self {
        Self(BTreeMap::from([(String::new(), CHANGED_MEANWHILE.to_owned())]))
    }

    /// Notes what is wrong with a field; the first thing said stays.
    pub fn add(&mut self, field: &str, text: impl Into<String>) {
        self.0.entry(field.to_owned()).or_insert_with(|| text.into());
    }

    /// What is wrong with this field; empty if nothing is.
    pub fn at(&self, field: &str) -> &str {
        self.0.get(field).map_or("", String::as_str)
    }

    /// What is wrong with the whole form; empty if nothing is.
    pub fn general(&self) -> &str {
        self.at("")
    }

    /// Everything that is wrong, by field.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, text)| (field.as_str(), text.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&Error> for Faults {
    /// The faults of a refusal, each at the field its pointer names.
    fn from(error: &Error) -> Self {
        let mut faults = Self::default();
        for fault in &error.faults {
            let field = fault.pointer.trim_start_matches('/').split('/').next();
            faults.add(field.unwrap_or_default(), fault.detail.clone());
        }
        if faults.is_empty() {
            faults.add("", error.detail.clone());
        }
        faults
    }
}

/// Refuses what another site makes a browser send. Browsers say where a request comes from; one that
/// says nothing at all is no browser of today.
fn own_page(app: &App, headers: &HeaderMap) -> Result<()> {
    let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let foreign = || Error::new(Code::Forbidden, "This form was sent from another site.");
    if header(SEC_FETCH_SITE).is_some_and(|site| site != "same-origin") {
        return Err(foreign());
    }
    let Some(origin) = header(ORIGIN) else {
        // A browser that names the site may leave the origin out.
        return if header(SEC_FETCH_SITE).is_some() { Ok(()) } else { Err(foreign()) };
    };
    let host = origin.split_once("://").map(|(_, host)| host);
    let own = origin == app.home.origin() || (host.is_some() && host == header(HOST));
    if own { Ok(()) } else { Err(foreign()) }
}

fn check_type(headers: &HeaderMap) -> Result<()> {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = named.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Ok(());
    }
    let detail = "Send the form as application/x-www-form-urlencoded.";
    Err(Error::new(Code::UnsupportedMediaType, detail))
}

fn stale() -> Error {
    let detail = "This form is out of date, or your browser did not keep our cookie (it does so over \
        https, and on this computer). Go back, reload the page and try again.";
    Error::new(Code::Forbidden, detail)
}
