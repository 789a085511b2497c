//! What the URL of a schedule selects, and the URLs that select something else.

use super::display::monday;
use crate::accounts::roster_access::RosterAccess;
use crate::events::event::{EventFilter, Kind};
use crate::events::event_time::MAX_DURATION;
use crate::prelude::*;
use crate::web::prelude::*;

/// The types of events in the filter: value and label.
pub(super) const KINDS: [(&str, &str); 5] = [
    ("game", mark!("Games")),
    ("practice", mark!("Practices")),
    ("meeting", mark!("Meetings")),
    ("tournament", mark!("Tournaments")),
    ("other", mark!("Other events")),
];

/// The filters and the view of a schedule.
#[derive(Debug, Clone)]
pub(super) struct ScheduleQuery {
    /// The team whose page this is.
    pub(super) page_of_team: Option<TeamId>,
    pub(super) team: Option<TeamId>,
    kind: Option<Kind>,
    child: Option<PersonId>,
    /// Whether past events are listed, the latest first.
    pub(super) past: bool,
    /// The first day of the month, if the month is shown.
    pub(super) month: Option<Day>,
}

impl ScheduleQuery {
    /// Reads the query of a URL. Fails with "not found" if an id is malformed.
    pub(super) fn read(form: &Form, page_of_team: Option<TeamId>, today: Day) -> Result<Self> {
        let team = form.optional("team").map(str::parse).transpose();
        let child = form.optional("child").map(str::parse).transpose();
        let (Ok(team), Ok(child)) = (team, child) else { return Err(Error::not_found()) };
        let is_month = form.text("view") == "month";
        let month = form.optional("month").and_then(|text| format!("{text}-01").parse().ok());
        Ok(Self {
            page_of_team,
            team: page_of_team.or(team),
            kind: form.optional("type").and_then(Kind::parse),
            child,
            past: form.text("past") == "1" && !is_month,
            month: is_month.then(|| first_of_month(month.unwrap_or(today))),
        })
    }

    /// The filter for the events. `None` if no event can match: the child is not on the team.
    pub(super) fn filter(
        &self,
        roster_access: &RosterAccess,
        (now, zone): (Timestamp, &Zone),
    ) -> Result<Option<EventFilter>> {
        let teams: Vec<TeamId> = match self.child {
            None => self.team.into_iter().collect(),
            Some(child) => {
                let is_family = roster_access.family_person_ids().contains(&child);
                Error::not_found().fail_if(!is_family)?;
                let own = roster_access.memberships.iter().filter(|one| one.person_id == child);
                let own = own.map(|one| one.team_id);
                own.filter(|id| self.team.is_none_or(|team| team == *id)).collect()
            }
        };
        if self.child.is_some() && teams.is_empty() {
            return Ok(None);
        }
        let (from, to) = match self.month {
            Some(first) => {
                let (start, end) = month_bounds(first);
                (Some(start.start().minus(MAX_DURATION)), end.plus_days(1).map(Day::start))
            }
            None if self.past => (None, Some(now)),
            None => (zone.resolve(zone.day(now).at_midnight()), None),
        };
        let (team_id, team_ids) = match teams[..] {
            [one] => (Some(one), Vec::new()),
            _ => (None, teams),
        };
        let kind = self.kind;
        Ok(Some(EventFilter { team_id, team_ids, from, to, kind, ..EventFilter::default() }))
    }

    /// The URL of the schedule with the same filters and these parameters.
    fn href(&self, path: &str, more: &[(&str, String)]) -> String {
        let team = self.team.filter(|_| self.page_of_team.is_none() || path != self.path());
        let filters = [
            ("team", team.map(|id| id.to_string())),
            ("type", self.kind.map(|kind| kind.to_string())),
            ("child", self.child.map(|id| id.to_string())),
        ];
        let filters = filters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let pairs: Vec<_> = filters.chain(more.iter().cloned()).collect();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
    }

    fn path(&self) -> String {
        self.page_of_team.map_or_else(|| "/schedule".to_owned(), |team| format!("/teams/{team}"))
    }

