//! The admin area: pages on which owners and admins manage their club.

pub mod apps;
pub mod audit;
mod audit_labels;
pub mod chart;
pub mod pages;
pub mod users;
pub mod removal;
pub mod summary;
pub mod audit_text;

use crate::rights::ScopeName;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    pages: pages::router,
    notification_kinds: crate::notification_kinds! {
        // Every credential can read the account.
        mark!("Club"), None, "Account" {
            "account.updated": "The account was changed.";
        }
        // Users are only visible together with the people of the roster.
        mark!("Users"), Some(ScopeName::RosterRead), "UserSnapshot" {
            "user.joined": "A user joined the account.";
            "user.role_changed": "A user's role was changed.";
            "user.removed": "A user was removed from the account.";
        }
    },
    ..Module::EMPTY
};
