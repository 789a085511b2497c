//! Fixtures for integration tests of the service, on real databases and real sockets.
//!
//! [`both!`] runs a test twice, on a SQLite file and on a PostgreSQL database. Each test gets its own [`World`]:
//! the club Harbour with API clients of different scopes, a second club with a client of its own, and a clock
//! that only the test advances.

#![expect(clippy::unwrap_used, reason = "a failed setup fails the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests run outside of the service, so they use the system clock and spawn tasks"
)]
#![expect(clippy::print_stderr, reason = "messages of a test process go to the person who runs it")]

pub mod browser;
pub mod club;
pub mod certificates;
pub mod client;
pub mod database;
pub mod local_stripe;
pub mod mail_server;
pub mod people;
pub mod process;
pub mod programs;
pub mod receiver;
pub mod faulty_receiver;
pub mod stripe;
pub mod world;

pub use browser::Browser;
pub use client::{Client, TestResponse};
pub use club::TestClub;
pub use database::{Engine, TestDatabase};
pub use faulty_receiver::{AfterResponse, FaultyReceiver};
pub use local_stripe::LocalStripe;
pub use mail_server::MailServer;
pub use receiver::{Receiver, Reply};
pub use serde_json::{Value, json};
pub use stripe::FakeStripe;
pub use world::{Node, World, seconds};

/// Turns each function into two tests: `…::sqlite` and `…::postgres`.
#[macro_export]
macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($world:ident: &World) $body:block)+) => {$(
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "not every test uses every import")]
            use super::*;

            $(#[$meta])*
            async fn test_body($world: &World) $body

            #[test]
            fn sqlite() {
                $crate::world::run($crate::Engine::Sqlite, test_body);
            }

            #[test]
            fn postgres() {
                $crate::world::run($crate::Engine::Postgres, test_body);
            }
        }
    )+};
}
