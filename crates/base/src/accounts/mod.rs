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
pub mod request_log;
pub mod roster_access;
pub mod scope_text;
pub mod session;
pub mod user;

use crate::ids::{AccountKind, KeyKind, SessionKind, UserKind};
use crate::names::ObjectNames;

/// The names of accounts, users, keys and sessions.
pub const OBJECT_NAMES: &[ObjectNames] = crate::object_names! {
    AccountKind: mark!("Club"),
        "select id, name from account where id = :account and id in (:ids)";
    UserKind: mark!("Someone who left"),
        "select u.id, u.name from account_user a join app_user u on u.id = a.user_id
         where a.account_id = :account and a.user_id in (:ids)";
    KeyKind: mark!("API key"),
        "select id, name from api_key where account_id = :account and id in (:ids)";
    SessionKind: mark!("Session");
};
