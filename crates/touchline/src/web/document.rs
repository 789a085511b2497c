//! What the operations' own declarations cannot say, added to the OpenAPI document.
//!
//! Every object has an `object` member, every change takes an `Idempotency-Key`, every single object
//! has a version: rules of the whole API, stated here once instead of at each operation.

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

/// The word in the `object` member of each kind.
const OBJECTS: &[(&str, &str)] = &[
    ("Account", "account"),
    ("Me", "me"),
    ("Team", "team"),
    ("Person", "person"),
    ("Member", "member"),
    ("Location", "location"),
    ("Event", "event"),
    ("Rsvp", "rsvp"),
    ("Feed", "calendar_feed"),
    ("NewFeedAnswer", "calendar_feed"),
    ("Answered", "rsvp_change"),
    ("Unanswered", "unanswered"),
    ("Message", "message"),
    ("Receipt", "receipt"),
    ("Mail", "mail"),
];

/// The whole document.
pub fn finished(document: OpenApi) -> Value {
    let mut document = serde_json::to_value(document).expect("the document is plain data");
    merge_parts(&mut document);
    name_objects(&mut document);
    refer_to_data(&mut document);
    close_inputs(&mut document);
    declare_headers(&mut document);
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    for (method, operation) in operations {
        add_headers(method, operation);
    }
    document
}

/// An object that is put together from parts is one object to those who read it.
fn merge_parts(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    let parted: Vec<_> = schemas
        .iter()
        .filter_map(|(name, schema)| Some((name.clone(), schema.get("allOf")?.as_array()?.clone())))
        .collect();
    for (name, parts) in parted {
        let mut whole = json!({ "type": "object", "properties": {}, "required": [] });
        for part in parts {
            let named = part["$ref"].as_str().and_then(|path| path.rsplit('/').next());
            let part = match named {
                Some(name) => schemas.get(name).cloned().unwrap_or_default(),
                None => part,
            };
            let properties = part["properties"].as_object().cloned().unwrap_or_default();
            for (property, schema) in properties {
                whole["properties"][property] = schema;
            }
            let required = part["required"].as_array().cloned().unwrap_or_default();
            whole["required"].as_array_mut().expect("a list").extend(required);
        }
        whole["description"] = schemas[&name]["description"].clone();
        schemas.insert(name, whole);
    }
    schemas.remove("EventRecord");
}

/// `object` tells kinds apart in a stream of objects.
fn name_objects(document: &mut Value) {
    for (name, word) in OBJECTS {
        let Some(schema) = document["components"]["schemas"].get_mut(*name) else { continue };
        schema["properties"]["object"] = json!({ "type": "string", "enum": [word] });
        if let Some(required) = schema["required"].as_array_mut() {
            required.insert(0, json!("object"));
        }
    }
}

/// An envelope's data is a reference: the schema of an object stands in the document once.
fn refer_to_data(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object_mut().into_iter().flatten();
    for (name, schema) in schemas {
        if let Some(kind) = name.strip_prefix("One_") {
            schema["properties"]["data"] = reference("schemas", kind);
        } else if let Some(kind) = name.strip_prefix("Many_") {
            schema["properties"]["data"]["items"] = reference("schemas", kind);
        }
    }
}

/// A body with a member that is not known is refused, so its schema is closed.
fn close_inputs(document: &mut Value) {
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

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

fn declare_headers(document: &mut Value) {
    let header = |name: &str, description: &str| {
        json!({ "name": name, "in": "header", "required": false, "description": description,
                "schema": { "type": "string" } })
    };
    document["components"]["parameters"] = json!({
        "IdempotencyKey": header("Idempotency-Key", "1 to 255 visible ASCII characters. The same request with the same key has one effect and one answer, for 24 hours."),
        "IfMatch": header("If-Match", "The `ETag` of the object as you know it. If it has changed since, the answer is 412."),
        "IfNoneMatch": header("If-None-Match", "The `ETag` you already have. If it is still right, the answer is 304."),
    });
}

/// The headers an operation takes, and what they can lead to.
fn add_headers(method: &str, operation: &mut Value) {
    let says = |member: &str, word: &str| {
        operation.get(member).is_some_and(|value| value.to_string().contains(word))
    };
    let (single, named) = (!says("responses", "Many_"), says("parameters", "\"path\""));
    let headers: &[&str] = match method {
        "get" if single && named => &["IfNoneMatch"],
        "get" => &[],
        "post" if !named => &["IdempotencyKey"],
        _ => &["IdempotencyKey", "IfMatch"],
    };
    if headers.contains(&"IfNoneMatch") {
        operation["responses"]["304"] = json!({ "description": "You already have it." });
    }
    let references = headers.iter().map(|name| reference("parameters", name));
    match operation.get_mut("parameters").and_then(Value::as_array_mut) {
        Some(parameters) => parameters.extend(references),
        None if !headers.is_empty() => operation["parameters"] = references.collect(),
        None => {}
    }
}
