//! The data layer: one SQL text, two databases, jobs that run to completion.
//!
//! A job is a closure that gets a [`Reader`] (read only) or a [`Tx`] (read and write). It runs on the
//! thread that owns the connection, from its first statement to its last, so a condition it
//! checked at the start still holds at the end. Waiting writes are committed as a group, and their
//! callers get their results only after the commit is durable. Write jobs of one account never
//! overlap, on either database.
//!
//! No driver type is part of this crate's API, and the crate knows no table but its migration log.

mod change_notifier;
mod db;
mod error;
mod migrate;
mod options;
mod postgres;
mod queue;
mod schema;
mod scope;
mod sql;
mod sqlite;
mod statement;
pub mod tls;
mod value;

pub use change_notifier::{ChangeNotifier, Listener};
pub use db::{Db, Stats};
pub use error::{Error, Result};
pub use migrate::{AppliedMigration, Migration};
pub use options::Options;
pub use schema::{Column as SchemaColumn, Table};
pub use scope::{Reader, Scope, Tx};
pub use sql::{Bind, Dialect, NamedValue, Statement};
pub use value::{Column, Record, Row, ToValue, Value};

#[doc(hidden)]
pub use const_format::concatcp;
