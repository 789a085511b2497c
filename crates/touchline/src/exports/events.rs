//! The schedule as a table: a row for each event.

use std::borrow::Cow;

use kit::Timestamp;
use store::{Reader, bind};

use super::table::{self, ROWS, Sheet, Table, cell, maybe};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::events::event::{self, EventFilter, Shown};
use crate::ids::{EventId, TeamId};
use crate::paging::{Order, Page, Paged};

/// Which events to write.
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
    "waiting",
    "unanswered",
    "series_id",
    "cancel_reason",
    "external_id",
];

impl Table for EventsTable {
    type Place = (Timestamp, EventId);

    fn columns(&self) -> Vec<Cow<'static, str>> {
        COLUMNS.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        reach: &Reach,
        after: Option<Self::Place>,
        sheet: &mut Sheet,
    ) -> Result<Option<Self::Place>> {
        // A page asks for one row more than it shows.
        let page = Page { limit: ROWS - 1, order: Order::Asc, last: after };
        let events = event::list(db, reach, &self.0, &page)?;
        let mut teams: Vec<_> = events.iter().map(|shown| shown.event.team_id).collect();
        teams.sort_unstable();
        teams.dedup();
        let names: Vec<(TeamId, String)> = db.all(
            "select id, name from team where account_id = :account and id in (:teams)",
            bind! { teams },
        )?;
        for shown in &events {
            let name = names.iter().find(|(team, _)| *team == shown.event.team_id);
            sheet.row(cells(shown, name.map_or("", |(_, name)| name.as_str())))?;
        }
        Ok(table::next(events.len(), events.last().map(Paged::place)))
    }
}

fn cells<'a>(shown: &'a Shown, team: &'a str) -> [Cow<'a, str>; 29] {
    let (event, counts) = (&shown.event, &shown.rsvp_counts);
    let place = shown.location.as_ref();
    [
        cell(event.id),
        cell(event.team_id),
        team.into(),
        cell(event.kind),
        event.title.as_str().into(),
        cell(event.status),
        cell(event.starts_at),
        cell(event.ends_at),
        cell(shown.starts_local),
        cell(shown.ends_local),
        event.timezone.name().into(),
        cell(event.all_day),
        maybe(event.arrival_minutes),
        place.map_or("", |place| place.name.as_str()).into(),
        maybe(place.and_then(|place| place.address.as_ref())),
        maybe(event.opponent.as_ref()),
        maybe(event.home_away),
        maybe(event.uniform.as_ref()),
        maybe(event.notes.as_ref()),
        maybe(event.rsvp_deadline),
        maybe(event.capacity),
        cell(counts.yes),
        cell(counts.no),
        cell(counts.maybe),
        cell(counts.waiting),
        cell(counts.unanswered),
        maybe(event.series_id),
        maybe(event.cancel_reason.as_ref()),
        maybe(event.external_id.as_ref()),
    ]
}
