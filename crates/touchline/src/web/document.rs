//! What the operations' own declarations cannot say, added to the OpenAPI document.
//!
//! Every object has an `object` member, every change takes an `Idempotency-Key`, every single object
//! has a version: rules of the whole API, stated here once instead of at each operation.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use utoipa::PartialSchema;
use utoipa::openapi::OpenApi;

use crate::roster::profile::Private;
use crate::webhooks::kinds::{self, Kind};
use crate::webhooks::shape;

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
    ("Letter", "mail"),
    ("MoneySettings", "money_settings"),
    ("Product", "product"),
    ("Discount", "discount"),
    ("Order", "order"),
    ("Due", "due"),
    ("Payment", "payment"),
    ("Reminded", "reminders"),
    ("TeamStatement", "team_statement"),
    ("Statement", "statement"),
    ("Refund", "refund"),
    ("Checkout", "checkout"),
    ("Webhook", "webhook"),
    ("NewWebhookAnswer", "webhook"),
    ("Delivery", "delivery"),
    ("Replay", "replay"),
    ("NotificationType", "event_type"),
    ("UserNews", "user"),
    ("RsvpNews", "rsvp"),
    ("ReceiptNews", "receipt"),
    ("Ping", "ping"),
];

/// The whole document.
pub fn finished(document: OpenApi) -> Value {
    let mut document = serde_json::to_value(document).expect("the document is plain data");
    refer_to_data(&mut document);
    put_together(&mut document);
    name_objects(&mut document);
    leave_private_out(&mut document);
    leave_buyers_out(&mut document);
    close_inputs(&mut document);
    declare_headers(&mut document);
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    for (method, operation) in operations {
        add_headers(method, operation);
    }
    document["webhooks"] = notifications();
    document
}

/// An object that is written down in parts is sent as one: the members of its parts become its own,
/// and a part that is nothing but that is left out.
fn put_together(document: &mut Value) {
    let known = document["components"]["schemas"].clone();
    let mut parts = BTreeSet::new();
    let schemas = document["components"]["schemas"].as_object_mut().into_iter().flatten();
    for (_, schema) in schemas.filter(|(_, schema)| schema.get("allOf").is_some()) {
        let mut whole = json!({ "type": "object", "properties": {}, "required": [] });
        if let Some(description) = schema.get("description") {
            whole["description"] = description.clone();
        }
        add_members(&mut whole, schema, &known, &mut parts);
        *schema = whole;
    }
    let text = document.to_string();
    parts.retain(|name| !text.contains(&format!("schemas/{name}\"")));
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| !parts.contains(name));
    }
}

/// Adds what a schema and its parts say of members, and notes the names of the parts.
fn add_members(whole: &mut Value, schema: &Value, known: &Value, parts: &mut BTreeSet<String>) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        match part["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            Some(name) => {
                parts.insert(name.to_owned());
                add_members(whole, &known[name], known, parts);
            }
            None => add_members(whole, part, known, parts),
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        whole["properties"][name] = property.clone();
    }
    let required = schema["required"].as_array().into_iter().flatten().cloned();
    if let Some(all) = whole["required"].as_array_mut() {
        all.extend(required);
    }
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

/// News tell of people what everybody on their team sees.
fn leave_private_out(document: &mut Value) {
    let private = serde_json::to_value(Private::schema()).expect("a schema is plain data");
    for (news, whole) in [("MemberNews", "Member"), ("PersonNews", "Person")] {
        let mut schema = document["components"]["schemas"][whole].clone();
        if let Some(members) = schema["properties"].as_object_mut() {
            members.retain(|name, _| private["properties"].get(name).is_none());
        }
        document["components"]["schemas"][news] = schema;
    }
}

/// News tell of an order without how to reach the buyer and what they noted.
fn leave_buyers_out(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    for (whole, member) in [("Buyer", "email"), ("Order", "note")] {
        let mut schema = schemas[whole].clone();
        if let Some(members) = schema["properties"].as_object_mut() {
            members.remove(member);
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.retain(|name| name != member);
        }
        schemas[format!("{whole}News")] = schema;
    }
    schemas["OrderNews"]["properties"]["buyer"] = reference("schemas", "BuyerNews");
}

/// What receivers are sent, kind by kind.
fn notifications() -> Value {
    let described = |kind: &Kind| {
        let id = format!("notification_{}", kind.name.replace('.', "_"));
        let told = json!({ "post": {
            "operationId": id, "summary": kind.says, "tags": ["Webhooks"], "security": [],
            "requestBody": { "required": true, "content": { "application/json": { "schema": shape::schema(kind) } } },
            "responses": {
                "200": { "description": "Any status from 200 to 299 says that it was taken." },
                "410": { "description": "The webhook is not wanted any more: it is turned off." },
            },
        } });
        (kind.name.to_owned(), told)
    };
    Value::Object(kinds::sent().map(described).collect())
}

/// An envelope's data is a reference: the schema of an object stands in the document once.
fn refer_to_data(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object_mut().into_iter().flatten();
    for (name, schema) in schemas {
        if let Some(kind) = name.strip_prefix("One_") {
            schema["properties"]["data"] = reference("schemas", kind);
        } else if let Some(kind) =
            name.strip_prefix("Many_").or_else(|| name.strip_prefix("Several_"))
        {
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
