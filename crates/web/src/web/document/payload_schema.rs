//! The JSON Schema of a notification's body, and an example that is generated from the schema.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value, json};

use crate::notification_kinds::{Kind, PING};

/// Where the OpenAPI description has its schemas.
const COMPONENTS: &str = "#/components/schemas/";
/// Where a standalone schema has them.
const DEFS: &str = "#/$defs/";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The times of events in examples, which belong together.
const EVENT_TIMES: [(&str, &str); 4] = [
    ("starts_at", "2026-09-12T17:30:00.000000Z"),
    ("ends_at", "2026-09-12T19:00:00.000000Z"),
    ("starts_local", "2026-09-12T18:30:00"),
    ("ends_local", "2026-09-12T20:00:00"),
];
/// How deep recursive schemas are followed.
const MAX_DEPTH: usize = 12;

/// The schema of a notification's body, with references into the OpenAPI description.
pub fn body_schema(kind: &Kind) -> Value {
    let reference = |name: &str, description: &str| json!({ "$ref": format!("{COMPONENTS}{name}"), "description": description });
    let sequence = if kind.name == PING {
        json!({ "type": "null", "description": "Always `null`, because test notifications are not in the account's log." })
    } else {
        json!({ "type": "integer", "format": "int64", "minimum": 1, "examples": [42],
            "description": "Sequence number in the account's log. Numbers have no gaps and follow the order of the changes." })
    };
    let previous = if kind.name == PING {
        json!({ "type": "null", "description": "Always `null`, because nothing has changed." })
    } else {
        json!({
            "description": "Previous values of the changed fields; `null` if the notification does not report a change.",
            "oneOf": [{ "$ref": format!("{COMPONENTS}{}", previous_name(kind.object)) }, { "type": "null" }],
        })
    };
    json!({
        "type": "object",
        "description": kind.description,
        "properties": {
            "id": reference("NotificationId", "Unique ID of the notification, the same in every attempt. Use it to detect duplicates."),
            "type": { "type": "string", "const": kind.name, "description": "Type of the notification." },
            "timestamp": reference("Timestamp", "When the change happened."),
            "api_version": { "type": "string", "const": "v1", "description": "API version of the body." },
            "account_id": reference("AccountId", "ID of the account in which the change happened."),
            "sequence": sequence,
            "data": {
                "type": "object",
                "description": "The changed object and its previous values.",
                "properties": {
                    "object": reference(kind.object, "The object right after the change."),
                    "previous": previous,
                },
                "required": ["object", "previous"],
            },
        },
        "required": ["id", "type", "timestamp", "api_version", "account_id", "sequence", "data"],
    })
}

/// The name of the schema with the previous values of an object.
pub fn previous_name(object: &str) -> String {
    format!("{object}PreviousValues")
}

/// Makes a schema self-contained: the schemas that it refers to are copied into it. `components` are the schemas of the
/// OpenAPI description.
pub fn standalone(schema: &Value, components: &Value) -> Value {
    let mut root = schema.clone();
    let (mut pending, mut defs) = (Vec::new(), BTreeMap::new());
    rewrite_references(&mut root, &mut pending);
    while let Some(name) = pending.pop() {
        if let Entry::Vacant(entry) = defs.entry(name) {
            let mut def = components[entry.key()].clone();
            rewrite_references(&mut def, &mut pending);
            entry.insert(def);
        }
    }
    root["$schema"] = json!(DIALECT);
    root["$defs"] = json!(defs);
    root
}

/// Changes references to point into the schema itself, and collects their targets.
fn rewrite_references(schema: &mut Value, targets: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                let target = value.as_str().filter(|_| name == "$ref");
                match target.and_then(|target| target.strip_prefix(COMPONENTS)) {
                    Some(target) => {
                        targets.push(target.to_owned());
                        *value = json!(format!("{DEFS}{target}"));
                    }
                    None => rewrite_references(value, targets),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_references(item, targets)),
        _ => {}
    }
}

/// An example body for a standalone schema.
pub fn example(kind: &Kind, schema: &Value) -> Value {
    let mut body = example_value(schema, schema, MAX_DEPTH);
    // The status matches the kind: the object of `team.archived` is archived.
    let status = schema.pointer("/properties/data/properties/object");
    let status = status.map(|object| &resolve(object, schema)["properties"]["status"]);
    let words = status.and_then(|status| enum_values(resolve(status, schema)));
    let mut words = words.into_iter().flatten().filter_map(Value::as_str);
    if let Some(word) = words.find(|word| kind.name.ends_with(word)) {
        body["data"]["object"]["status"] = json!(word);
    }
    if kind.name.ends_with("updated") {
        let names = ["name", "title", "first_name"];
        let changed = names.into_iter().find(|name| body["data"]["object"][name].is_string());
        body["data"]["previous"] = changed.map(|name| json!({ name: "Old name" })).into();
    }
    // Notifications never contain the name of an author.
    if let Some(name) = body.pointer_mut("/data/object/author/name") {
        *name = Value::Null;
    }
    body
}

