//! Teams, rosters, events, messages and emails.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

pub use touchline_web::*;

pub mod me;
pub mod teams;
pub mod roster;
pub mod events;
pub mod mail;
pub mod mailer;
pub mod messages;
