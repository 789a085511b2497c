//! Looking back in the audit log: newest first, filtered, never further at once than a bound.

use std::borrow::Cow;

use kit::Timestamp;
use store::{Reader, bind, sql};

use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::exports::table::{ROWS, Sheet, Table, cell, maybe};
use crate::names::{self, Names};
use crate::signals::{self, AuditEntry};

/// So many entries are looked at for one page. Whoever filters for something rare looks on from there.
pub const REACH: i64 = 5000;

/// So many ids in the details of an entry are shown by name.
const DETAILED: usize = 20;

/// Which entries are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The id of whoever did it.
    pub actor: Option<String>,
    /// What was done: an action, or the thing that several actions are about.
    pub action: Option<String>,
    /// The id of what it was done to.
    pub subject: Option<String>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// A stretch of the log.
#[derive(Debug)]
pub struct Stretch {
    pub entries: Vec<AuditEntry>,
    /// The position before which the next stretch begins; none at the end of the log.
    pub next: Option<i64>,
    /// Whether the bound was reached before the page was full.
    pub cut_short: bool,
}

/// Looks back from a position, or from the end of the log.
pub fn look(db: &Reader<'_>, filter: &Filter, before: Option<i64>, limit: i64) -> Result<Stretch> {
    let end = signals::entries(db)? + 1;
    let first = filter.from.map_or(Ok(1), |from| first_since(db, from, end))?;
    let until = filter.until.map_or(Ok(end), |until| first_since(db, until, end))?;
    let before = before.map_or(until, |before| before.min(until));
    let floor = first.max(before - REACH);
    let Filter { actor, action, subject, .. } = filter;
    let through = actor.as_ref().map(|actor| format!("{actor} via "));
    let below = action.as_ref().map(|action| format!("{action}."));
    let entries: Vec<AuditEntry> = db.all(
        sql!(
            AuditEntry::SELECT,
            " where account_id = :account and position >= :floor and position < :before
                and (cast(:actor as text) is null or actor = :actor
                     or substr(actor, 1, length(cast(:through as text))) = :through)
                and (cast(:subject as text) is null or subject = :subject)
                and (cast(:action as text) is null or action = :action
                     or substr(action, 1, length(cast(:below as text))) = :below)
              order by position desc limit :limit"
        ),
        bind! { floor, before, actor, through, subject, action, below, limit },
    )?;
    let full = i64::try_from(entries.len()).is_ok_and(|shown| shown == limit);
    let reached = if full { entries.last().map_or(floor, |entry| entry.position) } else { floor };
    let next = Some(reached).filter(|reached| *reached > first);
    Ok(Stretch { cut_short: !full && next.is_some(), entries, next })
}

/// The position of the first entry that is not older than a moment. Positions have no gaps and follow the
/// clock, so that halving finds it in a few looks however long the log is.
fn first_since(db: &Reader<'_>, moment: Timestamp, end: i64) -> Result<i64> {
    let (mut low, mut high) = (1, end);
    while low < high {
        let position = low + (high - low) / 2;
        let found: Option<(Timestamp,)> = db.maybe(
            "select at from audit_entry where account_id = :account and position = :position",
            bind! { position },
        )?;
        match found {
            Some((at,)) if at < moment => low = position + 1,
            _ => high = position,
        }
    }
    Ok(low)
}

/// The log as a table.
#[derive(Debug)]
pub struct AuditTable(pub Filter);

impl Table for AuditTable {
    type Place = i64;

    fn columns(&self) -> Vec<Cow<'static, str>> {
        let names = [
            "position",
            "at",
            "actor",
            "actor_name",
            "via",
            "action",
            "subject",
            "request",
            "details",
        ];
        names.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        _: &Reach,
        after: Option<i64>,
        sheet: &mut Sheet,
    ) -> Result<Option<i64>> {
        let stretch = look(db, &self.0, after, ROWS)?;
        let names = Names::of(db, stretch.entries.iter().flat_map(mentioned))?;
        for entry in stretch.entries {
            let (actor, via) = doer(&entry);
            sheet.row([
                cell(entry.position),
                cell(entry.at),
                cell(actor),
                names.of_id(actor).unwrap_or_default().to_owned().into(),
                maybe(via),
                cell(&entry.action),
                cell(&entry.subject),
                maybe(entry.request.as_ref()),
                maybe(entry.details.as_ref()),
            ])?;
        }
        Ok(stretch.next)
    }
}

/// Who did it, and the app that did it for them.
pub fn doer(entry: &AuditEntry) -> (&str, Option<&str>) {
    match entry.actor.split_once(" via ") {
        Some((actor, app)) => (actor, Some(app)),
        None => (&entry.actor, None),
    }
}

/// The ids in an entry that may have names.
pub fn mentioned(entry: &AuditEntry) -> impl Iterator<Item = &str> {
    let (actor, app) = doer(entry);
    let texts = entry.details.as_deref().unwrap_or_default().split('"');
    let inside = texts.filter(|text| names::is_id(text)).take(DETAILED);
    [Some(actor), app, Some(entry.subject.as_str())].into_iter().flatten().chain(inside)
}
