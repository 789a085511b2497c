//! When an event is: as callers say it, and as it is kept.
//!
//! Callers give a time with its offset, a local time, or a day. A local time is read in the event's
//! zone; one that the clocks skip or show twice is refused, since only the caller knows what is meant.

use std::str::FromStr;
use std::time::Duration;

use kit::time::LocalMoment;
use kit::{Day, LocalTime, Timestamp, Zone};
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use crate::error::Fault;

/// The longest event.
pub const LONGEST: Duration = Duration::from_secs(31 * 86_400);
/// How long an event takes if nobody says.
const USUAL: Duration = Duration::from_secs(3600);

/// A time as a caller gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// With its offset.
    Moment(Timestamp),
    /// Without: what the clocks show.
    Local(LocalTime),
    /// Only the day.
    Day(Day),
}

/// What is said when a text is none of the three.
pub const NOT_A_TIME: &str = "This is not a time such as 2026-09-05T18:30:00+01:00, a local time such as 2026-09-05T18:30, or, for a whole day, 2026-09-05.";

impl FromStr for When {
    type Err = kit::time::NotATime;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let day = text.parse().map(Self::Day);
        let local = || text.parse().map(Self::Local);
        day.or_else(|_| local()).or_else(|_| text.parse().map(Self::Moment))
    }
}

impl utoipa::PartialSchema for When {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "A time with its offset, a local time read in `timezone`, or a day if `all_day`.",
            ))
            .examples(["2026-09-05T18:30:00+01:00", "2026-09-05T18:30", "2026-09-05"])
            .into()
    }
}
impl utoipa::ToSchema for When {}

/// From when to when, in which zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub zone: Zone,
    pub all_day: bool,
}

impl Span {
    /// The span that a caller means, or every fault of it.
    pub fn read(
        zone: Zone,
        all_day: bool,
        starts_at: When,
        ends_at: Option<When>,
    ) -> Result<Self, Vec<Fault>> {
        let start = if all_day { first_day(&zone, starts_at) } else { moment(&zone, starts_at) };
        let end = match (ends_at, all_day) {
            (Some(end), true) => last_day(&zone, end).map(Some),
            (Some(end), false) => moment(&zone, end).map(Some),
            (None, _) => Ok(None),
        };
        let at = |pointer: &'static str| {
            move |(code, detail): (&'static str, String)| Fault::new(pointer, code, detail)
        };
        let (starts_at, end) = match (start.map_err(at("/starts_at")), end.map_err(at("/ends_at")))
        {
            (Ok(start), Ok(end)) => (start, end),
            (start, end) => return Err(start.err().into_iter().chain(end.err()).collect()),
        };
        let ends_at = end.unwrap_or_else(|| {
            let next = || midnight(&zone, zone.day(starts_at).plus_days(1)).unwrap_or(starts_at);
            if all_day { next() } else { starts_at.plus(USUAL) }
        });
        let span = Self { starts_at, ends_at, zone, all_day };
        match span.fault() {
            Some((code, detail)) => Err(vec![Fault::new("/ends_at", code, detail)]),
            None => Ok(span),
        }
    }

    fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.ends_at <= self.starts_at {
            Some(("ends_before_start", "An event ends after it starts."))
        } else if self.ends_at > self.starts_at.plus(LONGEST) {
            Some(("too_long", "An event can last at most 31 days."))
        } else {
            None
        }
    }

    /// What the clocks show when it starts.
    pub fn starts_local(&self) -> LocalTime {
        self.local(self.starts_at)
    }

    /// What the clocks show when it ends.
    pub fn ends_local(&self) -> LocalTime {
        self.local(self.ends_at)
    }

    /// A whole day begins at midnight, also where the clocks are put forward over that.
    fn local(&self, moment: Timestamp) -> LocalTime {
        let local = self.zone.local(moment);
        if self.all_day { local.day().at_midnight() } else { local }
    }

    /// The same span beginning at another local time: the clocks show the same length, whatever
    /// they do in between. `None` beyond the calendar.
    #[must_use]
    pub fn moved(&self, start: LocalTime) -> Option<Self> {
        let start = if self.all_day { start.day().at_midnight() } else { start };
        if start == self.starts_local() {
            return Some(self.clone());
        }
        let length = self.ends_local().seconds_since(self.starts_local());
        let starts_at = within_bounds(self.zone.nearest(start)?)?;
        let ends_at = self.zone.nearest(start.plus_seconds(length)?)?;
        let span = Self { starts_at, ends_at, ..self.clone() };
        // Where the clocks skip the start or lie about the length, it takes as long as it did.
        if span.starts_local() == start && ends_at > starts_at {
            return Some(span);
        }
        let real = self.ends_at.micros() - self.starts_at.micros();
        Some(Self { ends_at: Timestamp::from_micros(starts_at.micros() + real), ..span })
    }

    /// A span with the same start and the length, by the clocks, of another. `None` beyond the calendar.
    #[must_use]
    pub fn lasting(&self, like: &Self) -> Option<Self> {
        if like == self {
            return Some(self.clone());
        }
        let length = like.ends_local().seconds_since(like.starts_local());
        let ends_at = self.zone.nearest(self.starts_local().plus_seconds(length)?)?;
        let real = like.ends_at.micros() - like.starts_at.micros();
        let ends_at = if ends_at > self.starts_at {
            ends_at
        } else {
            Timestamp::from_micros(self.starts_at.micros() + real)
        };
        Some(Self { ends_at, ..self.clone() })
    }

    /// A moment that keeps its distance, by the clocks, from the start of `before`.
    pub fn beside(&self, before: &Self, moment: Timestamp) -> Timestamp {
        if self == before {
            return moment;
        }
        let distance = before.zone.local(moment).seconds_since(before.starts_local());
        let local = self.starts_local().plus_seconds(distance);
        local.and_then(|local| self.zone.nearest(local)).unwrap_or(moment)
    }
}

