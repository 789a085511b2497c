//! Webhooks and their delivery.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

pub use touchline_club::*;

pub mod webhooks;
pub mod dispatch;
