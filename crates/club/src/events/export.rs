//! Export of the schedule: one row per event.

use macros::query;

use super::event::{self, EventFilter, EventView};
use super::location::Location;
use crate::columns::{Cell, Column, ToCell};
use crate::prelude::*;
use crate::table::{self, CHUNK_ROWS, Chunk, Table};

/// Which events to export.
#[query]
#[derive(Default)]
pub struct EventsTable {
    /// Only this team.
    pub team_id: Option<TeamId>,
    /// Only events that start at this time or later. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only events that start before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
}

/// An event and the name of its team.
pub type Row = (EventView, String);

const COLUMNS: &[Column<Row>] = &[
    Column::csv("event_id", |(view, _)| view.event.id.cell()),
    Column::csv("team_id", |(view, _)| view.event.team_id.cell()),
    Column::csv("team", |(_, team)| team.cell()),
    Column::csv("type", |(view, _)| Cell::text(view.event.kind)),
    Column::csv("title", |(view, _)| view.event.title.cell()),
    Column::csv("status", |(view, _)| Cell::text(view.event.status)),
    Column::csv("starts_at", |(view, _)| view.event.starts_at.cell()),
    Column::csv("ends_at", |(view, _)| view.event.ends_at.cell()),
    Column::csv("starts_local", |(view, _)| view.starts_local.cell()),
    Column::csv("ends_local", |(view, _)| view.ends_local.cell()),
    Column::csv("timezone", |(view, _)| Cell::Text(view.event.timezone.name().into())),
    Column::csv("all_day", |(view, _)| view.event.all_day.cell()),
    Column::csv("arrival_minutes", |(view, _)| view.event.arrival_minutes.cell()),
    Column::csv("location", |(view, _)| location(view, |location| location.name.cell())),
    Column::csv("address", |(view, _)| location(view, |location| location.address.cell())),
    Column::csv("opponent", |(view, _)| view.event.opponent.cell()),
    Column::csv("home_away", |(view, _)| view.event.home_away.map_or(Cell::EMPTY, Cell::text)),
    Column::csv("uniform", |(view, _)| view.event.uniform.cell()),
    Column::csv("notes", |(view, _)| view.event.notes.cell()),
    Column::csv("rsvp_deadline", |(view, _)| view.event.rsvp_deadline.cell()),
    Column::csv("capacity", |(view, _)| view.event.capacity.cell()),
    Column::csv("yes", |(view, _)| view.rsvp_counts.yes.cell()),
    Column::csv("no", |(view, _)| view.rsvp_counts.no.cell()),
    Column::csv("maybe", |(view, _)| view.rsvp_counts.maybe.cell()),
    Column::csv("waitlisted", |(view, _)| view.rsvp_counts.waitlisted.cell()),
    Column::csv("unanswered", |(view, _)| view.rsvp_counts.unanswered.cell()),
    Column::csv("series_id", |(view, _)| view.event.series_id.cell()),
    Column::csv("cancel_reason", |(view, _)| view.event.cancel_reason.cell()),
    Column::csv("external_id", |(view, _)| view.event.external_id.cell()),
];

fn location(view: &EventView, cell: impl Fn(&Location) -> Cell<'_>) -> Cell<'_> {
    view.location.as_ref().map_or(Cell::EMPTY, cell)
}

impl Table for EventsTable {
    type Row = Row;
    type Position = (Timestamp, EventId);
    const COLUMNS: &[Column<Row>] = COLUMNS;

    fn read(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
    ) -> Result<Chunk<Row, Self::Position>> {
        // `list` reads one row more than the limit, to detect whether there is a next page.
        let page = Page { limit: CHUNK_ROWS - 1, order: Order::Asc, last: after };
        let Self { team_id, from, to } = *self;
        let filter = EventFilter { team_id, from, to, ..EventFilter::default() };
        let events = event::list(db, access, &filter, &page)?;
        let mut teams: Vec<_> = events.iter().map(|view| view.event.team_id).collect();
        teams.sort_unstable();
        teams.dedup();
        let names: Vec<(TeamId, String)> = db.all(
            "select id, name from team where account_id = :account and id in (:teams)",
            bind! { teams },
        )?;
        let name = |team| names.iter().find(|(id, _)| *id == team).map(|(_, name)| name.clone());
        let row = |view: EventView| {
            let team = name(view.event.team_id).unwrap_or_default();
            (view, team)
        };
        let rows: Vec<Row> = events.into_iter().map(row).collect();
        Ok(table::chunk(rows, |(view, _)| view.sort_key()))
    }
}
