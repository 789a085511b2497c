//! Parses recurrence rules.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::{
    DayOfWeek, End, Frequency, MAX_EXCEPTIONS, MAX_INTERVAL, MAX_OCCURRENCES, MAX_RULE, Rule,
    RuleFault, TimeValue,
};
use crate::string_enum::StringEnum;
use crate::time::{Day, LocalTime, Weekday, Zone};

impl FromStr for Rule {
    type Err = RuleFault;

    fn from_str(text: &str) -> Result<Self, RuleFault> {
        let mut rule = None;
        let mut except = BTreeSet::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(line) =
                strip_prefix_ignore_case(line, "EXDATE").filter(|rest| rest.starts_with([':', ';']))
            {
                read_exceptions(line, &mut except)?;
            } else if rule.replace(Parts::read(line)?).is_some() {
                return Err(RuleFault::RepeatedPart("RRULE"));
            }
        }
        rule.ok_or(RuleFault::NoFrequency)?.into_rule(except)
    }
}

/// The parts of a rule, before the combination is validated.
#[derive(Default)]
struct Parts {
    frequency: Option<Frequency>,
    interval: Option<u16>,
    days: Option<BTreeSet<DayOfWeek>>,
    month_days: Option<BTreeSet<i8>>,
    count: Option<usize>,
    until: Option<TimeValue>,
    week_start: Option<Weekday>,
}

impl Parts {
    fn read(line: &str) -> Result<Self, RuleFault> {
        if line.chars().count() > MAX_RULE {
            return Err(RuleFault::TooLong);
        }
        let line = line.to_ascii_uppercase();
        let mut parts = Self::default();
        for part in line.strip_prefix("RRULE:").unwrap_or(&line).split(';') {
            let (name, value) = part.split_once('=').ok_or_else(|| unknown_part(part))?;
            parts.set(name, value)?;
        }
        Ok(parts)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), RuleFault> {
        match name {
            "FREQ" => set_once(&mut self.frequency, "FREQ", frequency(value)?),
            "INTERVAL" => set_once(&mut self.interval, "INTERVAL", interval(value)?),
            "BYDAY" => set_once(&mut self.days, "BYDAY", list("BYDAY", value, day_of_week)?),
            "BYMONTHDAY" => {
                set_once(&mut self.month_days, "BYMONTHDAY", list("BYMONTHDAY", value, month_day)?)
            }
            "COUNT" => set_once(&mut self.count, "COUNT", count(value)?),
            "UNTIL" => set_once(
                &mut self.until,
                "UNTIL",
                time_value(value).ok_or_else(|| bad_value("UNTIL", value))?,
            ),
            "WKST" => {
                let weekday = Weekday::parse(value).ok_or_else(|| bad_value("WKST", value))?;
                set_once(&mut self.week_start, "WKST", weekday)
            }
            _ => Err(unknown_part(name)),
        }
    }

    fn into_rule(self, except: BTreeSet<TimeValue>) -> Result<Rule, RuleFault> {
        let frequency = self.frequency.ok_or(RuleFault::NoFrequency)?;
        let days = self.days.unwrap_or_default();
        if frequency != Frequency::Monthly && days.iter().any(|day| day.nth != 0) {
            return Err(RuleFault::Misplaced("A numbered day in BYDAY", frequency.as_str()));
        }
        if frequency == Frequency::Weekly && self.month_days.is_some() {
            return Err(RuleFault::Misplaced("BYMONTHDAY", frequency.as_str()));
        }
        let end = match (self.count, self.until) {
            (Some(_), Some(_)) => return Err(RuleFault::CountAndUntil),
            (None, None) => return Err(RuleFault::Endless),
            (Some(count), None) => End::Count(count),
            (None, Some(until)) => End::Until(until),
        };
        Ok(Rule {
            frequency,
            interval: self.interval.unwrap_or(1),
            days,
            month_days: self.month_days.unwrap_or_default(),
            end,
            week_start: self.week_start.unwrap_or(Weekday::Monday),
            exceptions: except,
        })
    }
}

