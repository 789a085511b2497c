//! The month view: a calendar grid. On a phone each day has dots, and a link to the events below the grid.

use super::display::{EventText, TeamNames, last_day};
use super::schedule_query::month_bounds;
use crate::events::event::{self, EventFilter, EventView, Kind};
use crate::i18n::{Locale, format};
use crate::prelude::*;

/// Maximum number of events in a month.
const MAX_EVENTS: i64 = 500;
/// Maximum number of dots of a day.
const MAX_DOTS: usize = 3;

/// A month as whole weeks from Monday to Sunday.
pub(super) struct Month {
    /// Such as `May 2026`.
    pub(super) title: String,
    /// The short names of the days of the week.
    pub(super) weekdays: Vec<String>,
    pub(super) weeks: Vec<Vec<Cell>>,
    /// Whether there are more events than the page shows.
    pub(super) is_cut: bool,
}

/// A day of the grid. Its link leads to an event in the list below the grid.
pub(super) struct Cell {
    pub(super) day: Day,
    /// Whether the day belongs to another month.
    pub(super) is_outside: bool,
    pub(super) is_today: bool,
    pub(super) events: Vec<EventText>,
    /// The day and the number of events, for the link on a phone.
    pub(super) label: String,
}

impl Cell {
    pub(super) fn number(&self) -> i8 {
        self.day.day()
    }

    /// The event that the link leads to: the first one that starts on this day, or else the first one that goes on.
    pub(super) fn linked_event(&self) -> Option<EventId> {
        let starting = self.events.iter().find(|text| text.day == self.day);
        starting.or(self.events.first()).map(|text| text.id)
    }

    pub(super) fn dots(&self) -> impl Iterator<Item = String> {
        self.events.iter().take(MAX_DOTS).map(|text| text.look.class())
    }
}

impl EventText {
    /// Whether the event is shown in the full color of the team.
    pub(super) fn is_game(&self) -> bool {
        matches!(self.kind, Kind::Game | Kind::Tournament)
    }
}

/// The events of a month, which the filter selects.
pub(super) fn events(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: Option<EventFilter>,
) -> Result<Vec<EventView>> {
    let Some(filter) = filter else { return Ok(Vec::new()) };
    let page = Page { limit: MAX_EVENTS, order: Order::Asc, last: None };
    event::list(db, access, &filter, &page)
}

impl Month {
    /// The month that begins on this day.
    pub(super) fn new(first: Day, today: Day, events: &[EventView], teams: &TeamNames) -> Self {
        let locale = Locale::current_or_english();
        let (start, end) = month_bounds(first);
        let days: Vec<_> =
            (0..42).filter_map(|n| start.plus_days(n)).take_while(|day| *day <= end).collect();
        let cell = |day: &Day| {
            let on_day = events.iter().filter(|view| takes_place(view, *day, *day));
            let events: Vec<_> = on_day.map(|view| EventText::new(view, teams)).collect();
            Cell {
                day: *day,
                is_outside: (day.year(), day.month()) != (first.year(), first.month()),
                is_today: *day == today,
                label: tn!(
                    "{day}, {count} event",
                    "{day}, {count} events",
                    events.len(),
                    day = format::near_day(locale, *day)
                ),
                events,
            }
        };
        let max = usize::try_from(MAX_EVENTS).unwrap_or(usize::MAX);
        Self {
            title: format::month(locale, first),
            weekdays: days.iter().take(7).map(|day| format::weekday(locale, *day)).collect(),
            weeks: days.chunks(7).map(|week| week.iter().map(cell).collect()).collect(),
            is_cut: events.len() > max,
        }
    }
}

/// Whether an event takes place in the month that begins on `first`, on one of its days at least.
pub(super) fn is_in_month(view: &EventView, first: Day) -> bool {
    let last = first.plus_days(i64::from(first.days_in_month()) - 1);
    takes_place(view, first, last.unwrap_or(first))
}

/// Whether an event takes place between two days.
fn takes_place(view: &EventView, from: Day, until: Day) -> bool {
    view.starts_local.day() <= until && from <= last_day(view)
}
