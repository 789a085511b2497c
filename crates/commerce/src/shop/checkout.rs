//! A checkout: everything ordered with one form, possibly for several people and from several teams.
//!
//! An order has one buyer, one selling team and one currency. A checkout is therefore split into several orders, which
//! are placed in one transaction: all or none.

use super::buyer::NewBuyer;
use super::code_use::PendingUsage;
use super::order::Order;
use super::placing::{self, NewLine, NewOrder, Quote};
use super::product;
use crate::prelude::*;

/// The contents of one checkout form.
#[derive(Debug)]
pub struct Checkout {
    /// The products, each with the person it is for.
    pub lines: Vec<(NewBuyer, NewLine)>,
    /// Applied to every order it is valid for, which must be at least one.
    pub discount_code: Option<String>,
    /// Copied to every order.
    pub note: Option<String>,
}

/// One of the orders that a checkout is split into.
struct OrderPart {
    buyer: NewBuyer,
    team: Option<TeamId>,
    currency: Option<Currency>,
    /// The lines, each with the index of its first line in the checkout.
    lines: Vec<(usize, NewLine)>,
}

impl OrderPart {
    /// Adds a line, or increases the quantity of the line with the same product and variant.
    fn add(&mut self, position: usize, line: NewLine) {
        let is_same = |(_, other): &&mut (usize, NewLine)| {
            other.product_id == line.product_id && other.variant_id == line.variant_id
        };
        match self.lines.iter_mut().find(is_same) {
            Some((_, same)) => same.quantity = same.quantity.saturating_add(line.quantity),
            None => self.lines.push((position, line)),
        }
    }

    fn to_new_order(&self, checkout: &Checkout, with_code: bool) -> NewOrder {
        NewOrder {
            team_id: None,
            buyer: Some(self.buyer.clone()),
            lines: self.lines.iter().map(|(_, line)| *line).collect(),
            currency: None,
            discount_code: checkout.discount_code.clone().filter(|_| with_code),
            note: checkout.note.clone(),
            external_id: None,
            metadata: Metadata::default(),
        }
    }

    /// Maps the pointers of this order's faults to the lines of the checkout.
    fn map_faults(&self, faults: Vec<Fault>) -> impl Iterator<Item = Fault> {
        faults.into_iter().map(|fault| {
            let mut segments = fault.pointer.trim_start_matches('/').splitn(3, '/');
            let line = match (segments.next(), segments.next()) {
                (Some("lines"), Some(index)) => index.parse().ok(),
                (Some("buyer"), _) => Some(0),
                _ => None,
            };
            let Some((position, _)) = line.and_then(|line: usize| self.lines.get(line)) else {
                return fault;
            };
            let rest = segments.next().unwrap_or("buyer");
            Fault { pointer: format!("/lines/{position}/{rest}"), ..fault }
        })
    }
}

/// Splits a checkout into orders. The club's products join an order from a team if the buyer has one.
fn split(db: &Reader<'_>, checkout: &Checkout) -> Result<Vec<OrderPart>> {
    let products =
        product::load_all(db, checkout.lines.iter().map(|(_, line)| line.product_id).collect())?;
    let mut parts: Vec<OrderPart> = Vec::new();
    let team_of = |line: &NewLine| products.get(&line.product_id)?.record.team_id;
    let mut lines: Vec<_> = checkout.lines.iter().enumerate().collect();
    lines.sort_by_key(|(_, (_, line))| team_of(line).is_none());
    for (position, (buyer, line)) in lines {
        let team = team_of(line);
        let currency = products.get(&line.product_id).map(|product| product.record.currency);
        let accepts_line = |part: &&mut OrderPart| {
            part.buyer == *buyer
                && part.currency == currency
                && (team.is_none() || part.team == team)
        };
        if let Some(part) = parts.iter_mut().find(accepts_line) {
            part.add(position, *line);
        } else {
            let lines = vec![(position, *line)];
            parts.push(OrderPart { buyer: buyer.clone(), team, currency, lines });
        }
    }
    Ok(parts)
}

/// Prices the orders of a checkout as if they were placed now.
pub fn quote(db: &Reader<'_>, access: &TeamAccess, checkout: &Checkout) -> Result<Vec<Quote>> {
    quote_parts(db, access, checkout, &split(db, checkout)?)
}

fn quote_parts(
    db: &Reader<'_>,
    access: &TeamAccess,
    checkout: &Checkout,
    parts: &[OrderPart],
) -> Result<Vec<Quote>> {
    let (mut quotes, mut refused, mut code_refused) = (Vec::new(), Vec::new(), None);
    let mut pending = PendingUsage::default();
    for part in parts {
        let mut quote = placing::quote(db, access, part.to_new_order(checkout, true), &mut pending);
        if let Err(error) = &quote
            && is_code_refusal(error)
        {
            code_refused = quote.err();
            quote = placing::quote(db, access, part.to_new_order(checkout, false), &mut pending);
        }
        match quote {
            Ok(quote) => quotes.push(quote),
            Err(error) => refused.push((part, error)),
        }
    }
    if let Some(error) = merge_errors(refused) {
        return Err(error);
    }
    match code_refused {
        Some(error) if quotes.iter().all(|quote| quote.code.is_none()) => Err(error),
        _ => Ok(quotes),
    }
}

/// Whether the order is rejected only because of the code, and can be placed without it.
fn is_code_refusal(error: &Error) -> bool {
    let is_about_code = |fault: &Fault| {
        fault.pointer == "/discount_code"
            && matches!(fault.code.as_ref(), "not_applicable" | "limit_reached")
    };
    !error.faults.is_empty() && error.faults.iter().all(is_about_code)
}

/// Merges the errors of all rejected orders into one.
fn merge_errors(refused: Vec<(&OrderPart, Error)>) -> Option<Error> {
    let mut merged: Option<Error> = None;
    for (part, mut error) in refused {
        let faults: Vec<_> = part.map_faults(std::mem::take(&mut error.faults)).collect();
        merged.get_or_insert(error).faults.extend(faults);
    }
    merged
}

/// Places all orders of a checkout or none. Fails if the total of an order differs from `expected_totals`, which the
/// buyer confirmed.
pub fn place(
    tx: &Tx<'_>,
    access: &TeamAccess,
    checkout: &Checkout,
    expected_totals: &[i64],
) -> Result<Vec<Order>> {
    let parts = split(tx, checkout)?;
    let quotes = quote_parts(tx, access, checkout, &parts)?;
    let totals: Vec<_> = quotes.iter().map(|quote| quote.price.total).collect();
    if totals != expected_totals {
        let detail = "The price has changed. Check the new total before you place the order.";
        return Err(Error::new(Code::Conflict, detail));
    }
    let orders = parts.iter().zip(&quotes).map(|(part, quote)| {
        placing::place(tx, access, part.to_new_order(checkout, quote.code.is_some()))
    });
    orders.collect()
}
