//! Taking a person's name out of the two logs, and out of what receivers answered when they were told. The
//! notification stays with its number, and the audit entry with its hash, so that both logs still prove that
//! nothing is missing.

use serde_json::{Value, json};
use store::{Tx, bind};

use crate::error::{Error, Result};
use crate::ids::NotificationId;
use crate::webhooks::notifications::keeping;

/// What may tell who a person is or what they meant to say, in any object of the API that speaks of them
/// or is a message of theirs that was never published.
const TELLING: [&str; 19] = [
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

/// What people write beside orders and money, which may tell of anybody.
const NOTED: [&str; 6] =
    ["cancel_reason", "discount_reason", "note", "reason", "reference", "waive_reason"];

/// Takes what the logs tell of a person away: everything in objects that carry one of these ids, which are
/// those of people and of what is forgotten with them.
pub fn redact(tx: &Tx<'_>, ids: &[String]) -> Result<()> {
    // Whoever writes down what a receiver answered has its webhook first: so it is forgotten here, or compared with what
    // the logs tell from now on.
    tx.run("update webhook set position = position where account_id = :account", bind! {})?;
    for id in ids {
        let pattern = kit::text::contains_pattern(id);
        let told: Vec<(i64, NotificationId, String)> = tx.all(
            "select sequence, id, body from notification
             where account_id = :account and body like :pattern escape '\\'",
            bind! { pattern },
        )?;
        for (sequence, notification, body) in told {
            if let Some(body) = redacted(&body, ids)? {
                tx.run(
                    "update notification set body = :body
                     where account_id = :account and sequence = :sequence",
                    bind! { sequence, body },
                )?;
                // Receivers may have answered with what they were told.
                keeping::forget_answers(tx, notification, sequence)?;
            }
        }
        let entries: Vec<(i64, String)> = tx.all(
            "select position, details from audit_entry
             where account_id = :account and details like :pattern escape '\\'",
            bind! { pattern },
        )?;
        for (position, details) in entries {
            if redacted(&details, ids)?.is_some() {
                // The chain covers the hash of the details, so they can go and the chain still holds.
                tx.run(
                    "update audit_entry set details = null
                     where account_id = :account and position = :position",
                    bind! { position },
                )?;
            }
        }
    }
    Ok(())
}

/// The text without what tells who somebody is; `None` if it does not tell.
pub fn redacted(text: &str, ids: &[String]) -> Result<Option<String>> {
    let mut value: Value = serde_json::from_str(text)
        .map_err(|error| Error::internal(format!("a log holds what is not JSON: {error}")))?;
    Ok(cleaned(&mut value, ids).then(|| value.to_string()))
}

/// Cleans an object and everything below it; says whether there was anything to clean. What a member
/// was before stands beside the member, so it is cleaned with it.
fn cleaned(value: &mut Value, ids: &[String]) -> bool {
    match value {
        Value::Array(items) => {
            // Each of them is cleaned, whether or not another one was.
            items.iter_mut().map(|item| cleaned(item, ids)).filter(|any| *any).count() > 0
        }
        Value::Object(members) => {
            let about = |member: Option<&Value>| {
                let id = member.and_then(Value::as_str);
                id.is_some_and(|id| ids.iter().any(|known| known == id))
            };
            let object = members.get("object").and_then(Value::as_object);
            let told = object
                .is_some_and(|object| about(object.get("id")) || about(object.get("person_id")));
            let mut any = false;
            if told && let Some(previous) = members.get_mut("previous") {
                any |= blanked(previous);
            }
            let own = about(members.get("id")) || about(members.get("person_id"));
            // A refund says what it is for, not whose it is; an order's buyer may have no id.
            let noted = own || about(members.get("subject"));
            if own && let Some(buyer) = members.get_mut("buyer") {
                any |= blanked(buyer);
            }
            for (name, member) in members.iter_mut().filter(|_| noted) {
                if NOTED.contains(&name.as_str()) && !member.is_null() {
                    *member = Value::Null;
                    any = true;
                }
            }
            for member in members.values_mut() {
                any |= cleaned(member, ids);
            }
            (own && blanked(value)) || any
        }
        _ => false,
    }
}

/// Blanks what tells who somebody is in one object.
fn blanked(value: &mut Value) -> bool {
    let Some(members) = value.as_object_mut() else { return false };
    let mut any = false;
    for name in TELLING {
        let blank = match name {
            "first_name" | "name" => json!("Erased"),
            "metadata" => json!({}),
            "positions" | "guardians" => json!([]),
            _ => Value::Null,
        };
        if let Some(member) = members.get_mut(name)
            && *member != blank
        {
            *member = blank;
            any = true;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_and_everything_else_stays() {
        let text = json!({ "sequence": 7, "data": {
            "object": { "id": "mem_1", "person_id": "per_1", "first_name": "Ana", "role": "player" },
            "previous": { "first_name": "Anna" } } });
        let ids = ["per_1".to_owned()];
        let clean = redacted(&text.to_string(), &ids).unwrap().unwrap();
        let clean: Value = serde_json::from_str(&clean).unwrap();
        assert_eq!(
            clean,
            json!({ "sequence": 7, "data": {
            "object": { "id": "mem_1", "person_id": "per_1", "first_name": "Erased", "role": "player" },
            "previous": { "first_name": "Erased" } } })
        );
        assert_eq!(redacted(&clean.to_string(), &ids).unwrap(), None);
        assert_eq!(
            redacted("{\"person_id\":\"per_2\",\"first_name\":\"Bo\"}", &ids).unwrap(),
            None
        );
    }
}
