//! Fulfillment of orders, in full or in part.

use macros::input;

use super::order::{self, Order, OrderRecord, Status};
use crate::prelude::*;

/// A number of units of an order line.
#[input(as = OrderLineQuantity)]
#[derive(Clone, Copy)]
pub struct LineQuantity {
    /// Line of the order.
    pub line_id: LineId,
    /// Number of units.
    #[input(number(1, 1000))]
    pub quantity: i64,
}

/// The units of an order to fulfill.
#[input(as = FulfillOrderRequest, faults)]
pub struct FulfillRequest {
    /// Units to fulfill. Default: all units that are not fulfilled yet.
    #[schema(min_items = 1)]
    #[input(objects(100))]
    pub lines: Option<Vec<LineQuantity>>,
}

impl FulfillRequest {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        empty_lines(self.lines.as_deref()).into_iter().collect()
    }
}

/// The fault of an empty list of lines.
pub(super) fn empty_lines(lines: Option<&[LineQuantity]>) -> Option<Fault> {
    let fault = || Fault::new("/lines", "empty", "Name at least one line, or omit `lines`.");
    lines.is_some_and(<[_]>::is_empty).then(fault)
}

/// Records that the buyer has received items of the order.
pub fn fulfill(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: OrderId,
    expected: &IfMatch,
    request: FulfillRequest,
) -> Result<Order> {
    let before = expected.check(order::find(tx, access, id))?;
    match before.record.status {
        Status::Paid | Status::PartiallyRefunded => {}
        Status::Placed => return Err(Error::invalid_state("The order is not paid yet.")),
        Status::Fulfilled => {
            return Err(Error::invalid_state("There is nothing left to pick up in this order."));
        }
        Status::Cancelled => return Err(Error::invalid_state("The order was cancelled.")),
        Status::Refunded => return Err(Error::invalid_state("The order was refunded.")),
    }
    if before.lines.iter().all(|line| line.unfulfilled() == 0) {
        return Err(Error::invalid_state("There is nothing left to pick up in this order."));
    }
    let mut lines = before.lines.clone();
    match request.lines {
        None => lines.iter_mut().for_each(|line| line.fulfilled += line.unfulfilled()),
        Some(parts) => {
            let too_many =
                mark!("This is more than what is left to pick up. Enter a smaller quantity.");
            for (index, part) in resolve_lines(&before, &parts, too_many, order::Line::unfulfilled)?
            {
                lines[index].fulfilled += part.quantity;
            }
        }
    }
    let complete = lines.iter().all(|line| line.unfulfilled() == 0);
    // A partially refunded order keeps its status.
    let status = match before.record.status {
        Status::Paid if complete => Status::Fulfilled,
        status => status,
    };
    let fulfilled_at = if complete { Some(tx.now()) } else { before.record.fulfilled_at };
    let record = OrderRecord { status, fulfilled_at, ..before.record.clone() };
    order::update(tx, "order.fulfilled", &before, Order { record, lines, ..before.clone() })
}

/// The named lines by their index in the order. Each line can be named once, with at most `max` units; `too_many` is
/// the error text otherwise.
pub(super) fn resolve_lines(
    order: &Order,
    parts: &[LineQuantity],
    too_many: &'static str,
    max: fn(&order::Line) -> i64,
) -> Result<Vec<(usize, LineQuantity)>> {
    let (mut found, mut faults) = (Vec::<(usize, LineQuantity)>::new(), Vec::new());
    for (position, part) in parts.iter().enumerate() {
        let index = order.lines.iter().position(|line| line.id == part.line_id);
        let pointer = |field: &str| format!("/lines/{position}/{field}");
        match index {
            None => {
                let detail = "The order has no line with this ID.";
                faults.push(Fault::new(pointer("line_id"), "not_found", detail));
            }
            Some(index) if found.iter().any(|(other, _)| *other == index) => {
                let detail = "This line appears more than once.";
                faults.push(Fault::new(pointer("line_id"), "repeated", detail));
            }
            Some(index) if part.quantity > max(&order.lines[index]) => {
                faults.push(Fault::new(pointer("quantity"), "too_many", too_many));
            }
            Some(index) => found.push((index, *part)),
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(Error::invalid(faults)) }
}
