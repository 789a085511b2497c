//! The installed app: its manifest, and the service worker that keeps the last seen Home and Schedule readable without a
//! network.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY};
use serde_json::{Value, json};

use super::assets::href;
use super::page::{self, Frame, Section};
use super::visitor::{Guest, PageResult};
use crate::accounts::session::SessionLookup;
use crate::i18n::Locale;
use crate::web::app::App;
use askama::Template;

const SERVICE_WORKER: &str = include_str!("../../assets/service-worker.js");
/// Length of the name of a session, in bytes.
const NAME_BYTES: usize = 15;

/// `/manifest.webmanifest`, `/service-worker.js` and `/offline`.
pub fn router() -> Router<App> {
    Router::new()
        .route("/manifest.webmanifest", get(manifest))
        .route("/service-worker.js", get(service_worker))
        .route("/offline", get(offline))
}

/// The name of a session in a club, which does not reveal the session. The service worker deletes the pages that it has
/// kept when the name changes.
pub fn session_name(app: &App, visit: &SessionLookup) -> String {
    let club = visit.club.map(|club| club.to_string()).unwrap_or_default();
    let session = visit.session.to_string();
    let key = app.secrets.key("session name");
    let signature = key.sign(&[session.as_bytes(), club.as_bytes()]);
    URL_SAFE_NO_PAD.encode(&signature[..NAME_BYTES])
}

async fn manifest() -> Response {
    let headers = [
        (CONTENT_TYPE, "application/manifest+json"),
        (CACHE_CONTROL, "public, max-age=3600"),
        (VARY, "accept-language"),
    ];
    (headers, manifest_json().to_string()).into_response()
}

/// The manifest in the reader's language.
fn manifest_json() -> Value {
    let locale = Locale::current_or_english();
    let icon = |name, size: &str, purpose: &str| json!({ "src": href(name), "sizes": size, "type": "image/png", "purpose": purpose });
    let shortcut = |section: Section| json!({ "name": section.label(), "url": section.href() });
    let shortcuts = [Section::Schedule, Section::Messages].map(shortcut);
    json!({
        "id": "/",
        "name": t!("Touchline: your teams"),
        "short_name": "Touchline",
        "description": t!("The schedule, roster and messages of your teams."),
        "lang": locale.lang(),
        "dir": locale.dir(),
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#f5f5f1",
        "theme_color": "#f5f5f1",
        "icons": [
            icon("icon-192.png", "192x192", "any"),
            icon("icon-512.png", "512x512", "any"),
            icon("icon-maskable.png", "512x512", "maskable"),
        ],
        "shortcuts": shortcuts,
    })
}

async fn service_worker() -> Response {
    let headers = [
        (CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
        // It only loads pages and assets of this server.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; connect-src 'self'"),
    ];
    (headers, SERVICE_WORKER).into_response()
}

#[derive(Template)]
#[template(path = "offline.html")]
struct OfflinePage {
    frame: Frame,
}

/// The page that the service worker shows without a network. It has nothing about its reader but their language.
async fn offline(_: Guest) -> PageResult {
    page::render(StatusCode::OK, &OfflinePage { frame: Frame::plain(t!("You are offline")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_worker_stays_small() {
        assert!(SERVICE_WORKER.len() < 6_000, "{}", SERVICE_WORKER.len());
    }

    #[test]
    fn every_icon_of_the_manifest_exists() {
        let manifest = manifest_json();
        for icon in manifest["icons"].as_array().unwrap() {
            assert!(icon["src"].as_str().unwrap().starts_with("/assets/icon-"), "{icon}");
        }
    }
}
