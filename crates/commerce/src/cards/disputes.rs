//! Disputes (chargebacks): the payer's bank claims a payment back. Disputes are handled at the provider; this module
//! records their status, publishes it and emails the admins. No money is moved automatically.

use super::ACTOR;
use super::emails;
use crate::card_provider::Cards;
use crate::card_provider::provider::{ProviderDispute, ProviderError};
use crate::money::payment;
use crate::prelude::*;
use crate::web::app::App;

/// Looks up a dispute at the provider and records its status if it has changed.
pub async fn sync_dispute(app: &App, cards: &Cards, account: AccountId, id: &str) -> Result<()> {
    let ProviderDispute { payment: provider_id, dispute } = match cards
        .provider
        .get_dispute(id)
        .await
    {
        Ok(found) => found,
        Err(ProviderError::Retryable(reason)) => {
            return Err(super::reconcile::provider_unreachable(reason));
        }
        Err(ProviderError::Permanent(reason)) => {
            tracing::warn!(reason, "could not retrieve a dispute reported by the payment provider");
            return Ok(());
        }
    };
    let Some(provider_id) = provider_id else { return Ok(()) };
    let work = move |tx: &Tx<'_>| match payment::find_by_provider(tx, &provider_id)? {
        Some(payment) => match payment::record_dispute(tx, &payment, dispute)? {
            Some(payment) => emails::payment_disputed(tx, &payment, dispute),
            None => Ok(()),
        },
        None => Ok(()),
    };
    app.db.write(Scope::account(account, ACTOR), work).await
}
