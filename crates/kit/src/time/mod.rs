//! Timestamps, days, local times and time zones. The only module that uses a calendar library (jiff).
//!
//! A [`Timestamp`] is a moment, the same everywhere. A [`Day`] and a [`LocalTime`] are what a calendar and a clock
//! show; a [`Zone`] is needed to convert them to a moment.

mod day;
mod local;
mod time_of_day;
mod zone;

pub use day::{Day, Weekday};
pub use local::LocalTime;
pub use time_of_day::TimeOfDay;
pub use zone::{LocalMoment, Observance, Zone};

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::{KnownFormat, Schema, SchemaFormat, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

/// A moment in microseconds since 1970, displayed as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from microseconds since the start of 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the start of 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the start of 1970; zero for moments before.
    pub fn millis(self) -> u64 {
        u64::try_from(self.0 / 1000).unwrap_or(0)
    }

    /// Whole seconds since the start of 1970.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Adds a duration. Saturates at the largest timestamp.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Subtracts a duration. Saturates at the smallest timestamp.
    #[must_use]
    pub fn minus(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, micros) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
        write!(f, "{year:04}-{month:02}-{day:02}T")?;
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        write!(f, ".{fraction:06}Z")
    }
}

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Converts days since 1970 to year, month and day (Howard Hinnant's `civil_from_days`). Implemented here for speed,
/// because every API response contains several timestamps.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The text is not a timestamp, day, local time, time zone or duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotATime;

impl FromStr for Timestamp {
    type Err = NotATime;

    /// Parses RFC 3339 with `Z` or an offset. The seconds may be omitted.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        if !is_rfc3339(text) {
            return Err(NotATime);
        }
        let moment: jiff::Timestamp = text.parse().map_err(|_| NotATime)?;
        Ok(Self(moment.as_microsecond()))
    }
}

/// Whether a text has the form of RFC 3339. The calendar library accepts more: leap seconds, which it changes to second
/// 59, offsets of more than a day, and years of six digits.
fn is_rfc3339(text: &str) -> bool {
    let Some((minutes, rest)) = text.split_at_checked(16) else { return false };
    // In a pattern, `0` matches any digit, `5` a digit up to 5, and other characters themselves.
    let matches = |text: &str, pattern: &str| {
        let byte_matches = |(byte, expected): (u8, u8)| match expected {
            b'0' => byte.is_ascii_digit(),
            b'5' => (b'0'..=b'5').contains(&byte),
            _ => byte.eq_ignore_ascii_case(&expected),
        };
        text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(byte_matches)
    };
    let Some(index) = rest.find(['Z', 'z', '+', '-']) else { return false };
    let (seconds, offset) = rest.split_at(index);
    let valid_seconds = match seconds.split_once('.') {
        Some((seconds, fraction)) => {
            matches(seconds, ":50")
                && !fraction.is_empty()
                && fraction.bytes().all(|b| b.is_ascii_digit())
        }
        None => seconds.is_empty() || matches(seconds, ":50"),
    };
    let valid_offset =
        matches(offset, "Z") || (matches(&offset[1..], "00:50") && &offset[1..3] < "24");
    matches(minutes, "0000-00-00T00:50") && valid_seconds && valid_offset
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|_| serde::de::Error::custom("not an RFC 3339 timestamp"))
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("RFC 3339 timestamp. Responses use UTC with microseconds."))
            .examples(["2026-09-05T09:30:00.000000Z"])
            .into()
    }
}
impl utoipa::ToSchema for Timestamp {}

/// Parses a duration such as `60s`, `5m`, `24h` or `30d`.
pub fn parse_duration(text: &str) -> Result<Duration, NotATime> {
    let (number, unit) = text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
    if !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NotATime);
    }
    let number: u64 = number.parse().map_err(|_| NotATime)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(NotATime),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or(NotATime)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_timestamp_survives_a_round_trip_through_text(micros in -62_135_596_800_000_000i64..253_402_207_200_000_000) {
            let moment = Timestamp::from_micros(micros);
            prop_assert_eq!(moment.to_string().parse::<Timestamp>(), Ok(moment));
        }
    }

    #[test]
    fn timestamps_are_displayed_with_microseconds_in_utc() {
        assert_eq!(Timestamp::from_micros(1).to_string(), "1970-01-01T00:00:00.000001Z");
        assert_eq!("2026-03-01T01:00:00+02:00".parse(), Ok(Timestamp(1_772_319_600_000_000)));
        assert_eq!("yesterday".parse::<Timestamp>(), Err(NotATime));
    }

    #[test]
    fn only_rfc_3339_timestamps_are_accepted() {
        let noon = Ok(Timestamp(1_780_315_200_000_000));
        for right in [
            "2026-06-01T12:00:00Z",
            "2026-06-01t12:00:00.000z",
            "2026-06-01T12:00Z",
            "2026-06-02T11:59:00+23:59",
            "2026-05-31T12:01:00-23:59",
        ] {
            assert_eq!(right.parse(), noon, "{right}");
        }
        for wrong in [
            "2026-06-01T12:00:00+24:00",
            "2026-06-01T12:00:00+25:00",
            "2026-06-01T12:00:00+01:60",
            "2026-06-01T12:00:00+1:00",
            "2026-06-01T12:00:00+01",
            "2026-06-01T12:00:00+0100",
            "2026-06-01T12:00:00+01:00:00",
            "2026-06-01T12:00:60Z",
            "2026-06-01T12:60:00Z",
            "2026-06-01T24:00:00Z",
            "2026-06-31T12:00:00Z",
            "2026-06-01T12:00:00.Z",
            "2026-06-01T12:00.5Z",
            "2026-06-01T12:00:00,5Z",
            "2026-06-01 12:00:00Z",
            "2026-06-01T12:00:00",
            "2026-06-01T12:00:00Z[UTC]",
            "20260601T120000Z",
            "+002026-06-01T12:00:00Z",
            "-002026-06-01T12:00:00Z",
            "2026-06-01T12:00:0éZ",
            "2026-06-01T12:0éZ",
            "Z",
            "",
        ] {
            assert_eq!(wrong.parse::<Timestamp>(), Err(NotATime), "{wrong}");
        }
    }

    #[test]
    fn durations_have_exactly_one_unit() {
        assert_eq!(parse_duration("24h"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "h", "1", "-1s", "1.5h", "5 m", "99999999999999999999d", "1é"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
