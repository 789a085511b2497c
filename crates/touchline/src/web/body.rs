//! The body of a request: JSON, bounded in size and in time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;

use super::context::Context;
use super::fields::{Fields, FromBody};
use super::json;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::AccountId;

/// A body that makes no progress for this long is given up.
const PROGRESS: Duration = Duration::from_secs(20);
/// A body that takes longer than this holds one of the account's places for slow uploads.
const PROMPT: Duration = Duration::from_secs(1);
/// How many slow uploads an account may have at once.
const SLOW_UPLOADS: usize = 20;

/// A body that was read and found valid.
#[derive(Debug)]
pub struct Body<T> {
    pub value: T,
    /// What the body says, whatever its white space and the order of its members.
    pub canonical: Vec<u8>,
}

impl<T: FromBody> FromRequest<App> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        check_type(request.headers())?;
        let tree = json::parse(&read(request, app, T::LARGEST).await?)?;
        let canonical = json::canonical(&tree);
        Ok(Self { value: Fields::read(tree)?, canonical })
    }
}

/// A request that needs no body. An empty object is as good as none.
#[derive(Debug)]
pub struct NoBody;

impl FromBody for NoBody {
    fn read(_: &mut Fields) -> Self {
        Self
    }
}

/// A body that may be left out.
#[derive(Debug)]
pub struct MaybeBody<T>(pub Body<T>);

impl<T: FromBody> FromRequest<App> for MaybeBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers.clone();
        let bytes = read(Request::from_parts(parts, body), app, T::LARGEST).await?;
        let tree = if bytes.is_empty() {
            serde_json::json!({})
        } else {
            check_type(&headers)?;
            json::parse(&bytes)?
        };
        let canonical = json::canonical(&tree);
        Ok(Self(Body { value: Fields::read(tree)?, canonical }))
    }
}

fn check_type(headers: &HeaderMap) -> Result<()> {
    let unsupported = |detail: &'static str| Error::new(Code::UnsupportedMediaType, detail);
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(unsupported("A compressed body is not supported."));
    }
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (kind, parameters) = named.split_once(';').unwrap_or((named, ""));
    let charset = parameters.trim().to_ascii_lowercase();
    let utf8 = charset.is_empty() || charset.replace('"', "") == "charset=utf-8";
    if kind.trim().eq_ignore_ascii_case("application/json") && utf8 {
        Ok(())
    } else {
        Err(unsupported("Send the body as application/json in UTF-8."))
    }
}

/// Reads the body within its bounds.
pub async fn read(request: Request, app: &App, largest: usize) -> Result<Bytes> {
    let too_large = || {
        let detail = format!("A body can have at most {largest} bytes.");
        Error::new(Code::PayloadTooLarge, detail)
    };
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > largest as u64) {
        return Err(too_large());
    }
    let account = request.extensions().get::<Context>().and_then(Context::account);
    let mut body = http_body_util::Limited::new(request.into_body(), largest);
    let mut collected = Vec::new();
    let mut slow: Option<Upload> = None;
    loop {
        let patience = if slow.is_some() { PROGRESS } else { PROMPT };
        let frame = match tokio::time::timeout(patience, body.frame()).await {
            Ok(frame) => frame,
            Err(_) if slow.is_none() => {
                slow = Some(app.uploads.clone().enter(account)?);
                continue;
            }
            Err(_) => {
                let detail = "The body did not arrive in time.";
                return Err(Error::new(Code::RequestTimeout, detail));
            }
        };
        match frame {
            None => return Ok(collected.into()),
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    collected.extend_from_slice(data);
                }
            }
            Some(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return Err(too_large());
            }
            Some(Err(_)) => {
                return Err(Error::new(Code::InvalidRequest, "The body ended too early."));
            }
        }
    }
}

/// The uploads that take their time, by account.
#[derive(Debug, Default)]
pub struct Uploads(Mutex<HashMap<Option<AccountId>, usize>>);

/// A slow upload's place, given back when it ends.
struct Upload {
    uploads: Arc<Uploads>,
    account: Option<AccountId>,
}

impl Uploads {
    fn enter(self: Arc<Self>, account: Option<AccountId>) -> Result<Upload> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(account).or_default();
        if *count >= SLOW_UPLOADS {
            let detail = format!("More than {SLOW_UPLOADS} slow uploads at once.");
            return Err(Error::new(Code::TooManyConcurrent, detail).retry_after(1));
        }
        *count += 1;
        drop(counts);
        Ok(Upload { uploads: self, account })
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let mut counts = self.uploads.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.account);
            }
        }
    }
}
