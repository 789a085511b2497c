//! Payments of dues (partial payments, overpayments, payments from credit) and refunds.

use std::collections::BTreeMap;
use std::time::Duration;

use macros::input;

use super::due::{self, Due, DueWithPlan, Status};
use super::reminders;
use crate::money::ledger::{self, Book, EntryContext, Movement};
use crate::money::payment::{
    self, Method, Payment, PaymentDetails, Refund, RefundLines, RefundRequest,
};
use crate::prelude::*;

/// How far in the future `paid_at` may be: clocks differ, and it may already be tomorrow in the payer's time zone.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(86_400);
/// The earliest accepted `paid_at`: the start of the year 2000.
const EARLIEST_PAID_AT: Timestamp = Timestamp::from_micros(946_684_800_000_000);

/// A payment to record.
#[input(as = RecordDuePaymentRequest)]
pub struct NewDuePayment {
    /// Amount in minor units. Default: the open balance. An overpayment becomes the payer's credit.
    #[schema(examples(5000))]
    #[input(number(1, 1_000_000_000_000))]
    pub amount: Option<i64>,
    /// How the money was paid. `credit` takes it from the payer's credit.
    pub method: Method,
    /// Currency of the amount. Must be the currency of the due, which is the default.
    pub currency: Option<Currency>,
    /// Reference of the payment in another system, such as on a bank statement.
    #[input(line(120))]
    pub reference: Option<String>,
    /// When the payment was made, from the year 2000 to now. Default: now.
    pub paid_at: Option<Timestamp>,
}

/// A refund of a payment.
#[input(as = RefundDuePaymentRequest)]
pub struct NewDueRefund {
    /// Amount in minor units. Default: everything that can be refunded.
    #[input(number(1, 1_000_000_000_000))]
    pub amount: Option<i64>,
    /// How the refund is made. Default: the method of the payment. A card payment is refunded to the card, unless you
    /// set another method to record that you refunded it yourself.
    pub method: Option<Method>,
    /// Why the payment is refunded.
    #[input(line(500))]
    pub reason: Option<String>,
}

/// Records a payment for a due that the caller may see. Families can only pay from their credit; incoming money is
/// recorded by the team's managers.
pub fn pay(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: DueId,
    expected: &IfMatch,
    new: NewDuePayment,
) -> Result<Payment> {
    let DueWithPlan { due, .. } = expected.check(due::find(tx, access, id))?;
    let own_credit = new.method == Method::Credit && access.is_family(due.payer_id);
    if !access.has_full_access(due.team_id) && !own_credit {
        let detail = "Only coaches and managers of the team can record this payment. Families can pay only with the method `credit`.";
        return Err(Error::new(Code::Forbidden, detail));
    }
    if new.currency.is_some_and(|currency| currency != due.currency) {
        let currency = due.currency.code();
        let detail = message!("`currency` must be {currency}, the currency of the due.", currency);
        return Err(Error::invalid(vec![Fault::new("/currency", "other_currency", detail)]));
    }
    let NewDuePayment { amount, method, reference, paid_at, .. } = new;
    let paid = PaymentDetails { amount, method, reference, paid_at, provider_id: None };
    Ok(record_payment(tx, id, paid)?.1)
}

/// Records a payment for a due, without an access check. An overpayment becomes the payer's credit.
pub fn record_payment(tx: &Tx<'_>, id: DueId, paid: PaymentDetails) -> Result<(Due, Payment)> {
    if paid.paid_at.is_some_and(|at| at > tx.now().plus(MAX_CLOCK_SKEW)) {
        let detail = "The time of payment must not be in the future.";
        return Err(Error::invalid(vec![Fault::new("/paid_at", "in_the_future", detail)]));
    }
    if paid.paid_at.is_some_and(|at| at < EARLIEST_PAID_AT) {
        let detail = "The time of payment must not be before the year 2000.";
        return Err(Error::invalid(vec![Fault::new("/paid_at", "out_of_range", detail)]));
    }
    let before = due::load(tx, id)?;
    let amount = match paid.method {
        Method::Credit => credit_to_apply(tx, &before.due, paid.amount)?,
        _ => paid.amount.unwrap_or(before.due.balance()),
    };
    if amount <= 0 {
        return Err(Error::invalid_state("This due has no open balance."));
    }
    let (after, payment) = apply_payment(tx, before, amount, paid)?;
    Ok((after.due, payment))
}

/// How much of the payer's credit to use: at most the available credit and the open balance.
fn credit_to_apply(tx: &Tx<'_>, due: &Due, requested: Option<i64>) -> Result<i64> {
    let credit = ledger::credit_balance(tx, due.payer_id, due.currency)?;
    let max = credit.min(due.balance());
    match requested {
        Some(requested) if requested > max => {
            let detail = "The amount is greater than the payer's credit or the open balance.";
            Err(Error::invalid_state(detail))
        }
        None if credit <= 0 => Err(Error::invalid_state("The payer has no credit.")),
        requested => Ok(requested.unwrap_or(max)),
    }
}

