//! The admin area: pages on which owners and admins manage their club.

pub mod apps;
pub mod audit;
pub mod chart;
pub mod pages;
pub mod users;
pub mod removal;
pub mod summary;
pub mod audit_text;
