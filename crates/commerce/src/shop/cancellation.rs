//! Cancellation of unpaid orders, on request or because the payment deadline has passed.

use macros::input;

use super::order::{self, Order, OrderRecord, Status};
use super::{discount, stock};
use crate::prelude::*;

/// Number of expired orders to load at once.
const BATCH_SIZE: i64 = 100;
pub(crate) const EXPIRED_REASON: &str = mark!("The order was not paid in time.");

/// Details of a cancellation.
#[input(as = CancelOrderRequest)]
pub struct OrderCancellation {
    /// Why the order is cancelled.
    #[input(line(500))]
    pub reason: Option<String>,
}

/// Cancels an unpaid order. Restores its stock and releases the use of its discount code.
pub fn cancel(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: OrderId,
    expected: &IfMatch,
    cancellation: OrderCancellation,
) -> Result<Order> {
    let before = expected.check(order::find(tx, access, id))?;
    match before.record.status {
        Status::Placed => {}
        Status::Cancelled => return Err(Error::invalid_state("The order is already cancelled.")),
        // A free order is paid immediately; there is nothing to refund.
        Status::Paid if before.record.total == 0 && is_unfulfilled(&before) => {}
        _ => {
            let detail = "The order is already paid. Refund it instead.";
            return Err(Error::invalid_state(detail));
        }
    }
    cancel_order(tx, &before, cancellation.reason)
}

fn is_unfulfilled(order: &Order) -> bool {
    order.lines.iter().all(|line| line.fulfilled == 0 && line.returned == 0)
}

fn cancel_order(tx: &Tx<'_>, before: &Order, reason: Option<String>) -> Result<Order> {
    let mut lines = before.lines.clone();
    for line in lines.iter_mut().filter(|line| line.from_stock) {
        stock::adjust(tx, line.product_id, line.variant_id, line.quantity)?;
        line.restocked = line.quantity;
    }
    if let Some(code) = before.record.discount_id {
        discount::release(tx, code)?;
    }
    let record = OrderRecord {
        status: Status::Cancelled,
        expires_at: None,
        cancelled_at: Some(tx.now()),
        cancel_reason: reason,
        ..before.record.clone()
    };
    order::update(tx, "order.cancelled", before, Order { record, lines, ..before.clone() })
}

row! {
    /// An unpaid order whose payment deadline has passed.
    #[derive(Debug, Clone, Copy)]
    pub struct ExpiredOrder {
        pub account_id: AccountId,
        pub id: OrderId,
        pub expires_at: Timestamp,
    }
}

/// The next batch of expired orders after `last`. An order that cannot be cancelled does not block the others.
pub fn find_expired(db: &Reader<'_>, last: Option<ExpiredOrder>) -> Result<Vec<ExpiredOrder>> {
    let after = last.map_or(Timestamp::from_micros(0), |order| order.expires_at);
    let after_id = last.map_or(OrderId::MIN, |order| order.id);
    Ok(db.all(
        "select account_id, id, expires_at from shop_order
         where status = 'placed' and expires_at <= :now
           and (expires_at, id) > (:after, :after_id)
         order by expires_at, id limit :limit /* any account */",
        bind! { after, after_id, limit: BATCH_SIZE },
    )?)
}

/// Cancels an expired order, unless it was paid or cancelled in the meantime.
pub fn expire(tx: &Tx<'_>, id: OrderId) -> Result<()> {
    let order = order::load(tx, id)?;
    let expired = order.record.expires_at.is_some_and(|deadline| deadline <= tx.now());
    if order.record.status == Status::Placed && expired {
        cancel_order(tx, &order, Some(EXPIRED_REASON.to_owned()))?;
    }
    Ok(())
}
