//! The notifications that webhooks receive: one schema for each type, `WebhookEvent` for all of them, and the requests that
//! webhooks receive.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{reference, schemas_mut};
use crate::notification_kinds::{self, Kind};
use crate::web::document::payload_schema;

/// Adds the schemas of all notifications.
pub(super) fn add(document: &mut Value) {
    let schemas = schemas_mut(document);
    for kind in notification_kinds::all_kinds() {
        schemas.insert(schema_name(kind), payload_schema::body_schema(kind));
    }
    let choices: Vec<_> = notification_kinds::all_kinds()
        .map(|kind| reference("schemas", &schema_name(kind)))
        .collect();
    let mapping: Map<_, _> = notification_kinds::all_kinds()
        .map(|kind| {
            (kind.name.to_owned(), reference("schemas", &schema_name(kind))["$ref"].clone())
        })
        .collect();
    schemas.insert(
        "WebhookEvent".to_owned(),
        json!({
            "description": "A notification about a change. `type` determines the schema. More types may be added.",
            "oneOf": choices,
            "discriminator": { "propertyName": "type", "mapping": mapping },
        }),
    );
    let objects: BTreeSet<_> =
        notification_kinds::logged_kinds().iter().map(|kind| kind.object).collect();
    for object in objects {
        let previous = previous_values(object, &schemas[object]);
        schemas.insert(payload_schema::previous_name(object), previous);
    }
}

/// The schema of the previous values of some fields of an object.
fn previous_values(object: &str, schema: &Value) -> Value {
    let mut properties = schema["properties"].clone();
    for fixed in ["id", "object"] {
        properties.as_object_mut().into_iter().for_each(|fields| drop(fields.remove(fixed)));
    }
    let description = format!("Previous values of the changed fields of `{object}`.");
    json!({ "type": "object", "description": description, "properties": properties })
}

/// The name of the schema of a notification: `TeamCreatedEvent` for `team.created`.
fn schema_name(kind: &Kind) -> String {
    let words = kind.name.split(['.', '_']);
    let capitalized = words.map(|word| word[..1].to_uppercase() + &word[1..]);
    capitalized.collect::<String>() + "Event"
}

/// The headers of a request to a webhook: name, description, example.
const HEADERS: &[(&str, &str, &str)] = &[
    (
        "webhook-id",
        "ID of the notification, the same in every attempt. Use it to detect duplicates.",
        "ntf_01kbm2x5q8f7vr0n3hd9tzc4wy",
    ),
    (
        "webhook-timestamp",
        "When the attempt was made, in seconds since 1970. Reject requests that are more than five minutes old.",
        "1767225600",
    ),
    (
        "webhook-signature",
        "One signature, or two after the secret was rotated: `v1,` and the HMAC-SHA256 of id, timestamp and body in Base64, \
         separated by a space.",
        "v1,m7p0rEdB6bub/3JzRkASglAgfl8EbVbfW1Wbdfb0Ppo=",
    ),
];

/// Adds the requests that webhooks receive, one for each type of notification.
pub(super) fn add_requests(document: &mut Value) {
    let headers = HEADERS.iter().map(|(name, description, example)| {
        json!({ "name": name, "in": "header", "required": true, "description": description,
            "schema": { "type": "string" }, "example": example })
    });
    let headers: Vec<_> = headers.collect();
    let components = document["components"]["schemas"].clone();
    let request = |kind: &Kind| {
        let standalone =
            payload_schema::standalone(&components[schema_name(kind).as_str()], &components);
        let example = payload_schema::example(kind, &standalone);
        let id = format!("notification_{}", kind.name.replace('.', "_"));
        let schema = reference("schemas", &schema_name(kind));
        let item = json!({ "post": {
            "operationId": id,
            "summary": format!("Receive {}", kind.name),
            "description": kind.description,
            "tags": ["Webhooks"],
            "security": [],
            "parameters": headers,
            "requestBody": { "required": true, "content": { "application/json": {
                "schema": schema, "example": example,
            } } },
            "responses": {
                "200": { "description": "Delivered. Any status from 200 to 299 counts as success." },
                "410": { "description": "The endpoint no longer accepts notifications. The webhook is disabled." },
            },
        } });
        (kind.name.to_owned(), item)
    };
    document["webhooks"] = Value::Object(notification_kinds::all_kinds().map(request).collect());
}
