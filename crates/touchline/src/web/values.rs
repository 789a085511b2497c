//! The kinds of value a member of a body can have, each with what is said when it is not one.

use std::collections::BTreeMap;
use std::str::FromStr;

use kit::word::Word;
use kit::{Change, Currency, Day, Id, Kind, Timestamp, Zone, contact, text};
use serde_json::Value;

use super::fields::{Fields, escaped};
use crate::metadata::Metadata;

impl Fields {
    /// `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Change<bool> {
        self.member(name, "true or false", Value::as_bool)
    }

    /// A time zone.
    pub fn zone(&mut self, name: &str) -> Change<Zone> {
        let wrong = "This is not a time zone of the IANA database, such as Europe/Lisbon.";
        self.text_as(name, "unknown_timezone", wrong, |text| Zone::from_str(text).ok())
    }

    /// A currency.
    pub fn currency(&mut self, name: &str) -> Change<Currency> {
        let wrong = "This is not a currency of ISO 4217 in capital letters, such as EUR.";
        self.text_as(name, "unknown_currency", wrong, |text| text.parse().ok())
    }

    /// A colour.
    pub fn colour(&mut self, name: &str) -> Change<String> {
        let wrong = "A colour is # and six hexadecimal digits, such as #0b5cad.";
        let read = |text: &str| text::is_colour(text).then(|| text.to_owned());
        self.text_as(name, "invalid_color", wrong, read)
    }

    /// Pairs of text.
    pub fn metadata(&mut self, name: &str) -> Change<Metadata> {
        let object = self.member(name, "an object of texts", |value| value.as_object().cloned());
        let Change::Set(object) = object else {
            return if object == Change::Clear { Change::Clear } else { Change::Keep };
        };
        if object.len() > Metadata::PAIRS {
            let detail = format!("There can be at most {} pairs.", Metadata::PAIRS);
            self.fault(name, "too_many", detail);
            return Change::Keep;
        }
        let mut pairs = BTreeMap::new();
        for (key, value) in object {
            let place = format!("{name}/{}", escaped(&key));
            let kept = self.checked(&place, text::line(&key, Metadata::KEY));
            let value = match value {
                // An empty value is kept: the key alone may say something.
                Value::String(value) if value.trim().is_empty() => Some(String::new()),
                Value::String(value) => self.checked(&place, text::block(&value, Metadata::VALUE)),
                _ => {
                    self.fault(&place, "wrong_type", "A value of metadata must be text.");
                    None
                }
            };
            if let (Some(key), Some(value)) = (kept, value)
                && pairs.insert(key, value).is_some()
            {
                self.fault(
                    &place,
                    "repeated",
                    "Two keys are the same once trimmed and normalised.",
                );
            }
        }
        Change::Set(Metadata::new(&pairs))
    }

    /// One of an enum's words.
    pub fn word<W: Word>(&mut self, name: &str) -> Change<W> {
        let wrong = format!("This must be one of: {}.", W::choices());
        self.text_as(name, "unknown_value", &wrong, W::parse)
    }

    /// A whole number within bounds.
    pub fn number(&mut self, name: &str, least: i64, greatest: i64) -> Change<i64> {
        let number = self.member(name, "a whole number", Value::as_i64);
        self.within(name, number, least, greatest)
    }

    /// A measure within bounds.
    pub fn real(&mut self, name: &str, least: f64, greatest: f64) -> Change<f64> {
        let number = self.member(name, "a number", Value::as_f64);
        self.within(name, number, least, greatest)
    }

    /// A list of whole numbers within bounds, each once.
    pub fn numbers(
        &mut self,
        name: &str,
        most: usize,
        least: i64,
        greatest: i64,
    ) -> Change<Vec<i64>> {
        self.each_of(name, most, |fields, place, item, before| match item.as_i64() {
            None => {
                fields.fault(place, "wrong_type", "This must be a whole number.");
                None
            }
            Some(number) if before.contains(&number) => {
                fields.fault(place, "repeated", "This stands in the list twice.");
                None
            }
            Some(number) => fields.within(place, Change::Set(number), least, greatest).apply(None),
        })
    }

    fn within<T: PartialOrd + std::fmt::Display>(
        &mut self,
        name: &str,
        number: Change<T>,
        least: T,
        greatest: T,
    ) -> Change<T> {
        match number {
            Change::Set(number) if number < least || number > greatest => {
                let detail = format!("This must be from {least} to {greatest}.");
                self.fault(name, "out_of_range", detail);
                Change::Keep
            }
            number => number,
        }
    }

    /// A day of the calendar.
    pub fn day(&mut self, name: &str) -> Change<Day> {
        let wrong = "This is not a day of the calendar, such as 2026-09-05.";
        self.text_as(name, "invalid_date", wrong, |text| text.parse().ok())
    }

    /// A moment, with its offset.
    pub fn moment(&mut self, name: &str) -> Change<Timestamp> {
        let wrong = "This is not a time with its offset, such as 2026-09-05T18:30:00+01:00.";
        self.text_as(name, "invalid_time", wrong, |text| text.parse().ok())
    }

    /// A value that is written as text and reads itself.
    pub fn parsed<T: FromStr>(&mut self, name: &str, code: &'static str, wrong: &str) -> Change<T> {
        self.text_as(name, code, wrong, |text| text.parse().ok())
    }

    /// The id of an object.
    pub fn id<K: Kind>(&mut self, name: &str) -> Change<Id<K>> {
        self.text_as(name, "invalid_id", &not_an_id::<K>(), |text| text.parse().ok())
    }

    /// The ids of at most so many objects, each once.
    pub fn ids<K: Kind>(&mut self, name: &str, most: usize) -> Change<Vec<Id<K>>> {
        let wrong = not_an_id::<K>();
        let mut known = Vec::new();
        self.list_of(name, most, &wrong, |fields, place, text| {
            let Ok(id) = text.trim().parse::<Id<K>>() else {
                fields.fault(place, "invalid_id", wrong.clone());
                return None;
            };
            if known.contains(&id) {
                fields.fault(place, "repeated", "This stands in the list before.");
                return None;
            }
            known.push(id);
            Some(id)
        })
    }

    /// An address of mail.
    pub fn email(&mut self, name: &str) -> Change<String> {
        let wrong = "This is not an address of mail, such as ana@example.org.";
        let read = |text: &str| Some(text::normalised(text).into_owned());
        self.text_as(name, "invalid_email", wrong, |text| {
            read(text).filter(|t| contact::is_email(t))
        })
    }

    /// An address on the web.
    pub fn link(&mut self, name: &str, max: usize) -> Change<String> {
        let wrong = "This is not an address that begins with https:// or http://.";
        self.text_as(name, "invalid_url", wrong, |text| {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
            let plain =
                |c: char| !c.is_whitespace() && !c.is_control() && !"<>\"\\^`{|}".contains(c);
            let whole = !rest.starts_with('/') && !rest.is_empty() && text.chars().all(plain);
            (whole && text.chars().count() <= max).then(|| text.to_owned())
        })
    }
}

fn not_an_id<K: Kind>() -> String {
    format!("This is not an id that begins with {}_.", K::PREFIX)
}
