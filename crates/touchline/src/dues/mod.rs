//! Dues: what members owe, in instalments or at once, and what becomes of it.
//!
//! A charge makes a due for each member. What is paid covers the instalments in their order, a late fee last;
//! what is more than owed becomes the payer's credit. Every amount moves through the ledger.

pub mod api;
pub mod changing;
pub mod charging;
pub mod due;
pub mod held;
pub mod late;
pub mod pages;
pub mod paying;
pub mod plan;
pub mod reminders;
pub mod statement;
pub mod totals;
