//! JSON responses: data in an envelope that ends with the request id.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, LINK, LOCATION};
use http::{HeaderName, StatusCode};
use http_body::{Frame, SizeHint};
use serde_json::value::RawValue;

use super::cache::CachedResponse;
use super::idempotency::{self, IdempotencyKey, ReplaySettings, StoredResponse};
use crate::paging::LogPage;
use crate::prelude::*;

/// A response with one object.
#[derive(Serialize, ToSchema)]
pub struct ObjectResponse<T> {
    pub data: T,
    /// The ID of this request. Include it when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: String,
}

/// A response with one page of a list.
#[derive(Serialize, ToSchema)]
pub struct ListResponse<T> {
    /// The objects of this page.
    pub data: Vec<T>,
    /// Whether there are more pages after this one.
    pub has_more: bool,
    /// Send this as `cursor` to get the next page. Null on the last page.
    pub next_cursor: Option<String>,
    /// The ID of this request. Include it when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: String,
}

/// A response with all objects that were created by one request.
#[derive(Serialize, ToSchema)]
pub struct BatchResponse<T> {
    /// The created objects, in the order of the request.
    pub data: Vec<T>,
    /// The ID of this request. Include it when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: String,
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal(format!("cannot serialize to JSON: {error}")))
}

/// The envelope of a value, up to the request id.
pub fn envelope<T: Serialize>(value: &T) -> Result<Bytes> {
    Ok(format!("{{\"data\":{},", json(value)?).into())
}

/// The response with one object.
pub fn object_response<T: Serialize + Versioned>(object: &T) -> Result<CachedResponse> {
    Ok(CachedResponse { body: envelope(object)?, version: Some(object.version()), next: None })
}

/// The response with a page. `rows` has one row more than `limit` if there is a next page.
pub fn list_response<T: Serialize + Paged>(
    mut rows: Vec<T>,
    limit: i64,
    cursor: impl FnOnce(T::SortKey) -> String,
) -> Result<CachedResponse> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|last| cursor(last.sort_key()));
    let (data, cursor) = (json(&rows)?, json(&next)?);
    let body = format!("{{\"data\":{data},\"has_more\":{has_more},\"next_cursor\":{cursor},");
    Ok(CachedResponse { body: body.into(), version: None, next: next.map(Arc::from) })
}

/// The response with a page of a log, whose entries are sent as they are stored.
pub fn log_response(
    page: &LogPage,
    order: Order,
    cursor: impl FnOnce(i64) -> String,
) -> Result<CachedResponse> {
    let LogPage { entries, last_sequence, has_more } = page;
    let next = has_more.then(|| cursor(*last_sequence));
    let next_sequence = (order == Order::Asc).then_some(last_sequence);
    let (entries, cursor, next_sequence) = (entries.join(","), json(&next)?, json(&next_sequence)?);
    let body = format!(
        "{{\"data\":[{entries}],\"has_more\":{has_more},\"next_cursor\":{cursor},\"next_sequence\":{next_sequence},"
    );
    Ok(CachedResponse { body: body.into(), version: None, next: next.map(Arc::from) })
}

/// Completes an envelope with the request id.
pub fn json_response(status: StatusCode, envelope: Bytes, request_id: &str) -> Response {
    let end = Bytes::from(format!("\"request_id\":\"{request_id}\"}}"));
    let body = Body::new(TwoPartBody([Some(envelope), Some(end)]));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// A body in two parts, so that a cached response is sent without copying it.
struct TwoPartBody([Option<Bytes>; 2]);

impl http_body::Body for TwoPartBody {
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

/// The response with one object and its version as `ETag`.
pub fn versioned_response(
    status: StatusCode,
    envelope: Bytes,
    version: Option<i64>,
    request_id: &str,
) -> Response {
    let tag = version.map(|version| format!("\"{version}\""));
    with_header(json_response(status, envelope, request_id), ETAG, tag.as_deref())
}

/// The response with a page and the `Link` to the next one.
pub fn page_response(envelope: Bytes, link: Option<&str>, request_id: &str) -> Response {
    with_header(json_response(StatusCode::OK, envelope, request_id), LINK, link)
}

/// The response 304: the caller already has this version.
pub fn not_modified(version: i64) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    with_header(response, ETAG, Some(&format!("\"{version}\"")))
}

fn with_header(mut response: Response, name: HeaderName, value: Option<&str>) -> Response {
    // Ids, numbers and cursors are always valid header values.
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
        response.headers_mut().insert(name, value);
    }
    response
}

