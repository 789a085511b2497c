//! The API's description: what is checked in is what is served, it is complete, and it never breaks.

use std::collections::BTreeSet;

use kit::word::Word;
use testkit::world::new_key;
use testkit::{Value, World, both, json};
use touchline::accounts::rights::ScopeName;
use touchline::accounts::user::Role;

fn document() -> Value {
    serde_json::from_str(&touchline::document()).unwrap()
}

fn checked_in() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Every operation: method, path, and what the document says of it.
pub(crate) fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().clone();
        let path = path.clone();
        methods.into_iter().map(move |(method, op)| (method.to_uppercase(), path.clone(), op))
    };
    paths.iter().flat_map(of).collect()
}

#[test]
fn the_checked_in_document_is_up_to_date() {
    assert!(checked_in() == touchline::document(), "openapi.json is old; run `cargo xtask gen`");
}

#[test]
fn every_operation_is_described() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let place = format!("{method} {path}");
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        assert!(!text("summary").is_empty(), "{place} has no summary");
        assert!(operation["tags"].is_array(), "{place} has no tag");
        assert!(ids.insert(text("operationId")), "{place} has another's id");
        assert!(operation["security"].is_array(), "{place} does not say what it needs");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(response["description"].is_string(), "{place} {status} is not described");
        }
        let body = &operation["requestBody"]["content"]["application/json"];
        assert!(body.is_null() || body["example"].is_object(), "{place} has no example");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target} is nowhere");
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
}

/// What a client may rely on in one version of the document, as lines: operations, their parameters
/// and answers, and the members of every schema. A later version may only add lines.
fn promises(document: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (method, path, operation) in operations(document) {
        let place = format!("{method} {path}");
        lines.insert(format!("{place} is {}", operation["operationId"]));
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            lines.insert(format!("{place} takes {}{}", parameter["name"], parameter["$ref"]));
        }
        for status in operation["responses"].as_object().unwrap().keys() {
            lines.insert(format!("{place} answers {status}"));
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for (member, property) in schema["properties"].as_object().into_iter().flatten() {
            lines.insert(format!("{name}.{member} is {}{}", property["type"], property["$ref"]));
        }
    }
    lines
}

#[test]
fn nothing_that_was_promised_is_broken() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/promises.txt");
    let kept = std::fs::read_to_string(path).unwrap();
    let now = promises(&document());
    let broken: Vec<_> = kept.lines().filter(|line| !now.contains(*line)).collect();
    assert!(broken.is_empty(), "these promises of v1 are broken: {broken:#?}");
    if kept.lines().count() < now.len() {
        // Adding is allowed: the file is brought up to date, and the change shows in review.
        std::fs::write(path, now.into_iter().collect::<Vec<_>>().join("\n") + "\n").unwrap();
        panic!("the API promises more than before; tests/it/promises.txt was extended, commit it");
    }
}

/// Says where a value does not fit its schema, as far as the types, lists, fields and enums that the document uses.
fn mismatches(document: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    if let Some(target) = schema["$ref"].as_str() {
        let target = document.pointer(target.strip_prefix('#').unwrap()).unwrap();
        return mismatches(document, target, value, place);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = |one: &Value| mismatches(document, one, value, place).is_empty();
        return if choices.iter().any(fits) {
            Vec::new()
        } else {
            vec![format!("{place}: {value} fits no choice")]
        };
    }
    let all = schema["allOf"].as_array().into_iter().flatten();
    let mut found: Vec<_> = all.flat_map(|part| mismatches(document, part, value, place)).collect();
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types =
        [&schema["type"]].into_iter().chain(schema["type"].as_array().into_iter().flatten());
    let types: Vec<_> = types.filter_map(Value::as_str).collect();
    if !types.is_empty() && !types.contains(&actual) {
        found.push(format!("{place}: {value} is not {types:?}"));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        found.push(format!("{place}: {value} is not one of {}", schema["enum"]));
    }
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(inner) = value.get(name) {
            found.extend(mismatches(document, part, inner, &format!("{place}/{name}")));
        }
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(required).is_none() {
            found.push(format!("{place}/{required} is missing"));
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(mismatches(document, &schema["items"], item, &format!("{place}/{index}")));
    }
    found
}

both! {
    async fn what_me_answers_fits_its_schema(w: &World) {
        let document = document();
        let schema = &document["paths"]["/me"]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{schema}");
        let all: Vec<_> = ScopeName::ALL.iter().map(|(_, word)| *word).collect();
        let (_, everything) = w.caller(new_key("*")).await;
        let (_, named) = w.caller(new_key(&all.join(" "))).await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let app = w.acting_for(ana.id, "teams:read").await;
        for caller in [everything, named, app] {
            let answer = caller.get("/me").await.ok();
            assert_eq!(mismatches(&document, schema, &answer.body, ""), Vec::<String>::new());
        }
    }

    async fn the_service_serves_its_own_description(w: &World) {
        let served = w.nobody.get("/api/public/v1/openapi.json").await.ok();
        assert_eq!(served.text, touchline::document());
        assert_eq!(served.body["openapi"], json!("3.1.0"));
        let page = w.nobody.get("/docs").await.ok();
        assert!(page.header("content-security-policy").unwrap().contains("connect-src 'self'"));
        assert!(!page.text.contains("http://") && !page.text.contains("https://"));
        let errors = w.nobody.get("/docs/errors").await.ok();
        assert!(errors.text.contains("id=\"idempotency_key_reused\""));
        let packed = w.nobody.with("Accept-Encoding", "gzip").get("/docs/scalar.js").await.ok();
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
    }
}
