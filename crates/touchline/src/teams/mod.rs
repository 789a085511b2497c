//! Teams: groups of people that play together.
//!
//! A name is unique among the active teams of an account; an archived team gives its name free and
//! keeps its history. An archived team is read-only until it is restored.

pub mod age_group;
pub mod api;
pub mod pages;
pub mod team;
