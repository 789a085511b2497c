//! Giving money back for an order: all of it, an amount, or what some lines cost. Never more than was paid.

use store::Tx;
use utoipa::ToSchema;

use super::handing::{self, Part};
use super::order::{self, Line, Order, Status, Stored};
use super::{price, stock};
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::OrderId;
use crate::money::ledger::{self, Book, Movement};
use crate::money::payment::{self, Giving, Method, Refund};

/// What is given back: all that is left, unless an amount or lines are named.
#[derive(Debug, ToSchema)]
pub struct NewRefund {
    /// So much, without anything being taken back. Once everything is given back, what was not handed out is.
    #[schema(minimum = 1, maximum = 1_000_000_000_000i64)]
    pub amount: Option<i64>,
    /// What so many of these lines cost.
    #[schema(min_items = 1, max_items = 100)]
    pub lines: Option<Vec<Part>>,
    /// Whether what is taken back can be sold again; `true` if left out.
    pub restock: Option<bool>,
    /// The way it was paid if left out. What was paid by card goes back to the card, unless it was given back in
    /// another way.
    pub method: Option<Method>,
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// Gives money back.
pub fn refund(
    tx: &Tx<'_>,
    reach: &Reach,
    id: OrderId,
    expected: &Expected,
    new: NewRefund,
) -> Result<Order> {
    let before = expected.check(order::find(tx, reach, id))?;
    let left = left(&before)?;
    consistent(&new)?;
    let restock = new.restock.unwrap_or(true);
    let (amount, mut lines) = match (new.amount, &new.lines) {
        (Some(amount), _) => (amount, before.lines.clone()),
        (None, Some(parts)) => some(tx, &before, parts, restock)?,
        (None, None) => (left, all(tx, &before, restock)?),
    };
    if amount > left {
        let why = format!("That is more than is left of what was paid: {left}.");
        return Err(Error::invalid_state(why));
    }
    if amount == left {
        give_up_open(tx, &mut lines, restock)?;
    }
    if amount > 0 {
        let giving = Giving { amount, method: new.method, reason: new.reason };
        give_back(tx, &before, giving)?;
    }
    counted(tx, "order.refunded", &before, lines, before.kept.refunded + amount)
}

/// Writes down that the provider has given money back without us. What was handed out stays where it is.
pub fn given_back(tx: &Tx<'_>, id: OrderId, giving: Giving) -> Result<Refund> {
    let before = order::load(tx, id)?;
    let refunded = before.kept.refunded + giving.amount;
    let mut lines = before.lines.clone();
    if refunded == before.kept.paid {
        give_up_open(tx, &mut lines, true)?;
    }
    let refund = give_back(tx, &before, giving)?;
    counted(tx, "order.refunded", &before, lines, refunded)?;
    Ok(refund)
}

/// A refund has failed, and the money is still here. What was taken back for it stays so.
pub fn come_back(tx: &Tx<'_>, id: OrderId, refund: &Refund) -> Result<()> {
    let before = order::load(tx, id)?;
    let (amount, refunded) = (refund.amount, before.kept.refunded - refund.amount);
    payment::come_back(tx, refund)?;
    // The same movement the other way round, so that sums of what was given back are right again.
    let tax = price::tax_back(before.kept.total, before.kept.tax, refunded, amount);
    let books = [(Book::of(refund.method), amount), (Book::Sales, tax - amount), (Book::Tax, -tax)];
    let reference = Some(refund.id.to_string());
    ledger::enter(tx, Movement::Refund, &before.about(), reference, &books)?;
    counted(tx, "order.refund_failed", &before, before.lines.clone(), refunded)?;
    Ok(())
}

/// Keeps and tells how much was given back in all.
fn counted(
    tx: &Tx<'_>,
    news: &'static str,
    before: &Order,
    lines: Vec<Line>,
    refunded: i64,
) -> Result<Order> {
    // What was still to be handed out may be what was taken back.
    let all_out = lines.iter().all(|line| line.open() == 0);
    let now_out = all_out && lines.iter().any(|line| line.fulfilled > 0);
    let fulfilled_at = before.kept.fulfilled_at.or(now_out.then(|| tx.now()));
    let status = match refunded {
        all if all == before.kept.paid => Status::Refunded,
        0 if fulfilled_at.is_some() => Status::Fulfilled,
        0 => Status::Paid,
        _ => Status::PartiallyRefunded,
    };
    let kept = Stored { refunded, status, fulfilled_at, ..before.kept.clone() };
    order::update(tx, news, before, Order { kept, lines, ..before.clone() })
}

/// How much is left of what was paid.
fn left(order: &Order) -> Result<i64> {
    let Stored { status, paid, refunded, .. } = &order.kept;
    let why = match status {
        Status::Placed => "The order is not paid, so there is nothing to give back.",
        Status::Cancelled => "The order was cancelled; nothing was paid.",
        Status::Refunded => "Everything that was paid was given back already.",
        _ if *paid == 0 => "The order was free, so there is nothing to give back.",
        _ => return Ok(paid - refunded),
    };
    Err(Error::invalid_state(why))
}

fn consistent(new: &NewRefund) -> Result<()> {
    if new.amount.is_some() && new.lines.is_some() {
        let why = "Give either an amount or lines.";
        return Err(Error::invalid(vec![Fault::new("/lines", "not_both", why)]));
    }
    if new.amount.is_some() && new.restock == Some(true) {
        let why = "With an amount nothing is taken back; name the lines instead.";
        return Err(Error::invalid(vec![Fault::new("/restock", "not_allowed", why)]));
    }
    if new.method == Some(Method::Credit) {
        let why = "What was paid ahead is for dues; an order is given back in another way.";
        return Err(Error::invalid(vec![Fault::new("/method", "not_allowed", why)]));
    }
    Ok(())
}

/// Takes some of the lines back, and says what they cost.
fn some(tx: &Tx<'_>, order: &Order, parts: &[Part], restock: bool) -> Result<(i64, Vec<Line>)> {
    let more = "That is more than was ordered and not taken back yet.";
    let named = handing::named(order, parts, more, |line| line.quantity - line.returned)?;
    let (mut amount, mut lines) = (0, order.lines.clone());
    for (place, part) in named {
        let line = &mut lines[place];
        let worth = price::units(line.total, line.quantity, line.returned, part.quantity);
        take_back(tx, line, part.quantity, restock)?;
        line.refunded += worth;
        amount += worth;
    }
    Ok((amount, lines))
}

/// Takes everything back that the buyer still has or waits for.
fn all(tx: &Tx<'_>, order: &Order, restock: bool) -> Result<Vec<Line>> {
    let mut lines = order.lines.clone();
    for line in &mut lines {
        take_back(tx, line, line.quantity - line.returned, restock)?;
        line.refunded = line.total;
    }
    Ok(lines)
}

/// Takes back what was not handed out yet: whoever has all their money back does not wait for it.
fn give_up_open(tx: &Tx<'_>, lines: &mut [Line], restock: bool) -> Result<()> {
    lines.iter_mut().try_for_each(|line| take_back(tx, line, line.open(), restock))
}

/// What was not handed out yet is given up first.
fn take_back(tx: &Tx<'_>, line: &mut Line, count: i64, restock: bool) -> Result<()> {
    line.fulfilled -= (count - line.open()).max(0);
    line.returned += count;
    if restock && line.from_stock && count > 0 {
        stock::put_back(tx, line.product_id, line.variant_id, count)?;
        line.restocked += count;
    }
    Ok(())
}

/// Takes the amount out of the payment and the books: from sales and tax as it was reckoned.
fn give_back(tx: &Tx<'_>, order: &Order, giving: Giving) -> Result<Refund> {
    let (about, amount) = (order.about(), giving.amount);
    let payments = payment::of_subject(tx, &about.subject)?;
    let payment = payments.into_iter().find(|payment| payment.amount - payment.refunded >= amount);
    let payment = payment.ok_or_else(|| Error::internal("an order without its payment"))?;
    let (_, refund) = payment::refund(tx, &payment, giving)?;
    let Stored { total, tax, refunded, .. } = order.kept;
    let tax = price::tax_back(total, tax, refunded, amount);
    let books = [(Book::of(refund.method), -amount), (Book::Sales, amount - tax), (Book::Tax, tax)];
    ledger::enter(tx, Movement::Refund, &about, Some(refund.id.to_string()), &books)?;
    Ok(refund)
}
