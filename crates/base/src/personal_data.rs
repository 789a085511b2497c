//! What a module declares about the personal data it stores, and how it moves to another record of the same person.

use serde_json::Value;
use store::{Reader, Tx};

use crate::error::Result;
use crate::ids::{MemberId, PersonId};
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

/// Two records of the same person that are merged.
#[derive(Debug, Clone)]
pub struct MergedRecords {
    /// The record that is deleted.
    pub from: PersonId,
    /// The record that stays.
    pub into: PersonId,
    /// Their members on the same team. The first one is deleted, the second one stays.
    pub members: Vec<(MemberId, MemberId)>,
}

/// How a module moves its data from one record of a person to another one.
#[derive(Debug, Clone, Copy)]
pub struct PersonMerge {
    /// All columns that contain the id of a person or a member, as `table.column`. A test compares them with the schema.
    pub references: &'static [&'static str],
    /// Runs before the records themselves change.
    pub run: fn(&Tx<'_>, &MergedRecords) -> Result<()>,
}