fn apply_payment(
    tx: &Tx<'_>,
    before: DueWithPlan,
    amount: i64,
    paid: PaymentDetails,
) -> Result<(DueWithPlan, Payment)> {
    let applied = amount.min(before.due.balance());
    let overpaid = amount - applied;
    let context = before.due.entry_context();
    let payment = payment::create(tx, &context, amount, overpaid, paid)?;
    let from_credit = payment.method == Method::Credit;
    let kind = if from_credit { Movement::CreditApplied } else { Movement::Payment };
    let amounts = [
        (Book::for_method(payment.method), amount),
        (Book::Receivable, -applied),
        (Book::Credit, -overpaid),
    ];
    ledger::post(tx, kind, &context, Some(payment.id.to_string()), &amounts)?;
    let due = Due { paid: before.due.paid + applied, ..before.due.clone() };
    let after = due::save_and_publish(tx, "dues.payment_recorded", &before, due)?;
    if applied > 0 {
        reminders::cancel_after_payment(tx, before.due.id)?;
    }
    publish_if_paid(tx, &before, &after)?;
    Ok((after, payment))
}

/// Publishes `dues.paid` when a change makes a due fully paid.
fn publish_if_paid(tx: &Tx<'_>, before: &DueWithPlan, after: &DueWithPlan) -> Result<()> {
    if before.due.status != Status::Paid && after.due.status == Status::Paid {
        tx.publish("dues.paid", &after.snapshot(tx.now()))?;
    }
    Ok(())
}

/// Applies the payers' credit to new dues.
pub fn use_credit(tx: &Tx<'_>, dues: Vec<DueWithPlan>) -> Result<Vec<DueWithPlan>> {
    let mut credit = available_credit(tx, &dues)?;
    let updated = dues.into_iter().map(|record| {
        let amount = take_credit(&mut credit, &record.due);
        if amount == 0 {
            return Ok(record);
        }
        Ok(apply_payment(tx, record, amount, PaymentDetails::new(Method::Credit))?.0)
    });
    updated.collect()
}

/// Takes from the payer's credit what a due needs, and returns that amount.
pub fn take_credit(credit: &mut BTreeMap<PersonId, i64>, due: &Due) -> i64 {
    let Some(left) = credit.get_mut(&due.payer_id).filter(|left| **left > 0) else { return 0 };
    let amount = due.balance().min(*left);
    *left -= amount;
    amount
}

/// The credit of the payers of these dues. All dues must be in the same currency.
pub fn available_credit(tx: &Tx<'_>, dues: &[DueWithPlan]) -> Result<BTreeMap<PersonId, i64>> {
    let Some(currency) = dues.first().map(|record| record.due.currency) else {
        return Ok(BTreeMap::new());
    };
    let payers: Vec<_> = dues.iter().map(|record| record.due.payer_id).collect();
    let sums = ledger::credit_balances(tx, payers)?.into_iter();
    Ok(sums.filter(|(_, of, _)| *of == currency).map(|(id, _, sum)| (id, sum)).collect())
}

/// Refunds a payment fully or in part. Unused credit from the payment is refunded first. The rest becomes owed again,
/// unless the due is waived.
pub fn refund(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (id, payment): (DueId, PaymentId),
    expected: &IfMatch,
    new: NewDueRefund,
) -> Result<RefundedPayment> {
    let before = due::find_managed(tx, access, id)?;
    let payment = expected.check(find(tx, id, payment))?;
    if new.method == Some(Method::Credit) && payment.method != Method::Credit {
        let detail = "Only a payment from credit can be refunded as credit.";
        return Err(Error::invalid(vec![Fault::new("/method", "not_allowed", detail)]));
    }
    let refundable = RefundablePayment::of_payment(tx, &payment)?;
    let max = refundable.total();
    let amount = new.amount.unwrap_or(max);
    if amount > max || max == 0 {
        let detail = message!("At most {max} of this payment can be refunded.", max);
        return Err(Error::invalid_state(detail));
    }
    let (lines, NewDueRefund { method, reason, .. }) = (RefundLines::default(), new);
    let request = RefundRequest { amount, method, reason, lines };
    let (payment, refund) = apply_refund(tx, before, &payment, &refundable, request)?;
    Ok(RefundedPayment { payment, refund })
}

/// A payment after a refund.
#[derive(Debug, Serialize, ToSchema)]
pub struct RefundedPayment {
    #[serde(flatten)]
    pub payment: Payment,
    /// The refund that was made.
    pub refund: Refund,
}

impl_resource!(RefundedPayment by PaymentId in payment: Versioned);

/// Records a refund that the payment provider made on its own. The money is gone even if it became credit that is
/// already used; the payer's credit is then negative.
pub fn record_provider_refund(
    tx: &Tx<'_>,
    id: DueId,
    payment: &Payment,
    request: RefundRequest,
) -> Result<Refund> {
    let refundable = RefundablePayment::of_payment(tx, payment)?;
    Ok(apply_refund(tx, due::load(tx, id)?, payment, &refundable, request)?.1)
}

