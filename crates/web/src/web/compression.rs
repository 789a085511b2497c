//! Compresses JSON and HTML responses with gzip.
//!
//! Only complete bodies are compressed: streams and exports are sent as they are produced. Pages contain secrets such as
//! form tokens next to text from the request, so a page is compressed only if the request comes from the page's own site:
//! another site cannot guess secrets from the size of responses that it causes (BREACH).

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, VARY};
use http::{HeaderMap, HeaderName};
use http_body::Body as _;
use http_body_util::BodyExt as _;

use super::assets;

/// Smaller bodies are not worth compressing: they fit into one packet.
const MIN_BYTES: u64 = 1_024;
/// Larger bodies are not compressed, because that would take too long in the middle of other requests.
const MAX_BYTES: u64 = 1024 * 1024;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What a client accepts.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    gzip: bool,
    /// Whether one of our own pages made the request, or the user did, for example with a bookmark.
    same_site: bool,
}

impl Accepted {
    /// Reads the headers of a request.
    pub fn read(headers: &HeaderMap) -> Self {
        let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
        let same_site = matches!(site, Some(b"same-origin" | b"none"));
        Self { gzip: assets::accepts_gzip(headers), same_site }
    }
}

/// Compresses a response if the client accepts that and it is worth it.
pub async fn compress(accepted: Accepted, response: Response) -> Response {
    let Some(is_page) = compressible(&response) else { return response };
    let (mut parts, body) = response.into_parts();
    if !parts.headers.contains_key(VARY) {
        parts.headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    let allowed = accepted.gzip && (accepted.same_site || !is_page);
    let size = body.size_hint().exact().filter(|size| (MIN_BYTES..=MAX_BYTES).contains(size));
    if !allowed || size.is_none() {
        return Response::from_parts(parts, body);
    }
    let Ok(plain) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Response::from_parts(parts, Body::empty());
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(parts, Body::from(assets::gzip_fast(&plain)))
}

/// Whether the response is a page, or `None` if it cannot be compressed.
fn compressible(response: &Response) -> Option<bool> {
    let headers = response.headers();
    if headers.contains_key(CONTENT_ENCODING) {
        return None;
    }
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    match kind.split(';').next()? {
        "text/html" => Some(true),
        "application/json" | "application/problem+json" => Some(false),
        _ => None,
    }
}
