//! The labels of the fields of notifications, which the audit log shows: "Age group" for `age_group`. The fields are those
//! of the schemas in `openapi.json`.

use super::source::{self, Text};
use crate::workspace;
use serde_json::Value;
use std::collections::BTreeSet;

/// The file that describes all notifications.
pub(super) const FILE: &str = "openapi.json";
/// Fields that the audit log does not show.
const HIDDEN: [&str; 6] = ["account_id", "created_at", "id", "object", "updated_at", "version"];

/// The labels of the fields of all notifications.
pub(super) fn labels() -> Result<Vec<Text>, String> {
    let path = workspace::root().join(FILE);
    let content = std::fs::read_to_string(path).map_err(|e| format!("cannot read {FILE}: {e}"))?;
    let document: Value =
        serde_json::from_str(&content).map_err(|e| format!("cannot parse {FILE}: {e}"))?;
    let mut fields = BTreeSet::new();
    for (_, kind) in document["webhooks"].as_object().into_iter().flatten() {
        let body = &kind["post"]["requestBody"]["content"]["application/json"]["schema"];
        let data = &resolve(&document, body)["properties"]["data"];
        collect(&document, &data["properties"]["object"], &mut fields);
    }
    let shown = fields.into_iter().filter(|name| !HIDDEN.contains(name));
    let labels: BTreeSet<_> =
        shown.map(|name| source::label(name.strip_suffix("_id").unwrap_or(name))).collect();
    Ok(labels.into_iter().map(|key| Text { key, ..Text::default() }).collect())
}

/// The schema that a reference names.
fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

/// Adds the fields of a schema, and of the schemas in it.
fn collect<'a>(document: &'a Value, schema: &'a Value, fields: &mut BTreeSet<&'a str>) {
    let schema = resolve(document, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        fields.insert(name);
        collect(document, property, fields);
    }
    let parts = ["allOf", "anyOf", "oneOf"].iter().filter_map(|list| schema[*list].as_array());
    let inner = ["items", "additionalProperties"].iter().filter_map(|name| schema.get(*name));
    for part in parts.flatten().chain(inner) {
        collect(document, part, fields);
    }
}
