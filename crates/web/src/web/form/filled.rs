//! A form with what was entered in it.

use std::collections::BTreeMap;

use super::edit_conflict::FINGERPRINTS;
use super::field::{Field, Kind, Rows};
use super::parse;
use super::{Faults, Form};
use crate::prelude::*;
use crate::web::form_dedup::Nonce;
use crate::web::sentence::{Label, fill};
use crate::web::visitor::url_encode;
use http::StatusCode;

/// The hidden fields that any form can have: against double submission, and to detect changes by others.
const NONCE: &str = "nonce";
const VERSION: &str = "version";

/// A form with its values and errors.
#[derive(Debug, Clone)]
pub struct FilledForm {
    pub(super) fields: &'static [Field],
    pub(super) values: Form,
    pub faults: Faults,
    /// Options that the page adds: value, label and explanation.
    pub(super) options: BTreeMap<&'static str, Vec<(String, String, String)>>,
    pub(super) slots: BTreeMap<&'static str, String>,
    /// Words for placeholders in labels and hints.
    words: Vec<(&'static str, String)>,
    removed: Vec<&'static str>,
    pub(super) hidden: Vec<(&'static str, String)>,
    pub(super) currency: Option<Currency>,
    pub(super) zone: Option<Zone>,
}

impl FilledForm {
    /// A form without values.
    pub fn empty(fields: &'static [Field]) -> Self {
        Self {
            fields,
            values: Form::default(),
            faults: Faults::default(),
            options: BTreeMap::new(),
            slots: BTreeMap::new(),
            words: Vec::new(),
            removed: Vec::new(),
            hidden: Vec::new(),
            currency: None,
            zone: None,
        }
    }

    /// A form as it was submitted. Rows are moved up if there are empty ones between them.
    pub fn submitted(fields: &'static [Field], form: &Form) -> Self {
        let mut filled = Self { values: form.clone(), ..Self::empty(fields) };
        for name in [NONCE, VERSION, FINGERPRINTS] {
            filled.hidden.extend(form.optional(name).map(|value| (name, value.to_owned())));
        }
        for field in fields.iter().flat_map(Field::with_inner) {
            if let Kind::Rows(rows) = field.kind {
                filled.move_rows_up(&rows);
            }
        }
        filled
    }

    /// A form with the values of an object of the API.
    #[must_use]
    pub fn filled_from(mut self, object: &impl Serialize) -> Self {
        let object = serde_json::to_value(object).unwrap_or_default();
        let own = object["currency"].as_str().and_then(|code| code.parse().ok());
        if let Some(currency) = own.or(self.currency) {
            self.currency = Some(currency);
            if let Some(field) = self.currency_field() {
                self.set(field.name, currency.code());
            }
        }
        for field in self.fields.iter().flat_map(Field::with_inner) {
            let value = &object[field.key];
            match field.kind {
                Kind::Currency => {}
                Kind::Rows(rows) => self.fill_rows(&rows, value),
                _ if field.key.is_empty() => {}
                kind => {
                    if let (Kind::AmountOrPercent(by, _), Value::Object(fee)) = (kind, value) {
                        let is_amount = fee.get("amount").is_some_and(Value::is_number);
                        self.values.set(by, [if is_amount { "amount" } else { "percent" }]);
                    }
                    let texts = parse::format(field, value, &self.context(field));
                    self.values.set(field.name, texts);
                }
            }
        }
        self
    }

    fn fill_rows(&mut self, rows: &Rows, list: &Value) {
        for (number, item) in list.as_array().into_iter().flatten().enumerate() {
            for field in rows.fields {
                let texts = parse::format(field, &item[field.key], &self.context(field));
                self.values.set(&row_name(field, rows.first + number), texts);
            }
        }
    }

    fn move_rows_up(&mut self, rows: &Rows) {
        let sent =
            (rows.first..rows.first + rows.max + rows.empty).filter(|n| self.is_filled(rows, *n));
        let texts = |number: usize| {
            let text = |field: &Field| self.values.get(&row_name(field, number)).map(str::to_owned);
            rows.fields.iter().map(text).collect::<Vec<_>>()
        };
        let filled: Vec<_> = sent.map(texts).collect();
        for number in rows.first..rows.first + rows.max + rows.empty {
            let row = filled.get(number - rows.first);
            for (index, field) in rows.fields.iter().enumerate() {
                let text = row.and_then(|row| row[index].clone());
                self.values.set(&row_name(field, number), text);
            }
        }
    }

    /// Whether a row has content. A row of an existing object, which has a hidden id, needs its first field.
    fn is_filled(&self, rows: &Rows, number: usize) -> bool {
        let is_empty = |field: &Field| self.values.text(&row_name(field, number)).is_empty();
        let is_hidden = |field: &&Field| matches!(field.kind, Kind::Hidden);
        let mut visible = rows.fields.iter().filter(|field| !is_hidden(field));
        let exists = rows.fields.iter().filter(is_hidden).any(|field| !is_empty(field));
        visible.next().is_some_and(|field| !is_empty(field))
            || (!exists && visible.any(|field| !is_empty(field)))
    }

    /// Whether any row is filled.
    pub fn has_rows(&self, name: &str) -> bool {
        match self.declared(name).map(|field| field.kind) {
            Some(Kind::Rows(rows)) => !self.filled_rows(&rows).is_empty(),
            _ => false,
        }
    }

    /// The numbers of the filled rows.
    pub(super) fn filled_rows(&self, rows: &Rows) -> std::ops::Range<usize> {
        let numbers = rows.first..rows.first + rows.max + rows.empty;
        let count = numbers.filter(|number| self.is_filled(rows, *number)).count();
        rows.first..rows.first + count
    }

    #[must_use]
    pub fn currency(self, currency: Currency) -> Self {
        Self { currency: Some(currency), ..self.word("currency", currency.code()) }
    }

    #[must_use]
    pub fn zone(self, zone: &Zone) -> Self {
        Self { zone: Some(zone.clone()), ..self.word("zone", zone.name()) }
    }

    /// The text for a placeholder in labels and hints.
    #[must_use]
    pub fn word(mut self, placeholder: &'static str, word: impl ToString) -> Self {
        self.words.push((placeholder, word.to_string()));
        self
    }

    /// Adds a nonce, so that the form takes effect once.
    #[must_use]
    pub fn nonce(self, nonce: String) -> Self {
        self.with_hidden(NONCE, nonce)
    }

    /// Adds the version of the object, to detect changes by others.
    #[must_use]
    pub fn version(self, version: i64) -> Self {
        self.with_hidden(VERSION, version.to_string())
    }

    pub(super) fn with_hidden(mut self, name: &'static str, value: String) -> Self {
        self.hidden.retain(|(known, _)| *known != name);
        self.hidden.push((name, value));
        self
    }

    pub(super) fn hidden_value(&self, name: &str) -> &str {
        self.hidden.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// The version of the object that the form was filled in for. A missing version never matches.
    pub fn expected_version(&self) -> IfMatch {
        super::version_precondition(self.hidden_value(VERSION))
    }

    /// Reports that the object was changed by someone else, and takes over its version.
    pub fn report_conflict(&mut self, version: i64) {
        self.faults = Faults::edit_conflict();
        *self = self.clone().version(version);
    }

    /// Keeps the nonce of a form that is shown again.
    #[must_use]
    pub fn same_nonce(self, nonce: &Nonce) -> Self {
        self.nonce(nonce.value.clone())
    }

    /// Adds options to a field.
    #[must_use]
    pub fn options<V: ToString, L: Label>(
        self,
        name: &'static str,
        options: impl IntoIterator<Item = (V, L)>,
    ) -> Self {
        self.explained_options(name, options.into_iter().map(|(value, label)| (value, label, "")))
    }

    /// Adds options with explanations to a field.
    #[must_use]
    pub fn explained_options<V: ToString, L: Label, A: Label>(
        mut self,
        name: &'static str,
        options: impl IntoIterator<Item = (V, L, A)>,
    ) -> Self {
        let options =
            options.into_iter().map(|(v, l, a)| (v.to_string(), l.into_text(), a.into_text()));
        self.options.entry(name).or_default().extend(options);
        self
    }

    /// Leaves a field out of the form.
    #[must_use]
    pub fn without(mut self, name: &'static str) -> Self {
        self.removed.push(name);
        self
    }

    /// Leaves a field out of the form unless the condition holds.
    #[must_use]
    pub fn only_if(self, condition: bool, name: &'static str) -> Self {
        if condition { self } else { self.without(name) }
    }

    /// Sets the HTML of a slot.
    #[must_use]
    pub fn slot(mut self, name: &'static str, html: String) -> Self {
        self.slots.insert(name, html);
        self
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets all values of a field with several choices.
    #[must_use]
    pub fn with_all(mut self, name: &str, values: impl IntoIterator<Item = String>) -> Self {
        self.values.set(name, values);
        self
    }

    /// Adds the error of a field, unless it is empty. It is translated.
    #[must_use]
    pub fn with_error(mut self, name: &str, error: &str) -> Self {
        if !error.is_empty() {
            self.faults.add(name, t!(error));
        }
        self
    }

    /// Replaces the errors.
    #[must_use]
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.values.set(name, [value.into()]);
    }

    /// Removes the value of a field.
    #[must_use]
    pub fn cleared(mut self, name: &str) -> Self {
        self.values.set(name, None::<String>);
        self
    }

    /// The trimmed value of a field, or its default.
    pub fn text(&self, name: &str) -> &str {
        let default = || self.declared(name).map_or("", |field| field.default);
        self.values.optional(name).unwrap_or_else(default)
    }

    /// All values of a field.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.values.get_all(name)
    }

    pub fn is_checked(&self, name: &str) -> bool {
        self.values.is_checked(name)
    }

    /// All values of the form's fields, for a link or the hidden fields of the next step.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let pairs = self.values.with_prefix("");
        let ours = pairs.filter(|(name, value)| self.declared(name).is_some() && !value.is_empty());
        ours.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The URL of the form with its values, to return to after the visitor has authenticated again.
    pub fn link(&self, path: &str) -> String {
        let encode = |text: &str| url_encode(text).replace('*', "%2A");
        let pairs = self.pairs().into_iter();
        let pairs: Vec<_> = pairs.map(|(n, v)| format!("{n}={}", encode(&v))).collect();
        format!("{path}?{}", pairs.join("&"))
    }

    /// The response status: 422 if the form has errors.
    pub fn status(&self) -> StatusCode {
        if self.faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
    }

    /// The declaration of a field, also of a field in a row.
    fn declared(&self, name: &str) -> Option<&'static Field> {
        let mut fields = self.fields.iter().flat_map(Field::with_inner);
        fields.find_map(|field| match field.kind {
            _ if field.name == name && !name.is_empty() => Some(field),
            Kind::Rows(rows) => rows.fields.iter().find(|field| is_row_name(field, name)),
            _ => None,
        })
    }

    pub(super) fn is_removed(&self, field: &Field) -> bool {
        let removed = |name: &str| !name.is_empty() && self.removed.contains(&name);
        removed(field.name) || field.when.is_some_and(|(control, _)| removed(control))
    }

    /// A label or hint in the reader's language, with its placeholders replaced.
    pub(super) fn fill(&self, text: &'static str, row: Option<usize>) -> String {
        let row = row.map(|row| row.to_string());
        let words = self.words.iter().map(|(name, word)| (*name, word.as_str()));
        let words: Vec<_> = words.chain(row.as_deref().map(|row| ("row", row))).collect();
        fill(text, &words)
    }
}

impl Field {
    /// The field, and the fields of a group.
    pub(super) fn with_inner(&'static self) -> Vec<&'static Self> {
        let mut all = vec![self];
        if let Kind::Group(inner) = self.kind {
            all.extend(inner.iter().flat_map(Self::with_inner));
        }
        all
    }

    pub(super) fn is_page_hidden(&self) -> bool {
        matches!(self.kind, Kind::Hidden) && self.key.is_empty()
    }
}

/// The name of a field in a row.
pub(super) fn row_name(field: &Field, number: usize) -> String {
    field.name.replace("{row}", &number.to_string())
}

/// The number of the row in the name of a field.
pub(super) fn row_number(field: &Field, name: &str) -> Option<usize> {
    let (before, after) = field.name.split_once("{row}")?;
    name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}

fn is_row_name(field: &Field, name: &str) -> bool {
    row_number(field, name).is_some()
}
