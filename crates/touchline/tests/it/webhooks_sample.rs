// A receiver. The same text is in docs/webhooks.md.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use standardwebhooks::Webhook;

async fn hook(State(webhook): State<Arc<Webhook>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    // Verify the raw bytes, before anything parses them as JSON.
    if webhook.verify(&body, &headers).is_err() {
        return StatusCode::BAD_REQUEST;
    }
    // The signature is valid. Queue the notification, respond, and process it afterwards.
    StatusCode::NO_CONTENT
}

pub(crate) fn receiver(secret: &str) -> Router {
    let webhook = Webhook::new(secret).expect("a secret begins with whsec_");
    Router::new().route("/hook", post(hook)).with_state(Arc::new(webhook))
}
