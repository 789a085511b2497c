//! Turns audit entries into text: an action into a label, its details into a list of changed fields.

use serde_json::{Map, Value};

pub use super::audit_labels::action_label;
use super::audit_labels::field_label;

/// Longer values are truncated.
const MAX_VALUE_CHARS: usize = 300;
/// Fields that mean nothing to a reader.
const HIDDEN_FIELDS: [&str; 6] =
    ["object", "id", "account_id", "created_at", "updated_at", "version"];

/// A field with its value, and its previous value where it is known.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldChange<T = String> {
    pub name: String,
    pub before: Option<T>,
    pub after: T,
}

impl FieldChange {
    fn new(name: &str, before: Option<&Value>, after: Option<&Value>) -> Self {
        Self {
            name: field_label(name),
            before: before.map(format_value),
            after: after.map_or_else(empty_label, format_value),
        }
    }
}

/// Formats the details of an entry. There are no fields if there are no details, or none that can be read.
pub fn describe_details(details: &str) -> Vec<FieldChange> {
    match serde_json::from_str(details) {
        Ok(Value::Object(json)) => field_changes(json),
        Ok(Value::Null) | Err(_) => Vec::new(),
        Ok(other) => field_changes(Map::from_iter([("value".to_owned(), other)])),
    }
}

/// Details have one of three shapes: `{before, after}`, `{object, previous}`, or the fields themselves, with
/// or without `previous`.
fn field_changes(mut json: Map<String, Value>) -> Vec<FieldChange> {
    if let (Some(Value::Object(before)), Some(Value::Object(after))) =
        (json.get("before"), json.get("after"))
    {
        return diff_fields(before, after);
    }
    let previous = json.remove("previous");
    let object = match json.remove("object") {
        Some(Value::Object(object)) => object,
        Some(other) => {
            json.insert("object".to_owned(), other);
            json
        }
        None => json,
    };
    match previous {
        Some(Value::Object(previous)) if !previous.is_empty() => {
            let changed = previous.iter();
            changed.map(|(name, old)| FieldChange::new(name, Some(old), object.get(name))).collect()
        }
        // A single field, with its previous value in `previous`.
        Some(before) if !before.is_null() && !before.is_object() && object.len() == 1 => {
            let fields = object.iter();
            fields.map(|(name, new)| FieldChange::new(name, Some(&before), Some(new))).collect()
        }
        _ => list_fields(&object),
    }
}

/// The fields that differ between two states.
fn diff_fields(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<FieldChange> {
    let changed = before.iter().filter(|(name, value)| after.get(*name) != Some(value));
    changed.map(|(name, value)| FieldChange::new(name, Some(value), after.get(name))).collect()
}

fn list_fields(object: &Map<String, Value>) -> Vec<FieldChange> {
    let is_visible = |(name, value): &(&String, &Value)| {
        let empty = value.is_null()
            || value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty);
        !empty && !HIDDEN_FIELDS.contains(&name.as_str())
    };
    let visible = object.iter().filter(is_visible);
    visible.map(|(name, value)| FieldChange::new(name, None, Some(value))).collect()
}

fn empty_label() -> String {
    t!("nothing").to_owned()
}

