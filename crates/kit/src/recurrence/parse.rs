//! Reading a rule from its text.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::{
    DayOfWeek, End, Frequency, MAX_EXCEPTIONS, MAX_INTERVAL, MAX_OCCURRENCES, MAX_RULE, Mark, Rule,
    RuleFault,
};
use crate::time::{Day, LocalTime, Weekday, Zone};
use crate::word::Word;

impl FromStr for Rule {
    type Err = RuleFault;

    fn from_str(text: &str) -> Result<Self, RuleFault> {
        let mut rule = None;
        let mut except = BTreeSet::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(line) = after(line, "EXDATE").filter(|rest| rest.starts_with([':', ';'])) {
                read_exceptions(line, &mut except)?;
            } else if rule.replace(Parts::read(line)?).is_some() {
                return Err(RuleFault::RepeatedPart("RRULE"));
            }
        }
        rule.ok_or(RuleFault::NoFrequency)?.into_rule(except)
    }
}

/// The parts of a rule by name, before they are looked at together.
#[derive(Default)]
struct Parts {
    frequency: Option<Frequency>,
    interval: Option<u16>,
    days: Option<BTreeSet<DayOfWeek>>,
    month_days: Option<BTreeSet<i8>>,
    count: Option<usize>,
    until: Option<Mark>,
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
            let (name, value) = part.split_once('=').ok_or_else(|| unknown(part))?;
            parts.take(name, value)?;
        }
        Ok(parts)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), RuleFault> {
        match name {
            "FREQ" => once(&mut self.frequency, "FREQ", frequency(value)?),
            "INTERVAL" => once(&mut self.interval, "INTERVAL", interval(value)?),
            "BYDAY" => once(&mut self.days, "BYDAY", list("BYDAY", value, day_of_week)?),
            "BYMONTHDAY" => {
                once(&mut self.month_days, "BYMONTHDAY", list("BYMONTHDAY", value, month_day)?)
            }
            "COUNT" => once(&mut self.count, "COUNT", count(value)?),
            "UNTIL" => {
                once(&mut self.until, "UNTIL", mark(value).ok_or_else(|| bad("UNTIL", value))?)
            }
            "WKST" => {
                let weekday = Weekday::parse(value).ok_or_else(|| bad("WKST", value))?;
                once(&mut self.week_start, "WKST", weekday)
            }
            _ => Err(unknown(name)),
        }
    }

    fn into_rule(self, except: BTreeSet<Mark>) -> Result<Rule, RuleFault> {
        let frequency = self.frequency.ok_or(RuleFault::NoFrequency)?;
        let days = self.days.unwrap_or_default();
        if frequency != Frequency::Monthly && days.iter().any(|day| day.nth != 0) {
            return Err(RuleFault::Misplaced("A numbered day in BYDAY", frequency.word()));
        }
        if frequency == Frequency::Weekly && self.month_days.is_some() {
            return Err(RuleFault::Misplaced("BYMONTHDAY", frequency.word()));
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
            except,
        })
    }
}

/// Reads what follows `EXDATE`: parameters, a colon, and times with commas.
fn read_exceptions(line: &str, except: &mut BTreeSet<Mark>) -> Result<(), RuleFault> {
    let (parameters, values) = line.split_once(':').ok_or_else(|| unknown("EXDATE"))?;
    let mut zone = None;
    for parameter in parameters.split(';').skip(1) {
        if let Some(name) = after(parameter, "TZID=") {
            let known: Zone = name.trim_matches('"').parse().map_err(|_| bad("TZID", name))?;
            once(&mut zone, "TZID", known)?;
        } else if !["VALUE=DATE", "VALUE=DATE-TIME"]
            .iter()
            .any(|known| parameter.eq_ignore_ascii_case(known))
        {
            return Err(unknown(parameter));
        }
    }
    for value in values.split(',') {
        let wrong = || bad("EXDATE", value);
        let read = mark(&value.to_ascii_uppercase()).ok_or_else(wrong)?;
        let read = match (read, &zone) {
            (Mark::Local(local), Some(zone)) => {
                Mark::Moment(zone.nearest(local).ok_or_else(wrong)?)
            }
            (read, _) => read,
        };
        except.insert(read);
        if except.len() > MAX_EXCEPTIONS {
            return Err(RuleFault::TooManyExceptions);
        }
    }
    Ok(())
}

/// What follows this word at the start of the text, in any case.
fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

fn once<T>(place: &mut Option<T>, name: &'static str, value: T) -> Result<(), RuleFault> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(RuleFault::RepeatedPart(name)),
    }
}

fn frequency(value: &str) -> Result<Frequency, RuleFault> {
    Frequency::parse(value).ok_or_else(|| RuleFault::UnsupportedFrequency(shown(value)))
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
    value.split(',').map(|item| read(item).ok_or_else(|| bad(name, item))).collect()
}

/// `TU`, `2TU`, `+2TU` or `-1FR`.
fn day_of_week(text: &str) -> Option<DayOfWeek> {
    let (nth, weekday) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let weekday = Weekday::parse(weekday)?;
    let nth = if nth.is_empty() { 0 } else { signed(nth, 5)? };
    Some(DayOfWeek { weekday, nth })
}

fn month_day(text: &str) -> Option<i8> {
    signed(text, 31)
}

/// A whole number other than zero, up to so many from the start or the end.
fn signed(text: &str, most: i8) -> Option<i8> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", digits) => (-1, digits),
        ("+", digits) => (1, digits),
        _ => (1, text),
    };
    number(digits).filter(|number| (1..=most).contains(number)).map(|number| sign * number)
}

/// Decimal digits and nothing else.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// `20261225`, `20261225T180000` or `20261225T180000Z`.
fn mark(text: &str) -> Option<Mark> {
    if let Some(utc) = text.strip_suffix('Z') {
        let local = LocalTime::from_compact(utc).ok()?;
        return Zone::utc().nearest(local).map(Mark::Moment);
    }
    let day = || Day::from_compact(text).map(Mark::Day);
    LocalTime::from_compact(text).map(Mark::Local).or_else(|_| day()).ok()
}

fn unknown(name: &str) -> RuleFault {
    RuleFault::UnknownPart(shown(name))
}

fn bad(name: &'static str, value: &str) -> RuleFault {
    RuleFault::BadValue(name, shown(value))
}

/// The beginning of what somebody wrote, short enough for a sentence.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}
