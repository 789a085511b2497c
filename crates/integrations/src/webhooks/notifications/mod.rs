//! The account's log of notifications, for clients that poll or stream it instead of using webhooks, and its retention.

pub mod api;
pub mod retention;
pub mod log;
