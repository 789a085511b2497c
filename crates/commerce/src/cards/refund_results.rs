//! Applies the outcome of refunds to orders, dues and the ledger: completed, failed, or made at the provider without
//! this service.

use super::emails;
use super::subject::Subject;
use crate::card_provider::provider::{ListedRefund, ProviderRefund, RefundOutcome};
use crate::dues::paying;
use crate::money::ledger::{self, Book, EntryContext, Movement};
use crate::money::payment::{self, Payment, Refund, RefundLines, RefundRequest, RefundStatus};
use crate::prelude::*;
use crate::shop::refunding;

/// Records the outcome of a refund. The amount of a failed refund counts as paid again, once, and the admins get an
/// email. Returns whether the status has changed.
pub fn record_outcome(
    tx: &Tx<'_>,
    id: RefundId,
    provider_id: Option<String>,
    outcome: &RefundOutcome,
) -> Result<bool> {
    let status = match outcome {
        RefundOutcome::Pending => RefundStatus::Pending,
        RefundOutcome::Succeeded => RefundStatus::Succeeded,
        RefundOutcome::Failed(_) => RefundStatus::Failed,
    };
    let Some(refund) = payment::record_refund_status(tx, id, status, provider_id)? else {
        return Ok(false);
    };
    if let RefundOutcome::Failed(reason) = outcome {
        match Subject::parse(&refund.subject) {
            Some(Subject::Order(order)) => refunding::revert_failed_refund(tx, order, &refund)?,
            Some(Subject::Due(due)) => paying::revert_failed_refund(tx, due, &refund)?,
            None => {
                post_unmatched(tx, &payment::revert_failed_refund(tx, &refund)?, -refund.amount)?;
            }
        }
        emails::refund_failed(tx, &refund, reason)?;
    }
    Ok(true)
}

/// Records refunds that were made at the provider without this service, each once. A refund that exceeds what is left
/// of the payment is skipped for now: this service must have requested a refund of its own, which the provider will
/// reject.
pub fn import_external_refunds(
    tx: &Tx<'_>,
    payment_id: &str,
    refunds: &[ListedRefund],
) -> Result<()> {
    for listed in refunds {
        let Some(payment) = payment::find_by_provider(tx, payment_id)? else { return Ok(()) };
        let ListedRefund { provider_refund: ProviderRefund { id, outcome }, refund, money } =
            listed;
        let known =
            payment::find_refunds_by_subject(tx, &payment.subject)?.into_iter().find(|known| {
                Some(known.id) == *refund || known.provider_id.as_deref() == Some(id.as_str())
            });
        let refund_id = match (known, outcome, money) {
            (Some(known), ..) => known.id,
            (None, RefundOutcome::Failed(_), _) | (None, _, None) => continue,
            (None, _, Some((currency, amount))) => {
                if *currency != payment.currency || *amount > payment.amount - payment.refunded {
                    tracing::warn!(payment = %payment.id, amount, "a refund at the provider exceeds the payment");
                    continue;
                }
                record_external_refund(tx, &payment, *amount)?.id
            }
        };
        record_outcome(tx, refund_id, Some(id.clone()), outcome)?;
    }
    Ok(())
}

fn record_external_refund(tx: &Tx<'_>, payment: &Payment, amount: i64) -> Result<Refund> {
    let (reason, lines) =
        (Some(payment::EXTERNAL_REFUND_REASON.to_owned()), RefundLines::default());
    let request = RefundRequest { amount, method: None, reason, lines };
    match Subject::parse(&payment.subject) {
        Some(Subject::Order(order)) => refunding::record_provider_refund(tx, order, request),
        Some(Subject::Due(due)) => paying::record_provider_refund(tx, due, payment, request),
        None => refund_unmatched(tx, payment, request),
    }
}

/// Refunds a payment for an order that could no longer be paid.
pub fn refund_unmatched(tx: &Tx<'_>, payment: &Payment, request: RefundRequest) -> Result<Refund> {
    let amount = request.amount;
    let (payment, refund) = payment::refund(tx, payment, request)?;
    post_unmatched(tx, &payment, amount)?;
    Ok(refund)
}

/// Posts the refund of an unmatched payment to the ledger; a negative amount reverses it.
fn post_unmatched(tx: &Tx<'_>, payment: &Payment, amount: i64) -> Result<()> {
    let Payment { subject, team_id, currency, .. } = payment.clone();
    let context = EntryContext::without_person(subject, team_id, currency);
    let amounts = [(Book::for_method(payment.method), -amount), (Book::Credit, amount)];
    ledger::post(tx, Movement::Refund, &context, Some(payment.id.to_string()), &amounts)
}
