//! The late fee: added once, when something is overdue.

use kit::{Money, Timestamp};
use store::{Reader, Tx, bind, row};

use super::charging::share;
use super::due::{self, Due, Whole};
use super::plan;
use crate::error::Result;
use crate::ids::{AccountId, DueId};
use crate::money::ledger::{self, Book, Movement};
use crate::money::payment;
use crate::signals::Tell;

/// How many dues are looked up at once.
const STEP: i64 = 100;

row! {
    /// A due whose late fee is to be added.
    #[derive(Debug, Clone, Copy)]
    pub struct Late {
        pub account_id: AccountId,
        pub id: DueId,
        pub late_at: Timestamp,
    }
}

/// The dues whose late fee is to be added, after this one; one that cannot be changed is passed by.
pub fn due_now(db: &Reader<'_>, last: Option<Late>) -> Result<Vec<Late>> {
    let after = last.map_or(Timestamp::from_micros(0), |late| late.late_at);
    let after_id = last.map_or(DueId::LEAST, |late| late.id);
    Ok(db.all(
        "select account_id, id, late_at from due
         where late_at <= :now and (late_at, id) > (:after, :after_id)
         order by late_at, id limit :limit /* any account */",
        bind! { after, after_id, limit: STEP },
    )?)
}

/// Adds the late fee of a due, unless somebody was quicker or it was paid meanwhile, or it is open only as long as a
/// refund succeeds. A part of what is overdue is at least the smallest unit there is.
pub fn add(tx: &Tx<'_>, id: DueId) -> Result<()> {
    let before = due::whole(tx, id)?;
    let was = &before.due;
    if was.late_at.is_none_or(|at| at > tx.now())
        || payment::is_being_given_back(tx, &id.to_string())?
    {
        return Ok(());
    }
    let overdue = plan::gone(&before.plan, tx.now()) - was.paid;
    let part = Money { minor: overdue, currency: was.currency };
    let part = share(part, was.late_fee_bp.unwrap_or(0)).max(1);
    let fee = was.late_fee_amount.unwrap_or(part);
    let due = Due { late_fee: was.late_fee + fee, late_fee_at: Some(tx.now()), ..was.clone() };
    let moved = [(Book::Owed, fee), (Book::LateFees, -fee)];
    ledger::enter(tx, Movement::LateFee, &due.about(), None, &moved)?;
    let after = due::save(tx, Whole { due, ..before.clone() })?;
    tx.tell_change("dues.updated", &before.told(tx.now()), &after.told(tx.now()))
}
