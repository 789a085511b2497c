//! The HTTP layer, free of domain logic: authentication, input, responses and pages.
//!
//! Each module uses only the modules listed above it, and those of the crates below.

pub use touchline_base::*;

pub mod web;
