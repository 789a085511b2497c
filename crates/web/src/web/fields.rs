//! Reads the fields of a JSON body one by one and collects all faults, so that the caller learns about them at once.

use kit::text::{self, TextFault};
use serde_json::Map;

use crate::i18n::Message;
use crate::prelude::*;

/// The maximum number of reported faults of a body or a query.
pub(super) const MAX_FAULTS: usize = 50;
const UNKNOWN: &str = "unknown_field";

/// A type that is read from the fields of a body.
pub trait FromBody: Sized {
    /// The maximum size of such a body, in bytes.
    const MAX_BYTES: usize = 1024 * 1024;

    /// Takes the fields it knows. Faults are added to `fields`; if there are any, the returned value is not used.
    fn read(fields: &mut Fields) -> Self;
}

/// The fields of a JSON object that were not read yet, and the faults so far.
#[derive(Debug)]
pub struct Fields {
    remaining: Map<String, Value>,
    faults: Vec<Fault>,
    /// The JSON pointer of this object. Empty for the body itself.
    pointer: String,
}

impl Fields {
    /// The fields of a body, which must be an object.
    pub fn new(body: Value) -> Result<Self> {
        match body {
            Value::Object(members) => {
                Ok(Self { remaining: members, faults: Vec::new(), pointer: String::new() })
            }
            _ => Err(Error::new(Code::InvalidJson, "The body must be a JSON object.")),
        }
    }

    /// Reads a whole body. The error lists all unknown fields and all faults.
    pub fn read<T: FromBody>(body: Value) -> Result<T> {
        let mut fields = Self::new(body)?;
        let read = T::read(&mut fields);
        fields.finish().map(|()| read)
    }

    /// Reports the fields that were not read as unknown.
    fn reject_unknown(&mut self) {
        for (name, _) in std::mem::take(&mut self.remaining) {
            let detail = "This field is unknown. Remove it or check its spelling.";
            self.fault(&escape_pointer(&name), UNKNOWN, detail);
        }
    }

    fn finish(mut self) -> Result<()> {
        self.reject_unknown();
        let Some(first) = self.faults.first() else { return Ok(()) };
        let unknown = self.faults.iter().find(|fault| fault.code == UNKNOWN);
        let code = if unknown.is_some() { Code::InvalidParameter } else { Code::ValidationFailed };
        let first = unknown.unwrap_or(first).clone();
        // `detail` describes the first problem of the list.
        self.faults.sort_by_key(|fault| fault.code != UNKNOWN);
        let error = Error::new(code, first.located_detail(&first.pointer));
        self.faults.truncate(MAX_FAULTS);
        Err(Error { faults: self.faults, ..error })
    }

    /// Reports a fault of a field.
    pub fn fault(&mut self, name: &str, code: &'static str, detail: impl Into<Message>) {
        self.faults.push(Fault::new(self.pointer(name), code, detail));
    }

    /// Whether any fault was reported. Then the body is not checked further, so rules between fields that are otherwise
    /// checked later, together with the database, must be checked now.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Whether a fault of this field, or of something inside it, was reported.
    pub fn is_faulty(&self, name: &str) -> bool {
        let pointer = self.pointer(name);
        let below = format!("{pointer}/");
        self.faults.iter().any(|f| f.pointer == pointer || f.pointer.starts_with(&below))
    }

    fn pointer(&self, name: &str) -> String {
        // `name` may be a path inside a field, whose parts are escaped already.
        format!("{}/{name}", self.pointer)
    }

    /// Whether a field was sent with a value and not read yet.
    pub fn has(&self, name: &str) -> bool {
        self.remaining.get(name).is_some_and(|value| !value.is_null())
    }

    /// Reports a fault of the first of these fields if none of them was sent. Call it before reading them.
    pub fn require_any(&mut self, names: &[&str], detail: &'static str) {
        if !names.iter().any(|name| self.has(name)) {
            self.fault(names[0], "required", detail);
        }
    }

    /// Reports faults of rules that span several fields. A field that is already faulty gets no second fault.
    pub fn add_faults(&mut self, faults: Vec<Fault>) {
        for fault in faults {
            if !self.is_faulty(fault.pointer.trim_start_matches('/')) {
                self.faults.push(fault);
            }
        }
    }

