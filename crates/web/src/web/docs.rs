//! The API documentation: the OpenAPI document, and the developer portal with the guides and the reference.
//!
//! The pages are rendered from the guides and the OpenAPI document when the first of them is requested.

pub mod guides;
pub mod highlight;
pub mod literal;
pub mod markdown;
pub mod page;
pub mod portal;
pub mod reference;
pub mod samples;
pub mod search;
pub mod viewer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;
use http::request::Parts;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;

use self::page::{Cached, HTML};
use self::portal::Portal;
pub use self::viewer::EXAMPLE_IDS;
use self::viewer::Viewer;
use super::edge::API;
use super::form::Form;
use crate::accounts::user;
use crate::error::Problem;
use crate::hook::Hook;
use crate::prelude::*;
use crate::web::app::App;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Touchline",
        description = "Teams, schedules, rosters, messages, orders and dues of sports clubs.\n\nSend an API key or an access token in the header `Authorization: Bearer`. Lists are paginated with cursors. Changes accept an `Idempotency-Key`. Errors are problem documents (RFC 9457) with a stable `code`.\n\nGuides: [quickstart](/docs/quickstart), [authentication](/docs/authentication), [testing](/docs/testing), [using the API](/docs/api), [pagination](/docs/pagination), [idempotency](/docs/idempotency), [errors](/docs/errors), [rate limits](/docs/rate-limits), [webhooks](/docs/webhooks), [notifications](/docs/notifications), [OAuth for apps](/docs/oauth), [the store](/docs/store), [dues](/docs/dues), [card payments](/docs/cards), [safeguarding](/docs/safeguarding), [managing a club](/docs/admin), [running the service](/docs/operations).",
        contact(name = "Touchline contributors"),
        license(name = "Apache-2.0", identifier = "Apache-2.0")),
    servers((url = "/api/public/v1")),
    tags((name = "Account", description = "The caller, with its account, permissions and rate limits."),
         (name = "Teams", description = "Teams and their settings."),
         (name = "Roster", description = "People, their team memberships and their guardians."),
         (name = "Events", description = "Games, practices and other events, with locations, RSVPs and duties."),
         (name = "Calendars", description = "Calendar feeds that calendar apps subscribe to."),
         (name = "Messages", description = "Announcements, conversations, read receipts and outgoing emails."),
         (name = "Files", description = "Attachments of messages, logos of teams and photos of people."),
         (name = "Money", description = "Payment settings, checkout sessions for card payments, and the payments and refunds of all orders and dues."),
         (name = "Store", description = "Products, discount codes and orders."),
         (name = "Dues", description = "Membership dues, payments, refunds and statements."),
         (name = "Notifications", description = "The log of all changes, as a list or as a stream of server-sent events."),
         (name = "Webhooks", description = "Signed HTTP notifications about changes, with retries and replay."),
         (name = "Exports", description = "CSV exports of the account's data.")),
    components(schemas(
        Problem, Fault, Code, Order, TeamId, PersonId, MemberId, LocationId, EventId, SeriesId, DutyId, RsvpId, FeedId, MessageId, EmailId,
        ProductId, VariantId, DiscountId, OrderId, LineId, DueId, ChargeId, PaymentId,
        RefundId, CheckoutId, AccountId, NotificationId, WebhookId, DeliveryId, user::UserSnapshot
    )))]
struct Base;

/// The document before the modules add their operations.
pub fn base() -> Document {
    Base::openapi()
}

/// The URL of the service in examples.
pub const ORIGIN: &str = "https://club.example.org";
/// Longer searches are cut.
const MAX_QUERY: usize = 100;

/// Returns the OpenAPI document of the whole service as JSON.
pub static DESCRIBE_API: Hook<fn() -> String> = Hook::new("docs::DESCRIBE_API");

/// The OpenAPI document, as it is checked in and served.
pub fn json(document: Document) -> String {
    let document = super::document::complete(document);
    serde_json::to_string_pretty(&document).expect("the document is plain data") + "\n"
}

/// `/docs` and the OpenAPI document. None of them needs credentials.
pub fn router() -> Router<App> {
    let serve_document = |headers: HeaderMap| async move {
        // Created on first use: it is large and often not requested at all.
        static DOCUMENT: OnceLock<(String, Cached)> = OnceLock::new();
        let describe = DESCRIBE_API.get()?;
        let create = || {
            let text = describe();
            let cached = Cached::new("application/json", &text);
            (text, cached)
        };
        let (text, cached) = DOCUMENT.get_or_init(create);
        cached.response(&headers, || text.clone())
    };
    Router::new()
        .route(&format!("{API}/openapi.json"), get(serve_document))
        .route("/docs", get(serve))
        .route("/docs/", get(serve))
        .route("/docs/search", get(search))
        .route("/docs/{page}", get(serve))
        .route("/docs/reference/{page}", get(serve))
}

/// The pages. They are rendered on first use, outside of the threads for requests.
async fn portal() -> Result<&'static Portal> {
    static PORTAL: OnceLock<Portal> = OnceLock::new();
    if let Some(portal) = PORTAL.get() {
        return Ok(portal);
    }
    let describe = DESCRIBE_API.get()?;
    let task = tokio::task::spawn_blocking(move || Portal::build(&describe()));
    let portal = task.await.map_err(|error| Error::internal(error.to_string()))??;
    Ok(PORTAL.get_or_init(|| portal))
}

/// The paths of all pages, for tests.
pub async fn paths() -> Result<Vec<String>> {
    Ok(portal().await?.paths().map(str::to_owned).collect())
}

/// The pages as this service sends them to visitors who are not signed in.
#[derive(Default)]
struct PublicPages(Mutex<HashMap<String, Arc<Cached>>>);

impl PublicPages {
    async fn get(
        self: Arc<Self>,
        path: &str,
        html: impl FnOnce() -> String + Send + 'static,
    ) -> Result<Arc<Cached>> {
        if let Some(page) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(page.clone());
        }
        // Compressing a large page takes some milliseconds.
        let page = tokio::task::spawn_blocking(move || Arc::new(Cached::new(HTML, &html())));
        let page = page.await.map_err(|error| Error::internal(error.to_string()))?;
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(pages.entry(path.to_owned()).or_insert(page).clone())
    }
}

async fn serve(State(app): State<App>, mut parts: Parts) -> Result<Response> {
    let portal = portal().await?;
    let path = parts.uri.path().trim_end_matches('/').to_owned();
    let page = portal.page(&path).ok_or_else(Error::not_found)?;
    // The guide for operators explains how to set the URL.
    let is_for_operators = path == "/docs/operations";
    if !is_for_operators && let Some(viewer) = Viewer::load(&mut parts, &app).await? {
        return Ok(page::private(viewer.personalize(page)));
    }
    let origin =
        if is_for_operators { ORIGIN.to_owned() } else { kit::text::escape_html(&app.url("")) };
    let html = move || page.replace(ORIGIN, &origin).replacen(viewer::NOTE, "", 1);
    let cached = app.state::<PublicPages>().get(&path, html.clone()).await?;
    cached.response(&parts.headers, html)
}

/// The results of a search, or an empty search page.
async fn search(parts: Parts) -> Result<Response> {
    let query = Form::parse(parts.uri.query().unwrap_or_default().as_bytes())?;
    let query: String = query.text("q").trim().chars().take(MAX_QUERY).collect();
    Ok(page::private(portal().await?.search(&query)?))
}
