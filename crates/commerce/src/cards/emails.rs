//! Emails to admins about card payments that need attention. They are queued in the same transaction as the event.

use super::checkout::{self, Checkout};
use super::subject::Subject;
use crate::card_provider::provider::Dispute;
use crate::i18n::Message;
use crate::mail::email::enqueue_to_admins;
use crate::money::payment::{Payment, Refund};
use crate::prelude::*;

/// A payment arrived for an order that could no longer be paid.
pub(super) const REFUNDED: &str = mark!(
    "The order was cancelled or already paid in the meantime. The money is being refunded to the card \
    automatically. You don't need to do anything."
);
/// A payment arrived for a due that was already paid.
pub(super) const CREDITED: &str = mark!(
    "The due was already paid. The money is kept as credit for the payer's next due. If you prefer to \
    return it, refund the payment."
);
/// The paid amount differs from the requested amount.
pub(super) const WRONG_AMOUNT: &str = mark!(
    "The paid amount differs from the requested amount, so the payment was not recorded. Check the payment at \
    the payment provider, then refund it there or record it manually."
);

/// A payment arrived that does not match its checkout, with one of these explanations.
pub(super) fn unmatched_payment(
    tx: &Tx<'_>,
    checkout: &Checkout,
    explanation: &'static str,
) -> Result<()> {
    let explanation = Message::from(explanation);
    let Checkout { title, subject, currency, amount, .. } = checkout;
    let amount = Money { minor: *amount, currency: *currency };
    let text = message!(
        "A card payment of {amount} arrived for {title}.\n\n{explanation}\n",
        amount,
        title,
        explanation
    );
    enqueue_to_admins(tx, subject, &message!("Unexpected card payment"), &text)
}

/// The number of the order, or the title of the due. A late payment belongs to its checkout session only.
fn title(tx: &Tx<'_>, subject: &str) -> Result<String> {
    if let Ok(checkout) = subject.parse() {
        return Ok(checkout::find(tx, checkout)?.title);
    }
    let Some(subject) = Subject::parse(subject) else { return Ok(subject.to_owned()) };
    Ok(subject.load_outstanding(tx)?.title)
}

/// A refund to a card failed.
pub(super) fn refund_failed(tx: &Tx<'_>, refund: &Refund, reason: &str) -> Result<()> {
    let Refund { subject, currency, amount, .. } = refund;
    let amount = Money { minor: *amount, currency: *currency };
    let title = title(tx, subject)?;
    let text = message!(
        "The refund of {amount} for {title} to the card failed.\n\nReason from the payment provider: {reason}\n\n\
         The amount counts as paid again. Refund it in another way, such as by bank transfer, and record that \
         refund.\n",
        amount,
        title,
        reason
    );
    enqueue_to_admins(tx, subject, &message!("Card refund failed"), &text)
}

/// A payment is disputed, or the dispute was decided.
pub(super) fn payment_disputed(tx: &Tx<'_>, payment: &Payment, dispute: Dispute) -> Result<()> {
    let Payment { subject, currency, amount, .. } = payment;
    let amount = Money { minor: *amount, currency: *currency };
    let explanation = match dispute {
        Dispute::Open => message!(
            "The payer's bank wants the money back. Respond to the dispute at the payment provider, which also shows \
             the deadline. Touchline changes nothing automatically."
        ),
        Dispute::Won => message!("The dispute was decided in your favor. You keep the money."),
        Dispute::Lost => message!(
            "The dispute was decided in the payer's favor, and their bank has the money. Record it in Touchline as a \
             refund with the method \"Other (manual)\"."
        ),
    };
    let title = title(tx, subject)?;
    let text = message!(
        "This email is about the disputed card payment of {amount} for {title}.\n\n{explanation}\n",
        amount,
        title,
        explanation
    );
    enqueue_to_admins(tx, subject, &message!("Card payment disputed"), &text)
}
