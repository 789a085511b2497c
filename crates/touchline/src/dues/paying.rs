//! Paying a due: in parts, ahead, with what was paid ahead; and giving back.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::{Currency, Timestamp};
use store::{Reader, Tx, bind};
use utoipa::ToSchema;

use super::due::{self, Due, Status, Whole};
use super::reminders;
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::{DueId, PaymentId, PersonId};
use crate::money::ledger::{self, About, Book, Movement};
use crate::money::payment::{self, Giving, Method, NewPayment, Paid, Payment, Refund, RefundLines};
use crate::signals::Tell;

/// Clocks differ, and it may be tomorrow already where somebody paid.
const AHEAD: Duration = Duration::from_secs(86_400);
/// The year 2000: nobody writes down what was paid before it.
const EARLIEST: Timestamp = Timestamp::from_micros(946_684_800_000_000);

/// What somebody says was paid.
#[derive(Debug, ToSchema)]
pub struct NewDuePayment {
    /// All that is owed if left out. More than is owed becomes the payer's credit.
    #[schema(examples(5000), minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub amount: Option<i64>,
    pub method: Method,
    /// Must be that of the due; it can be left out.
    pub currency: Option<Currency>,
    /// What the payment is called elsewhere, such as on a bank statement.
    #[schema(max_length = 120)]
    pub reference: Option<String>,
    /// Now if left out; not in the future.
    pub paid_at: Option<Timestamp>,
}

