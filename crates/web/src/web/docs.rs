//! The API documentation: the OpenAPI document, the reference page, the list of errors and the guides.

use std::fmt::Write as _;
use std::sync::{LazyLock, OnceLock};

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY,
    VARY,
};
use http::{HeaderMap, HeaderName, StatusCode};
use kit::secret::{hex, sha256};
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;

use super::assets;
use super::edge::API;
use super::guides::GUIDES;
use super::precondition;
use crate::accounts::user;
use crate::error::Problem;
use crate::hook::Hook;
use crate::prelude::*;
use crate::web::app::App;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Touchline",
        description = "Teams, schedules, rosters, messages, orders and dues of sports clubs.\n\nSend an API key or an access token in the header `Authorization: Bearer`. Lists are paginated with cursors. Changes accept an `Idempotency-Key`. Errors are problem documents (RFC 9457) with a stable `code`.\n\nGuides: [using the API](/docs/api), [connecting apps](/docs/oauth), [receiving webhooks](/docs/webhooks), [the store](/docs/store), [dues](/docs/dues), [card payments](/docs/cards), [safeguarding](/docs/safeguarding), [managing a club](/docs/admin), [running the service](/docs/operations). See also [all errors](/docs/errors).",
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

/// `/docs` with its assets, and the OpenAPI document. None of them needs credentials.
pub fn router() -> Router<App> {
    let serve_document = |headers: HeaderMap| async move {
        // Created on first use: it is large and often not requested at all.
        static DOCUMENT: OnceLock<ServedDocument> = OnceLock::new();
        let describe = DESCRIBE_API.get()?;
        DOCUMENT.get_or_init(|| ServedDocument::new(describe())).response(&headers)
    };
    let guides = GUIDES.iter().fold(Router::new(), |router, guide| {
        router.route(&format!("/docs/{}", guide.name), get(|| async { page(guide.html()) }))
    });
    guides
        .route(&format!("{API}/openapi.json"), get(serve_document))
        .route("/docs", get(|| async { page(REFERENCE) }))
        .route("/docs/", get(|| async { page(REFERENCE) }))
        .route("/docs/errors", get(|| async { page(&errors()) }))
        .route("/docs/reference.js", get(|| async { script(REFERENCE_JS.as_bytes().into()) }))
        .route("/docs/docs.css", get(|| async { ([(CONTENT_TYPE, "text/css")], CSS) }))
        .route("/docs/scalar.js", get(bundle))
}

/// The OpenAPI document with its compressed form and its tag.
struct ServedDocument {
    plain: Bytes,
    gzipped: Bytes,
    tag: String,
}

impl ServedDocument {
    fn new(text: String) -> Self {
        let tag = hex(&sha256(text.as_bytes())[..8]);
        Self { gzipped: assets::gzip(text.as_bytes()), plain: text.into(), tag }
    }

    fn response(&self, headers: &HeaderMap) -> Result<Response> {
        // A weak tag: the compressed and the plain document have different bytes.
        let quoted = format!("W/\"{}\"", self.tag);
        let common = [
            (ETAG, quoted.as_str()),
            (CACHE_CONTROL, "public, max-age=300"),
            (VARY, "accept-encoding"),
        ];
        if precondition::has_tag(headers, &self.tag)? {
            return Ok((StatusCode::NOT_MODIFIED, common).into_response());
        }
        let content_type = [(CONTENT_TYPE, "application/json")];
        if assets::accepts_gzip(headers) {
            let encoding = [(CONTENT_ENCODING, "gzip")];
            return Ok((common, content_type, encoding, self.gzipped.clone()).into_response());
        }
        Ok((common, content_type, self.plain.clone()).into_response())
    }
}

/// Returns the OpenAPI document of the whole service as JSON.
pub static DESCRIBE_API: Hook<fn() -> String> = Hook::new("docs::DESCRIBE_API");

/// The OpenAPI document, as it is checked in and served.
pub fn json(document: Document) -> String {
    let document = super::document::complete(document);
    serde_json::to_string_pretty(&document).expect("the document is plain data") + "\n"
}

const REFERENCE: &str = include_str!("../../assets/reference.html");
const REFERENCE_JS: &str = include_str!("../../assets/reference.js");
const CSS: &str = include_str!("../../assets/docs.css");

/// The Content-Security-Policy: the reference page needs inline styles. Nothing may be loaded from or sent to another
/// server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

fn page(html: &str) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, html.to_owned()).into_response()
}

fn script(bytes: Bytes) -> Response {
    let headers = [(CONTENT_TYPE, "text/javascript"), (CACHE_CONTROL, "public, max-age=86400")];
    (headers, bytes).into_response()
}

/// The script of the reference page. It is large, so it is compressed once, on first use.
async fn bundle(headers: HeaderMap) -> Response {
    static GZIPPED: LazyLock<Bytes> = LazyLock::new(|| assets::gzip(&plain_bundle()));
    if !assets::accepts_gzip(&headers) {
        return script(plain_bundle());
    }
    let packed = tokio::task::spawn_blocking(|| GZIPPED.clone()).await.unwrap_or_default();
    let headers: [(HeaderName, &str); 2] = [(CONTENT_ENCODING, "gzip"), (VARY, "accept-encoding")];
    (headers, script(packed)).into_response()
}

fn plain_bundle() -> Bytes {
    scalar_api_reference::get_asset("scalar.js").unwrap_or_default().into()
}

/// The list of all error codes, to which the `type` of a problem document points.
fn errors() -> String {
    let mut rows = String::new();
    for (code, word) in Code::ALL {
        let retryable = if code.retryable() { "yes" } else { "no" };
        let (status, title) = (code.status().as_u16(), code.title());
        let _ = write!(
            rows,
            "<tr id=\"{word}\"><th scope=\"row\"><code>{word}</code><td data-label=\"Status\">{status}\
             <td>{title}<td data-label=\"Retryable\">{retryable}"
        );
    }
    include_str!("../../assets/errors.html").replace("{rows}", &rows)
}
