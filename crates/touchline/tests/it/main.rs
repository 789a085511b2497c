//! Stories about the service, told over real sockets on real databases.

mod conditions;
mod crash;
mod disk;
mod house;
mod http;
mod idempotency;
mod json;
mod keys;
mod limits;
mod nodes;
mod openapi;
mod paging;
mod program;
mod schema;
mod strangers;
mod teams;
