//! Ways to pay, in words.

use std::borrow::Borrow;

use crate::money::payment::Method;

/// How money comes in by hand. What was paid by card here is written down by itself.
pub const BY_HAND: [(Method, &str); 4] = [
    (Method::Cash, "Cash"),
    (Method::Transfer, "Bank transfer"),
    (Method::Card, "Card, elsewhere"),
    (Method::Other, "In another way"),
];

/// How something was paid.
pub fn method(of: impl Borrow<Method>) -> &'static str {
    match of.borrow() {
        Method::Cash => "Cash",
        Method::Transfer => "Bank transfer",
        Method::Card => "Card",
        Method::Other => "In another way",
        Method::Credit => "From what was paid ahead",
    }
}
