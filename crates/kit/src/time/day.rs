//! Calendar days.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{KnownFormat, Schema, SchemaFormat, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use super::{LocalTime, NotATime, Timestamp};

crate::string_enum! {
    /// A day of the week, with the abbreviations of iCalendar.
    #[derive(PartialOrd, Ord)]
    pub enum Weekday {
        /// Monday.
        Monday = "MO",
        /// Tuesday.
        Tuesday = "TU",
        /// Wednesday.
        Wednesday = "WE",
        /// Thursday.
        Thursday = "TH",
        /// Friday.
        Friday = "FR",
        /// Saturday.
        Saturday = "SA",
        /// Sunday.
        Sunday = "SU",
    }
}

impl Weekday {
    /// The number of days since the most recent `first`: 0 to 6.
    pub const fn days_after(self, first: Self) -> i64 {
        (self as i64 - first as i64).rem_euclid(7)
    }
}

/// A calendar day such as `2026-09-05`, without time and time zone. Years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub(super) jiff::civil::Date);

impl Day {
    /// Creates a day from year, month and day of the month, if it exists.
    pub fn new(year: i16, month: i8, day: i8) -> Option<Self> {
        jiff::civil::Date::new(year, month, day).ok().and_then(Self::from_date)
    }

    /// The year, 1 to 9999.
    pub fn year(self) -> i16 {
        self.0.year()
    }

    /// The month, 1 to 12.
    pub fn month(self) -> i8 {
        self.0.month()
    }

    /// The abbreviated English name of the month: `Sep`.
    pub fn month_name(self) -> &'static str {
        const NAMES: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        usize::try_from(self.month() - 1).ok().and_then(|month| NAMES.get(month)).unwrap_or(&"")
    }

    /// The day as English texts write it: `5 Sep 2026`.
    pub fn format_text(self) -> String {
        format!("{} {} {}", self.day(), self.month_name(), self.year())
    }

    /// The day of the month, 1 to 31.
    pub fn day(self) -> i8 {
        self.0.day()
    }

    /// The number of days in this day's month, 28 to 31.
    pub fn days_in_month(self) -> i8 {
        self.0.days_in_month()
    }

    /// The day of the week.
    pub fn weekday(self) -> Weekday {
        use jiff::civil::Weekday as Known;
        match self.0.weekday() {
            Known::Monday => Weekday::Monday,
            Known::Tuesday => Weekday::Tuesday,
            Known::Wednesday => Weekday::Wednesday,
            Known::Thursday => Weekday::Thursday,
            Known::Friday => Weekday::Friday,
            Known::Saturday => Weekday::Saturday,
            Known::Sunday => Weekday::Sunday,
        }
    }

    /// Adds days, or subtracts them if negative. `None` outside of the years 1 to 9999.
    pub fn plus_days(self, days: i64) -> Option<Self> {
        let days = jiff::Span::new().try_days(days).ok()?;
        self.0.checked_add(days).ok().and_then(Self::from_date)
    }

    /// The local time at which this day begins.
    pub fn at_midnight(self) -> LocalTime {
        LocalTime(self.0.at(0, 0, 0, 0))
    }

    /// The timestamp at which this day begins in UTC.
    pub fn start(self) -> Timestamp {
        // The last days of the calendar are after the last timestamp.
        let moment = self.0.to_zoned(jiff::tz::TimeZone::UTC).map(|moment| moment.timestamp());
        Timestamp(moment.unwrap_or(jiff::Timestamp::MAX).as_microsecond())
    }

    /// The age, on another day, of a person who was born on this day. `None` before birth. A person born on February 29
    /// has their birthday on March 1 in other years.
    pub fn age_on(self, other: Self) -> Option<i64> {
        let years = i64::from(other.year()) - i64::from(self.year());
        let reached = (other.month(), other.day()) >= (self.month(), self.day());
        let age = if reached { years } else { years - 1 };
        (age >= 0).then_some(age)
    }

    /// The day in the format of iCalendar: `20260905`.
    pub fn compact(self) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            let (year, month) = (i32::from(self.year()), i32::from(self.month()));
            write!(f, "{:08}", year * 10_000 + month * 100 + i32::from(self.day()))
        })
    }

    /// Parses the format of [`Self::compact`].
    pub fn from_compact(text: &str) -> Result<Self, NotATime> {
        if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(NotATime);
        }
        let number: u32 = text.parse().map_err(|_| NotATime)?;
        let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
        Self::new(year as i16, month as i8, day as i8).ok_or(NotATime)
    }

    fn from_date(date: jiff::civil::Date) -> Option<Self> {
        (date.year() >= 1).then_some(Self(date))
    }
}

