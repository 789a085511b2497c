//! Writing down what was paid.

use askama::Template;
use axum::response::Response;
use kit::word::Word;
use kit::{LocalTime, Timestamp, Zone};
use store::{Reader, Tx};

use super::shown::{self, Around};
use super::{Sent, Treasurer, is_fault, place, show, status, typed};
use crate::accounts::rights::Reach;
use crate::dues::api::payments::REFERENCE;
use crate::dues::due::{self, Shown};
use crate::dues::paying::{self, NewDuePayment};
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::DueId;
use crate::money::ledger;
use crate::money::pages::methods::BY_HAND;
use crate::money::payment::Method;
use crate::teams::team;
use crate::web::form::{Faults, Form};
use crate::web::once::{Once, new_nonce, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// What was typed.
#[derive(Debug)]
struct Typed {
    amount: String,
    method: String,
    reference: String,
    paid_on: String,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            amount: text("amount"),
            method: text("method"),
            reference: text("reference"),
            paid_on: text("paid_on"),
        }
    }

    fn is(&self, method: &str) -> bool {
        self.method == method
    }

    /// The payment that is meant, or everything that is wrong.
    fn payment(&self, found: &Found) -> std::result::Result<NewDuePayment, Faults> {
        let mut faults = Faults::default();
        let currency = found.due.currency;
        let amount = typed::amount("amount", &self.amount, currency, &mut faults);
        let method = Method::parse(&self.method);
        if method.is_none() {
            faults.add("method", "Choose how it was paid.");
        }
        let reference = typed::line("reference", &self.reference, REFERENCE, &mut faults);
        let paid_at = self.paid_at(found, &mut faults);
        match method {
            Some(method) if faults.is_empty() => {
                Ok(NewDuePayment { amount, method, currency: None, reference, paid_at })
            }
            _ => Err(faults),
        }
    }

    /// The moment it was paid: now if the day is today or was not told, else noon of that day.
    fn paid_at(&self, found: &Found, faults: &mut Faults) -> Option<Timestamp> {
        if self.paid_on.is_empty() {
            return None;
        }
        let day = typed::day("paid_on", &self.paid_on, faults)?;
        if day == found.zone.day(found.now) {
            return None;
        }
        LocalTime::new(day, 12, 0, 0).and_then(|noon| found.zone.nearest(noon))
    }
}

/// What the page is about.
struct Found {
    due: Shown,
    around: Around,
    credit: i64,
    zone: Zone,
    now: Timestamp,
}

fn found(db: &Reader<'_>, id: DueId) -> Result<Found> {
    let due = due::whole(db, id)?.shown(db.now());
    Ok(Found {
        around: Around::of(db, std::iter::once(&due))?,
        credit: ledger::credit(db, due.payer_id, due.currency)?,
        zone: team::find(db, due.team_id)?.timezone,
        now: db.now(),
        due,
    })
}

#[derive(Template)]
#[template(path = "dues/pay.html")]
struct PayPage {
    frame: Frame,
    place: String,
    title: String,
    person: String,
    payer: String,
    open: String,
    currency: String,
    /// What can be used of what the payer has paid ahead.
    credit: Option<String>,
    typed: Typed,
    faults: Faults,
    nonce: String,
}

impl PayPage {
    fn methods(&self) -> Vec<(&'static str, &'static str)> {
        let credit = self.credit.as_ref().map(|_| (Method::Credit, "What was paid ahead"));
        BY_HAND.into_iter().chain(credit).map(|(method, label)| (method.word(), label)).collect()
    }
}

fn show_form(
    visitor: &Treasurer,
    found: &Found,
    typed: Typed,
    faults: Faults,
    nonce: String,
) -> Outcome<Response> {
    let due = &found.due;
    let money = |minor| shown::money(minor, due.currency);
    let page = PayPage {
        frame: visitor.frame("Take a payment", Section::Dues),
        place: place(due.id),
        title: due.title.clone(),
        person: found.around.person(due.person_id),
        payer: found.around.person(due.payer_id),
        open: money(due.balance),
        currency: due.currency.code().to_owned(),
        credit: (found.credit > 0 && due.balance > 0).then(|| money(found.credit)),
        typed,
        faults,
        nonce,
    };
    show(status(&page.faults), &page)
}

pub(super) async fn new(visitor: Treasurer, At(id): At<DueId>) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, id)).await?;
    let open = found.due.balance;
    let typed = Typed {
        amount: if open > 0 { shown::plain(open, found.due.currency) } else { String::new() },
        method: Method::Transfer.word().to_owned(),
        reference: String::new(),
        paid_on: found.zone.day(found.now).to_string(),
    };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, &found, typed, Faults::default(), nonce)
}

pub(super) async fn take(At(id): At<DueId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, id)).await?;
    let (typed, name) = (Typed::read(&form), nonce(&form)?);
    let new = match typed.payment(&found) {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, &found, typed, faults, name.name),
    };
    let (again, kept) = (name.name.clone(), visitor.app().config.idempotency_ttl);
    let taken = visitor.write(move |tx: &Tx<'_>| {
        once(tx, &name, kept, |tx| {
            let reach = Reach::Everywhere;
            let payment = paying::pay(tx, &reach, id, &Expected::Anything, new)?;
            Ok((payment.id.to_string(), ()))
        })
    });
    match taken.await {
        Ok(Once::Now(())) => Ok(see_other(&format!("{}?done=paid", place(id)))),
        Ok(Once::Before(_)) => Ok(see_other(&format!("{}?done=before", place(id)))),
        Err(error) if is_fault(&error) => {
            let mut faults = Faults::from(&error);
            let future = faults.at("paid_at").to_owned();
            if !future.is_empty() {
                faults.add("paid_on", future);
            }
            show_form(&visitor, &found, typed, faults, again)
        }
        Err(error) => Err(error.into()),
    }
}
