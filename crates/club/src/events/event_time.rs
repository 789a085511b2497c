//! Start and end of events, as sent by callers and as stored.
//!
//! Callers send a time with an offset, a local time, or a date. A local time is read in the event's time zone. Local
//! times that do not exist or occur twice because of a clock change are rejected, since only the caller can resolve them.

use std::str::FromStr;
use std::time::Duration;

use kit::LocalTime;
use kit::time::LocalMoment;
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use crate::i18n::Message;
use crate::prelude::*;

/// Maximum duration of an event.
pub const MAX_DURATION: Duration = Duration::from_secs(31 * 86_400);
/// Duration of an event without an end.
const DEFAULT_DURATION: Duration = Duration::from_secs(3600);

/// A time in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTime {
    /// A time with an offset.
    Moment(Timestamp),
    /// A local time without an offset.
    Local(LocalTime),
    /// A date.
    Day(Day),
}

impl EventTime {
    /// Whether this is certainly not after another time: both are of the same kind, so that no time zone is needed.
    pub fn is_not_after(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Moment(one), Self::Moment(other)) => one <= other,
            (Self::Local(one), Self::Local(other)) => one <= other,
            (Self::Day(one), Self::Day(other)) => one < other,
            _ => false,
        }
    }
}

/// The fault if an event certainly ends before it starts.
pub(super) fn order_fault(start: Option<EventTime>, end: Option<EventTime>) -> Option<Fault> {
    let is_wrong = start.zip(end).is_some_and(|(start, end)| end.is_not_after(&start));
    let detail = "`ends_at` must be after `starts_at`.";
    is_wrong.then(|| Fault::new("/ends_at", "ends_before_start", detail))
}

/// The error for text that is no time with an offset, no local time and no date.
pub const NOT_A_TIME: &str = mark!(
    "Use a time with an offset such as 2026-09-05T18:30:00+01:00, a local time such as 2026-09-05T18:30 or, for an all-day event, a date such as 2026-09-05."
);

impl FromStr for EventTime {
    type Err = kit::time::NotATime;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let day = text.parse().map(Self::Day);
        let local = || text.parse().map(Self::Local);
        day.or_else(|_| local()).or_else(|_| text.parse().map(Self::Moment))
    }
}

impl utoipa::PartialSchema for EventTime {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "A time with an offset, a local time in `timezone`, or a date for all-day events.",
            ))
            .examples(["2026-09-05T18:30:00+01:00", "2026-09-05T18:30", "2026-09-05"])
            .into()
    }
}
impl utoipa::ToSchema for EventTime {}

/// Start and end of an event in its time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub zone: Zone,
    pub all_day: bool,
}

