//! Time zones: conversion between local times and timestamps.

use std::fmt;
use std::str::FromStr;

use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use super::{Day, LocalTime, NotATime, Timestamp};

/// A time zone of the IANA database, such as `Europe/Lisbon`. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// The timestamps that a local time corresponds to in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalMoment {
    /// One timestamp, the normal case.
    Once(Timestamp),
    /// Two timestamps, because the clocks are set back and show the time twice.
    Twice {
        /// The timestamp before the clocks are set back.
        first: Timestamp,
        /// The timestamp after the clocks are set back.
        second: Timestamp,
    },
    /// No timestamp, because the clocks are set forward and skip the time.
    Never {
        /// The timestamp computed with the offset after the change. The clocks show an earlier time then.
        earlier: Timestamp,
        /// The timestamp computed with the offset before the change. The clocks show a later time then.
        later: Timestamp,
    },
    /// The timestamp is out of range, in the last hours of the year 9999.
    OutOfRange,
}

/// A period in which a zone has a constant offset from UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observance {
    /// The start of the period. `None` if there was no change before.
    pub since: Option<Timestamp>,
    /// The end of the period. `None` if no change follows.
    pub until: Option<Timestamp>,
    /// The offset before the period, in seconds east of UTC.
    pub offset_before: i32,
    /// The offset in the period, in seconds east of UTC.
    pub offset: i32,
    /// The abbreviation, such as `WEST`.
    pub name: String,
    /// Whether the clocks are set forward. Also true for summer in Dublin and for the time outside of Ramadan in
    /// Casablanca, although the law there defines the other time as the exception.
    pub daylight: bool,
}

impl Observance {
    /// Whether the timestamp is in the period.
    pub fn contains(&self, moment: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= moment)
            && self.until.is_none_or(|until| moment < until)
    }
}

impl Zone {
    /// Coordinated Universal Time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// The names of all zones for a selection list, sorted.
    pub fn names() -> Vec<String> {
        let names = jiff::tz::db().available().map(|name| name.to_string());
        // Only cities and UTC; the others are legacy names and fixed offsets.
        let mut names: Vec<_> = names
            .filter(|name| (name.contains('/') && !name.starts_with("Etc/")) || name == "UTC")
            .collect();
        names.sort();
        names
    }

    /// The IANA name.
    pub fn name(&self) -> &str {
        self.0.iana_name().expect("every `Zone` has a name")
    }

    /// Whether this is UTC, under any of its names.
    pub fn is_utc(&self) -> bool {
        let name = self.name().strip_prefix("Etc/").unwrap_or(self.name());
        matches!(name, "UTC" | "UCT" | "Universal" | "Zulu")
    }

    /// Converts a timestamp to local time, in whole seconds. Timestamps outside of the years 1 to 9999 are clamped.
    pub fn local(&self, moment: Timestamp) -> LocalTime {
        LocalTime::from_datetime_clamped(self.0.to_datetime(clamped_timestamp(moment.seconds())))
    }

    /// Returns the day at a timestamp.
    pub fn day(&self, moment: Timestamp) -> Day {
        self.local(moment).day()
    }

    /// Converts a local time to the timestamps it corresponds to.
    pub fn moment(&self, local: LocalTime) -> LocalMoment {
        self.try_moment(local).unwrap_or(LocalMoment::OutOfRange)
    }

    /// Converts a local time to a single timestamp, as RFC 5545 specifies: a time that occurs twice means the first,
    /// and a skipped time is computed with the offset before the change, so 02:30 becomes 03:30. `None` in the last
    /// hours of the year 9999.
    pub fn resolve(&self, local: LocalTime) -> Option<Timestamp> {
        match self.moment(local) {
            LocalMoment::Once(moment)
            | LocalMoment::Twice { first: moment, .. }
            | LocalMoment::Never { later: moment, .. } => Some(moment),
            LocalMoment::OutOfRange => None,
        }
    }

