//! Webhooks: who is told what happens, and what became of the telling.

pub mod access;
pub mod address;
pub mod api;
pub mod asking;
pub mod delivery;
pub mod ears;
pub mod edit;
pub mod guard;
pub mod health;
pub mod kinds;
pub mod notifications;
pub mod listing;
pub mod outcome;
pub mod pages;
pub mod replay;
pub mod shape;
pub mod signature;
pub mod summary;
pub mod webhook;