impl Span {
    /// Resolves the times of a request, or returns everything that is wrong with them.
    pub fn read(
        zone: Zone,
        all_day: bool,
        starts_at: EventTime,
        ends_at: Option<EventTime>,
    ) -> Result<Self, Vec<Fault>> {
        let start =
            if all_day { start_of_first_day(&zone, starts_at) } else { moment(&zone, starts_at) };
        let end = match (ends_at, all_day) {
            (Some(end), true) => end_of_last_day(&zone, end).map(Some),
            (Some(end), false) => moment(&zone, end).map(Some),
            (None, _) => Ok(None),
        };
        let at = |pointer: &'static str| {
            move |(code, detail): TimeError| Fault::new(pointer, code, detail)
        };
        let (starts_at, end) = match (start.map_err(at("/starts_at")), end.map_err(at("/ends_at")))
        {
            (Ok(start), Ok(end)) => (start, end),
            (start, end) => return Err(start.err().into_iter().chain(end.err()).collect()),
        };
        let ends_at = end.unwrap_or_else(|| {
            let next = || midnight(&zone, zone.day(starts_at).plus_days(1)).unwrap_or(starts_at);
            if all_day { next() } else { starts_at.plus(DEFAULT_DURATION) }
        });
        let span = Self { starts_at, ends_at, zone, all_day };
        match span.fault() {
            Some((code, detail)) => Err(vec![Fault::new("/ends_at", code, detail)]),
            None => Ok(span),
        }
    }

    fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.ends_at <= self.starts_at {
            Some(("ends_before_start", mark!("`ends_at` must be after `starts_at`.")))
        } else if self.ends_at > self.starts_at.plus(MAX_DURATION) {
            Some(("too_long", mark!("An event can last at most 31 days.")))
        } else {
            None
        }
    }

    /// The local start time.
    pub fn starts_local(&self) -> LocalTime {
        self.local(self.starts_at)
    }

    /// The local end time.
    pub fn ends_local(&self) -> LocalTime {
        self.local(self.ends_at)
    }

    /// An all-day event starts at midnight, even if a clock change skips midnight on that day.
    fn local(&self, moment: Timestamp) -> LocalTime {
        let local = self.zone.local(moment);
        if self.all_day { local.day().at_midnight() } else { local }
    }

    /// The same span with another local start and the same length in local time, across clock changes. `None` if the
    /// result is out of range.
    #[must_use]
    pub fn moved_to(&self, start: LocalTime) -> Option<Self> {
        let start = if self.all_day { start.day().at_midnight() } else { start };
        if start == self.starts_local() {
            return Some(self.clone());
        }
        let length = self.ends_local().seconds_since(self.starts_local());
        let starts_at = within_bounds(self.zone.resolve(start)?)?;
        let ends_at = self.zone.resolve(start.plus_seconds(length)?)?;
        let span = Self { starts_at, ends_at, ..self.clone() };
        // If a clock change skips the start or makes the local length negative, the real duration is kept.
        if span.starts_local() == start && ends_at > starts_at {
            return Some(span);
        }
        let duration = self.ends_at.micros() - self.starts_at.micros();
        Some(Self { ends_at: Timestamp::from_micros(starts_at.micros() + duration), ..span })
    }

    /// A span with this start and the length, in local time, of another. `None` if the result is out of range.
    #[must_use]
    pub fn with_length_of(&self, like: &Self) -> Option<Self> {
        if like == self {
            return Some(self.clone());
        }
        let length = like.ends_local().seconds_since(like.starts_local());
        let ends_at = self.zone.resolve(self.starts_local().plus_seconds(length)?)?;
        let duration = like.ends_at.micros() - like.starts_at.micros();
        let ends_at = if ends_at > self.starts_at {
            ends_at
        } else {
            Timestamp::from_micros(self.starts_at.micros() + duration)
        };
        Some(Self { ends_at, ..self.clone() })
    }

    /// Moves a timestamp so that it keeps its distance to the start, in local time, when `before` becomes this span.
    pub fn shift_timestamp(&self, before: &Self, moment: Timestamp) -> Timestamp {
        if self == before {
            return moment;
        }
        let distance = before.zone.local(moment).seconds_since(before.starts_local());
        let local = self.starts_local().plus_seconds(distance);
        local.and_then(|local| self.zone.resolve(local)).unwrap_or(moment)
    }
}

