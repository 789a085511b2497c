//! The schemas: their names, required fields, open enums and nullable fields.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{operations, reference, referenced_schema, requests, schemas_mut};
use crate::web::routes::{OMITTED_FIELDS, SNAPSHOT_OF};

/// Marks a field of a part that may be missing.
const OPTIONAL: &str = "x-optional";

/// Completes all schemas.
pub(super) fn complete(document: &mut Value) {
    reference_envelope_data(document);
    merge_all_of(document);
    add_object_field(document);
    add_snapshots(document);
    name_envelopes(document);
    lift_descriptions(document);
    describe_common_fields(document);
    forbid_unknown_fields(document);
    requests::add_alternatives(document);
    requests::forbid_null(document);
    split_shared_schemas(document);
    let requests = request_schemas(document);
    require_response_fields(document, &requests);
    open_response_enums(document, &requests);
}

/// Replaces `allOf` by a single object schema with the properties of all parts. Parts that nothing else refers to are
/// removed.
fn merge_all_of(document: &mut Value) {
    let known = document["components"]["schemas"].clone();
    let mut parts = BTreeSet::new();
    let schemas = document["components"]["schemas"].as_object_mut().into_iter().flatten();
    for (_, schema) in schemas.filter(|(_, schema)| schema.get("allOf").is_some()) {
        let mut merged = json!({ "type": "object", "properties": {}, "required": [] });
        if let Some(description) = schema.get("description") {
            merged["description"] = description.clone();
        }
        merge_properties(&mut merged, schema, &known, &mut parts);
        *schema = merged;
    }
    let text = document.to_string();
    parts.retain(|name| !text.contains(&format!("schemas/{name}\"")));
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| !parts.contains(name));
    }
}

