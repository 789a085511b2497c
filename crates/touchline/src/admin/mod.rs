//! The admin area: pages on which owners and admins look after their club.

pub mod pages;
