//! Basic types of Touchline: ids, time, recurrence, calendars, money, text and secrets.
//!
//! This crate knows nothing of the database, of HTTP or of the domain modules. Values of these types are always valid:
//! a [`Day`] is a day of the calendar, a [`Currency`] is an ISO 4217 currency, an [`Id`] has the prefix of its kind.

pub mod change;
pub mod clock;
pub mod contact;
pub mod rng;
pub mod ics;
pub mod id;
pub mod money;
pub mod password;
pub mod recurrence;
pub mod secret;
pub mod text;
pub mod time;
pub mod totp;
pub mod string_enum;

pub use change::Change;
pub use clock::Clock;
pub use id::{Id, IdGenerator, Kind};
pub use money::{AmountFault, Currency, Money};
pub use rng::Rng;
pub use time::{Day, LocalMoment, LocalTime, TimeOfDay, Timestamp, Weekday, Zone};
