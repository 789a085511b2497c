//! Stories about the service, told over real sockets on real databases.

#![expect(clippy::unwrap_used, reason = "a story that does not go as told has failed")]
#![expect(clippy::disallowed_methods, reason = "a story has no service to lend it tasks")]

mod access;
mod calendars;
mod conditions;
mod crash;
mod disk;
mod encryption;
mod events;
mod events_input;
mod events_lists;
mod exports;
mod house;
mod http;
mod idempotency;
mod json;
mod keys;
mod limits;
mod linking;
mod mail;
mod mail_sending;
mod mail_unsubscribe;
mod matrix;
mod matrix_bodies;
mod messages;
mod messages_people;
mod messages_reading;
mod messages_retracted;
mod messages_safety;
mod messages_scheduled;
mod nodes;
mod oauth_apps;
mod openapi;
mod pages;
mod paging;
mod passkeys;
mod privacy;
mod program;
mod roster;
mod roster_batch;
mod roster_people;
mod roster_privacy;
mod rsvps;
mod schema;
mod series;
mod series_moves;
mod standing;
mod standing_messages;
mod strangers;
mod teams;
mod users;
