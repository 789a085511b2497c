//! Joining a club: invitations, and people who say who they are on a roster.
//!
//! Whoever was invited in person is let in with the role they were invited for. Whoever comes by a
//! team's link says who they are and sees nothing until a coach of the team or an admin agrees.

pub mod age;
pub mod claim;
pub mod desk;
pub mod extent;
pub mod invitation;
pub mod waiting;
pub mod pages;
