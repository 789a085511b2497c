//! The JSON body of a request, limited in size and time.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;

use super::context::Context;
use super::fields::{Fields, FromBody};
use super::json;
use super::open_counts::OpenCounts;
use crate::prelude::*;
use crate::web::app::App;

/// How long a body may make no progress.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(20);
/// A body that pauses longer than this counts as a slow upload.
const SLOW_AFTER: Duration = Duration::from_secs(1);
/// The maximum number of concurrent slow uploads of an account.
const SLOW_UPLOADS: usize = 20;

/// Extracts a valid body.
#[derive(Debug)]
pub struct Body<T> {
    pub value: T,
    /// The body in canonical form, independent of white space and the order of fields.
    pub canonical: Vec<u8>,
}

impl<T: FromBody> FromRequest<App> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        check_type(request.headers())?;
        let tree = json::parse(&read(request, app, T::MAX_BYTES).await?)?;
        let canonical = json::canonical(&tree);
        Ok(Self { value: Fields::read(tree)?, canonical })
    }
}

/// The body of an operation without input. It may be absent or an empty object.
#[derive(Debug)]
pub struct NoBody;

impl FromBody for NoBody {
    fn read(_: &mut Fields) -> Self {
        Self
    }
}

/// Extracts a body that may be absent.
#[derive(Debug)]
pub struct OptionalBody<T>(pub Body<T>);

impl<T: FromBody> FromRequest<App> for OptionalBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers.clone();
        let bytes = read(Request::from_parts(parts, body), app, T::MAX_BYTES).await?;
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
        return Err(unsupported(
            "Compressed request bodies are not supported. Send the body without Content-Encoding.",
        ));
    }
    let header =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (media_type, parameters) = header.split_once(';').unwrap_or((header, ""));
    let charset = parameters.trim().to_ascii_lowercase();
    let utf8 = charset.is_empty() || charset.replace('"', "") == "charset=utf-8";
    if media_type.trim().eq_ignore_ascii_case("application/json") && utf8 {
        Ok(())
    } else {
        Err(unsupported("Send the body as UTF-8 JSON with Content-Type: application/json."))
    }
}

/// Reads a body within the limits.
pub async fn read(request: Request, app: &App, max_bytes: usize) -> Result<Bytes> {
    let too_large = || {
        let detail = format!("The body is too large. Send at most {max_bytes} bytes.");
        Error::new(Code::PayloadTooLarge, detail)
    };
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > max_bytes as u64) {
        return Err(too_large());
    }
    let account = request.extensions().get::<Context>().and_then(Context::account);
    let mut body = http_body_util::Limited::new(request.into_body(), max_bytes);
    let mut collected = Vec::new();
    let mut slow = None;
    loop {
        let timeout = if slow.is_some() { PROGRESS_TIMEOUT } else { SLOW_AFTER };
        let frame = match tokio::time::timeout(timeout, body.frame()).await {
            Ok(frame) => frame,
            Err(_) if slow.is_none() => {
                slow = Some(app.slow_uploads.open(account, check_slow_uploads)?);
                continue;
            }
            Err(_) => {
                let detail = "The body did not arrive in time. Send the request again.";
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
                return Err(Error::new(
                    Code::InvalidRequest,
                    "The body ended before it was complete. Send the request again.",
                ));
            }
        }
    }
}

/// The slow uploads of each account.
pub type UploadLimiter = OpenCounts<Option<AccountId>>;

/// Fails if an account has too many slow uploads.
fn check_slow_uploads(of_account: usize, _: usize) -> Result<()> {
    if of_account < SLOW_UPLOADS {
        return Ok(());
    }
    let detail = format!(
        "Your account already has {SLOW_UPLOADS} slow uploads in progress. Try again when one has ended."
    );
    Err(Error::new(Code::TooManyConcurrent, detail).retry_after(1))
}
