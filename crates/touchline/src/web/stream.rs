//! Streams: answers without an end, sent as events (`text/event-stream`) while things happen.
//!
//! Whoever listens holds one of a bounded number of places. What they came with is looked at again and again, so
//! a credential that is revoked ends its streams too. Nothing is sent ahead: the next piece is made when the one
//! before was taken, and [`super::wire`] lets go of a client who takes nothing.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
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
use super::context::Context;
use super::wire::Endless;
use crate::accounts::credential::Credential;
use crate::accounts::permits::Needs;
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::AccountId;

/// How many streams an account may have on a node.
const OF_ACCOUNT: usize = 20;
/// How many streams a node has.
const IN_ALL: usize = 1_000;
/// After so long without news, something is sent that shows that the stream is alive.
pub const BEAT: Duration = Duration::from_secs(15);
/// How long a client waits before it comes back, in milliseconds.
const COME_BACK: u32 = 2_000;

/// The streams of a node, by account.
#[derive(Debug, Default)]
pub struct Streams(Mutex<HashMap<AccountId, usize>>);

/// A stream's place, given back when it ends.
#[derive(Debug)]
pub struct Place {
    streams: Arc<Streams>,
    account: AccountId,
}

impl Streams {
    /// A place for a stream, unless there are too many of the account or in all.
    pub fn enter(self: &Arc<Self>, account: AccountId) -> Result<Place> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) = (open.values().sum::<usize>(), open.get(&account).copied().unwrap_or(0));
        if own >= OF_ACCOUNT {
            let detail = format!("More than {OF_ACCOUNT} streams at once.");
            return Err(Error::new(Code::TooManyConcurrent, detail).retry_after(5));
        }
        if all >= IN_ALL {
            let detail = "There are too many streams. Ask for pages of the log instead.";
            return Err(Error::new(Code::Overloaded, detail).retry_after(5));
        }
        open.insert(account, own + 1);
        drop(open);
        Ok(Place { streams: self.clone(), account })
    }

    /// How many there are.
    pub fn open(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.account);
            }
        }
    }
}

/// What a caller with the permit `N` came with, to be looked at again while a stream goes on.
pub struct Pass<N> {
    pub app: App,
    context: Context,
    headers: HeaderMap,
    /// The number of the last event that the client has seen, if it says so.
    pub last: Option<i64>,
    endless: Option<Endless>,
    needs: PhantomData<fn() -> N>,
}

impl<N: Needs> FromRequestParts<App> for Pass<N> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let context = parts.extensions.get::<Context>().cloned().ok_or_else(|| {
            Error::internal("a request reached a handler without passing the edge")
        })?;
        let mut headers = HeaderMap::new();
        for value in parts.headers.get_all(AUTHORIZATION) {
            headers.append(AUTHORIZATION, value.clone());
        }
        Ok(Self {
            app: app.clone(),
            context,
            headers,
            last: last_event_id(&parts.headers)?,
            endless: parts.extensions.get::<Endless>().cloned(),
            needs: PhantomData,
        })
    }
}

impl<N: Needs> Pass<N> {
    /// What the credential opens now; fails when it no longer opens this.
    pub async fn look(&self) -> Result<(Credential, Reach)> {
        let credential = admission::authenticate(&self.app, &self.context, &self.headers).await?;
        let reach = admission::permit::<N>(&self.app, &credential).await?;
        Ok((credential, reach))
    }

    /// What tells the connection that its answer has no end.
    pub fn endless(&self) -> Option<Endless> {
        self.endless.clone()
    }
}

/// The response that sends these pieces as they come, on a connection that is told that they do not end.
pub fn answer(
    endless: Option<Endless>,
    pieces: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    if let Some(endless) = endless {
        endless.begin();
    }
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
        // Some proxies would otherwise keep events until they have many.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(pieces.map(Ok::<_, Infallible>))).into_response()
}

/// The number in `Last-Event-ID`, which a client sends when it comes back.
fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
    let number = number.and_then(|number| i64::try_from(number).ok());
    number.map(Some).ok_or_else(|| {
        Error::new(Code::InvalidRequest, "Last-Event-ID must be the number of a notification.")
    })
}

/// What a stream begins with: where it stands, so that whoever comes back before the first event misses
/// nothing, and when to come back.
pub fn opening(position: i64) -> Bytes {
    format!("id: {position}\nretry: {COME_BACK}\n\n").into()
}

/// Shows that the stream is alive, and how far it has come.
pub fn beat(position: i64) -> Bytes {
    format!(": still here\nid: {position}\n\n").into()
}

/// Writes an event whose data is one line.
pub fn event(out: &mut String, id: i64, kind: &str, data: &str) {
    // Writing to a string cannot fail.
    let _ = write!(out, "id: {id}\nevent: {kind}\ndata: {data}\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_and_a_node_have_so_many_places_and_get_them_back() {
        let streams = Arc::new(Streams::default());
        let enter = |account: u128| streams.enter(AccountId::from_bits(account));
        let mut places: Vec<_> = (0..OF_ACCOUNT).map(|_| enter(0).unwrap()).collect();
        assert_eq!(enter(0).unwrap_err().code, Code::TooManyConcurrent);
        for account in 1..=(IN_ALL - OF_ACCOUNT) as u128 {
            places.push(enter(account).unwrap());
        }
        assert_eq!(enter(5_000).unwrap_err().code, Code::Overloaded);
        places.truncate(1);
        assert_eq!(streams.open(), 1);
        assert!(enter(0).is_ok() && enter(5_000).is_ok());
        drop(places);
        assert_eq!(streams.open(), 0);
    }
}
