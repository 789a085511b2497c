//! What the club holds, as CSV files.

pub mod api;
