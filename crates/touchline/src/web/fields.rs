//! Reads the members of a body one by one and collects every fault, so that a caller learns all of
//! them at once.

use kit::Change;
use kit::text::{self, TextFault};
use serde_json::{Map, Value};

use crate::error::{Code, Error, Fault, Result};

/// At most so many faults of a body or a query are told.
pub(super) const FAULTS: usize = 50;
const UNKNOWN: &str = "unknown_member";

/// A type that is read from the members of a body.
pub trait FromBody: Sized {
    /// How many bytes such a body can have.
    const LARGEST: usize = 1024 * 1024;

    /// Takes the members it knows. Faults are noted in `fields`; what is returned then is not used.
    fn read(fields: &mut Fields) -> Self;
}

/// The members of a JSON object that were not read yet, and the faults found so far.
#[derive(Debug)]
pub struct Fields {
    members: Map<String, Value>,
    faults: Vec<Fault>,
    /// Where in the body this object stands; empty for the body itself.
    place: String,
}

impl Fields {
    /// The members of a body, which must be an object.
    pub fn new(body: Value) -> Result<Self> {
        match body {
            Value::Object(members) => {
                Ok(Self { members, faults: Vec::new(), place: String::new() })
            }
            _ => Err(Error::new(Code::InvalidJson, "The body must be a JSON object.")),
        }
    }

    /// Reads a whole body; the error names every unknown member and every fault.
    pub fn read<T: FromBody>(body: Value) -> Result<T> {
        let mut fields = Self::new(body)?;
        let read = T::read(&mut fields);
        fields.finish().map(|()| read)
    }

    /// Notes every member that nobody read.
    fn close(&mut self) {
        for (name, _) in std::mem::take(&mut self.members) {
            let detail = format!("The member {name:?} is not known here.");
            self.fault(&escaped(&name), UNKNOWN, detail);
        }
    }

    fn finish(mut self) -> Result<()> {
        self.close();
        if self.faults.is_empty() {
            return Ok(());
        }
        let unknown = self.faults.iter().any(|fault| fault.code == UNKNOWN);
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
        self.faults.push(Fault::new(self.pointer(name), code, detail));
    }

    /// Whether a fault of this member was noted.
    pub fn is_faulty(&self, name: &str) -> bool {
        let pointer = self.pointer(name);
        let below = format!("{pointer}/");
        self.faults.iter().any(|f| f.pointer == pointer || f.pointer.starts_with(&below))
    }

    fn pointer(&self, name: &str) -> String {
        // A place below a member was escaped when it was put together.
        format!("{}/{name}", self.place)
    }

    /// A member that must be there: `None` only if a fault was noted.
    pub fn required<T>(&mut self, name: &str, read: Change<T>) -> Option<T> {
        match read {
            Change::Set(value) => return Some(value),
            Change::Clear => self.fault(name, "required", "This member must not be null."),
            Change::Keep if self.is_faulty(name) => {}
            Change::Keep => self.fault(name, "required", "This member is required."),
        }
        None
    }

    /// A member that may be left out but not cleared.
    pub fn kept<T>(&mut self, name: &str, read: Change<T>) -> Option<T> {
        match read {
            Change::Set(value) => return Some(value),
            Change::Clear => self.fault(name, "required", "This member must not be null."),
            Change::Keep => {}
        }
        None
    }

    /// A member that must be there and must be text on one line.
    pub fn required_line(&mut self, name: &str, max: usize) -> String {
        let line = self.line(name, max);
        self.required(name, line).unwrap_or_default()
    }

    /// Text on one line that may be left out but not cleared.
    pub fn kept_line(&mut self, name: &str, max: usize) -> Option<String> {
        let line = self.line(name, max);
        self.kept(name, line)
    }

    /// An object of its own inside the body.
    pub fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Change<T> {
        let object = self.member(name, "an object", |value| value.as_object().cloned());
        match object {
            Change::Set(members) => Change::Set(self.inside(name, members, read)),
            Change::Clear => Change::Clear,
            Change::Keep => Change::Keep,
        }
    }

    /// A list of objects, at most so many.
    pub fn objects<T>(
        &mut self,
        name: &str,
        max: usize,
        mut read: impl FnMut(&mut Self) -> T,
    ) -> Change<Vec<T>> {
        let items = self.items(name, max);
        let Change::Set(items) = items else {
            return if items == Change::Clear { Change::Clear } else { Change::Keep };
        };
        let mut found = Vec::with_capacity(items.len());
        for (position, item) in items.into_iter().enumerate() {
            let place = format!("{name}/{position}");
            if let Value::Object(members) = item {
                found.push(self.inside(&place, members, &mut read));
            } else {
                self.fault(&place, "wrong_type", "This must be an object.");
            }
        }
        Change::Set(found)
    }

    /// A list of texts on one line each, at most so many.
    pub fn lines(&mut self, name: &str, most: usize, max: usize) -> Change<Vec<String>> {
        let wrong = "This must be text.";
        self.list_of(name, most, wrong, |fields, place, text| {
            fields.checked(place, text::line(text, max))
        })
    }

    /// A list of values that are written as texts.
    pub(super) fn list_of<T>(
        &mut self,
        name: &str,
        most: usize,
        wrong: &str,
        mut read: impl FnMut(&mut Self, &str, &str) -> Option<T>,
    ) -> Change<Vec<T>> {
        self.each_of(name, most, |fields, place, item, _| {
            if let Some(text) = item.as_str() {
                return read(fields, place, text);
            }
            fields.fault(place, "wrong_type", wrong);
            None
        })
    }

    /// A list of values, each read with its place and those that came before it.
    pub(super) fn each_of<T>(
        &mut self,
        name: &str,
        most: usize,
        mut read: impl FnMut(&mut Self, &str, &Value, &[T]) -> Option<T>,
    ) -> Change<Vec<T>> {
        let items = self.items(name, most);
        let Change::Set(items) = items else {
            return if items == Change::Clear { Change::Clear } else { Change::Keep };
        };
        let mut found = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            let read = read(self, &format!("{name}/{position}"), item, &found);
            found.extend(read);
        }
        Change::Set(found)
    }

    fn items(&mut self, name: &str, most: usize) -> Change<Vec<Value>> {
        let items = self.member(name, "a list", |value| value.as_array().cloned());
        match items {
            Change::Set(items) if items.len() > most => {
                self.fault(name, "too_many", format!("There can be at most {most}."));
                Change::Keep
            }
            items => items,
        }
    }

    /// Reads an object below this one, with its faults told at their place.
    fn inside<T>(
        &mut self,
        place: &str,
        members: Map<String, Value>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let place = self.pointer(place);
        let mut below = Self { members, faults: Vec::new(), place };
        let value = read(&mut below);
        below.close();
        self.faults.append(&mut below.faults);
        value
    }

    /// Text on one line.
    pub fn line(&mut self, name: &str, max: usize) -> Change<String> {
        self.text(name, |text| text::line(text, max))
    }

    /// Text of several lines.
    pub fn block(&mut self, name: &str, max: usize) -> Change<String> {
        self.text(name, |text| text::block(text, max))
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

    pub(super) fn text_as<T>(
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
    pub(super) fn member<T>(
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

    pub(super) fn checked(
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

/// A name as a part of a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use kit::Zone;
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
