//! Reads the members of a body one by one and collects every fault, so that a caller learns all of
//! them at once.

use std::collections::BTreeMap;
use std::str::FromStr;

use kit::text::{self, TextFault};
use kit::{Change, Zone};
use serde_json::{Map, Value};

use crate::error::{Code, Error, Fault, Result};
use crate::metadata::Metadata;

/// At most so many faults of a body or a query are told.
pub(super) const FAULTS: usize = 50;

/// A type that is read from the members of a body.
pub trait FromBody: Sized {
    /// Takes the members it knows. Faults are noted in `fields`; what is returned then is not used.
    fn read(fields: &mut Fields) -> Self;
}

/// The members of a JSON object that were not read yet, and the faults found so far.
#[derive(Debug)]
pub struct Fields {
    members: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Fields {
    /// The members of a body, which must be an object.
    pub fn new(body: Value) -> Result<Self> {
        match body {
            Value::Object(members) => Ok(Self { members, faults: Vec::new() }),
            _ => Err(Error::new(Code::InvalidJson, "The body must be a JSON object.")),
        }
    }

    /// Reads a whole body; the error names every unknown member and every fault.
    pub fn read<T: FromBody>(body: Value) -> Result<T> {
        let mut fields = Self::new(body)?;
        let read = T::read(&mut fields);
        fields.finish().map(|()| read)
    }

    fn finish(mut self) -> Result<()> {
        let unknown = !self.members.is_empty();
        for name in self.members.keys() {
            let detail = format!("The member {name:?} is not known here.");
            self.faults.push(Fault::new(pointer(&escaped(name)), "unknown_member", detail));
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        self.faults.truncate(FAULTS);
        let error = if unknown {
            Error::new(Code::InvalidParameter, "The body has members that are not known here.")
        } else {
            Error::new(Code::ValidationFailed, "Some members of the body are not valid.")
        };
        Err(Error { faults: self.faults, ..error })
    }

    /// Notes a fault of a member.
    pub fn fault(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        self.faults.push(Fault::new(pointer(name), code, detail));
    }

    /// A member that must be there and must be text on one line.
    pub fn required_line(&mut self, name: &str, max: usize) -> String {
        match self.line(name, max) {
            Change::Set(text) => text,
            Change::Clear => self.refuse_null(name),
            Change::Keep if self.faults.iter().any(|fault| fault.pointer == pointer(name)) => {
                String::new()
            }
            Change::Keep => {
                self.fault(name, "required", "This member is required.");
                String::new()
            }
        }
    }

    /// A member that may be left out but not cleared.
    pub fn kept_line(&mut self, name: &str, max: usize) -> Option<String> {
        match self.line(name, max) {
            Change::Set(text) => Some(text),
            Change::Clear => Some(self.refuse_null(name)),
            Change::Keep => None,
        }
    }

    fn refuse_null(&mut self, name: &str) -> String {
        self.fault(name, "required", "This member must not be null.");
        String::new()
    }

    /// Text on one line.
    pub fn line(&mut self, name: &str, max: usize) -> Change<String> {
        self.text(name, |text| text::line(text, max))
    }

    /// Text of several lines.
    pub fn block(&mut self, name: &str, max: usize) -> Change<String> {
        self.text(name, |text| text::block(text, max))
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Change<bool> {
        self.member(name, "true or false", Value::as_bool)
    }

    /// A time zone.
    pub fn zone(&mut self, name: &str) -> Change<Zone> {
        let wrong = "This is not a time zone of the IANA database, such as Europe/Lisbon.";
        self.text_as(name, "unknown_timezone", wrong, |text| Zone::from_str(text).ok())
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

    fn text(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> std::result::Result<String, TextFault>,
    ) -> Change<String> {
        let text = self.member(name, "text", |value| value.as_str().map(str::to_owned));
        let Change::Set(text) = text else { return text };
        self.checked(name, read(&text)).map_or(Change::Keep, Change::Set)
    }

    fn text_as<T>(
        &mut self,
        name: &str,
        code: &'static str,
        wrong: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Change<T> {
        match self.member(name, "text", |value| value.as_str().map(str::to_owned)) {
            Change::Keep => Change::Keep,
            Change::Clear => Change::Clear,
            Change::Set(text) => read(text.trim()).map_or_else(
                || {
                    self.fault(name, code, wrong);
                    Change::Keep
                },
                Change::Set,
            ),
        }
    }

    /// Takes a member out and reads it; one of another type is a fault.
    fn member<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Change<T> {
        match self.members.remove(name) {
            None => Change::Keep,
            Some(Value::Null) => Change::Clear,
            Some(value) => read(&value).map_or_else(
                || {
                    self.fault(name, "wrong_type", format!("This member must be {wanted}."));
                    Change::Keep
                },
                Change::Set,
            ),
        }
    }

    fn checked(
        &mut self,
        place: &str,
        read: std::result::Result<String, TextFault>,
    ) -> Option<String> {
        let (code, detail) = match read {
            Ok(text) => return Some(text),
            Err(TextFault::Empty) => ("empty", "This text must not be empty.".to_owned()),
            Err(TextFault::TooLong { max }) => {
                ("too_long", format!("This text can have at most {max} characters."))
            }
            Err(TextFault::Control) => {
                ("control_character", "This text has a control character.".to_owned())
            }
        };
        self.fault(place, code, detail);
        None
    }
}

fn pointer(name: &str) -> String {
    // A place below a member was escaped when it was put together.
    format!("/{name}")
}

/// A name as a part of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Thing {
        name: String,
        zone: Change<Zone>,
    }

    impl FromBody for Thing {
        fn read(fields: &mut Fields) -> Self {
            Self { name: fields.required_line("name", 5), zone: fields.zone("zone") }
        }
    }

    fn faults(body: Value) -> (Code, Vec<(String, String)>) {
        let error = Fields::read::<Thing>(body).err().unwrap();
        let faults = error.faults.into_iter().map(|f| (f.pointer, f.code.into_owned()));
        (error.code, faults.collect())
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let (code, found) = faults(json!({ "name": "too long a name", "zone": "Mars" }));
        assert_eq!(code, Code::ValidationFailed);
        assert_eq!(found[0], ("/name".to_owned(), "too_long".to_owned()));
        assert_eq!(found[1], ("/zone".to_owned(), "unknown_timezone".to_owned()));
        let (code, found) = faults(json!({ "nam": "x" }));
        assert_eq!(code, Code::InvalidParameter);
        assert_eq!(found.len(), 2);
        let (_, found) = faults(json!({ "name": null }));
        assert_eq!(found, [("/name".to_owned(), "required".to_owned())]);
        let (_, found) = faults(json!({ "name": 7 }));
        assert_eq!(found, [("/name".to_owned(), "wrong_type".to_owned())]);
    }

    #[test]
    fn good_members_are_read() {
        let thing: Thing = Fields::read(json!({ "name": " Zoë ", "zone": null })).unwrap();
        assert_eq!((thing.name.as_str(), thing.zone), ("Zoë", Change::Clear));
        assert!(Fields::read::<Thing>(json!([])).is_err());
    }
}
