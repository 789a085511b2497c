//! Export of the ledger: one row per entry. Positive amounts are debits and negative amounts are credits, so that no
//! exported amount is negative.

use macros::query;

use super::ledger::Entry;
use crate::columns::{Cell, Column, ToCell};
use crate::prelude::*;
use crate::table::{self, CHUNK_ROWS, Chunk, Table};

/// The entries of the ledger.
#[query]
#[derive(Default)]
pub struct LedgerTable {
    /// Only entries created at or after this time. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only entries created before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
}

const COLUMNS: &[Column<Entry>] = &[
    Column::csv("movement_id", |entry| entry.movement_id.cell()),
    Column::csv("line", |entry| entry.line.cell()),
    Column::csv("created_at", |entry| entry.created_at.cell()),
    Column::csv("kind", |entry| Cell::Text(entry.kind.as_str().into())),
    Column::csv("subject_id", |entry| entry.subject.cell()),
    Column::csv("reference", |entry| entry.reference.cell()),
    Column::csv("team_id", |entry| entry.team_id.cell()),
    Column::csv("person_id", |entry| entry.person_id.cell()),
    Column::csv("payer_id", |entry| entry.payer_id.cell()),
    Column::csv("book", |entry| Cell::Text(entry.book.as_str().into())),
    Column::csv("currency", |entry| Cell::text(entry.currency.code())),
    Column::csv("debit", |entry| side(entry.amount)),
    Column::csv("credit", |entry| side(-entry.amount)),
    Column::csv("actor", |entry| entry.actor.cell()),
];

fn side(amount: i64) -> Cell<'static> {
    if amount > 0 { Cell::Number(amount) } else { Cell::EMPTY }
}

impl Table for LedgerTable {
    type Row = Entry;
    type Position = (MovementId, i64);
    const COLUMNS: &[Column<Entry>] = COLUMNS;

    fn read(
        &self,
        db: &Reader<'_>,
        _: &TeamAccess,
        after: Option<Self::Position>,
    ) -> Result<Chunk<Entry, Self::Position>> {
        let ((movement, line), limit) = (after.unwrap_or((MovementId::MIN, 0)), CHUNK_ROWS);
        let entries = db.all(
            sql!(
                Entry::SELECT,
                " where account_id = :account and (movement_id, line) > (:movement, :line)
                    and (cast(:from as bigint) is null or created_at >= :from)
                    and (cast(:to as bigint) is null or created_at < :to)
                  order by movement_id, line limit :limit"
            ),
            bind! { movement, line, limit, from: self.from, to: self.to },
        )?;
        Ok(table::chunk(entries, |entry: &Entry| (entry.movement_id, entry.line)))
    }
}
