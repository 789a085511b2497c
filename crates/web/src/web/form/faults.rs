//! The errors of a form.

use std::collections::BTreeMap;

use crate::error::Error;

/// The error for a form whose object was changed by someone else.
const EDIT_CONFLICT: &str = mark!(
    "Somebody else changed this while you had it open. Your entries are still here. Check the marked fields, then save \
    again."
);

/// The errors of a form, by field name. An error of the whole form has an empty name.
#[derive(Debug, Clone, Default)]
pub struct Faults(BTreeMap<String, String>);

impl Faults {
    /// The error for an object that was changed by someone else.
    pub fn edit_conflict() -> Self {
        Self(BTreeMap::from([(String::new(), t!(EDIT_CONFLICT).to_owned())]))
    }

    /// Adds the error of a field. The first error of each field is kept.
    pub fn add(&mut self, field: &str, text: impl Into<String>) {
        self.0.entry(field.to_owned()).or_insert_with(|| text.into());
    }

    /// Adds other errors. The first error of each field is kept.
    pub fn add_all(&mut self, other: &Self) {
        for (field, text) in other.all() {
            self.add(field, text);
        }
    }

    /// The error of a field. Empty if there is none.
    pub fn at(&self, field: &str) -> &str {
        self.0.get(field).map_or("", String::as_str)
    }

    /// The error of the whole form. Empty if there is none.
    pub fn general(&self) -> &str {
        self.at("")
    }

    /// All errors with their field names.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, text)| (field.as_str(), text.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&Error> for Faults {
    /// The faults of an error, each at the field that its pointer names.
    fn from(error: &Error) -> Self {
        let mut faults = Self::default();
        for fault in &error.faults {
            let field = fault.pointer.trim_start_matches('/').split('/').next();
            faults.add(field.unwrap_or_default(), fault.detail.clone());
        }
        if faults.is_empty() {
            faults.add("", error.detail.clone());
        }
        faults
    }
}
