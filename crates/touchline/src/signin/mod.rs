//! Signing in: browsers and how their people prove who they are.
//!
//! A user signs in to the installation, not to one club; the session remembers which club's pages are
//! shown. Of every secret only a hash is kept.

pub mod entry;
pub mod forgetting;
pub mod link;
pub mod pages;
pub mod passkey;
pub mod session;
pub mod set_up;
pub mod throttle;
pub mod two_step;
