//! Orders that end before they are paid: cancelled by somebody, or because their time is over.

use kit::Timestamp;
use store::{Reader, Tx, bind, row};
use utoipa::ToSchema;

use super::order::{self, Order, Status, Stored};
use super::{discount, stock};
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::ids::{AccountId, OrderId};

/// How many orders whose time is over are looked up at once.
const STEP: i64 = 100;
const TOO_LATE: &str = "It was not paid in time.";

/// Why an order is cancelled.
#[derive(Debug, ToSchema)]
pub struct OrderCancellation {
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// Cancels an order that is not paid. Its stock and the use of its code are given back.
pub fn cancel(
    tx: &Tx<'_>,
    reach: &Reach,
    id: OrderId,
    expected: &Expected,
    why: OrderCancellation,
) -> Result<Order> {
    let before = expected.check(order::find(tx, reach, id))?;
    match before.kept.status {
        Status::Placed => {}
        Status::Cancelled => return Err(Error::invalid_state("The order is already cancelled.")),
        // Nothing was paid, so there is nothing to give back but what was taken.
        Status::Paid if before.kept.total == 0 && is_untouched(&before) => {}
        _ => {
            let why = "The order is paid; give the money back instead.";
            return Err(Error::invalid_state(why));
        }
    }
    end(tx, &before, why.reason)
}

fn is_untouched(order: &Order) -> bool {
    order.lines.iter().all(|line| line.fulfilled == 0 && line.returned == 0)
}

fn end(tx: &Tx<'_>, before: &Order, reason: Option<String>) -> Result<Order> {
    let mut lines = before.lines.clone();
    for line in lines.iter_mut().filter(|line| line.from_stock) {
        stock::put_back(tx, line.product_id, line.variant_id, line.quantity)?;
        line.restocked = line.quantity;
    }
    if let Some(code) = before.kept.discount_id {
        discount::give_back(tx, code)?;
    }
    let kept = Stored {
        status: Status::Cancelled,
        expires_at: None,
        cancelled_at: Some(tx.now()),
        cancel_reason: reason,
        ..before.kept.clone()
    };
    order::update(tx, "order.cancelled", before, Order { kept, lines, ..before.clone() })
}

row! {
    /// An order whose time to be paid is over.
    #[derive(Debug, Clone, Copy)]
    pub struct Late {
        pub account_id: AccountId,
        pub id: OrderId,
        pub expires_at: Timestamp,
    }
}

/// The orders whose time is over, after this one; one that cannot be ended is passed by.
pub fn late(db: &Reader<'_>, last: Option<Late>) -> Result<Vec<Late>> {
    let after = last.map_or(Timestamp::from_micros(0), |late| late.expires_at);
    let after_id = last.map_or(OrderId::LEAST, |late| late.id);
    Ok(db.all(
        "select account_id, id, expires_at from shop_order
         where status = 'placed' and expires_at <= :now
           and (expires_at, id) > (:after, :after_id)
         order by expires_at, id limit :limit /* any account */",
        bind! { after, after_id, limit: STEP },
    )?)
}

/// Ends an order whose time is over, unless somebody was quicker.
pub fn expire(tx: &Tx<'_>, id: OrderId) -> Result<()> {
    let order = order::load(tx, id)?;
    let late = order.kept.expires_at.is_some_and(|end| end <= tx.now());
    if order.kept.status == Status::Placed && late {
        end(tx, &order, Some(TOO_LATE.to_owned()))?;
    }
    Ok(())
}
