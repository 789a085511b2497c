//! Sign-in, invitations, and access for apps (OAuth).
//!
//! Each module uses only the modules listed above it, and those of the crates below.

pub use touchline_club::*;

pub mod signin;
pub mod joining;
pub mod oauth;
