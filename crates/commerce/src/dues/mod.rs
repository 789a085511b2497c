//! Dues: amounts that members owe, payable at once or in installments.
//!
//! A charge creates one due per member. Payments cover the installments in order of their due dates, then the late
//! fee. An overpayment becomes the payer's credit. Every amount is recorded in the ledger.

pub mod api;
pub mod changing;
pub mod charging;
pub mod due;
pub mod personal_data;
pub mod late_fee;
pub mod pages;
pub mod paying;
pub mod plan;
pub mod reminders;
pub mod statement;
pub mod totals;
