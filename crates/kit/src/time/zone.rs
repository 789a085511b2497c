//! Time zones: which moment a local time is, and what the clocks show at a moment.

use std::fmt;
use std::str::FromStr;

use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use super::{Day, LocalTime, NotATime, Timestamp};

/// A time zone of the IANA database, such as `Europe/Lisbon`. Copies share the zone's table.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// What a local time means in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalMoment {
    /// One moment, as nearly always.
    Once(Timestamp),
    /// Two moments, because the clocks are put back.
    Twice {
        /// The moment before the clocks are put back.
        first: Timestamp,
        /// The moment after.
        second: Timestamp,
    },
    /// No moment, because the clocks are put forward over it.
    Never {
        /// The moment by the offset after the change: the clock shows an earlier time.
        earlier: Timestamp,
        /// The moment by the offset before the change: the clock shows a later time.
        later: Timestamp,
    },
    /// A moment beyond what can be kept, in the last hours of the year 9999.
    OutOfRange,
}

/// A stretch of time in which a zone keeps one offset from UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observance {
    /// The moment it begins; none if the zone has always kept it.
    pub since: Option<Timestamp>,
    /// The moment it ends; none if nothing is known to follow.
    pub until: Option<Timestamp>,
    /// The seconds east of UTC that were kept before.
    pub offset_before: i32,
    /// The seconds east of UTC that are kept.
    pub offset: i32,
    /// What people call it, such as `WEST`.
    pub name: String,
    /// Whether the clocks are forward. It is so in the summer of Dublin and outside Ramadan in
    /// Casablanca too, where the law calls the other time the exception.
    pub daylight: bool,
}

impl Observance {
    /// Whether the moment lies in it.
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

    /// The names of all zones there are, as people choose from them.
    pub fn names() -> Vec<String> {
        let names = jiff::tz::db().available().map(|name| name.to_string());
        // Places and UTC; the rest are old names and offsets.
        let mut names: Vec<_> = names
            .filter(|name| (name.contains('/') && !name.starts_with("Etc/")) || name == "UTC")
            .collect();
        names.sort();
        names
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.iana_name().expect("only zones with a name are made")
    }

    /// Whether this is Coordinated Universal Time, under any of its names.
    pub fn is_utc(&self) -> bool {
        let name = self.name().strip_prefix("Etc/").unwrap_or(self.name());
        matches!(name, "UTC" | "UCT" | "Universal" | "Zulu")
    }

    /// What the clocks show at a moment, in whole seconds. Moments beyond the years 1 to 9999 are
    /// shown as the nearest one within.
    pub fn local(&self, moment: Timestamp) -> LocalTime {
        LocalTime::clamped(self.0.to_datetime(known(moment.seconds())))
    }

    /// The day at a moment.
    pub fn day(&self, moment: Timestamp) -> Day {
        self.local(moment).day()
    }

    /// Which moment a local time is.
    pub fn moment(&self, local: LocalTime) -> LocalMoment {
        self.reading(local).unwrap_or(LocalMoment::OutOfRange)
    }

    /// The one moment that a calendar means by a local time (RFC 5545): a time that comes twice is
    /// the first, and a time that is left out is read with the offset before the change, so 02:30
    /// becomes 03:30. None in the last hours of the year 9999.
    pub fn nearest(&self, local: LocalTime) -> Option<Timestamp> {
        match self.moment(local) {
            LocalMoment::Once(moment)
            | LocalMoment::Twice { first: moment, .. }
            | LocalMoment::Never { later: moment, .. } => Some(moment),
            LocalMoment::OutOfRange => None,
        }
    }

