//! The JSON endpoints of webhooks.

use macros::input;

use crate::notification_kinds;
use crate::prelude::*;
use crate::web::prelude::*;
use crate::webhooks::WebhooksManage;
use crate::webhooks::access;
use crate::webhooks::actions::{self, Replay, ReplayRange};
use crate::webhooks::address;
use crate::webhooks::delivery::Delivery;
use crate::webhooks::edit::{self, CreatedWebhook, EditContext, NewWebhook, WebhookChange};
use crate::webhooks::listing::{self, WebhookFilter};
use crate::webhooks::webhook::Webhook;

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

/// The context for creating and changing webhooks.
fn edit_context(caller: &Caller<WebhooksManage>) -> EditContext {
    EditContext::new(caller.app(), caller.credential().app(), caller.team_access())
}

/// List webhooks
///
/// Returns webhooks in order of creation. A key that is limited to certain teams sees only its own webhooks.
#[endpoint(get, "/webhooks", id = "webhooks.list", tag = "Webhooks",
    200(ListResponse<Webhook>, "A page of webhooks."))]
async fn list(caller: Caller<WebhooksManage>, paging: Paging<WebhookFilter>) -> Result<Response> {
    caller.bypass_cache().page(paging, listing::webhooks).await
}

/// Create a webhook
///
/// The webhook receives notifications from now on, limited to what your credential can read. A type that needs a scope
/// you do not have is rejected if you name it, and left out of `*`. If the credential loses a scope, the webhook no
/// longer receives those types; if it is revoked, the webhook is disabled. The response contains the `secret` that
/// signs every request. It is shown only once.
#[endpoint(post, "/webhooks", id = "webhooks.create", tag = "Webhooks",
    example = json!({ "url": "https://hooks.example.org/touchline", "events": ["event.*", "message.posted"], "description": "Our website" }),
    201(ObjectResponse<CreatedWebhook>, "The new webhook with its secret."))]
async fn create(caller: Caller<WebhooksManage>, body: Body<NewWebhook>) -> Result<Response> {
    let context = edit_context(&caller);
    let create = move |tx: &Tx<'_>, new| {
        edit::create(tx, &context, new).map(CreatedWebhook::with_and_without_secret)
    };
    caller.create_secret(body, create).await
}

/// Retrieve a webhook
///
/// Returns a webhook without its secret.
#[endpoint(get, "/webhooks/{webhook_id}", id = "webhooks.get", tag = "Webhooks",
    200(ObjectResponse<Webhook>, "The webhook."))]
async fn find(caller: Caller<WebhooksManage>, id: WebhookId) -> Result<Response> {
    let access = caller.team_access();
    caller.bypass_cache().read_object(move |db| access::find_visible(db, &access, id)).await
}

/// Update a webhook
///
/// Omitted fields stay unchanged; `null` clears a field. The webhook then belongs to your credential and receives
/// only what it can read, so you need the scopes of all its types. Pending retries go to the new URL.
#[endpoint(patch, "/webhooks/{webhook_id}", id = "webhooks.update", tag = "Webhooks",
    example = json!({ "description": "Our new website" }),
    200(ObjectResponse<Webhook>, "The updated webhook."))]
async fn change(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    body: Body<WebhookChange>,
) -> Result<Response> {
    let context = edit_context(&caller);
    caller
        .change(body, move |tx, change, expected| edit::change(tx, &context, id, expected, change))
        .await
}

/// Delete a webhook
///
/// Also deletes its deliveries. Pending retries are not sent. To stop a webhook but keep its data, disable it instead.
#[endpoint(delete, "/webhooks/{webhook_id}", id = "webhooks.delete", tag = "Webhooks",
    200(ObjectResponse<Webhook>, "The deleted webhook."))]
async fn delete(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    body: Body<NoBody>,
) -> Result<Response> {
    let manager = super::deliveries::manager(&caller);
    caller.change(body, move |tx, NoBody, expected| edit::delete(tx, &manager, id, expected)).await
}

