//! The roster: people, their memberships in teams, and their guardians.
//!
//! An account has one record per person. A member is a person on one team. Guardians are people too: siblings share
//! them, and a coach may be one. Private data of a person is included in single objects, in lists only on request, and
//! never in notifications.

pub mod api;
pub mod pages;
pub mod person;
pub mod profile;
pub mod email_confirmation;
pub mod guardian;
pub mod membership;
pub mod access;
pub mod guards;
pub mod safeguarding;
pub mod confirmations;
pub mod member;
pub mod new_members;
pub mod linking;
pub mod enrollment;
pub mod private_data;
pub mod duplicates;
pub mod erasure;
mod version_cascade;
pub mod preferences;
