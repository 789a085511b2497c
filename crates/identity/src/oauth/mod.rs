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
