//! The value types of fields in a JSON body, each with its error message.

use std::collections::BTreeMap;
use std::str::FromStr;

use kit::{Id, Kind, contact, text};
use serde_json::Map;

use super::fields::{Fields, and_then, escape_pointer};
use crate::i18n::{Message, ToValue};
use crate::prelude::*;

impl Fields {
    /// `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Change<bool> {
        self.take(name, "true or false", Value::as_bool)
    }

    /// An IANA time zone.
    pub fn zone(&mut self, name: &str) -> Change<Zone> {
        let detail = "Use an IANA time zone such as Europe/Lisbon.";
        self.text_as(name, "unknown_timezone", detail, |text| Zone::from_str(text).ok())
    }

    /// An ISO 4217 currency code.
    pub fn currency(&mut self, name: &str) -> Change<Currency> {
        let detail = "Use an uppercase ISO 4217 currency code such as EUR.";
        self.text_as(name, "unknown_currency", detail, |text| text.parse().ok())
    }

    /// A color as `#rrggbb`.
    pub fn color(&mut self, name: &str) -> Change<String> {
        let detail = "Use a color as # and six hexadecimal digits, such as #0b5cad.";
        let read = |text: &str| text::is_color(text).then(|| text.to_owned());
        self.text_as(name, "invalid_color", detail, read)
    }

    /// An object whose values are text.
    pub fn metadata(&mut self, name: &str) -> Change<Metadata> {
        let object = self
            .take(name, "an object whose values are strings", |value| value.as_object().cloned());
        and_then(object, |object| self.metadata_of(name, object))
    }

    fn metadata_of(&mut self, name: &str, object: Map<String, Value>) -> Change<Metadata> {
        if object.len() > Metadata::MAX_PAIRS {
            let detail = message!("Use at most {max} keys.", max = Metadata::MAX_PAIRS);
            self.fault(name, "too_many", detail);
            return Change::Keep;
        }
        let mut pairs = BTreeMap::new();
        for (key, value) in object {
            let place = format!("{name}/{}", escape_pointer(&key));
            let checked_key = text::normalize_line(&key, Metadata::MAX_KEY_CHARS).ok();
            if checked_key.is_none() {
                let max = Metadata::MAX_KEY_CHARS;
                let detail = message!(
                    "A metadata key must have 1 to {max} characters, and no control characters.",
                    max
                );
                self.fault(&place, "invalid_key", detail);
            }
            let value = match value {
                // An empty value is valid: the key alone may carry the meaning.
                Value::String(value) if value.trim().is_empty() => Some(String::new()),
                Value::String(value) => self
                    .check_text(&place, text::normalize_block(&value, Metadata::MAX_VALUE_CHARS)),
                _ => {
                    self.fault(&place, "wrong_type", "Metadata values must be strings.");
                    None
                }
            };
            if let (Some(key), Some(value)) = (checked_key, value)
                && pairs.insert(key, value).is_some()
            {
                let detail = "Another key is the same after trimming and Unicode normalization.";
                self.fault(&place, "repeated", detail);
            }
        }
        Change::Set(Metadata::new(&pairs))
    }

    /// A value of an enum.
    pub fn enum_value<W: StringEnum>(&mut self, name: &str) -> Change<W> {
        let detail = message!("Use one of: {choices}.", choices = W::choices());
        self.text_as(name, "unknown_value", detail, W::parse)
    }

    /// A whole number within bounds.
    pub fn number(&mut self, name: &str, min: i64, max: i64) -> Change<i64> {
        // A whole number beyond 64 bits is out of range, and not of the wrong type.
        let too_large =
            |value: &Value| value.as_f64().filter(|n| n.fract() == 0.0 && n.abs() > 1e18);
        let saturated = |n: f64| if n > 0.0 { i64::MAX } else { i64::MIN };
        let number = self.take(name, "an integer", |value| {
            value.as_i64().or_else(|| too_large(value).map(saturated))
        });
        self.check_range(name, number, min, max)
    }

    /// A number within bounds.
    pub fn real(&mut self, name: &str, min: f64, max: f64) -> Change<f64> {
        let number = self.take(name, "a number", Value::as_f64);
        self.check_range(name, number, min, max)
    }

    /// A list of distinct whole numbers within bounds.
    pub fn numbers(
        &mut self,
        name: &str,
        max_items: usize,
        min: i64,
        max: i64,
    ) -> Change<Vec<i64>> {
        self.items_of(name, max_items, |fields, place, item, before| match item.as_i64() {
            None => {
                fields.fault(place, "wrong_type", "This must be an integer.");
                None
            }
            Some(number) if before.contains(&number) => {
                fields.fault(place, "repeated", "This value is in the list more than once.");
                None
            }
            Some(number) => fields.check_range(place, Change::Set(number), min, max).apply(None),
        })
    }

    fn check_range<T: PartialOrd + ToValue>(
        &mut self,
        name: &str,
        number: Change<T>,
        min: T,
        max: T,
    ) -> Change<T> {
        match number {
            Change::Set(number) if number < min || number > max => {
                let detail = message!("This must be between {min} and {max}.", min, max);
                self.fault(name, "out_of_range", detail);
                Change::Keep
            }
            number => number,
        }
    }

    /// A calendar date.
    pub fn day(&mut self, name: &str) -> Change<Day> {
        let detail = "Use a date such as 2026-09-05.";
        self.text_as(name, "invalid_date", detail, |text| text.parse().ok())
    }

    /// A timestamp with its UTC offset.
    pub fn timestamp(&mut self, name: &str) -> Change<Timestamp> {
        let detail = "Use a time with its UTC offset, such as 2026-09-05T18:30:00+01:00.";
        self.text_as(name, "invalid_time", detail, |text| text.parse().ok())
    }

    /// A value that is parsed from text.
    pub fn parsed<T: FromStr>(
        &mut self,
        name: &str,
        code: &'static str,
        detail: &'static str,
    ) -> Change<T> {
        self.text_as(name, code, detail, |text| text.parse().ok())
    }

    /// The id of an object.
    pub fn id<K: Kind>(&mut self, name: &str) -> Change<Id<K>> {
        self.text_as(name, "invalid_id", not_an_id::<K>(), |text| text.parse().ok())
    }

    /// A list of distinct ids.
    pub fn ids<K: Kind>(&mut self, name: &str, max_items: usize) -> Change<Vec<Id<K>>> {
        let detail = not_an_id::<K>();
        let mut known = Vec::new();
        self.list_of(name, max_items, &detail, |fields, place, text| {
            let Ok(id) = text.trim().parse::<Id<K>>() else {
                fields.fault(place, "invalid_id", detail.clone());
                return None;
            };
            if known.contains(&id) {
                fields.fault(place, "repeated", "This ID is in the list more than once.");
                return None;
            }
            known.push(id);
            Some(id)
        })
    }

    /// An email address.
    pub fn email(&mut self, name: &str) -> Change<String> {
        let detail = "Use an email address such as ana@example.org.";
        self.text_as(name, "invalid_email", detail, |text| {
            Some(text::to_nfc(text).into_owned()).filter(|email| contact::is_email(email))
        })
    }

    /// An `http` or `https` URL.
    pub fn url(&mut self, name: &str, max: usize) -> Change<String> {
        let detail = "Use a URL that begins with https:// or http://.";
        self.text_as(name, "invalid_url", detail, |text| {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
            let plain =
                |c: char| !c.is_whitespace() && !c.is_control() && !"<>\"\\^`{|}".contains(c);
            let valid = !rest.starts_with('/') && !rest.is_empty() && text.chars().all(plain);
            (valid && text.chars().count() <= max).then(|| text.to_owned())
        })
    }
}

fn not_an_id<K: Kind>() -> Message {
    message!("Use an ID that begins with {prefix}_.", prefix = K::PREFIX)
}
