//! Refunds for an order: in full, by amount or by line. The refunds never exceed the payment.

use macros::input;

use super::api::orders;
use super::fulfillment::{self, LineQuantity};
use super::order::{self, Line, Order, OrderRecord, Status};
use super::{price, stock};
use crate::money::ledger::{self, Book, Movement};
use crate::money::payment::{self, Method, Refund, RefundLine, RefundLines, RefundRequest};
use crate::prelude::*;

/// A refund for an order. Without `amount` and `lines`, everything that is left is refunded.
#[input(as = RefundOrderRequest, faults, check = orders::check_refund)]
pub struct NewRefund {
    /// Amount to refund in minor units, without returning items. Once the whole payment is refunded, units that were
    /// not picked up count as returned. Cannot be combined with `lines`.
    #[input(number(1, 1_000_000_000_000))]
    pub amount: Option<i64>,
    /// Units to return; their price is refunded. Cannot be combined with `amount`.
    #[schema(min_items = 1)]
    #[input(objects(100))]
    pub lines: Option<Vec<LineQuantity>>,
    /// Whether returned units go back to the stock. Default: `true`.
    pub restock: Option<bool>,
    /// How the money is refunded. Default: the way it was paid. Card payments are refunded to the card unless you
    /// choose another method. `credit` is not allowed.
    pub method: Option<Method>,
    /// Why the money is refunded.
    #[input(line(500))]
    pub reason: Option<String>,
}

impl NewRefund {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        fulfillment::empty_lines(self.lines.as_deref()).into_iter().collect()
    }
}

/// Refunds an order.
pub fn refund(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: OrderId,
    expected: &IfMatch,
    new: NewRefund,
) -> Result<RefundedOrder> {
    let before = expected.check(order::find(tx, access, id))?;
    let refundable = refundable_amount(&before)?;
    validate(&new)?;
    let restock = new.restock.unwrap_or(true);
    let mut plan = match (new.amount, &new.lines) {
        (Some(amount), _) => RefundPlan::for_amount(&before, amount),
        (None, Some(parts)) => plan_lines(tx, &before, parts, restock)?,
        (None, None) => plan_full(tx, &before, refundable, restock)?,
    };
    if plan.amount > refundable {
        let detail =
            message!("The refund exceeds the refundable amount of {refundable}.", refundable);
        return Err(Error::invalid_state(detail));
    }
    if plan.amount == refundable {
        plan.return_unfulfilled(tx, restock)?;
    }
    let record = |plan: &RefundPlan| record_refund(tx, &before, plan, new.method, new.reason);
    let refund = (plan.amount > 0).then(|| record(&plan)).transpose()?;
    let refunded = before.record.refunded + plan.amount;
    let order = update_refunded(tx, "order.refunded", &before, plan.lines, refunded)?;
    Ok(RefundedOrder { order, refund })
}

/// An order after a refund.
#[derive(Debug, Serialize, ToSchema)]
pub struct RefundedOrder {
    #[serde(flatten)]
    pub order: Order,
    /// The refund; `null` if items were returned but no money was refunded.
    pub refund: Option<Refund>,
}

impl Versioned for RefundedOrder {
    fn version(&self) -> i64 {
        self.order.version()
    }
}

/// Records a refund that was made at the payment provider. Items that were picked up do not count as returned.
pub fn record_provider_refund(tx: &Tx<'_>, id: OrderId, request: RefundRequest) -> Result<Refund> {
    let before = order::load(tx, id)?;
    let refunded = before.record.refunded + request.amount;
    let mut plan = RefundPlan::for_amount(&before, request.amount);
    if refunded == before.record.paid {
        plan.return_unfulfilled(tx, true)?;
    }
    let refund = record_refund(tx, &before, &plan, request.method, request.reason)?;
    update_refunded(tx, "order.refunded", &before, plan.lines, refunded)?;
    Ok(refund)
}

