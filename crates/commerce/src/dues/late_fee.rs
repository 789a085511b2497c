//! Late fees: added once per due, when it becomes overdue.

use super::charging::share;
use super::due::{self, Due};
use super::plan;
use crate::money::ledger::{self, Book, Movement};
use crate::money::payment;
use crate::prelude::*;

/// How many dues are loaded per query.
const BATCH_SIZE: i64 = 100;

row! {
    /// A due whose late fee is not added yet.
    #[derive(Debug, Clone, Copy)]
    pub struct PendingLateFee {
        pub account_id: AccountId,
        pub id: DueId,
        pub late_at: Timestamp,
    }
}

/// The next batch of dues whose late fee must be added now. Paging past `last` skips a due whose update failed.
pub fn list_pending(db: &Reader<'_>, last: Option<PendingLateFee>) -> Result<Vec<PendingLateFee>> {
    let after = last.map_or(Timestamp::from_micros(0), |late| late.late_at);
    let after_id = last.map_or(DueId::MIN, |late| late.id);
    Ok(db.all(
        "select account_id, id, late_at from due
         where late_at <= :now and (late_at, id) > (:after, :after_id)
         order by late_at, id limit :limit /* any account */",
        bind! { after, after_id, limit: BATCH_SIZE },
    )?)
}

/// Adds the late fee of a due. Does nothing if it was already added, if the due was paid meanwhile, or while a refund
/// is pending that may still fail. A percentage fee is at least one minor unit.
pub fn add(tx: &Tx<'_>, id: DueId) -> Result<()> {
    let before = due::load(tx, id)?;
    let old = &before.due;
    if old.late_at.is_none_or(|at| at > tx.now())
        || payment::has_pending_refund(tx, &id.to_string())?
    {
        return Ok(());
    }
    let overdue = plan::total_past_due(&before.plan, tx.now()) - old.paid;
    let overdue = Money { minor: overdue, currency: old.currency };
    let percentage_fee = share(overdue, old.late_fee_bps.unwrap_or(0)).max(1);
    let fee = old.late_fee_amount.unwrap_or(percentage_fee);
    let due = Due { late_fee: old.late_fee + fee, late_fee_at: Some(tx.now()), ..old.clone() };
    let amounts = [(Book::Receivable, fee), (Book::LateFees, -fee)];
    ledger::post(tx, Movement::LateFee, &due.entry_context(), None, &amounts)?;
    due::save_and_publish(tx, "dues.updated", &before, due).map(drop)
}
