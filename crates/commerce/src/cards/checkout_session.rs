//! Opening checkout sessions: each is recorded first, then requested from the provider.

use super::checkout::{self, Checkout, CheckoutRequest};
use super::reconcile;
use crate::card_provider::provider::CheckoutSession;
use crate::prelude::*;
use crate::web::app::App;

/// Records a checkout and opens a session at the provider, unless the checkout already has one. The caller must
/// record the returned session with [`checkout::record_session`].
pub async fn open(
    app: &App,
    scope: Scope,
    access: TeamAccess,
    request: CheckoutRequest,
) -> Result<(Checkout, Option<CheckoutSession>)> {
    let enabled = app.cards.is_some();
    let begin = move |tx: &Tx<'_>| checkout::begin(tx, &access, &request, enabled);
    let checkout = app.db.write(scope.clone(), begin).await?;
    let Some(cards) = app.cards.as_ref().filter(|_| checkout.url.is_none()) else {
        return Ok((checkout, None));
    };
    let id = checkout.id;
    let request = reconcile::session_request(app, &checkout);
    match reconcile::answer(cards.provider.create_session(&request).await)? {
        Ok(session) => Ok((checkout, Some(session))),
        Err(reason) => {
            app.db.write(scope, move |tx| checkout::mark_expired(tx, id)).await?;
            tracing::warn!(checkout = %id, reason, "the payment provider rejected a checkout session");
            Err(Error::invalid_state(
                "The payment provider rejected this payment. Try again later, or pay in another way.",
            ))
        }
    }
}

/// Opens and records a session, and returns the URL to send the payer to.
pub async fn open_url(
    app: &App,
    scope: Scope,
    access: TeamAccess,
    request: CheckoutRequest,
) -> Result<String> {
    let (mut checkout, session) = open(app, scope.clone(), access, request).await?;
    if let Some(session) = session {
        let id = checkout.id;
        checkout =
            app.db.write(scope, move |tx| checkout::record_session(tx, id, &session)).await?;
    }
    let closed = || Error::invalid_state("There is nothing left to pay.");
    checkout.url.ok_or_else(closed)
}
