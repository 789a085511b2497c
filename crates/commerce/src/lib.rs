//! The store, dues, card payments and exports.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

pub use touchline_club::*;

pub mod money;
pub mod shop;
pub mod dues;
pub mod cards;
pub mod exports;
