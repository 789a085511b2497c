//! Disputes (chargebacks): the payer's bank claims a payment back. Disputes are handled at the provider; this module
//! records their status, publishes it and emails the admins. No money is moved automatically.

use super::{ACTOR, emails, reconcile};
use crate::card_provider::Cards;
use crate::card_provider::provider::ProviderDispute;
use crate::money::payment;
use crate::prelude::*;
use crate::web::app::App;

/// Looks up a dispute at the provider and records its status if it has changed.
pub async fn sync_dispute(app: &App, cards: &Cards, account: AccountId, id: &str) -> Result<()> {
    let answer = reconcile::answer(cards.provider.get_dispute(id).await)?;
    let ProviderDispute { payment: provider_id, dispute } = match answer {
        Ok(found) => found,
        Err(reason) => {
            tracing::warn!(reason, "could not retrieve a dispute reported by the payment provider");
            return Ok(());
        }
    };
    let Some(provider_id) = provider_id else { return Ok(()) };
    let work = move |tx: &Tx<'_>| {
        let Some(payment) = payment::find_by_provider(tx, &provider_id)? else { return Ok(()) };
        match payment::record_dispute(tx, &payment, dispute)? {
            Some(payment) => emails::payment_disputed(tx, &payment, dispute),
            None => Ok(()),
        }
    };
    app.db.write(Scope::account(account, ACTOR), work).await
}
