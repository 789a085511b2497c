//! Recurrence rules: the subset of RFC 5545's `RRULE` that a season needs.
//!
//! A [`Rule`] is parsed from text such as `FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20`, with or without the prefix `RRULE:`,
//! ignoring case, optionally followed by lines of `EXDATE`. Its `Display` is a canonical text that parses to the same
//! rule. Every rule ends: it has at most [`MAX_OCCURRENCES`], and a rule that matches no day is detected with a bounded
//! amount of work.

mod fault;
mod occurrences;
mod parse;

use std::collections::BTreeSet;
use std::fmt;
use std::mem::discriminant;

pub use fault::RuleFault;

use crate::time::{Day, LocalTime, Timestamp, Weekday, Zone};

/// The maximum number of occurrences of a series: enough for daily practice for a year.
pub const MAX_OCCURRENCES: usize = 400;
/// The maximum number of exceptions of a series.
pub const MAX_EXCEPTIONS: usize = MAX_OCCURRENCES;
/// The maximum `INTERVAL`.
pub const MAX_INTERVAL: u16 = 1000;
/// The maximum number of characters of a rule, without its `EXDATE` lines.
pub const MAX_RULE: usize = 2000;

/// A recurrence rule with its end and its exceptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    frequency: Frequency,
    interval: u16,
    /// `BYDAY`. Empty means no restriction.
    days: BTreeSet<DayOfWeek>,
    /// `BYMONTHDAY`; negative numbers count from the end of the month. Empty means no restriction.
    month_days: BTreeSet<i8>,
    end: End,
    /// `WKST`: the first day of the week, which matters if the interval is more than one week.
    week_start: Weekday,
    exceptions: BTreeSet<TimeValue>,
}

crate::string_enum! {
    /// `FREQ`: the unit of the interval.
    enum Frequency {
        Daily = "DAILY",
        Weekly = "WEEKLY",
        Monthly = "MONTHLY",
    }
}

/// A weekday of every week (`TU`), or one of a month (`2TU`, `-1FR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DayOfWeek {
    weekday: Weekday,
    /// Which one of the month; negative numbers count from its end, zero means every one.
    nth: i8,
}

impl DayOfWeek {
    fn includes(self, day: Day) -> bool {
        let from_start = (day.day() - 1) / 7 + 1;
        let from_end = (day.day() - day.days_in_month()) / 7 - 1;
        day.weekday() == self.weekday && [0, from_start, from_end].contains(&self.nth)
    }
}

/// The end of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Count(usize),
    Until(TimeValue),
}

/// A value of `UNTIL` or `EXDATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TimeValue {
    /// A whole day.
    Day(Day),
    /// A local time in the zone of the series.
    Local(LocalTime),
    /// A time in UTC.
    Moment(Timestamp),
}

impl TimeValue {
    /// The property name with parameters for a line of such values.
    fn property(self) -> &'static str {
        match self {
            Self::Day(_) => "EXDATE;VALUE=DATE",
            Self::Local(_) | Self::Moment(_) => "EXDATE",
        }
    }
}

impl fmt::Display for TimeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Day(day) => write!(f, "{}", day.compact()),
            Self::Local(local) => write!(f, "{}", local.compact()),
            Self::Moment(moment) => write!(f, "{}Z", Zone::utc().local(moment).compact()),
        }
    }
}

impl fmt::Display for DayOfWeek {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nth != 0 {
            write!(f, "{}", self.nth)?;
        }
        write!(f, "{}", self.weekday)
    }
}

/// The canonical text: parts in a fixed order without defaults, lists sorted, then one line of exceptions for each kind
/// of value. An `EXDATE` with a `TZID` is converted to UTC.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FREQ={}", self.frequency)?;
        if self.interval != 1 {
            write!(f, ";INTERVAL={}", self.interval)?;
        }
        list(f, ";BYDAY=", &self.days)?;
        list(f, ";BYMONTHDAY=", &self.month_days)?;
        match self.end {
            End::Count(count) => write!(f, ";COUNT={count}")?,
            End::Until(mark) => write!(f, ";UNTIL={mark}")?,
        }
        if self.week_start != Weekday::Monday {
            write!(f, ";WKST={}", self.week_start)?;
        }
        let mut last: Option<&TimeValue> = None;
        for mark in &self.exceptions {
            match last.replace(mark) {
                Some(last) if discriminant(last) == discriminant(mark) => write!(f, ",{mark}")?,
                _ => write!(f, "\n{}:{mark}", mark.property())?,
            }
        }
        Ok(())
    }
}

/// Writes the name and the comma-separated items, or nothing if there are no items.
fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    items: &BTreeSet<T>,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if index == 0 { name } else { "," })?;
    }
    Ok(())
}

#[cfg(test)]
mod rrule_reference;
#[cfg(test)]
mod tests;
