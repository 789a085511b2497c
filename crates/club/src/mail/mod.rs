//! Emails to people: the outbox, emails to guardians, and unsubscribing. [`crate::mailer`] sends them.

pub mod api;
pub mod guardian_notice;
pub mod email;
pub mod pages;