impl FromStr for Day {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let plain = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        if !plain {
            return Err(NotATime);
        }
        text.parse().ok().and_then(Self::from_date).ok_or(NotATime)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl utoipa::PartialSchema for Day {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .description(Some("Date without a time of day."))
            .examples(["2026-09-05"])
            .into()
    }
}
impl utoipa::ToSchema for Day {
    fn name() -> std::borrow::Cow<'static, str> {
        "CalendarDate".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    #[test]
    fn only_existing_days_are_accepted() {
        assert_eq!(day("2024-02-29").to_string(), "2024-02-29");
        for wrong in
            ["2023-02-29", "20240229", "0000-01-01", "2024-2-29", "2024-02-30", "----------"]
        {
            assert!(wrong.parse::<Day>().is_err(), "{wrong}");
        }
        assert_eq!(Day::new(2024, 2, 29), Some(day("2024-02-29")));
        assert_eq!(
            (Day::new(2023, 2, 29), Day::new(0, 1, 1), Day::new(2024, -1, 1)),
            (None, None, None)
        );
    }

    #[test]
    fn adding_days_stays_within_the_calendar() {
        assert_eq!(day("2026-02-28").plus_days(1), Some(day("2026-03-01")));
        assert_eq!(day("2026-03-01").plus_days(-365), Some(day("2025-03-01")));
        assert_eq!(day("9999-12-30").plus_days(1), Some(day("9999-12-31")));
        for (from, days) in [
            ("9999-12-31", 1),
            ("0001-01-01", -1),
            ("2026-01-01", i64::MAX),
            ("2026-01-01", i64::MIN),
        ] {
            assert_eq!(day(from).plus_days(days), None, "{from} {days}");
        }
    }

    #[test]
    fn a_day_has_a_weekday_and_a_month() {
        assert_eq!(day("2026-09-05").weekday(), Weekday::Saturday);
        assert_eq!(Weekday::Sunday.days_after(Weekday::Monday), 6);
        assert_eq!(Weekday::Monday.days_after(Weekday::Sunday), 1);
        assert_eq!(
            (day("2024-02-01").days_in_month(), day("2100-02-01").days_in_month()),
            (29, 28)
        );
        assert_eq!(day("2026-09-05").at_midnight().to_string(), "2026-09-05T00:00:00");
        assert_eq!(day("1970-01-02").start(), Timestamp::from_micros(86_400_000_000));
    }

    #[test]
    fn compact_days_are_parsed() {
        assert_eq!(day("0026-09-05").compact().to_string(), "00260905");
        assert_eq!(Day::from_compact("20260905"), Ok(day("2026-09-05")));
        for wrong in ["", "2026090", "20260931", "2026-9-5", "00000101", "202609٥"] {
            assert_eq!(Day::from_compact(wrong), Err(NotATime), "{wrong}");
        }
    }

    #[test]
    fn ages_are_completed_years() {
        let age = |born: &str, on: &str| day(born).age_on(day(on));
        assert_eq!(age("2010-06-15", "2026-06-14"), Some(15));
        assert_eq!(age("2010-06-15", "2026-06-15"), Some(16));
        assert_eq!(age("2012-02-29", "2025-02-28"), Some(12));
        assert_eq!(age("2012-02-29", "2025-03-01"), Some(13));
        assert_eq!(age("2012-02-29", "2028-02-29"), Some(16));
        assert_eq!(age("2012-02-29", "2012-02-29"), Some(0));
        assert_eq!(age("2012-02-29", "2012-02-28"), None);
    }
}
