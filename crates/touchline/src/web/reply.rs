//! What a caller gets back: data in an envelope that ends with the request's id.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, LINK, LOCATION};
use http::{HeaderName, StatusCode};
use http_body::{Frame, SizeHint};
use serde::Serialize;
use serde_json::value::RawValue;
use store::Tx;
use utoipa::ToSchema;

use super::cache::Answer;
use super::idempotency::{self, IdempotencyKey, Remembered};
use crate::error::{Error, Result};
use crate::expected::Versioned;
use crate::paging::{Order, Paged, Stretch};
use crate::signals::Tell;

/// One object, as it is sent.
#[derive(Serialize, ToSchema)]
pub struct One<T> {
    pub data: T,
    /// Quote this when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: String,
}

/// A page of a list, as it is sent.
#[derive(Serialize, ToSchema)]
pub struct Many<T> {
    pub data: Vec<T>,
    /// Whether there is a next page.
    pub has_more: bool,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
    /// Quote this when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: String,
}

/// Several objects that were made at once, as they are sent.
#[derive(Serialize, ToSchema)]
pub struct Several<T> {
    pub data: Vec<T>,
    /// Quote this when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: String,
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal(format!("not JSON: {error}")))
}

/// The envelope of one object, up to the request id.
pub fn envelope<T: Serialize>(value: &T) -> Result<Bytes> {
    let mut body = b"{\"data\":".to_vec();
    body.extend(json(value)?.into_bytes());
    body.push(b',');
    Ok(body.into())
}

/// The answer with one object.
pub fn one<T: Serialize + Versioned>(object: &T) -> Result<Answer> {
    Ok(Answer { body: envelope(object)?, version: Some(object.version()), next: None })
}

/// The answer with a page: one row more than wanted was read to learn whether there is a next one.
pub fn list<T: Serialize + Paged>(
    mut rows: Vec<T>,
    wanted: i64,
    cursor: impl FnOnce(T::Place) -> String,
) -> Result<Answer> {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let has_more = rows.len() > wanted;
    rows.truncate(wanted);
    let next = rows.last().filter(|_| has_more).map(|last| cursor(last.place()));
    let mut body = b"{\"data\":".to_vec();
    body.extend(json(&rows)?.into_bytes());
    body.extend(format!(",\"has_more\":{has_more},\"next_cursor\":").into_bytes());
    body.extend(json(&next)?.into_bytes());
    body.push(b',');
    Ok(Answer { body: body.into(), version: None, next: next.map(Arc::from) })
}

/// The answer with a stretch of a log, whose entries are sent as they are stored.
pub fn stretch(
    stretch: &Stretch,
    order: Order,
    cursor: impl FnOnce(i64) -> String,
) -> Result<Answer> {
    let Stretch { found, until, more } = stretch;
    let next = more.then(|| cursor(*until));
    let after = (order == Order::Asc).then_some(until);
    let (entries, cursor, after) = (found.join(","), json(&next)?, json(&after)?);
    let body = format!(
        "{{\"data\":[{entries}],\"has_more\":{more},\"next_cursor\":{cursor},\"next_after\":{after},"
    );
    Ok(Answer { body: body.into(), version: None, next: next.map(Arc::from) })
}

/// The response: the envelope, closed with the request id.
pub fn complete(status: StatusCode, envelope: Bytes, request_id: &str) -> Response {
    let end = Bytes::from(format!("\"request_id\":\"{request_id}\"}}"));
    let body = Body::new(Pieces([Some(envelope), Some(end)]));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// A body in two pieces, so that a remembered answer is sent without being copied.
struct Pieces([Option<Bytes>; 2]);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.iter_mut().find_map(Option::take);
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().flatten().map(|piece| piece.len() as u64).sum())
    }
}

/// The response with one object and its version.
pub fn versioned(
    status: StatusCode,
    envelope: Bytes,
    version: Option<i64>,
    request_id: &str,
) -> Response {
    let tag = version.map(|version| format!("\"{version}\""));
    with(complete(status, envelope, request_id), ETAG, tag.as_deref())
}

