//! Writes JSON values as literals of JSON, TypeScript and Python, for examples.

use serde_json::{Map, Value};

/// Values that fit into this many characters are written on one line.
const MAX_INLINE: usize = 60;
/// Fields that come first and last in an object. The others are sorted by name.
const FIRST: [&str; 4] = ["object", "id", "type", "data"];
const LAST: [&str; 3] = ["created_at", "updated_at", "version"];

/// The language of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Json,
    TypeScript,
    Python,
}

impl Language {
    fn null(self) -> &'static str {
        if self == Self::Python { "None" } else { "null" }
    }

    fn boolean(self, value: bool) -> &'static str {
        match (self, value) {
            (Self::Python, true) => "True",
            (Self::Python, false) => "False",
            (_, true) => "true",
            (_, false) => "false",
        }
    }

    /// A string with its quotes.
    pub fn string(self, text: &str) -> String {
        let json = Value::from(text).to_string();
        if self != Self::TypeScript {
            return json;
        }
        let inner = json[1..json.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
        format!("'{inner}'")
    }

    fn key(self, name: &str) -> String {
        let mut characters = name.chars();
        let starts = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let plain = starts && characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if self == Self::TypeScript && plain { name.to_owned() } else { self.string(name) }
    }

    /// A value, over several lines if it is long. `indent` is the indentation of the line that it starts on.
    pub fn literal(self, value: &Value, indent: usize) -> String {
        let inline = self.inline(value);
        if inline.chars().count() <= MAX_INLINE {
            return inline;
        }
        let step = if self == Self::Python { 4 } else { 2 };
        let (inner, outer) = (" ".repeat(indent + step), " ".repeat(indent));
        let comma = if self == Self::Json { "" } else { "," };
        let (open, close, lines): (_, _, Vec<String>) = match value {
            Value::Object(fields) => {
                let line = |(name, value): (&String, &Value)| {
                    format!("{inner}{}: {}", self.key(name), self.literal(value, indent + step))
                };
                ('{', '}', sorted(fields).into_iter().map(line).collect())
            }
            Value::Array(items) => {
                let line = |item| format!("{inner}{}", self.literal(item, indent + step));
                ('[', ']', items.iter().map(line).collect())
            }
            _ => return inline,
        };
        format!("{open}\n{}{comma}\n{outer}{close}", lines.join(",\n"))
    }

    /// A value on one line.
    fn inline(self, value: &Value) -> String {
        match value {
            Value::Null => self.null().to_owned(),
            Value::Bool(value) => self.boolean(*value).to_owned(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.inline(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| {
                    format!("{}: {}", self.key(name), self.inline(value))
                };
                let fields: Vec<_> = sorted(fields).into_iter().map(field).collect();
                let space = if self == Self::Python { "" } else { " " };
                format!("{{{space}{}{space}}}", fields.join(", "))
            }
        }
    }
}

/// The fields of an object in the order in which people look for them.
pub fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut pairs: Vec<_> = fields.iter().collect();
    pairs.sort_by_key(|(name, _)| rank(name));
    pairs
}

/// Where a field comes in its object.
fn rank(name: &str) -> (usize, usize) {
    let at = |names: &[&str]| names.iter().position(|known| *known == name);
    match (at(&FIRST), at(&LAST)) {
        (Some(first), _) => (0, first),
        (None, Some(last)) => (2, last),
        (None, None) => (1, 0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_in_each_language() {
        let value = json!({ "name": "R's \"A\"", "on": true, "no": null, "a-b": [1] });
        let write = |language: Language| language.literal(&value, 0);
        assert_eq!(
            write(Language::Json),
            r#"{ "a-b": [1], "name": "R's \"A\"", "no": null, "on": true }"#
        );
        assert_eq!(
            write(Language::TypeScript),
            r#"{ 'a-b': [1], name: 'R\'s "A"', no: null, on: true }"#
        );
        assert_eq!(
            write(Language::Python),
            r#"{"a-b": [1], "name": "R's \"A\"", "no": None, "on": True}"#
        );
    }

    #[test]
    fn long_values_are_indented() {
        let value = json!({ "id": "x".repeat(40), "name": "y".repeat(40) });
        let (x, y) = ("x".repeat(40), "y".repeat(40));
        assert_eq!(
            Language::TypeScript.literal(&value, 2),
            format!("{{\n    id: '{x}',\n    name: '{y}',\n  }}")
        );
        assert_eq!(
            Language::Json.literal(&value, 0),
            format!("{{\n  \"id\": \"{x}\",\n  \"name\": \"{y}\"\n}}")
        );
    }
}
