//! What becomes of money that is given back, as orders, dues and the ledger know it: it went, it came back, or it
//! went without us.

use store::Tx;

use super::letter;
use super::provider::{Outcome, Return, Returned};
use super::subject::Subject;
use crate::dues::paying;
use crate::error::Result;
use crate::ids::RefundId;
use crate::money::ledger::{self, About, Book, Movement};
use crate::money::payment::{self, Giving, Payment, Refund, RefundLines, RefundStatus};
use crate::shop::refunding;

const ELSEWHERE: &str = "Made at the card provider.";

/// Notes what the provider made of a refund. What it could not give back counts as paid again, once, and those in
/// charge are told. Says whether it has ended now.
pub fn note(tx: &Tx<'_>, id: RefundId, name: Option<String>, outcome: &Outcome) -> Result<bool> {
    let status = match outcome {
        Outcome::Pending => RefundStatus::Pending,
        Outcome::Done => RefundStatus::Done,
        Outcome::Failed(_) => RefundStatus::Failed,
    };
    let Some(refund) = payment::ended(tx, id, status, name)? else { return Ok(false) };
    if let Outcome::Failed(why) = outcome {
        match Subject::parse(&refund.subject) {
            Some(Subject::Order(order)) => refunding::come_back(tx, order, &refund)?,
            Some(Subject::Due(due)) => paying::come_back(tx, due, &refund)?,
            None => stray(tx, &payment::come_back(tx, &refund)?, -refund.amount)?,
        }
        letter::not_given_back(tx, &refund, why)?;
    }
    Ok(true)
}

/// Enters what was given back of a payment at the provider and not by us, each once. What is more than is left
/// of the payment is waited with: it goes back twice only if we are about to do so too, and that will be refused.
pub fn elsewhere(tx: &Tx<'_>, name: &str, all: &[Returned]) -> Result<()> {
    for one in all {
        let Some(payment) = payment::find_by_provider(tx, name)? else { return Ok(()) };
        let Returned { back: Return { id, outcome }, refund, money } = one;
        let known = payment::refunds_of(tx, &payment.subject)?.into_iter().find(|known| {
            Some(known.id) == *refund || known.provider_id.as_deref() == Some(id.as_str())
        });
        let known = match (known, outcome, money) {
            (Some(known), ..) => known.id,
            (None, Outcome::Failed(_), _) | (None, _, None) => continue,
            (None, _, Some((currency, amount))) => {
                if *currency != payment.currency || *amount > payment.amount - payment.refunded {
                    tracing::warn!(payment = %payment.id, amount, "more was given back than is left");
                    continue;
                }
                enter(tx, &payment, *amount)?.id
            }
        };
        note(tx, known, Some(id.clone()), outcome)?;
    }
    Ok(())
}

fn enter(tx: &Tx<'_>, payment: &Payment, amount: i64) -> Result<Refund> {
    let (reason, lines) = (Some(ELSEWHERE.to_owned()), RefundLines::default());
    let giving = Giving { amount, method: None, reason, lines };
    match Subject::parse(&payment.subject) {
        Some(Subject::Order(order)) => refunding::given_back(tx, order, giving),
        Some(Subject::Due(due)) => paying::given_back(tx, due, payment, giving),
        None => give_back_stray(tx, payment, giving),
    }
}

/// Gives back money that came in for an order that takes none any more.
pub fn give_back_stray(tx: &Tx<'_>, payment: &Payment, giving: Giving) -> Result<Refund> {
    let amount = giving.amount;
    let (payment, refund) = payment::refund(tx, payment, giving)?;
    stray(tx, &payment, amount)?;
    Ok(refund)
}

/// Moves money of a checkout that belongs to nothing else: out, or back if it is negative.
fn stray(tx: &Tx<'_>, payment: &Payment, amount: i64) -> Result<()> {
    let Payment { subject, team_id, currency, .. } = payment.clone();
    let about = About { subject, team_id, person_id: None, payer_id: None, currency };
    let moved = [(Book::of(payment.method), -amount), (Book::Credit, amount)];
    ledger::enter(tx, Movement::Refund, &about, Some(payment.id.to_string()), &moved)
}
