//! Filtered, newest-first reading of the audit log. One read scans a bounded number of entries.

use crate::columns::{Cell, Column, ToCell};
use crate::names::{self, Names};
use crate::prelude::*;
use crate::signals::{self, AuditEntry};
use crate::table::{CHUNK_ROWS, Chunk, Table};

/// How many entries one page scans at most. A page of a rare filter may end early and continue from there.
pub const SCAN_LIMIT: i64 = 5000;

/// How many ids in the details of one entry are resolved to names.
const MAX_NAMED_IDS: usize = 20;

/// Which entries to return.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The actor's id.
    pub actor: Option<String>,
    /// An action (`api_key.revoked`), or the prefix that several actions share (`api_key`).
    pub action: Option<String>,
    /// The id of the changed object.
    pub subject: Option<String>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// One page of the log, newest entry first.
#[derive(Debug)]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    /// Pass this as `before` to read the next page; none at the end of the log.
    pub next: Option<i64>,
    /// Whether the scan limit was reached before the page was full.
    pub cut_short: bool,
}

/// Reads entries before a position, or from the end of the log.
pub fn read_page(
    db: &Reader<'_>,
    filter: &Filter,
    before: Option<i64>,
    limit: i64,
) -> Result<AuditPage> {
    let end = signals::audit_entry_count(db)? + 1;
    let first = filter.from.map_or(Ok(1), |from| first_position_since(db, from, end))?;
    let until = filter.until.map_or(Ok(end), |until| first_position_since(db, until, end))?;
    let before = before.map_or(until, |before| before.min(until));
    let floor = first.max(before - SCAN_LIMIT);
    let Filter { actor, action, subject, .. } = filter;
    let via_prefix = actor.as_ref().map(|actor| format!("{actor} via "));
    let action_prefix = action.as_ref().map(|action| format!("{action}."));
    let entries: Vec<AuditEntry> = db.all(
        sql!(
            AuditEntry::SELECT,
            " where account_id = :account and position >= :floor and position < :before
                and (cast(:actor as text) is null or actor = :actor
                     or substr(actor, 1, length(cast(:via_prefix as text))) = :via_prefix)
                and (cast(:subject as text) is null or subject = :subject)
                and (cast(:action as text) is null or action = :action
                     or substr(action, 1, length(cast(:action_prefix as text))) = :action_prefix)
              order by position desc limit :limit"
        ),
        bind! { floor, before, actor, via_prefix, subject, action, action_prefix, limit },
    )?;
    let full = i64::try_from(entries.len()).is_ok_and(|count| count == limit);
    let end_of_scan =
        if full { entries.last().map_or(floor, |entry| entry.position) } else { floor };
    let next = Some(end_of_scan).filter(|position| *position > first);
    Ok(AuditPage { cut_short: !full && next.is_some(), entries, next })
}

/// The position of the first entry at or after `since`. Positions have no gaps and follow the clock, so a
/// binary search finds it.
fn first_position_since(db: &Reader<'_>, since: Timestamp, end: i64) -> Result<i64> {
    let (mut low, mut high) = (1, end);
    while low < high {
        let position = low + (high - low) / 2;
        let row: Option<(Timestamp,)> = db.optional(
            "select at from audit_entry where account_id = :account and position = :position",
            bind! { position },
        )?;
        match row {
            Some((at,)) if at < since => low = position + 1,
            _ => high = position,
        }
    }
    Ok(low)
}

/// The CSV export of the log.
#[derive(Debug)]
pub struct AuditTable(pub Filter);

/// An entry, and the name of its actor.
type NamedEntry = (AuditEntry, String);

const COLUMNS: &[Column<NamedEntry>] = &[
    Column::csv("position", |(entry, _)| entry.position.cell()),
    Column::csv("at", |(entry, _)| entry.at.cell()),
    Column::csv("actor", |(entry, _)| Cell::Text(actor_and_app(entry).0.into())),
    Column::csv("actor_name", |(_, name)| name.cell()),
    Column::csv("via", |(entry, _)| Cell::Text(actor_and_app(entry).1.unwrap_or_default().into())),
    Column::csv("action", |(entry, _)| entry.action.cell()),
    Column::csv("subject", |(entry, _)| entry.subject.cell()),
    Column::csv("request", |(entry, _)| entry.request.cell()),
    Column::csv("details", |(entry, _)| entry.details.cell()),
];

impl Table for AuditTable {
    type Row = NamedEntry;
    type Position = i64;
    const COLUMNS: &[Column<NamedEntry>] = COLUMNS;

    fn read(
        &self,
        db: &Reader<'_>,
        _: &TeamAccess,
        after: Option<i64>,
    ) -> Result<Chunk<NamedEntry, i64>> {
        let page = read_page(db, &self.0, after, CHUNK_ROWS)?;
        let names = Names::load(db, page.entries.iter().flat_map(mentioned_ids))?;
        let row = |entry: AuditEntry| {
            let name = names.get(actor_and_app(&entry).0).unwrap_or_default().to_owned();
            (entry, name)
        };
        Ok((page.entries.into_iter().map(row).collect(), page.next))
    }
}

/// The actor's id, and the id of the app that acted for them.
pub fn actor_and_app(entry: &AuditEntry) -> (&str, Option<&str>) {
    match entry.actor.split_once(" via ") {
        Some((actor, app)) => (actor, Some(app)),
        None => (&entry.actor, None),
    }
}

/// The ids in an entry that may resolve to names.
pub fn mentioned_ids(entry: &AuditEntry) -> impl Iterator<Item = &str> {
    let (actor, app) = actor_and_app(entry);
    let texts = entry.details.as_deref().unwrap_or_default().split('"');
    let in_details = texts.filter(|text| names::is_id(text)).take(MAX_NAMED_IDS);
    [Some(actor), app, Some(entry.subject.as_str())].into_iter().flatten().chain(in_details)
}
