//! Letters to people: written with what caused them, sent afterwards.

pub mod api;
