//! The account's log of notifications, for those who ask or listen instead of being called; and how long it is
//! kept.

pub mod api;
pub mod keeping;
pub mod log;
