//! Is it alive, is it ready, how is it doing: for operators and their tools.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use store::{Scope, bind};

use super::metrics::Metrics;
use crate::app::App;
use crate::error::{Code, Error, Result};

/// `/healthz`, `/readyz`, `/up` and, where a token opens it, `/metrics`.
pub fn router() -> Router<App> {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/up", get(ready))
        .route("/metrics", get(metrics_with_token))
}

/// `/metrics` on a listener of its own, which the operator keeps to themselves.
pub fn metrics_router() -> Router<App> {
    Router::new().route("/metrics", get(|State(app): State<App>| async move { metrics(&app) }))
}

async fn alive() -> Response {
    answer("ok")
}

/// Ready: not stopping, and the database answers.
async fn ready(State(app): State<App>) -> Result<Response> {
    let refuse = |detail: &'static str| Error::new(Code::Overloaded, detail).retry_after(5);
    if app.is_stopping() {
        return Err(refuse("The service is stopping."));
    }
    let query = "select id from installation where id = 1 /* any account */";
    let looked =
        app.db.read(Scope::system("ready"), move |db| db.one::<(i64,)>(query, bind! {})).await;
    match looked {
        Ok(_) => Ok(answer("ready")),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            Err(refuse("The database does not answer."))
        }
    }
}

fn answer(status: &str) -> Response {
    let body = format!("{{\"status\":\"{status}\",\"version\":\"{}\"}}", env!("CARGO_PKG_VERSION"));
    (StatusCode::OK, [(CONTENT_TYPE, "application/json")], body).into_response()
}

async fn metrics_with_token(State(app): State<App>, headers: HeaderMap) -> Result<Response> {
    // Without a token there is nothing here: numbers about a club are not for everybody.
    let token = app.config.metrics_token.as_ref().ok_or_else(Error::not_found)?;
    let sent =
        headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    match sent {
        Some(sent) if kit::secret::same(sent, token.reveal().as_bytes()) => Ok(metrics(&app)),
        Some(_) => {
            Err(Error::new(Code::InvalidCredentials, "The token is not the configured one."))
        }
        None => Err(Error::new(Code::MissingCredentials, "Send the metrics token.")),
    }
}

fn metrics(app: &App) -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], Metrics::text(app)).into_response()
}
