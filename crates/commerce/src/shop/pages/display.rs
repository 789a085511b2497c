//! Labels, badges and lines of products and orders.

use std::borrow::Borrow;

use super::{money, money_text};
use crate::money::payment::{EXTERNAL_REFUND_REASON, PAID_TOO_LATE_REASON, RefundStatus};
use crate::prelude::*;
use crate::shop::cancellation::EXPIRED_REASON;
use crate::shop::order::{self, Line, Order};
use crate::shop::product::{Product, Status};
use crate::web::list::{Cell, Column, List};
use crate::web::sentence::Label;

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
        if min == max {
            return money_text(max, record.currency);
        }
        let (min, max) = (money(min, record.currency), money(max, record.currency));
        t!("{min} to {max}", min, max)
    }

    /// The stock as text.
    pub(super) fn stock(&self) -> String {
        total_stock(&self.product)
            .map_or_else(|| t!("Unlimited").to_owned(), |left| left.to_string())
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
        ("", mark!("Archived"))
    } else if record.on_sale_from.is_some_and(|from| from > now) {
        ("info", mark!("Not on sale yet"))
    } else if record.on_sale_until.is_some_and(|until| until <= now) {
        ("", mark!("Sale ended"))
    } else if total_stock(product) == Some(0) {
        ("warn", mark!("Sold out"))
    } else {
        ("good", mark!("On sale"))
    }
}

/// Kind and text of the badge for an order's status.
pub(super) fn status_badge(status: order::Status) -> (&'static str, &'static str) {
    match status {
        order::Status::Placed => ("warn", mark!("Not paid")),
        order::Status::Paid => ("info", mark!("Paid")),
        order::Status::Fulfilled => ("good", mark!("Picked up")),
        order::Status::Cancelled => ("", mark!("Cancelled")),
        order::Status::PartiallyRefunded => ("info", mark!("Partially refunded")),
        order::Status::Refunded => ("", mark!("Refunded")),
    }
}

/// The options of the status filter.
pub(super) const STATUS_OPTIONS: [(&str, &str); 6] = [
    ("placed", mark!("Not paid")),
    ("paid", mark!("Paid, not picked up")),
    ("fulfilled", mark!("Picked up")),
    ("partially_refunded", mark!("Partially refunded")),
    ("refunded", mark!("Refunded")),
    ("cancelled", mark!("Cancelled")),
];

/// Kind and text of the badge for a refund's status.
pub(super) fn refund_badge(status: impl Borrow<RefundStatus>) -> (&'static str, &'static str) {
    match status.borrow() {
        RefundStatus::Pending => ("warn", mark!("Pending")),
        RefundStatus::Succeeded => ("good", mark!("Completed")),
        RefundStatus::Failed => ("bad", mark!("Failed")),
    }
}

/// The reason of a cancellation or refund. The reasons that the service itself records are translated.
pub(super) fn reason(reason: &str) -> &str {
    match reason {
        EXPIRED_REASON | EXTERNAL_REFUND_REASON | PAID_TOO_LATE_REASON => t!(reason),
        entered => entered,
    }
}

/// The outstanding amount of an order.
pub(super) fn outstanding(order: &Order) -> Money {
    let unpaid = order.record.status == order::Status::Placed;
    money(if unpaid { order.record.total - order.record.paid } else { 0 }, order.record.currency)
}

/// A line of an order, and the currency of its amounts.
type LineRow = (Line, Currency);
pub(super) type LineColumn = Column<LineRow>;

const PRODUCT: LineColumn = Column::page("Product", |(line, _)| {
    let variant = line.variant_name.as_ref().map(|name| {
        Cell::text("(").and(Cell::name(name)).and(Cell::text(")")).inside("span", "muted")
    });
    Cell::name(&line.name).and_if(variant)
});
const PRICE: LineColumn =
    Column::number("Price", |(line, currency)| Cell::Money(money(line.unit_price, currency)));
const QUANTITY: LineColumn = Column::number("Quantity", |(line, _)| Cell::text(line.quantity));
const PICKED_UP: LineColumn = Column::number("Picked up", |(line, _)| Cell::text(line.fulfilled));
const RETURNED: LineColumn = Column::number("Returned", |(line, _)| Cell::text(line.returned));
const DISCOUNT: LineColumn =
    Column::number("Discount", |(line, currency)| Cell::Money(money(line.discount, currency)));
const TAX: LineColumn =
    Column::number("Tax", |(line, currency)| Cell::Money(money(line.tax, currency)));
const TOTAL: LineColumn =
    Column::number("Total", |(line, currency)| Cell::Money(money(line.total, currency)));

/// The columns for admins, for the buyer, on a receipt, and before the order is placed.
pub(super) const MANAGED: &[LineColumn] =
    &[PRODUCT, PRICE, QUANTITY, PICKED_UP, RETURNED, DISCOUNT, TOTAL];
pub(super) const BOUGHT: &[LineColumn] = &[PRODUCT, PRICE, QUANTITY, PICKED_UP, DISCOUNT, TOTAL];
pub(super) const RECEIPT: &[LineColumn] = &[PRODUCT, PRICE, QUANTITY, DISCOUNT, TAX, TOTAL];
pub(super) const REVIEW: &[LineColumn] = &[PRODUCT, PRICE, QUANTITY, DISCOUNT, TOTAL];

/// A table of the lines of an order.
pub(super) fn line_list(
    caption: impl Label,
    columns: &[LineColumn],
    lines: &[Line],
    currency: Currency,
) -> List {
    let rows: Vec<_> = lines.iter().map(|line| (line.clone(), currency)).collect();
    // The table shows no times.
    List::new(caption, columns, &rows, &(Timestamp::from_micros(0), Zone::utc()))
}

/// A summary of the lines: `2 × Home kit (M), 1 × Raffle ticket`.
pub(super) fn summary(order: &Order) -> String {
    let line = |line: &Line| {
        let variant = line.variant_name.as_ref().map(|name| format!(" ({name})"));
        format!("{} × {}{}", line.quantity, line.name, variant.unwrap_or_default())
    };
    order.lines.iter().map(line).collect::<Vec<_>>().join(", ")
}