/// Reverses a failed refund: the amount counts as paid again. Returned items stay returned.
pub fn revert_failed_refund(tx: &Tx<'_>, id: OrderId, refund: &Refund) -> Result<()> {
    let before = order::load(tx, id)?;
    let (amount, refunded) = (refund.amount, before.record.refunded - refund.amount);
    payment::revert_failed_refund(tx, refund)?;
    // Posts the refund's movement with opposite signs, so that sums of refunds are correct again.
    let (context, reference) = (before.ledger_context(), Some(refund.id.to_string()));
    let tax = ledger::balance(tx, &context.subject, Book::Tax, reference.clone())?;
    let books =
        [(Book::for_method(refund.method), amount), (Book::Sales, tax - amount), (Book::Tax, -tax)];
    ledger::post(tx, Movement::Refund, &context, reference, &books)?;
    let mut lines = before.lines.clone();
    for RefundLine { line_id, amount } in &refund.lines.0 {
        lines
            .iter_mut()
            .filter(|line| line.id == *line_id)
            .for_each(|line| line.refunded -= amount);
    }
    update_refunded(tx, "order.refund_failed", &before, lines, refunded)?;
    Ok(())
}

/// Saves the total refunded amount with the resulting status, and publishes a notification of type `event`.
fn update_refunded(
    tx: &Tx<'_>,
    event: &'static str,
    before: &Order,
    lines: Vec<Line>,
    refunded: i64,
) -> Result<Order> {
    // Returning the last units that were not picked up completes the order.
    let none_open = lines.iter().all(|line| line.unfulfilled() == 0);
    let completed = none_open && lines.iter().any(|line| line.fulfilled > 0);
    let fulfilled_at = before.record.fulfilled_at.or(completed.then(|| tx.now()));
    let status = match refunded {
        amount if amount == before.record.paid => Status::Refunded,
        0 if fulfilled_at.is_some() => Status::Fulfilled,
        0 => Status::Paid,
        _ => Status::PartiallyRefunded,
    };
    let record = OrderRecord { refunded, status, fulfilled_at, ..before.record.clone() };
    order::update(tx, event, before, Order { record, lines, ..before.clone() })
}

/// The amount that can still be refunded. Fails if there is none.
fn refundable_amount(order: &Order) -> Result<i64> {
    let OrderRecord { status, paid, refunded, .. } = &order.record;
    let detail = match status {
        Status::Placed => "The order is not paid, so there is nothing to refund.",
        Status::Cancelled => {
            "The order was cancelled before it was paid, so there is nothing to refund."
        }
        Status::Refunded => "The order is already fully refunded.",
        _ if *paid == 0 => "The order was free, so there is nothing to refund.",
        _ => return Ok(paid - refunded),
    };
    Err(Error::invalid_state(detail))
}

/// The error for a refund of an amount and of lines.
pub const AMOUNT_OR_LINES: &str = mark!("Send either `amount` or `lines`, not both.");

fn validate(new: &NewRefund) -> Result<()> {
    if new.amount.is_some() && new.lines.is_some() {
        let fault = Fault::new("/lines", "mutually_exclusive", AMOUNT_OR_LINES);
        return Err(Error::invalid(vec![fault]));
    }
    if new.amount.is_some() && new.restock == Some(true) {
        let detail = "`restock` is not allowed with `amount`. To return items, send `lines`.";
        return Err(Error::invalid(vec![Fault::new("/restock", "not_allowed", detail)]));
    }
    if new.method == Some(Method::Credit) {
        let detail = "Orders cannot be refunded as credit. Choose another method.";
        return Err(Error::invalid(vec![Fault::new("/method", "not_allowed", detail)]));
    }
    Ok(())
}

/// A refund that is about to be recorded.
struct RefundPlan {
    amount: i64,
    /// Tax included in the amount, if it is known from the lines.
    tax: Option<i64>,
    /// The order's lines after the refund.
    lines: Vec<Line>,
    /// Refunded amounts by line.
    refund_lines: RefundLines,
}

impl RefundPlan {
    /// An amount that is not assigned to lines.
    fn for_amount(order: &Order, amount: i64) -> Self {
        Self { amount, tax: None, lines: order.lines.clone(), refund_lines: RefundLines::default() }
    }

