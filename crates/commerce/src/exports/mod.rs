//! CSV exports.

pub mod api;
pub mod dues;
pub mod events;
pub mod ledger;
pub mod orders;
pub mod pages;
pub mod roster;
pub mod rsvps;
pub mod table;

use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module { api: api::routes, pages: pages::router, ..Module::EMPTY };
