//! Export and erasure of personal data.

pub mod api;
pub mod person_export;
pub mod erasure;
mod redaction;

use crate::rights::ScopeName;
use crate::web::module::Module;

crate::permissions! {
    /// Export a person's data.
    PrivacyExport: Some(ScopeName::RosterRead), Admin;
    /// Erase a person's data.
    PrivacyManage: Some(ScopeName::RosterWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module { api: api::routes, permissions: PERMISSIONS, ..Module::EMPTY };
