//! The notifications that webhooks receive: one schema for each type, and `WebhookEvent` for all of them.

use serde_json::{Map, Value, json};

use super::{reference, schemas_mut};
use crate::notification_kinds::{self, Kind};
use crate::web::document::payload_schema;

/// Adds the schemas of all notifications, and the webhook requests.
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
    document["webhooks"] = requests();
}

/// The name of the schema of a notification: `TeamCreatedEvent` for `team.created`.
fn schema_name(kind: &Kind) -> String {
    let words = kind.name.split(['.', '_']);
    let capitalized = words.map(|word| word[..1].to_uppercase() + &word[1..]);
    capitalized.collect::<String>() + "Event"
}

/// The webhook requests, one for each notification type.
fn requests() -> Value {
    let request = |kind: &Kind| {
        let id = format!("notification_{}", kind.name.replace('.', "_"));
        let schema = reference("schemas", &schema_name(kind));
        let item = json!({ "post": {
            "operationId": id,
            "summary": format!("Receive {}", kind.name),
            "description": kind.description,
            "tags": ["Webhooks"],
            "security": [],
            "requestBody": { "required": true, "content": { "application/json": { "schema": schema } } },
            "responses": {
                "200": { "description": "Delivered. Any status from 200 to 299 counts as success." },
                "410": { "description": "The endpoint no longer accepts notifications. The webhook is disabled." },
            },
        } });
        (kind.name.to_owned(), item)
    };
    Value::Object(notification_kinds::all_kinds().map(request).collect())
}