/// Adds the properties of a schema and its parts to `merged`, and collects the names of the parts. The first title names
/// the object.
fn merge_properties(
    merged: &mut Value,
    schema: &Value,
    known: &Value,
    parts: &mut BTreeSet<String>,
) {
    if let Some(title) = schema.get("title").filter(|_| merged.get("title").is_none()) {
        merged["title"] = title.clone();
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let mut choices = part["oneOf"].as_array().into_iter().flatten();
        let optional = choices.find_map(referenced_schema);
        match referenced_schema(part).or(optional) {
            Some(name) => {
                parts.insert(name.to_owned());
                merge_properties(merged, &known[name], known, parts);
            }
            None => merge_properties(merged, part, known, parts),
        }
        let fields = optional.and_then(|name| known[name]["properties"].as_object());
        for (name, _) in fields.into_iter().flatten() {
            merged["properties"][name][OPTIONAL] = json!(true);
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        merged["properties"][name] = property.clone();
    }
    let required = schema["required"].as_array().into_iter().flatten().cloned();
    if let Some(all) = merged["required"].as_array_mut() {
        all.extend(required);
    }
}

/// Adds the `object` field, which identifies the type of an object. The title of its schema is the value.
fn add_object_field(document: &mut Value) {
    for (_, schema) in schemas_mut(document) {
        let title = schema.as_object_mut().and_then(|schema| schema.remove("title"));
        let Some(Value::String(value)) = title else { continue };
        let description = format!("Type of the object: always `{value}`.");
        schema["properties"]["object"] =
            json!({ "type": "string", "const": value, "description": description });
        if let Some(required) = schema["required"].as_array_mut() {
            required.insert(0, json!("object"));
        }
    }
}

/// Completes the schemas of what notifications contain of objects. They refer to each other.
fn add_snapshots(document: &mut Value) {
    let schemas = schemas_mut(document);
    let snapshots: Vec<_> = schemas
        .iter()
        .filter_map(|(name, schema)| {
            let object = schema.get(SNAPSHOT_OF)?.as_str()?;
            Some((name.clone(), object.to_owned(), schema[OMITTED_FIELDS].clone()))
        })
        .collect();
    for (name, object, omitted) in &snapshots {
        let mut schema = schemas[object].clone();
        if let Some(fields) = schema["properties"].as_object_mut() {
            let omitted: Vec<_> = omitted.as_array().into_iter().flatten().collect();
            fields.retain(|name, field| {
                field.get(OPTIONAL).is_none() && omitted.iter().all(|omitted| *omitted != name)
            });
        }
        for_each_object(&mut schema, &mut |field| {
            let object = referenced_schema(field);
            let snapshot = snapshots.iter().find(|(_, known, _)| Some(known.as_str()) == object);
            if let Some((name, ..)) = snapshot {
                *field = reference("schemas", name);
            }
        });
        schemas.insert(name.clone(), schema);
    }
}

/// Makes the `data` field of envelopes refer to the object's schema, so that each schema is in the document once.
fn reference_envelope_data(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object_mut().into_iter().flatten();
    for (name, schema) in schemas {
        if let Some(kind) = name.strip_prefix("ObjectResponse_") {
            schema["properties"]["data"] = reference("schemas", kind);
        } else if let Some(kind) =
            name.strip_prefix("ListResponse_").or_else(|| name.strip_prefix("BatchResponse_"))
        {
            schema["properties"]["data"]["items"] = reference("schemas", kind);
        }
    }
}

/// Sets `additionalProperties: false` on request bodies, because unknown fields are rejected.
fn forbid_unknown_fields(document: &mut Value) {
    let items = document["paths"].as_object().into_iter().flatten();
    let operations = items.flat_map(|(_, item)| item.as_object().into_iter().flatten());
    let body = "/requestBody/content/application~1json/schema/$ref";
    let named = operations.filter_map(|(_, operation)| operation.pointer(body)?.as_str());
    let pointers: Vec<_> = named.map(|name| name.trim_start_matches('#').to_owned()).collect();
    for pointer in pointers {
        if let Some(schema) = document.pointer_mut(&pointer) {
            schema["additionalProperties"] = json!(false);
        }
    }
}

/// Names response envelopes after their object: `TeamResponse`, `TeamList`.
fn name_envelopes(document: &mut Value) {
    let new_name = |name: &str| {
        let (envelope, object) = name.split_once('_')?;
        match envelope {
            "ObjectResponse" => Some(format!("{object}Response")),
            "ListResponse" => Some(format!("{object}List")),
            "BatchResponse" => Some(format!("{object}BatchResponse")),
            _ => None,
        }
    };
    let schemas = std::mem::take(schemas_mut(document));
    let renamed =
        schemas.into_iter().map(|(name, schema)| (new_name(&name).unwrap_or(name), schema));
    *schemas_mut(document) = renamed.collect();
    for_each_object(document, &mut |object| {
        if let Some(name) = referenced_schema(object).and_then(new_name) {
            *object = reference("schemas", &name);
        }
    });
}

/// Calls a function for every object in a value, parents first.
fn for_each_object(value: &mut Value, change: &mut impl FnMut(&mut Value)) {
    if value.is_object() {
        change(value);
    }
    match value {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(_, field)| for_each_object(field, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_object(item, change)),
        _ => {}
    }
}

/// Moves the description of a nullable reference to the field, where client generators read it.
fn lift_descriptions(document: &mut Value) {
    for_each_object(document, &mut |object| {
        let choices = object.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
        let references = choices.filter(|choice| choice.get("$ref").is_some());
        let description = references
            .filter_map(|choice| choice.as_object_mut()?.remove("description"))
            .next_back();
        if let Some(description) = description.filter(|_| object.get("description").is_none()) {
            object["description"] = description;
        }
    });
}

/// Descriptions of fields that mean the same in every schema.
const COMMON_FIELDS: &[(&str, &str)] = &[
    ("id", "Unique ID of the object."),
    ("created_at", "When the object was created."),
    ("updated_at", "When the object last changed."),
    ("version", "Version of the object; increases with every change."),
    ("account_id", "ID of the account."),
    ("team_id", "ID of the team."),
    ("member_id", "ID of the member on the team's roster."),
    ("person_id", "ID of the person."),
    ("event_id", "ID of the event."),
    ("location_id", "ID of the location; `null` if there is none."),
    ("external_id", "ID of the object in another system; unique in the account."),
];

/// Adds the descriptions of common fields to schemas that do not have their own.
fn describe_common_fields(document: &mut Value) {
    for (_, schema) in schemas_mut(document) {
        for (name, description) in COMMON_FIELDS {
            let field = schema.get_mut("properties").and_then(|fields| fields.get_mut(*name));
            if let Some(field) = field.filter(|field| field.get("description").is_none()) {
                field["description"] = json!(description);
            }
        }
    }
}

/// The names of all schemas that a request body or a parameter contains.
fn request_schemas(document: &mut Value) -> BTreeSet<String> {
    let parts = ["requestBody", "parameters"];
    let inputs: Vec<_> = operations(document)
        .flat_map(|(_, operation)| parts.map(|part| operation.get(part).cloned()))
        .flatten()
        .collect();
    let mut found = BTreeSet::new();
    for input in &inputs {
        collect_references(input, &document["components"]["schemas"], &mut found);
    }
    found
}

fn collect_references(value: &Value, schemas: &Value, found: &mut BTreeSet<String>) {
    if let Some(name) = referenced_schema(value)
        && found.insert(name.to_owned())
    {
        collect_references(&schemas[name], schemas, found);
    }
    match value {
        Value::Object(fields) => {
            for field in fields.values() {
                collect_references(field, schemas, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_references(item, schemas, found);
            }
        }
        _ => {}
    }
}

/// The names of all schemas that a response or a notification contains: those that no request contains, and what they
/// refer to.
fn response_schemas(document: &Value, requests: &BTreeSet<String>) -> BTreeSet<String> {
    let schemas = &document["components"]["schemas"];
    let mut found = BTreeSet::new();
    for (name, schema) in schemas.as_object().into_iter().flatten() {
        if !requests.contains(name) {
            found.insert(name.clone());
            collect_references(schema, schemas, &mut found);
        }
    }
    found
}

/// Gives objects that requests and responses share a schema each: `Audience` and `AudienceInput`. Their rules differ:
/// responses have all fields, and may have new enum values.
fn split_shared_schemas(document: &mut Value) {
    let requests = request_schemas(document);
    let responses = response_schemas(document, &requests);
    let is_object = |name: &&String| {
        document["components"]["schemas"][name.as_str()].get("properties").is_some()
    };
    let shared: BTreeSet<_> =
        requests.intersection(&responses).filter(is_object).cloned().collect();
    let rename = |value: &mut Value| {
        for_each_object(value, &mut |object| {
            let Some(name) = referenced_schema(object).filter(|name| shared.contains(*name)) else {
                return;
            };
            object["$ref"] = reference("schemas", &format!("{name}Input"))["$ref"].clone();
        });
    };
    let schemas = schemas_mut(document);
    for name in &shared {
        let mut input = schemas[name].clone();
        rename(&mut input);
        schemas.insert(format!("{name}Input"), input);
    }
    for name in requests.difference(&shared) {
        if !responses.contains(name) {
            schemas.get_mut(name).into_iter().for_each(rename);
        }
    }
    for (_, operation) in operations(document) {
        operation.get_mut("requestBody").into_iter().for_each(rename);
    }
}

/// Marks the fields of responses as required: a missing value is `null`, and never left out. Exceptions are the fields of
/// parts that may be missing, such as the private data of people in lists.
fn require_response_fields(document: &mut Value, requests: &BTreeSet<String>) {
    for (name, schema) in schemas_mut(document) {
        let mut required = Vec::new();
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (field, definition) in fields.into_iter().flatten() {
            let marker = definition.as_object_mut().and_then(|field| field.remove(OPTIONAL));
            if marker.is_none() {
                required.push(field.clone());
            }
        }
        let is_response = !requests.contains(name) && !OPTIONAL_FIELDS.contains(&name.as_str());
        if is_response && !required.is_empty() {
            schema["required"] = json!(required);
        }
    }
}

/// Responses whose fields may be left out.
const OPTIONAL_FIELDS: &[&str] = &["Problem"];

/// Allows other values in the enums of responses: the API may get new values. Requests accept the listed values only.
fn open_response_enums(document: &mut Value, requests: &BTreeSet<String>) {
    let is_enum = |schema: &Value| schema["type"] == "string" && schema.get("enum").is_some();
    let responses = response_schemas(document, requests);
    let enums: Vec<(String, Value)> = schemas_mut(document)
        .iter()
        .filter(|(name, schema)| is_enum(schema) && responses.contains(*name))
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    for (_, operation) in operations(document) {
        if let Some(parameters) = operation.get_mut("parameters") {
            inline_enums(parameters, &enums);
        }
    }
    let schemas = schemas_mut(document);
    for name in requests.iter().filter(|name| !enums.iter().any(|(known, _)| known == *name)) {
        let Some(schema) = schemas.get_mut(name) else { continue };
        inline_enums(schema, &enums);
    }
    for (name, schema) in enums {
        let mut open = json!({ "anyOf": [{ "type": "string", "enum": schema["enum"] }, { "type": "string" }] });
        let about = schema["description"].as_str().unwrap_or_default();
        // The first paragraph says what the enum is, a list explains its values.
        let (first, values) = about.split_once("\n\n").unwrap_or((about, ""));
        let first = format!("{first} More values may be added.");
        open["description"] = json!(format!("{}\n\n{values}", first.trim_start()).trim_end());
        open["examples"] = json!([schema["enum"][0]]);
        schemas.insert(name, open);
    }
}

/// Replaces references to enums by the enums themselves, so that a request lists what it accepts.
fn inline_enums(value: &mut Value, enums: &[(String, Value)]) {
    for_each_object(value, &mut |object| {
        let name = referenced_schema(object);
        let Some((_, schema)) = enums.iter().find(|(known, _)| Some(known.as_str()) == name) else {
            return;
        };
        let description = object.get("description").cloned();
        *object = schema.clone();
        if let Some(description) = description {
            object["description"] = description;
        }
    });
}

/// Removes schemas that nothing refers to.
pub(super) fn remove_unused(document: &mut Value) {
    let mut used = BTreeSet::new();
    for part in ["paths", "webhooks"] {
        collect_references(&document[part], &document["components"]["schemas"], &mut used);
    }
    for part in ["responses", "parameters"] {
        let component = &document["components"][part];
        collect_references(component, &document["components"]["schemas"], &mut used);
    }
    schemas_mut(document).retain(|name, _| used.contains(name));
}
