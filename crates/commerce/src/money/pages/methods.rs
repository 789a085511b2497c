//! Labels of payment methods.

use std::borrow::Borrow;

use crate::money::payment::Method;

/// Methods for payments that are recorded manually. Card payments made through this service are recorded automatically.
pub const MANUAL_METHODS: [(Method, &str); 4] = [
    (Method::Cash, "Cash"),
    (Method::BankTransfer, "Bank transfer"),
    (Method::Card, "Card (not paid in Touchline)"),
    (Method::Other, "Other"),
];

/// The label of a payment method.
pub fn method_label(method: impl Borrow<Method>) -> &'static str {
    match method.borrow() {
        Method::Cash => "Cash",
        Method::BankTransfer => "Bank transfer",
        Method::Card => "Card",
        Method::Other => "Other",
        Method::Credit => "Credit",
    }
}
