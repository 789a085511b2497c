//! The roster: people, the teams they are on, and who looks after them.

pub mod api;
