//! The JSON endpoints of webhooks.

use axum::response::Response;
use kit::{Change, Timestamp};
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::error::Result;
use crate::ids::WebhookId;
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, WebhooksManage};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;
use crate::webhooks::access;
use crate::webhooks::asking::{self, Part, Replay};
use crate::webhooks::delivery::Delivery;
use crate::webhooks::edit::{self, Made, Means, NewWebhook, WebhookChange};
use crate::webhooks::listing::{self, WebhookFilter};
use crate::webhooks::webhook::{Status, Webhook};

const DESCRIPTION: usize = 500;
/// How many kinds a webhook names, and how long a name can be.
const KINDS: usize = 100;
const KIND: usize = 60;
const TEAMS: usize = 100;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, create))
        .with(routes!(find, change, delete))
        .with(routes!(rotate))
        .with(routes!(test))
        .with(routes!(replay))
        .with(routes!(enable))
        .with(routes!(disable))
}

/// What is needed to make or change webhooks.
fn hands(caller: &Caller<WebhooksManage>) -> Means {
    Means::of(caller.app(), caller.credential().app(), caller.reach())
}

/// List webhooks
///
/// In order of creation. A key that is narrowed to certain teams sees those it made itself.
#[utoipa::path(get, path = "/webhooks", operation_id = "webhooks_list", tag = "Webhooks",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many webhooks to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("status" = Option<Status>, Query, description = "Only webhooks that are this.")),
    responses((status = 200, description = "A page of webhooks.", body = Many<Webhook>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn list(
    caller: Caller<WebhooksManage>,
    Query(paging): Query<Paging<WebhookFilter>>,
) -> Result<Response> {
    caller.afresh().page(paging, listing::webhooks).await
}

/// Create a webhook
///
/// It is told what happens from now on, as far as your credential may read it: a kind that needs a scope you do not have
/// is refused by name and left out of `*`. If the credential loses a right or is revoked, so does the webhook. The answer
/// shows the `secret` that signs everything, this once; where an `Idempotency-Key` repeats the answer, it is left out.
#[utoipa::path(post, path = "/webhooks", operation_id = "webhooks_create", tag = "Webhooks",
    request_body(content = NewWebhook, example = json!({ "url": "https://hooks.example.org/touchline", "events": ["event.*", "message.posted"], "description": "Our website" })),
    responses((status = 201, description = "The new webhook with its secret.", body = One<Made>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn create(
    caller: Caller<WebhooksManage>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewWebhook>,
) -> Result<Response> {
    let means = hands(&caller);
    caller.create_secret(body, move |tx, new| edit::create(tx, &means, new).map(Made::pair)).await
}

/// Get a webhook
#[utoipa::path(get, path = "/webhooks/{webhook_id}", operation_id = "webhooks_get", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    responses((status = 200, description = "The webhook.", body = One<Webhook>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn find(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.afresh().one(move |db| access::visible(db, &reach, id)).await
}

/// Change a webhook
///
/// Members that are left out stay as they are; `null` clears. Whoever changes a webhook answers for it from now on: it is told
/// what they may read, so all its kinds must be open to them. What waits to be tried again goes to the new address.
#[utoipa::path(patch, path = "/webhooks/{webhook_id}", operation_id = "webhooks_update", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    request_body(content = WebhookChange, example = json!({ "description": "Our new website" })),
    responses((status = 200, description = "The webhook after the change.", body = One<Webhook>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn change(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
    body: Body<WebhookChange>,
) -> Result<Response> {
    let means = hands(&caller);
    caller
        .change(body, move |tx, change, expected| edit::change(tx, &means, id, expected, change))
        .await
}

/// Delete a webhook
///
/// With everything that is known of its deliveries. What waits to be tried again is not sent. To keep it, disable it instead.
#[utoipa::path(delete, path = "/webhooks/{webhook_id}", operation_id = "webhooks_delete", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    responses((status = 200, description = "The webhook as it was.", body = One<Webhook>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn delete(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let who = super::deliveries::manager(&caller);
    caller.change(body, move |tx, NoBody, expected| edit::delete(tx, &who, id, expected)).await
}

/// Rotate a webhook's secret
///
/// The answer shows the new `secret`, this once; where an `Idempotency-Key` repeats the answer, it is left out. For 24 hours
/// everything is signed with both secrets, so that receivers can change over.
#[utoipa::path(post, path = "/webhooks/{webhook_id}/rotate_secret", operation_id = "webhooks_rotate_secret", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    responses((status = 200, description = "The webhook with its new secret.", body = One<Made>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn rotate(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let means = hands(&caller);
    caller
        .change_secret(body, move |tx, NoBody, expected| {
            edit::rotate(tx, &means, id, expected).map(Made::pair)
        })
        .await
}

/// Test a webhook
///
/// Sends a `ping`, signed like everything else. Look at the delivery to see what became of it.
#[utoipa::path(post, path = "/webhooks/{webhook_id}/test", operation_id = "webhooks_test", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    responses((status = 201, description = "The delivery of the ping.", body = One<Delivery>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn test(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let who = super::deliveries::manager(&caller);
    caller
        .found_below("/deliveries")
        .create_for(body, move |tx, NoBody, expected| {
            expected.check(access::managed(tx, &who, id))?;
            asking::test(tx, &who, id)
        })
        .await
}

/// Replay a part of the log
///
/// Tells the webhook once more what happened, by sequence or by time, as far as it wants it. Give `from_sequence` or `since`; without
/// `to_sequence` or `until` everything since is told. What was told already comes again under the same id, unless `only_missed`
/// is true. 410 if the part is no longer kept, 409 while another replay is under way.
#[utoipa::path(post, path = "/webhooks/{webhook_id}/replay", operation_id = "webhooks_replay", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    request_body(content = NewReplay, example = json!({ "from_sequence": 1, "to_sequence": 100, "only_missed": true })),
    responses((status = 202, description = "What will be told again.", body = One<Replay>),
        (status = 410, description = "That part of the log is no longer kept.", body = crate::error::Problem, content_type = "application/problem+json"), Problems),
    security(("key" = ["webhooks:write"])))]
