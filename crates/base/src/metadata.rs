//! Metadata: up to 50 key-value pairs that an API client stores with an object.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::{Column, ToValue, Value};
use utoipa::openapi::schema::{AdditionalProperties, Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

/// Key-value pairs of text, stored and sent as one JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata(String);

impl Metadata {
    /// The maximum number of pairs.
    pub const MAX_PAIRS: usize = 50;
    /// The maximum number of characters of a key.
    pub const MAX_KEY_CHARS: usize = 40;
    /// The maximum number of characters of a value.
    pub const MAX_VALUE_CHARS: usize = 500;

    /// Creates metadata from these pairs. The caller has checked the limits.
    pub fn new(pairs: &BTreeMap<String, String>) -> Self {
        Self(serde_json::to_string(pairs).expect("a map of strings can be serialized"))
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl ToValue for Metadata {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self.0.as_str().into())
    }
}

impl Column for Metadata {
    fn from_value(value: Value<'_>) -> store::Result<Self> {
        String::from_value(value).map(Self)
    }
}

impl utoipa::PartialSchema for Metadata {
    fn schema() -> RefOr<Schema> {
        let text =
            ObjectBuilder::new().schema_type(Type::String).max_length(Some(Self::MAX_VALUE_CHARS));
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(
                "Key-value pairs for your own use. At most 50 pairs; keys have at most 40 characters, values at most 500.",
            ))
            .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(text.into()))))
            .max_properties(Some(Self::MAX_PAIRS))
            .examples([serde_json::json!({ "league_code": "N-12" })])
            .into()
    }
}
impl utoipa::ToSchema for Metadata {}