    /// Returns the observance at a timestamp.
    pub fn observance(&self, moment: Timestamp) -> Observance {
        let at = clamped_timestamp(moment.seconds());
        // Changes happen at whole seconds, and `preceding` returns only those strictly before.
        let since = self.0.preceding(clamped_timestamp(moment.seconds() + 1)).next();
        let since = since.map(|change| change.timestamp());
        let until = self.0.following(at).next().map(|change| change.timestamp());
        let now = self.0.to_offset_info(at);
        let before = since.map_or(at, |since| clamped_timestamp(since.as_second() - 1));
        let before = self.0.to_offset_info(before);
        let saving = now.dst().is_dst() || before.dst().is_dst();
        Observance {
            since: since.map(|since| Timestamp(since.as_microsecond())),
            until: until.map(|until| Timestamp(until.as_microsecond())),
            offset_before: before.offset().seconds(),
            offset: now.offset().seconds(),
            name: now.abbreviation().to_owned(),
            daylight: saving && now.offset() > before.offset(),
        }
    }

    fn try_moment(&self, local: LocalTime) -> Option<LocalMoment> {
        let at = |offset: Offset| {
            let moment = offset.to_timestamp(local.0).ok()?;
            Some(Timestamp(moment.as_microsecond()))
        };
        Some(match self.0.to_ambiguous_timestamp(local.0).offset() {
            AmbiguousOffset::Unambiguous { offset } => LocalMoment::Once(at(offset)?),
            AmbiguousOffset::Fold { before, after } => {
                LocalMoment::Twice { first: at(before)?, second: at(after)? }
            }
            AmbiguousOffset::Gap { before, after } => {
                LocalMoment::Never { earlier: at(after)?, later: at(before)? }
            }
        })
    }
}

/// Converts seconds since 1970 to a timestamp of the calendar library, clamped to its range.
fn clamped_timestamp(second: i64) -> jiff::Timestamp {
    let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
    jiff::Timestamp::from_second(second.clamp(first, last)).expect("the second is in range")
}

impl FromStr for Zone {
    type Err = NotATime;

    /// Accepts only names of the IANA database, ignoring case. The zone gets the spelling of the database.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        let zone = jiff::tz::db().get(text).map_err(|_| NotATime)?;
        match zone.iana_name() {
            None | Some("Etc/Unknown") => Err(NotATime),
            Some(_) => Ok(Self(zone)),
        }
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl utoipa::PartialSchema for Zone {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("IANA time zone name."))
            .examples(["Europe/Lisbon"])
            .into()
    }
}
impl utoipa::ToSchema for Zone {
    fn name() -> std::borrow::Cow<'static, str> {
        "TimeZone".into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn zone(name: &str) -> Zone {
        name.parse().unwrap()
    }

    fn local(text: &str) -> LocalTime {
        text.parse().unwrap()
    }

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const ZONES: [&str; 8] = [
        "UTC",
        "Europe/Lisbon",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kolkata",
        "Africa/Casablanca",
        "Pacific/Apia",
        "America/Sao_Paulo",
    ];

    proptest! {
        #[test]
        fn a_local_time_converts_back_to_its_timestamp(name in 0..ZONES.len(), seconds in -62_135_510_400i64..253_402_100_000) {
            let (zone, moment) = (zone(ZONES[name]), Timestamp(seconds * 1_000_000));
            let converts_back = match zone.moment(zone.local(moment)) {
                LocalMoment::Once(once) => once == moment,
                LocalMoment::Twice { first, second } => first == moment || second == moment,
                LocalMoment::Never { .. } | LocalMoment::OutOfRange => false,
            };
            prop_assert!(converts_back, "{} {}", zone.name(), moment);
            let observance = zone.observance(moment);
            prop_assert!(observance.contains(moment), "{observance:?}");
            let offset = zone.local(moment).seconds_since(Zone::utc().local(moment));
            prop_assert_eq!(offset, i64::from(observance.offset));
        }

        #[test]
        fn conversions_never_panic(micros: i64, name in 0..ZONES.len()) {
            let zone = zone(ZONES[name]);
            let local = zone.local(Timestamp(micros));
            let _ = (zone.resolve(local), zone.observance(Timestamp(micros)));
        }
    }

