//! The API's own documentation: the OpenAPI document, the reference page, the list of errors, the guides.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY,
};
use http::{HeaderMap, HeaderName};
use kit::word::Word;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::response::Response as DocumentedResponse;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, RefOr, ResponseBuilder, Schema};
use utoipa::{IntoResponses, OpenApi, ToSchema};

use super::assets;
use super::edge::API;
use super::guides::GUIDES;
use crate::accounts::user;
use crate::app::App;
use crate::error::{Code, Fault, Problem};
use crate::events::rsvp;
use crate::ids::{
    AccountId, ChargeId, CheckoutId, DeliveryId, DiscountId, DueId, DutyId, EventId, FeedId,
    LineId, LocationId, MailId, MemberId, MessageId, NotificationId, OrderId, PaymentId, PersonId,
    ProductId, RefundId, RsvpId, SeriesId, TeamId, VariantId, WebhookId,
};
use crate::messages::receipt::ReadNews;
use crate::money::payment::Refund;
use crate::paging::Order;
use crate::webhooks::asking::Ping;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Touchline",
        description = "Teams, schedules, rosters, messages, orders and statistics of sports clubs.\n\nSend `Authorization: Bearer` followed by an API key. Lists come in pages; changes take an `Idempotency-Key`; errors are problems (RFC 9457) whose `code` never changes its meaning.\n\nGuides: [using the API](/docs/api), [connecting apps](/docs/oauth), [receiving webhooks](/docs/webhooks), [the store](/docs/store), [dues](/docs/dues), [paying by card](/docs/cards), [safeguarding](/docs/safeguarding), [looking after a club](/docs/admin), [running the service](/docs/operations). [All errors](/docs/errors).",
        license(name = "Apache-2.0", identifier = "Apache-2.0")),
    servers((url = "/api/public/v1")),
    tags((name = "Account", description = "Who you are and what you may use."),
         (name = "Teams", description = "Groups of people that play together."),
         (name = "Roster", description = "People, the teams they are on, and their guardians."),
         (name = "Events", description = "What teams meet for, where, and who comes."),
         (name = "Calendars", description = "Addresses that calendar programs subscribe to."),
         (name = "Messages", description = "Announcements, conversations, receipts, and the mail that goes out."),
         (name = "Money", description = "How the account handles money."),
         (name = "Store", description = "What is sold, the codes that make it cheaper, and what was ordered."),
         (name = "Dues", description = "What members owe, what was paid, and what is open."),
         (name = "Notifications", description = "The log of everything that happened, page by page or as a stream."),
         (name = "Webhooks", description = "Being told what happens: signed, tried again, and never forgotten."),
         (name = "Exports", description = "What the club holds, as CSV.")),
    components(schemas(
        Problem, Fault, Code, Order, TeamId, PersonId, MemberId, LocationId, EventId, SeriesId, DutyId, RsvpId, FeedId, MessageId, MailId,
        ProductId, VariantId, DiscountId, OrderId, LineId, DueId, ChargeId, PaymentId,
        RefundId, CheckoutId, AccountId, NotificationId, WebhookId, DeliveryId, user::News, rsvp::News, ReadNews, Ping, Refund
    )))]
struct Base;

/// The document before the rooms add their operations.
pub fn base() -> Document {
    let mut document = Base::openapi();
    let key = Http::builder()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key. The scopes an operation needs stand beside it."))
        .build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("key", SecurityScheme::Http(key));
    document
}

/// The problems that every operation can answer with.
pub struct Problems;

impl IntoResponses for Problems {
    fn responses() -> std::collections::BTreeMap<String, RefOr<DocumentedResponse>> {
        let content = || {
            Content::new(Some(RefOr::<Schema>::Ref(utoipa::openapi::Ref::from_schema_name(
                Problem::name(),
            ))))
        };
        let response = |description: &str| {
            let response = ResponseBuilder::new()
                .description(description)
                .content("application/problem+json", content())
                .build();
            RefOr::T(response)
        };
        [
            ("400", "The request is malformed, or a parameter is unknown or wrong."),
            ("401", "No credentials, or credentials that are not valid."),
            ("403", "The credentials lack a scope, or may not do this."),
            ("404", "There is nothing here, or nothing you may see."),
            ("408", "The body did not arrive in time."),
            ("409", "The state or another object does not allow this."),
            ("412", "The object has changed since it was read."),
            ("413", "The body is too large."),
            ("415", "The body's type is not supported."),
            (
                "422",
                "Some members are not valid, or the Idempotency-Key was used for another request.",
            ),
            ("429", "Too many requests; see Retry-After."),
            ("500", "Something went wrong on our side."),
            ("503", "The service cannot take this right now; see Retry-After."),
        ]
        .into_iter()
        .map(|(status, description)| (status.to_owned(), response(description)))
        .collect()
    }
}

/// `/docs`, its script, and the document. None of them needs credentials.
pub fn router(document: Document) -> Router<App> {
    // It is long, and most who start the service never ask for it.
    let document = Arc::new(LazyLock::new(move || Bytes::from(json(document))));
    let serve_document = move || {
        let document = document.clone();
        async move { ([(CONTENT_TYPE, "application/json")], Bytes::clone(&document)) }
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

/// The document as it is checked in and served.
pub fn json(document: Document) -> String {
    let document = super::document::finished(document);
    serde_json::to_string_pretty(&document).expect("the document is plain data") + "\n"
}

const REFERENCE: &str = include_str!("../../assets/reference.html");
const REFERENCE_JS: &str = include_str!("../../assets/reference.js");
const CSS: &str = include_str!("../../assets/docs.css");

/// The reference page needs inline styles; nothing of it, or anything else, may leave this server.
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

/// The reference's script is large: it is packed once, when somebody first asks for it.
async fn bundle(headers: HeaderMap) -> Response {
    static PACKED: LazyLock<Bytes> = LazyLock::new(|| assets::pack(&plain_bundle()));
    if !assets::takes_gzip(&headers) {
        return script(plain_bundle());
    }
    let packed = tokio::task::spawn_blocking(|| PACKED.clone()).await.unwrap_or_default();
    let packing: [(HeaderName, &str); 2] = [(CONTENT_ENCODING, "gzip"), (VARY, "accept-encoding")];
    (packing, script(packed)).into_response()
}

fn plain_bundle() -> Bytes {
    scalar_api_reference::get_asset("scalar.js").unwrap_or_default().into()
}

/// Every error code with what it means: where the `type` of a problem points.
fn errors() -> String {
    let mut rows = String::new();
    for (code, word) in Code::ALL {
        let again = if code.retryable() { "yes" } else { "no" };
        let (status, title) = (code.status().as_u16(), code.title());
        let _ = write!(
            rows,
            "<tr id=\"{word}\"><th scope=\"row\"><code>{word}</code><td data-label=\"Status\">{status}\
             <td>{title}<td data-label=\"Try again\">{again}"
        );
    }
    include_str!("../../assets/errors.html").replace("{rows}", &rows)
}