    /// A required field. `None` only if a fault was reported.
    pub fn required<T>(&mut self, name: &str, read: Change<T>) -> Option<T> {
        if matches!(read, Change::Keep) && !self.is_faulty(name) {
            self.fault(name, "required", "This field is required.");
        }
        self.non_null(name, read)
    }

    /// A field that may be omitted but not null.
    pub fn non_null<T>(&mut self, name: &str, read: Change<T>) -> Option<T> {
        match read {
            Change::Set(value) => return Some(value),
            Change::Clear => self.fault(name, "required", "This field must not be null."),
            Change::Keep => {}
        }
        None
    }

    /// A required single line of text.
    pub fn required_line(&mut self, name: &str, max: usize) -> String {
        let line = self.line(name, max);
        self.required(name, line).unwrap_or_default()
    }

    /// A nested object.
    pub fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Change<T> {
        let object = self.take(name, "an object", |value| value.as_object().cloned());
        and_then(object, |members| Change::Set(self.read_nested(name, members, read)))
    }

    /// A list of at most `max` objects.
    pub fn objects<T>(
        &mut self,
        name: &str,
        max: usize,
        mut read: impl FnMut(&mut Self) -> T,
    ) -> Change<Vec<T>> {
        self.items_of(name, max, |fields, place, item, _| {
            if let Value::Object(members) = item {
                return Some(fields.read_nested(place, members.clone(), &mut read));
            }
            fields.fault(place, "wrong_type", "This must be an object.");
            None
        })
    }

    /// A list of at most `max_items` single lines of text.
    pub fn lines(&mut self, name: &str, max_items: usize, max: usize) -> Change<Vec<String>> {
        let detail = message!("This must be a string.");
        self.list_of(name, max_items, &detail, |fields, place, text| {
            fields.check_text(place, text::normalize_line(text, max))
        })
    }

    /// A list of values that are parsed from text.
    pub(super) fn list_of<T>(
        &mut self,
        name: &str,
        max_items: usize,
        detail: &Message,
        mut read: impl FnMut(&mut Self, &str, &str) -> Option<T>,
    ) -> Change<Vec<T>> {
        self.items_of(name, max_items, |fields, place, item, _| {
            if let Some(text) = item.as_str() {
                return read(fields, place, text);
            }
            fields.fault(place, "wrong_type", detail);
            None
        })
    }

    /// A list of values. `read` gets the path of an item, the item, and the values before it.
    pub(super) fn items_of<T>(
        &mut self,
        name: &str,
        max_items: usize,
        mut read: impl FnMut(&mut Self, &str, &Value, &[T]) -> Option<T>,
    ) -> Change<Vec<T>> {
        let items = self.take(name, "an array", |value| value.as_array().cloned());
        and_then(items, |items| {
            if items.len() > max_items {
                let detail = message!("Send at most {max_items} items.", max_items);
                self.fault(name, "too_many", detail);
                return Change::Keep;
            }
            let mut values = Vec::with_capacity(items.len());
            for (position, item) in items.iter().enumerate() {
                let value = read(self, &format!("{name}/{position}"), item, &values);
                values.extend(value);
            }
            Change::Set(values)
        })
    }

    /// Reads a nested object and reports its faults with their full pointers.
    fn read_nested<T>(
        &mut self,
        place: &str,
        members: Map<String, Value>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let place = self.pointer(place);
        let mut nested = Self { remaining: members, faults: Vec::new(), pointer: place };
        let value = read(&mut nested);
        nested.reject_unknown();
        self.faults.append(&mut nested.faults);
        value
    }

    /// A single line of text.
    pub fn line(&mut self, name: &str, max: usize) -> Change<String> {
        self.text(name, |text| text::normalize_line(text, max))
    }

    /// Text with several lines.
    pub fn block(&mut self, name: &str, max: usize) -> Change<String> {
        self.text(name, |text| text::normalize_block(text, max))
    }

    fn text(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> std::result::Result<String, TextFault>,
    ) -> Change<String> {
        let text = self.take(name, "a string", |value| value.as_str().map(str::to_owned));
        and_then(text, |text| self.check_text(name, read(&text)).map_or(Change::Keep, Change::Set))
    }

