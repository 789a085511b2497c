//! Applies the status of a checkout session: the order or due is paid once, or the payment came too late and is
//! refunded or kept as credit.

use super::checkout::{self, Checkout, Status};
use super::emails;
use super::refund_results;
use super::subject::{Subject, record_payment};
use crate::card_provider::provider::{CheckoutSession, SessionStatus};
use crate::money::ledger::{self, Book, EntryContext, Movement};
use crate::money::payment::{self, Method, PaymentDetails, RefundLines, RefundRequest};
use crate::prelude::*;

/// Applies the status of a session, and emails the admins if they need to act. Idempotent; sessions can be applied in
/// any order.
pub fn apply_session(tx: &Tx<'_>, id: CheckoutId, session: &CheckoutSession) -> Result<()> {
    let checkout = checkout::find(tx, id)?;
    let same_session = checkout.session_id.as_ref().is_none_or(|known| *known == session.id);
    if session.account != Some(tx.account()) || session.checkout != Some(id) || !same_session {
        return Err(Error::internal(format!("the provider's session does not belong to {id}")));
    }
    match (checkout.status, session.status) {
        // A final status does not change.
        (Status::Paid | Status::Unmatched, _)
        | (Status::Expired, SessionStatus::Open | SessionStatus::Expired) => Ok(()),
        (_, SessionStatus::Paid) => {
            apply_payment(tx, checkout::record_session(tx, id, session)?, session)
        }
        (Status::Open, SessionStatus::Expired) => {
            checkout::close(tx, checkout, Status::Expired, None).map(drop)
        }
        (Status::Open, SessionStatus::Open) => checkout::record_session(tx, id, session).map(drop),
    }
}

fn apply_payment(tx: &Tx<'_>, checkout: Checkout, session: &CheckoutSession) -> Result<()> {
    let subject = Subject::parse(&checkout.subject);
    let subject = subject.ok_or_else(|| Error::internal("a checkout has an unknown subject"))?;
    let provider_id = session.payment.clone().unwrap_or_else(|| session.id.clone());
    // A payment of another amount than requested needs a decision by an admin.
    if session.money != Some((checkout.currency, checkout.amount)) {
        return close_unmatched(tx, checkout, None, emails::WRONG_AMOUNT);
    }
    let details = PaymentDetails {
        amount: Some(checkout.amount),
        reference: Some(provider_id.clone()),
        provider_id: Some(provider_id),
        ..PaymentDetails::new(Method::Card)
    };
    let outstanding = subject.load_outstanding(tx)?;
    let is_due = matches!(subject, Subject::Due(_));
    let payable = outstanding.payable && (is_due || outstanding.amount == checkout.amount);
    if !payable && !is_due {
        let payment = record_and_refund(tx, &checkout, details)?;
        return close_unmatched(tx, checkout, Some(payment), emails::REFUNDED);
    }
    // Overpayment of a due becomes credit.
    let payment = record_payment(tx, subject, details)?;
    if payable {
        return checkout::close(tx, checkout, Status::Paid, Some(payment)).map(drop);
    }
    close_unmatched(tx, checkout, Some(payment), emails::CREDITED)
}

/// Closes a checkout whose payment could not be matched to its order or due, and emails the explanation to the admins.
fn close_unmatched(
    tx: &Tx<'_>,
    checkout: Checkout,
    payment: Option<PaymentId>,
    explanation: &'static str,
) -> Result<()> {
    let unmatched = checkout::close(tx, checkout, Status::Unmatched, payment)?;
    tx.publish("payment.unmatched", &unmatched)?;
    emails::unmatched_payment(tx, &unmatched, explanation)
}

/// Records a payment for an order that can no longer be paid, together with its refund. Both belong to the checkout,
/// not to the order.
fn record_and_refund(
    tx: &Tx<'_>,
    checkout: &Checkout,
    details: PaymentDetails,
) -> Result<PaymentId> {
    let Checkout { id, team_id, currency, amount, .. } = *checkout;
    let context = EntryContext::without_person(id.to_string(), team_id, currency);
    let payment = payment::create(tx, &context, amount, 0, details)?;
    let reference = payment.id.to_string();
    let amounts = [(Book::Card, amount), (Book::Credit, -amount)];
    ledger::post(tx, Movement::Payment, &context, Some(reference), &amounts)?;
    let reason = Some(payment::PAID_TOO_LATE_REASON.to_owned());
    let request = RefundRequest { amount, method: None, reason, lines: RefundLines::default() };
    refund_results::refund_unmatched(tx, &payment, request)?;
    Ok(payment.id)
}
