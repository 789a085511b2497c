//! Rules of request bodies that their schemas do not show by themselves: alternatives, and fields that must not be null.

use serde_json::{Map, Value, json};

use super::schemas_mut;

/// Request bodies that must have exactly one of several groups of fields.
const ALTERNATIVES: &[(&str, &[&[&str]])] = &[
    ("ChargeDuesRequest", &[&["member_id"], &["member_ids"], &["all"]]),
    ("CreateCalendarFeedRequest", &[&["team_id"], &["person_id"]]),
    ("BuyerInput", &[&["member_id"], &["person_id"], &["name"]]),
    ("CreateDiscountRequest", &[&["amount", "currency"], &["percent_bps"]]),
    ("ReplayWebhookRequest", &[&["from_sequence"], &["since"]]),
    ("ChargeDiscount", &[&["amount"], &["percent_bps"]]),
    ("LateFeeInput", &[&["amount"], &["percent_bps"]]),
    ("AddMemberRequest", &[&["first_name"], &["person_id"]]),
    ("RosterBatchEntry", &[&["first_name"], &["person_id"]]),
];

/// Fields of requests that must not be `null`, although their type allows it.
const NON_NULL_FIELDS: &[(&str, &[&str])] = &[
    ("UpdatePersonRequest", &["first_name"]),
    ("UpdateMemberRequest", &["first_name"]),
    ("UpdateDueRequest", &["due_on", "installments"]),
    ("CreateCheckoutRequest", &["amount"]),
    ("ChargeDuesRequest", &["currency"]),
];

/// Request bodies that must have at least one of several groups of fields.
const AT_LEAST_ONE_OF: &[(&str, &[&[&str]])] =
    &[("CreateMessageRequest", &[&["team_id", "kind"], &["parent_id"]])];

/// Removes `null` from the fields that must not be null.
pub(super) fn forbid_null(document: &mut Value) {
    for (name, fields) in NON_NULL_FIELDS {
        for field in *fields {
            let schema = &mut schemas_mut(document)[*name]["properties"][*field];
            let description = schema.get("description").cloned();
            *schema = non_null(schema);
            if let Some(description) = description {
                schema["description"] = description;
            }
        }
    }
}

/// Declares the alternatives of request bodies.
pub(super) fn add_alternatives(document: &mut Value) {
    let one_of = ALTERNATIVES.iter().map(|(name, groups)| ("oneOf", name, groups));
    let any_of = AT_LEAST_ONE_OF.iter().map(|(name, groups)| ("anyOf", name, groups));
    for (keyword, name, groups) in one_of.chain(any_of) {
        let Some(schema) = schemas_mut(document).get_mut(*name) else { continue };
        let choice = |fields: &&[&str]| {
            let property =
                |field: &&str| ((*field).to_owned(), non_null(&schema["properties"][*field]));
            let properties: Map<_, _> = fields.iter().map(property).collect();
            json!({ "required": fields, "properties": properties })
        };
        schema[keyword] = groups.iter().map(choice).collect();
    }
}

/// A schema that does not allow `null`.
fn non_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let is_null = |one: &Value| one == "null" || one["type"] == "null";
    for keyword in ["type", "oneOf"] {
        let choices = schema.get_mut(keyword).and_then(Value::as_array_mut);
        let Some(choices) = choices else { continue };
        choices.retain(|one| !is_null(one));
        match (keyword, choices.len()) {
            ("type", 1) => schema[keyword] = choices[0].clone(),
            ("oneOf", 1) => schema = choices[0].clone(),
            _ => {}
        }
    }
    schema
}
