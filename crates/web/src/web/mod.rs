//! The HTTP layer, free of domain logic: authentication, input, responses and pages.
//!
//! Handlers reach the database only through extractors: [`caller::Caller`] for the API, and those of
//! [`visitor`] for pages. Every rejected request is a [`crate::error::Error`], which [`edge`] turns into a
//! problem document (RFC 9457) with the request id.

pub mod admission;
pub mod app;
pub mod assets;
pub mod body;
pub mod cache;
pub mod caller;
pub mod compression;
pub mod context;
pub mod cursor;
pub mod docs;
pub mod document;
pub mod edge;
pub mod export;
pub mod fields;
pub mod filters;
pub mod form;
pub mod confirm;
pub mod sentence;
pub mod health;
pub mod idempotency;
pub mod json;
pub mod row_page;
pub mod limits;
pub mod list;
pub mod metrics;
mod open_counts;
pub mod module;
pub mod multipart;
pub mod form_dedup;
pub mod nav;
pub mod offline;
pub mod page;
pub mod throttle;
pub mod path;
pub mod precondition;
pub mod prelude;
pub mod public_url;
pub mod qr_code;
pub mod query;
pub mod reply;
pub mod request_head;
pub mod routes;
pub mod server;
mod session_cookie;
pub mod stream;
mod unsent_form;
pub mod team_look;
pub mod body_progress;
pub mod upload_form;
pub mod values;
pub mod visitor;
pub mod connection;
