//! The roster: people, the teams they are on, and who looks after them.
//!
//! A person is kept once in an account. A member is a person on one team. Guardians are people too:
//! siblings share them, and a coach may be one. What is private of a person is shown in the single
//! object and in lists that ask for it, and never in news.

pub mod api;
pub mod pages;
pub mod person;
pub mod profile;
pub mod guardian;
pub mod membership;
pub mod standing;
pub mod trust;
pub mod safeguarding;
pub mod confirmations;
pub mod member;
pub mod newcomer;
pub mod linking;
pub mod arrival;
pub mod delicate;
pub mod duplicates;
pub mod erasure;
mod refusals;
mod ripple;
pub mod preferences;
