//! Strict JSON parsing without duplicate keys, and a canonical form for comparing requests.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number};

use crate::prelude::*;

/// Parses a JSON document. Duplicate keys are rejected at any depth.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    let invalid = |detail: String| Error::new(Code::InvalidJson, detail);
    let text = std::str::from_utf8(bytes)
        .map_err(|_| invalid("The body is not valid UTF-8.".to_owned()))?;
    if text.trim().is_empty() {
        return Err(invalid("The body is empty. Send a JSON object.".to_owned()));
    }
    let UniqueKeysValue(value) = serde_json::from_str(text)
        .map_err(|error| invalid(format!("The body is not valid JSON: {error}.")))?;
    Ok(value)
}

/// The canonical form: keys sorted, no white space. Equivalent bodies have the same canonical form, but `1` and `1.0`
/// differ.
pub fn canonical(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("a JSON value serializes to JSON")
}

/// A value without duplicate keys.
struct UniqueKeysValue(Value);

impl<'de> Deserialize<'de> for UniqueKeysValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> std::result::Result<Value, E> {
        Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is too large"))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueKeysValue(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let UniqueKeysValue(value) = entries.next_value()?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} is duplicated")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_are_rejected_at_any_depth() {
        for duplicate in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":{"b":1,"\u0062":2}}"#,
            r#"[{"metadata":{"k":"1","k":"1"}}]"#,
        ] {
            let error = parse(duplicate.as_bytes()).unwrap_err();
            assert_eq!(error.code, Code::InvalidJson, "{duplicate}");
        }
    }

    #[test]
    fn invalid_json_is_rejected() {
        let deep = "[".repeat(10_000);
        for wrong in [
            "",
            " ",
            "{",
            "{}{}",
            "\u{feff}{}",
            "{\"a\":\"\\ud800\"}",
            "1e400",
            "{\"a\":1,}",
            &deep,
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(parse(&[b'"', 0xff, b'"']).is_err());
    }

    #[test]
    fn the_canonical_form_ignores_order_and_space_but_not_number_format() {
        let same = |a: &str, b: &str| {
            canonical(&parse(a.as_bytes()).unwrap()) == canonical(&parse(b.as_bytes()).unwrap())
        };
        assert!(same(r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true, null ],\n\"a\":1 }"));
        assert!(!same("1", "1.0"));
        assert!(!same("[1,2]", "[2,1]"));
    }
}
