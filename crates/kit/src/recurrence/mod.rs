//! Recurrence: the part of RFC 5545's `RRULE` that a season needs.
//!
//! A [`Rule`] is read from text such as `FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20`, with or without
//! `RRULE:` in front and in any case, and may be followed by lines of `EXDATE`. It is shown as one
//! canonical text that reads back as the same rule. Every rule ends: there are at most
//! [`MAX_OCCURRENCES`], and one that matches no day is found out in bounded work.

mod fault;
mod occurrences;
mod parse;

use std::collections::BTreeSet;
use std::fmt;
use std::mem::discriminant;

pub use fault::RuleFault;

use crate::time::{Day, LocalTime, Timestamp, Weekday, Zone};

/// The most occurrences of a series: a training on every day of a year fits.
pub const MAX_OCCURRENCES: usize = 400;
/// The most exceptions of a series.
pub const MAX_EXCEPTIONS: usize = MAX_OCCURRENCES;
/// The largest step between two days, weeks or months.
pub const MAX_INTERVAL: u16 = 1000;
/// The most characters of a rule, its lines of `EXDATE` not counted.
pub const MAX_RULE: usize = 2000;

/// On which days something recurs, until when, and when not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    frequency: Frequency,
    interval: u16,
    /// The days of the week, or none to leave them open.
    days: BTreeSet<DayOfWeek>,
    /// The days of the month, counted from its end if negative, or none to leave them open.
    month_days: BTreeSet<i8>,
    end: End,
    /// The day on which weeks begin, when only every other week counts.
    week_start: Weekday,
    except: BTreeSet<Mark>,
}

crate::words! {
    /// What a rule steps through.
    enum Frequency {
        Daily = "DAILY",
        Weekly = "WEEKLY",
        Monthly = "MONTHLY",
    }
}

/// A day of every week, or the second or last such day of a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DayOfWeek {
    weekday: Weekday,
    /// Which one of the month, counted from its end if negative; zero for every one.
    nth: i8,
}

impl DayOfWeek {
    fn includes(self, day: Day) -> bool {
        let from_start = (day.day() - 1) / 7 + 1;
        let from_end = (day.day() - day.days_in_month()) / 7 - 1;
        day.weekday() == self.weekday && [0, from_start, from_end].contains(&self.nth)
    }
}

/// What ends a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Count(usize),
    Until(Mark),
}

/// A time as `UNTIL` and `EXDATE` say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// Any time of the day.
    Day(Day),
    /// The time in the zone of the series.
    Local(LocalTime),
    /// The moment, wherever the series takes place.
    Moment(Timestamp),
}

impl Mark {
    /// What goes before the colon of a line of such times.
    fn heading(self) -> &'static str {
        match self {
            Self::Day(_) => "EXDATE;VALUE=DATE",
            Self::Local(_) | Self::Moment(_) => "EXDATE",
        }
    }
}

impl fmt::Display for Mark {
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

/// The canonical text: parts in one order, defaults left out, lists sorted, exceptions in a line
/// for each kind after `\n`. An `EXDATE` with a `TZID` is shown as the moment in UTC that it means.
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
        let mut last: Option<&Mark> = None;
        for mark in &self.except {
            match last.replace(mark) {
                Some(last) if discriminant(last) == discriminant(mark) => write!(f, ",{mark}")?,
                _ => write!(f, "\n{}:{mark}", mark.heading())?,
            }
        }
        Ok(())
    }
}

/// Writes a list with commas behind its name, and nothing for an empty one.
fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    items: &BTreeSet<T>,
) -> fmt::Result {
    for (place, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if place == 0 { name } else { "," })?;
    }
    Ok(())
}

#[cfg(test)]
mod judge;
#[cfg(test)]
mod tests;
