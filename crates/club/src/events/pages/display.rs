//! Events as all pages show them.

use std::sync::Arc;

use crate::accounts::account;
use crate::events::event::{EventView, Kind, Status};
use crate::events::result::ResultText;
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
    /// When it starts: `18:00`, or `All day`.
    pub clock: String,
    /// The place of its time zone, such as `New York`, if the clocks of the club show another time.
    pub zone: Option<String>,
    /// The last day, if that is a later one: `Mon, 2 Feb`.
    pub until: Option<String>,
    /// All of it: `18:00 (New York) until Mon, 2 Feb`.
    pub time: String,
    /// Name of the location.
    pub place: Option<String>,
    pub status: Status,
    /// The result of a game.
    pub result: Option<ResultText>,
}

impl EventText {
    pub fn new(view: &EventView, teams: &TeamNames) -> Self {
        let event = &view.event;
        let (clock, zone) = (clock(view), other_zone(view, &teams.zone));
        let start = with_zone(&clock, zone.as_deref());
        let until = until(view);
        let time = match &until {
            Some(day) => t!("{start} until {day}", start, day),
            None => start,
        };
        Self {
            id: event.id,
            team: teams.name(event.team_id),
            look: teams.look(event.team_id),
            kind: event.kind,
            title: event.shown_title().into_owned(),
            day: view.starts_local.day(),
            clock,
            zone,
            until,
            time,
            place: view.location.as_ref().map(|place| place.name.clone()),
            status: event.status,
            result: event.result.as_ref().map(ResultText::new),
        }
    }

    /// The page of the event.
    pub fn href(&self) -> String {
        format!("/events/{}", self.id)
    }

    /// When it starts, with the time zone if that is another one, where there is little room.
    pub fn start(&self) -> String {
        with_zone(&self.clock, self.zone.as_deref())
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

    /// Tone and label of the result, or of a status that is not the usual one.
    pub fn tag(&self) -> Option<(&'static str, &str)> {
        match self.status {
            Status::Cancelled => Some(("no", t!("Cancelled"))),
            Status::Postponed => Some(("may", t!("Postponed"))),
            Status::Scheduled | Status::Completed => {
                self.result.as_ref().map(|result| (result.tone, result.label.as_str()))
            }
        }
    }
}

/// The local time at which an event starts.
fn clock(view: &EventView) -> String {
    if view.event.all_day {
        return t!("All day").to_owned();
    }
    format::time(Locale::current_or_english(), view.starts_local)
}

/// The place of the time zone of an event, if the clocks of the club show another time when it starts.
fn other_zone(view: &EventView, club_zone: &Zone) -> Option<String> {
    let event = &view.event;
    let is_other = !event.all_day && club_zone.local(event.starts_at) != view.starts_local;
    // `America/New_York` is the time in New York.
    let place = event.timezone.name().rsplit('/').next()?;
    is_other.then(|| place.replace('_', " "))
}

fn with_zone(clock: &str, zone: Option<&str>) -> String {
    zone.map_or_else(|| clock.to_owned(), |zone| format!("{clock} ({zone})"))
}

/// The last day of an event that lasts several days.
fn until(view: &EventView) -> Option<String> {
    let last = last_day(view);
    let has_days = last > view.starts_local.day();
    has_days.then(|| format::near_day(Locale::current_or_english(), last))
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
