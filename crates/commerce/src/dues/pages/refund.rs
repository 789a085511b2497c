//! The form to refund a payment: consequences, amount and reason.

use askama::Template;
use axum::response::Response;
use store::{Reader, Tx};

use super::formatting::{self, DisplayNames};
use super::{Treasurer, TreasurerForm, detail_path, form_fields, is_form_error, render, status};
use crate::dues::api::payments::MAX_REASON_LENGTH;
use crate::dues::due::{self, DueView, Status};
use crate::dues::paying::{self, NewDueRefund, RefundablePayment};
use crate::error::{Code, Error, Result};
use crate::ids::{DueId, PaymentId};
use crate::if_match::IfMatch;
use crate::money::pages::methods::method_label;
use crate::money::pages::refund_methods;
use crate::money::payment::{self, Method, Payment};
use crate::rights::TeamAccess;
use crate::web::form::{Faults, Form};
use crate::web::form_dedup::{Submission, new_nonce, parse_nonce, submit_once};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

/// The data of the page.
struct PageData {
    due: DueView,
    payment: Payment,
    payer: String,
    refundable: RefundablePayment,
    /// The preselected refund method, if there is a choice.
    default_method: Option<&'static str>,
}

/// The submitted values.
struct RefundForm {
    amount: String,
    method: String,
    reason: String,
}

fn load(db: &Reader<'_>, (id, payment): (DueId, PaymentId)) -> Result<PageData> {
    let due = due::load(db, id)?.view(db.now());
    let payment = paying::find(db, id, payment)?;
    let payer = DisplayNames::for_dues(db, std::iter::once(&due))?.person(due.payer_id);
    let refundable = RefundablePayment::of_payment(db, &payment)?;
    let refunds = payment::find_refunds_by_subject(db, &payment.subject)?;
    let method = refund_methods::default_method(std::slice::from_ref(&payment), &refunds);
    Ok(PageData { due, payment, payer, refundable, default_method: method })
}

#[derive(Template)]
#[template(path = "dues/refund.html")]
struct RefundPage {
    frame: Frame,
    title: String,
    payer: String,
    paid: String,
    method: &'static str,
    max: String,
    currency: String,
    /// Whether anything can be refunded.
    refundable: bool,
    consequences: Vec<String>,
    /// Whether the payment was made online, so that the refund method can be chosen.
    can_choose_method: bool,
    input: RefundForm,
    faults: Faults,
    nonce: String,
    back: String,
}

/// What the refund will do, as sentences.
fn consequences(data: &PageData) -> Vec<String> {
    let PageData { due, payment, refundable, .. } = data;
    let money = |minor| formatting::money(minor, due.currency);
    let transfer = match payment.method {
        Method::Credit => "The money stays with the club as the payer’s credit.",
        _ if payment.provider_id.is_some() => {
            "The money is refunded to the card. This can take a few days. If you choose another method, your club returns the money itself and Touchline only records the refund."
        }
        _ => {
            "Your club returns the money itself, for example in cash or by bank transfer. Touchline only records the refund."
        }
    };
    let mut events = vec![transfer.to_owned()];
    if refundable.unused_credit > 0 {
        events.push(format!(
            "{} of the payment is unused credit and is refunded first.",
            money(refundable.unused_credit)
        ));
    }
    if refundable.applied > 0 {
        events.push(match due.status {
            Status::Waived => {
                "The due is waived, so the refunded amount is not owed again.".to_owned()
            }
            _ => format!("Up to {} is owed again.", money(refundable.applied)),
        });
    }
    events
}

fn show_form(
    visitor: &Treasurer,
    data: &PageData,
    input: RefundForm,
    faults: Faults,
    nonce: String,
) -> PageResult<Response> {
    let PageData { due, payment, payer, refundable, default_method } = data;
    let money = |minor| formatting::money(minor, due.currency);
    let page = RefundPage {
        frame: visitor.frame("Refund payment", Section::Dues),
        title: due.title.clone(),
        payer: payer.clone(),
        paid: money(payment.amount),
        method: method_label(payment.method),
        max: money(refundable.total()),
        currency: due.currency.code().to_owned(),
        refundable: refundable.total() > 0,
        consequences: consequences(data),
        can_choose_method: default_method.is_some(),
        input,
        faults,
        nonce,
        back: detail_path(due.id),
    };
    render(status(&page.faults), &page)
}

pub(super) async fn form(
    visitor: Treasurer,
    PathParams(at): PathParams<(DueId, PaymentId)>,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, at)).await?;
    let amount = formatting::plain(data.refundable.total(), data.due.currency);
    let method = data.default_method.unwrap_or_default().to_owned();
    let input = RefundForm { amount, method, reason: String::new() };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, &data, input, Faults::default(), nonce)
}

/// The refund, or everything that is wrong with the input.
fn parse_form(data: &PageData, form: &Form) -> std::result::Result<NewDueRefund, Faults> {
    let mut faults = Faults::default();
    let currency = data.due.currency;
    let amount = form_fields::amount("amount", form.text("amount"), currency, &mut faults);
    if amount.is_some_and(|amount| amount > data.refundable.total()) {
        let max = formatting::money(data.refundable.total(), currency);
        faults.add("amount", format!("You can refund at most {max} of this payment."));
    }
    let reason = form_fields::line("reason", form.text("reason"), MAX_REASON_LENGTH, &mut faults);
    let method = refund_methods::parse_method(form.text("method"), &mut faults);
    if faults.is_empty() { Ok(NewDueRefund { amount, method, reason }) } else { Err(faults) }
}

pub(super) async fn refund(
    PathParams(at): PathParams<(DueId, PaymentId)>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, at)).await?;
    let nonce = parse_nonce(&form)?;
    let text = |name: &str| form.text(name).to_owned();
    let input =
        RefundForm { amount: text("amount"), method: text("method"), reason: text("reason") };
    let (same_nonce, ttl) = (nonce.value.clone(), visitor.app().config.idempotency_ttl);
    let (new, input_faults) = match parse_form(&data, &form) {
        Ok(new) => (Some(new), Faults::default()),
        Err(faults) => (None, faults),
    };
    let refunded = visitor.write(move |tx: &Tx<'_>| {
        // A form that is sent twice reports that, even if nothing is left to refund and the input is now invalid.
        submit_once(tx, &nonce, ttl, |tx| {
            let new = new.ok_or_else(|| Error::invalid(Vec::new()))?;
            paying::refund(tx, &TeamAccess::AllTeams, at, &IfMatch::Absent, new)?;
            Ok((at.1.to_string(), ()))
        })
    });
    let home = detail_path(data.due.id);
    match refunded.await {
        Ok(Submission::Accepted(())) => Ok(see_other(&format!("{home}?done=refunded"))),
        Ok(Submission::Duplicate(_)) => Ok(see_other(&format!("{home}?done=before"))),
        Err(error) if is_form_error(&error) => {
            let from_service = input_faults.is_empty() || error.code == Code::Conflict;
            let faults = if from_service { Faults::from(&error) } else { input_faults };
            show_form(&visitor, &data, input, faults, same_nonce)
        }
        Err(error) => Err(error.into()),
    }
}
