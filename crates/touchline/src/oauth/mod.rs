//! Apps that act for people: OAuth 2.0 with PKCE.
//!
//! An app belongs to an account. A user of that account allows it some scopes: that is a grant, and every
//! token comes of a grant and ends with it. Tokens are opaque and looked up for every request, so what
//! is revoked is refused at once. What an app may do is what was granted and what the user may do.

pub mod api;
pub mod app;
pub mod ask;
pub mod code;
pub mod grant;
pub mod pages;
pub mod parameters;
pub mod redirect;
pub mod refresh;
pub mod refusal;
pub mod request;
pub mod secret;
pub mod token;
pub mod words;
