//! The page on which a team gets a logo.

pub mod pages;
