//! The letters about money that needs people: it came too late, or could not be given back. They are written to
//! those in charge together with what they tell.

use kit::Money;
use store::Tx;

use super::checkout::Checkout;
use crate::error::Result;
use crate::mail::letter::put_to_those_in_charge;
use crate::money::payment::{Dispute, Payment, Refund};

/// An order was paid that could not be paid any more.
pub(super) fn given_back(tx: &Tx<'_>, checkout: &Checkout) -> Result<()> {
    let text = "It was cancelled or paid in another way in the meantime. The money is being given back \
        to the card by itself; there is nothing to do.";
    about(tx, checkout, text)
}

/// A due was paid that was paid already.
pub(super) fn credited(tx: &Tx<'_>, checkout: &Checkout) -> Result<()> {
    let text = "Nothing was open of it any more. The money is kept as credit, which the payer's next \
        due uses. If you would rather give it back, refund the payment.";
    about(tx, checkout, text)
}

/// Something else was paid than what was asked for.
pub(super) fn differs(tx: &Tx<'_>, checkout: &Checkout) -> Result<()> {
    let text = "What was paid is not what was asked for, so nothing was written down. Please look at \
        the payment at the payment provider, and give it back or write it down by hand.";
    about(tx, checkout, text)
}

fn about(tx: &Tx<'_>, checkout: &Checkout, more: &str) -> Result<()> {
    let Checkout { title, subject, currency, amount, .. } = checkout;
    let amount = Money { minor: *amount, currency: *currency };
    let text = format!("A payment of {amount} by card came for {title} ({subject}).\n\n{more}\n");
    put_to_those_in_charge(tx, subject, "A payment by card came too late", &text)
}

/// The provider could not give money back.
pub(super) fn not_given_back(tx: &Tx<'_>, refund: &Refund, why: &str) -> Result<()> {
    let Refund { subject, currency, amount, .. } = refund;
    let amount = Money { minor: *amount, currency: *currency };
    let text = format!(
        "{amount} for {subject} could not be given back to the card it was paid with.\n\nThe payment \
         provider says: {why}\n\nIt counts as paid again. Please give it back in another way, such as by a bank \
         transfer, and write that down.\n"
    );
    put_to_those_in_charge(tx, subject, "A refund to a card failed", &text)
}

/// The payer's bank asks for a payment back, or it was decided who keeps it.
pub(super) fn disputed(tx: &Tx<'_>, payment: &Payment, dispute: Dispute) -> Result<()> {
    let Payment { subject, currency, amount, .. } = payment;
    let amount = Money { minor: *amount, currency: *currency };
    let what = match dispute {
        Dispute::Open => {
            "The payer's bank asks to have it back. Please answer at the payment provider, where you see \
             until when; nothing changes here by itself."
        }
        Dispute::Won => {
            "The payer's bank had asked to have it back. It was decided that you keep it."
        }
        Dispute::Lost => {
            "The payer's bank has it back. Please write that down here as a refund made in another way."
        }
    };
    let text = format!("A payment of {amount} by card for {subject} is disputed.\n\n{what}\n");
    put_to_those_in_charge(tx, subject, "A payment by card is disputed", &text)
}
