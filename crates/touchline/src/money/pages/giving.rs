//! How money that was paid by card goes back, as forms ask for it: to the card, or in another way that is written down.

use kit::word::Word;

use crate::money::payment::{Method, Payment, Refund, RefundStatus};
use crate::web::form::Faults;

/// The ways that a form offers: the word that it sends, and what it says.
pub const WAYS: [(&str, &str); 4] = [
    (CARD, "Back to the card, by itself"),
    ("transfer", "I transfer it myself"),
    ("cash", "I hand it over in cash"),
    ("other", "I give it back in another way"),
];
const CARD: &str = "card";

/// The way that is chosen when a form is opened; `None` where nothing was paid by card, so that there is nothing to choose.
/// Where the card has refused it, or the payer's bank has asked for it, it does not go there again by itself.
pub fn usual(payments: &[Payment], refunds: &[Refund]) -> Option<&'static str> {
    let paid = payments.iter().find(|payment| payment.provider_id.is_some())?;
    let failed = |back: &Refund| back.payment_id == paid.id && back.status == RefundStatus::Failed;
    let by_hand = paid.dispute.is_some() || refunds.iter().any(failed);
    Some(if by_hand { Method::Transfer.word() } else { CARD })
}

/// What was chosen; `None`: as it came.
pub fn chosen(way: &str, faults: &mut Faults) -> Option<Method> {
    match way {
        "" | CARD => None,
        typed => {
            let way = WAYS.iter().find(|(word, _)| *word == typed);
            let way = way.and_then(|(word, _)| Method::parse(word));
            if way.is_none() {
                faults.add("method", "Choose how it goes back.");
            }
            way
        }
    }
}