type Wrong = (&'static str, String);

/// The moment that is meant.
pub fn moment(zone: &Zone, when: When) -> Result<Timestamp, Wrong> {
    let name = zone.name();
    let moment = match when {
        When::Moment(moment) => moment,
        When::Day(_) => {
            let detail = "A day alone is a time only for an event that is all_day.";
            return Err(("time_required", detail.to_owned()));
        }
        When::Local(local) => match zone.moment(local) {
            LocalMoment::Once(moment) => moment,
            LocalMoment::Twice { .. } => {
                let detail = format!(
                    "In {name} the clocks show {local} twice that night; send it with its offset."
                );
                return Err(("ambiguous_time", detail));
            }
            LocalMoment::Never { .. } => {
                let detail = format!(
                    "In {name} the clocks are put forward over {local}; there is no such time."
                );
                return Err(("nonexistent_time", detail));
            }
            LocalMoment::OutOfRange => return Err(out_of_range()),
        },
    };
    within_bounds(moment).ok_or_else(out_of_range)
}

fn out_of_range() -> Wrong {
    ("out_of_range", "A time lies between the years 1970 and 2199.".to_owned())
}

/// Schedules are about people who live: no year 0 and no year 9999.
fn within_bounds(moment: Timestamp) -> Option<Timestamp> {
    let (least, greatest) = (0, 7_258_118_400_000_000);
    (least..greatest).contains(&moment.micros()).then_some(moment)
}

fn midnight(zone: &Zone, day: Option<Day>) -> Option<Timestamp> {
    within_bounds(zone.nearest(day?.at_midnight())?)
}

fn day_of(zone: &Zone, when: When) -> Result<Day, Wrong> {
    Ok(match when {
        When::Day(day) => day,
        When::Local(local) => local.day(),
        When::Moment(_) => zone.day(moment(zone, when)?),
    })
}

/// The start of the first whole day.
fn first_day(zone: &Zone, when: When) -> Result<Timestamp, Wrong> {
    midnight(zone, Some(day_of(zone, when)?)).ok_or_else(out_of_range)
}

/// The end of the last whole day. A day is meant inclusively; a time at midnight ends the day before.
fn last_day(zone: &Zone, when: When) -> Result<Timestamp, Wrong> {
    let day = day_of(zone, when)?;
    let ended = match when {
        When::Day(_) => false,
        When::Local(local) => local == day.at_midnight(),
        When::Moment(moment) => midnight(zone, Some(day)) == Some(moment),
    };
    let next = if ended { Some(day) } else { day.plus_days(1) };
    midnight(zone, next).ok_or_else(out_of_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        all_day: bool,
        start: &str,
        end: Option<&str>,
    ) -> Result<(String, String), Vec<String>> {
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let end = end.map(|end| end.parse().unwrap());
        match Span::read(zone, all_day, start.parse().unwrap(), end) {
            Ok(span) => Ok((span.starts_at.to_string(), span.ends_at.to_string())),
            Err(faults) => {
                Err(faults.iter().map(|f| format!("{} {}", f.pointer, f.code)).collect())
            }
        }
    }

    fn at(start: &str, end: &str) -> (String, String) {
        (format!("{start}:00.000000Z"), format!("{end}:00.000000Z"))
    }

    #[test]
    fn local_times_are_read_in_the_zone() {
        let summer = Ok(at("2026-07-01T17:30", "2026-07-01T18:45"));
        assert_eq!(read(false, "2026-07-01T18:30", Some("2026-07-01T19:45")), summer);
        assert_eq!(read(false, "2026-07-01T19:30+02:00", Some("2026-07-01T18:45:00Z")), summer);
        assert_eq!(
            read(false, "2026-12-01T18:30", None),
            Ok(at("2026-12-01T18:30", "2026-12-01T19:30"))
        );
    }

    #[test]
    fn hours_that_do_not_exist_or_exist_twice_are_refused() {
        let wrong = Err(vec!["/starts_at nonexistent_time".to_owned()]);
        assert_eq!(read(false, "2026-03-29T01:30", None), wrong);
        let wrong = Err(vec!["/starts_at ambiguous_time".to_owned()]);
        assert_eq!(read(false, "2026-10-25T01:30", None), wrong);
        let second = Ok(at("2026-10-25T01:30", "2026-10-25T02:30"));
        assert_eq!(read(false, "2026-10-25T01:30+00:00", None), second);
        let both = vec!["/starts_at ambiguous_time".to_owned(), "/ends_at out_of_range".to_owned()];
        assert_eq!(read(false, "2026-10-25T01:30", Some("9999-01-01T00:00")), Err(both));
    }

    #[test]
    fn whole_days_include_the_last() {
        let two = Ok(at("2026-06-30T23:00", "2026-07-02T23:00"));
        assert_eq!(read(true, "2026-07-01", Some("2026-07-02")), two);
        assert_eq!(read(true, "2026-07-01T10:00", Some("2026-07-03T00:00")), two);
        assert_eq!(read(true, "2026-07-01", None), Ok(at("2026-06-30T23:00", "2026-07-01T23:00")));
        let wrong = Err(vec!["/starts_at time_required".to_owned()]);
        assert_eq!(read(false, "2026-07-01", None), wrong);
    }

    #[test]
    fn an_end_comes_after_its_start() {
        let early = Err(vec!["/ends_at ends_before_start".to_owned()]);
        assert_eq!(read(false, "2026-07-01T18:30", Some("2026-07-01T18:30")), early);
        let long = Err(vec!["/ends_at too_long".to_owned()]);
        assert_eq!(read(false, "2026-07-01T18:30", Some("2026-08-01T18:31")), long);
        assert!(read(false, "1969-12-31T00:00", None).is_err());
    }

    fn moved(zone: &str, (start, end): (&str, &str), to: &str) -> (String, String) {
        let (zone, all_day): (Zone, _) = (zone.parse().unwrap(), !start.contains('T'));
        let end = Some(end.parse().unwrap());
        let span = Span::read(zone, all_day, start.parse().unwrap(), end).unwrap();
        let moved = span.moved(to.parse().unwrap()).unwrap();
        (moved.starts_at.to_string(), moved.ends_at.to_string())
    }

    #[test]
    fn a_span_over_a_change_of_the_clocks_keeps_its_length() {
        // The clocks skip from 01:00 to 02:00, and so the start.
        let skipped =
            moved("Europe/Lisbon", ("2026-03-22T01:30", "2026-03-22T02:15"), "2026-03-29T01:30");
        assert_eq!(skipped, at("2026-03-29T01:30", "2026-03-29T02:15"));
        // The second 01:50 of the night on which the clocks are put back, to 02:20.
        let second = ("2026-10-25T01:50+00:00", "2026-10-25T02:20+00:00");
        let same = moved("Europe/Lisbon", second, "2026-10-25T01:50");
        assert_eq!(same, at("2026-10-25T01:50", "2026-10-25T02:20"));
        // From the first 01:50 to the second 01:20 the clocks show less than nothing.
        let folded = ("2026-10-25T01:50+01:00", "2026-10-25T01:20+00:00");
        let next = moved("Europe/Lisbon", folded, "2026-10-26T01:50");
        assert_eq!(next, at("2026-10-26T01:50", "2026-10-26T02:20"));
    }

    #[test]
    fn whole_days_begin_at_midnight_also_where_there_is_none() {
        // In Cairo the clocks are put forward at midnight before 24 April.
        let next = moved("Africa/Cairo", ("2026-04-24", "2026-04-24"), "2026-05-01T00:00");
        assert_eq!(next, at("2026-04-30T21:00", "2026-05-01T21:00"));
        let before = moved("Africa/Cairo", ("2026-04-16", "2026-04-16"), "2026-04-23T00:00");
        assert_eq!(before, at("2026-04-22T22:00", "2026-04-23T22:00"));
        let again = moved("Africa/Cairo", ("2026-04-23", "2026-04-23T22:00Z"), "2026-05-05T00:00");
        assert_eq!(again, at("2026-05-04T21:00", "2026-05-05T21:00"));
    }

    #[test]
    fn a_moved_span_keeps_what_the_clocks_show() {
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let start: When = "2026-10-20T18:30".parse().unwrap();
        let span =
            Span::read(zone, false, start, Some("2026-10-20T20:00".parse().unwrap())).unwrap();
        let winter = span.moved("2026-10-27T18:30".parse().unwrap()).unwrap();
        assert_eq!(winter.starts_local().to_string(), "2026-10-27T18:30:00");
        assert_eq!(winter.ends_local().to_string(), "2026-10-27T20:00:00");
        assert_eq!(
            winter.starts_at.micros() - span.starts_at.micros(),
            (7 * 24 + 1) * 3_600_000_000
        );
        let eve = span.starts_at.minus(Duration::from_secs(3600));
        assert_eq!(winter.zone.local(winter.beside(&span, eve)).to_string(), "2026-10-27T17:30:00");
    }
}
