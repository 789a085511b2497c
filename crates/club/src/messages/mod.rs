//! Announcements, conversations and read receipts.
//!
//! An announcement is one-way and also goes out by email. A message starts a conversation or replies in one. The
//! recipients are determined at publication and include the guardians of minors. A conversation with a minor has at
//! least two adults. A retracted message is kept, but its content is no longer shown.

pub mod api;
pub mod audience;
pub mod recipients;
pub mod conversation;
pub mod editing;
pub mod personal_data;
pub mod listing;
pub mod markdown;
pub mod message;
pub mod people;
pub mod emails;
pub mod posting;
pub mod receipt;
pub mod safety;
