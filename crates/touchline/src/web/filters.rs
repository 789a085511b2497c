//! How values are written on pages: moments, ages, numbers.
//!
//! Templates use them as filters after `use crate::web::filters;`, or through the parts `time`, `age`
//! and `moment`, which need no such line.

#![expect(clippy::inline_always, reason = "the attribute of filters writes it")]

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;
use askama::{Result, Values, filter_fn};
use kit::{Day, LocalTime, Timestamp, Zone};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment on a page: what a program reads, and what a person reads. Neither holds anything that
/// would have to be escaped.
#[derive(Debug)]
pub struct Time {
    moment: Timestamp,
    /// What stands in a box when somebody points at it.
    exact: Option<String>,
    text: String,
    /// Whether the browser may show it in its own zone.
    anywhere: bool,
}

impl HtmlSafe for Time {}

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = if self.anywhere { " data-local" } else { "" };
        write!(f, "<time datetime=\"{}\"{local}", self.moment)?;
        if let Some(exact) = &self.exact {
            write!(f, " title=\"{exact}\"")?;
        }
        write!(f, ">{}</time>", self.text)
    }
}

/// A moment in a zone: `14 Nov 2026, 18:05`.
#[filter_fn]
pub fn when(moment: &Timestamp, _: &dyn Values, zone: &Zone) -> Result<Time> {
    let text = minute(zone.local(*moment));
    Ok(Time { moment: *moment, exact: None, text, anywhere: false })
}

/// A moment for readers whose zone is not known: `14 Nov 2026, 18:05 UTC`, or in the zone of the
/// browser where there is a script.
#[filter_fn]
pub fn anywhere(moment: &Timestamp, _: &dyn Values) -> Result<Time> {
    Ok(Time { moment: *moment, exact: None, text: in_utc(*moment), anywhere: true })
}

/// How long ago, or how far ahead: `3 hours ago`. After a month the day says more.
#[filter_fn]
pub fn age(moment: &Timestamp, _: &dyn Values, now: &Timestamp) -> Result<Time> {
    let exact = Some(in_utc(*moment));
    Ok(Time { moment: *moment, exact, text: distance(*moment, *now), anywhere: false })
}

/// A day: `14 Nov 2026`.
#[filter_fn]
pub fn day(day: &Day, _: &dyn Values) -> Result<String> {
    Ok(written(*day))
}

/// A whole number with a comma between thousands: `1,204`.
#[filter_fn]
pub fn number(count: impl Display, _: &dyn Values) -> Result<String> {
    Ok(grouped(&count.to_string()))
}

/// A number with what it counts: `1 member`, `1,204 members`.
#[filter_fn]
pub fn counted(count: impl Display, _: &dyn Values, one: &str, many: &str) -> Result<String> {
    let count = count.to_string();
    let noun = if count == "1" { one } else { many };
    Ok(format!("{} {noun}", grouped(&count)))
}

fn written(day: Day) -> String {
    let month = usize::try_from(day.month() - 1).ok().and_then(|month| MONTHS.get(month));
    format!("{} {} {}", day.day(), month.unwrap_or(&""), day.year())
}

fn minute(local: LocalTime) -> String {
    format!("{}, {:02}:{:02}", written(local.day()), local.hour(), local.minute())
}

fn in_utc(moment: Timestamp) -> String {
    format!("{} UTC", minute(Zone::utc().local(moment)))
}

fn distance(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.seconds() - moment.seconds();
    let (amount, unit) = match seconds.abs() {
        ..60 => return "just now".to_owned(),
        away @ 60..3600 => (away / 60, "minute"),
        away @ 3600..86_400 => (away / 3600, "hour"),
        away @ 86_400..2_678_400 => (away / 86_400, "day"),
        _ => return written(Zone::utc().day(moment)),
    };
    let plural = if amount == 1 { "" } else { "s" };
    if seconds > 0 {
        format!("{amount} {unit}{plural} ago")
    } else {
        format!("in {amount} {unit}{plural}")
    }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.split_at(usize::from(digits.starts_with('-')));
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_for_people() {
        let moment: Timestamp = "2026-11-14T18:05:59Z".parse().unwrap();
        let zone: Zone = "America/New_York".parse().unwrap();
        assert_eq!(minute(zone.local(moment)), "14 Nov 2026, 13:05");
        assert_eq!(in_utc(moment), "14 Nov 2026, 18:05 UTC");
        let at = |text: &str| distance(text.parse().unwrap(), moment);
        assert_eq!(at("2026-11-14T18:05:01Z"), "just now");
        assert_eq!(at("2026-11-14T18:04:59Z"), "1 minute ago");
        assert_eq!(at("2026-11-14T15:05:59Z"), "3 hours ago");
        assert_eq!(at("2026-11-16T18:06:00Z"), "in 2 days");
        assert_eq!(at("2026-01-02T00:00:00Z"), "2 Jan 2026");
    }

    #[test]
    fn numbers_have_commas() {
        let pairs = [("0", "0"), ("999", "999"), ("1204", "1,204"), ("-1234567", "-1,234,567")];
        for (plain, shown) in pairs {
            assert_eq!(grouped(plain), shown);
        }
    }
}
