//! The vocabulary of the service: ids, errors, settings, rights, notifications and accounts.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

/// Makes `t!`, `message!` and the other macros for texts available everywhere, also in templates.
#[macro_use]
pub extern crate i18n;

pub mod bounded;
pub mod ids;
pub mod error;
pub mod hook;
pub mod metadata;
pub mod columns;
pub mod paging;
pub mod if_match;
pub mod violations;
pub mod names;
pub mod secrets;
pub mod blocking_pool;
pub mod passwords;
pub mod migrations;
pub mod tier;
pub mod rights;
pub mod notification_kinds;
pub mod signals;
pub mod resource;
pub mod queries;
pub mod personal_data;
pub mod demo_club;
pub mod prelude;
pub mod table;
pub mod config;
pub mod address_policy;
pub mod outbound;
pub mod card_provider;
pub mod file_store;
pub mod uploads;
pub mod smtp;
pub mod unsubscribe_key;
pub mod accounts;
