//! Handing out what was bought, whole or in part.

use store::Tx;
use utoipa::ToSchema;

use super::order::{self, Order, Status, Stored};
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::{LineId, OrderId};

/// So many of a line.
#[derive(Debug, Clone, Copy, ToSchema)]
pub struct Part {
    pub line_id: LineId,
    #[schema(minimum = 1, maximum = 1000)]
    pub quantity: i64,
}

/// What is handed out.
#[derive(Debug, ToSchema)]
pub struct Handing {
    /// Everything that is still to be handed out, if left out.
    #[schema(min_items = 1, max_items = 100)]
    pub lines: Option<Vec<Part>>,
}

/// Hands out what was bought.
pub fn fulfil(
    tx: &Tx<'_>,
    reach: &Reach,
    id: OrderId,
    expected: &Expected,
    handing: Handing,
) -> Result<Order> {
    let before = expected.check(order::find(tx, reach, id))?;
    match before.kept.status {
        Status::Paid | Status::PartiallyRefunded => {}
        Status::Placed => return Err(Error::invalid_state("The order is not paid yet.")),
        Status::Fulfilled => {
            return Err(Error::invalid_state("Everything was handed out already."));
        }
        Status::Cancelled => return Err(Error::invalid_state("The order was cancelled.")),
        Status::Refunded => return Err(Error::invalid_state("The order was given back.")),
    }
    if before.lines.iter().all(|line| line.open() == 0) {
        return Err(Error::invalid_state("Everything was handed out already."));
    }
    let mut lines = before.lines.clone();
    match handing.lines {
        None => lines.iter_mut().for_each(|line| line.fulfilled += line.open()),
        Some(parts) => {
            let more = "That is more than is still to be handed out.";
            for (place, part) in named(&before, &parts, more, order::Line::open)? {
                lines[place].fulfilled += part.quantity;
            }
        }
    }
    let whole = lines.iter().all(|line| line.open() == 0);
    // What was given back in part stays so, whatever is handed out of the rest.
    let status = match before.kept.status {
        Status::Paid if whole => Status::Fulfilled,
        status => status,
    };
    let fulfilled_at = if whole { Some(tx.now()) } else { before.kept.fulfilled_at };
    let kept = Stored { status, fulfilled_at, ..before.kept.clone() };
    order::update(tx, "order.fulfilled", &before, Order { kept, lines, ..before.clone() })
}

/// The lines that are named, by their place in the order: each once, and none with more than there is.
pub(super) fn named(
    order: &Order,
    parts: &[Part],
    more: &'static str,
    most: fn(&order::Line) -> i64,
) -> Result<Vec<(usize, Part)>> {
    let (mut found, mut faults) = (Vec::<(usize, Part)>::new(), Vec::new());
    for (position, part) in parts.iter().enumerate() {
        let place = order.lines.iter().position(|line| line.id == part.line_id);
        let pointer = |member: &str| format!("/lines/{position}/{member}");
        match place {
            None => {
                let why = "The order has no such line.";
                faults.push(Fault::new(pointer("line_id"), "not_found", why));
            }
            Some(place) if found.iter().any(|(known, _)| *known == place) => {
                let why = "This stands in the list before.";
                faults.push(Fault::new(pointer("line_id"), "repeated", why));
            }
            Some(place) if part.quantity > most(&order.lines[place]) => {
                faults.push(Fault::new(pointer("quantity"), "too_many", more));
            }
            Some(place) => found.push((place, *part)),
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(Error::invalid(faults)) }
}
