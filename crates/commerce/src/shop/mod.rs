//! The store: products, discount codes and orders.
//!
//! Stock is decremented in the transaction that places an order and restored in the one that cancels it.
//! Order lines keep the names and prices from the time of the order.

pub mod api;
mod demo;
pub mod buyer;
pub mod checkout;
pub mod code_use;
pub mod discount;
pub mod export;
pub mod cancellation;
pub mod fulfillment;
pub mod personal_data;
pub mod listing;
pub mod order;
pub mod pages;
pub mod placing;
pub mod price;
pub mod product;
pub mod product_listing;
pub mod refunding;
pub mod settle;
pub mod stock;
pub mod variant;

use crate::ids::{DiscountKind, OrderKind, ProductKind};
use crate::personal_data::{PersonMerge, PersonalData};
use crate::rights::ScopeName;
use crate::teams::header;
use crate::web::module::Module;

crate::permissions! {
    /// Place orders, and pay your own dues.
    OrdersPlace: Some(ScopeName::OrdersWrite), KnownPerson;
    /// View and export all orders and dues of a team.
    OrdersOversee: Some(ScopeName::OrdersRead), Staff;
    /// Manage products, fulfill orders, charge dues, and record payments.
    OrdersManage: Some(ScopeName::OrdersWrite), Staff;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    register_hooks: || header::STORE_TAB.register(pages::team_tab),
    permissions: PERMISSIONS,
    personal_data: Some(PersonalData {
        section: "store",
        description: "Orders of the person; `null` without `orders:read`.",
        is_list: false,
        scope: Some(ScopeName::OrdersRead),
        export: personal_data::export_person,
        erase: personal_data::erase_person,
    }),
    merge_person: Some(PersonMerge {
        references: &["shop_order.buyer_person_id", "shop_order.buyer_member_id"],
        run: personal_data::merge_person,
    }),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Products"), Some(ScopeName::OrdersRead), "Product" {
            "product.created": "A product was created.";
            "product.updated": "A product was changed. Not sent when an order changes the stock; see the order's notifications.";
            "product.archived": "A product was archived and is no longer for sale.";
        }
        mark!("Discount codes"), Some(ScopeName::OrdersRead), "Discount" {
            "discount.created": "A discount code was created.";
            "discount.updated": "A discount code was changed.";
            "discount.archived": "A discount code was archived and can no longer be used.";
        }
        mark!("Orders"), Some(ScopeName::OrdersRead), "OrderSnapshot" {
            "order.placed": "An order was placed and its stock was reserved.";
            "order.updated": "The note or metadata of an order changed.";
            "order.paid": "An order was paid, or was free when it was placed.";
            "order.fulfilled": "An order was fulfilled completely or in part; its lines show which items.";
            "order.cancelled": "An order was cancelled or was not paid in time; its stock was released.";
            "order.refunded": "An order was refunded completely or in part.";
            "order.refund_failed": "The payment provider could not refund an order; the amount counts as paid again.";
            "order.buyer_erased": "The buyer and the note of an order were erased.";
        }
    },
    object_names: crate::object_names! {
        ProductKind: mark!("Product"),
            "select id, name from product where account_id = :account and id in (:ids)";
        DiscountKind: mark!("Discount code"),
            "select id, code from discount where account_id = :account and id in (:ids)";
        OrderKind: mark!("Order"),
            "select id, cast(number as text) as name from shop_order
             where account_id = :account and id in (:ids)",
            |number: &str| t!("Order {number}", number);
    },
    ..Module::EMPTY
};
