//! HTTP without domain: who calls, what they sent, what they get back.
//!
//! [`caller::Caller`] is the only door to the database. Everything a request can be refused for is
//! an [`crate::error::Error`], which the [`edge`] turns into a problem with the request's id.

pub mod admission;
pub mod assets;
pub mod body;
pub mod cache;
pub mod caller;
pub mod context;
pub mod cursor;
pub mod docs;
pub mod document;
pub mod edge;
pub mod fields;
pub mod filters;
pub mod form;
pub mod guides;
pub mod health;
pub mod idempotency;
pub mod json;
pub mod leaf;
pub mod limits;
pub mod metrics;
pub mod once;
pub mod page;
pub mod pace;
pub mod path;
pub mod precondition;
pub mod public_url;
pub mod query;
pub mod reply;
pub mod request_head;
pub mod routes;
pub mod server;
pub mod stream;
pub mod unread;
pub mod values;
pub mod visitor;
pub mod wire;
