//! Payment of an order. An order is paid once and in full.

use super::order::{self, Order, OrderRecord, Status};
use crate::money::ledger::{self, Book, Movement};
use crate::money::payment::{self, Method, PaymentDetails};
use crate::prelude::*;

/// Records the payment of an order.
pub fn pay_by_id(tx: &Tx<'_>, id: OrderId, paid: PaymentDetails) -> Result<Order> {
    pay(tx, order::load(tx, id)?, paid)
}

/// Records the payment of an order that is already loaded.
pub fn pay(tx: &Tx<'_>, before: Order, paid: PaymentDetails) -> Result<Order> {
    match before.record.status {
        Status::Placed => {}
        Status::Cancelled => {
            return Err(Error::invalid_state("The order was cancelled and cannot be paid."));
        }
        _ => return Err(Error::invalid_state("The order is already paid.")),
    }
    let due = before.record.total;
    let mut faults = Vec::new();
    if paid.amount.is_some_and(|amount| amount != due) {
        let detail = message!("An order must be paid in full. The amount due is {due}.", due);
        faults.push(Fault::new("/amount", "mismatch", detail));
    }
    if paid.method == Method::Credit {
        let detail = "Credit can only pay dues. Choose another payment method.";
        faults.push(Fault::new("/method", "not_allowed", detail));
    }
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    let context = before.ledger_context();
    let (book, tax) = (Book::for_method(paid.method), before.record.tax);
    let payment = payment::create(tx, &context, due, 0, paid)?;
    let books = [(book, due), (Book::Sales, tax - due), (Book::Tax, -tax)];
    ledger::post(tx, Movement::Payment, &context, Some(payment.id.to_string()), &books)?;
    let record = OrderRecord {
        paid: due,
        status: Status::Paid,
        expires_at: None,
        paid_at: Some(payment.paid_at),
        ..before.record.clone()
    };
    order::update(tx, "order.paid", &before, Order { record, ..before.clone() })
}
