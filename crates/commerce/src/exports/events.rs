//! Export of the schedule: one row per event.

use std::borrow::Cow;

use kit::Timestamp;
use store::{Reader, bind};

use super::table::{self, CHUNK_ROWS, CsvWriter, Table, cell, optional_cell};
use crate::error::Result;
use crate::events::event::{self, EventFilter, EventView};
use crate::ids::{EventId, TeamId};
use crate::paging::{Order, Page, Paged};
use crate::rights::TeamAccess;

/// Which events to export.
#[derive(Debug, Default)]
pub struct EventsTable(pub EventFilter);

const COLUMNS: [&str; 29] = [
    "event_id",
    "team_id",
    "team",
    "type",
    "title",
    "status",
    "starts_at",
    "ends_at",
    "starts_local",
    "ends_local",
    "timezone",
    "all_day",
    "arrival_minutes",
    "location",
    "address",
    "opponent",
    "home_away",
    "uniform",
    "notes",
    "rsvp_deadline",
    "capacity",
    "yes",
    "no",
    "maybe",
    "waitlisted",
    "unanswered",
    "series_id",
    "cancel_reason",
    "external_id",
];

impl Table for EventsTable {
    type Position = (Timestamp, EventId);

    fn columns(&self) -> Vec<Cow<'static, str>> {
        COLUMNS.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
        writer: &mut CsvWriter,
    ) -> Result<Option<Self::Position>> {
        // `list` reads one row more than the limit, to detect whether there is a next page.
        let page = Page { limit: CHUNK_ROWS - 1, order: Order::Asc, last: after };
        let events = event::list(db, access, &self.0, &page)?;
        let mut teams: Vec<_> = events.iter().map(|view| view.event.team_id).collect();
        teams.sort_unstable();
        teams.dedup();
        let names: Vec<(TeamId, String)> = db.all(
            "select id, name from team where account_id = :account and id in (:teams)",
            bind! { teams },
        )?;
        for view in &events {
            let name = names.iter().find(|(team, _)| *team == view.event.team_id);
            writer.row(cells(view, name.map_or("", |(_, name)| name.as_str())))?;
        }
        Ok(table::next_position(events.len(), events.last().map(Paged::sort_key)))
    }
}

fn cells<'a>(view: &'a EventView, team: &'a str) -> [Cow<'a, str>; 29] {
    let (event, counts) = (&view.event, &view.rsvp_counts);
    let location = view.location.as_ref();
    [
        cell(event.id),
        cell(event.team_id),
        team.into(),
        cell(event.kind),
        event.title.as_str().into(),
        cell(event.status),
        cell(event.starts_at),
        cell(event.ends_at),
        cell(view.starts_local),
        cell(view.ends_local),
        event.timezone.name().into(),
        cell(event.all_day),
        optional_cell(event.arrival_minutes),
        location.map_or("", |location| location.name.as_str()).into(),
        optional_cell(location.and_then(|location| location.address.as_ref())),
        optional_cell(event.opponent.as_ref()),
        optional_cell(event.home_away),
        optional_cell(event.uniform.as_ref()),
        optional_cell(event.notes.as_ref()),
        optional_cell(event.rsvp_deadline),
        optional_cell(event.capacity),
        cell(counts.yes),
        cell(counts.no),
        cell(counts.maybe),
        cell(counts.waitlisted),
        cell(counts.unanswered),
        optional_cell(event.series_id),
        optional_cell(event.cancel_reason.as_ref()),
        optional_cell(event.external_id.as_ref()),
    ]
}
