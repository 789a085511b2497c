//! Export and erasure of personal data.

pub mod api;
pub mod person_export;
pub mod erasure;
mod redaction;

use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module { api: api::routes, ..Module::EMPTY };
