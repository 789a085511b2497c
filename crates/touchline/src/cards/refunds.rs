//! Refunds: money that was paid by card goes back to the card. The room that gave it back has written that
//! down; here the provider is asked to do so, after the commit, and what it made of it is noted.

use std::time::Duration;

use store::{Reader, Scope, Tx};

use super::provider::{NewReturn, Outcome, Refusal, Return};
use super::{ACTOR, Cards, returning};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, RefundId};
use crate::money::payment::{self, Waiting};

/// How many are looked up at once.
const PILE: i64 = 100;
/// For how long asking twice surely does nothing twice: less than the day that Stripe remembers a key.
const REMEMBERED: Duration = Duration::from_secs(12 * 3600);

/// Sends what was not sent yet. Says whether the provider could be reached.
pub async fn send(app: &App, cards: &Cards) -> bool {
    each(app, cards, |waiting| waiting.provider_id.is_none()).await
}

/// The same, and looks up what was sent and has not ended yet.
pub async fn look(app: &App, cards: &Cards) -> bool {
    each(app, cards, |_| true).await
}

async fn each(app: &App, cards: &Cards, wanted: impl Fn(&Waiting) -> bool) -> bool {
    let mut last = (AccountId::LEAST, RefundId::LEAST);
    while !app.is_stopping() {
        let look = move |db: &Reader<'_>| payment::waiting(db, last, PILE);
        let pile = match app.db.read(Scope::system("cards"), look).await {
            Ok(pile) => pile,
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not look for refunds");
                return false;
            }
        };
        let Some(end) = pile.last() else { return true };
        last = (end.account_id, end.id);
        for waiting in pile.iter().filter(|waiting| wanted(waiting)) {
            match carry(app, cards, waiting).await {
                Ok(()) => {}
                Err(error) if error.code == Code::Overloaded => return false,
                Err(error) => {
                    let id = waiting.id;
                    tracing::warn!(refund = %id, cause = ?error.cause, "could not carry a refund");
                }
            }
        }
    }
    true
}

/// Looks up one refund, whatever is known of it: the provider says that something became of it.
pub async fn look_up(app: &App, cards: &Cards, account: AccountId, id: RefundId) -> Result<()> {
    let scope = Scope::account(account, ACTOR);
    match app.db.read(scope, move |db| payment::as_waiting(db, id)).await {
        Ok(waiting) => carry(app, cards, &waiting).await,
        // A refund of another installation, or of an account that is gone.
        Err(error) if error.code == Code::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Looks up everything that was given back of a payment, by the provider's name of it: what we have asked for, and
/// what was given back without us.
pub async fn look_up_of(app: &App, cards: &Cards, account: AccountId, name: &str) -> Result<()> {
    let scope = || Scope::account(account, ACTOR);
    let own = name.to_owned();
    let look = move |db: &Reader<'_>| match payment::find_by_provider(db, &own)? {
        Some(payment) => payment::waiting_of(db, payment.id).map(Some),
        None => Ok(None),
    };
    let Some(waiting) = app.db.read(scope(), look).await? else { return Ok(()) };
    for waiting in waiting {
        carry(app, cards, &waiting).await?;
    }
    without_us(app, cards, account, name).await
}

async fn without_us(app: &App, cards: &Cards, account: AccountId, name: &str) -> Result<()> {
    let own = name.to_owned();
    match cards.provider.returns_of(name).await {
        Ok(all) => {
            let work = move |tx: &Tx<'_>| returning::elsewhere(tx, &own, &all);
            app.db.write(Scope::account(account, ACTOR), work).await
        }
        Err(Refusal::Later(why)) => Err(super::reconcile::unreachable(why)),
        Err(Refusal::Never(why)) => Err(Error::internal(why)),
    }
}

/// Asks the provider for a refund or what became of it, and notes the answer.
async fn carry(app: &App, cards: &Cards, waiting: &Waiting) -> Result<()> {
    let Some(payment) = waiting.payment.clone() else { return Ok(()) };
    let Waiting { account_id: account, id: refund, currency, amount, .. } = *waiting;
    let money = NewReturn { account, refund, payment, currency, amount };
    let answered = match &waiting.provider_id {
        Some(id) => cards.provider.look_at_return(id).await,
        None if waiting.created_at.plus(REMEMBERED) > app.clock.now() => {
            cards.provider.give_back(&money).await
        }
        // It may have been given back long ago, and we were not told.
        None => match cards.provider.returns_of(&money.payment).await {
            Ok(all) => match all.into_iter().find(|one| one.refund == Some(refund)) {
                Some(found) => Ok(found.back),
                None => cards.provider.give_back(&money).await,
            },
            Err(refusal) => Err(refusal),
        },
    };
    match answered {
        Ok(Return { id, outcome }) => note(app, waiting, Some(id), outcome).await,
        Err(Refusal::Later(why)) => Err(super::reconcile::unreachable(why)),
        Err(Refusal::Never(why)) if waiting.provider_id.is_none() => {
            note(app, waiting, None, Outcome::Failed(why)).await?;
            // It may be refused because somebody gave the money back at the provider.
            without_us(app, cards, account, &money.payment).await
        }
        Err(Refusal::Never(why)) => Err(Error::internal(why)),
    }
}

async fn note(app: &App, waiting: &Waiting, name: Option<String>, outcome: Outcome) -> Result<()> {
    let (id, made) = (waiting.id, outcome.clone());
    let work = move |tx: &Tx<'_>| returning::note(tx, id, name, &made);
    let ended = app.db.write(Scope::account(waiting.account_id, ACTOR), work).await?;
    if let (true, Outcome::Failed(why)) = (ended, outcome) {
        tracing::warn!(refund = %id, why, "the payment provider could not give money back");
    }
    Ok(())
}
