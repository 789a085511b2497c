//! Joining a club: invitations, and people who say who they are on a roster.

pub mod pages;
