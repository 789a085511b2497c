//! The choice of refund method for card payments in forms: to the card automatically, or manually in another way.

use kit::string_enum::StringEnum;
use serde_json::Value;

use crate::money::payment::{Method, Payment, Refund, RefundStatus};
use crate::web::form::{Choice, Field};

const CARD: &str = "card";

/// The field for the method.
pub const REFUND_METHOD: Field = Field::select(
    "method",
    "Refund method",
    &[
        Choice::new(CARD, "To the card (automatic)"),
        Choice::new("bank_transfer", "Bank transfer (manual)"),
        Choice::new("cash", "Cash (manual)"),
        Choice::new("other", "Other (manual)"),
    ],
)
.default(CARD)
.required("Choose a refund method.");

/// The preselected option; `None` if nothing was paid by card, so there is no choice. It is not the card if a refund
/// to the card has failed or the payment is disputed.
pub fn default_method(payments: &[Payment], refunds: &[Refund]) -> Option<&'static str> {
    let payment = payments.iter().find(|payment| payment.provider_id.is_some())?;
    let failed =
        |refund: &Refund| refund.payment_id == payment.id && refund.status == RefundStatus::Failed;
    let manual = payment.dispute.is_some() || refunds.iter().any(failed);
    Some(if manual { Method::BankTransfer.as_str() } else { CARD })
}

/// Replaces the card in the body of a refund by `null`, which is the method of the payment.
pub fn clear_card(body: &mut Value) {
    if body["method"] == CARD {
        body["method"] = Value::Null;
    }
}
