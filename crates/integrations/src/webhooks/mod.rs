//! Webhooks: subscriptions to notifications, and their deliveries.

pub mod access;
pub mod address;
pub mod api;
pub mod actions;
pub mod delivery;
pub mod visibility;
pub mod edit;
pub mod health;
pub mod notifications;
pub mod listing;
pub mod outcome;
pub mod pages;
pub mod replay;
pub mod signature;
pub mod summary;
pub mod webhook;