async fn replay(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewReplay>,
) -> Result<Response> {
    let who = super::deliveries::manager(&caller);
    caller
        .begin(body, move |tx, wish, expected| {
            expected.check(access::managed(tx, &who, id))?;
            asking::replay(tx, &who, id, wish.part(), wish.only_missed)
        })
        .await
}

/// Enable a webhook
///
/// It is told what it missed while it was off, as long as that is kept, unless `replay_missed` is false. Whoever enables a webhook answers
/// for it from now on.
#[utoipa::path(post, path = "/webhooks/{webhook_id}/enable", operation_id = "webhooks_enable", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    request_body(content = Enabling, example = json!({ "replay_missed": true })),
    responses((status = 200, description = "The enabled webhook.", body = One<Webhook>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn enable(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<Enabling>,
) -> Result<Response> {
    let means = hands(&caller);
    caller
        .change(body, move |tx, wish, expected| {
            asking::enable(tx, &means, id, expected, wish.replay_missed)
        })
        .await
}

/// Disable a webhook
///
/// What it would have been told waits in the log until it is enabled again.
#[utoipa::path(post, path = "/webhooks/{webhook_id}/disable", operation_id = "webhooks_disable", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path)),
    responses((status = 200, description = "The disabled webhook.", body = One<Webhook>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn disable(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let who = super::deliveries::manager(&caller);
    caller.change(body, move |tx, NoBody, expected| asking::disable(tx, &who, id, expected)).await
}

/// What is to be told again: by number or by time.
#[derive(Debug, ToSchema)]
struct NewReplay {
    /// The first number. Give this or `since`.
    #[schema(minimum = 1)]
    from_sequence: Option<i64>,
    /// The last number; the last of the log if left out.
    #[schema(minimum = 1)]
    to_sequence: Option<i64>,
    /// The first moment. Give this or `from_sequence`.
    since: Option<Timestamp>,
    /// The moment up to which, itself not included; everything since if left out.
    until: Option<Timestamp>,
    /// Whether only what did not arrive is told again; `false` if left out.
    #[schema(required = false)]
    only_missed: bool,
}

impl NewReplay {
    /// Which part of the log is meant. A body that names none or two was refused.
    fn part(&self) -> Part {
        let end = Timestamp::from_micros(i64::MAX);
        match (self.from_sequence, self.since) {
            (None, Some(since)) => Part::Time(since, self.until.unwrap_or(end)),
            (first, _) => Part::Numbers(first.unwrap_or(1), self.to_sequence.unwrap_or(i64::MAX)),
        }
    }
}

impl FromBody for NewReplay {
    fn read(fields: &mut Fields) -> Self {
        let from_sequence = fields.number("from_sequence", 1, i64::MAX).apply(None);
        let to_sequence = fields.number("to_sequence", 1, i64::MAX).apply(None);
        let (since, until) =
            (fields.moment("since").apply(None), fields.moment("until").apply(None));
        let only_missed = fields.flag("only_missed").apply_or(false, false);
        let faulty = ["from_sequence", "to_sequence", "since", "until"];
        if faulty.iter().any(|name| fields.is_faulty(name)) {
            return Self { from_sequence, to_sequence, since, until, only_missed };
        }
        match (from_sequence, since) {
            (None, None) => {
                let detail = "Say what is to be told again: from_sequence or since.";
                fields.fault("from_sequence", "required", detail);
            }
            (Some(_), Some(_)) => {
                fields.fault("since", "not_allowed", "Give either from_sequence or since.");
            }
            (Some(_), None) if until.is_some() => {
                fields.fault("until", "not_allowed", "With from_sequence, give to_sequence.");
            }
            (None, Some(_)) if to_sequence.is_some() => {
                fields.fault("to_sequence", "not_allowed", "With since, give until.");
            }
            _ => {}
        }
        if from_sequence.zip(to_sequence).is_some_and(|(first, last)| last < first) {
            fields.fault("to_sequence", "out_of_range", "This comes before from_sequence.");
        }
        if since.zip(until).is_some_and(|(since, until)| until <= since) {
            fields.fault("until", "out_of_range", "This must be later than since.");
        }
        Self { from_sequence, to_sequence, since, until, only_missed }
    }
}

/// How a webhook is enabled.
#[derive(Debug, ToSchema)]
struct Enabling {
    /// Whether it is told what it missed; `true` if left out. With `false` it begins with what happens from now on, and what
    /// was waiting to be tried again is given up.
    #[schema(required = false)]
    replay_missed: bool,
}

impl FromBody for Enabling {
    fn read(fields: &mut Fields) -> Self {
        Self { replay_missed: fields.flag("replay_missed").apply_or(true, true) }
    }
}

impl FromBody for NewWebhook {
    fn read(fields: &mut Fields) -> Self {
        let url = address(fields);
        let events = fields.lines("events", KINDS, KIND);
        Self {
            url: fields.required("url", url).unwrap_or_default(),
            events: fields.required("events", events).unwrap_or_default(),
            description: fields.line("description", DESCRIPTION).apply(None),
            team_ids: fields.ids("team_ids", TEAMS).apply(None),
            ordering: fields.word("ordering").apply(None),
        }
    }
}

impl FromBody for WebhookChange {
    fn read(fields: &mut Fields) -> Self {
        let url = address(fields);
        let events = fields.lines("events", KINDS, KIND);
        let ordering = fields.word("ordering");
        Self {
            url: fields.kept("url", url),
            events: fields.kept("events", events),
            description: fields.line("description", DESCRIPTION),
            team_ids: fields.ids("team_ids", TEAMS),
            ordering: fields.kept("ordering", ordering),
        }
    }
}

/// The address as it was sent: whether it is a good one is judged with what the operator allows.
fn address(fields: &mut Fields) -> Change<String> {
    fields.parsed("url", "invalid_url", "This is not an address.")
}

impl FromQuery for WebhookFilter {
    fn read(params: &mut Params) -> Self {
        Self { status: params.word("status") }
    }
}
