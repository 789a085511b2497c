//! Opening a page on which somebody pays: written down first, then the provider is asked.

use store::{Scope, Tx};

use super::checkout::{self, Checkout, Wish};
use super::provider::{Page, Refusal};
use super::reconcile;
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::error::{Error, Result};

/// Writes down that somebody wants to pay, and asks the provider for a page unless there is one already. What
/// the provider opened has yet to be written down, with [`checkout::opened`].
pub async fn open(
    app: &App,
    scope: Scope,
    reach: Reach,
    wish: Wish,
) -> Result<(Checkout, Option<Page>)> {
    let on = app.cards.is_some();
    let begin = move |tx: &Tx<'_>| checkout::begin(tx, &reach, &wish, on);
    let checkout = app.db.write(scope.clone(), begin).await?;
    let Some(cards) = app.cards.as_ref().filter(|_| checkout.url.is_none()) else {
        return Ok((checkout, None));
    };
    let id = checkout.id;
    match cards.provider.open(&reconcile::page_of(app, &checkout)).await {
        Ok(page) => Ok((checkout, Some(page))),
        Err(Refusal::Later(why)) => Err(reconcile::unreachable(why)),
        Err(Refusal::Never(why)) => {
            app.db.write(scope, move |tx| checkout::expired(tx, id)).await?;
            tracing::warn!(checkout = %id, why, "the payment provider opens no page");
            Err(Error::invalid_state("The payment provider does not take this payment."))
        }
    }
}

/// The same, and says where the payer is to go.
pub async fn lead(app: &App, scope: Scope, reach: Reach, wish: Wish) -> Result<String> {
    let (mut found, page) = open(app, scope.clone(), reach, wish).await?;
    if let Some(page) = page {
        let id = found.id;
        found = app.db.write(scope, move |tx| checkout::opened(tx, id, &page)).await?;
    }
    let gone = || Error::invalid_state("There is nothing to pay here any more.");
    found.url.ok_or_else(gone)
}
