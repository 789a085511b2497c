//! What a module declares about the personal data it stores.

use serde_json::Value;
use store::{Reader, Tx};

use crate::error::Result;
use crate::ids::PersonId;
use crate::rights::ScopeName;

/// The personal data that a module stores about people.
#[derive(Debug, Clone, Copy)]
pub struct PersonalData {
    /// The name of its section in the export of a person's data.
    pub section: &'static str,
    /// What the section contains, for the API description.
    pub description: &'static str,
    /// Whether the section is a list.
    pub is_list: bool,
    /// The scope that is needed to see the section; `None` if the export itself is enough.
    pub scope: Option<ScopeName>,
    pub export: fn(&Reader<'_>, PersonId) -> Result<Value>,
    /// Erases the data of a person. Returns the ids of the objects whose copies in logs must be redacted.
    pub erase: fn(&Tx<'_>, PersonId) -> Result<Vec<String>>,
}
