//! Giving money back for an order: all of it, an amount, or what some lines cost. Never more than was paid.

use kit::Money;
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
use crate::money::payment::{self, Giving, Method, Refund, RefundLine, RefundLines};

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
    let mut back = match (new.amount, &new.lines) {
        (Some(amount), _) => Back::of_amount(&before, amount),
        (None, Some(parts)) => some(tx, &before, parts, restock)?,
        (None, None) => all(tx, &before, left, restock)?,
    };
    if back.amount > left {
        let why = format!("That is more than is left of what was paid: {left}.");
        return Err(Error::invalid_state(why));
    }
    if back.amount == left {
        back.give_up_open(tx, restock)?;
    }
    if back.amount > 0 {
        give_back(tx, &before, &back, new.method, new.reason)?;
    }
    counted(tx, "order.refunded", &before, back.lines, before.kept.refunded + back.amount)
}

/// Writes down that the provider has given money back without us. What was handed out stays where it is.
pub fn given_back(tx: &Tx<'_>, id: OrderId, giving: Giving) -> Result<Refund> {
    let before = order::load(tx, id)?;
    let refunded = before.kept.refunded + giving.amount;
    let mut back = Back::of_amount(&before, giving.amount);
    if refunded == before.kept.paid {
        back.give_up_open(tx, true)?;
    }
    let refund = give_back(tx, &before, &back, giving.method, giving.reason)?;
    counted(tx, "order.refunded", &before, back.lines, refunded)?;
    Ok(refund)
}

/// A refund has failed, and the money is still here. What was taken back for it stays so.
pub fn come_back(tx: &Tx<'_>, id: OrderId, refund: &Refund) -> Result<()> {
    let before = order::load(tx, id)?;
    let (amount, refunded) = (refund.amount, before.kept.refunded - refund.amount);
    payment::come_back(tx, refund)?;
    // The same movement the other way round, so that sums of what was given back are right again.
    let (about, reference) = (before.about(), Some(refund.id.to_string()));
    let tax = ledger::within(tx, &about.subject, Book::Tax, reference.clone())?;
    let books = [(Book::of(refund.method), amount), (Book::Sales, tax - amount), (Book::Tax, -tax)];
    ledger::enter(tx, Movement::Refund, &about, reference, &books)?;
    let mut lines = before.lines.clone();
    for RefundLine { line_id, amount } in &refund.lines.0 {
        lines
            .iter_mut()
            .filter(|line| line.id == *line_id)
            .for_each(|line| line.refunded -= amount);
    }
    counted(tx, "order.refund_failed", &before, lines, refunded)?;
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

/// What is given back.
struct Back {
    amount: i64,
    /// The tax in it, where that is known by its lines.
    tax: Option<i64>,
    /// The order's lines, once it is.
    lines: Vec<Line>,
    /// Which of them it is for.
    parts: RefundLines,
}

impl Back {
    /// An amount that is for nothing in particular.
    fn of_amount(order: &Order, amount: i64) -> Self {
        Self { amount, tax: None, lines: order.lines.clone(), parts: RefundLines::default() }
    }

    /// Takes back what was not handed out yet: whoever has all their money back does not wait for it.
    fn give_up_open(&mut self, tx: &Tx<'_>, restock: bool) -> Result<()> {
        self.lines.iter_mut().try_for_each(|line| take_back(tx, line, line.open(), restock))
    }

    fn add(&mut self, place: usize, amount: i64) {
        let line = &mut self.lines[place];
        line.refunded += amount;
        if amount > 0 {
            self.parts.0.push(RefundLine { line_id: line.id, amount });
        }
    }
}

/// Takes some of the lines back: what they cost is given back.
fn some(tx: &Tx<'_>, order: &Order, parts: &[Part], restock: bool) -> Result<Back> {
    let more = "That is more than was ordered and not taken back yet.";
    let named = handing::named(order, parts, more, |line| line.quantity - line.returned)?;
    let (mut back, mut tax) = (Back::of_amount(order, 0), 0);
    for (place, part) in named {
        let line = &mut back.lines[place];
        let of_units = |whole| price::units(whole, line.quantity, line.returned, part.quantity);
        let worth = of_units(line.total);
        tax += of_units(line.tax);
        take_back(tx, line, part.quantity, restock)?;
        back.amount += worth;
        back.add(place, worth);
    }
    Ok(Back { tax: Some(tax), ..back })
}

/// Takes everything back that the buyer still has or waits for: all that is left is given back. If something was given
/// back before that was for no line in particular, that is less than the lines cost.
fn all(tx: &Tx<'_>, order: &Order, left: i64, restock: bool) -> Result<Back> {
    let mut back = Back::of_amount(order, left);
    let costs: Vec<_> = order.lines.iter().map(|line| line.total - line.refunded).collect();
    let parts = Money { minor: left, currency: order.kept.currency }.spread(&costs);
    for (place, (before, part)) in order.lines.iter().zip(parts).enumerate() {
        take_back(tx, &mut back.lines[place], before.quantity - before.returned, restock)?;
        back.add(place, part.minor);
    }
    Ok(back)
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
fn give_back(
    tx: &Tx<'_>,
    order: &Order,
    back: &Back,
    method: Option<Method>,
    reason: Option<String>,
) -> Result<Refund> {
    let (about, amount) = (order.about(), back.amount);
    let payments = payment::of_subject(tx, &about.subject)?;
    let payment = payments.into_iter().find(|payment| payment.amount - payment.refunded >= amount);
    let payment = payment.ok_or_else(|| Error::internal("an order without its payment"))?;
    let left = price::Left {
        amount: order.kept.paid - order.kept.refunded,
        tax: -ledger::within(tx, &about.subject, Book::Tax, None)?,
    };
    let tax = left.tax_in(amount, back.tax);
    let giving = Giving { amount, method, reason, lines: back.parts.clone() };
    let (_, refund) = payment::refund(tx, &payment, giving)?;
    let books = [(Book::of(refund.method), -amount), (Book::Sales, amount - tax), (Book::Tax, tax)];
    ledger::enter(tx, Movement::Refund, &about, Some(refund.id.to_string()), &books)?;
    Ok(refund)
}
