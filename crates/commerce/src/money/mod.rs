//! Money of orders and dues: the ledger, payments and refunds, and the payment settings of an account.
//!
//! Amounts are whole minor units, never fractions. The modules that sell or charge post their movements to the ledger
//! in the same transaction as the change.

pub mod api;
pub mod ledger;
pub mod listing;
pub mod pages;
pub mod payment;
pub mod settings;

use crate::rights::ScopeName;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    notification_kinds: crate::notification_kinds! {
        Some(ScopeName::OrdersRead), "PaymentSettings" {
            "payment_settings.updated": "The account's payment settings were changed.";
        }
    },
    ..Module::EMPTY
};

/// Largest amount allowed, in minor units. Sums of such amounts stay far below the range of `i64`.
pub const MAX_AMOUNT: i64 = 1_000_000_000_000;
