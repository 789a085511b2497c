//! Sign-in: sessions, passwords, two-step sign-in and passkeys.
//!
//! A user signs in to the installation, not to one club; the session stores which club's pages are shown.
//! Passwords, session tokens, links and recovery codes are stored only as hashes.

pub mod authentication;
pub mod cleanup;
pub mod link;
pub mod pages;
pub mod passkey;
pub mod set_up;
pub mod throttle;
pub mod two_step;

use crate::ids::PasskeyKind;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    pages: pages::router,
    object_names: crate::object_names! {
        PasskeyKind: mark!("Passkey");
    },
    ..Module::EMPTY
};
