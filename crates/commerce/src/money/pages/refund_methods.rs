//! The choice of refund method for card payments in forms: to the card automatically, or manually in another way.

use kit::string_enum::StringEnum;

use crate::money::payment::{Method, Payment, Refund, RefundStatus};
use crate::web::form::Faults;

/// The options of the form: value and label.
pub const REFUND_METHODS: [(&str, &str); 4] = [
    (CARD, "To the card (automatic)"),
    ("bank_transfer", "Bank transfer (manual)"),
    ("cash", "Cash (manual)"),
    ("other", "Other (manual)"),
];
const CARD: &str = "card";

/// The preselected option; `None` if nothing was paid by card, so there is no choice. It is not the card if a refund
/// to the card has failed or the payment is disputed.
pub fn default_method(payments: &[Payment], refunds: &[Refund]) -> Option<&'static str> {
    let payment = payments.iter().find(|payment| payment.provider_id.is_some())?;
    let failed =
        |refund: &Refund| refund.payment_id == payment.id && refund.status == RefundStatus::Failed;
    let manual = payment.dispute.is_some() || refunds.iter().any(failed);
    Some(if manual { Method::BankTransfer.as_str() } else { CARD })
}

/// The chosen method; `None` for the method of the payment.
pub fn parse_method(value: &str, faults: &mut Faults) -> Option<Method> {
    match value {
        "" | CARD => None,
        value => {
            let option = REFUND_METHODS.iter().find(|(word, _)| *word == value);
            let method = option.and_then(|(word, _)| Method::parse(word));
            if method.is_none() {
                faults.add("method", "Choose a refund method.");
            }
            method
        }
    }
}
