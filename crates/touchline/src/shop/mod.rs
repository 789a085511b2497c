//! The store: products, discount codes and orders.
//!
//! Stock is decremented in the transaction that places an order and restored in the one that cancels it.
//! Order lines keep the names and prices from the time of the order.

pub mod api;
pub mod buyer;
pub mod checkout;
pub mod code_use;
pub mod discount;
pub mod cancellation;
pub mod fulfillment;
pub mod personal_data;
pub mod listing;
pub mod order;
pub mod pages;
pub mod placing;
pub mod price;
pub mod product;
pub mod product_listing;
pub mod refunding;
pub mod settle;
pub mod stock;
pub mod variant;

use crate::error::{Code, Error, Fault, Result};

/// Everything wrong with a request, collected so that the caller gets all problems in one response.
#[derive(Debug, Default)]
struct Violations {
    /// Problems with the input itself, independent of the state of the store.
    invalid: Vec<Fault>,
    /// Conflicts with the current state of the store, such as sold-out products.
    conflicts: Vec<Fault>,
}

impl Violations {
    fn add_invalid(
        &mut self,
        pointer: impl Into<String>,
        code: &'static str,
        detail: impl Into<String>,
    ) {
        self.invalid.push(Fault::new(pointer, code, detail));
    }

    fn add_conflict(
        &mut self,
        pointer: impl Into<String>,
        code: &'static str,
        detail: impl Into<String>,
    ) {
        self.conflicts.push(Fault::new(pointer, code, detail));
    }

    /// Adds the id of an object that does not exist or is not visible to the caller.
    fn add_not_found(&mut self, pointer: impl Into<String>) {
        self.add_invalid(pointer, "not_found", "No such object, or you don't have access to it.");
    }

    /// Fails if anything was added: with a validation error if any input is invalid, otherwise with a conflict.
    fn finish(&mut self) -> Result<()> {
        let mut faults = std::mem::take(&mut self.invalid);
        let state = std::mem::take(&mut self.conflicts);
        if faults.is_empty() {
            let Some(first) = state.first() else { return Ok(()) };
            let error = Error::new(Code::Conflict, first.detail.clone());
            return Err(Error { faults: state, ..error });
        }
        faults.extend(state);
        Err(Error::invalid(faults))
    }
}
