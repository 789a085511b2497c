//! The ledger as a table: a row for each entry. What comes into a book is a debit, what goes out of it a
//! credit, so that no amount is negative.

use std::borrow::Cow;

use kit::word::Word;
use store::{Reader, bind, sql};

use super::table::{self, ROWS, Sheet, Table, cell, maybe};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::MovementId;
use crate::money::ledger::Entry;

/// The whole ledger.
#[derive(Debug, Default)]
pub struct LedgerTable;

const COLUMNS: [&str; 14] = [
    "movement_id",
    "line",
    "created_at",
    "kind",
    "subject",
    "reference",
    "team_id",
    "person_id",
    "payer_id",
    "book",
    "currency",
    "debit",
    "credit",
    "actor",
];

impl Table for LedgerTable {
    type Place = (MovementId, i64);

    fn columns(&self) -> Vec<Cow<'static, str>> {
        COLUMNS.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        _: &Reach,
        after: Option<Self::Place>,
        sheet: &mut Sheet,
    ) -> Result<Option<Self::Place>> {
        let ((movement, line), limit) = (after.unwrap_or((MovementId::LEAST, 0)), ROWS);
        let entries: Vec<Entry> = db.all(
            sql!(
                Entry::SELECT,
                " where account_id = :account and (movement_id, line) > (:movement, :line)
                  order by movement_id, line limit :limit"
            ),
            bind! { movement, line, limit },
        )?;
        let last = entries.last().map(|entry| (entry.movement_id, entry.line));
        let next = table::next(entries.len(), last);
        entries.into_iter().try_for_each(|entry| sheet.row(cells(entry)))?;
        Ok(next)
    }
}

fn cells(entry: Entry) -> [Cow<'static, str>; 14] {
    let side = |amount: i64| maybe((amount > 0).then_some(amount));
    [
        cell(entry.movement_id),
        cell(entry.line),
        cell(entry.created_at),
        entry.kind.word().into(),
        entry.subject.into(),
        maybe(entry.reference),
        maybe(entry.team_id),
        maybe(entry.person_id),
        maybe(entry.payer_id),
        entry.book.word().into(),
        cell(entry.currency.code()),
        side(entry.amount),
        side(-entry.amount),
        entry.actor.into(),
    ]
}
