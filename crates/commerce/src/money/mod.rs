//! Money of orders and dues: the ledger, payments and refunds, and the payment settings of an account.
//!
//! Amounts are whole minor units, never fractions. The modules that sell or charge post their movements to the ledger
//! in the same transaction as the change.

pub mod api;
pub mod export;
pub mod ledger;
pub mod listing;
pub mod pages;
pub mod payment;
pub mod settings;

pub use kit::money::MAX_AMOUNT;

use crate::ids::{PaymentKind, RefundKind};
use crate::personal_data::PersonMerge;
use crate::rights::ScopeName;
use crate::web::module::Module;

crate::permissions! {
    /// View orders and dues.
    OrdersRead: Some(ScopeName::OrdersRead), KnownPerson;
    /// View the ledger.
    LedgerRead: Some(ScopeName::OrdersRead), Admin;
    /// Manage payment settings and discount codes.
    MoneyManage: Some(ScopeName::OrdersWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    permissions: PERMISSIONS,
    merge_person: Some(PersonMerge {
        references: &["ledger_entry.person_id", "ledger_entry.payer_id", "payment.payer_id"],
        run: |tx, records| {
            ledger::move_to_person(tx, records.from, records.into)?;
            payment::move_to_payer(tx, records.from, records.into)
        },
    }),
    notification_kinds: crate::notification_kinds! {
        mark!("Payment settings"), Some(ScopeName::OrdersRead), "PaymentSettings" {
            "payment_settings.updated": "The account's payment settings were changed.";
        }
    },
    object_names: crate::object_names! {
        PaymentKind: mark!("Payment");
        RefundKind: mark!("Refund");
    },
    ..Module::EMPTY
};
