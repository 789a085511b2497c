//! The data layer: one SQL text, two databases, jobs that run to completion.
//!
//! A job is a closure that gets a [`Reader`] (it may look) or a [`Tx`] (it may change). It runs on
//! the thread that owns the connection, from its first statement to its last, so what it checked at
//! the top still holds at the bottom. Writers that wait together are committed together and answered
//! only when the commit is durable. Jobs of one account never overlap, on either database.
//!
//! Nothing of the two drivers leaks out of this crate, and the crate knows no table but its own.

mod bell;
mod db;
mod error;
mod migrate;
mod postgres;
mod queue;
mod schema;
mod scope;
mod sql;
mod sqlite;
pub mod tls;
mod value;

pub use bell::{Bell, Listener};
pub use db::{Db, Options, Stats};
pub use error::{Error, Result};
pub use migrate::{Applied, Migration};
pub use schema::{Column as SchemaColumn, Table};
pub use scope::{Reader, Scope, Tx};
pub use sql::{Bind, Dialect, Named, Statement};
pub use value::{Bound, Column, Record, Row, Value};

#[doc(hidden)]
pub use const_format::concatcp;
