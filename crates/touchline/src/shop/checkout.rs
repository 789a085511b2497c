//! A checkout: everything one form buys, for several people and from several teams.
//!
//! An order has one buyer, one selling team and one currency. A checkout is split into as many orders as that takes;
//! they are placed in one transaction, all or none.

use store::{Reader, Tx};

use super::buyer::NewBuyer;
use super::code_use::Earlier;
use super::order::Order;
use super::placing::{self, NewLine, NewOrder, Quote};
use super::product;
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Fault, Result};
use crate::ids::{ProductId, TeamId, VariantId};
use crate::metadata::Metadata;
use kit::Currency;

/// So many of a product, for somebody.
#[derive(Debug, Clone)]
pub struct CheckoutLine {
    pub buyer: NewBuyer,
    pub product_id: ProductId,
    pub variant_id: Option<VariantId>,
    pub quantity: i64,
}

/// What one form buys.
#[derive(Debug)]
pub struct Checkout {
    pub lines: Vec<CheckoutLine>,
    /// Counts for every order it can be used for; it must be one at least.
    pub discount_code: Option<String>,
    /// Goes with every order.
    pub note: Option<String>,
}

/// One order of a checkout.
struct Part {
    buyer: NewBuyer,
    team: Option<TeamId>,
    currency: Option<Currency>,
    lines: Vec<PartLine>,
}

struct PartLine {
    product_id: ProductId,
    variant_id: Option<VariantId>,
    quantity: i64,
    /// Its place in the checkout.
    position: usize,
}

impl Part {
    /// Adds a line. The same product for the same buyer is one line.
    fn add(&mut self, position: usize, line: &CheckoutLine) {
        let same = |known: &&mut PartLine| {
            known.product_id == line.product_id && known.variant_id == line.variant_id
        };
        if let Some(known) = self.lines.iter_mut().find(same) {
            known.quantity = known.quantity.saturating_add(line.quantity);
            return;
        }
        let CheckoutLine { product_id, variant_id, quantity, .. } = *line;
        self.lines.push(PartLine { product_id, variant_id, quantity, position });
    }

    fn order(&self, checkout: &Checkout, with_code: bool) -> NewOrder {
        let line = |line: &PartLine| NewLine {
            product_id: line.product_id,
            variant_id: line.variant_id,
            quantity: line.quantity,
        };
        NewOrder {
            team_id: None,
            buyer: Some(self.buyer.clone()),
            lines: self.lines.iter().map(line).collect(),
            currency: None,
            discount_code: checkout.discount_code.clone().filter(|_| with_code),
            note: checkout.note.clone(),
            external_id: None,
            metadata: Metadata::default(),
        }
    }

    /// The faults of this order at their places in the checkout.
    fn placed(&self, faults: Vec<Fault>) -> impl Iterator<Item = Fault> {
        faults.into_iter().map(|fault| {
            let mut steps = fault.pointer.trim_start_matches('/').splitn(3, '/');
            let line = match (steps.next(), steps.next()) {
                (Some("lines"), Some(place)) => place.parse().ok(),
                (Some("buyer"), _) => Some(0),
                _ => None,
            };
            let Some(line) = line.and_then(|line: usize| self.lines.get(line)) else {
                return fault;
            };
            let rest = steps.next().unwrap_or("buyer");
            Fault { pointer: format!("/lines/{}/{rest}", line.position), ..fault }
        })
    }
}

/// Splits a checkout into orders. What the club sells goes along with an order of a team where the buyer has one.
fn split(db: &Reader<'_>, checkout: &Checkout) -> Result<Vec<Part>> {
    let goods = product::all(db, checkout.lines.iter().map(|line| line.product_id).collect())?;
    let mut parts: Vec<Part> = Vec::new();
    let of_teams = |line: &CheckoutLine| {
        goods.get(&line.product_id).is_some_and(|(product, _)| product.team_id.is_some())
    };
    let lines = || checkout.lines.iter().enumerate();
    let (teams, club) =
        (lines().filter(|(_, line)| of_teams(line)), lines().filter(|(_, line)| !of_teams(line)));
    for (position, line) in teams.chain(club) {
        let product = goods.get(&line.product_id).map(|(product, _)| product);
        let (team, currency) =
            (product.and_then(|own| own.team_id), product.map(|own| own.currency));
        let fits = |part: &&mut Part| {
            part.buyer == line.buyer
                && part.currency == currency
                && (team.is_none() || part.team == team)
        };
        if let Some(part) = parts.iter_mut().find(fits) {
            part.add(position, line);
            continue;
        }
        let mut part = Part { buyer: line.buyer.clone(), team, currency, lines: Vec::new() };
        part.add(position, line);
        parts.push(part);
    }
    Ok(parts)
}

/// What the orders of a checkout would cost if they were placed now.
pub fn quote(db: &Reader<'_>, reach: &Reach, checkout: &Checkout) -> Result<Vec<Quote>> {
    quote_parts(db, reach, checkout, &split(db, checkout)?)
}

fn quote_parts(
    db: &Reader<'_>,
    reach: &Reach,
    checkout: &Checkout,
    parts: &[Part],
) -> Result<Vec<Quote>> {
    let (mut quotes, mut refused, mut code_refused) = (Vec::new(), Vec::new(), None);
    let mut earlier = Earlier::default();
    for part in parts {
        let mut quote = placing::quote(db, reach, part.order(checkout, true), &mut earlier);
        if let Err(error) = &quote
            && is_about_code(error)
        {
            code_refused = quote.err();
            quote = placing::quote(db, reach, part.order(checkout, false), &mut earlier);
        }
        match quote {
            Ok(quote) => quotes.push(quote),
            Err(error) => refused.push((part, error)),
        }
    }
    if let Some(error) = joined(refused) {
        return Err(error);
    }
    match code_refused {
        Some(error) if quotes.iter().all(|quote| quote.code.is_none()) => Err(error),
        _ => Ok(quotes),
    }
}

/// Whether only the code stands in the way, so that the order can be placed without it.
fn is_about_code(error: &Error) -> bool {
    let about = |fault: &Fault| {
        fault.pointer == "/discount_code"
            && matches!(fault.code.as_ref(), "not_applicable" | "used_up")
    };
    !error.faults.is_empty() && error.faults.iter().all(about)
}

/// One error for everything that was refused.
fn joined(refused: Vec<(&Part, Error)>) -> Option<Error> {
    let mut all: Option<Error> = None;
    for (part, mut error) in refused {
        let faults: Vec<_> = part.placed(std::mem::take(&mut error.faults)).collect();
        let joined = all.get_or_insert(error);
        joined.faults.extend(faults);
    }
    all
}

/// Places every order of a checkout, or none. `shown` is the total of each order as the buyer saw it.
pub fn place(tx: &Tx<'_>, reach: &Reach, checkout: &Checkout, shown: &[i64]) -> Result<Vec<Order>> {
    let parts = split(tx, checkout)?;
    let quotes = quote_parts(tx, reach, checkout, &parts)?;
    let totals: Vec<_> = quotes.iter().map(|quote| quote.sum.total).collect();
    if totals != shown {
        let detail =
            "The price has changed since you looked. Check the total again before you order.";
        return Err(Error::new(Code::Conflict, detail));
    }
    let placed = parts
        .iter()
        .zip(&quotes)
        .map(|(part, quote)| placing::place(tx, reach, part.order(checkout, quote.code.is_some())));
    placed.collect()
}
