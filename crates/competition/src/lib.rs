//! The rules of competitions: standings, schedules of tournaments, and statistics.
//!
//! This crate knows nothing of the database, of HTTP or of accounts. Its functions are deterministic: the same input gives
//! the same result.

pub mod schedule;
pub mod standings;
pub mod stats;
