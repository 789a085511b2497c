//! Reconciliation: what is open here is looked up at the provider. So it does not matter whether a call of the
//! provider's was lost, or we were, between its answer and our commit.

use std::time::Duration;

use store::{Reader, Scope};

use super::checkout::{self, Checkout, Status};
use super::provider::{NewPage, Refusal};
use super::{ACTOR, Cards, refunds, settling};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, CheckoutId};

/// How many are looked up at once.
const PILE: i64 = 100;
/// A checkout that is younger than this may just be opened by whoever asked for it.
const YOUNG: Duration = Duration::from_secs(60);
/// How long after its end a page may still turn out to have been paid.
const LATE: Duration = Duration::from_secs(3 * 86_400);

/// A provider that says so often that it cannot answer now is not asked for the rest.
const IN_VAIN: u32 = 3;

/// Looks up everything that is open. Says whether the provider could be reached.
pub async fn everything(app: &App, cards: &Cards) -> bool {
    let looked = checkouts(app, cards).await;
    // One page that cannot be looked up must not keep money from going back.
    refunds::look(app, cards).await && looked
}

async fn checkouts(app: &App, cards: &Cards) -> bool {
    let mut last = (AccountId::LEAST, CheckoutId::LEAST);
    let mut in_vain = 0;
    while !app.is_stopping() {
        let look = move |db: &Reader<'_>| checkout::open(db, last, PILE);
        let pile = match app.db.read(Scope::system("cards"), look).await {
            Ok(pile) => pile,
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not look for open checkouts");
                return false;
            }
        };
        let Some(end) = pile.last() else { return in_vain == 0 };
        last = *end;
        for (account, id) in pile {
            match look_up(app, cards, account, id, None).await {
                Ok(()) => {}
                Err(error) if error.code == Code::Overloaded => {
                    in_vain += 1;
                    if in_vain == IN_VAIN {
                        return false;
                    }
                }
                Err(error) => {
                    tracing::warn!(checkout = %id, cause = ?error.cause, "could not look up a checkout");
                }
            }
        }
    }
    true
}

/// Looks a checkout up at the provider and enters what it says. `heard` is the provider's name of the page, if
/// it has just told us. Asked to come again later if the provider cannot be reached.
pub async fn look_up(
    app: &App,
    cards: &Cards,
    account: AccountId,
    id: CheckoutId,
    heard: Option<&str>,
) -> Result<()> {
    let scope = || Scope::account(account, ACTOR);
    let found = match app.db.read(scope(), move |db| checkout::find(db, id)).await {
        Ok(found) => found,
        // A page of another installation, or of an account that is gone.
        Err(error) if error.code == Code::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if matches!(found.status, Status::Paid | Status::Stray) {
        return Ok(());
    }
    let now = app.clock.now();
    let late = found.expires_at.plus(LATE) < now;
    let name = found.session_id.as_deref().or(heard);
    let answered = match name {
        Some(name) => cards.provider.look(name).await,
        None if found.created_at.plus(YOUNG) > now => return Ok(()),
        // Whether it was ever opened is not known. Asked for again, it is the same page; but not once it has ended.
        None if found.expires_at > now => cards.provider.open(&page_of(app, &found)).await,
        None => return app.db.write(scope(), move |tx| checkout::expired(tx, id)).await.map(drop),
    };
    match answered {
        Ok(page) => app.db.write(scope(), move |tx| settling::enter(tx, id, &page)).await?,
        Err(Refusal::Later(why)) if !late => return Err(unreachable(why)),
        Err(Refusal::Later(why) | Refusal::Never(why)) => {
            tracing::warn!(checkout = %id, why, "the payment provider does not know a page of ours");
        }
    }
    // A page that says nothing for so long says nothing any more.
    if late {
        app.db.write(scope(), move |tx| checkout::expired(tx, id)).await?;
    }
    Ok(())
}

/// The page that a checkout asks for: the same whenever it is asked.
pub fn page_of(app: &App, checkout: &Checkout) -> NewPage {
    NewPage {
        account: checkout.account_id,
        checkout: checkout.id,
        currency: checkout.currency,
        amount: checkout.amount,
        title: checkout.title.clone(),
        expires_at: checkout.expires_at,
        done: app.url("/checkout/done"),
        back: app.url("/checkout/back"),
    }
}

/// The provider cannot be reached; trying again may help.
pub fn unreachable(why: String) -> Error {
    let detail = "The payment provider cannot be reached; try again in a moment.";
    Error { cause: Some(why), ..Error::new(Code::Overloaded, detail).retry_after(5) }
}
