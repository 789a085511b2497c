//! Teams, rosters, events, messages and emails.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

/// Makes `t!`, `message!` and the other macros for texts available everywhere, also in templates.
#[macro_use]
pub extern crate i18n;

pub use touchline_web::*;

pub mod me;
pub mod files;
pub mod teams;
pub mod roster;
pub mod events;
pub mod attendance;
pub mod away_dates;
pub mod mail;
pub mod mailer;
pub mod message_templates;
pub mod messages;
pub mod event_emails;
pub mod event_reminders;
