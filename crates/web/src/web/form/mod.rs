//! HTML forms. [`Form`] reads what a browser sent, within limits and only from our own pages. A [`Field`] declares an
//! input once, and a [`FilledForm`] parses, converts and shows a list of fields.

mod conversion;
mod edit_conflict;
mod faults;
mod field;
mod filled;
mod parse;
#[cfg(test)]
mod tests;
mod view;

use axum::extract::Request;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName};

use super::body;
use super::multipart::{self, Parts};
use super::session_cookie::split_csrf_token;
use crate::error::{Code, Error, Result};
use crate::if_match::IfMatch;
use crate::web::app::App;
use kit::secret::constant_time_eq;

pub use faults::Faults;
pub use field::{Choice, Field, Rows};
pub use filled::FilledForm;
pub use parse::{format_percent, parse_number};

/// The maximum size of a form in bytes. A signed-in user may paste a long table.
const MAX_BYTES: usize = 64 * 1024;
const MAX_BYTES_SIGNED_IN: usize = 1024 * 1024;
/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 1000;
/// The maximum size of a form with files, in bytes.
const MAX_UPLOAD_BYTES: usize = 24 * 1024 * 1024;
/// The name of the hidden field with the CSRF token.
pub const CSRF: &str = "csrf";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The fields of a form, in the order they were sent.
#[derive(Debug, Clone, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form. `csrf` is the token that the form must contain.
    pub async fn read(request: Request, app: &App, csrf: &str, signed_in: bool) -> Result<Self> {
        let form = Self::read_unconfirmed(request, app, signed_in).await?;
        form.check_token(csrf)?;
        Ok(form)
    }

    /// Reads a form of our own site whose token is not checked yet.
    pub(super) async fn read_unconfirmed(
        request: Request,
        app: &App,
        signed_in: bool,
    ) -> Result<Self> {
        check_same_origin(app, request.headers())?;
        check_type(request.headers())?;
        let max = if signed_in { MAX_BYTES_SIGNED_IN } else { MAX_BYTES };
        Self::parse(&body::read(request, app, max).await?)
    }

    /// Reads a form that may have files, whose origin was checked with [`Self::check_origin`]. Its token must be
    /// checked. What somebody who is not signed in sends is read only if it is small.
    pub(super) async fn read_with_files(
        request: Request,
        app: &App,
        signed_in: bool,
    ) -> Result<Parts> {
        if !multipart::is_multipart(request.headers()) {
            let form = Self::read_unconfirmed(request, app, signed_in).await?;
            return Ok(Parts { form, files: Vec::new() });
        }
        let max = if signed_in { MAX_UPLOAD_BYTES } else { MAX_BYTES_SIGNED_IN };
        multipart::read_form(request, app, max).await.map_err(too_large)
    }

    /// Rejects forms that another site makes a browser send.
    pub fn check_origin(request: &Request, app: &App) -> Result<()> {
        check_same_origin(app, request.headers())
    }

    pub(super) fn check_token(&self, csrf: &str) -> Result<()> {
        let (signature, _) = split_csrf_token(self.get(CSRF).unwrap_or_default());
        let (expected, _) = split_csrf_token(csrf);
        if constant_time_eq(signature.as_bytes(), expected.as_bytes()) {
            Ok(())
        } else {
            Err(invalid_csrf())
        }
    }

    /// Whether the form is from a page of the club that the token `csrf` names, or of no club.
    pub(super) fn is_of_club(&self, csrf: &str) -> bool {
        let (_, club) = split_csrf_token(self.get(CSRF).unwrap_or_default());
        club.is_empty() || club == split_csrf_token(csrf).1
    }

    /// The form with these names and values.
    pub fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// Parses the fields of a body or a query.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let fields: Vec<_> = form_urlencoded::parse(bytes)
            .take(MAX_FIELDS + 1)
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        if fields.len() > MAX_FIELDS {
            return Err(Error::new(Code::InvalidRequest, "The form has more than 1000 fields."));
        }
        Ok(Self(fields))
    }

    /// The value of a field as it was entered.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The trimmed value of a field. Empty if the field is absent.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default().trim()
    }

    /// The trimmed value of a field. `None` if it is empty or absent.
    pub fn optional(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// All values of a field with several choices.
    pub fn get_all(&self, name: &str) -> Vec<&str> {
        let chosen = self.0.iter().filter(|(known, _)| known == name);
        chosen.map(|(_, value)| value.as_str()).collect()
    }

    /// The fields whose names begin with `prefix`, in the order they were sent.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let fields = self.0.iter().filter(move |(name, _)| name.starts_with(prefix));
        fields.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Replaces the values of a field.
    pub fn set<T: Into<String>>(&mut self, name: &str, values: impl IntoIterator<Item = T>) {
        self.0.retain(|(known, _)| known != name);
        self.0.extend(values.into_iter().map(|value| (name.to_owned(), value.into())));
    }

    /// Whether a checkbox was checked.
    pub fn is_checked(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// The precondition for the version that the form was filled in for. A missing or malformed version never matches.
pub fn version_precondition(version: &str) -> IfMatch {
    IfMatch::Versions(version.parse().into_iter().collect())
}

/// Rejects requests that another site makes a browser send. Current browsers always send `Sec-Fetch-Site` or
/// `Origin`; a request with neither is rejected too.
fn check_same_origin(app: &App, headers: &HeaderMap) -> Result<()> {
    let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let foreign = || {
        let detail = "This form was sent from another website. Open the page here and try again.";
        Error::new(Code::Forbidden, detail)
    };
    if header(SEC_FETCH_SITE).is_some_and(|site| site != "same-origin") {
        return Err(foreign());
    }
    let Some(origin) = header(ORIGIN) else {
        // `Sec-Fetch-Site` is enough: browsers may omit the origin.
        return if header(SEC_FETCH_SITE).is_some() { Ok(()) } else { Err(foreign()) };
    };
    let host = origin.split_once("://").map(|(_, host)| host);
    let same_origin = origin == app.base_url.origin() || (host.is_some() && host == header(HOST));
    if same_origin { Ok(()) } else { Err(foreign()) }
}

fn check_type(headers: &HeaderMap) -> Result<()> {
    let header =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = header.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Ok(());
    }
    let detail = "Send the form as application/x-www-form-urlencoded.";
    Err(Error::new(Code::UnsupportedMediaType, detail))
}

/// Explains to a person that the files of a form are too large.
fn too_large(error: Error) -> Error {
    if error.code != Code::PayloadTooLarge {
        return error;
    }
    let detail = "The files are too large: at most 10 MB each, and 24 MB together. Go back and choose smaller ones.";
    Error::new(Code::PayloadTooLarge, detail)
}

fn invalid_csrf() -> Error {
    let detail = "This page was open for too long, or your browser blocks cookies. Go back, reload the page \
        and try again. If it happens again, allow cookies for this site and check that its address starts with https://.";
    Error::new(Code::Forbidden, detail)
}
