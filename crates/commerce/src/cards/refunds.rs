//! Refunds to cards. The module that refunds has recorded the refund; after the commit, this module requests it from
//! the provider and records the outcome.

use std::time::Duration;

use super::reconcile::answer;
use super::{ACTOR, refund_results};
use crate::card_provider::Cards;
use crate::card_provider::provider::{NewProviderRefund, ProviderRefund, RefundOutcome};
use crate::money::payment::{self, PendingRefund};
use crate::prelude::*;
use crate::web::app::App;

/// Number of refunds to load at once.
const BATCH_SIZE: i64 = 100;
/// How long a request can safely be repeated. Stripe remembers an idempotency key for at least 24 hours.
const IDEMPOTENCY_WINDOW: Duration = Duration::from_secs(12 * 3600);

/// Sends pending refunds that are not at the provider yet. Returns whether the provider could be reached.
pub async fn send_pending(app: &App, cards: &Cards) -> bool {
    process_pending(app, cards, |refund| refund.provider_id.is_none()).await
}

/// Sends pending refunds, and looks up those that are already at the provider.
pub async fn sync_pending(app: &App, cards: &Cards) -> bool {
    process_pending(app, cards, |_| true).await
}

async fn process_pending(
    app: &App,
    cards: &Cards,
    filter: impl Fn(&PendingRefund) -> bool,
) -> bool {
    let mut last = (AccountId::MIN, RefundId::MIN);
    while !app.is_stopping() {
        let find = move |db: &Reader<'_>| payment::list_pending_refunds(db, last, BATCH_SIZE);
        let batch = match app.db.read(Scope::system("cards"), find).await {
            Ok(batch) => batch,
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not load pending refunds");
                return false;
            }
        };
        let Some(end) = batch.last() else { return true };
        last = (end.account_id, end.id);
        for refund in batch.iter().filter(|refund| filter(refund)) {
            match process(app, cards, refund).await {
                Ok(()) => {}
                Err(error) if error.code == Code::Overloaded => return false,
                Err(error) => {
                    let id = refund.id;
                    tracing::warn!(refund = %id, cause = ?error.cause, "could not process a refund");
                }
            }
        }
    }
    true
}

/// Processes one refund in any status, because a webhook reported a change.
pub async fn sync_refund(app: &App, cards: &Cards, account: AccountId, id: RefundId) -> Result<()> {
    let scope = Scope::account(account, ACTOR);
    match app.db.read(scope, move |db| payment::find_provider_refund(db, id)).await {
        Ok(refund) => process(app, cards, &refund).await,
        // A refund of another installation or of a deleted account.
        Err(error) if error.code == Code::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Processes all refunds of a payment, given the provider's ID of the payment: those requested by this service and
/// those made at the provider.
pub async fn sync_payment_refunds(
    app: &App,
    cards: &Cards,
    account: AccountId,
    payment_id: &str,
) -> Result<()> {
    let scope = || Scope::account(account, ACTOR);
    let provider_id = payment_id.to_owned();
    let find = move |db: &Reader<'_>| match payment::find_by_provider(db, &provider_id)? {
        Some(payment) => payment::find_pending_refunds(db, payment.id).map(Some),
        None => Ok(None),
    };
    let Some(pending) = app.db.read(scope(), find).await? else { return Ok(()) };
    for refund in pending {
        process(app, cards, &refund).await?;
    }
    import_external_refunds(app, cards, account, payment_id).await
}

/// Records the refunds of a payment that were made at the provider.
async fn import_external_refunds(
    app: &App,
    cards: &Cards,
    account: AccountId,
    payment_id: &str,
) -> Result<()> {
    let provider_id = payment_id.to_owned();
    let refunds =
        answer(cards.provider.list_refunds(payment_id).await)?.map_err(Error::internal)?;
    let work =
        move |tx: &Tx<'_>| refund_results::import_external_refunds(tx, &provider_id, &refunds);
    app.db.write(Scope::account(account, ACTOR), work).await
}

/// Requests a refund from the provider or looks up its status, and records the outcome.
async fn process(app: &App, cards: &Cards, pending: &PendingRefund) -> Result<()> {
    let Some(payment) = pending.payment.clone() else { return Ok(()) };
    let PendingRefund { account_id: account, id: refund, currency, amount, .. } = *pending;
    let new = NewProviderRefund { account, refund, payment, currency, amount };
    let response = match &pending.provider_id {
        Some(id) => cards.provider.get_refund(id).await,
        None if pending.created_at.plus(IDEMPOTENCY_WINDOW) > app.clock.now() => {
            cards.provider.create_refund(&new).await
        }
        // An earlier request may have succeeded although its response was lost.
        None => match cards.provider.list_refunds(&new.payment).await {
            Ok(refunds) => match refunds.into_iter().find(|listed| listed.refund == Some(refund)) {
                Some(found) => Ok(found.provider_refund),
                None => cards.provider.create_refund(&new).await,
            },
            Err(error) => Err(error),
        },
    };
    match answer(response)? {
        Ok(ProviderRefund { id, outcome }) => record_outcome(app, pending, Some(id), outcome).await,
        Err(reason) if pending.provider_id.is_none() => {
            record_outcome(app, pending, None, RefundOutcome::Failed(reason)).await?;
            // The provider may have rejected it because the payment was already refunded there.
            import_external_refunds(app, cards, account, &new.payment).await
        }
        Err(reason) => Err(Error::internal(reason)),
    }
}

async fn record_outcome(
    app: &App,
    pending: &PendingRefund,
    provider_id: Option<String>,
    outcome: RefundOutcome,
) -> Result<()> {
    let (id, recorded) = (pending.id, outcome.clone());
    let work = move |tx: &Tx<'_>| refund_results::record_outcome(tx, id, provider_id, &recorded);
    let changed = app.db.write(Scope::account(pending.account_id, ACTOR), work).await?;
    if let (true, RefundOutcome::Failed(reason)) = (changed, outcome) {
        tracing::warn!(refund = %id, reason, "the payment provider could not complete a refund");
    }
    Ok(())
}
