//! The schedule: events, where they are, who comes, and calendars of them.

pub mod api;
pub mod calendar;
pub mod conflicts;
pub mod duty;
pub mod edit;
pub mod event;
pub mod feed;
pub mod held;
pub mod history;
pub mod location;
mod moving;
pub mod rsvp;
pub mod schedule;
pub mod volunteers;
pub mod when;
