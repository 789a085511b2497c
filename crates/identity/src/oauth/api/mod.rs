//! The token, revocation and introspection endpoints. Every response is JSON and must not be cached.

mod client;
mod metadata;
mod tokens;

pub use metadata::audience;

use axum::extract::{FromRequest, Request};
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue};

use super::error::{ErrorCode, OAuthError};
use super::parameters::Parameters;
use crate::prelude::*;
use crate::web::body;
use crate::web::context::Context;
use crate::web::prelude::*;

/// Maximum size of a request body, in bytes.
const MAX_BODY_SIZE: usize = 16 * 1024;
/// Parameters that must not be sent more than once.
const SINGLE_PARAMETERS: [&str; 10] = [
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

/// `/oauth/token`, `/oauth/revoke`, `/oauth/introspect`, and the server metadata.
pub fn router() -> Router<App> {
    Router::new()
        .route("/oauth/token", post(tokens::issue))
        .route("/oauth/revoke", post(tokens::revoke))
        .route("/oauth/introspect", post(tokens::introspect))
        .route("/.well-known/oauth-authorization-server", get(metadata::show))
        .route("/.well-known/openid-configuration", get(metadata::show))
}

/// A request of a client to one of these endpoints.
struct ClientRequest {
    app: App,
    context: Context,
    headers: HeaderMap,
    parameters: Parameters,
}

impl FromRequest<App> for ClientRequest {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, app: &App) -> Result<Self, ErrorResponse> {
        let context = request.extensions().get::<Context>().cloned();
        let context = context.ok_or_else(|| Error::internal("the request has no context"))?;
        let headers = request.headers().clone();
        let media_type =
            headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        let is_form = media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded");
        if !is_form || headers.contains_key(CONTENT_ENCODING) {
            let description = "Send the parameters as application/x-www-form-urlencoded.";
            return Err(OAuthError::invalid_request(description).into());
        }
        let bytes = body::read(request, app, MAX_BODY_SIZE).await?;
        let parameters = Parameters::parse(&bytes);
        SINGLE_PARAMETERS.iter().try_for_each(|name| parameters.text(name).map(drop))?;
        Ok(Self { app: app.clone(), context, headers, parameters })
    }
}

/// An error response.
#[derive(Debug)]
struct ErrorResponse {
    status: StatusCode,
    error: OAuthError,
    /// Seconds for the `Retry-After` header.
    retry_after: Option<u32>,
    /// Whether to send `WWW-Authenticate`, because the client used the `Authorization` header.
    challenge: bool,
}

impl From<OAuthError> for ErrorResponse {
    fn from(error: OAuthError) -> Self {
        let status = match error.error {
            ErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        };
        Self { status, error, retry_after: None, challenge: false }
    }
}

impl From<Error> for ErrorResponse {
    fn from(cause: Error) -> Self {
        let status = cause.code.status();
        let (error, description) = match cause.code {
            Code::Overloaded => {
                (ErrorCode::TemporarilyUnavailable, "The service is busy. Try again in a moment.")
            }
            _ if status.is_server_error() => {
                tracing::error!(cause = ?cause.cause, "an OAuth request failed");
                (ErrorCode::ServerError, "An internal error occurred.")
            }
            Code::RateLimited => (ErrorCode::SlowDown, "Too many requests. Try again later."),
            Code::PayloadTooLarge => (ErrorCode::InvalidRequest, "The request body is too large."),
            _ => (ErrorCode::InvalidRequest, "The request is malformed."),
        };
        let (error, retry_after) = (OAuthError { error, description }, cause.retry_after);
        Self { status, error, retry_after, challenge: false }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let OAuthError { error, description } = self.error;
        let body = json!({ "error": error, "error_description": description });
        let mut response = json_response(self.status, &body);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self.challenge {
            let realm = HeaderValue::from_static("Basic realm=\"touchline\"");
            headers.insert(WWW_AUTHENTICATE, realm);
        }
        response
    }
}

/// A JSON response that must not be cached.
fn json_response<T: Serialize>(status: StatusCode, value: &T) -> Response {
    let Ok(body) = serde_json::to_vec(value) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers =
        [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store"), (PRAGMA, "no-cache")];
    (status, headers, body).into_response()
}
