//! Completes the OpenAPI document with rules that apply to the whole API.
//!
//! Every object has an `object` field, every change accepts an `Idempotency-Key`, every operation can fail in the same
//! ways. This is added here once instead of at each operation.

mod events;
pub mod payload_schema;
mod requests;
mod responses;
mod schemas;
mod security;

pub use responses::error_description;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

/// Returns the completed document.
pub fn complete(document: OpenApi) -> Value {
    let mut document = serde_json::to_value(document).expect("the document is plain data");
    schemas::complete(&mut document);
    events::add(&mut document);
    responses::add_components(&mut document);
    security::add_schemes(&mut document);
    declare_headers(&mut document);
    let components = document["components"].clone();
    for (method, operation) in operations(&mut document) {
        describe_path_parameters(operation);
        add_headers(method, operation);
        responses::complete(method, operation, &components);
        security::complete(operation);
    }
    events::add_requests(&mut document);
    schemas::remove_unused(&mut document);
    document
}

/// All operations with their methods.
fn operations(document: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten())
}

/// Describes the ids in the path: `team_id` is the "ID of the team."
fn describe_path_parameters(operation: &mut Value) {
    for parameter in
        operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten()
    {
        let Some(object) = parameter["name"].as_str().and_then(|name| name.strip_suffix("_id"))
        else {
            continue;
        };
        if parameter["in"] == "path" && parameter.get("description").is_none() {
            parameter["description"] = json!(format!("ID of the {}.", object.replace('_', " ")));
        }
    }
}

/// The schemas of the document by name.
fn schemas_mut(document: &mut Value) -> &mut Map<String, Value> {
    document["components"]["schemas"].as_object_mut().expect("the document has schemas")
}

/// A reference to a component.
fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// The name of the schema that a value refers to.
fn referenced_schema(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix("#/components/schemas/")
}

fn declare_headers(document: &mut Value) {
    let header = |name: &str, description: &str| {
        json!({ "name": name, "in": "header", "required": false, "description": description,
                "schema": { "type": "string" } })
    };
    document["components"]["parameters"] = json!({
        "IdempotencyKey": header("Idempotency-Key", "A unique key for this request, 1 to 255 visible ASCII characters. Repeating the request with the same key within 24 hours has no further effect and returns the first response."),
        "IfMatch": header("If-Match", "The `ETag` of the version you want to change. If the object has changed since, the response is 412."),
        "IfNoneMatch": header("If-None-Match", "The `ETag` of the version you already have. If it is still current, the response is 304."),
    });
}

/// Adds the headers that an operation accepts, and the response 304 where it is possible.
fn add_headers(method: &str, operation: &mut Value) {
    let contains = |field: &str, text: &str| {
        operation.get(field).is_some_and(|value| value.to_string().contains(text))
    };
    let (single, has_path_parameter) =
        (!contains("responses", "List\""), contains("parameters", "\"path\""));
    let headers: &[&str] = match method {
        "get" if single && has_path_parameter => &["IfNoneMatch"],
        "get" => &[],
        "post" if !has_path_parameter => &["IdempotencyKey"],
        _ => &["IdempotencyKey", "IfMatch"],
    };
    if headers.contains(&"IfNoneMatch") {
        operation["responses"]["304"] = reference("responses", "NotModified");
    }
    let references = headers.iter().map(|name| reference("parameters", name));
    match operation.get_mut("parameters").and_then(Value::as_array_mut) {
        Some(parameters) => parameters.extend(references),
        None if !headers.is_empty() => operation["parameters"] = references.collect(),
        None => {}
    }
}
