//! Server-sent events (`text/event-stream`): endless responses.
//!
//! The number of streams is limited. The credential is checked regularly, so that revoking it also ends its
//! streams. Nothing is buffered: the next chunk is created when the one before was sent, and
//! [`super::connection`] disconnects a client that does not read.

use std::convert::Infallible;
use std::fmt::Write;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName};

use super::admission;
use super::connection::StreamingFlag;
use super::context::Context;
use super::open_counts::{OpenCounts, OpenGuard};
use crate::accounts::credential::Credential;
use crate::accounts::permissions::Permission;
use crate::prelude::*;
use crate::web::app::App;

/// The maximum number of streams of an account on a node.
const MAX_PER_ACCOUNT: usize = 20;
/// The maximum number of streams of a node.
const MAX_TOTAL: usize = 1_000;
/// The interval of heartbeats on a stream without events.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// How long a client waits before it reconnects, in milliseconds.
const RETRY_MILLIS: u32 = 2_000;

/// Limits the open streams of a node, in total and per account.
#[derive(Debug, Default)]
pub struct StreamLimiter(Arc<OpenCounts<AccountId>>);

/// An open stream. Dropping it makes room for another.
pub type StreamGuard = OpenGuard<AccountId>;

impl StreamLimiter {
    /// Registers a stream, unless there are too many of the account or in total.
    pub fn acquire(&self, account: AccountId) -> Result<StreamGuard> {
        self.0.open(account, |of_account, total| {
            if of_account >= MAX_PER_ACCOUNT {
                let detail = format!(
                    "Your account already has {MAX_PER_ACCOUNT} open streams. Close one first."
                );
                return Err(Error::new(Code::TooManyConcurrent, detail).retry_after(5));
            }
            if total >= MAX_TOTAL {
                let detail = "Too many streams are open. Poll the notification log instead, or try again later.";
                return Err(Error::new(Code::Overloaded, detail).retry_after(5));
            }
            Ok(())
        })
    }

    /// The number of open streams.
    pub fn open_count(&self) -> usize {
        self.0.total()
    }
}

/// Extracts the credential of a caller with the permission `N`, to check it repeatedly while a stream is open.
pub struct StreamAuth<N> {
    pub app: App,
    context: Context,
    headers: HeaderMap,
    /// The sequence number in `Last-Event-ID`, if the client sent it.
    pub last_event_id: Option<i64>,
    streaming: Option<StreamingFlag>,
    permission: PhantomData<fn() -> N>,
}

impl<N: Permission> FromRequestParts<App> for StreamAuth<N> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let context = Context::of(parts)?;
        let mut headers = HeaderMap::new();
        for value in parts.headers.get_all(AUTHORIZATION) {
            headers.append(AUTHORIZATION, value.clone());
        }
        Ok(Self {
            app: app.clone(),
            context,
            headers,
            last_event_id: last_event_id(&parts.headers)?,
            streaming: parts.extensions.get::<StreamingFlag>().cloned(),
            permission: PhantomData,
        })
    }
}

impl<N: Permission> StreamAuth<N> {
    /// Checks the credential. Fails if it was revoked or lost the permission.
    pub async fn authorize(&self) -> Result<(Credential, TeamAccess)> {
        let credential = admission::authenticate(&self.app, &self.context, &self.headers).await?;
        let access = admission::authorize::<N>(&self.app, &credential).await?;
        Ok((credential, access))
    }

    /// The flag that marks the response of this connection as endless.
    pub fn streaming_flag(&self) -> Option<StreamingFlag> {
        self.streaming.clone()
    }
}

/// The response that sends these chunks. Marks it as endless for its connection.
pub fn response(
    streaming: Option<StreamingFlag>,
    chunks: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    if let Some(streaming) = streaming {
        streaming.set();
    }
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
        // Keeps nginx from buffering events.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(chunks.map(Ok::<_, Infallible>))).into_response()
}

/// The sequence number in `Last-Event-ID`, which a client sends when it reconnects.
fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
    let number = number.and_then(|number| i64::try_from(number).ok());
    number.map(Some).ok_or_else(|| {
        Error::new(
            Code::InvalidRequest,
            "The header `Last-Event-ID` must be the sequence number of a notification.",
        )
    })
}

/// The first chunk: the current position, so that a client that reconnects before the first event misses
/// nothing, and the time to wait before reconnecting.
pub fn opening(position: i64) -> Bytes {
    format!("id: {position}\nretry: {RETRY_MILLIS}\n\n").into()
}

/// A heartbeat with the current position.
pub fn heartbeat(position: i64) -> Bytes {
    format!(": still here\nid: {position}\n\n").into()
}

/// Appends an event. `data` must be a single line.
pub fn event(out: &mut String, id: i64, kind: &str, data: &str) {
    // Writing to a string cannot fail.
    let _ = write!(out, "id: {id}\nevent: {kind}\ndata: {data}\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_limited_per_account_and_node_and_released_on_drop() {
        let streams = Arc::new(StreamLimiter::default());
        let enter = |account: u128| streams.acquire(AccountId::from_bits(account));
        let mut guards: Vec<_> = (0..MAX_PER_ACCOUNT).map(|_| enter(0).unwrap()).collect();
        assert_eq!(enter(0).unwrap_err().code, Code::TooManyConcurrent);
        for account in 1..=(MAX_TOTAL - MAX_PER_ACCOUNT) as u128 {
            guards.push(enter(account).unwrap());
        }
        assert_eq!(enter(5_000).unwrap_err().code, Code::Overloaded);
        guards.truncate(1);
        assert_eq!(streams.open_count(), 1);
        assert!(enter(0).is_ok() && enter(5_000).is_ok());
        drop(guards);
        assert_eq!(streams.open_count(), 0);
    }
}
