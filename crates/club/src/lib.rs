//! Teams, rosters, events, messages and emails.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

/// Makes `t!`, `message!` and the other macros for texts available everywhere, also in templates.
#[macro_use]
pub extern crate i18n;

pub use touchline_web::*;

pub mod me;
pub mod teams;
pub mod roster;
pub mod events;
pub mod mail;
pub mod mailer;
pub mod messages;
pub mod message_templates;
