//! The endpoint for Stripe's webhooks. A webhook only triggers a lookup; what is recorded is Stripe's answer to that
//! lookup. So webhooks may arrive twice, late, out of order or never.

use axum::extract::{Request, State};

use super::{disputes, reconcile, refunds, signature};
use crate::card_provider::Cards;
use crate::card_provider::provider::PaymentOwner;
use crate::config::Secret;
use crate::prelude::*;
use crate::web::body;
use crate::web::prelude::*;

/// Maximum size of a webhook body, in bytes.
const MAX_BODY_BYTES: usize = 512 * 1024;
const SIGNATURE: &str = "stripe-signature";

/// `/stripe/webhook`. The signature is the credential.
pub fn router() -> Router<App> {
    Router::new().route("/stripe/webhook", post(receive))
}

async fn receive(State(app): State<App>, request: Request) -> Result<StatusCode> {
    let cards = app.cards.clone();
    let secret = cards.as_ref().and_then(|cards| cards.webhook_secret.as_ref());
    let (Some(cards), Some(secret)) = (&cards, secret.map(Secret::reveal)) else {
        return Err(Error::new(Code::NotFound, "There is nothing at this address."));
    };
    let header = request.headers().get(SIGNATURE).and_then(|value| value.to_str().ok());
    let header = header.unwrap_or_default().to_owned();
    let body = body::read(request, &app, MAX_BODY_BYTES).await?;
    if !signature::verify(&header, &body, secret, app.clock.now()) {
        let detail = "The signature does not match the body, or it is too old.";
        return Err(Error::new(Code::InvalidRequest, detail));
    }
    let unreadable = |_| Error::new(Code::InvalidJson, "The body is not valid JSON.");
    let event: Value = serde_json::from_slice(&body).map_err(unreadable)?;
    handle_event(&app, cards, &event).await?;
    Ok(StatusCode::OK)
}

/// Looks up the object of an event, if it belongs to this installation.
async fn handle_event(app: &App, cards: &Cards, event: &Value) -> Result<()> {
    let kind = event["type"].as_str().unwrap_or_default();
    let object = &event["data"]["object"];
    let payment = object["payment_intent"].as_str();
    match kind {
        "checkout.session.completed"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.async_payment_failed"
        | "checkout.session.expired" => match PaymentOwner::read(object) {
            Some(PaymentOwner { account, checkout: Some(id) }) => {
                reconcile::reconcile_checkout(app, cards, account, id, object["id"].as_str()).await
            }
            _ => Ok(()),
        },
        "refund.created"
        | "refund.updated"
        | "refund.failed"
        | "charge.refund.updated"
        | "charge.refunded" => {
            let refund = object["metadata"]["refund"].as_str().and_then(|id| id.parse().ok());
            match (resolve_account(app, cards, object).await?, refund, payment) {
                (Some(account), Some(id), _) => refunds::sync_refund(app, cards, account, id).await,
                // The refund was made at the provider, or the event is about a charge.
                (Some(account), None, Some(payment)) => {
                    refunds::sync_payment_refunds(app, cards, account, payment).await
                }
                _ => Ok(()),
            }
        }
        "charge.dispute.created" | "charge.dispute.updated" | "charge.dispute.closed" => {
            match (resolve_account(app, cards, object).await?, object["id"].as_str()) {
                (Some(account), Some(id)) => disputes::sync_dispute(app, cards, account, id).await,
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The account an object belongs to. Objects that were not created by this service lack our metadata, but their payment
/// has it. The webhook about that payment may be lost or late, so its checkout is reconciled first.
async fn resolve_account(app: &App, cards: &Cards, object: &Value) -> Result<Option<AccountId>> {
    let owner = match (PaymentOwner::read(object), object["payment_intent"].as_str()) {
        (None, Some(payment)) => {
            let owner = cards.provider.get_payment_owner(payment).await;
            reconcile::answer(owner)?.unwrap_or_default()
        }
        (known, _) => known,
    };
    let Some(PaymentOwner { account, checkout }) = owner else { return Ok(None) };
    if let Some(id) = checkout {
        reconcile::reconcile_checkout(app, cards, account, id, None).await?;
    }
    Ok(Some(account))
}
