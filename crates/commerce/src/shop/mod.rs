//! The store: products, discount codes and orders.
//!
//! Stock is decremented in the transaction that places an order and restored in the one that cancels it.
//! Order lines keep the names and prices from the time of the order.

pub mod api;
pub mod buyer;
pub mod checkout;
pub mod code_use;
pub mod discount;
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
