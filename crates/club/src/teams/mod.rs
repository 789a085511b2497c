//! Teams of a club.
//!
//! A name is unique among the active teams of an account. An archived team keeps its history and is read-only until it
//! is restored; its name becomes available again.

pub mod age_group;
pub mod api;
pub mod pages;
pub mod team;
