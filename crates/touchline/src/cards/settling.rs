//! What a page that the provider shows us means: the order or due is paid, once, or the money has come too
//! late and finds its way back.

use store::Tx;

use super::checkout::{self, Checkout, Status};
use super::letter;
use super::provider::{Page, Progress};
use super::returning;
use super::subject::{Subject, settle_subject};
use crate::error::{Error, Result};
use crate::ids::{CheckoutId, PaymentId};
use crate::money::ledger::{self, About, Book, Movement};
use crate::money::payment::{self, Giving, Method, NewPayment, Paid, RefundLines};
use crate::signals::Tell;

/// Enters what a page says, and writes to those in charge if they must look at it. The same page can be entered as
/// often as it is shown, in any order.
pub fn enter(tx: &Tx<'_>, id: CheckoutId, page: &Page) -> Result<()> {
    let checkout = checkout::find(tx, id)?;
    let known = checkout.session_id.as_ref().is_none_or(|known| *known == page.id);
    if page.account != Some(tx.account()) || page.checkout != Some(id) || !known {
        return Err(Error::internal(format!("the provider's page is not that of {id}")));
    }
    match (checkout.status, page.progress) {
        // Whatever became of the page, what was entered stays so.
        (Status::Paid | Status::Stray, _)
        | (Status::Expired, Progress::Open | Progress::Expired) => Ok(()),
        (_, Progress::Paid) => paid(tx, checkout::opened(tx, id, page)?, page),
        (Status::Open, Progress::Expired) => {
            checkout::closed(tx, checkout, Status::Expired, None).map(drop)
        }
        (Status::Open, Progress::Open) => checkout::opened(tx, id, page).map(drop),
    }
}

fn paid(tx: &Tx<'_>, checkout: Checkout, page: &Page) -> Result<()> {
    let subject = Subject::parse(&checkout.subject);
    let subject = subject.ok_or_else(|| Error::internal("a checkout is for nothing"))?;
    let provider_id = page.payment.clone().unwrap_or_else(|| page.id.clone());
    // What was asked for is what must have been paid; anything else is for people to look at.
    if page.money != Some((checkout.currency, checkout.amount)) {
        return letter::differs(tx, &stray(tx, checkout, None)?);
    }
    let owed = subject.owed(tx)?;
    let due = matches!(subject, Subject::Due(_));
    let fits = owed.payable && (due || owed.amount == checkout.amount);
    if !fits && !due {
        let payment = give_back(tx, &checkout, provider_id)?;
        return letter::given_back(tx, &stray(tx, checkout, Some(payment))?);
    }
    let paid = Paid {
        amount: Some(checkout.amount),
        method: Method::Card,
        reference: Some(provider_id.clone()),
        paid_at: None,
        provider_id: Some(provider_id),
    };
    // More than is owed of a due becomes credit.
    let payment = settle_subject(tx, subject, paid)?;
    if fits {
        return checkout::closed(tx, checkout, Status::Paid, Some(payment)).map(drop);
    }
    letter::credited(tx, &stray(tx, checkout, Some(payment))?)
}

/// The money is there, but not for what it was meant for.
fn stray(tx: &Tx<'_>, checkout: Checkout, payment: Option<PaymentId>) -> Result<Checkout> {
    let stray = checkout::closed(tx, checkout, Status::Stray, payment)?;
    tx.tell("payment.stray", &stray)?;
    Ok(stray)
}

/// Writes down money that came in for an order that takes none any more, and that it is given back. It belongs
/// to the checkout: the order knows nothing of it.
fn give_back(tx: &Tx<'_>, checkout: &Checkout, provider_id: String) -> Result<PaymentId> {
    let (subject, team_id) = (checkout.id.to_string(), checkout.team_id);
    let about =
        About { subject, team_id, person_id: None, payer_id: None, currency: checkout.currency };
    let payment = payment::create(
        tx,
        NewPayment {
            about: about.clone(),
            amount: checkout.amount,
            credited: 0,
            method: Method::Card,
            reference: Some(provider_id.clone()),
            paid_at: None,
            provider_id: Some(provider_id),
        },
    )?;
    let (amount, reference) = (checkout.amount, payment.id.to_string());
    let came = [(Book::Card, amount), (Book::Credit, -amount)];
    ledger::enter(tx, Movement::Payment, &about, Some(reference), &came)?;
    let reason = Some("Paid when the order could not be paid any more.".to_owned());
    let giving = Giving { amount, method: None, reason, lines: RefundLines::default() };
    returning::give_back_stray(tx, &payment, giving)?;
    Ok(payment.id)
}
