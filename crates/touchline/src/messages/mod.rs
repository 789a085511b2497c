//! Announcements and conversations, whom they reached and who read them.

pub mod api;
