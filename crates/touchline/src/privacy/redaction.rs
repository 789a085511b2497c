//! Removes personal data from the notification log, the audit log and the recorded responses of webhooks. Notifications
//! keep their sequence number and audit entries their hash, so both logs still prove that they are complete.

use crate::prelude::*;
use crate::signals;
use crate::webhooks::notifications::retention;

/// Fields that may identify a person, in any API object about them, and the content of their unpublished messages.
const PERSONAL_FIELDS: [&str; 19] = [
    "first_name",
    "last_name",
    "preferred_name",
    "name",
    "jersey_number",
    "positions",
    "external_id",
    "metadata",
    "birth_date",
    "email",
    "phone",
    "phone_normalized",
    "address",
    "emergency_contact",
    "medical_note",
    "guardians",
    "subject",
    "body",
    "body_html",
];

/// Free-text fields of orders, dues and payments, which may contain personal data.
const NOTE_FIELDS: [&str; 6] =
    ["cancel_reason", "discount_reason", "note", "reason", "reference", "waive_reason"];

/// Redacts the logs: blanks the personal data in all objects with one of these ids, which are the ids of people and of
/// objects that are erased with them.
pub(super) fn redact(tx: &Tx<'_>, ids: &[String]) -> Result<()> {
    // A response is either recorded already and deleted here, or it is compared with the redacted logs when it is
    // recorded.
    retention::lock_webhooks(tx)?;
    for id in ids {
        let pattern = kit::text::contains_pattern(id);
        let notifications: Vec<(i64, NotificationId, String)> = tx.all(
            "select sequence, id, body from notification
             where account_id = :account and body like :pattern escape '\\'",
            bind! { pattern },
        )?;
        for (sequence, notification, body) in notifications {
            if let Some(body) = redact_json(&body, ids)? {
                signals::replace_body(tx, sequence, &body)?;
                // A receiver's response may repeat the personal data.
                retention::erase_responses(tx, notification, sequence)?;
            }
        }
        let entries: Vec<(i64, String)> = tx.all(
            "select position, details from audit_entry
             where account_id = :account and details like :pattern escape '\\'",
            bind! { pattern },
        )?;
        for (position, details) in entries {
            if redact_json(&details, ids)?.is_some() {
                // The hash chain covers the hash of the details, so it stays valid without them.
                signals::erase_details(tx, position)?;
            }
        }
    }
    Ok(())
}

/// Returns the JSON text without personal data, or `None` if it contains none.
pub(super) fn redact_json(text: &str, ids: &[String]) -> Result<Option<String>> {
    let mut value: Value = serde_json::from_str(text)
        .map_err(|error| Error::internal(format!("a log entry is not valid JSON: {error}")))?;
    Ok(redact_value(&mut value, ids).then(|| value.to_string()))
}

/// Redacts a value and everything inside it. Returns whether anything was changed. The previous values of a changed
/// object are in `previous` next to `object`, so they are redacted together with it.
fn redact_value(value: &mut Value, ids: &[String]) -> bool {
    match value {
        Value::Array(items) => {
            // `count` instead of `any`, which would stop at the first item that is changed.
            items.iter_mut().map(|item| redact_value(item, ids)).filter(|changed| *changed).count()
                > 0
        }
        Value::Object(fields) => {
            let is_listed = |field: Option<&Value>| {
                let id = field.and_then(Value::as_str);
                id.is_some_and(|id| ids.iter().any(|listed| listed == id))
            };
            let object = fields.get("object").and_then(Value::as_object);
            let object_matches = object.is_some_and(|object| {
                is_listed(object.get("id")) || is_listed(object.get("person_id"))
            });
            let mut changed = false;
            if object_matches && let Some(previous) = fields.get_mut("previous") {
                changed |= blank_personal_fields(previous);
            }
            let matches = is_listed(fields.get("id")) || is_listed(fields.get("person_id"));
            // A refund has no person, only the order or due in `subject`. An order's buyer may have no id.
            let has_notes = matches || is_listed(fields.get("subject"));
            if matches && let Some(buyer) = fields.get_mut("buyer") {
                changed |= blank_personal_fields(buyer);
            }
            for (name, field) in fields.iter_mut().filter(|_| has_notes) {
                if NOTE_FIELDS.contains(&name.as_str()) && !field.is_null() {
                    *field = Value::Null;
                    changed = true;
                }
            }
            for field in fields.values_mut() {
                changed |= redact_value(field, ids);
            }
            (matches && blank_personal_fields(value)) || changed
        }
        _ => false,
    }
}

/// Blanks the personal fields of one object. Returns whether anything was changed.
fn blank_personal_fields(value: &mut Value) -> bool {
    let Some(fields) = value.as_object_mut() else { return false };
    let mut changed = false;
    for name in PERSONAL_FIELDS {
        let blank = match name {
            "first_name" | "name" => json!("Erased"),
            "metadata" => json!({}),
            "positions" | "guardians" => json!([]),
            _ => Value::Null,
        };
        if let Some(field) = fields.get_mut(name)
            && *field != blank
        {
            *field = blank;
            changed = true;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_blanked_and_other_fields_are_kept() {
        let text = json!({ "sequence": 7, "data": {
            "object": { "id": "mem_1", "person_id": "per_1", "first_name": "Ana", "role": "player" },
            "previous": { "first_name": "Anna" } } });
        let ids = ["per_1".to_owned()];
        let result = redact_json(&text.to_string(), &ids).unwrap().unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(
            result,
            json!({ "sequence": 7, "data": {
            "object": { "id": "mem_1", "person_id": "per_1", "first_name": "Erased", "role": "player" },
            "previous": { "first_name": "Erased" } } })
        );
        assert_eq!(redact_json(&result.to_string(), &ids).unwrap(), None);
        assert_eq!(
            redact_json("{\"person_id\":\"per_2\",\"first_name\":\"Bo\"}", &ids).unwrap(),
            None
        );
    }
}