fn format_value(value: &Value) -> String {
    let text = match value {
        Value::Null => empty_label(),
        Value::Bool(true) => t!("yes").to_owned(),
        Value::Bool(false) => t!("no").to_owned(),
        Value::String(text) if text.is_empty() => empty_label(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => empty_label(),
        Value::Array(values) => values.iter().map(format_value).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => format_object(fields),
        Value::Number(number) => number.to_string(),
    };
    if text.chars().count() <= MAX_VALUE_CHARS {
        return text;
    }
    text.chars().take(MAX_VALUE_CHARS).chain(['…']).collect()
}

/// Formats a nested object, without empty fields and ids: a nested id means nothing to a reader.
fn format_object(fields: &Map<String, Value>) -> String {
    let is_visible = |(_, value): &(&String, &Value)| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() && !looks_like_id(text),
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let parts = fields
        .iter()
        .filter(is_visible)
        .map(|(name, value)| format!("{}: {}", field_label(name), format_value(value)));
    let text = parts.collect::<Vec<_>>().join("; ");
    if text.is_empty() { empty_label() } else { text }
}

/// Whether a text has the form of an id: a prefix such as `team_`, then 26 letters and digits.
fn looks_like_id(text: &str) -> bool {
    let rest = text.split_once('_').map(|(_, rest)| rest);
    rest.is_some_and(|rest| rest.len() == 26 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::i18n::Locale;

    fn fields(details: &str) -> Vec<(String, Option<String>, String)> {
        let fields = describe_details(details).into_iter();
        fields.map(|field| (field.name, field.before, field.after)).collect()
    }

    fn one(name: &str, before: Option<&str>, after: &str) -> Vec<(String, Option<String>, String)> {
        vec![(name.to_owned(), before.map(str::to_owned), after.to_owned())]
    }

    #[test]
    fn actions_have_readable_labels() {
        assert_eq!(action_label("api_key.revoked"), "API key revoked");
        assert_eq!(action_label("team.updated"), "Team updated");
        assert_eq!(action_label("roster.medical_read"), "Medical notes read");
        assert_eq!(action_label("webhook.secret_rotated"), "Webhook secret replaced");
        assert_eq!(action_label("webhook.deleted"), "Webhook deleted");
        assert_eq!(action_label("odd"), "Odd");
        let spanish = Locale::negotiate(Some("es"), "");
        for kind in crate::MODULES.iter().flat_map(|module| module.notification_kinds) {
            let translated = spanish.run(|| action_label(kind.name));
            assert_ne!(translated, action_label(kind.name), "not translated");
        }
    }

    /// The names of all fields of a schema, with those of the objects in them.
    fn collect_fields(document: &Value, schema: &Value, fields: &mut BTreeSet<String>) {
        if let Some(target) = schema["$ref"].as_str() {
            collect_fields(document, document.pointer(&target[1..]).unwrap(), fields);
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            fields.insert(name.clone());
            collect_fields(document, property, fields);
        }
        for list in ["allOf", "anyOf", "oneOf"] {
            for part in schema[list].as_array().into_iter().flatten() {
                collect_fields(document, part, fields);
            }
        }
        for inner in ["items", "additionalProperties"].map(|name| &schema[name]) {
            if inner.is_object() {
                collect_fields(document, inner, fields);
            }
        }
    }

    #[test]
    fn the_fields_of_all_notifications_have_translated_labels() {
        let texts = include_str!("../../../../locale/touchline.pot");
        let document: Value = serde_json::from_str(&crate::openapi_json()).unwrap();
        let mut fields = BTreeSet::new();
        for kind in crate::MODULES.iter().flat_map(|module| module.notification_kinds) {
            let schema = &document["components"]["schemas"][kind.object];
            assert!(schema.is_object(), "{} has no schema", kind.object);
            collect_fields(&document, schema, &mut fields);
        }
        assert!(fields.len() > 100, "{fields:?}");
        fields.retain(|name| !HIDDEN_FIELDS.contains(&name.as_str()));
        let is_missing = |name: &&String| {
            let key = format!("msgid \"{}\"\n", field_label(name));
            !texts.contains(&key)
        };
        let missing: Vec<_> = fields.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "add labels to audit_labels.rs: {missing:?}");
    }

    #[test]
    fn changes_list_the_previous_and_the_new_value() {
        let renamed = r#"{"object":{"id":"team_1","name":"New"},"previous":{"name":"Old"}}"#;
        assert_eq!(fields(renamed), one("Name", Some("Old"), "New"));
        assert_eq!(
            fields(r#"{"tier":"club","previous":"free"}"#),
            one("Tier", Some("free"), "club")
        );
        assert_eq!(fields(r#"{"name":"b","previous":{"name":"a"}}"#), one("Name", Some("a"), "b"));
        assert_eq!(
            fields(r#"{"object":{"sport":null},"previous":{"sport":"rugby"}}"#),
            one("Sport", Some("rugby"), "nothing")
        );
    }

    #[test]
    fn before_and_after_states_are_diffed() {
        let changed =
            r#"{"before":{"name":"A","uris":["x"]},"after":{"name":"A","uris":["x","y"]}}"#;
        assert_eq!(fields(changed), one("Uris", Some("x"), "x, y"));
    }

    #[test]
    fn created_objects_are_listed_without_hidden_fields() {
        let created = r#"{"object":{"object":"team","id":"team_1","name":"A","sport":null,"version":1},"previous":null}"#;
        assert_eq!(fields(created), one("Name", None, "A"));
        assert_eq!(fields(r#"{"scopes":["a","b"]}"#), one("Scopes", None, "a, b"));
        assert_eq!(describe_details("null"), []);
        assert_eq!(describe_details("not json"), []);
        let long = format!(r#"{{"note":"{}"}}"#, "x".repeat(1000));
        assert_eq!(fields(&long)[0].2.chars().count(), MAX_VALUE_CHARS + 1);
    }
}