    pub(super) fn text_as<T>(
        &mut self,
        name: &str,
        code: &'static str,
        detail: impl Into<Message>,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Change<T> {
        let text = self.take(name, "a string", |value| value.as_str().map(str::to_owned));
        and_then(text, |text| {
            let value = read(text.trim());
            if value.is_none() {
                self.fault(name, code, detail);
            }
            value.map_or(Change::Keep, Change::Set)
        })
    }

    /// Takes a field and reads it. A value of another type is a fault.
    pub(super) fn take<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Change<T> {
        match self.remaining.remove(name) {
            None => Change::Keep,
            Some(Value::Null) => Change::Clear,
            Some(value) => {
                let value = read(&value);
                if value.is_none() {
                    let detail = message!("This field must be {wanted}.", wanted);
                    self.fault(name, "wrong_type", detail);
                }
                value.map_or(Change::Keep, Change::Set)
            }
        }
    }

    pub(super) fn check_text(
        &mut self,
        place: &str,
        read: std::result::Result<String, TextFault>,
    ) -> Option<String> {
        let (code, detail) = match read {
            Ok(text) => return Some(text),
            Err(TextFault::Empty) => ("empty", message!("This must not be empty.")),
            Err(TextFault::TooLong { max }) => {
                ("too_long", message!("Use at most {max} characters.", max))
            }
            Err(TextFault::Control) => {
                ("control_character", message!("This must not contain control characters."))
            }
        };
        self.fault(place, code, detail);
        None
    }
}

/// Continues with the value of a field that was sent with one.
pub(super) fn and_then<T, U>(change: Change<T>, next: impl FnOnce(T) -> Change<U>) -> Change<U> {
    match change {
        Change::Keep => Change::Keep,
        Change::Clear => Change::Clear,
        Change::Set(value) => next(value),
    }
}

/// Escapes a name for a JSON pointer (RFC 6901).
pub(super) fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use kit::{Timestamp, Zone};
    use macros::input;
    use serde_json::json;
    use utoipa::PartialSchema;

    use super::*;

    #[input]
    struct Sample {
        #[input(line(5))]
        name: String,
        zone: Change<Zone>,
        #[input(number(1, 9), non_null)]
        size: Option<i64>,
        #[input(default = true)]
        shared: bool,
        #[input(objects(2), default)]
        parts: Vec<Part>,
    }

    #[input(faults)]
    struct Part {
        #[input(name = "from", number(0, i64::MAX))]
        first: i64,
        to: Option<Timestamp>,
    }

    impl Part {
        fn faults(&self) -> Vec<Fault> {
            let fault = || Fault::new("/to", "not_with_zero", "");
            (self.first == 0 && self.to.is_some()).then(fault).into_iter().collect()
        }
    }

    fn faults(body: Value) -> (Code, Vec<(String, String)>) {
        let error = Fields::read::<Sample>(body).err().unwrap();
        let faults = error.faults.into_iter().map(|f| (f.pointer, f.code.into_owned()));
        (error.code, faults.collect())
    }

    #[test]
    fn all_faults_are_reported_at_once() {
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
    fn valid_fields_are_read() {
        let sample: Sample = Fields::read(json!({ "name": " Zoë ", "zone": null })).unwrap();
        assert_eq!((sample.name.as_str(), sample.zone), ("Zoë", Change::Clear));
        assert!(Fields::read::<Sample>(json!([])).is_err());
        assert_eq!((sample.size, sample.shared, sample.parts.len()), (None, true, 0));
    }

    #[test]
    fn nested_inputs_are_read_as_declared() {
        let parts = json!([{ "from": 1, "to": null }, { "from": -1 }]);
        let body = json!({ "name": "Zoë", "size": null, "shared": null, "parts": parts });
        let (_, found) = faults(body);
        let expected = [("/size", "required"), ("/parts/1/from", "out_of_range")];
        assert_eq!(found, expected.map(|(at, code)| (at.to_owned(), code.to_owned())));
    }

    #[test]
    fn the_schema_has_the_limits_and_the_required_fields() {
        let schema = serde_json::to_value(Sample::schema()).unwrap();
        assert_eq!(schema["required"], json!(["name"]));
        assert_eq!(
            schema["properties"]["name"],
            json!({ "type": "string", "minLength": 1, "maxLength": 5 })
        );
        let size = &schema["properties"]["size"];
        assert_eq!((&size["minimum"], &size["maximum"]), (&json!(1), &json!(9)));
        let part = serde_json::to_value(Part::schema()).unwrap();
        assert_eq!(part["properties"]["from"]["minimum"], json!(0));
        assert_eq!(part["properties"]["from"]["maximum"], Value::Null);
    }
}