/// Rotate a webhook's secret
///
/// The response contains the new `secret`. It is shown only once. For 24 hours every request is signed with
/// both secrets, so that receivers can switch.
#[endpoint(post, "/webhooks/{webhook_id}/rotate_secret", id = "webhooks.rotate_secret", tag = "Webhooks",
    200(ObjectResponse<CreatedWebhook>, "The webhook with its new secret."))]
async fn rotate(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    body: Body<NoBody>,
) -> Result<Response> {
    let context = edit_context(&caller);
    caller
        .change_secret(body, move |tx, NoBody, expected| {
            edit::rotate_secret(tx, &context, id, expected)
                .map(CreatedWebhook::with_and_without_secret)
        })
        .await
}

/// Test a webhook
///
/// Sends a `ping` notification, signed like every other. Retrieve the delivery to see the result.
#[endpoint(post, "/webhooks/{webhook_id}/test", id = "webhooks.test", tag = "Webhooks",
    201(ObjectResponse<Delivery>, "The delivery of the ping."))]
async fn test(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    body: Body<NoBody>,
) -> Result<Response> {
    let manager = super::deliveries::manager(&caller);
    caller
        .with_location_prefix("/deliveries")
        .create_for(body, move |tx, NoBody, expected| {
            expected.check(access::find_managed(tx, &manager, id))?;
            actions::test(tx, &manager, id)
        })
        .await
}

/// Replay notifications
///
/// Sends a part of the log to the webhook again: the notifications that it subscribes to, by sequence number or by
/// time. Send either `from_sequence` or `since`. Without `to_sequence` or `until` the range ends with the log.
/// Notifications keep their IDs. Those that were delivered successfully are sent again too, unless `only_missed` is
/// true. The status is 410 if this part of the log has been deleted, and 409 while another replay is running.
#[endpoint(post, "/webhooks/{webhook_id}/replay", id = "webhooks.replay", tag = "Webhooks",
    example = json!({ "from_sequence": 1, "to_sequence": 100, "only_missed": true }),
    202(ObjectResponse<Replay>, "The part of the log that is replayed."),
    410(crate::error::Problem, "This part of the log has been deleted.", "application/problem+json"))]
async fn replay(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    body: Body<NewReplay>,
) -> Result<Response> {
    let manager = super::deliveries::manager(&caller);
    caller
        .accept(body, move |tx, request, expected| {
            expected.check(access::find_managed(tx, &manager, id))?;
            actions::replay(tx, &manager, id, request.range(), request.only_missed)
        })
        .await
}

/// Enable a webhook
///
/// Sends the notifications that the webhook missed while it was disabled, if they are still stored, unless
/// `replay_missed` is false. The webhook then belongs to your credential and receives only what it can read.
#[endpoint(post, "/webhooks/{webhook_id}/enable", id = "webhooks.enable", tag = "Webhooks",
    example = json!({ "replay_missed": true }),
    200(ObjectResponse<Webhook>, "The enabled webhook."))]
async fn enable(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    body: OptionalBody<EnableRequest>,
) -> Result<Response> {
    let context = edit_context(&caller);
    caller
        .change(body, move |tx, request, expected| {
            actions::enable(tx, &context, id, expected, request.replay_missed)
        })
        .await
}

/// Disable a webhook
///
/// Sends nothing to the webhook until it is enabled again. Notifications that it misses are sent then, unless
/// `replay_missed` is `false`.
#[endpoint(post, "/webhooks/{webhook_id}/disable", id = "webhooks.disable", tag = "Webhooks",
    outcome = json!({ "status": "disabled", "disabled_reason": "manual", "disabled_at": "2026-09-05T09:30:00.000000Z" }),
    200(ObjectResponse<Webhook>, "The disabled webhook."))]
async fn disable(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    body: Body<NoBody>,
) -> Result<Response> {
    let manager = super::deliveries::manager(&caller);
    caller
        .change(body, move |tx, NoBody, expected| actions::disable(tx, &manager, id, expected))
        .await
}