type TimeError = (&'static str, Message);

/// Resolves a time of a request to a timestamp.
pub fn moment(zone: &Zone, when: EventTime) -> Result<Timestamp, TimeError> {
    let name = zone.name();
    let moment = match when {
        EventTime::Moment(moment) => moment,
        EventTime::Day(_) => {
            let detail = message!("A date without a time is only allowed if `all_day` is `true`.");
            return Err(("time_required", detail));
        }
        EventTime::Local(local) => match zone.moment(local) {
            LocalMoment::Once(moment) => moment,
            LocalMoment::Twice { .. } => {
                let detail = message!(
                    "{time} occurs twice in {zone} because of a clock change. Send it with an offset.",
                    time = local.to_string(),
                    zone = name
                );
                return Err(("ambiguous_time", detail));
            }
            LocalMoment::Never { .. } => {
                let detail = message!(
                    "{time} does not exist in {zone} because of a clock change. Choose another time.",
                    time = local.to_string(),
                    zone = name
                );
                return Err(("nonexistent_time", detail));
            }
            LocalMoment::OutOfRange => return Err(out_of_range()),
        },
    };
    within_bounds(moment).ok_or_else(out_of_range)
}

fn out_of_range() -> TimeError {
    ("out_of_range", message!("The time must be between the years 1970 and 2199."))
}

/// Limits times to the years 1970 to 2199; a schedule has no use for others.
fn within_bounds(moment: Timestamp) -> Option<Timestamp> {
    let (least, greatest) = (0, 7_258_118_400_000_000);
    (least..greatest).contains(&moment.micros()).then_some(moment)
}

fn midnight(zone: &Zone, day: Option<Day>) -> Option<Timestamp> {
    within_bounds(zone.resolve(day?.at_midnight())?)
}

fn day_of(zone: &Zone, when: EventTime) -> Result<Day, TimeError> {
    Ok(match when {
        EventTime::Day(day) => day,
        EventTime::Local(local) => local.day(),
        EventTime::Moment(_) => zone.day(moment(zone, when)?),
    })
}

/// Start of an all-day event: midnight of its first day.
fn start_of_first_day(zone: &Zone, when: EventTime) -> Result<Timestamp, TimeError> {
    midnight(zone, Some(day_of(zone, when)?)).ok_or_else(out_of_range)
}

/// End of an all-day event. A date is inclusive; a time at midnight ends the day before.
fn end_of_last_day(zone: &Zone, when: EventTime) -> Result<Timestamp, TimeError> {
    let day = day_of(zone, when)?;
    let is_midnight = match when {
        EventTime::Day(_) => false,
        EventTime::Local(local) => local == day.at_midnight(),
        EventTime::Moment(moment) => midnight(zone, Some(day)) == Some(moment),
    };
    let next = if is_midnight { Some(day) } else { day.plus_days(1) };
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
    fn local_times_are_read_in_the_time_zone() {
        let summer = Ok(at("2026-07-01T17:30", "2026-07-01T18:45"));
        assert_eq!(read(false, "2026-07-01T18:30", Some("2026-07-01T19:45")), summer);
        assert_eq!(read(false, "2026-07-01T19:30+02:00", Some("2026-07-01T18:45:00Z")), summer);
        let winter = Ok(at("2026-12-01T18:30", "2026-12-01T19:30"));
        assert_eq!(read(false, "2026-12-01T18:30", None), winter);
    }

    #[test]
    fn nonexistent_and_ambiguous_local_times_are_rejected() {
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
    fn the_last_day_of_an_all_day_event_is_included() {
        let two = Ok(at("2026-06-30T23:00", "2026-07-02T23:00"));
        assert_eq!(read(true, "2026-07-01", Some("2026-07-02")), two);
        assert_eq!(read(true, "2026-07-01T10:00", Some("2026-07-03T00:00")), two);
        assert_eq!(read(true, "2026-07-01", None), Ok(at("2026-06-30T23:00", "2026-07-01T23:00")));
        let wrong = Err(vec!["/starts_at time_required".to_owned()]);
        assert_eq!(read(false, "2026-07-01", None), wrong);
    }

    #[test]
    fn the_end_must_be_after_the_start() {
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
        let moved = span.moved_to(to.parse().unwrap()).unwrap();
        (moved.starts_at.to_string(), moved.ends_at.to_string())
    }

    #[test]
    fn a_span_across_a_clock_change_keeps_its_length() {
        // The clocks skip from 01:00 to 02:00, so the start does not exist.
        let skipped =
            moved("Europe/Lisbon", ("2026-03-22T01:30", "2026-03-22T02:15"), "2026-03-29T01:30");
        assert_eq!(skipped, at("2026-03-29T01:30", "2026-03-29T02:15"));
        // From the second 01:50 to 02:20 in the night in which the clocks are set back.
        let second = ("2026-10-25T01:50+00:00", "2026-10-25T02:20+00:00");
        let same = moved("Europe/Lisbon", second, "2026-10-25T01:50");
        assert_eq!(same, at("2026-10-25T01:50", "2026-10-25T02:20"));
        // From the first 01:50 to the second 01:20 the local length is negative.
        let folded = ("2026-10-25T01:50+01:00", "2026-10-25T01:20+00:00");
        let next = moved("Europe/Lisbon", folded, "2026-10-26T01:50");
        assert_eq!(next, at("2026-10-26T01:50", "2026-10-26T02:20"));
    }

    #[test]
    fn all_day_events_start_at_midnight_even_if_it_is_skipped() {
        // In Cairo the clocks are set forward at midnight before April 24.
        let next = moved("Africa/Cairo", ("2026-04-24", "2026-04-24"), "2026-05-01T00:00");
        assert_eq!(next, at("2026-04-30T21:00", "2026-05-01T21:00"));
        let before = moved("Africa/Cairo", ("2026-04-16", "2026-04-16"), "2026-04-23T00:00");
        assert_eq!(before, at("2026-04-22T22:00", "2026-04-23T22:00"));
        let again = moved("Africa/Cairo", ("2026-04-23", "2026-04-23T22:00Z"), "2026-05-05T00:00");
        assert_eq!(again, at("2026-05-04T21:00", "2026-05-05T21:00"));
    }

    #[test]
    fn a_moved_span_keeps_its_local_times() {
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let start: EventTime = "2026-10-20T18:30".parse().unwrap();
        let span =
            Span::read(zone, false, start, Some("2026-10-20T20:00".parse().unwrap())).unwrap();
        let winter = span.moved_to("2026-10-27T18:30".parse().unwrap()).unwrap();
        assert_eq!(winter.starts_local().to_string(), "2026-10-27T18:30:00");
        assert_eq!(winter.ends_local().to_string(), "2026-10-27T20:00:00");
        let distance = winter.starts_at.micros() - span.starts_at.micros();
        assert_eq!(distance, (7 * 24 + 1) * 3_600_000_000);
        let eve = span.starts_at.minus(Duration::from_secs(3600));
        let moved = winter.zone.local(winter.shift_timestamp(&span, eve));
        assert_eq!(moved.to_string(), "2026-10-27T17:30:00");
    }
}