/// An example value for a standalone schema.
pub fn example_of(schema: &Value) -> Value {
    example_value(schema, schema, MAX_DEPTH)
}

/// The target of a schema that is a reference; otherwise the schema itself.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix(DEFS));
    target.map_or(schema, |name| &root["$defs"][name])
}

/// The known values of an enum, which may be open: a choice between the known values and any other text.
fn enum_values(schema: &Value) -> Option<&Vec<Value>> {
    schema["enum"].as_array().or_else(|| schema["anyOf"][0]["enum"].as_array())
}

/// An example value for a schema: the schema's own example, or the simplest valid value.
fn example_value(schema: &Value, root: &Value, depth: usize) -> Value {
    let examples = [schema.get("const"), schema["examples"].get(0), schema["enum"].get(0)];
    if let Some(example) = examples.into_iter().flatten().next() {
        return example.clone();
    }
    if schema.get("$ref").is_some() {
        return example_value(resolve(schema, root), root, depth);
    }
    // Nullable values are null, except enums, because an enum value says more.
    let kinds = schema["type"].as_array().or(schema["oneOf"].as_array()).into_iter().flatten();
    let mut words = kinds.clone().filter_map(|kind| enum_values(resolve(kind, root))?.first());
    if kinds.clone().any(|kind| kind == "null" || kind["type"] == "null") {
        return words.next().cloned().unwrap_or_default();
    }
    match schema["type"].as_str() {
        Some("object") => example_object(schema, root, depth),
        Some("array") if depth > 0 && (has_example_item(schema) || is_response_list(depth)) => {
            json!([example_value(&schema["items"], root, depth - 1)])
        }
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("string") => json!("text"),
        _ => schema["oneOf"].get(0).map_or(Value::Null, |first| example_value(first, root, depth)),
    }
}

/// Whether a list at this depth is a field of the response itself. Its example has an item, to show what one looks
/// like.
fn is_response_list(depth: usize) -> bool {
    depth + 1 == MAX_DEPTH
}

/// Whether the example of a list has an item because of its schema.
fn has_example_item(list: &Value) -> bool {
    list["minItems"].as_u64().is_some_and(|least| least > 0)
        || list["items"].get("examples").is_some()
}

fn example_object(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return json!({});
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let field = |name: &str, schema: &Value| {
        // Reasons are null unless the object was cancelled, disabled or the like.
        let value = example_value(schema, root, depth - 1);
        if name.ends_with("_reason") { Value::Null } else { value }
    };
    let fields = properties.map(|(name, schema)| (name.clone(), field(name, schema)));
    let mut object = fields.collect::<Map<_, _>>();
    if object.contains_key("starts_local") {
        object.extend(EVENT_TIMES.map(|(name, time)| (name.to_owned(), json!(time))));
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: &[Kind] = crate::notification_kinds! {
        mark!("Teams"), None, "Team" {
            "team.created": "A team was created.";
            "team.archived": "A team was archived.";
        }
    };

    #[test]
    fn standalone_schemas_contain_their_references_and_have_an_example() {
        let id = |example: &str| json!({ "type": "string", "examples": [example] });
        let components = json!({
            "NotificationId": id("ntf_1"), "AccountId": id("acc_1"), "Timestamp": id("2026"),
            "Team": { "type": "object", "properties": {
                "status": { "$ref": "#/components/schemas/Status" },
                "parent": { "oneOf": [{ "$ref": "#/components/schemas/Team" }, { "type": "null" }] },
            } },
            "TeamPreviousValues": {},
            "Status": { "type": "string", "enum": ["active", "archived"] },
            "Unused": {},
        });
        let example_of = |name: &str| {
            let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
            let schema = standalone(&body_schema(kind), &components);
            let defs: Vec<_> = schema["$defs"].as_object().unwrap().keys().cloned().collect();
            assert_eq!(
                defs,
                [
                    "AccountId",
                    "NotificationId",
                    "Status",
                    "Team",
                    "TeamPreviousValues",
                    "Timestamp"
                ]
            );
            assert!(!schema.to_string().contains("components"), "{schema}");
            example(kind, &schema)
        };
        let created = example_of("team.created");
        assert_eq!((&created["id"], &created["sequence"]), (&json!("ntf_1"), &json!(42)));
        let object = json!({ "status": "active", "parent": null });
        assert_eq!(created["data"], json!({ "object": object, "previous": null }));
        assert_eq!(example_of("team.archived")["data"]["object"]["status"], "archived");
    }
}
