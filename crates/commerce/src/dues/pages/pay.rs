//! The form to record a payment.

use askama::Template;
use axum::response::Response;
use kit::string_enum::StringEnum;
use kit::{LocalTime, Timestamp, Zone};
use store::{Reader, Tx};

use super::formatting::{self, DisplayNames};
use super::{Treasurer, TreasurerForm, detail_path, form_fields, is_form_error, render, status};
use crate::dues::api::payments::MAX_REFERENCE_LENGTH;
use crate::dues::due::{self, DueView};
use crate::dues::paying::{self, NewDuePayment};
use crate::error::Result;
use crate::ids::DueId;
use crate::if_match::IfMatch;
use crate::money::ledger;
use crate::money::pages::methods::MANUAL_METHODS;
use crate::money::payment::Method;
use crate::rights::TeamAccess;
use crate::teams::team;
use crate::web::form::{Faults, Form};
use crate::web::form_dedup::{Submission, new_nonce, parse_nonce, submit_once};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

/// The submitted values.
#[derive(Debug)]
struct PaymentForm {
    amount: String,
    method: String,
    reference: String,
    paid_on: String,
}

impl PaymentForm {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            amount: text("amount"),
            method: text("method"),
            reference: text("reference"),
            paid_on: text("paid_on"),
        }
    }

    fn is_method(&self, method: &str) -> bool {
        self.method == method
    }

    /// The payment, or everything that is wrong with the input.
    fn payment(&self, data: &PageData) -> std::result::Result<NewDuePayment, Faults> {
        let mut faults = Faults::default();
        let currency = data.due.currency;
        let amount = form_fields::amount("amount", &self.amount, currency, &mut faults);
        let method = Method::parse(&self.method);
        if method.is_none() {
            faults.add("method", "Choose a payment method.");
        }
        let reference =
            form_fields::line("reference", &self.reference, MAX_REFERENCE_LENGTH, &mut faults);
        let paid_at = self.paid_at(data, &mut faults);
        match method {
            Some(method) if faults.is_empty() => {
                Ok(NewDuePayment { amount, method, currency: None, reference, paid_at })
            }
            _ => Err(faults),
        }
    }

    /// When it was paid: now if the date is today or empty, else noon of that day.
    fn paid_at(&self, data: &PageData, faults: &mut Faults) -> Option<Timestamp> {
        if self.paid_on.is_empty() {
            return None;
        }
        let day = form_fields::day("paid_on", &self.paid_on, faults)?;
        if day == data.zone.day(data.now) {
            return None;
        }
        LocalTime::new(day, 12, 0, 0).and_then(|noon| data.zone.resolve(noon))
    }
}

/// The data of the page.
struct PageData {
    due: DueView,
    names: DisplayNames,
    credit: i64,
    zone: Zone,
    now: Timestamp,
}

fn load(db: &Reader<'_>, id: DueId) -> Result<PageData> {
    let due = due::load(db, id)?.view(db.now());
    Ok(PageData {
        names: DisplayNames::for_dues(db, std::iter::once(&due))?,
        credit: ledger::credit_balance(db, due.payer_id, due.currency)?,
        zone: team::find(db, due.team_id)?.timezone,
        now: db.now(),
        due,
    })
}

#[derive(Template)]
#[template(path = "dues/pay.html")]
struct PayPage {
    frame: Frame,
    path: String,
    title: String,
    person: String,
    payer: String,
    open: String,
    currency: String,
    /// The payer's credit, if it can be used for this due.
    credit: Option<String>,
    input: PaymentForm,
    faults: Faults,
    nonce: String,
}

impl PayPage {
    fn methods(&self) -> Vec<(&'static str, &'static str)> {
        let credit = self.credit.as_ref().map(|_| (Method::Credit, "Credit"));
        MANUAL_METHODS
            .into_iter()
            .chain(credit)
            .map(|(method, label)| (method.as_str(), label))
            .collect()
    }
}

fn show_form(
    visitor: &Treasurer,
    data: &PageData,
    input: PaymentForm,
    faults: Faults,
    nonce: String,
) -> PageResult<Response> {
    let due = &data.due;
    let money = |minor| formatting::money(minor, due.currency);
    let page = PayPage {
        frame: visitor.frame("Record payment", Section::Dues),
        path: detail_path(due.id),
        title: due.title.clone(),
        person: data.names.person(due.person_id),
        payer: data.names.person(due.payer_id),
        open: money(due.balance),
        currency: due.currency.code().to_owned(),
        credit: (data.credit > 0 && due.balance > 0).then(|| money(data.credit)),
        input,
        faults,
        nonce,
    };
    render(status(&page.faults), &page)
}

pub(super) async fn new(
    visitor: Treasurer,
    PathParams(id): PathParams<DueId>,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let open = data.due.balance;
    let input = PaymentForm {
        amount: if open > 0 { formatting::plain(open, data.due.currency) } else { String::new() },
        method: Method::BankTransfer.as_str().to_owned(),
        reference: String::new(),
        paid_on: data.zone.day(data.now).to_string(),
    };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, &data, input, Faults::default(), nonce)
}

pub(super) async fn submit(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let (input, nonce) = (PaymentForm::read(&form), parse_nonce(&form)?);
    let new = match input.payment(&data) {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, &data, input, faults, nonce.value),
    };
    let (same_nonce, ttl) = (nonce.value.clone(), visitor.app().config.idempotency_ttl);
    let recorded = visitor.write(move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| {
            let access = TeamAccess::AllTeams;
            let payment = paying::pay(tx, &access, id, &IfMatch::Absent, new)?;
            Ok((payment.id.to_string(), ()))
        })
    });
    match recorded.await {
        Ok(Submission::Accepted(())) => Ok(see_other(&format!("{}?done=paid", detail_path(id)))),
        Ok(Submission::Duplicate(_)) => Ok(see_other(&format!("{}?done=before", detail_path(id)))),
        Err(error) if is_form_error(&error) => {
            let mut faults = Faults::from(&error);
            // The form has a date, the service a timestamp.
            if !faults.at("paid_at").is_empty() {
                faults.add("paid_on", "Enter a date between the year 2000 and today.");
            }
            show_form(&visitor, &data, input, faults, same_nonce)
        }
        Err(error) => Err(error.into()),
    }
}
