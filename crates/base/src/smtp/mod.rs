//! Sends emails through a mail server.

pub mod direct;
pub mod message;
pub mod server;
