//! Texts that people read use common words, and everything in the API description is described.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use testkit::Value;

use crate::architecture::{CRATES, sources};
use crate::openapi::operations;

/// Words and phrases that made readers stop. Each has a common replacement.
const AVOIDED: &[(&str, &str)] = &[
    ("reckoned", "calculated"),
    ("letters", "emails, or characters"),
    ("told", "notified"),
    ("news", "notifications"),
    ("handed out", "fulfilled"),
    ("given back", "refunded"),
    ("written down", "recorded"),
    ("by hand", "manually"),
    ("unknown members", "unknown fields"),
    ("stands", "is"),
    ("whoever", "people who"),
    ("in peace", "not reminded"),
    ("anew", "again"),
    ("outbox", "emails"),
    ("instalment", "installment"),
    ("instalments", "installments"),
    ("fulfil", "fulfill"),
];

/// The first avoided word in a text.
fn avoided_word(text: &str) -> Option<(&'static str, &'static str)> {
    let words: Vec<_> = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let text = format!(" {} ", words.join(" "));
    AVOIDED.iter().find(|(word, _)| text.contains(&format!(" {word} "))).copied()
}

fn assert_common_words(place: &str, text: &str) {
    if let Some((word, better)) = avoided_word(text) {
        panic!("{place} says “{word}”; say “{better}”: {text}");
    }
}

#[test]
fn templates_use_common_words() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = |name: &&str| crates.join(name).join("templates");
    let mut folders: Vec<_> = CRATES.iter().map(folder).filter(|path| path.exists()).collect();
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            for line in fs::read_to_string(&path).unwrap().lines() {
                assert_common_words(&path.display().to_string(), line);
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn texts_in_the_source_use_common_words() {
    for (path, code) in sources() {
        for text in string_literals(&code).into_iter().filter(|text| text.contains(' ')) {
            assert_common_words(&path.display().to_string(), &text);
        }
    }
}

/// The string literals of Rust code.
fn string_literals(code: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(['"', '\'', '/']) {
        let (kind, after) = (rest.as_bytes()[start], &rest[start + 1..]);
        rest = match kind {
            b'/' if after.starts_with('/') => after.split_once('\n').map_or("", |(_, next)| next),
            b'\'' if after.starts_with("\"'") => &after[2..],
            b'"' => {
                let mut escaped = false;
                let end = after.find(|c| {
                    let found = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    found
                });
                let end = end.unwrap_or(after.len());
                literals.push(after[..end].to_owned());
                after.get(end + 1..).unwrap_or("")
            }
            _ => after,
        };
    }
    literals
}

/// A description has at least three words and says more than the name.
fn assert_described(place: &str, name: &str, description: Option<&str>) {
    let description = description.unwrap_or_default();
    assert_common_words(place, description);
    let words: Vec<_> = description.split_whitespace().collect();
    assert!(words.len() >= 3, "{place} is not described: “{description}”");
    let plain = description.trim_end_matches('.').to_lowercase().replace(' ', "_");
    assert_ne!(plain, name, "{place} is described by its own name");
}

#[test]
fn every_operation_and_parameter_is_described() {
    let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
    for (method, path, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap().replace('.', "_");
        let endpoint = format!("{method} {path}");
        assert_described(&endpoint, &id, operation["description"].as_str());
        assert_common_words(&endpoint, operation["summary"].as_str().unwrap());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let Some(name) = parameter["name"].as_str() else { continue };
            let place = format!("{endpoint}, parameter {name}");
            assert_described(&place, name, parameter["description"].as_str());
        }
    }
}

#[test]
fn every_field_is_described() {
    let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let described = |schema: &Value| {
        let target = schema["$ref"].as_str().and_then(|target| target.rsplit('/').next());
        let own = schema["description"].as_str();
        own.or_else(|| schemas[target?]["description"].as_str()).map(str::to_owned)
    };
    let mut fields = BTreeSet::new();
    for (name, schema) in schemas {
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            assert_described(&format!("{name}.{field}"), field, described(property).as_deref());
            fields.insert(field);
        }
    }
    assert!(fields.len() > 200, "{}", fields.len());
}
