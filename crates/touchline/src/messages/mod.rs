//! Announcements and conversations, whom they reached and who read them.
//!
//! An announcement is the club speaking; it also goes out by mail. A message starts a conversation or
//! continues one. Whoever is to get it is found when it is published, with the guardians of minors, and
//! a conversation with a minor has at least two adults. A retracted message is kept and no longer shown.

pub mod api;
pub mod audience;
pub mod circle;
pub mod conversation;
pub mod held;
pub mod listing;
pub mod markdown;
pub mod message;
pub mod people;
pub mod post;
pub mod posting;
pub mod receipt;
pub mod safety;