/// The response with a page and the address of the next one.
pub fn linked(envelope: Bytes, link: Option<&str>, request_id: &str) -> Response {
    with(complete(StatusCode::OK, envelope, request_id), LINK, link)
}

/// The caller already has it.
pub fn not_modified(version: i64) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    with(response, ETAG, Some(&format!("\"{version}\"")))
}

fn with(mut response: Response, name: HeaderName, value: Option<&str>) -> Response {
    // A value that is no header cannot come out of our own ids, numbers and cursors.
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
        response.headers_mut().insert(name, value);
    }
    response
}

/// What a change answers, and what is remembered of it.
#[derive(Debug)]
pub struct Written {
    pub status: StatusCode,
    /// None if several objects were made.
    pub version: Option<i64>,
    pub data: String,
    /// What is remembered of it, where `data` shows a secret.
    without_secret: Option<String>,
    replayed: bool,
}

impl Written {
    /// A change that was carried out now.
    pub fn new<T: Serialize>(status: StatusCode, version: Option<i64>, data: &T) -> Result<Self> {
        Ok(Self { status, version, data: json(data)?, without_secret: None, replayed: false })
    }

    /// The same, remembered as the object without its secret.
    pub fn without_secret<T: Serialize>(self, data: &T) -> Result<Self> {
        Ok(Self { without_secret: Some(json(data)?), ..self })
    }

    /// What a repeated request gets.
    pub fn remembered(&self) -> &str {
        self.without_secret.as_deref().unwrap_or(&self.data)
    }

    /// A change that was carried out before.
    pub fn replayed(before: Remembered) -> Self {
        let status = u16::try_from(before.status).ok().and_then(|s| StatusCode::from_u16(s).ok());
        let version = before.etag.and_then(|etag| etag.parse().ok());
        Self {
            status: status.unwrap_or(StatusCode::OK),
            version,
            data: before.data,
            without_secret: None,
            replayed: true,
        }
    }

    /// The id of the object.
    pub fn id(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Named {
            id: String,
        }
        serde_json::from_str::<Named>(&self.data).ok().map(|named| named.id)
    }

    /// The response.
    pub fn response(&self, location: Option<&str>, request_id: &str) -> Response {
        let data: &RawValue = match serde_json::from_str(&self.data) {
            Ok(data) => data,
            Err(_) => {
                return axum::response::IntoResponse::into_response(Error::internal(
                    "a stored answer is not JSON",
                ));
            }
        };
        let envelope = Bytes::from(format!("{{\"data\":{data},"));
        let response = versioned(self.status, envelope, self.version, request_id);
        let replayed = self.replayed.then_some("true");
        let response = with(response, HeaderName::from_static("idempotent-replayed"), replayed);
        with(response, LOCATION, location)
    }

    /// The answer that was given under this key before.
    pub fn recall(
        tx: &Tx<'_>,
        key: Option<&IdempotencyKey>,
        kept: Duration,
    ) -> Result<Option<Self>> {
        let Some(key) = key else { return Ok(None) };
        let Some(before) = idempotency::recall(tx, key, kept)? else { return Ok(None) };
        let written = Self::replayed(before);
        // Who reads an answer again is entered too: it may hold what only few may see.
        tx.audit("request.replayed", &written.id().unwrap_or_default(), &serde_json::Value::Null)?;
        Ok(Some(written))
    }

    /// Keeps the answer for whoever asks again with the same key.
    pub fn remember(&self, tx: &Tx<'_>, key: IdempotencyKey) -> Result<()> {
        let remembered = Remembered {
            account_id: tx.account(),
            key: key.key,
            request_hash: key.request_hash,
            status: self.status.as_u16().into(),
            etag: self.version.map(|version| version.to_string()),
            data: self.remembered().to_owned(),
            created_at: tx.now(),
        };
        idempotency::remember(tx, &remembered)
    }
}
