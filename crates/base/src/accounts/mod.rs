//! Accounts, their users and API keys, and permissions.
//!
//! An account is a club or league and is the tenant: data of one account is never visible to another.
//! An API key acts for its account within its scopes; only its hash is stored.

pub mod account;
pub mod api_key;
pub mod roles;
pub mod credential;
pub mod profile;
pub mod permissions;
pub mod usage;
pub mod roster_access;
pub mod scope_text;
pub mod session;
pub mod user;
