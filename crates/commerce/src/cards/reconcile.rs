//! Reconciliation: looks up open checkouts and refunds at the provider. This repairs lost webhooks and crashes
//! between the provider's response and our commit.

use std::time::Duration;

use super::checkout::{self, Checkout, Status};
use super::{ACTOR, refunds, settlement};
use crate::card_provider::Cards;
use crate::card_provider::provider::{NewSession, ProviderError};
use crate::prelude::*;
use crate::web::app::App;

/// Number of checkouts to load at once.
const BATCH_SIZE: i64 = 100;
/// A checkout younger than this may still be in the process of being opened.
const OPENING_GRACE_PERIOD: Duration = Duration::from_secs(60);
/// How long after its expiry a session may still turn out to be paid.
const LATE_PAYMENT_WINDOW: Duration = Duration::from_secs(3 * 86_400);

/// After this many temporary failures, the rest is skipped until the next round.
const MAX_FAILURES: u32 = 3;

/// Reconciles all open checkouts and refunds. Returns whether the provider could be reached.
pub async fn reconcile_all(app: &App, cards: &Cards) -> bool {
    let reached = reconcile_checkouts(app, cards).await;
    // A failing checkout must not block refunds.
    refunds::sync_pending(app, cards).await && reached
}

async fn reconcile_checkouts(app: &App, cards: &Cards) -> bool {
    let mut last = (AccountId::MIN, CheckoutId::MIN);
    let mut failures = 0;
    while !app.is_stopping() {
        let find = move |db: &Reader<'_>| checkout::list_open(db, last, BATCH_SIZE);
        let batch = match app.db.read(Scope::system("cards"), find).await {
            Ok(batch) => batch,
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not load open checkouts");
                return false;
            }
        };
        let Some(end) = batch.last() else { return failures == 0 };
        last = *end;
        for (account, id) in batch {
            match reconcile_checkout(app, cards, account, id, None).await {
                Ok(()) => {}
                Err(error) if error.code == Code::Overloaded => {
                    failures += 1;
                    if failures == MAX_FAILURES {
                        return false;
                    }
                }
                Err(error) => {
                    tracing::warn!(checkout = %id, cause = ?error.cause, "could not reconcile a checkout");
                }
            }
        }
    }
    true
}

/// Looks up a checkout at the provider and applies the result. `session_id` is the provider's ID of the session, if a
/// webhook has just reported it. Fails with a retryable error if the provider cannot be reached.
pub async fn reconcile_checkout(
    app: &App,
    cards: &Cards,
    account: AccountId,
    id: CheckoutId,
    session_id: Option<&str>,
) -> Result<()> {
    let scope = || Scope::account(account, ACTOR);
    let checkout = match app.db.read(scope(), move |db| checkout::find(db, id)).await {
        Ok(checkout) => checkout,
        // A session of another installation or of a deleted account.
        Err(error) if error.code == Code::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if matches!(checkout.status, Status::Paid | Status::Unmatched) {
        return Ok(());
    }
    let now = app.clock.now();
    let final_lookup = checkout.expires_at.plus(LATE_PAYMENT_WINDOW) < now;
    let session_id = checkout.session_id.as_deref().or(session_id);
    let response = match session_id {
        Some(session_id) => cards.provider.get_session(session_id).await,
        None if checkout.created_at.plus(OPENING_GRACE_PERIOD) > now => return Ok(()),
        // It is unknown whether a session was created. Until it expires, repeating the request returns the same
        // session.
        None if checkout.expires_at > now => {
            cards.provider.create_session(&session_request(app, &checkout)).await
        }
        None => {
            return app.db.write(scope(), move |tx| checkout::mark_expired(tx, id)).await.map(drop);
        }
    };
    match response {
        Ok(session) => {
            app.db.write(scope(), move |tx| settlement::apply_session(tx, id, &session)).await?;
        }
        Err(ProviderError::Retryable(reason)) if !final_lookup => {
            return Err(provider_unreachable(reason));
        }
        Err(ProviderError::Retryable(reason) | ProviderError::Permanent(reason)) => {
            tracing::warn!(checkout = %id, reason, "could not retrieve a checkout session");
        }
    }
    // After this long, the session will not be paid any more.
    if final_lookup {
        app.db.write(scope(), move |tx| checkout::mark_expired(tx, id)).await?;
    }
    Ok(())
}

/// The session to request for a checkout. Always the same, as idempotent requests require.
pub fn session_request(app: &App, checkout: &Checkout) -> NewSession {
    NewSession {
        account: checkout.account_id,
        checkout: checkout.id,
        currency: checkout.currency,
        amount: checkout.amount,
        title: checkout.title.clone(),
        expires_at: checkout.expires_at,
        success_url: app.url("/checkout/done"),
        cancel_url: app.url("/checkout/back"),
    }
}

/// The provider's answer, or why the request can never succeed. Fails if the provider cannot be reached.
pub fn answer<T>(response: Result<T, ProviderError>) -> Result<Result<T, String>> {
    match response {
        Ok(answer) => Ok(Ok(answer)),
        Err(ProviderError::Permanent(reason)) => Ok(Err(reason)),
        Err(ProviderError::Retryable(reason)) => Err(provider_unreachable(reason)),
    }
}

/// The error for a provider that cannot be reached; retryable.
fn provider_unreachable(reason: String) -> Error {
    let detail = "The payment provider cannot be reached. Try again in a moment.";
    Error { cause: Some(reason.into()), ..Error::new(Code::Overloaded, detail).retry_after(5) }
}
