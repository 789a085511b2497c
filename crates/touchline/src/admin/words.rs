//! What the audit log says, in words: an action as a deed, its details as what changed.

use serde_json::{Map, Value};

/// Longer values are cut.
const LONGEST: usize = 300;
/// Members that say nothing to people.
const NOISE: [&str; 6] = ["object", "id", "account_id", "created_at", "updated_at", "version"];

/// What an entry says beside who did what.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// The details were erased, because they were about a person.
    Erased,
    /// There is nothing more to say.
    Nothing,
    /// A list of members with what they are, and what they were before if that is known.
    Members(Vec<Member>),
}

/// One member of what was done.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub before: Option<String>,
    pub after: String,
}

/// An action as a deed: `api_key.revoked` becomes "API key revoked".
pub fn deed(action: &str) -> String {
    let (thing, done) = action.split_once('.').unwrap_or((action, ""));
    if let ("webhook", Some(deed)) = (thing, of_webhook(done)) {
        return deed.to_owned();
    }
    let thing = match thing {
        "api_key" => "API key",
        "oauth_app" => "OAuth app",
        "oauth_grant" => "App access",
        "oauth_secret" => "App secret",
        "oauth_consent" => "App consent",
        "oauth_client" => "App",
        "oauth_code" => "App code",
        "oauth_token" => "App token",
        "rsvp" => "Answer",
        "totp" => "Two-step sign-in",
        other => return capital(&spaced(&format!("{other} {done}"))),
    };
    format!("{thing} {}", spaced(done)).trim_end().to_owned()
}

/// What is done to webhooks, as their pages say it.
fn of_webhook(done: &str) -> Option<&'static str> {
    Some(match done {
        "created" => "Webhook added",
        "updated" => "Webhook changed",
        "enabled" => "Webhook turned on",
        "disabled" => "Webhook turned off",
        "tested" => "Webhook sent a test",
        "redelivered" => "Delivery sent again",
        "replayed" => "Webhook told again",
        "secret_rotated" => "Webhook secret replaced",
        _ => return None,
    })
}

/// The details of an entry, as people read them.
pub fn told(details: Option<&str>) -> Told {
    let Some(text) = details else { return Told::Erased };
    let members = match serde_json::from_str(text) {
        Ok(Value::Object(members)) => members,
        Ok(Value::Null) | Err(_) => return Told::Nothing,
        Ok(other) => Map::from_iter([("value".to_owned(), other)]),
    };
    let told = compared(members);
    if told.is_empty() { Told::Nothing } else { Told::Members(told) }
}

fn compared(mut members: Map<String, Value>) -> Vec<Member> {
    if let (Some(Value::Object(before)), Some(Value::Object(after))) =
        (members.get("before"), members.get("after"))
    {
        return differing(before, after);
    }
    let previous = members.remove("previous");
    let object = match members.remove("object") {
        Some(Value::Object(object)) => object,
        Some(other) => {
            members.insert("object".to_owned(), other);
            members
        }
        None => members,
    };
    match previous {
        Some(Value::Object(previous)) if !previous.is_empty() => {
            let now = |name: &String| object.get(name).map_or_else(nothing, shown);
            let changed = previous.iter().map(|(name, before)| Member {
                name: capital(&spaced(name)),
                before: Some(shown(before)),
                after: now(name),
            });
            changed.collect()
        }
        // One member and what it was before.
        Some(before) if !before.is_null() && !before.is_object() && object.len() == 1 => {
            let member = |(name, after): (&String, &Value)| Member {
                name: capital(&spaced(name)),
                before: Some(shown(&before)),
                after: shown(after),
            };
            object.iter().map(member).collect()
        }
        _ => listed(&object),
    }
}

