//! Giving a payment back: what will happen, how much, and why.

use askama::Template;
use axum::response::Response;
use store::{Reader, Tx};

use super::shown::{self, Around};
use super::{Sent, Treasurer, is_fault, place, show, status, typed};
use crate::accounts::rights::Reach;
use crate::dues::api::payments::REASON;
use crate::dues::due::{self, Shown, Status};
use crate::dues::paying::{self, Left, NewDueRefund};
use crate::error::{Code, Error, Result};
use crate::expected::Expected;
use crate::ids::{DueId, PaymentId};
use crate::money::pages::giving;
use crate::money::pages::methods::method;
use crate::money::payment::{self, Method, Payment};
use crate::web::form::{Faults, Form};
use crate::web::once::{Once, new_nonce, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// What the page is about.
struct Found {
    due: Shown,
    payment: Payment,
    payer: String,
    left: Left,
    /// How it goes back unless somebody chooses otherwise, where there is a choice.
    way: Option<&'static str>,
}

/// What was typed.
struct Typed {
    amount: String,
    way: String,
    reason: String,
}

fn found(db: &Reader<'_>, (id, payment): (DueId, PaymentId)) -> Result<Found> {
    let due = due::whole(db, id)?.shown(db.now());
    let payment = paying::find(db, id, payment)?;
    let payer = Around::of(db, std::iter::once(&due))?.person(due.payer_id);
    let left = Left::of(db, &payment)?;
    let refunds = payment::refunds_of(db, &payment.subject)?;
    let way = giving::usual(std::slice::from_ref(&payment), &refunds);
    Ok(Found { due, payment, payer, left, way })
}

#[derive(Template)]
#[template(path = "dues/refund.html")]
struct RefundPage {
    frame: Frame,
    title: String,
    payer: String,
    paid: String,
    method: &'static str,
    most: String,
    currency: String,
    /// Whether anything can be given back at all.
    possible: bool,
    events: Vec<String>,
    /// Whether there is a choice how it goes back.
    online: bool,
    typed: Typed,
    faults: Faults,
    nonce: String,
    back: String,
}

/// What will happen, in words.
fn events(found: &Found) -> Vec<String> {
    let Found { due, payment, left, .. } = found;
    let money = |minor| shown::money(minor, due.currency);
    let way = match payment.method {
        Method::Credit => "The money stays with the club, as credit of the payer.",
        _ if payment.provider_id.is_some() => {
            "The money goes back to the card by itself, which may take some days, unless you choose another way: then it is only written down."
        }
        _ => "Give the money back yourself; here it is only written down.",
    };
    let mut events = vec![way.to_owned()];
    if left.unspent > 0 {
        events.push(format!("{} of it is paid ahead and goes first.", money(left.unspent)));
    }
    if left.applied > 0 {
        events.push(match due.status {
            Status::Waived => "What is given back of this waived due is not owed again.".to_owned(),
            _ => format!("Up to {} is owed again.", money(left.applied)),
        });
    }
    events
}

fn show_form(
    visitor: &Treasurer,
    found: &Found,
    typed: Typed,
    faults: Faults,
    nonce: String,
) -> Outcome<Response> {
    let Found { due, payment, payer, left, way } = found;
    let money = |minor| shown::money(minor, due.currency);
    let page = RefundPage {
        frame: visitor.frame("Give this payment back?", Section::Dues),
        title: due.title.clone(),
        payer: payer.clone(),
        paid: money(payment.amount),
        method: method(payment.method),
        most: money(left.most()),
        currency: due.currency.code().to_owned(),
        possible: left.most() > 0,
        events: events(found),
        online: way.is_some(),
        typed,
        faults,
        nonce,
        back: place(due.id),
    };
    show(status(&page.faults), &page)
}

pub(super) async fn ask(visitor: Treasurer, At(at): At<(DueId, PaymentId)>) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, at)).await?;
    let amount = shown::plain(found.left.most(), found.due.currency);
    let way = found.way.unwrap_or_default().to_owned();
    let typed = Typed { amount, way, reason: String::new() };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, &found, typed, Faults::default(), nonce)
}

/// What is to be given back, or everything that is wrong.
fn wanted(found: &Found, form: &Form) -> std::result::Result<NewDueRefund, Faults> {
    let mut faults = Faults::default();
    let currency = found.due.currency;
    let amount = typed::amount("amount", form.text("amount"), currency, &mut faults);
    if amount.is_some_and(|amount| amount > found.left.most()) {
        let most = shown::money(found.left.most(), currency);
        faults.add("amount", format!("Of this payment, {most} can be given back."));
    }
    let reason = typed::line("reason", form.text("reason"), REASON, &mut faults);
    let method = giving::chosen(form.text("method"), &mut faults);
    if faults.is_empty() { Ok(NewDueRefund { amount, method, reason }) } else { Err(faults) }
}

pub(super) async fn refund(
    At(at): At<(DueId, PaymentId)>,
    Sent { visitor, form }: Sent,
) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, at)).await?;
    let name = nonce(&form)?;
    let text = |name: &str| form.text(name).to_owned();
    let typed = Typed { amount: text("amount"), way: text("method"), reason: text("reason") };
    let (again, kept) = (name.name.clone(), visitor.app().config.idempotency_ttl);
    let (new, own) = match wanted(&found, &form) {
        Ok(new) => (Some(new), Faults::default()),
        Err(faults) => (None, faults),
    };
    let given = visitor.write(move |tx: &Tx<'_>| {
        // Whoever sends the form twice is told so, though nothing may be left to be given back.
        once(tx, &name, kept, |tx| {
            let new = new.ok_or_else(|| Error::invalid(Vec::new()))?;
            paying::refund(tx, &Reach::Everywhere, at, &Expected::Anything, new)?;
            Ok((at.1.to_string(), ()))
        })
    });
    let home = place(found.due.id);
    match given.await {
        Ok(Once::Now(())) => Ok(see_other(&format!("{home}?done=refunded"))),
        Ok(Once::Before(_)) => Ok(see_other(&format!("{home}?done=before"))),
        Err(error) if is_fault(&error) => {
            let told = own.is_empty() || error.code == Code::Conflict;
            let faults = if told { Faults::from(&error) } else { own };
            show_form(&visitor, &found, typed, faults, again)
        }
        Err(error) => Err(error.into()),
    }
}
