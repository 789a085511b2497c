//! Times of day.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

use super::{Day, LocalTime, NotATime};

/// A time of day on the hour or half hour, such as `18:30`, without a day and a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeOfDay {
    /// The half hours since midnight, 0 to 47.
    half_hours: i8,
}

impl TimeOfDay {
    /// All times, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..48).map(|half_hours| Self { half_hours })
    }

    /// An hour from 0 to 23.
    pub const fn at_hour(hour: i8) -> Option<Self> {
        if hour >= 0 && hour < 24 { Some(Self { half_hours: 2 * hour }) } else { None }
    }

    /// The time at which the half hour that contains a local time begins.
    pub fn of(local: LocalTime) -> Self {
        Self { half_hours: 2 * local.hour() + local.minute() / 30 }
    }

    /// This time on a day.
    pub fn on(self, day: Day) -> LocalTime {
        let (hour, minute) = (self.half_hours / 2, self.half_hours % 2 * 30);
        LocalTime::new(day, hour, minute, 0).expect("half hours are less than 48")
    }
}

impl FromStr for TimeOfDay {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        Self::all().find(|time| time.to_string() == text).ok_or(NotATime)
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.half_hours / 2, self.half_hours % 2 * 30)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl utoipa::PartialSchema for TimeOfDay {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^([01][0-9]|2[0-3]):(00|30)$"))
            .description(Some("Time of day on the hour or half hour, in 24-hour format."))
            .examples(["22:00"])
            .into()
    }
}
impl utoipa::ToSchema for TimeOfDay {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_on_the_hour_or_half_hour() {
        let day = Day::new(2026, 9, 5).unwrap();
        for text in ["00:00", "07:30", "23:30"] {
            let time: TimeOfDay = text.parse().unwrap();
            assert_eq!((time.to_string(), TimeOfDay::of(time.on(day))), (text.to_owned(), time));
        }
        for wrong in ["", "7:30", "07:15", "24:00", "07:30:00", "٠٧:٣٠", "-1:00"] {
            assert!(wrong.parse::<TimeOfDay>().is_err(), "{wrong}");
        }
        assert_eq!(TimeOfDay::at_hour(18), "18:00".parse().ok());
        assert_eq!(TimeOfDay::at_hour(24), None);
    }
}
