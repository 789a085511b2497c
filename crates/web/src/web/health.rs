//! Liveness, readiness and metrics endpoints for operators and their tools.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};

use super::metrics::{self, Metrics};
use crate::prelude::*;
use crate::web::app::App;

/// `/healthz`, `/readyz`, `/up` and, if a token is configured, `/metrics`.
pub fn router() -> Router<App> {
    Router::new()
        .route("/healthz", get(liveness))
        .route("/readyz", get(readiness))
        .route("/up", get(readiness))
        .route("/metrics", get(metrics_with_token))
}

/// `/metrics` for the separate listener of the setting `metrics_listen`. It needs no token, so it must not be public.
pub fn metrics_router() -> Router<App> {
    Router::new()
        .route("/metrics", get(|State(app): State<App>| async move { metrics_response(&app) }))
}

async fn liveness() -> Response {
    status_response("ok")
}

/// Ready means that the service is not stopping and the database answers.
async fn readiness(State(app): State<App>) -> Result<Response> {
    let not_ready = |detail: &'static str| Error::new(Code::Overloaded, detail).retry_after(5);
    if app.is_stopping() {
        return Err(not_ready("The service is shutting down."));
    }
    let query = "select id from installation where id = 1 /* any account */";
    let result =
        app.db.read(Scope::system("ready"), move |db| db.one::<(i64,)>(query, bind! {})).await;
    match result {
        Ok(_) => Ok(status_response("ready")),
        Err(error) => {
            tracing::warn!(%error, "not ready: the database does not answer");
            Err(not_ready("The database does not answer."))
        }
    }
}

fn status_response(status: &str) -> Response {
    let body = format!("{{\"status\":\"{status}\",\"version\":\"{}\"}}", env!("CARGO_PKG_VERSION"));
    (StatusCode::OK, [(CONTENT_TYPE, "application/json")], body).into_response()
}

async fn metrics_with_token(State(app): State<App>, headers: HeaderMap) -> Result<Response> {
    // Metrics are not public: without a configured token this endpoint does not exist.
    let token = app.config.metrics_token.as_ref().ok_or_else(Error::not_found)?;
    let sent =
        headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    match sent {
        Some(sent) if kit::secret::constant_time_eq(sent, token.reveal().as_bytes()) => {
            Ok(metrics_response(&app))
        }
        Some(_) => {
            let detail = "The metrics token is not valid. Send the configured `metrics_token`.";
            Err(Error::new(Code::InvalidCredentials, detail))
        }
        None => {
            let detail = "Send the metrics token as `Authorization: Bearer`.";
            Err(Error::new(Code::MissingCredentials, detail))
        }
    }
}

fn metrics_response(app: &App) -> Response {
    ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], Metrics::render(app)).into_response()
}
