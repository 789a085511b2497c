//! Converts forms of the store to request bodies of the API, so that the API's validation applies to both.

use kit::{AmountFault, Currency, LocalTime, Money, Timestamp, Zone};
use serde_json::{Map, Value};

use super::map_faults;
use crate::money::MAX_AMOUNT;
use crate::web::fields::{Fields, FromBody};
use crate::web::form::Faults;

/// A request body built from a form, and the form's errors.
#[derive(Debug, Default)]
pub(super) struct FormBody {
    fields: Map<String, Value>,
    pub(super) faults: Faults,
}

impl FormBody {
    /// Sets a field to a value.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    /// Sets a text field; an empty input becomes `null`.
    pub(super) fn text(&mut self, name: &str, input: &str) {
        let text = input.trim().replace("\r\n", "\n");
        self.set(name, Some(text).filter(|text| !text.is_empty()));
    }

    /// Sets a required text field; `missing` is the error for an empty input.
    pub(super) fn required(&mut self, name: &str, input: &str, missing: &str) {
        if input.trim().is_empty() {
            self.faults.add(name, missing);
        }
        self.text(name, input);
    }

    /// Sets an amount; an empty input becomes `null`.
    pub(super) fn money(&mut self, name: &str, input: &str, currency: Currency) {
        self.parse_field(name, name, input, |text| parse_amount(text, currency));
    }

    /// Sets basis points from a percentage; an empty input becomes `null`.
    pub(super) fn percent(&mut self, name: &str, input: &str) {
        self.parse_field(name, name, input, parse_basis_points);
    }

    /// Sets a whole number; an empty input becomes `null`.
    pub(super) fn number(&mut self, name: &str, input: &str) {
        self.parse_field(name, name, input, parse_whole_number);
    }

    /// Sets a timestamp from a local time in the club's time zone; an empty input becomes `null`.
    pub(super) fn timestamp(&mut self, name: &str, input: &str, zone: &Zone) {
        self.parse_field(name, name, input, |text| {
            let local: Option<LocalTime> = text.parse().ok();
            let moment = local.and_then(|local| zone.resolve(local));
            moment
                .map(|moment| moment.to_string())
                .ok_or_else(|| "Choose a date and time from the calendar, or enter them exactly like this: 2026-09-05T18:30.".to_owned())
        });
    }

    /// Sets a field by parsing an input. An error is added to the form field `form_field`.
    pub(super) fn parse_field<T: Into<Value>>(
        &mut self,
        name: &str,
        form_field: &str,
        input: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) {
        let input = input.trim();
        if input.is_empty() {
            self.set(name, Value::Null);
            return;
        }
        match parse(input) {
            Ok(value) => self.set(name, value),
            Err(message) => self.faults.add(form_field, message),
        }
    }

    /// The body and the errors so far.
    pub(super) fn into_parts(self) -> (Value, Faults) {
        (Value::Object(self.fields), self.faults)
    }

    /// Parses the body, or returns all errors.
    pub(super) fn finish<T: FromBody>(self) -> Result<T, Faults> {
        let (body, mut faults) = self.into_parts();
        match Fields::read(body) {
            Ok(parsed) if faults.is_empty() => Ok(parsed),
            Ok(_) => Err(faults),
            Err(error) => {
                // The errors of the form itself are kept.
                for fault in &error.faults {
                    let field = fault.pointer.trim_start_matches('/').replace('/', "-");
                    faults.add(&field, fault.detail.clone());
                }
                Err(if faults.is_empty() { map_faults(&error) } else { faults })
            }
        }
    }
}

/// Parses an amount.
pub(super) fn parse_amount(text: &str, currency: Currency) -> Result<i64, String> {
    match Money::parse(text, currency) {
        Ok(money) if money.minor <= MAX_AMOUNT => Ok(money.minor),
        Ok(_) | Err(AmountFault::TooLarge) => Err("This amount is too large.".to_owned()),
        Err(_) => {
            let example =
                Money { minor: 10i64.pow(currency.digits()) * 25, currency }.format_amount();
            Err(format!("Enter an amount, such as {example}."))
        }
    }
}

/// Parses a whole number.
pub(super) fn parse_whole_number(text: &str) -> Result<i64, String> {
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| numeric);
    number.ok_or_else(|| "Enter a whole number.".to_owned())
}

/// Parses a percentage into basis points.
fn parse_basis_points(text: &str) -> Result<i64, String> {
    let text = text.trim_end_matches('%').trim_end();
    let (whole, decimals) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let numeric = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let valid = numeric(whole) && numeric(decimals) && whole.len() <= 3 && decimals.len() <= 2;
    let parse = |text: &str| text.parse::<i64>().ok();
    let parsed = parse(whole).zip(parse(&format!("{decimals:0<2}"))).filter(|_| valid);
    let points = parsed
        .map(|(whole, hundredths)| whole * 100 + hundredths)
        .filter(|points| *points <= 10_000);
    points.ok_or_else(|| "Enter a percentage from 0 to 100, such as 7.5.".to_owned())
}

/// Formats a timestamp for a `datetime-local` field, in the club's time zone.
pub(super) fn format_local(timestamp: Option<Timestamp>, zone: &Zone) -> String {
    let format = |timestamp| {
        let local = zone.local(timestamp);
        format!("{}T{:02}:{:02}", local.day(), local.hour(), local.minute())
    };
    timestamp.map(format).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_parsed() {
        for (text, expected) in
            [("23", 2300), ("7.5", 750), ("7,25 %", 725), ("100", 10_000), ("0", 0)]
        {
            assert_eq!(parse_basis_points(text), Ok(expected), "{text}");
        }
        for text in ["", "-1", "100.01", "7.125", "a", "1000", "%"] {
            assert!(parse_basis_points(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_local_time_round_trips() {
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let mut body = FormBody::default();
        body.timestamp("at", "2026-07-01T18:30", &zone);
        body.timestamp("empty", " ", &zone);
        body.timestamp("invalid", "soon", &zone);
        assert!(!body.faults.at("invalid").is_empty());
        let (body, _) = body.into_parts();
        assert_eq!(
            (body["at"].as_str(), &body["empty"]),
            (Some("2026-07-01T17:30:00.000000Z"), &Value::Null)
        );
        let timestamp: Timestamp = body["at"].as_str().unwrap().parse().unwrap();
        assert_eq!(format_local(Some(timestamp), &zone), "2026-07-01T18:30");
    }
}
