//! The store: what is sold, and what was ordered.
//!
//! Stock is taken in the transaction in which an order is placed, and given back in the one in which it ends.
//! What was ordered keeps its names and prices as they were.

pub mod api;
pub mod buyer;
pub mod checkout;
pub mod code_use;
pub mod discount;
pub mod ending;
pub mod handing;
pub mod held;
pub mod listing;
pub mod order;
pub mod pages;
pub mod placing;
pub mod price;
pub mod product;
pub mod refunding;
pub mod settle;
pub mod stock;
pub mod variant;

use crate::error::{Code, Error, Fault, Result};

/// What stands against an order or a product, collected so that the caller learns all of it at once.
#[derive(Debug, Default)]
struct Against {
    /// What is not valid, whatever the shelf holds.
    invalid: Vec<Fault>,
    /// What the state of the store does not allow now.
    state: Vec<Fault>,
}

impl Against {
    fn invalid(&mut self, place: impl Into<String>, code: &'static str, why: impl Into<String>) {
        self.invalid.push(Fault::new(place, code, why));
    }

    fn state(&mut self, place: impl Into<String>, code: &'static str, why: impl Into<String>) {
        self.state.push(Fault::new(place, code, why));
    }

    /// An id that leads nowhere, or to what the caller may not know of.
    fn missing(&mut self, place: impl Into<String>) {
        self.invalid(place, "not_found", "No such object, or it is not yours to see.");
    }

    /// Fails if anything was found.
    fn finish(&mut self) -> Result<()> {
        let mut faults = std::mem::take(&mut self.invalid);
        let state = std::mem::take(&mut self.state);
        if faults.is_empty() {
            let Some(first) = state.first() else { return Ok(()) };
            let error = Error::new(Code::Conflict, first.detail.clone());
            return Err(Error { faults: state, ..error });
        }
        faults.extend(state);
        Err(Error::invalid(faults))
    }
}
