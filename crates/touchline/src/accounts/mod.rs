//! Accounts and the keys that open them.
//!
//! An account is a club or league: the tenant. Nothing of one account is ever visible to another.
//! A key acts for its account within its scopes; only its hash is kept.

pub mod account;
pub mod api;
pub mod api_key;
pub mod belonging;
pub mod credential;
pub mod own;
pub mod permits;
pub mod rights;
pub mod usage;
pub mod user;