    /// Returns all units that were not picked up, because a fully refunded buyer no longer gets them.
    fn return_unfulfilled(&mut self, tx: &Tx<'_>, restock: bool) -> Result<()> {
        self.lines
            .iter_mut()
            .try_for_each(|line| return_units(tx, line, line.unfulfilled(), restock))
    }

    fn add_line(&mut self, index: usize, amount: i64) {
        let line = &mut self.lines[index];
        line.refunded += amount;
        if amount > 0 {
            self.refund_lines.0.push(RefundLine { line_id: line.id, amount });
        }
    }
}

/// Returns some units and refunds their price.
fn plan_lines(
    tx: &Tx<'_>,
    order: &Order,
    parts: &[LineQuantity],
    restock: bool,
) -> Result<RefundPlan> {
    let too_many = mark!("This is more than what can be returned. Enter a smaller quantity.");
    let returned =
        fulfillment::resolve_lines(order, parts, too_many, |line| line.quantity - line.returned)?;
    let (mut plan, mut tax) = (RefundPlan::for_amount(order, 0), 0);
    for (index, part) in returned {
        let line = &mut plan.lines[index];
        let of_units =
            |amount| price::refund_for_units(amount, line.quantity, line.returned, part.quantity);
        let value = of_units(line.total);
        tax += of_units(line.tax);
        return_units(tx, line, part.quantity, restock)?;
        plan.amount += value;
        plan.add_line(index, value);
    }
    Ok(RefundPlan { tax: Some(tax), ..plan })
}

/// Returns all units and refunds everything that is left. That is less than the lines cost if an amount was refunded
/// before without naming lines.
fn plan_full(tx: &Tx<'_>, order: &Order, refundable: i64, restock: bool) -> Result<RefundPlan> {
    let mut plan = RefundPlan::for_amount(order, refundable);
    let costs: Vec<_> = order.lines.iter().map(|line| line.total - line.refunded).collect();
    let shares = Money { minor: refundable, currency: order.record.currency }.allocate(&costs);
    for (index, (before, share)) in order.lines.iter().zip(shares).enumerate() {
        return_units(tx, &mut plan.lines[index], before.quantity - before.returned, restock)?;
        plan.add_line(index, share.minor);
    }
    Ok(plan)
}

/// Returns units of a line, starting with those that were not picked up.
fn return_units(tx: &Tx<'_>, line: &mut Line, count: i64, restock: bool) -> Result<()> {
    line.fulfilled -= (count - line.unfulfilled()).max(0);
    line.returned += count;
    if restock && line.from_stock && count > 0 {
        stock::adjust(tx, line.product_id, line.variant_id, count)?;
        line.restocked += count;
    }
    Ok(())
}

/// Records the refund of the payment and posts it to the ledger, split into sales and tax.
fn record_refund(
    tx: &Tx<'_>,
    order: &Order,
    plan: &RefundPlan,
    method: Option<Method>,
    reason: Option<String>,
) -> Result<Refund> {
    let (context, amount) = (order.ledger_context(), plan.amount);
    let payments = payment::find_by_subject(tx, &context.subject)?;
    let payment = payments.into_iter().find(|payment| payment.amount - payment.refunded >= amount);
    let payment = payment.ok_or_else(|| Error::internal("an order without its payment"))?;
    let refundable = price::RefundableOrder {
        amount: order.record.paid - order.record.refunded,
        tax: -ledger::balance(tx, &context.subject, Book::Tax, None)?,
    };
    let tax = refundable.tax_share(amount, plan.tax);
    let request = RefundRequest { amount, method, reason, lines: plan.refund_lines.clone() };
    let (_, refund) = payment::refund(tx, &payment, request)?;
    let books =
        [(Book::for_method(refund.method), -amount), (Book::Sales, amount - tax), (Book::Tax, tax)];
    ledger::post(tx, Movement::Refund, &context, Some(refund.id.to_string()), &books)?;
    Ok(refund)
}