    #[test]
    fn only_iana_names_are_accepted() {
        assert_eq!(zone("europe/lisbon").name(), "Europe/Lisbon");
        assert_eq!(format!("{:?}", zone("utc")), "UTC");
        assert_eq!(serde_json::to_string(&zone("asia/kolkata")).unwrap(), "\"Asia/Kolkata\"");
        assert_eq!(zone("UTC"), Zone::utc());
        for wrong in ["", "Mars/Olympus", "+02:00", "EST5EDT4", "../etc/passwd", "Etc/Unknown"] {
            assert!(wrong.parse::<Zone>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn skipped_and_repeated_local_times_are_recognized() {
        let lisbon = zone("Europe/Lisbon");
        assert_eq!(
            lisbon.moment(local("2026-03-29T01:30")),
            LocalMoment::Never {
                earlier: moment("2026-03-29T00:30:00Z"),
                later: moment("2026-03-29T01:30:00Z")
            }
        );
        assert_eq!(
            lisbon.moment(local("2026-10-25T01:30")),
            LocalMoment::Twice {
                first: moment("2026-10-25T00:30:00Z"),
                second: moment("2026-10-25T01:30:00Z")
            }
        );
        assert_eq!(
            lisbon.moment(local("2026-09-05T18:30")),
            LocalMoment::Once(moment("2026-09-05T17:30:00Z"))
        );
        assert_eq!(lisbon.resolve(local("2026-03-29T01:30")), Some(moment("2026-03-29T01:30:00Z")));
        assert_eq!(lisbon.local(moment("2026-03-29T01:30:00Z")), local("2026-03-29T02:30"));
        assert_eq!(lisbon.resolve(local("2026-10-25T01:30")), Some(moment("2026-10-25T00:30:00Z")));
        assert_eq!(lisbon.moment(local("9999-12-31T23:59")), LocalMoment::OutOfRange);
        assert_eq!(lisbon.resolve(local("9999-12-31T23:59")), None);
    }

    #[test]
    fn the_day_depends_on_the_zone_and_fractions_of_seconds_are_dropped() {
        let late = moment("2026-09-05T23:30:59.999999Z");
        assert_eq!(Zone::utc().day(late).to_string(), "2026-09-05");
        assert_eq!(zone("Asia/Kolkata").day(late).to_string(), "2026-09-06");
        assert_eq!(zone("Asia/Kolkata").local(late), local("2026-09-06T05:00:59"));
        assert_eq!(Zone::utc().local(Timestamp(-1)), local("1969-12-31T23:59:59"));
        assert_eq!(Zone::utc().local(Timestamp(i64::MIN)), local("0001-01-01T00:00"));
        assert_eq!(Zone::utc().local(Timestamp(i64::MAX)).day().year(), 9999);
    }

    #[test]
    fn observances_match_the_iana_database() {
        let summer = zone("Europe/Lisbon").observance(moment("2026-07-01T00:00:00Z"));
        assert_eq!(summer.since, Some(moment("2026-03-29T01:00:00Z")));
        assert_eq!(summer.until, Some(moment("2026-10-25T01:00:00Z")));
        assert_eq!((summer.offset_before, summer.offset, summer.daylight), (0, 3600, true));
        assert_eq!(summer.name, "WEST");
        let winter = zone("Europe/Lisbon").observance(moment("2026-10-25T01:00:00Z"));
        assert_eq!((winter.offset_before, winter.offset, winter.daylight), (3600, 0, false));
        for (name, at) in [
            ("Europe/Dublin", "2026-07-01T00:00:00Z"),
            ("Africa/Casablanca", "2026-07-01T00:00:00Z"),
        ] {
            assert!(zone(name).observance(moment(at)).daylight, "{name}");
        }
        let never = zone("Etc/GMT+5").observance(moment("2026-07-01T00:00:00Z"));
        assert_eq!(
            (never.since, never.until, never.offset_before, never.offset),
            (None, None, -18_000, -18_000)
        );
        let solar = zone("Europe/Lisbon").observance(moment("1800-01-01T00:00:00Z"));
        assert_eq!((solar.since, solar.offset, solar.daylight), (None, -2_205, false));
    }
}
