//! The schedule: events, where they are, who comes, and calendars of them.

pub mod api;
