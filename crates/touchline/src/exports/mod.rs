//! What the club holds, as CSV files.

pub mod api;
pub mod dues;
pub mod events;
pub mod ledger;
pub mod orders;
pub mod pages;
pub mod roster;
pub mod rsvps;
pub mod table;
