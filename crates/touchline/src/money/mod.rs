//! Money, whatever it is for: the ledger, what was paid and given back, and how an account handles it.
//!
//! Amounts are whole minor units; nothing is ever reckoned in fractions. What rooms below sell or charge they
//! move through the ledger, in the transaction of the change.

pub mod api;
pub mod ledger;
pub mod pages;
pub mod payment;
pub mod settings;

/// The largest amount there can be: whatever is summed up stays far below what can be kept.
pub const MOST: i64 = 1_000_000_000_000;
