//! Local times: a day and a time of day without a time zone.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use super::{Day, NotATime};

/// A day and a time of day in whole seconds, such as `2026-09-05T18:30:00`, without a time zone. Years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime(pub(super) jiff::civil::DateTime);

impl LocalTime {
    /// Creates a local time from day, hour, minute and second, if it is valid.
    pub fn new(day: Day, hour: i8, minute: i8, second: i8) -> Option<Self> {
        let time = jiff::civil::Time::new(hour, minute, second, 0).ok()?;
        Some(Self(day.0.to_datetime(time)))
    }

    /// The day.
    pub fn day(self) -> Day {
        Day(self.0.date())
    }

    /// The hour, 0 to 23.
    pub fn hour(self) -> i8 {
        self.0.hour()
    }

    /// The minute, 0 to 59.
    pub fn minute(self) -> i8 {
        self.0.minute()
    }

    /// The second, 0 to 59.
    pub fn second(self) -> i8 {
        self.0.second()
    }

    /// The same time of day on another day.
    #[must_use]
    pub fn on(self, day: Day) -> Self {
        Self(day.0.to_datetime(self.0.time()))
    }

    /// Adds days; the time of day stays the same. `None` outside of the years 1 to 9999.
    pub fn plus_days(self, days: i64) -> Option<Self> {
        self.day().plus_days(days).map(|day| self.on(day))
    }

    /// Adds seconds, ignoring daylight saving time. `None` outside of the years 1 to 9999.
    pub fn plus_seconds(self, seconds: i64) -> Option<Self> {
        let since_midnight = self.seconds_since(self.day().at_midnight());
        let seconds = since_midnight.checked_add(seconds)?;
        let day = self.day().plus_days(seconds.div_euclid(86_400))?;
        let second = seconds.rem_euclid(86_400);
        Self::new(day, (second / 3600) as i8, (second / 60 % 60) as i8, (second % 60) as i8)
    }

    /// The seconds since another local time, ignoring daylight saving time. Negative if the other is later.
    pub fn seconds_since(self, other: Self) -> i64 {
        self.0.duration_since(other.0).as_secs()
    }

    /// The time in the format of iCalendar: `20260905T183000`.
    pub fn compact(self) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            let (hour, minute) = (i32::from(self.hour()), i32::from(self.minute()));
            let time = hour * 10_000 + minute * 100 + i32::from(self.second());
            write!(f, "{}T{time:06}", self.day().compact())
        })
    }

    /// Parses the format of [`Self::compact`].
    pub fn from_compact(text: &str) -> Result<Self, NotATime> {
        let (day, time) = text.split_once('T').ok_or(NotATime)?;
        let &[h1, h2, m1, m2, s1, s2] = time.as_bytes() else { return Err(NotATime) };
        let (hour, minute, second) = (number(h1, h2)?, number(m1, m2)?, number(s1, s2)?);
        Self::new(Day::from_compact(day)?, hour, minute, second).ok_or(NotATime)
    }

    /// Converts a time of the calendar library. Times before year 1 become the start of year 1.
    pub(super) fn from_datetime_clamped(time: jiff::civil::DateTime) -> Self {
        Self(time.max(jiff::civil::date(1, 1, 1).at(0, 0, 0, 0)))
    }
}

/// Parses two decimal digits.
fn number(tens: u8, ones: u8) -> Result<i8, NotATime> {
    if tens.is_ascii_digit() && ones.is_ascii_digit() {
        Ok(((tens - b'0') * 10 + (ones - b'0')).cast_signed())
    } else {
        Err(NotATime)
    }
}

impl FromStr for LocalTime {
    type Err = NotATime;

    /// Accepts only the forms `2026-09-05T18:30` and `2026-09-05T18:30:00`.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        let (day, time) = text.split_once('T').ok_or(NotATime)?;
        let &[h1, h2, b':', m1, m2, ref rest @ ..] = time.as_bytes() else { return Err(NotATime) };
        let second = match *rest {
            [] => 0,
            [b':', s1, s2] => number(s1, s2)?,
            _ => return Err(NotATime),
        };
        Self::new(day.parse()?, number(h1, h2)?, number(m1, m2)?, second).ok_or(NotATime)
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for LocalTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl utoipa::PartialSchema for LocalTime {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Date and time of day without a time zone."))
            .pattern(Some(r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$"))
            .examples(["2026-09-05T18:30:00"])
            .into()
    }
}
impl utoipa::ToSchema for LocalTime {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn local(text: &str) -> LocalTime {
        text.parse().unwrap()
    }

    proptest! {
        #[test]
        fn a_local_time_survives_a_round_trip_through_text(seconds in 0i64..315_537_897_600) {
            let time = local("0001-01-01T00:00").plus_seconds(seconds).unwrap();
            prop_assert_eq!(time.to_string().parse(), Ok(time));
            prop_assert_eq!(time.to_string().len(), 19);
            prop_assert_eq!(LocalTime::from_compact(&time.compact().to_string()), Ok(time));
            prop_assert_eq!(time.seconds_since(local("0001-01-01T00:00")), seconds);
        }

        #[test]
        fn arithmetic_never_panics(days: i64, seconds: i64) {
            for edge in ["0001-01-01T00:00", "2026-03-29T02:30", "9999-12-31T23:59:59"] {
                let _ = local(edge).plus_days(days);
                if let Some(later) = local(edge).plus_seconds(seconds) {
                    prop_assert_eq!(later.seconds_since(local(edge)), seconds);
                }
            }
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,24}") {
            let _ = (text.parse::<LocalTime>(), LocalTime::from_compact(&text));
        }
    }

    #[test]
    fn only_the_two_documented_forms_are_accepted() {
        assert_eq!(local("2026-09-05T18:30").to_string(), "2026-09-05T18:30:00");
        assert_eq!(local("2026-09-05T18:30:59").second(), 59);
        for wrong in [
            "",
            "T",
            "2026-09-05",
            "2026-09-05 18:30",
            "2026-09-05t18:30",
            "2026-09-05T18",
            "2026-09-05T24:00",
            "2026-09-05T18:60",
            "2026-09-05T18:30:60",
            "2026-09-05T18:30Z",
            "2026-09-05T18:30:00.5",
            "2026-09-05T18:30:00+01:00",
            "2026-09-05T1830",
            "0000-01-01T00:00",
            "2026-09-05T+8:30",
            "2026-09-05T18:30:",
            "2026-02-29T00:00",
            "+2026-09-05T18:30",
            "2026-09-05T18:3٠",
        ] {
            assert_eq!(wrong.parse::<LocalTime>(), Err(NotATime), "{wrong}");
        }
    }

    #[test]
    fn local_times_are_added_without_time_zone() {
        let time = local("2026-02-28T23:30");
        assert_eq!(time.plus_seconds(3600), Some(local("2026-03-01T00:30")));
        assert_eq!(time.plus_days(-59), Some(local("2025-12-31T23:30")));
        assert_eq!(time.on(Day::new(2024, 2, 29).unwrap()), local("2024-02-29T23:30"));
        assert_eq!(
            (time.hour(), time.minute(), time.day().to_string()),
            (23, 30, "2026-02-28".into())
        );
        assert_eq!(local("9999-12-31T23:59:59").plus_seconds(1), None);
        assert_eq!(local("0001-01-01T00:00").plus_seconds(-1), None);
        assert_eq!(LocalTime::new(time.day(), 24, 0, 0), None);
        assert_eq!(serde_json::to_string(&time).unwrap(), "\"2026-02-28T23:30:00\"");
    }
}
