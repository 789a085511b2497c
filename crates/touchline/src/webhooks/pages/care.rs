//! What is done to a webhook with care: a test, a new secret, off and on, and the end.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use store::{Reader, Tx};

use super::form::show_secret;
use super::{Keeper, LIST, Sent, means, place, show, shown};
use crate::error::Code;
use crate::expected::Expected;
use crate::ids::WebhookId;
use crate::web::once::{Once, new_nonce, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};
use crate::webhooks::access::Manager;
use crate::webhooks::webhook::{self, Status, Webhook};
use crate::webhooks::{asking, edit, summary};

/// A page that says what will happen before it does.
#[derive(Template)]
#[template(path = "webhooks/ask.html")]
struct AskPage {
    frame: Frame,
    url: String,
    /// What stands behind the address.
    lead: &'static str,
    events: Vec<String>,
    /// Whether it is more than a nuisance.
    danger: bool,
    button: &'static str,
    nonce: String,
    back: String,
}

async fn found(visitor: &Keeper, id: WebhookId) -> Outcome<Webhook> {
    Ok(visitor.read(move |db| webhook::find(db, id)).await?)
}

pub(super) async fn test(At(id): At<WebhookId>, Sent { visitor, .. }: Sent) -> Outcome<Response> {
    let delivery = visitor.write(move |tx| asking::test(tx, &Manager::everywhere(), id)).await?;
    Ok(see_other(&format!("{LIST}/{id}/deliveries/{}?done=test", delivery.id)))
}

pub(super) async fn ask_rotate(visitor: Keeper, At(id): At<WebhookId>) -> Outcome<Response> {
    let webhook = found(&visitor, id).await?;
    visitor.fresh(&format!("{}/rotate", place(&webhook)))?;
    let page = AskPage {
        frame: visitor.frame("Make a new secret?", Section::Webhooks),
        url: shown::short_url(&webhook.url),
        lead: "gets a new secret.",
        events: vec![
            "Everything is signed with both secrets for 24 hours. Put the new one in place within that time.".to_owned(),
            "After that the secret of today signs nothing any more.".to_owned(),
            "A secret that still signs from an earlier change goes on until its own 24 hours are over.".to_owned(),
        ],
        danger: false,
        button: "Make a new secret",
        nonce: new_nonce(visitor.app()),
        back: place(&webhook),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn rotate(
    At(id): At<WebhookId>,
    Sent { visitor, form }: Sent,
) -> Outcome<Response> {
    let webhook = found(&visitor, id).await?;
    visitor.fresh(&format!("{}/rotate", place(&webhook)))?;
    let (means, nonce) = (means(&visitor), nonce(&form)?);
    let kept = visitor.app().config.idempotency_ttl;
    let made = visitor.write(move |tx: &Tx<'_>| {
        once(tx, &nonce, kept, |tx| {
            let made = edit::rotate(tx, &means, id, &Expected::Anything)?;
            Ok((id.to_string(), made))
        })
    });
    match made.await? {
        Once::Now((webhook, secret)) => {
            show_secret(&visitor, webhook, &secret, "The new secret").await
        }
        Once::Before(_) => Ok(see_other(&format!("{}?done=before", place(&webhook)))),
    }
}

pub(super) async fn ask_off(visitor: Keeper, At(id): At<WebhookId>) -> Outcome<Response> {
    let webhook = found(&visitor, id).await?;
    if webhook.status == Status::Disabled {
        return Ok(see_other(&place(&webhook)));
    }
    let page = AskPage {
        frame: visitor.frame("Turn this webhook off?", Section::Webhooks),
        url: shown::short_url(&webhook.url),
        lead: "is told nothing until somebody turns it on again.",
        events: vec![
            "What happens meanwhile waits in the log of the club, as long as that is kept."
                .to_owned(),
            "When you turn it on, you choose whether it is told what it missed.".to_owned(),
        ],
        danger: false,
        button: "Turn it off",
        nonce: String::new(),
        back: place(&webhook),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn off(At(id): At<WebhookId>, Sent { visitor, .. }: Sent) -> Outcome<Response> {
    visitor
        .write(move |tx| asking::disable(tx, &Manager::everywhere(), id, &Expected::Anything))
        .await?;
    Ok(see_other(&format!("{LIST}/{id}?done=off")))
}

/// Turns a webhook on; the button says whether it is told what it missed.
pub(super) async fn on(At(id): At<WebhookId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let (means, missed) = (means(&visitor), form.text("missed") == "yes");
    let on = move |tx: &Tx<'_>| asking::enable(tx, &means, id, &Expected::Anything, missed);
    let done = match visitor.write(on).await {
        // In another window, say; what was chosen there holds.
        Err(error) if error.code == Code::InvalidState => "on-before",
        turned => {
            turned?;
            if missed { "on-missed" } else { "on" }
        }
    };
    Ok(see_other(&format!("{LIST}/{id}?done={done}")))
}

pub(super) async fn ask_delete(visitor: Keeper, At(id): At<WebhookId>) -> Outcome<Response> {
    let look = move |db: &Reader<'_>| Ok((webhook::find(db, id)?, summary::open(db, id)?));
    let (webhook, open) = visitor.read(look).await?;
    visitor.fresh(&format!("{}/delete", place(&webhook)))?;
    let waiting = match open.pending {
        0 => "Nothing more is sent to it.".to_owned(),
        1 => "1 delivery that would be tried again is given up.".to_owned(),
        many => format!("{many} deliveries that would be tried again are given up."),
    };
    let page = AskPage {
        frame: visitor.frame("Delete this webhook?", Section::Webhooks),
        url: shown::short_url(&webhook.url),
        lead: "is told nothing any more.",
        events: vec![
            waiting,
            "All that is known of its deliveries is deleted too.".to_owned(),
            "It cannot be undone. To make a pause, turn the webhook off instead.".to_owned(),
        ],
        danger: true,
        button: "Delete the webhook",
        nonce: String::new(),
        back: place(&webhook),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn delete(At(id): At<WebhookId>, Sent { visitor, .. }: Sent) -> Outcome<Response> {
    let webhook = found(&visitor, id).await?;
    visitor.fresh(&format!("{}/delete", place(&webhook)))?;
    visitor
        .write(move |tx| edit::delete(tx, &Manager::everywhere(), id, &Expected::Anything))
        .await?;
    Ok(see_other(&format!("{LIST}?done=deleted")))
}
