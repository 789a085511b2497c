//! Home: what a person has to do now, what changed, and what comes next, across all teams and children.

mod changes;
mod data;
mod more;
mod pages;

use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module { pages: pages::router, ..Module::EMPTY };
