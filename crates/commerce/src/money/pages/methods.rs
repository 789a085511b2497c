//! Labels of payment methods.

use std::borrow::Borrow;

use kit::string_enum::StringEnum;

use crate::money::payment::Method;

/// Methods for payments that are recorded manually. Card payments made through this service are recorded automatically.
/// Translate the labels where they are shown.
const MANUAL_METHODS: [(Method, &str); 4] = [
    (Method::Cash, mark!("Cash")),
    (Method::BankTransfer, mark!("Bank transfer")),
    (Method::Card, mark!("Card (not paid in Touchline)")),
    (Method::Other, mark!("Other")),
];

/// These methods as options of a field.
pub fn manual_options() -> [(&'static str, &'static str); 4] {
    MANUAL_METHODS.map(|(method, label)| (method.as_str(), t!(label)))
}

/// The label of a payment method, to be translated.
pub fn method_label(method: impl Borrow<Method>) -> &'static str {
    match method.borrow() {
        Method::Cash => mark!("Cash"),
        Method::BankTransfer => mark!("Bank transfer"),
        Method::Card => mark!("Card"),
        Method::Other => mark!("Other"),
        Method::Credit => mark!("Credit"),
    }
}
