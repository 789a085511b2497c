//! What Stripe tells us by itself. A call is only ever a reason to look: what is entered is what Stripe answers
//! when we ask. So calls may come twice, late, in any order or never.

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::post;
use http::StatusCode;
use serde_json::Value;

use super::provider::{Refusal, Whose};
use super::{Cards, disputes, reconcile, refunds, signature};
use crate::app::App;
use crate::config::Secret;
use crate::error::{Code, Error, Result};
use crate::ids::AccountId;
use crate::web::body;

/// The largest call that is read.
const LARGEST: usize = 512 * 1024;
const SIGNATURE: &str = "stripe-signature";

/// `/stripe/webhook`. The signature is the credential.
pub fn router() -> Router<App> {
    Router::new().route("/stripe/webhook", post(hear))
}

async fn hear(State(app): State<App>, request: Request) -> Result<StatusCode> {
    let cards = app.cards.clone();
    let secret = cards.as_ref().and_then(|cards| cards.webhook_secret.as_ref());
    let (Some(cards), Some(secret)) = (&cards, secret.map(Secret::reveal)) else {
        return Err(Error::new(Code::NotFound, "There is nothing at this address."));
    };
    let header = request.headers().get(SIGNATURE).and_then(|value| value.to_str().ok());
    let header = header.unwrap_or_default().to_owned();
    let body = body::read(request, &app, LARGEST).await?;
    if !signature::holds(&header, &body, secret, app.clock.now()) {
        let detail = "The signature does not fit the body, or is too old.";
        return Err(Error::new(Code::InvalidRequest, detail));
    }
    let unreadable = |_| Error::new(Code::InvalidJson, "The body is not valid JSON.");
    let event: Value = serde_json::from_slice(&body).map_err(unreadable)?;
    follow(&app, cards, &event).await?;
    Ok(StatusCode::OK)
}

/// Looks at what an event is about, if it is something of ours.
async fn follow(app: &App, cards: &Cards, event: &Value) -> Result<()> {
    let kind = event["type"].as_str().unwrap_or_default();
    let object = &event["data"]["object"];
    let payment = object["payment_intent"].as_str();
    match kind {
        "checkout.session.completed"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.async_payment_failed"
        | "checkout.session.expired" => match Whose::read(object) {
            Some(Whose { account, checkout: Some(id) }) => {
                reconcile::look_up(app, cards, account, id, object["id"].as_str()).await
            }
            _ => Ok(()),
        },
        "refund.created"
        | "refund.updated"
        | "refund.failed"
        | "charge.refund.updated"
        | "charge.refunded" => {
            let refund = object["metadata"]["refund"].as_str().and_then(|id| id.parse().ok());
            match (whose(app, cards, object).await?, refund, payment) {
                (Some(account), Some(id), _) => refunds::look_up(app, cards, account, id).await,
                // Somebody has given it back at the provider, or it is a charge that tells.
                (Some(account), None, Some(name)) => {
                    refunds::look_up_of(app, cards, account, name).await
                }
                _ => Ok(()),
            }
        }
        "charge.dispute.created" | "charge.dispute.updated" | "charge.dispute.closed" => {
            match (whose(app, cards, object).await?, object["id"].as_str()) {
                (Some(account), Some(id)) => disputes::look_up(app, cards, account, id).await,
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Whose something is. What was not made by us does not say so, but the payment it is about does. That it was paid may
/// not be known here yet, if that call was lost or comes later: so the page is looked up before.
async fn whose(app: &App, cards: &Cards, object: &Value) -> Result<Option<AccountId>> {
    let whose = match (Whose::read(object), object["payment_intent"].as_str()) {
        (None, Some(payment)) => match cards.provider.whose(payment).await {
            Ok(whose) => whose,
            Err(Refusal::Later(why)) => return Err(reconcile::unreachable(why)),
            Err(Refusal::Never(_)) => None,
        },
        (known, _) => known,
    };
    let Some(Whose { account, checkout }) = whose else { return Ok(None) };
    if let Some(id) = checkout {
        reconcile::look_up(app, cards, account, id, None).await?;
    }
    Ok(Some(account))
}