    pub(super) fn agenda(&self) -> String {
        self.href(&self.path(), &[])
    }

    pub(super) fn past_events(&self) -> String {
        self.href(&self.path(), &[("past", "1".to_owned())])
    }

    /// The month view of the current month.
    pub(super) fn this_month(&self) -> String {
        self.href(&self.path(), &[("view", "month".to_owned())])
    }

    /// The month view of a month before or after the shown one.
    pub(super) fn other_month(&self, months: i32) -> String {
        let first = self.month.and_then(|first| other_month(first, months));
        let Some(first) = first else { return self.this_month() };
        self.href(&self.path(), &month_view(first))
    }

    /// The page that prints what this view shows.
    pub(super) fn print(&self) -> String {
        let more = match (self.past, self.month) {
            (true, _) => vec![("past", "1".to_owned())],
            (_, Some(month)) => month_view(month),
            _ => Vec::new(),
        };
        self.href("/schedule/print", &more)
    }

    /// The form for a new event.
    pub(super) fn new_event(&self) -> String {
        match self.team {
            Some(team) => format!("/events/new?team={team}"),
            None => "/events/new".to_owned(),
        }
    }

    /// The same view without filters.
    pub(super) fn without_filters(&self) -> String {
        let plain = Self { team: self.page_of_team, kind: None, child: None, ..self.clone() };
        match (self.past, self.month) {
            (true, _) => plain.past_events(),
            (_, Some(_)) => plain.other_month(0),
            _ => plain.agenda(),
        }
    }
}

/// The parameters of a month.
fn month_view(first: Day) -> Vec<(&'static str, String)> {
    vec![("view", "month".to_owned()), ("month", first.to_string()[..7].to_owned())]
}

fn first_of_month(day: Day) -> Day {
    day.plus_days(1 - i64::from(day.day())).unwrap_or(day)
}

/// The first day of a month before or after a month. `None` beyond the calendar.
fn other_month(first: Day, months: i32) -> Option<Day> {
    let count = i32::from(first.year()) * 12 + i32::from(first.month()) - 1 + months;
    let (year, month) = (count.div_euclid(12), count.rem_euclid(12) + 1);
    Day::new(year.try_into().ok()?, month.try_into().ok()?, 1)
}

/// The first and the last day of the weeks that a month is part of.
pub(super) fn month_bounds(first: Day) -> (Day, Day) {
    let last = first.plus_days(i64::from(first.days_in_month()) - 1).unwrap_or(first);
    let start = monday(first);
    (start, monday(last).plus_days(6).unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    #[test]
    fn a_month_is_shown_in_whole_weeks() {
        assert_eq!(month_bounds(day("2026-05-01")), (day("2026-04-27"), day("2026-05-31")));
        assert_eq!(month_bounds(day("2027-02-01")), (day("2027-02-01"), day("2027-02-28")));
        assert_eq!(other_month(day("2026-01-01"), -1), Some(day("2025-12-01")));
        assert_eq!(other_month(day("2026-12-01"), 1), Some(day("2027-01-01")));
        assert_eq!(other_month(day("9999-12-01"), 1), None);
        assert_eq!(first_of_month(day("2026-05-31")), day("2026-05-01"));
    }

    #[test]
    fn links_keep_the_filters() {
        let read = |query: &str| {
            ScheduleQuery::read(&Form::parse(query.as_bytes()).unwrap(), None, day("2026-09-05"))
        };
        let query = read("type=game&view=month&month=2026-05&cursor=x").unwrap();
        assert_eq!(query.agenda(), "/schedule?type=game");
        assert_eq!(query.other_month(1), "/schedule?type=game&view=month&month=2026-06");
        assert_eq!(query.without_filters(), "/schedule?view=month&month=2026-05");
        let query = read("view=month&month=2026-13&type=<b>").unwrap();
        assert_eq!((query.month, query.kind), (Some(day("2026-09-01")), None));
        assert!(read("team=nonsense").is_err() && read("child=%00").is_err());
    }
}
