//! Actions on a webhook, some with a confirmation page: test, rotate the secret, turn off, turn on, delete.

use super::form::show_secret;
use super::{LIST, PostedForm, WebhookAdmin, edit_context};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;
use crate::webhooks::access::Manager;
use crate::webhooks::webhook::{self, Webhook};
use crate::webhooks::{actions, edit, summary};

async fn find_webhook(visitor: &WebhookAdmin, id: WebhookId) -> PageResult<Webhook> {
    Ok(visitor.read(move |db| webhook::find(db, id)).await?)
}

pub(super) async fn test(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, .. }: PostedForm,
) -> PageResult<Response> {
    let delivery = visitor.write(move |tx| actions::test(tx, &Manager::unrestricted(), id)).await?;
    Ok(see_other(&format!("{LIST}/{id}/deliveries/{}?done=test", delivery.id)))
}

pub(super) async fn confirm_rotate(
    visitor: WebhookAdmin,
    PathParams(id): PathParams<WebhookId>,
) -> PageResult<Response> {
    let webhook = find_webhook(&visitor, id).await?;
    visitor.require_recent_authentication(&format!("{}/rotate", webhook.path()))?;
    let frame = visitor.frame(t!("Rotate the secret?"), Section::Webhooks);
    let lead = Sentence::new("{url} will get a new secret.");
    ConfirmPage::new(frame, "Rotate secret", webhook.path())
    .harmless()
    .lead(lead.name("url", &webhook.short_url()))
    .effect("For 24 hours, requests are signed with both secrets. Update the receiver within that time.")
    .effect("After that, the current secret is no longer used.")
    .effect("If you have already rotated the secret in the last 24 hours, the older secret is also used until its own 24 hours are over.")
    .nonce(new_nonce(visitor.app()))
    .respond()
}

pub(super) async fn rotate(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, form }: PostedForm,
) -> PageResult<Response> {
    let webhook = find_webhook(&visitor, id).await?;
    visitor.require_recent_authentication(&format!("{}/rotate", webhook.path()))?;
    let (context, nonce) = (edit_context(&visitor), parse_nonce(&form)?);
    let ttl = visitor.app().config.idempotency_ttl;
    let rotated = visitor.write(move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| {
            let result = edit::rotate_secret(tx, &context, id, &IfMatch::Absent)?;
            Ok((id.to_string(), result))
        })
    });
    match rotated.await? {
        Submission::Accepted((webhook, secret)) => {
            show_secret(&visitor, webhook, &secret, t!("New secret")).await
        }
        Submission::Duplicate(_) => Ok(see_other(&format!("{}?done=before", webhook.path()))),
    }
}

pub(super) async fn confirm_off(
    visitor: WebhookAdmin,
    PathParams(id): PathParams<WebhookId>,
) -> PageResult<Response> {
    let webhook = find_webhook(&visitor, id).await?;
    if !webhook.is_on() {
        return Ok(see_other(&webhook.path()));
    }
    let frame = visitor.frame(t!("Turn off this webhook?"), Section::Webhooks);
    let lead = Sentence::new("{url} will receive nothing until it is turned on again.");
    ConfirmPage::new(frame, "Turn off", webhook.path())
        .harmless()
        .lead(lead.name("url", &webhook.short_url()))
        .effect("New notifications are stored in the club’s log for a limited time.")
        .effect("When you turn it on again, you can choose to send the missed notifications.")
        .respond()
}

pub(super) async fn turn_off(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, .. }: PostedForm,
) -> PageResult<Response> {
    let manager = Manager::unrestricted();
    visitor.write(move |tx| actions::disable(tx, &manager, id, &IfMatch::Absent)).await?;
    Ok(see_other(&format!("{LIST}/{id}?done=off")))
}

/// Turns a webhook on. The button that was pressed decides whether missed notifications are sent.
pub(super) async fn turn_on(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, form }: PostedForm,
) -> PageResult<Response> {
    let (context, missed) = (edit_context(&visitor), form.text("missed") == "yes");
    let enable = move |tx: &Tx<'_>| actions::enable(tx, &context, id, &IfMatch::Absent, missed);
    let done = match visitor.write(enable).await {
        // It was already turned on, for example in another window. The choice made there counts.
        Err(error) if error.code == Code::InvalidState => "on-before",
        result => {
            result?;
            if missed { "on-missed" } else { "on" }
        }
    };
    Ok(see_other(&format!("{LIST}/{id}?done={done}")))
}

pub(super) async fn confirm_delete(
    visitor: WebhookAdmin,
    PathParams(id): PathParams<WebhookId>,
) -> PageResult<Response> {
    let read =
        move |db: &Reader<'_>| Ok((webhook::find(db, id)?, summary::count_undelivered(db, id)?));
    let (webhook, undelivered) = visitor.read(read).await?;
    visitor.require_recent_authentication(&format!("{}/delete", webhook.path()))?;
    let pending = match undelivered.pending {
        0 => Sentence::new("Nothing more will be sent to it."),
        count => message_n!(
            "{count} pending delivery will not be sent.",
            "{count} pending deliveries will not be sent.",
            count
        )
        .into(),
    };
    let frame = visitor.frame(t!("Delete this webhook?"), Section::Webhooks);
    let lead = Sentence::new("{url} will no longer receive notifications.");
    ConfirmPage::new(frame, "Delete webhook", webhook.path())
        .lead(lead.name("url", &webhook.short_url()))
        .effect(pending)
        .effect("Its delivery history will be deleted too.")
        .effect("You cannot undo this. To stop the webhook for a while, turn it off instead.")
        .respond()
}

pub(super) async fn delete(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, .. }: PostedForm,
) -> PageResult<Response> {
    let webhook = find_webhook(&visitor, id).await?;
    visitor.require_recent_authentication(&format!("{}/delete", webhook.path()))?;
    let manager = Manager::unrestricted();
    visitor.write(move |tx| edit::delete(tx, &manager, id, &IfMatch::Absent)).await?;
    Ok(see_other(&format!("{LIST}?done=deleted")))
}
