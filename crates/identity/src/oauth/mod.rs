//! OAuth 2.0 authorization server: apps that act for users (RFC 6749, with PKCE of RFC 7636).
//!
//! An app (client) belongs to an account. A user of that account grants it scopes. Every token belongs to a grant and
//! is revoked with it. Tokens are opaque and looked up for every request, so revoking takes effect immediately. An app
//! can do only what the user has granted to it and may do themselves.

pub mod api;
pub mod app;
pub mod authorization_request;
pub mod code;
pub mod grant;
pub mod pages;
pub mod parameters;
pub mod redirect;
pub mod refresh;
pub mod error;
pub mod pending_request;
pub mod secret;
pub mod token;

use crate::ids::{AppKind, ClientSecretKind, GrantKind};
use crate::signin::authentication;
use crate::web::admission;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    pages: || api::router().merge(pages::router()),
    register_hooks: || {
        // Apps may no longer act for the user.
        authentication::ON_PASSWORD_CHANGED
            .register(|tx, user| grant::revoke_all_of_user(tx, user, "password_changed").map(drop));
        admission::AUTHENTICATE_TOKEN.register(token::authenticate);
        admission::RECORD_TOKEN_USE.register(token::record_use);
        admission::IS_GRANT_ACTIVE.register(grant::is_active);
    },
    object_names: crate::object_names! {
        AppKind: mark!("OAuth app"),
            "select id, name from oauth_app where account_id = :account and id in (:ids)";
        GrantKind: mark!("App access");
        ClientSecretKind: mark!("App secret");
    },
    ..Module::EMPTY
};
