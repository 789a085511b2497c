//! The store, dues and card payments.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

/// Makes `t!`, `message!` and the other macros for texts available everywhere, also in templates.
#[macro_use]
pub extern crate i18n;

pub use touchline_club::*;

pub mod money;
pub mod shop;
pub mod dues;
pub mod cards;