/// What is to be given back of a payment.
#[derive(Debug, ToSchema)]
pub struct NewDueRefund {
    /// All that can be given back if left out.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub amount: Option<i64>,
    /// The way it was paid if left out. What was paid by card goes back to the card, unless it was given back in
    /// another way.
    pub method: Option<Method>,
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// Writes down what was paid for a due that the caller may see. Families pay only with what they have paid
/// ahead: that money came in is written down by whoever takes it.
pub fn pay(
    tx: &Tx<'_>,
    reach: &Reach,
    id: DueId,
    expected: &Expected,
    new: NewDuePayment,
) -> Result<Payment> {
    let Whole { due, .. } = expected.check(due::find(tx, reach, id))?;
    let own = new.method == Method::Credit && reach.is_family(due.payer_id);
    if !reach.opens(due.team_id) && !own {
        let detail = "Only those who run the team write down what was paid.";
        return Err(Error::new(Code::Forbidden, detail));
    }
    if new.currency.is_some_and(|currency| currency != due.currency) {
        let detail = format!("The due is in {}.", due.currency.code());
        return Err(Error::invalid(vec![Fault::new("/currency", "other_currency", detail)]));
    }
    let NewDuePayment { amount, method, reference, paid_at, .. } = new;
    let paid = Paid { amount, method, reference, paid_at, provider_id: None };
    Ok(settle(tx, id, paid)?.1)
}

/// Writes down what was paid for a due. What is more than owed becomes the payer's credit.
pub fn settle(tx: &Tx<'_>, id: DueId, paid: Paid) -> Result<(Due, Payment)> {
    if paid.paid_at.is_some_and(|at| at > tx.now().plus(AHEAD)) {
        let detail = "What was paid was not paid in the future.";
        return Err(Error::invalid(vec![Fault::new("/paid_at", "in_the_future", detail)]));
    }
    if paid.paid_at.is_some_and(|at| at < EARLIEST) {
        let detail = "Nothing was paid before the year 2000.";
        return Err(Error::invalid(vec![Fault::new("/paid_at", "out_of_range", detail)]));
    }
    let whole = due::whole(tx, id)?;
    let amount = match paid.method {
        Method::Credit => from_credit(tx, &whole.due, paid.amount)?,
        _ => paid.amount.unwrap_or(whole.due.balance()),
    };
    if amount <= 0 {
        return Err(Error::invalid_state("Nothing of this due is open."));
    }
    let (whole, payment) = take(tx, whole, amount, paid)?;
    Ok((whole.due, payment))
}

/// How much of the payer's credit is used: never more than there is, nor more than is owed.
fn from_credit(tx: &Tx<'_>, due: &Due, wanted: Option<i64>) -> Result<i64> {
    let credit = ledger::credit(tx, due.payer_id, due.currency)?;
    let most = credit.min(due.balance());
    match wanted {
        Some(wanted) if wanted > most => {
            let detail = "That is more than the payer has paid ahead, or more than is owed.";
            Err(Error::invalid_state(detail))
        }
        None if credit <= 0 => Err(Error::invalid_state("The payer has not paid anything ahead.")),
        wanted => Ok(wanted.unwrap_or(most)),
    }
}

fn take(tx: &Tx<'_>, before: Whole, amount: i64, paid: Paid) -> Result<(Whole, Payment)> {
    let applied = amount.min(before.due.balance());
    let credited = amount - applied;
    let about = before.due.about();
    let payment = NewPayment {
        about: about.clone(),
        amount,
        credited,
        method: paid.method,
        reference: paid.reference,
        paid_at: paid.paid_at,
        provider_id: paid.provider_id,
    };
    let payment = payment::create(tx, payment)?;
    let used = payment.method == Method::Credit;
    let kind = if used { Movement::CreditUse } else { Movement::Payment };
    let moved =
        [(Book::of(payment.method), amount), (Book::Owed, -applied), (Book::Credit, -credited)];
    ledger::enter(tx, kind, &about, Some(payment.id.to_string()), &moved)?;
    let due = Due { paid: before.due.paid + applied, ..before.due.clone() };
    let after = due::save(tx, Whole { due, ..before.clone() })?;
    tx.tell_change("dues.payment_recorded", &before.told(tx.now()), &after.told(tx.now()))?;
    if applied > 0 {
        reminders::hold_back(tx, before.due.id)?;
    }
    tell_if_paid(tx, &before, &after)?;
    Ok((after, payment))
}

/// Tells once each time that a due becomes fully paid.
fn tell_if_paid(tx: &Tx<'_>, before: &Whole, after: &Whole) -> Result<()> {
    if before.due.status != Status::Paid && after.due.status == Status::Paid {
        tx.tell("dues.paid", &after.told(tx.now()))?;
    }
    Ok(())
}

/// Pays new dues, as far as it goes, with what their payers have paid ahead.
pub fn use_credit(tx: &Tx<'_>, dues: Vec<Whole>) -> Result<Vec<Whole>> {
    let mut credit = credits(tx, &dues)?;
    let paid = dues.into_iter().map(|whole| {
        let amount = of_credit(&mut credit, &whole.due);
        if amount == 0 {
            return Ok(whole);
        }
        let method = Method::Credit;
        let paid = Paid { amount: None, method, reference: None, paid_at: None, provider_id: None };
        Ok(take(tx, whole, amount, paid)?.0)
    });
    paid.collect()
}

/// As much of what the payer has paid ahead as a due uses; it is taken away from what is left.
pub fn of_credit(credit: &mut BTreeMap<PersonId, i64>, due: &Due) -> i64 {
    let Some(left) = credit.get_mut(&due.payer_id).filter(|left| **left > 0) else { return 0 };
    let amount = due.balance().min(*left);
    *left -= amount;
    amount
}

/// What the payers of these dues, which are all in one currency, have paid ahead.
pub fn credits(tx: &Tx<'_>, dues: &[Whole]) -> Result<BTreeMap<PersonId, i64>> {
    let Some(currency) = dues.first().map(|whole| whole.due.currency) else {
        return Ok(BTreeMap::new());
    };
    let payers: Vec<_> = dues.iter().map(|whole| whole.due.payer_id).collect();
    let sums = ledger::credits(tx, payers)?.into_iter();
    Ok(sums.filter(|(_, own, _)| *own == currency).map(|(id, _, sum)| (id, sum)).collect())
}

/// Gives a payment back, or a part of it. What was paid ahead goes first, as far as it is not spent; the rest
/// is owed again, unless what was open was waived: then nothing is.
pub fn refund(
    tx: &Tx<'_>,
    reach: &Reach,
    (id, payment): (DueId, PaymentId),
    expected: &Expected,
    new: NewDueRefund,
) -> Result<Payment> {
    let before = due::managed(tx, reach, id)?;
    let payment = expected.check(find(tx, id, payment))?;
    if new.method == Some(Method::Credit) && payment.method != Method::Credit {
        let detail = "What was paid with money is not given back as credit.";
        return Err(Error::invalid(vec![Fault::new("/method", "not_allowed", detail)]));
    }
    let left = Left::of(tx, &payment)?;
    let most = left.most();
    let amount = new.amount.unwrap_or(most);
    if amount > most || most == 0 {
        let detail = format!("Of this payment, {most} can be given back.");
        return Err(Error::invalid_state(detail));
    }
    let (lines, NewDueRefund { method, reason, .. }) = (RefundLines::default(), new);
    let giving = Giving { amount, method, reason, lines };
    Ok(give_back(tx, before, &payment, &left, giving)?.0)
}

/// Writes down that the provider has given money back without us. It is gone, even if it was paid ahead and is
/// spent: the payer's credit is then less than nothing.
pub fn given_back(tx: &Tx<'_>, id: DueId, payment: &Payment, giving: Giving) -> Result<Refund> {
    let left = Left::of(tx, payment)?;
    Ok(give_back(tx, due::whole(tx, id)?, payment, &left, giving)?.1)
}

/// What of a payment can be given back.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    /// What was paid ahead and is not spent: it goes first.
    pub unspent: i64,
    /// What was paid for the due.
    pub applied: i64,
}

