//! CSV exports.

pub mod api;
pub mod dues;
pub mod events;
pub mod ledger;
pub mod orders;
pub mod pages;
pub mod roster;
pub mod rsvps;
pub mod table;