    /// The offset kept at a moment, from when to when.
    pub fn observance(&self, moment: Timestamp) -> Observance {
        let at = known(moment.seconds());
        // Changes come on whole seconds, and the library gives those strictly before.
        let since = self.0.preceding(known(moment.seconds() + 1)).next();
        let since = since.map(|change| change.timestamp());
        let until = self.0.following(at).next().map(|change| change.timestamp());
        let now = self.0.to_offset_info(at);
        let before = since.map_or(at, |since| known(since.as_second() - 1));
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

    fn reading(&self, local: LocalTime) -> Option<LocalMoment> {
        let by = |offset: Offset| {
            let moment = offset.to_timestamp(local.0).ok()?;
            Some(Timestamp(moment.as_microsecond()))
        };
        Some(match self.0.to_ambiguous_timestamp(local.0).offset() {
            AmbiguousOffset::Unambiguous { offset } => LocalMoment::Once(by(offset)?),
            AmbiguousOffset::Fold { before, after } => {
                LocalMoment::Twice { first: by(before)?, second: by(after)? }
            }
            AmbiguousOffset::Gap { before, after } => {
                LocalMoment::Never { earlier: by(after)?, later: by(before)? }
            }
        })
    }
}

/// The library's moment at this second, or its first or last one.
fn known(second: i64) -> jiff::Timestamp {
    let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
    jiff::Timestamp::from_second(second.clamp(first, last)).expect("a second in range is known")
}

impl FromStr for Zone {
    type Err = NotATime;

    /// Takes names of the database only, in any case, and keeps the database's spelling.
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
            .description(Some("A time zone of the IANA database."))
            .examples(["Europe/Lisbon"])
            .into()
    }
}
impl utoipa::ToSchema for Zone {}

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
        fn a_moment_is_found_again_by_its_local_time(name in 0..ZONES.len(), seconds in -62_135_510_400i64..253_402_100_000) {
            let (zone, moment) = (zone(ZONES[name]), Timestamp(seconds * 1_000_000));
            let found = match zone.moment(zone.local(moment)) {
                LocalMoment::Once(once) => once == moment,
                LocalMoment::Twice { first, second } => first == moment || second == moment,
                LocalMoment::Never { .. } | LocalMoment::OutOfRange => false,
            };
            prop_assert!(found, "{} {}", zone.name(), moment);
            let observance = zone.observance(moment);
            prop_assert!(observance.contains(moment), "{observance:?}");
            let offset = zone.local(moment).seconds_since(Zone::utc().local(moment));
            prop_assert_eq!(offset, i64::from(observance.offset));
        }

        #[test]
        fn no_moment_and_no_time_ends_in_a_panic(micros: i64, name in 0..ZONES.len()) {
            let zone = zone(ZONES[name]);
            let local = zone.local(Timestamp(micros));
            let _ = (zone.nearest(local), zone.observance(Timestamp(micros)));
        }
    }

    #[test]
    fn only_zones_of_the_database_are_taken() {
        assert_eq!(zone("europe/lisbon").name(), "Europe/Lisbon");
        assert_eq!(format!("{:?}", zone("utc")), "UTC");
        assert_eq!(serde_json::to_string(&zone("asia/kolkata")).unwrap(), "\"Asia/Kolkata\"");
        assert_eq!(zone("UTC"), Zone::utc());
        for wrong in ["", "Mars/Olympus", "+02:00", "EST5EDT4", "../etc/passwd", "Etc/Unknown"] {
            assert!(wrong.parse::<Zone>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_left_out_and_a_time_doubled_are_told_apart() {
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
        assert_eq!(lisbon.nearest(local("2026-03-29T01:30")), Some(moment("2026-03-29T01:30:00Z")));
        assert_eq!(lisbon.local(moment("2026-03-29T01:30:00Z")), local("2026-03-29T02:30"));
        assert_eq!(lisbon.nearest(local("2026-10-25T01:30")), Some(moment("2026-10-25T00:30:00Z")));
        assert_eq!(lisbon.moment(local("9999-12-31T23:59")), LocalMoment::OutOfRange);
        assert_eq!(lisbon.nearest(local("9999-12-31T23:59")), None);
    }

    #[test]
    fn the_day_depends_on_the_zone_and_parts_of_seconds_are_dropped() {
        let late = moment("2026-09-05T23:30:59.999999Z");
        assert_eq!(Zone::utc().day(late).to_string(), "2026-09-05");
        assert_eq!(zone("Asia/Kolkata").day(late).to_string(), "2026-09-06");
        assert_eq!(zone("Asia/Kolkata").local(late), local("2026-09-06T05:00:59"));
        assert_eq!(Zone::utc().local(Timestamp(-1)), local("1969-12-31T23:59:59"));
        assert_eq!(Zone::utc().local(Timestamp(i64::MIN)), local("0001-01-01T00:00"));
        assert_eq!(Zone::utc().local(Timestamp(i64::MAX)).day().year(), 9999);
    }

    #[test]
    fn observances_are_the_real_ones() {
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
