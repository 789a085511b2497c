//! Where apps get, renew and give back their tokens. Every answer is JSON and kept by nobody.

mod client;
mod metadata;
mod tokens;

pub use metadata::audience;

use axum::Router;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use kit::word::Word as _;
use serde::Serialize;

use super::parameters::Parameters;
use super::refusal::{Refusal, Word};
use crate::app::App;
use crate::error::{Code, Error};
use crate::web::body;
use crate::web::context::Context;

/// The largest body of such a request.
const LARGEST: usize = 16 * 1024;
/// What can be sent, each at most once.
const KNOWN: [&str; 10] = [
    "grant_type",
    "client_id",
    "client_secret",
    "code",
    "redirect_uri",
    "code_verifier",
    "refresh_token",
    "scope",
    "token",
    "token_type_hint",
];

/// `/oauth/token`, `/oauth/revoke`, `/oauth/introspect`, and what tells of them.
pub fn router() -> Router<App> {
    Router::new()
        .route("/oauth/token", post(tokens::give))
        .route("/oauth/revoke", post(tokens::take_back))
        .route("/oauth/introspect", post(tokens::inspect))
        .route("/.well-known/oauth-authorization-server", get(metadata::show))
        .route("/.well-known/openid-configuration", get(metadata::show))
}

/// What an app sent.
struct Sent {
    app: App,
    context: Context,
    headers: HeaderMap,
    parameters: Parameters,
}

impl FromRequest<App> for Sent {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        let context = request.extensions().get::<Context>().cloned();
        let context = context.ok_or_else(|| Error::internal("a request did not pass the edge"))?;
        let headers = request.headers().clone();
        let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let form = kind.eq_ignore_ascii_case("application/x-www-form-urlencoded");
        if !form || headers.contains_key(CONTENT_ENCODING) {
            let description = "Send the parameters as application/x-www-form-urlencoded.";
            return Err(Refusal::invalid_request(description).into());
        }
        let bytes = body::read(request, app, LARGEST).await?;
        let parameters = Parameters::parse(&bytes);
        KNOWN.iter().try_for_each(|name| parameters.text(name).map(drop))?;
        Ok(Self { app: app.clone(), context, headers, parameters })
    }
}

/// Why an app gets nothing.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    refusal: Refusal,
    retry_after: Option<u64>,
    /// Whether to say how an app names itself, since it tried so.
    challenge: bool,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.error {
            Word::InvalidClient => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        };
        Self { status, refusal, retry_after: None, challenge: false }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = error.code.status();
        let refusal = match error.code {
            Code::Overloaded => {
                let description = "The service is busy. Try again in a moment.";
                Refusal::new(Word::TemporarilyUnavailable, description)
            }
            _ if status.is_server_error() => {
                tracing::error!(cause = ?error.cause, "an app could not be answered");
                Refusal::new(Word::ServerError, "Something went wrong on our side.")
            }
            Code::RateLimited => {
                Refusal::new(Word::SlowDown, "Too many requests. Try again later.")
            }
            Code::PayloadTooLarge => Refusal::invalid_request("The body is too large."),
            _ => Refusal::invalid_request("The request could not be read."),
        };
        let retry_after = error.retry_after.map(u64::from);
        Self { status, refusal, retry_after, challenge: false }
    }
}

#[derive(Serialize)]
struct Told {
    error: &'static str,
    error_description: &'static str,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let told =
            Told { error: self.refusal.error.word(), error_description: self.refusal.description };
        let mut response = json(self.status, &told);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self.challenge {
            let how = HeaderValue::from_static("Basic realm=\"touchline\"");
            headers.insert(WWW_AUTHENTICATE, how);
        }
        response
    }
}

/// An answer that nobody keeps.
fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    let Ok(body) = serde_json::to_vec(value) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers =
        [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store"), (PRAGMA, "no-cache")];
    (status, headers, body).into_response()
}