/// The response to a change, and what is stored for its idempotency key.
#[derive(Debug)]
pub struct WriteResponse {
    pub status: StatusCode,
    /// `None` if several objects were created.
    pub version: Option<i64>,
    pub data: String,
    /// What is stored instead of `data` if that contains a secret. `data` is then stored encrypted.
    without_secret: Option<String>,
    replayed: bool,
}

impl WriteResponse {
    /// The response to a change that was just made.
    pub fn new<T: Serialize>(status: StatusCode, version: Option<i64>, data: &T) -> Result<Self> {
        Ok(Self { status, version, data: json(data)?, without_secret: None, replayed: false })
    }

    /// Sets what is stored: the object without its secret.
    pub fn without_secret<T: Serialize>(self, data: &T) -> Result<Self> {
        Ok(Self { without_secret: Some(json(data)?), ..self })
    }

    /// The response to a change that was made earlier.
    fn from_stored(stored: StoredResponse) -> Self {
        let status = u16::try_from(stored.status).ok().and_then(|s| StatusCode::from_u16(s).ok());
        let version = stored.etag.and_then(|etag| etag.parse().ok());
        Self {
            status: status.unwrap_or(StatusCode::OK),
            version,
            data: stored.data,
            without_secret: None,
            replayed: true,
        }
    }

    /// The id of the object.
    pub fn id(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct WithId {
            id: String,
        }
        serde_json::from_str::<WithId>(&self.data).ok().map(|object| object.id)
    }

    /// Builds the HTTP response.
    pub fn response(&self, location: Option<&str>, request_id: &str) -> Response {
        let Ok(data) = serde_json::from_str::<&RawValue>(&self.data) else {
            return Error::internal("a stored response is not JSON").into_response();
        };
        let envelope = Bytes::from(format!("{{\"data\":{data},"));
        let response = versioned_response(self.status, envelope, self.version, request_id);
        let replayed = self.replayed.then_some("true");
        let response =
            with_header(response, HeaderName::from_static("idempotent-replayed"), replayed);
        with_header(response, LOCATION, location)
    }

    /// The stored response for this key, if the request was made before.
    pub fn replay(
        tx: &Tx<'_>,
        key: Option<&IdempotencyKey>,
        settings: &ReplaySettings,
    ) -> Result<Option<Self>> {
        let Some(key) = key else { return Ok(None) };
        let stored = idempotency::find_stored(tx, key, settings.ttl)?;
        let Some(mut stored) = stored else { return Ok(None) };
        if let Some(data) = idempotency::find_secret(tx, &settings.seal, &key.key)? {
            stored.data = data;
        }
        let replayed = Self::from_stored(stored);
        // Replays are audited too, because the response may contain sensitive data.
        tx.audit("request.replayed", &replayed.id().unwrap_or_default(), &serde_json::Value::Null)?;
        Ok(Some(replayed))
    }

    /// Stores the response for repeated requests with the same key.
    pub fn save(&self, tx: &Tx<'_>, key: IdempotencyKey, settings: &ReplaySettings) -> Result<()> {
        let secret = self.without_secret.as_ref().map(|_| key.key.clone());
        let stored = StoredResponse {
            account_id: tx.account(),
            key: key.key,
            request_hash: key.request_hash,
            status: self.status.as_u16().into(),
            etag: self.version.map(|version| version.to_string()),
            data: self.without_secret.as_ref().unwrap_or(&self.data).clone(),
            created_at: tx.now(),
        };
        idempotency::save(tx, &stored)?;
        match secret {
            Some(key) => idempotency::save_secret(tx, &settings.seal, &key, &self.data),
            None => Ok(()),
        }
    }
}
