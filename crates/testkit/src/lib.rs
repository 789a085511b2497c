//! A small named world for stories about the service, on real databases and real sockets.
//!
//! [`both!`] makes two tests of a story, one on a SQLite file and one on a PostgreSQL database. The
//! world has a club, Harbour, with an owner, a reader and a caller who may do nothing; a second club
//! with a stranger; and a clock that stands still until a story moves it.

#![expect(clippy::unwrap_used, reason = "a story that cannot be set up has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests have no service to lend them a clock or tasks"
)]
#![expect(clippy::print_stderr, reason = "what a test process says goes to the person who runs it")]

pub mod browser;
pub mod cast;
pub mod certificates;
pub mod client;
pub mod database;
pub mod local_stripe;
pub mod mail_server;
pub mod people;
pub mod process;
pub mod programs;
pub mod receiver;
pub mod rough;
pub mod stripe;
pub mod world;

pub use browser::Browser;
pub use cast::Cast;
pub use client::{Answer, Client};
pub use database::{Engine, TestDatabase};
pub use local_stripe::LocalStripe;
pub use mail_server::MailServer;
pub use receiver::{Receiver, Reply};
pub use rough::{Rough, Then};
pub use serde_json::{Value, json};
pub use stripe::Stripe;
pub use world::{Node, World, seconds};

/// Makes two tests of each story: `…::sqlite` and `…::postgres`.
#[macro_export]
macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($world:ident: &World) $story:block)+) => {$(
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "a story uses what it needs")]
            use super::*;

            $(#[$meta])*
            async fn story($world: &World) $story

            #[test]
            fn sqlite() {
                $crate::world::run($crate::Engine::Sqlite, story);
            }

            #[test]
            fn postgres() {
                $crate::world::run($crate::Engine::Postgres, story);
            }
        }
    )+};
}