/// Parses the rest of an `EXDATE` line: parameters, a colon, and comma-separated values.
fn read_exceptions(line: &str, except: &mut BTreeSet<TimeValue>) -> Result<(), RuleFault> {
    let (parameters, values) = line.split_once(':').ok_or_else(|| unknown_part("EXDATE"))?;
    let mut zone = None;
    for parameter in parameters.split(';').skip(1) {
        if let Some(name) = strip_prefix_ignore_case(parameter, "TZID=") {
            let value: Zone =
                name.trim_matches('"').parse().map_err(|_| bad_value("TZID", name))?;
            set_once(&mut zone, "TZID", value)?;
        } else if !["VALUE=DATE", "VALUE=DATE-TIME"]
            .iter()
            .any(|supported| parameter.eq_ignore_ascii_case(supported))
        {
            return Err(unknown_part(parameter));
        }
    }
    for value in values.split(',') {
        let invalid = || bad_value("EXDATE", value);
        let time = time_value(&value.to_ascii_uppercase()).ok_or_else(invalid)?;
        let time = match (time, &zone) {
            (TimeValue::Local(local), Some(zone)) => {
                TimeValue::Moment(zone.resolve(local).ok_or_else(invalid)?)
            }
            (time, _) => time,
        };
        except.insert(time);
        if except.len() > MAX_EXCEPTIONS {
            return Err(RuleFault::TooManyExceptions);
        }
    }
    Ok(())
}

/// Like `strip_prefix`, ignoring case.
fn strip_prefix_ignore_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Sets a part that must not be set yet.
fn set_once<T>(part: &mut Option<T>, name: &'static str, value: T) -> Result<(), RuleFault> {
    match part.replace(value) {
        None => Ok(()),
        Some(_) => Err(RuleFault::RepeatedPart(name)),
    }
}

fn frequency(value: &str) -> Result<Frequency, RuleFault> {
    Frequency::parse(value).ok_or_else(|| RuleFault::UnsupportedFrequency(truncate(value)))
}

fn interval(value: &str) -> Result<u16, RuleFault> {
    let interval = number(value).filter(|interval| (1..=MAX_INTERVAL).contains(interval));
    interval.ok_or(RuleFault::BadInterval)
}

fn count(value: &str) -> Result<usize, RuleFault> {
    let count = number(value).filter(|count| (1..=MAX_OCCURRENCES).contains(count));
    count.ok_or(RuleFault::BadCount)
}

fn list<T: Ord>(
    name: &'static str,
    value: &str,
    read: fn(&str) -> Option<T>,
) -> Result<BTreeSet<T>, RuleFault> {
    value.split(',').map(|item| read(item).ok_or_else(|| bad_value(name, item))).collect()
}

/// Parses `TU`, `2TU`, `+2TU` or `-1FR`.
fn day_of_week(text: &str) -> Option<DayOfWeek> {
    let (nth, weekday) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let weekday = Weekday::parse(weekday)?;
    let nth = if nth.is_empty() { 0 } else { signed(nth, 5)? };
    Some(DayOfWeek { weekday, nth })
}

fn month_day(text: &str) -> Option<i8> {
    signed(text, 31)
}

/// Parses a number from 1 to `max` with an optional sign.
fn signed(text: &str, max: i8) -> Option<i8> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", digits) => (-1, digits),
        ("+", digits) => (1, digits),
        _ => (1, text),
    };
    number(digits).filter(|number| (1..=max).contains(number)).map(|number| sign * number)
}

/// Parses a number that consists only of decimal digits.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses `20261225`, `20261225T180000` or `20261225T180000Z`.
fn time_value(text: &str) -> Option<TimeValue> {
    if let Some(utc) = text.strip_suffix('Z') {
        let local = LocalTime::from_compact(utc).ok()?;
        return Zone::utc().resolve(local).map(TimeValue::Moment);
    }
    let day = || Day::from_compact(text).map(TimeValue::Day);
    LocalTime::from_compact(text).map(TimeValue::Local).or_else(|_| day()).ok()
}

fn unknown_part(name: &str) -> RuleFault {
    RuleFault::UnknownPart(truncate(name))
}

fn bad_value(name: &'static str, value: &str) -> RuleFault {
    RuleFault::BadValue(name, truncate(value))
}

/// Truncates the input for use in an error message.
fn truncate(text: &str) -> String {
    text.chars().take(40).collect()
}