impl Left {
    /// What can be given back now.
    pub fn of(db: &Reader<'_>, payment: &Payment) -> Result<Self> {
        let reopened = reopened(db, payment)?;
        let ahead = payment.credited - (payment.refunded - reopened);
        let credit = match payment.payer_id {
            Some(payer) => ledger::credit(db, payer, payment.currency)?,
            None => 0,
        };
        let applied = payment.amount - payment.credited - reopened;
        Ok(Self { unspent: ahead.min(credit).max(0), applied })
    }

    /// All of it.
    pub fn most(&self) -> i64 {
        self.unspent + self.applied
    }
}

fn give_back(
    tx: &Tx<'_>,
    before: Whole,
    payment: &Payment,
    left: &Left,
    giving: Giving,
) -> Result<(Payment, Refund)> {
    let amount = giving.amount;
    let rest = (amount - left.unspent).clamp(0, left.applied);
    let (payment, refund) = payment::refund(tx, payment, giving)?;
    let about = About { payer_id: payment.payer_id, ..before.due.about() };
    let moved =
        [(Book::of(refund.method), -amount), (Book::Owed, rest), (Book::Credit, amount - rest)];
    // What was paid with credit and is credit again was not given back: it is not used any more.
    let unused = (payment.method, refund.method) == (Method::Credit, Method::Credit);
    let kind = if unused { Movement::CreditUse } else { Movement::Refund };
    ledger::enter(tx, kind, &about, Some(payment.id.to_string()), &moved)?;
    let waived = if before.due.status == Status::Waived { rest } else { 0 };
    ledger::enter(
        tx,
        Movement::Waiver,
        &about,
        None,
        &[(Book::Waived, waived), (Book::Owed, -waived)],
    )?;
    let (paid, waived) = (before.due.paid - rest, before.due.waived + waived);
    let due = Due { paid, waived, ..before.due.clone() };
    let after = due::save(tx, Whole { due, ..before.clone() })?;
    reminders::hold_back(tx, before.due.id)?;
    tx.tell_change("dues.refunded", &before.told(tx.now()), &after.told(tx.now()))?;
    Ok((payment, refund))
}

/// A refund has failed, and the money is still here: what was owed again because of it is paid, as far as it is
/// still open and theirs to pay; the rest is the payer's credit.
pub fn come_back(tx: &Tx<'_>, id: DueId, refund: &Refund) -> Result<()> {
    let before = due::whole(tx, id)?;
    let payment = payment::come_back(tx, refund)?;
    let about = About { payer_id: payment.payer_id, ..before.due.about() };
    let still_theirs = about.payer_id == Some(before.due.payer_id);
    let open = if still_theirs { before.due.balance() } else { 0 };
    let applied = refund.amount.min(reopened(tx, &payment)?).min(open);
    let moved = [
        (Book::of(refund.method), refund.amount),
        (Book::Owed, -applied),
        (Book::Credit, applied - refund.amount),
    ];
    // The same movement the other way round, so that sums of what was given back are right again.
    ledger::enter(tx, Movement::Refund, &about, Some(payment.id.to_string()), &moved)?;
    let due = Due { paid: before.due.paid + applied, ..before.due.clone() };
    let after = due::save(tx, Whole { due, ..before.clone() })?;
    reminders::hold_back(tx, before.due.id)?;
    tx.tell_change("dues.refund_failed", &before.told(tx.now()), &after.told(tx.now()))?;
    tell_if_paid(tx, &before, &after)
}

/// How much of a payment was given back such that it is owed again.
fn reopened(db: &Reader<'_>, payment: &Payment) -> Result<i64> {
    let (subject, reference) = (&payment.subject, payment.id.to_string());
    let (sum,): (Option<i64>,) = db.one(
        "select cast(sum(amount) as bigint) from ledger_entry
         where account_id = :account and subject = :subject and reference = :reference
           and book = 'owed' and (kind = 'refund' or kind = 'credit_use' and amount > 0)",
        bind! { subject, reference },
    )?;
    Ok(sum.unwrap_or(0))
}

/// One payment of a due.
pub fn find(db: &Reader<'_>, due: DueId, id: PaymentId) -> Result<Payment> {
    let payment = payment::find(db, id)?;
    if payment.subject == due.to_string() { Ok(payment) } else { Err(Error::not_found()) }
}
