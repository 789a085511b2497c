//! Teams of a club.
//!
//! A name is unique among the active teams of an account. An archived team keeps its history and is read-only until it
//! is restored; its name becomes available again.

pub mod age_group;
pub mod api;
pub mod demo;
pub mod logo;
pub mod pages;
pub mod team;

pub use pages::{choose, header};

use crate::rights::ScopeName;
use crate::web::module::Module;

crate::permissions! {
    /// View teams.
    TeamsRead: Some(ScopeName::TeamsRead), Family;
    /// Update a team.
    TeamsWrite: Some(ScopeName::TeamsWrite), Staff;
    /// Create, archive and restore teams.
    TeamsManage: Some(ScopeName::TeamsWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: || pages::router().merge(logo::pages::router()),
    permissions: PERMISSIONS,
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        Some(ScopeName::TeamsRead), "Team" {
            "team.created": "A team was created.";
            "team.updated": "A team was changed.";
            "team.archived": "A team was archived.";
            "team.restored": "An archived team was restored.";
        }
    },
    ..Module::EMPTY
};
