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

use crate::accounts::api_key;
use crate::ids::TeamKind;
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
    register_hooks: || api_key::FILTER_EXISTING_TEAMS.register(team::filter_existing),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Teams"), Some(ScopeName::TeamsRead), "Team" {
            "team.created": "A team was created.";
            "team.updated": "A team was changed.";
            "team.archived": "A team was archived.";
            "team.restored": "An archived team was restored.";
        }
    },
    object_names: crate::object_names! {
        TeamKind: mark!("Team"),
            "select id, name from team where account_id = :account and id in (:ids)";
    },
    ..Module::EMPTY
};
