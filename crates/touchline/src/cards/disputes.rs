//! Disputes: the payer's bank asks to have a payment back. Who keeps the money is settled with the provider; here
//! it is noted, told and written to those in charge, and nothing moves by itself.

use store::{Scope, Tx};

use super::letter;
use super::provider::{Disputed, Refusal};
use super::{ACTOR, Cards};
use crate::app::App;
use crate::error::Result;
use crate::ids::AccountId;
use crate::money::payment;

/// Looks a dispute up and notes how it stands, unless that is known.
pub async fn look_up(app: &App, cards: &Cards, account: AccountId, id: &str) -> Result<()> {
    let Disputed { payment: name, dispute } = match cards.provider.look_at_dispute(id).await {
        Ok(found) => found,
        Err(Refusal::Later(why)) => return Err(super::reconcile::unreachable(why)),
        Err(Refusal::Never(why)) => {
            tracing::warn!(why, "the payment provider does not know a dispute it told us of");
            return Ok(());
        }
    };
    let Some(name) = name else { return Ok(()) };
    let work = move |tx: &Tx<'_>| match payment::find_by_provider(tx, &name)? {
        Some(payment) => match payment::disputed(tx, &payment, dispute)? {
            Some(payment) => letter::disputed(tx, &payment, dispute),
            None => Ok(()),
        },
        None => Ok(()),
    };
    app.db.write(Scope::account(account, ACTOR), work).await
}
