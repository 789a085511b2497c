//! JSON as it came in: no name twice, no loss, and a canonical form to compare requests by.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Code, Error, Result};

/// Reads one JSON document. A name that stands twice in an object is refused wherever it stands.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    let refuse = |detail: String| Error::new(Code::InvalidJson, detail);
    let text =
        std::str::from_utf8(bytes).map_err(|_| refuse("The body is not UTF-8.".to_owned()))?;
    if text.trim().is_empty() {
        return Err(refuse("The body is empty.".to_owned()));
    }
    let Strict(value) = serde_json::from_str(text)
        .map_err(|error| refuse(format!("The body is not valid JSON: {error}.")))?;
    Ok(value)
}

/// Keys in order, no white space: two bodies that say the same have the same canonical form.
/// Numbers are compared as they were written: `1` and `1.0` differ.
pub fn canonical(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("a JSON value can be written as JSON")
}

/// A value whose objects have no name twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
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
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("a number too large"))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> std::result::Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Strict(value) = members.next_value()?;
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("the name {name:?} stands twice")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_twice_are_refused_at_any_depth() {
        for twice in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":{"b":1,"\u0062":2}}"#,
            r#"[{"metadata":{"k":"1","k":"1"}}]"#,
        ] {
            assert_eq!(parse(twice.as_bytes()).unwrap_err().code, Code::InvalidJson, "{twice}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
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
    fn order_and_space_do_not_matter_and_numbers_are_as_written() {
        let same = |a: &str, b: &str| {
            canonical(&parse(a.as_bytes()).unwrap()) == canonical(&parse(b.as_bytes()).unwrap())
        };
        assert!(same(r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true, null ],\n\"a\":1 }"));
        assert!(!same("1", "1.0"));
        assert!(!same("[1,2]", "[2,1]"));
    }
}
