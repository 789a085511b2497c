//! The schedule: events, locations, RSVPs, volunteer duties and calendar feeds.

pub mod api;
pub mod calendar;
pub mod conflicts;
pub mod duty;
pub mod edit;
pub mod event;
pub mod feed;
pub mod personal_data;
pub mod history;
pub mod location;
mod rescheduling;
pub mod rsvp;
pub mod rsvp_snapshot;
pub mod schedule;
pub mod volunteers;
pub mod event_time;
