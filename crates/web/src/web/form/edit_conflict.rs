//! Detects that somebody else changed an object while its form was open, and combines the changes of both.

use kit::secret::{hex, sha256};

use super::Faults;
use super::field::{Field, Kind};
use super::filled::{FilledForm, row_name};

/// The hidden field with the fingerprint of each field as it was shown.
pub(super) const FINGERPRINTS: &str = "shown";
/// Length of the fingerprint of a field, in hexadecimal digits.
const LENGTH: usize = 8;

impl FilledForm {
    /// Adds a fingerprint of each value, to detect changes by others. Fields with `shown_in` need none.
    #[must_use]
    pub fn fingerprint(self) -> Self {
        let all: String = self.compared().map(|field| self.fingerprint_of(field)).collect();
        self.with_hidden(FINGERPRINTS, all)
    }

    /// Compares the form with that of the object as it is now. If somebody else has changed the object, combines the
    /// changes of both, so that the user can check them and save again.
    pub fn conflicts_with(&mut self, current: &Self) -> bool {
        let conflicts = self.hidden_value(FINGERPRINTS) != current.hidden_value(FINGERPRINTS);
        if conflicts {
            self.combine_with(current);
        }
        conflicts
    }

    /// Reports that somebody else has changed the object, and combines the changes of both: fields that the user did not
    /// change get the values of the object as it is now. Takes over its version.
    pub fn combine_with(&mut self, current: &Self) {
        self.faults = Faults::edit_conflict();
        let (shown, now) = (self.hidden_value(FINGERPRINTS), current.hidden_value(FINGERPRINTS));
        if shown.is_ascii() && shown.len() == now.len() {
            let (shown, now) = (shown.to_owned(), now.to_owned());
            let parts = shown.as_bytes().chunks(LENGTH).zip(now.as_bytes().chunks(LENGTH));
            for (field, (shown, now)) in self.compared().zip(parts) {
                if shown != now {
                    self.combine_field(field, shown, current);
                }
            }
        }
        self.hidden.retain(|(name, _)| current.hidden_value(name).is_empty());
        self.hidden.extend(current.hidden.iter().cloned());
    }

    /// Combines a field that somebody else has changed.
    fn combine_field(&mut self, field: &'static Field, shown: &[u8], current: &Self) {
        let entered = self.fingerprint_of(field);
        if entered == current.fingerprint_of(field) || self.is_removed(field) {
            return;
        }
        if entered.as_bytes() == shown {
            for name in self.names(field).into_iter().chain(current.names(field)) {
                let values: Vec<_> =
                    current.values.get_all(&name).into_iter().map(str::to_owned).collect();
                self.values.set(&name, values);
            }
            self.faults
                .add(field.name, t!("Somebody else has changed this. You see the new value."));
            return;
        }
        let value = current.text(field.name);
        let is_text = matches!(field.kind, Kind::Line(_) | Kind::Block | Kind::Number(..));
        self.faults.add(
            field.name,
            match value {
                "" if is_text => {
                    t!("Somebody else has cleared this. Save again to keep your entry.").to_owned()
                }
                value if is_text => t!(
                    "Somebody else has changed this to “{value}”. Save again to keep your entry.",
                    value
                ),
                _ => t!("Somebody else has changed this too. Save again to keep your entry.")
                    .to_owned(),
            },
        );
    }

    /// The fields with a fingerprint.
    fn compared(&self) -> impl Iterator<Item = &'static Field> + use<> {
        let fields = self.fields.iter().flat_map(Field::with_inner);
        fields.filter(|field| {
            let has_value = !matches!(field.kind, Kind::Group(_) | Kind::Slot | Kind::File);
            has_value && field.shown_in.is_empty() && !field.is_page_hidden()
        })
    }

    /// The names of the inputs of a field.
    fn names(&self, field: &'static Field) -> Vec<String> {
        match field.kind {
            Kind::Rows(rows) => {
                let numbers = self.filled_rows(&rows);
                let inner = |number| rows.fields.iter().map(move |field| row_name(field, number));
                numbers.flat_map(inner).collect()
            }
            _ => vec![field.name.to_owned()],
        }
    }

    fn fingerprint_of(&self, field: &'static Field) -> String {
        let mut text = String::new();
        for name in self.names(field) {
            let has_default = matches!(field.kind, Kind::Select(_) | Kind::Radio(_));
            let default = has_default.then(|| vec![self.text(&name)]);
            for value in default.unwrap_or_else(|| self.values.get_all(&name)) {
                let value = value.trim().replace("\r\n", "\n");
                if !value.is_empty() {
                    text += &format!("{name}={value:?}&");
                }
            }
        }
        hex(&sha256(text.as_bytes())[..LENGTH / 2])
    }
}
