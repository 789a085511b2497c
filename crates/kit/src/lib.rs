//! The vocabulary of Touchline: ids, time, recurrence, calendars, money, text and secrets.
//!
//! Nothing here knows a table, a route or a room. What a value of these types says has been
//! checked: a [`Timestamp`] is a real moment, a [`text::Line`] has no control characters, an
//! [`Id`] carries the prefix of its kind.

pub mod change;
pub mod clock;
pub mod contact;
pub mod dice;
pub mod ics;
pub mod id;
pub mod money;
pub mod password;
pub mod recurrence;
pub mod secret;
pub mod text;
pub mod time;
pub mod totp;
pub mod word;

pub use change::Change;
pub use clock::Clock;
pub use dice::Dice;
pub use id::{Id, IdMaker, Kind};
pub use money::{AmountFault, Currency, Money};
pub use time::{Day, LocalMoment, LocalTime, Timestamp, Weekday, Zone};