/// What differs between two states.
fn differing(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Member> {
    let changed = before.iter().filter(|(name, value)| after.get(*name) != Some(value));
    let member = |(name, value): (&String, &Value)| Member {
        name: capital(&spaced(name)),
        before: Some(shown(value)),
        after: after.get(name).map_or_else(nothing, shown),
    };
    changed.map(member).collect()
}

fn listed(object: &Map<String, Value>) -> Vec<Member> {
    let says = |(name, value): &(&String, &Value)| {
        let empty = value.is_null()
            || value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty);
        !empty && !NOISE.contains(&name.as_str())
    };
    let member = |(name, value): (&String, &Value)| Member {
        name: capital(&spaced(name)),
        before: None,
        after: shown(value),
    };
    object.iter().filter(says).map(member).collect()
}

fn nothing() -> String {
    "nothing".to_owned()
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => nothing(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) if text.is_empty() => nothing(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => nothing(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => described(fields),
        Value::Number(number) => number.to_string(),
    };
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

/// What an object says, without ids and empty fields: an id inside of it names nothing that a person knows.
fn described(fields: &Map<String, Value>) -> String {
    let says = |(_, value): &(&String, &Value)| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() && !looks_like_id(text),
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let parts = fields
        .iter()
        .filter(says)
        .map(|(name, value)| format!("{} {}", spaced(name), shown(value)));
    let text = parts.collect::<Vec<_>>().join("; ");
    if text.is_empty() { nothing() } else { text }
}

/// Whether a text has the form of our ids, such as `team_` and 26 letters and digits.
fn looks_like_id(text: &str) -> bool {
    let rest = text.split_once('_').map(|(_, rest)| rest);
    rest.is_some_and(|rest| rest.len() == 26 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn spaced(text: &str) -> String {
    text.replace('_', " ").trim().to_owned()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(details: &str) -> Vec<(String, Option<String>, String)> {
        match told(Some(details)) {
            Told::Members(members) => {
                members.into_iter().map(|m| (m.name, m.before, m.after)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn one(name: &str, before: Option<&str>, after: &str) -> Vec<(String, Option<String>, String)> {
        vec![(name.to_owned(), before.map(str::to_owned), after.to_owned())]
    }

    #[test]
    fn actions_are_deeds() {
        assert_eq!(deed("api_key.revoked"), "API key revoked");
        assert_eq!(deed("team.updated"), "Team updated");
        assert_eq!(deed("roster.medical_read"), "Roster medical read");
        assert_eq!(deed("webhook.secret_rotated"), "Webhook secret replaced");
        assert_eq!(deed("webhook.deleted"), "Webhook deleted");
        assert_eq!(deed("odd"), "Odd");
    }

    #[test]
    fn changes_have_a_before_and_an_after() {
        let renamed = r#"{"object":{"id":"team_1","name":"New"},"previous":{"name":"Old"}}"#;
        assert_eq!(members(renamed), one("Name", Some("Old"), "New"));
        assert_eq!(
            members(r#"{"tier":"club","previous":"free"}"#),
            one("Tier", Some("free"), "club")
        );
        assert_eq!(members(r#"{"name":"b","previous":{"name":"a"}}"#), one("Name", Some("a"), "b"));
        assert_eq!(
            members(r#"{"object":{"sport":null},"previous":{"sport":"rugby"}}"#),
            one("Sport", Some("rugby"), "nothing")
        );
    }

    #[test]
    fn of_two_states_the_difference_is_told() {
        let moved = r#"{"before":{"name":"A","uris":["x"]},"after":{"name":"A","uris":["x","y"]}}"#;
        assert_eq!(members(moved), one("Uris", Some("x"), "x, y"));
    }

    #[test]
    fn what_came_to_be_is_listed_without_noise() {
        let made = r#"{"object":{"object":"team","id":"team_1","name":"A","sport":null,"version":1},"previous":null}"#;
        assert_eq!(members(made), one("Name", None, "A"));
        assert_eq!(members(r#"{"scopes":["a","b"]}"#), one("Scopes", None, "a, b"));
        assert_eq!(told(None), Told::Erased);
        assert_eq!(told(Some("null")), Told::Nothing);
        assert_eq!(told(Some("not json")), Told::Nothing);
        let long = format!(r#"{{"note":"{}"}}"#, "x".repeat(1000));
        assert_eq!(members(&long)[0].2.chars().count(), LONGEST + 1);
    }
}