/// The part of a payment that can be refunded.
#[derive(Debug, Clone, Copy)]
pub struct RefundablePayment {
    /// Overpayment that is still unused credit. It is refunded first.
    pub unused_credit: i64,
    /// Amount that was applied to the due and is not refunded.
    pub applied: i64,
}

impl RefundablePayment {
    /// The refundable part of a payment now.
    pub fn of_payment(db: &Reader<'_>, payment: &Payment) -> Result<Self> {
        let reopened = reopened_amount(db, payment)?;
        let overpaid = payment.overpaid - (payment.refunded - reopened);
        let credit = match payment.payer_id {
            Some(payer) => ledger::credit_balance(db, payer, payment.currency)?,
            None => 0,
        };
        let applied = payment.amount - payment.overpaid - reopened;
        Ok(Self { unused_credit: overpaid.min(credit).max(0), applied })
    }

    /// The total that can be refunded.
    pub fn total(&self) -> i64 {
        self.unused_credit + self.applied
    }
}

fn apply_refund(
    tx: &Tx<'_>,
    before: DueWithPlan,
    payment: &Payment,
    refundable: &RefundablePayment,
    request: RefundRequest,
) -> Result<(Payment, Refund)> {
    let amount = request.amount;
    let rest = (amount - refundable.unused_credit).clamp(0, refundable.applied);
    let (payment, refund) = payment::refund(tx, payment, request)?;
    let context = EntryContext { payer_id: payment.payer_id, ..before.due.entry_context() };
    let amounts = [
        (Book::for_method(refund.method), -amount),
        (Book::Receivable, rest),
        (Book::Credit, amount - rest),
    ];
    // Credit that is restored is not a refund of money: it reverses the use of the credit.
    let restores_credit = (payment.method, refund.method) == (Method::Credit, Method::Credit);
    let kind = if restores_credit { Movement::CreditApplied } else { Movement::Refund };
    ledger::post(tx, kind, &context, Some(payment.id.to_string()), &amounts)?;
    let waived = if before.due.status == Status::Waived { rest } else { 0 };
    let amounts = [(Book::Waived, waived), (Book::Receivable, -waived)];
    ledger::post(tx, Movement::Waiver, &context, None, &amounts)?;
    let (paid, waived) = (before.due.paid - rest, before.due.waived + waived);
    let due = Due { paid, waived, ..before.due.clone() };
    due::save_and_publish(tx, "dues.refunded", &before, due)?;
    reminders::cancel_after_payment(tx, before.due.id)?;
    Ok((payment, refund))
}

/// Reverts a failed refund: the money is still with the club. It pays what became owed again because of the refund, if
/// that is still open and has the same payer; the rest becomes the payer's credit.
pub fn revert_failed_refund(tx: &Tx<'_>, id: DueId, refund: &Refund) -> Result<()> {
    let before = due::load(tx, id)?;
    let payment = payment::revert_failed_refund(tx, refund)?;
    let context = EntryContext { payer_id: payment.payer_id, ..before.due.entry_context() };
    let same_payer = context.payer_id == Some(before.due.payer_id);
    let open = if same_payer { before.due.balance() } else { 0 };
    let applied = refund.amount.min(reopened_amount(tx, &payment)?).min(open);
    let amounts = [
        (Book::for_method(refund.method), refund.amount),
        (Book::Receivable, -applied),
        (Book::Credit, applied - refund.amount),
    ];
    // The same kind of movement with the opposite sign, so that refund totals are correct again.
    ledger::post(tx, Movement::Refund, &context, Some(payment.id.to_string()), &amounts)?;
    let due = Due { paid: before.due.paid + applied, ..before.due.clone() };
    let after = due::save_and_publish(tx, "dues.refund_failed", &before, due)?;
    reminders::cancel_after_payment(tx, before.due.id)?;
    publish_if_paid(tx, &before, &after)
}

/// The refunded part of a payment that became owed again.
fn reopened_amount(db: &Reader<'_>, payment: &Payment) -> Result<i64> {
    let (subject, reference) = (&payment.subject, payment.id.to_string());
    let (sum,): (Option<i64>,) = db.one(
        "select cast(sum(amount) as bigint) from ledger_entry
         where account_id = :account and subject = :subject and reference = :reference
           and book = 'receivable' and (kind = 'refund' or kind = 'credit_applied' and amount > 0)",
        bind! { subject, reference },
    )?;
    Ok(sum.unwrap_or(0))
}

/// One payment of a due.
pub fn find(db: &Reader<'_>, due: DueId, id: PaymentId) -> Result<Payment> {
    let payment = payment::find(db, id)?;
    if payment.subject == due.to_string() { Ok(payment) } else { Err(Error::not_found()) }
}
