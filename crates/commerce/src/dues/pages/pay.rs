//! The form to record a payment.

use kit::LocalTime;

use super::formatting::{self, NamedDue};
use super::{Treasurer, TreasurerForm, detail_path, is_form_error};
use crate::dues::api::payments::MAX_REFERENCE_LENGTH;
use crate::dues::paying::{self, NewDuePayment};
use crate::money::ledger;
use crate::money::pages::methods;
use crate::money::payment::Method;
use crate::prelude::*;
use crate::teams::team;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::Submission;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const FIELDS: &[Field] = &[
    Field::amount("amount", "Amount in {currency}").required(""),
    Field::select("method", "Payment method", &[]).required("Choose a payment method."),
    Field::slot("credit"),
    Field::line("reference", "Reference", MAX_REFERENCE_LENGTH)
        .hint("For example, the reference on the bank statement."),
    Field::day("paid_on", "Date paid").key("paid_at").hint("Leave empty for today."),
];

/// The data of the page.
struct PageData {
    due: NamedDue,
    credit: i64,
    zone: Zone,
    now: Timestamp,
}

fn load(db: &Reader<'_>, id: DueId) -> Result<PageData> {
    let due = NamedDue::load(db, id)?;
    Ok(PageData {
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
    due: NamedDue,
    form: FilledForm,
}

/// Completes the form: its options, and the payer's credit if it can be used for this due.
fn complete(form: FilledForm, data: &PageData) -> FilledForm {
    let due = &data.due;
    let form = form.currency(due.currency).options("method", methods::manual_options());
    let has_credit = data.credit > 0 && due.balance > 0;
    if !has_credit && form.text("method") != Method::Credit.as_str() {
        return form;
    }
    let form = form.options("method", [(Method::Credit.as_str(), t!("Credit"))]);
    let text = Sentence::new("{payer} has {amount} credit.")
        .name("payer", &due.payer())
        .word("amount", due.money(data.credit));
    form.slot("credit", format!("<p class=\"muted\">{text}</p>"))
}

fn show_form(visitor: &Treasurer, data: PageData, form: FilledForm) -> PageResult {
    let frame = visitor.frame(t!("Record payment"), Section::Dues);
    render(form.status(), &PayPage { frame, due: data.due, form })
}

/// When it was paid: now if the date is today or empty, else noon of that day.
fn paid_at(day: &Value, data: &PageData) -> Option<Timestamp> {
    let day: Day = day.as_str()?.parse().ok()?;
    if day == data.zone.day(data.now) {
        return None;
    }
    LocalTime::new(day, 12, 0, 0).and_then(|noon| data.zone.resolve(noon))
}

pub(super) async fn new(visitor: Treasurer, PathParams(id): PathParams<DueId>) -> PageResult {
    let data = visitor.read(move |db| load(db, id)).await?;
    let open = data.due.balance;
    let amount = if open > 0 { formatting::plain(open, data.due.currency) } else { String::new() };
    let form = FilledForm::empty(FIELDS)
        .with("amount", amount)
        .with("method", Method::BankTransfer.as_str())
        .with("paid_on", data.zone.day(data.now).to_string())
        .nonce(new_nonce(visitor.app()));
    let form = complete(form, &data);
    show_form(&visitor, data, form)
}

pub(super) async fn submit(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult {
    let data = visitor.read(move |db| load(db, id)).await?;
    let nonce = parse_nonce(&form)?;
    let mut form = complete(FilledForm::submitted(FIELDS, &form), &data);
    let mut body = form.body();
    body["paid_at"] = json!(paid_at(&body["paid_at"], &data).map(|at| at.to_string()));
    let Some(new) = form.finish::<NewDuePayment>(body) else {
        return show_form(&visitor, data, form);
    };
    let pay = move |tx: &Tx<'_>| {
        let payment = paying::pay(tx, &TeamAccess::AllTeams, id, &IfMatch::Absent, new)?;
        Ok(payment.id)
    };
    match visitor.write_once(nonce, pay).await {
        Ok(Submission::Accepted(_)) => Ok(see_other(&format!("{}?done=paid", detail_path(id)))),
        Ok(Submission::Duplicate(_)) => Ok(see_other(&format!("{}?done=before", detail_path(id)))),
        Err(error) if is_form_error(&error) => {
            // The form has a date, the service a timestamp.
            if error.faults.iter().any(|fault| fault.pointer == "/paid_at") {
                form.faults.add("paid_on", t!("Enter a date between the year 2000 and today."));
            }
            form.add_error(&error);
            show_form(&visitor, data, form)
        }
        Err(error) => Err(error.into()),
    }
}
