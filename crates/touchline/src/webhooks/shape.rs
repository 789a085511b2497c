//! What a notification looks like: its JSON Schema, and an example that is made from the schema.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value, json};

use super::kinds::{Kind, PING};

/// Where the description of the API keeps schemas, and where a schema that stands alone does.
const COMPONENTS: &str = "#/components/schemas/";
const DEFS: &str = "#/$defs/";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Schemas that hold themselves are followed this far.
const DEEPEST: usize = 12;

/// The schema of the body of a notification, with references into the description of the API.
pub fn schema(kind: &Kind) -> Value {
    let named = |name: &str| json!({ "$ref": format!("{COMPONENTS}{name}") });
    let sequence = if kind.name == PING {
        json!({ "type": "null", "description": "A test stands in no log." })
    } else {
        json!({ "type": "integer", "format": "int64", "minimum": 1, "examples": [42],
            "description": "Its number in the account's log: without a gap, in the order in which things happened." })
    };
    json!({
        "type": "object",
        "description": kind.says,
        "properties": {
            "id": named("NotificationId"),
            "type": { "type": "string", "const": kind.name },
            "timestamp": named("Timestamp"),
            "api_version": { "type": "string", "const": "v1" },
            "account_id": named("AccountId"),
            "sequence": sequence,
            "data": {
                "type": "object",
                "properties": {
                    "object": named(kind.object),
                    "previous": { "type": ["object", "null"],
                        "description": "The members that have changed, with the values they had before." },
                },
                "required": ["object", "previous"],
            },
        },
        "required": ["id", "type", "timestamp", "api_version", "account_id", "sequence", "data"],
    })
}

/// The same schema, which needs nothing beside it: what it refers to stands in it. `components` are the
/// schemas of the description of the API.
pub fn alone(schema: &Value, components: &Value) -> Value {
    let mut whole = schema.clone();
    let (mut open, mut defs) = (Vec::new(), BTreeMap::new());
    move_references(&mut whole, &mut open);
    while let Some(name) = open.pop() {
        if let Entry::Vacant(place) = defs.entry(name) {
            let mut def = components[place.key()].clone();
            move_references(&mut def, &mut open);
            place.insert(def);
        }
    }
    whole["$schema"] = json!(DIALECT);
    whole["$defs"] = json!(defs);
    whole
}

/// Makes references lead into the schema itself, and notes where they lead.
fn move_references(schema: &mut Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                let target = value.as_str().filter(|_| name == "$ref");
                match target.and_then(|target| target.strip_prefix(COMPONENTS)) {
                    Some(target) => {
                        found.push(target.to_owned());
                        *value = json!(format!("{DEFS}{target}"));
                    }
                    None => move_references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_references(item, found)),
        _ => {}
    }
}

/// A notification that a schema that stands alone describes.
pub fn example(kind: &Kind, schema: &Value) -> Value {
    let mut body = value(schema, schema, DEEPEST);
    // What was archived is shown archived, what was cancelled is shown cancelled.
    let status = schema.pointer("/properties/data/properties/object");
    let status = status.map(|object| &resolved(object, schema)["properties"]["status"]);
    let words = status.and_then(|status| resolved(status, schema)["enum"].as_array());
    let mut told = words.into_iter().flatten().filter_map(Value::as_str);
    if let Some(word) = told.find(|word| kind.name.ends_with(word)) {
        body["data"]["object"]["status"] = json!(word);
    }
    // News name nobody who wrote something.
    if let Some(name) = body.pointer_mut("/data/object/author/name") {
        *name = Value::Null;
    }
    body
}

/// What a schema leads to, if it is a reference.
fn resolved<'a>(schema: &'a Value, whole: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix(DEFS));
    target.map_or(schema, |name| &whole["$defs"][name])
}

/// A value that a schema describes: its own example, or the plainest there is.
fn value(schema: &Value, whole: &Value, deep: usize) -> Value {
    let given = [schema.get("const"), schema["examples"].get(0), schema["enum"].get(0)];
    if let Some(given) = given.into_iter().flatten().next() {
        return given.clone();
    }
    if schema.get("$ref").is_some() {
        return value(resolved(schema, whole), whole, deep);
    }
    // What may be absent is, but for words, which say most.
    let kinds = schema["type"].as_array().or(schema["oneOf"].as_array()).into_iter().flatten();
    let words = kinds.clone().map(|kind| &resolved(kind, whole)["enum"][0]);
    if kinds.clone().any(|kind| kind == "null" || kind["type"] == "null") {
        return words.into_iter().find(|word| !word.is_null()).cloned().unwrap_or_default();
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, whole, deep),
        Some("array") if deep > 0 && is_filled(schema) => {
            json!([value(&schema["items"], whole, deep - 1)])
        }
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("string") => json!("text"),
        _ => schema["oneOf"].get(0).map_or(Value::Null, |first| value(first, whole, deep)),
    }
}

/// Whether a list is shown with something in it.
fn is_filled(list: &Value) -> bool {
    list["minItems"].as_u64().is_some_and(|least| least > 0)
        || list["items"].get("examples").is_some()
}

fn object(schema: &Value, whole: &Value, deep: usize) -> Value {
    if deep == 0 {
        return json!({});
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let members = properties.map(|(name, schema)| (name.clone(), value(schema, whole, deep - 1)));
    Value::Object(members.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhooks::kinds;

    #[test]
    fn a_schema_takes_along_what_it_refers_to_and_gives_an_example() {
        let id = |example: &str| json!({ "type": "string", "examples": [example] });
        let components = json!({
            "NotificationId": id("ntf_1"), "AccountId": id("acc_1"), "Timestamp": id("2026"),
            "Team": { "type": "object", "properties": {
                "status": { "$ref": "#/components/schemas/Status" },
                "parent": { "oneOf": [{ "$ref": "#/components/schemas/Team" }, { "type": "null" }] },
            } },
            "Status": { "type": "string", "enum": ["active", "archived"] },
            "Unused": {},
        });
        let example_of = |name: &str| {
            let kind = kinds::find(name).unwrap();
            let schema = alone(&schema(kind), &components);
            let defs: Vec<_> = schema["$defs"].as_object().unwrap().keys().cloned().collect();
            assert_eq!(defs, ["AccountId", "NotificationId", "Status", "Team", "Timestamp"]);
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
