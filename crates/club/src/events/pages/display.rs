//! Events as all pages show them.

use std::sync::Arc;

use crate::accounts::account;
use crate::events::event::{EventView, Kind, Status};
use crate::i18n::{Locale, format};
use crate::names::Names;
use crate::prelude::*;
use crate::web::nav::Nav;
use crate::web::team_look::TeamLook;

/// The names and looks of the teams on a page.
#[derive(Debug)]
pub struct TeamNames {
    nav: Arc<Nav>,
    /// The names of teams that are not in the menu, such as archived ones.
    others: Names,
    /// The time zone of the club.
    zone: Zone,
}

impl TeamNames {
    /// Looks up the teams that are not in the menu.
    pub fn load(
        db: &Reader<'_>,
        nav: &Arc<Nav>,
        teams: impl IntoIterator<Item = TeamId>,
    ) -> Result<Self> {
        let is_listed = |id: &TeamId| nav.teams.iter().any(|team| team.id == *id);
        let others = teams.into_iter().filter(|id| !is_listed(id)).map(|id| id.to_string());
        let others: Vec<_> = others.collect();
        let others = Names::load(db, others.iter().map(String::as_str))?;
        Ok(Self { nav: Arc::clone(nav), others, zone: account::find(db)?.timezone })
    }

    /// The name of a team.
    pub fn name(&self, id: TeamId) -> String {
        let listed = self.nav.teams.iter().find(|team| team.id == id);
        let other = || self.others.get(&id.to_string()).unwrap_or_default().to_owned();
        listed.map_or_else(other, |team| team.name.clone())
    }

    /// The look of a team.
    pub fn look(&self, id: TeamId) -> TeamLook {
        self.nav.look(id, &self.name(id))
    }
}

/// An event in a few words.
#[derive(Debug)]
pub struct EventText {
    pub id: EventId,
    pub team: String,
    pub look: TeamLook,
    pub kind: Kind,
    pub title: String,
    /// The local day on which the event starts.
    pub day: Day,
    /// When it starts: `18:00`, or `All day`. With the place of its time zone, if the clocks of the club show another time.
    pub start: String,
    /// When it starts, and until which day it lasts if that is a later one.
    pub time: String,
    /// Name of the location.
    pub place: Option<String>,
    pub status: Status,
}

impl EventText {
    pub fn new(view: &EventView, teams: &TeamNames) -> Self {
        let event = &view.event;
        let start = start_time(view, &teams.zone);
        Self {
            id: event.id,
            team: teams.name(event.team_id),
            look: teams.look(event.team_id),
            kind: event.kind,
            title: event.shown_title().into_owned(),
            day: view.starts_local.day(),
            time: with_last_day(&start, view),
            start,
            place: view.location.as_ref().map(|place| place.name.clone()),
            status: event.status,
        }
    }

    /// The page of the event.
    pub fn href(&self) -> String {
        format!("/events/{}", self.id)
    }

    /// The short name of the day of the week: `Sat`.
    pub fn weekday(&self) -> String {
        format::weekday(Locale::current_or_english(), self.day)
    }

    /// The day of the month: `16`.
    pub fn day_number(&self) -> String {
        self.day.day().to_string()
    }

    /// Whether the event is cancelled, so that it is struck through.
    pub fn is_off(&self) -> bool {
        self.status == Status::Cancelled
    }

    /// Tone and label of a status that is not the usual one.
    pub fn tag(&self) -> Option<(&'static str, &'static str)> {
        match self.status {
            Status::Cancelled => Some(("no", t!("Cancelled"))),
            Status::Postponed => Some(("may", t!("Postponed"))),
            Status::Scheduled | Status::Completed => None,
        }
    }
}

/// When an event starts, without its day.
fn start_time(view: &EventView, club_zone: &Zone) -> String {
    let event = &view.event;
    if event.all_day {
        return t!("All day").to_owned();
    }
    let time = format::time(Locale::current_or_english(), view.starts_local);
    if club_zone.local(event.starts_at) == view.starts_local {
        return time;
    }
    // `America/New_York` is the time in New York.
    let place = event.timezone.name().rsplit('/').next().unwrap_or_default();
    format!("{time} ({})", place.replace('_', " "))
}

/// Adds the last day of an event that lasts several days.
fn with_last_day(start: &str, view: &EventView) -> String {
    let last = last_day(view);
    if last == view.starts_local.day() {
        return start.to_owned();
    }
    let day = format::near_day(Locale::current_or_english(), last);
    t!("{start} until {day}", start, day)
}

/// The last day on which an event takes place. One that ends at midnight does not reach the next day.
pub(super) fn last_day(view: &EventView) -> Day {
    let (first, end) = (view.starts_local.day(), view.ends_local);
    let last =
        if end == end.day().at_midnight() { end.day().plus_days(-1) } else { Some(end.day()) };
    last.unwrap_or(first).max(first)
}

/// When an event starts: `Sat, 14 Nov 2026, 18:05`, or only the day if it has no times.
pub fn start(view: &EventView) -> String {
    let locale = Locale::current_or_english();
    if view.event.all_day {
        return format::day_with_weekday(locale, view.starts_local.day());
    }
    format::appointment(locale, view.starts_local)
}

/// The label of a status.
pub fn status_label(status: Status) -> &'static str {
    match status {
        Status::Scheduled => t!("Scheduled", "event"),
        Status::Cancelled => t!("Cancelled"),
        Status::Postponed => t!("Postponed"),
        Status::Completed => t!("Completed"),
    }
}

/// The label of a type of event.
pub fn kind_label(kind: Kind) -> &'static str {
    match kind {
        Kind::Game => t!("Game"),
        Kind::Practice => t!("Practice"),
        Kind::Meeting => t!("Meeting"),
        Kind::Tournament => t!("Tournament"),
        Kind::Other => t!("Other event"),
    }
}

/// The Monday of the week of a day.
pub fn monday(day: Day) -> Day {
    let since = day.weekday().days_after(kit::Weekday::Monday);
    day.plus_days(-since).unwrap_or(day)
}
