//! Paying an order: all of it, once.

use store::Tx;

use super::order::{self, Order, Status, Stored};
use crate::error::{Error, Fault, Result};
use crate::ids::OrderId;
use crate::money::ledger::{self, Book, Movement};
use crate::money::payment::{self, Method, NewPayment, Paid};

/// Writes down that an order was paid.
pub fn settle(tx: &Tx<'_>, id: OrderId, paid: Paid) -> Result<Order> {
    pay(tx, order::load(tx, id)?, paid)
}

/// The same, of an order that was looked up.
pub fn pay(tx: &Tx<'_>, before: Order, paid: Paid) -> Result<Order> {
    match before.kept.status {
        Status::Placed => {}
        Status::Cancelled => {
            return Err(Error::invalid_state("The order was cancelled and cannot be paid."));
        }
        _ => return Err(Error::invalid_state("The order is already paid.")),
    }
    let owed = before.kept.total;
    let mut faults = Vec::new();
    if paid.amount.is_some_and(|amount| amount != owed) {
        let why = format!("An order is paid in one piece: {owed}.");
        faults.push(Fault::new("/amount", "differs", why));
    }
    if paid.method == Method::Credit {
        let why = "What was paid ahead is for dues; an order is paid in another way.";
        faults.push(Fault::new("/method", "not_allowed", why));
    }
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    let about = before.about();
    let payment = payment::create(
        tx,
        NewPayment {
            about: about.clone(),
            amount: owed,
            credited: 0,
            method: paid.method,
            reference: paid.reference,
            paid_at: paid.paid_at,
            provider_id: paid.provider_id,
        },
    )?;
    let tax = before.kept.tax;
    let books = [(Book::of(paid.method), owed), (Book::Sales, tax - owed), (Book::Tax, -tax)];
    ledger::enter(tx, Movement::Payment, &about, Some(payment.id.to_string()), &books)?;
    let kept = Stored {
        paid: owed,
        status: Status::Paid,
        expires_at: None,
        paid_at: Some(payment.paid_at),
        ..before.kept.clone()
    };
    order::update(tx, "order.paid", &before, Order { kept, ..before.clone() })
}
