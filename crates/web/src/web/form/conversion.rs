//! Converts a form to the body of an API request, so that the validation of the API applies to both.

use serde_json::Map;

use super::FilledForm;
use super::field::{Field, Kind, Rows};
use super::filled::{row_name, row_number};
use super::parse::{self, Context};
use crate::prelude::*;
use crate::web::fields::{Fields, FromBody};
use crate::web::sentence::fill;

/// The value for the API, or the error. `None` if the value is not sent.
type Parsed = std::result::Result<Option<Value>, String>;

impl FilledForm {
    /// The fields of the form, each with whether it applies.
    fn applicable(&self) -> Vec<(&'static Field, bool)> {
        let mut all = Vec::new();
        let mut open: Vec<_> = self.fields.iter().rev().map(|field| (field, true)).collect();
        while let Some((field, outer)) = open.pop() {
            if self.is_removed(field) {
                continue;
            }
            let chosen = |(name, values): (&str, &[&str])| values.contains(&self.text(name));
            let applies = outer && field.when.is_none_or(chosen);
            all.push((field, applies));
            if let Kind::Group(inner) = field.kind {
                open.extend(inner.iter().rev().map(|field| (field, applies)));
            }
        }
        all
    }

    pub(super) fn context(&self, field: &Field) -> Context<'_> {
        let by = match field.kind {
            Kind::AmountOrPercent(by, _) => self.text(by),
            _ => "",
        };
        Context { currency: self.current_currency(), zone: self.zone.as_ref(), by }
    }

    /// The currency of amounts: that of the currency field, or that of the object.
    pub fn current_currency(&self) -> Option<Currency> {
        let field = self.currency_field();
        field.map_or(self.currency, |field| {
            parse::currency(self.text(field.name)).ok().or(self.currency)
        })
    }

    pub(super) fn currency_field(&self) -> Option<&'static Field> {
        let mut fields = self.fields.iter().flat_map(Field::with_inner);
        fields.find(|f| matches!(f.kind, Kind::Currency) && !self.is_removed(f))
    }

    /// Parses all fields. The errors are added to the form.
    pub fn body(&mut self) -> Value {
        let mut body = Map::new();
        for (field, applies) in self.applicable() {
            match self.read(field, applies) {
                Ok(Some(value)) if !field.key.is_empty() => {
                    body.insert(field.key.to_owned(), value);
                }
                Ok(_) => {}
                Err(error) => self.faults.add(field.name, error),
            }
        }
        body.into()
    }

    fn read(&mut self, field: &'static Field, applies: bool) -> Parsed {
        match field.kind {
            Kind::Group(_) | Kind::Slot | Kind::File => Ok(None),
            Kind::Rows(rows) => self.read_rows(field, &rows, applies),
            _ if !applies => {
                let shown = self.shown_value(field, field.name).unwrap_or_default();
                match field.rejection {
                    "" => {}
                    _ if self.values.text(field.name) == shown => {}
                    error => return Err(t!(error).to_owned()),
                }
                let is_check = matches!(field.kind, Kind::Check(_));
                Ok(if is_check { None } else { Some(Value::Null) })
            }
            Kind::Check(_) => Ok(Some(self.is_checked(field.name).into())),
            Kind::Checks(_) => {
                let values = self.all(field.name);
                match field.required {
                    Some(error) if values.is_empty() => Err(t!(error).to_owned()),
                    _ => Ok(Some(values.into())),
                }
            }
            Kind::Currency if field.required.is_none() && !self.has_amount() => {
                Ok(Some(Value::Null))
            }
            _ => self.read_text(field, field.name),
        }
    }

    /// Whether an amount that applies was entered or is required.
    fn has_amount(&self) -> bool {
        let fields = self.applicable().into_iter();
        fields.filter(|(_, applies)| *applies).any(|(field, _)| {
            let is_filled = field.required.is_some() || !self.text(field.name).is_empty();
            matches!(field.kind, Kind::Amount(_)) && is_filled
        })
    }

    /// The value that was shown, if there is a hidden field with it.
    fn shown_value(&self, field: &Field, name: &str) -> Option<&str> {
        let row = row_number(field, name).map(|number| number.to_string());
        let shown_in = field.shown_in.replace("{row}", &row.unwrap_or_default());
        self.values.get(&shown_in).map(str::trim).filter(|_| !shown_in.is_empty())
    }

    fn read_text(&self, field: &Field, name: &str) -> Parsed {
        if self.shown_value(field, name) == Some(self.text(name)) {
            return Ok(None);
        }
        let text = match field.kind {
            Kind::Line("password") => self.values.get(name).unwrap_or_default().to_owned(),
            _ if row_number(field, name).is_some() => self.values.text(name).to_owned(),
            _ => self.text(name).replace("\r\n", "\n"),
        };
        let value = match field.required {
            None if text.is_empty() => return Ok(Some(Value::Null)),
            Some(error) if text.is_empty() && !error.is_empty() => {
                return Err(t!(error).to_owned());
            }
            _ => parse::parse(field, &text, &self.context(field))?,
        };
        match (field.required, &value) {
            (Some(error), Some(Value::String(text))) if text.is_empty() => {
                Err(t!(error).to_owned())
            }
            (None, Some(Value::String(text))) if text.is_empty() => Ok(Some(Value::Null)),
            (Some(error), Some(_)) if !error.is_empty() && !self.is_option(field) => {
                Err(t!(error).to_owned())
            }
            _ => Ok(value),
        }
    }

    /// Whether the value of a field with options is one of them. Options that are not known yet are not checked.
    fn is_option(&self, field: &Field) -> bool {
        let (Kind::Select(choices) | Kind::Radio(choices)) = field.kind else { return true };
        let added = self.options.get(field.name).into_iter().flatten();
        let added = added.map(|(option, ..)| option.as_str());
        let mut options = choices.iter().map(|choice| choice.value).chain(added).peekable();
        if options.next_if_eq(&"").is_some() && options.peek().is_none() {
            return true;
        }
        options.peek().is_none() || options.any(|option| option == self.text(field.name))
    }

    fn read_rows(&mut self, field: &Field, rows: &Rows, applies: bool) -> Parsed {
        let numbers = self.filled_rows(rows);
        if !applies && !numbers.is_empty() && !field.rejection.is_empty() {
            return Err(t!(field.rejection).to_owned());
        }
        if let Some(error) = field.required.filter(|_| applies && numbers.is_empty()) {
            return Err(t!(error).to_owned());
        }
        let rows = numbers.map(|number| self.read_row(field, rows, number)).collect::<Vec<_>>();
        Ok(if applies { Some(rows.into()) } else { None })
    }

    fn read_row(&mut self, list: &Field, rows: &Rows, number: usize) -> Value {
        let mut row = Map::new();
        for field in rows.fields {
            let name = row_name(field, number);
            match self.read_text(field, &name) {
                Ok(Some(Value::Null)) if matches!(field.kind, Kind::Hidden) => {}
                Ok(Some(value)) if !field.key.is_empty() => {
                    row.insert(field.key.to_owned(), value);
                }
                Ok(_) => {}
                Err(error) if rows.error.is_empty() => self.faults.add(&name, error),
                Err(error) => {
                    let number = number.to_string();
                    let text = fill(rows.error, &[("row", &number), ("error", &error)]);
                    self.faults.add(list.name, text);
                }
            }
        }
        row.into()
    }

    /// Reads the body with the rules of the API. `None` if the form has errors, which are added to it.
    pub fn finish<T: FromBody>(&mut self, body: Value) -> Option<T> {
        match Fields::read(body) {
            Ok(read) => Some(read).filter(|_| self.faults.is_empty()),
            Err(error) => {
                // What is missing in the body because the form has an error is not reported again.
                let has_faults = !self.faults.is_empty();
                for fault in error.faults.iter().filter(|f| !(has_faults && f.code == "required")) {
                    self.add_fault(fault);
                }
                None
            }
        }
    }

    /// Parses the form and reads it with the rules of the API.
    pub fn parse<T: FromBody>(&mut self) -> Option<T> {
        let body = self.body();
        self.finish(body)
    }

    /// The result of an action. `None` if the user can correct the error in the form, where it is then shown.
    pub fn accept<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_correctable(&error) => {
                self.add_error(&error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds the faults of an error, each at its field. Faults of other fields are errors of the whole form.
    pub fn add_error(&mut self, error: &Error) {
        for fault in &error.faults {
            self.add_fault(fault);
        }
        if self.faults.is_empty() {
            self.faults.add("", error.detail.clone());
        }
    }

    /// Adds a fault at its field.
    pub fn add_fault(&mut self, fault: &Fault) {
        let name = self.field_of(&fault.pointer);
        self.faults.add(&name, fault.detail.clone());
    }

    /// The name of the field for a JSON pointer.
    fn field_of(&self, pointer: &str) -> String {
        let mut parts = pointer.trim_start_matches('/').split('/');
        let (key, index, inner) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let has_errors = |field: &&Field| !matches!(field.kind, Kind::Group(_));
        let mut fields = self.fields.iter().flat_map(Field::with_inner).filter(has_errors);
        let field =
            fields.find(|field| field.key == key || (field.key.is_empty() && field.name == key));
        let Some(field) = field.filter(|_| !key.is_empty()) else { return String::new() };
        if let (Kind::Rows(rows), Some(index), Some(inner)) = (field.kind, index, inner) {
            let field = rows.fields.iter().find(|field| field.key == inner);
            let field = field.filter(|_| rows.error.is_empty()).zip(index.parse::<usize>().ok());
            if let Some((field, index)) = field {
                return row_name(field, rows.first + index);
            }
        }
        field.name.to_owned()
    }
}

/// Whether the user can correct an error in the form.
fn is_correctable(error: &Error) -> bool {
    match error.code {
        Code::ValidationFailed | Code::Conflict | Code::InvalidState | Code::Taken | Code::Gone => {
            true
        }
        Code::Forbidden => !error.faults.is_empty(),
        _ => false,
    }
}
