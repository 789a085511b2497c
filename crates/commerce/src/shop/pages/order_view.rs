//! An order with everything that its pages show.

use std::ops::Deref;

use super::{display, find_seller, money};
use crate::accounts::account::{self, Account};
use crate::money::pages::methods::method_label;
use crate::money::payment::{self, Payment, Refund};
use crate::prelude::*;
use crate::shop::order::{self, Order};
use crate::web::list::List;

/// An order with its seller, payments and refunds.
pub(super) struct OrderView {
    order: Order,
    pub(super) seller: String,
    pub(super) payments: Vec<Payment>,
    pub(super) refunds: Vec<Refund>,
    pub(super) account: Account,
}

/// An entry in the history of an order.
pub(super) struct HistoryEntry {
    pub(super) at: Timestamp,
    pub(super) title: String,
    pub(super) detail: Option<String>,
    /// Kind and text of a badge.
    pub(super) badge: Option<(&'static str, &'static str)>,
}

impl Deref for OrderView {
    type Target = Order;

    fn deref(&self) -> &Order {
        &self.order
    }
}

impl OrderView {
    pub(super) fn load(db: &Reader<'_>, access: &TeamAccess, id: OrderId) -> Result<Self> {
        let (order, subject) = (order::find(db, access, id)?, id.to_string());
        Ok(Self {
            payments: payment::find_by_subject(db, &subject)?,
            refunds: payment::find_refunds_by_subject(db, &subject)?,
            seller: find_seller(db, order.record.team_id)?,
            account: account::find(db)?,
            order,
        })
    }

    pub(super) fn title(&self) -> String {
        t!("Order {number}", number = self.record.number.to_string())
    }

    /// Kind and text of the badge for the status.
    pub(super) fn badge(&self) -> (&'static str, &'static str) {
        display::status_badge(self.record.status)
    }

    pub(super) fn outstanding(&self) -> Money {
        display::outstanding(self)
    }

    pub(super) fn refundable(&self) -> Money {
        money(self.record.paid - self.record.refunded, self.record.currency)
    }

    fn line_list(&self, columns: &[display::LineColumn]) -> List {
        display::line_list(t!("Ordered items"), columns, &self.lines, self.record.currency)
    }

    pub(super) fn managed_lines(&self) -> List {
        self.line_list(display::MANAGED)
    }

    pub(super) fn bought_lines(&self) -> List {
        self.line_list(display::BOUGHT)
    }

    pub(super) fn receipt_lines(&self) -> List {
        self.line_list(display::RECEIPT)
    }

    /// The history in chronological order.
    pub(super) fn history(&self) -> Vec<HistoryEntry> {
        let entry =
            |at, what: &str| HistoryEntry { at, title: what.to_owned(), detail: None, badge: None };
        let reason = |text: Option<&String>| text.map(|text| display::reason(text).to_owned());
        let record = &self.record;
        let mut history = vec![entry(record.created_at, t!("Order placed"))];
        for payment in &self.payments {
            let amount = money(payment.amount, payment.currency);
            let title =
                t!("{amount} paid ({method})", amount, method = t!(method_label(payment.method)));
            let detail = payment.reference.clone();
            history.push(HistoryEntry { detail, ..entry(payment.paid_at, &title) });
        }
        if record.total == 0 {
            history.extend(record.paid_at.map(|at| entry(at, t!("Free order, no payment needed"))));
        }
        history.extend(record.fulfilled_at.map(|at| entry(at, t!("Everything picked up"))));
        for refund in &self.refunds {
            let title = t!("{amount} refunded", amount = money(refund.amount, refund.currency));
            let badge = Some(display::refund_badge(refund.status));
            let detail = reason(refund.reason.as_ref());
            history.push(HistoryEntry { detail, badge, ..entry(refund.created_at, &title) });
        }
        let cancelled = record.cancelled_at.map(|at| entry(at, t!("Cancelled")));
        let detail = reason(record.cancel_reason.as_ref());
        history.extend(cancelled.map(|entry| HistoryEntry { detail, ..entry }));
        history.sort_by_key(|entry| entry.at);
        history
    }
}
