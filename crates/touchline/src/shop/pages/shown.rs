//! Products and orders as pages show them: their state in words, and what is left.

use std::borrow::Borrow;

use askama::Template;
use kit::{Money, Timestamp};

use super::money;
use crate::money::payment::RefundStatus;
use crate::shop::order::{self, Order};
use crate::shop::product::{Buyers, Product, Status};
use crate::web::page::Frame;

/// A page that says what will happen before it does.
#[derive(Template)]
#[template(path = "shop/ask.html")]
pub(super) struct AskPage {
    pub(super) frame: Frame,
    pub(super) name: String,
    /// What stands behind the name.
    pub(super) lead: &'static str,
    pub(super) events: Vec<&'static str>,
    pub(super) button: &'static str,
    pub(super) nonce: String,
    /// Whether one can say why.
    pub(super) reason: bool,
    pub(super) back: String,
}

/// A product as it is listed.
pub(super) struct Offer {
    pub(super) product: Product,
    pub(super) seller: String,
    /// A kind of badge and a word.
    pub(super) state: (&'static str, &'static str),
}

impl Offer {
    pub(super) fn new(product: Product, seller: String, now: Timestamp) -> Self {
        let state = state(&product, now);
        Self { product, seller, state }
    }

    /// What it costs: one price, or from the least to the greatest.
    pub(super) fn price(&self) -> String {
        let kept = &self.product.kept;
        let own = |price: Option<i64>| price.unwrap_or(kept.price);
        let prices = self.product.variants.iter().map(|variant| own(variant.price));
        let (least, greatest) = prices
            .fold(None, |range: Option<(i64, i64)>, price| {
                let (least, greatest) = range.unwrap_or((price, price));
                Some((least.min(price), greatest.max(price)))
            })
            .unwrap_or((kept.price, kept.price));
        let greatest_of = money(greatest, kept.currency);
        if least == greatest {
            return greatest_of.to_string();
        }
        format!("{} to {greatest_of}", money(least, kept.currency).plain())
    }

    /// How many are left, in words.
    pub(super) fn left(&self) -> String {
        left(&self.product).map_or_else(|| "Not counted".to_owned(), |left| left.to_string())
    }
}

/// How many are left; `None` if at least some of it is not counted.
fn left(product: &Product) -> Option<i64> {
    if product.variants.is_empty() {
        return product.kept.stock;
    }
    product.variants.iter().map(|variant| variant.stock).sum()
}

fn state(product: &Product, now: Timestamp) -> (&'static str, &'static str) {
    let kept = &product.kept;
    if kept.status == Status::Archived {
        ("", "Archived")
    } else if kept.on_sale_from.is_some_and(|from| from > now) {
        ("info", "Not on sale yet")
    } else if kept.on_sale_until.is_some_and(|until| until <= now) {
        ("", "Sale is over")
    } else if left(product) == Some(0) {
        ("warn", "Sold out")
    } else {
        ("good", "On sale")
    }
}

/// Who may buy, with the word of the form.
pub(super) const BUYERS: [(Buyers, &str, &str); 3] = [
    (Buyers::Everyone, "Everybody", "Whoever may order in the club."),
    (
        Buyers::Members,
        "Members",
        "Those on the team and their guardians; of the club's own products, those on any team.",
    ),
    (
        Buyers::Staff,
        "Coaches and managers",
        "Those who lead the team; of the club's own products, any team.",
    ),
];

/// How far an order has come: a kind of badge and a word.
pub(crate) fn progress(status: order::Status) -> (&'static str, &'static str) {
    match status {
        order::Status::Placed => ("warn", "Not paid"),
        order::Status::Paid => ("info", "Paid"),
        order::Status::Fulfilled => ("good", "Handed out"),
        order::Status::Cancelled => ("", "Cancelled"),
        order::Status::PartiallyRefunded => ("info", "Partly given back"),
        order::Status::Refunded => ("", "Given back"),
    }
}

/// Every state an order can have, with its word.
pub(super) const STATES: [(&str, &str); 6] = [
    ("placed", "Not paid"),
    ("paid", "Paid, to be handed out"),
    ("fulfilled", "Handed out"),
    ("partially_refunded", "Partly given back"),
    ("refunded", "Given back"),
    ("cancelled", "Cancelled"),
];

/// What has become of money that is given back.
pub(crate) fn refunded(status: impl Borrow<RefundStatus>) -> (&'static str, &'static str) {
    match status.borrow() {
        RefundStatus::Pending => ("warn", "On its way"),
        RefundStatus::Done => ("good", "Done"),
        RefundStatus::Failed => ("bad", "Failed"),
    }
}

/// What is still to be paid for an order.
pub(super) fn owed(order: &Order) -> Money {
    let open = order.kept.status == order::Status::Placed;
    money(if open { order.kept.total - order.kept.paid } else { 0 }, order.kept.currency)
}

/// The lines in short: `2 × Home kit (M), Raffle ticket`.
pub(super) fn in_short(order: &Order) -> String {
    let line = |line: &order::Line| {
        let size = line.variant_name.as_ref().map(|name| format!(" ({name})"));
        format!("{} × {}{}", line.quantity, line.name, size.unwrap_or_default())
    };
    order.lines.iter().map(line).collect::<Vec<_>>().join(", ")
}
