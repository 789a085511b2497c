//! Metadata: what a caller wants to remember beside an object, up to 50 pairs of text.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::{Bound, Column, Value};
use utoipa::openapi::schema::{AdditionalProperties, Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};

/// Pairs of text, kept and sent as one JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata(String);

impl Metadata {
    /// How many pairs there may be.
    pub const PAIRS: usize = 50;
    /// How many characters a key may have.
    pub const KEY: usize = 40;
    /// How many characters a value may have.
    pub const VALUE: usize = 500;

    /// Metadata with these pairs, whose sizes were checked.
    pub fn new(pairs: &BTreeMap<String, String>) -> Self {
        Self(serde_json::to_string(pairs).expect("text can be written as JSON"))
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

impl Bound for Metadata {
    fn write(&self) -> Value<'_> {
        Value::Text(self.0.as_str().into())
    }
}

impl Column for Metadata {
    fn read(value: Value<'_>) -> store::Result<Self> {
        String::read(value).map(Self)
    }
}

impl utoipa::PartialSchema for Metadata {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).max_length(Some(Self::VALUE));
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("Up to 50 pairs: keys up to 40, values up to 500 characters."))
            .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(text.into()))))
            .max_properties(Some(Self::PAIRS))
            .examples([serde_json::json!({ "league_code": "N-12" })])
            .into()
    }
}
impl utoipa::ToSchema for Metadata {}
