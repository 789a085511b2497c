//! Letters to people: written with what caused them, sent afterwards, and how people stop them.

pub mod api;
pub mod guardian_notice;
pub mod letter;
pub mod pages;
pub mod unsubscribe;