/// The part of the log to replay, by sequence number or by time.
#[input(as = ReplayWebhookRequest, check = check_replay)]
struct NewReplay {
    /// First sequence number. Send either this or `since`.
    #[input(number(1, i64::MAX))]
    from_sequence: Option<i64>,
    /// Last sequence number. Default: the end of the log. Only with `from_sequence`.
    #[input(number(1, i64::MAX))]
    to_sequence: Option<i64>,
    /// Start of the time range, included. Send either this or `from_sequence`.
    since: Option<Timestamp>,
    /// End of the time range, not included. Default: the end of the log. Only with `since`.
    until: Option<Timestamp>,
    /// Whether to skip notifications that were delivered successfully. Default: `false`.
    #[input(default)]
    only_missed: bool,
}

impl NewReplay {
    /// The part of the log. A body without a start, or with two, was rejected before.
    fn range(&self) -> ReplayRange {
        let end = Timestamp::from_micros(i64::MAX);
        match (self.from_sequence, self.since) {
            (None, Some(since)) => ReplayRange::Time(since, self.until.unwrap_or(end)),
            (first, _) => {
                ReplayRange::Sequences(first.unwrap_or(1), self.to_sequence.unwrap_or(i64::MAX))
            }
        }
    }
}

/// The range must have one start, and end after it.
fn check_replay(new: &NewReplay, fields: &mut Fields) {
    let NewReplay { from_sequence, to_sequence, since, until, .. } = *new;
    let range = ["from_sequence", "to_sequence", "since", "until"];
    if range.iter().any(|name| fields.is_faulty(name)) {
        return;
    }
    match (from_sequence, since) {
        (None, None) => {
            let detail = "`from_sequence` or `since` is required.";
            fields.fault("from_sequence", "required", detail);
        }
        (Some(_), Some(_)) => {
            let detail = "`since` cannot be combined with `from_sequence`. Send only one of them.";
            fields.fault("since", "mutually_exclusive", detail);
        }
        (Some(_), None) if until.is_some() => {
            let detail =
                "`until` cannot be combined with `from_sequence`. Use `to_sequence` instead.";
            fields.fault("until", "mutually_exclusive", detail);
        }
        (None, Some(_)) if to_sequence.is_some() => {
            let detail = "`to_sequence` cannot be combined with `since`. Use `until` instead.";
            fields.fault("to_sequence", "mutually_exclusive", detail);
        }
        _ => {}
    }
    if from_sequence.zip(to_sequence).is_some_and(|(first, last)| last < first) {
        let detail = "`to_sequence` must not be less than `from_sequence`.";
        fields.fault("to_sequence", "out_of_range", detail);
    }
    if since.zip(until).is_some_and(|(since, until)| until <= since) {
        fields.fault("until", "out_of_range", "`until` must be after `since`.");
    }
}

/// Options for enabling a webhook.
#[input(as = EnableWebhookRequest)]
struct EnableRequest {
    /// Whether to send the notifications that the webhook missed. Default: `true`. With `false` it starts with new
    /// notifications, and pending deliveries are marked as failed.
    #[input(default = true)]
    replay_missed: bool,
}

pub(in crate::webhooks) fn check_new(new: &NewWebhook, fields: &mut Fields) {
    let url = Some(new.url.as_str()).filter(|_| !fields.is_faulty("url"));
    let events = Some(&new.events[..]).filter(|_| !fields.is_faulty("events"));
    check_rules(fields, url, events);
}

pub(in crate::webhooks) fn check_change(change: &WebhookChange, fields: &mut Fields) {
    check_rules(fields, change.url.as_deref(), change.events.as_deref());
}

/// Checks what needs neither the settings nor the database, if the body has other faults.
fn check_rules(fields: &mut Fields, url: Option<&str>, patterns: Option<&[String]>) {
    if !fields.has_faults() {
        return;
    }
    if let Some(error) = url.and_then(|url| address::parse(url).err()) {
        fields.add_faults(error.faults);
    }
    for (index, pattern) in patterns.unwrap_or_default().iter().enumerate() {
        if !notification_kinds::is_known_pattern(pattern) {
            let detail = notification_kinds::unknown_pattern_error(pattern);
            fields.fault(&format!("events/{index}"), "unknown_event", detail);
        }
    }
    if patterns.is_some_and(<[String]>::is_empty) && !fields.is_faulty("events") {
        fields.fault("events", "empty", edit::NO_EVENTS);
    }
}
