//! Parses the text of fields into values of the API, and formats values of the API as text.

use kit::money::MAX_AMOUNT;
use kit::text::{self, TextFault};
use kit::{AmountFault, LocalTime};

use super::field::{Field, Kind};
use crate::i18n::Message;
use crate::prelude::*;

/// What the text of a field is parsed with.
pub(super) struct Context<'a> {
    /// `None` if the currency of the form is missing or unknown. Amounts are then not parsed.
    pub(super) currency: Option<Currency>,
    pub(super) zone: Option<&'a Zone>,
    /// The value of the field that decides between an amount and a percentage.
    pub(super) by: &'a str,
}

/// The value for the API, or the error. `None` if it cannot be known because of another field.
pub(super) fn parse(
    field: &Field,
    text: &str,
    context: &Context<'_>,
) -> Result<Option<Value>, String> {
    let value = match field.kind {
        Kind::Line("password") => Value::from(text),
        Kind::Line(_) => normalize(text, field.max, text::normalize_line)?.into(),
        Kind::Block => normalize(text, field.max, text::normalize_block)?.into(),
        Kind::Amount(min) => match context.currency {
            Some(currency) => amount(text, currency, min)?.into(),
            None => return Ok(None),
        },
        Kind::Percent(min, max) => percent(text, min, max)?.into(),
        Kind::AmountOrPercent(_, max) => match (context.by, context.currency) {
            ("percent", _) => json!({ "percent_bps": percent(text, 1, max)? }),
            (_, Some(currency)) => json!({ "amount": amount(text, currency, 1)? }),
            _ => return Ok(None),
        },
        Kind::Number(min, max, error) => {
            let number = parse_number(text).ok().filter(|number| (min..=max).contains(number));
            let error = || Message::from(error).with("max", &max).to_string();
            number.ok_or_else(error)?.into()
        }
        Kind::Day => day(text)?.to_string().into(),
        Kind::LocalTime => local_time(text, context.zone)?.to_string().into(),
        Kind::Currency => currency(text)?.code().into(),
        _ => text.into(),
    };
    Ok(Some(value))
}

/// A text without surrounding space. If `max` is 0, it may have any length.
fn normalize(
    text: &str,
    max: usize,
    normalize: fn(&str, usize) -> Result<String, TextFault>,
) -> Result<String, String> {
    normalize(text, if max == 0 { usize::MAX } else { max }).or_else(|fault| match fault {
        TextFault::Empty => Ok(String::new()),
        TextFault::TooLong { max } => Err(t!("Use at most {max} characters.", max)),
        TextFault::Control => Err(t!("Remove characters that cannot be displayed.").to_owned()),
    })
}

/// An amount in minor units.
fn amount(text: &str, currency: Currency, min: i64) -> Result<i64, String> {
    let (code, digits) = (currency.code(), currency.digits());
    Err(match Money::parse(text, currency) {
        Ok(Money { minor, .. }) if minor < min => {
            t!("The amount must be more than zero.").to_owned()
        }
        Ok(Money { minor, .. }) if minor <= MAX_AMOUNT => return Ok(minor),
        Ok(_) | Err(AmountFault::TooLarge) => t!("The amount is too large.").to_owned(),
        Err(AmountFault::NotANumber) => {
            let example = Money { minor: 10i64.pow(digits) * 150, currency }.format_amount();
            t!("Enter an amount in {currency}, such as {example}.", currency = code, example)
        }
        Err(AmountFault::TooManyDecimals) if digits == 0 => {
            t!("{currency} amounts have no decimals. Enter a whole number.", currency = code)
        }
        Err(AmountFault::TooManyDecimals) => {
            t!("{currency} amounts have at most {digits} decimals.", currency = code, digits)
        }
    })
}

/// Basis points.
fn percent(text: &str, min: i64, max: i64) -> Result<i64, String> {
    let text = text.trim_end_matches('%').trim_end();
    let (whole, decimals) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let valid = is_number(whole) && is_number(decimals) && whole.len() <= 3 && decimals.len() <= 2;
    let number = |text: &str| text.parse::<i64>().ok();
    let parsed = number(whole).zip(number(&format!("{decimals:0<2}"))).filter(|_| valid);
    let points = parsed.map(|(whole, hundredths)| whole * 100 + hundredths);
    let error = match (min, max) {
        (0, _) => t!("Enter a percentage from 0 to 100, such as 7.5."),
        (_, 10_000) => {
            t!("Enter a percentage greater than 0 and at most 100, such as 25 or 12.5.")
        }
        _ => t!("Enter a percentage greater than 0 and less than 100, such as 25 or 12.5."),
    };
    points.filter(|points| (min..=max).contains(points)).ok_or_else(|| error.to_owned())
}

