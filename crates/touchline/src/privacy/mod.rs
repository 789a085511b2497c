//! Export and erasure of personal data, and merging two records of a person.

pub mod api;
pub mod person_export;
pub mod erasure;
pub mod person_merge;
mod redaction;

use crate::rights::ScopeName;
use crate::web::module::Module;

crate::permissions! {
    /// Export a person's data.
    PrivacyExport: Some(ScopeName::RosterRead), Admin;
    /// Erase a person's data.
    PrivacyManage: Some(ScopeName::RosterWrite), Admin;
    /// View and update all people of the club, and merge two records of the same person.
    PeopleManage: Some(ScopeName::RosterWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module { api: api::routes, permissions: PERMISSIONS, ..Module::EMPTY };
