//! Tests of the OpenAPI description: up to date, complete and without breaking changes.

use std::collections::BTreeSet;

use kit::string_enum::StringEnum;
use testkit::world::new_key;
use testkit::{Value, World, both, json};
use touchline::accounts::user::Role;
use touchline::rights::ScopeName;

fn document() -> Value {
    serde_json::from_str(&touchline::openapi_json()).unwrap()
}

fn checked_in() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Every operation: method, path and operation object.
pub(crate) fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().clone();
        let path = path.clone();
        methods.into_iter().map(move |(method, op)| (method.to_uppercase(), path.clone(), op))
    };
    paths.iter().flat_map(of_path).collect()
}

#[test]
fn checked_in_document_is_up_to_date() {
    assert!(
        checked_in() == touchline::openapi_json(),
        "openapi.json is old; run `cargo xtask gen`"
    );
}

#[test]
fn every_operation_is_described() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let endpoint = format!("{method} {path}");
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        assert!(!text("summary").is_empty(), "{endpoint} has no summary");
        assert!(operation["tags"].is_array(), "{endpoint} has no tag");
        assert!(ids.insert(text("operationId")), "{endpoint} repeats an operation id");
        assert!(operation["security"].is_array(), "{endpoint} has no security requirement");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let described = response["description"].is_string() || response["$ref"].is_string();
            assert!(described, "{endpoint} {status} is not described");
        }
        for (place, content) in contents(&operation) {
            assert!(!content["example"].is_null(), "{endpoint} {place} has no example");
            let wrong = mismatches(&document, &content["schema"], &content["example"], "");
            assert_eq!(wrong, [""; 0], "example of {endpoint} {place}");
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(schema["description"].is_string(), "{name} has no description");
    }
}

#[test]
fn every_webhook_request_has_an_example_and_headers() {
    let document = document();
    for (name, item) in document["webhooks"].as_object().unwrap() {
        let operation = &item["post"];
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        assert_eq!(example["type"], **name, "{name}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(mismatches(&document, schema, example, ""), [""; 0], "{name}");
        let headers = operation["parameters"].as_array().unwrap().iter();
        let headers: Vec<_> = headers.map(|header| header["name"].as_str().unwrap()).collect();
        assert_eq!(headers, ["webhook-id", "webhook-timestamp", "webhook-signature"], "{name}");
    }
}

/// The bodies of an operation: of its request, and of its own responses.
fn contents(operation: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let responses = operation["responses"].as_object().into_iter().flatten();
    let responses = responses.map(|(status, response)| (status.as_str(), &response["content"]));
    let all = responses.chain([("request", &operation["requestBody"]["content"])]);
    all.flat_map(|(place, content)| {
        content.as_object().into_iter().flatten().map(move |(_, body)| (place, body))
    })
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let mut pending = vec![&document];
    while let Some(value) = pending.pop() {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target} does not exist");
        }
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => pending.extend(fields.values()),
            _ => {}
        }
    }
}

/// What clients may rely on, as lines: operations, their parameters and responses, and the fields
/// of every schema. A later version may only add lines.
fn compatibility_lines(document: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (method, path, operation) in operations(document) {
        let endpoint = format!("{method} {path}");
        lines.insert(format!("{endpoint} is {}", operation["operationId"]));
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            lines.insert(format!("{endpoint} takes {}{}", parameter["name"], parameter["$ref"]));
        }
        for status in operation["responses"].as_object().unwrap().keys() {
            lines.insert(format!("{endpoint} answers {status}"));
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            lines.insert(format!("{name}.{field} is {}{}", property["type"], property["$ref"]));
        }
    }
    lines
}

#[test]
fn has_no_breaking_changes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/api_baseline.txt");
    let recorded = std::fs::read_to_string(path).unwrap();
    let current = compatibility_lines(&document());
    let broken: Vec<_> = recorded.lines().filter(|line| !current.contains(*line)).collect();
    assert!(broken.is_empty(), "breaking changes of v1: {broken:#?}");
    if recorded.lines().count() < current.len() {
        // Additions are allowed: update the file, so that the change shows in review.
        std::fs::write(path, current.into_iter().collect::<Vec<_>>().join("\n") + "\n").unwrap();
        panic!("the API has grown; tests/it/api_baseline.txt was updated, commit it");
    }
}

/// Where a value does not match its schema. Covers the keywords that the document uses.
fn mismatches(document: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    if let Some(target) = schema["$ref"].as_str() {
        let target = document.pointer(target.strip_prefix('#').unwrap()).unwrap();
        return mismatches(document, target, value, path);
    }
    if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let matches = |one: &Value| mismatches(document, one, value, path).is_empty();
        return if choices.iter().any(matches) {
            Vec::new()
        } else {
            vec![format!("{path}: {value} fits no choice")]
        };
    }
    let all = schema["allOf"].as_array().into_iter().flatten();
    let mut mismatched: Vec<_> =
        all.flat_map(|part| mismatches(document, part, value, path)).collect();
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types =
        [&schema["type"]].into_iter().chain(schema["type"].as_array().into_iter().flatten());
    let types: Vec<_> = types.filter_map(Value::as_str).collect();
    if !types.is_empty() && !types.contains(&actual) {
        mismatched.push(format!("{path}: {value} is not {types:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        mismatched.push(format!("{path}: {value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|choices| !choices.contains(value)) {
        mismatched.push(format!("{path}: {value} is not one of {}", schema["enum"]));
    }
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(inner) = value.get(name) {
            mismatched.extend(mismatches(document, part, inner, &format!("{path}/{name}")));
        }
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(required).is_none() {
            mismatched.push(format!("{path}/{required} is missing"));
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        mismatched.extend(mismatches(document, &schema["items"], item, &format!("{path}/{index}")));
    }
    mismatched
}

both! {
    async fn me_response_matches_its_schema(w: &World) {
        let document = document();
        let schema = &document["paths"]["/me"]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{schema}");
        let all: Vec<_> = ScopeName::ALL.iter().map(|(_, name)| *name).collect();
        let (_, everything) = w.client_with_key(new_key("*")).await;
        let (_, all_scopes) = w.client_with_key(new_key(&all.join(" "))).await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let app = w.client_for_user(ana.id, "teams:read").await;
        for caller in [everything, all_scopes, app] {
            let answer = caller.get("/me").await.ok();
            assert_eq!(mismatches(&document, schema, &answer.body, ""), Vec::<String>::new());
        }
    }

    async fn serves_its_own_description(w: &World) {
        let served = w.nobody.get("/api/public/v1/openapi.json").await.ok();
        assert_eq!(served.text, touchline::openapi_json());
        assert_eq!(served.body["openapi"], json!("3.1.0"));
        let compressed = w.nobody.with_header("Accept-Encoding", "gzip").get("/api/public/v1/openapi.json").await.ok();
        assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    }
}