/// Parses a whole number.
pub fn parse_number(text: &str) -> Result<i64, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or_else(|| t!("Enter a whole number.").to_owned())
}

fn day(text: &str) -> Result<Day, String> {
    let error =
        t!("Choose a date from the calendar, or enter year, month and day, such as 2026-10-01.");
    text.parse().map_err(|_| error.to_owned())
}

fn local_time(text: &str, zone: Option<&Zone>) -> Result<Timestamp, String> {
    let error = t!("Enter a date and time, for example 2026-09-05T18:30.");
    let local: Option<LocalTime> = text.parse().ok();
    let moment = local.zip(zone).and_then(|(local, zone)| zone.resolve(local));
    moment.ok_or_else(|| error.to_owned())
}

pub(super) fn currency(text: &str) -> Result<Currency, String> {
    let error = t!("Enter a three-letter currency code, such as EUR.");
    text.to_uppercase().parse().map_err(|_| error.to_owned())
}

/// Formats a value of the API as the text of a field.
pub(super) fn format(field: &Field, value: &Value, context: &Context<'_>) -> Vec<String> {
    let money = |minor, currency| Money { minor, currency }.format_amount();
    let text = match (field.kind, value) {
        (_, Value::Null) | (Kind::Check(_), Value::Bool(false)) => return Vec::new(),
        (_, Value::Array(values)) => {
            return values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        (_, Value::Bool(flag)) => if *flag { "yes" } else { "no" }.to_owned(),
        (Kind::Amount(_), Value::Number(_)) => {
            context.currency.zip(value.as_i64()).map_or_else(String::new, |(c, m)| money(m, c))
        }
        (Kind::Percent(..), Value::Number(_)) => format_percent(value.as_i64().unwrap_or_default()),
        (Kind::AmountOrPercent(..), Value::Object(fee)) => {
            match (fee.get("amount").and_then(Value::as_i64), context.currency) {
                (Some(minor), Some(currency)) => money(minor, currency),
                _ => format_percent(fee.get("percent_bps").and_then(Value::as_i64).unwrap_or(0)),
            }
        }
        (Kind::LocalTime, Value::String(text)) => {
            text.parse().ok().map(|moment| format_local(moment, context.zone)).unwrap_or_default()
        }
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    };
    vec![text]
}

/// A timestamp for a `datetime-local` input.
fn format_local(timestamp: Timestamp, zone: Option<&Zone>) -> String {
    let Some(zone) = zone else { return String::new() };
    let local = zone.local(timestamp);
    format!("{}T{:02}:{:02}", local.day(), local.hour(), local.minute())
}

/// Formats basis points as a percentage, without the sign: `12.5`.
pub fn format_percent(points: i64) -> String {
    let text = format!("{}.{:02}", points / 100, points % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_parsed_and_formatted() {
        for (text, points) in
            [("23", 2300), ("7.5", 750), ("7,25 %", 725), ("100", 10_000), ("0", 0), ("0,01", 1)]
        {
            assert_eq!(percent(text, 0, 10_000), Ok(points), "{text}");
        }
        for text in ["", "-1", "100.01", "7.125", "a", "1000", "%"] {
            assert!(percent(text, 0, 10_000).is_err(), "{text}");
        }
        assert_eq!(percent("99.99", 1, 9999), Ok(9999));
        assert!(percent("0", 1, 9999).is_err() && percent("100", 1, 9999).is_err());
        let pairs = [(0, "0"), (2300, "23"), (750, "7.5"), (1, "0.01"), (10_000, "100")];
        for (points, text) in pairs {
            assert_eq!(format_percent(points), text);
        }
    }

    #[test]
    fn a_local_time_round_trips() {
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let moment = local_time("2026-07-01T18:30", Some(&zone)).unwrap();
        assert_eq!(moment.to_string(), "2026-07-01T17:30:00.000000Z");
        assert_eq!(format_local(moment, Some(&zone)), "2026-07-01T18:30");
        assert!(local_time("soon", Some(&zone)).is_err());
    }
}
