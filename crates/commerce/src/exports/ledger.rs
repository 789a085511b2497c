//! Export of the ledger: one row per entry. Positive amounts are debits and negative amounts are credits, so that no
//! exported amount is negative.

use std::borrow::Cow;

use kit::Timestamp;
use kit::string_enum::StringEnum;
use store::{Reader, bind, sql};

use super::table::{self, CHUNK_ROWS, CsvWriter, Table, cell, optional_cell};
use crate::error::Result;
use crate::ids::MovementId;
use crate::money::ledger::Entry;
use crate::rights::TeamAccess;

/// The entries of the ledger.
#[derive(Debug, Default)]
pub struct LedgerTable {
    /// Created at or after this time.
    pub from: Option<Timestamp>,
    /// Created before this time.
    pub to: Option<Timestamp>,
}

const COLUMNS: [&str; 14] = [
    "movement_id",
    "line",
    "created_at",
    "kind",
    "subject_id",
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
    type Position = (MovementId, i64);

    fn columns(&self) -> Vec<Cow<'static, str>> {
        COLUMNS.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        _: &TeamAccess,
        after: Option<Self::Position>,
        writer: &mut CsvWriter,
    ) -> Result<Option<Self::Position>> {
        let ((movement, line), limit) = (after.unwrap_or((MovementId::MIN, 0)), CHUNK_ROWS);
        let entries: Vec<Entry> = db.all(
            sql!(
                Entry::SELECT,
                " where account_id = :account and (movement_id, line) > (:movement, :line)
                    and (cast(:from as bigint) is null or created_at >= :from)
                    and (cast(:to as bigint) is null or created_at < :to)
                  order by movement_id, line limit :limit"
            ),
            bind! { movement, line, limit, from: self.from, to: self.to },
        )?;
        let last = entries.last().map(|entry| (entry.movement_id, entry.line));
        let next = table::next_position(entries.len(), last);
        entries.into_iter().try_for_each(|entry| writer.row(cells(entry)))?;
        Ok(next)
    }
}

fn cells(entry: Entry) -> [Cow<'static, str>; 14] {
    let side = |amount: i64| optional_cell((amount > 0).then_some(amount));
    [
        cell(entry.movement_id),
        cell(entry.line),
        cell(entry.created_at),
        entry.kind.as_str().into(),
        entry.subject.into(),
        optional_cell(entry.reference),
        optional_cell(entry.team_id),
        optional_cell(entry.person_id),
        optional_cell(entry.payer_id),
        entry.book.as_str().into(),
        cell(entry.currency.code()),
        side(entry.amount),
        side(-entry.amount),
        entry.actor.into(),
    ]
}
