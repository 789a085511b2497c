//! Labels and badges for products and orders.

use std::borrow::Borrow;

use kit::{Money, Timestamp};

use super::money;
use crate::money::payment::RefundStatus;
use crate::shop::order::{self, Order};
use crate::shop::product::{Product, Status};

/// A row of the product list.
pub(super) struct ProductRow {
    pub(super) product: Product,
    pub(super) seller: String,
    /// Kind and text of the badge.
    pub(super) badge: (&'static str, &'static str),
}

impl ProductRow {
    pub(super) fn new(product: Product, seller: String, now: Timestamp) -> Self {
        let badge = sale_badge(&product, now);
        Self { product, seller, badge }
    }

    /// The price, or the price range of the variants.
    pub(super) fn price(&self) -> String {
        let record = &self.product.record;
        let variants = self.product.variants.iter();
        let prices = variants.map(|variant| variant.price.unwrap_or(record.price));
        let (min, max) = prices
            .fold(None, |range: Option<(i64, i64)>, price| {
                let (min, max) = range.unwrap_or((price, price));
                Some((min.min(price), max.max(price)))
            })
            .unwrap_or((record.price, record.price));
        let max_money = money(max, record.currency);
        if min == max {
            return max_money.to_string();
        }
        format!("{} to {max_money}", money(min, record.currency).format_amount())
    }

    /// The stock as text.
    pub(super) fn stock(&self) -> String {
        total_stock(&self.product).map_or_else(|| "Unlimited".to_owned(), |left| left.to_string())
    }
}

/// Units in stock, all variants together; `None` if any of them is not tracked.
fn total_stock(product: &Product) -> Option<i64> {
    if product.variants.is_empty() {
        return product.record.stock;
    }
    product.variants.iter().map(|variant| variant.stock).sum()
}

fn sale_badge(product: &Product, now: Timestamp) -> (&'static str, &'static str) {
    let record = &product.record;
    if record.status == Status::Archived {
        ("", "Archived")
    } else if record.on_sale_from.is_some_and(|from| from > now) {
        ("info", "Not on sale yet")
    } else if record.on_sale_until.is_some_and(|until| until <= now) {
        ("", "Sale ended")
    } else if total_stock(product) == Some(0) {
        ("warn", "Sold out")
    } else {
        ("good", "On sale")
    }
}

/// Kind and text of the badge for an order's status.
pub(super) fn status_badge(status: order::Status) -> (&'static str, &'static str) {
    match status {
        order::Status::Placed => ("warn", "Not paid"),
        order::Status::Paid => ("info", "Paid"),
        order::Status::Fulfilled => ("good", "Picked up"),
        order::Status::Cancelled => ("", "Cancelled"),
        order::Status::PartiallyRefunded => ("info", "Partially refunded"),
        order::Status::Refunded => ("", "Refunded"),
    }
}

/// The options of the status filter.
pub(super) const STATUS_OPTIONS: [(&str, &str); 6] = [
    ("placed", "Not paid"),
    ("paid", "Paid, not picked up"),
    ("fulfilled", "Picked up"),
    ("partially_refunded", "Partially refunded"),
    ("refunded", "Refunded"),
    ("cancelled", "Cancelled"),
];

/// Kind and text of the badge for a refund's status.
pub(super) fn refund_badge(status: impl Borrow<RefundStatus>) -> (&'static str, &'static str) {
    match status.borrow() {
        RefundStatus::Pending => ("warn", "Pending"),
        RefundStatus::Succeeded => ("good", "Completed"),
        RefundStatus::Failed => ("bad", "Failed"),
    }
}

/// The outstanding amount of an order.
pub(super) fn outstanding(order: &Order) -> Money {
    let unpaid = order.record.status == order::Status::Placed;
    money(if unpaid { order.record.total - order.record.paid } else { 0 }, order.record.currency)
}

/// A summary of the lines: `2 × Home kit (M), 1 × Raffle ticket`.
pub(super) fn summary(order: &Order) -> String {
    let line = |line: &order::Line| {
        let variant = line.variant_name.as_ref().map(|name| format!(" ({name})"));
        format!("{} × {}{}", line.quantity, line.name, variant.unwrap_or_default())
    };
    order.lines.iter().map(line).collect::<Vec<_>>().join(", ")
}
