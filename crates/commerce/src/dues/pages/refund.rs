//! The form to refund a payment: consequences, amount and reason.

use super::formatting::{self, NamedDue};
use super::{Treasurer, TreasurerForm, detail_path, is_form_error};
use crate::dues::api::payments::MAX_REASON_LENGTH;
use crate::dues::due::Status;
use crate::dues::paying::{self, NewDueRefund, RefundablePayment};
use crate::money::pages::methods::method_label;
use crate::money::pages::refund_methods::{self, REFUND_METHOD};
use crate::money::payment::{self, Method, Payment};
use crate::prelude::*;
use crate::web::confirm::{ConfirmPage, NoticePage};
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::Submission;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// The data of the page.
struct PageData {
    due: NamedDue,
    payment: Payment,
    refundable: RefundablePayment,
    /// The preselected refund method, if there is a choice.
    default_method: Option<&'static str>,
}

const FIELDS: &[Field] = &[
    Field::amount("amount", "Amount in {currency}").hint("At most {max}.").required(""),
    REFUND_METHOD,
    Field::line("reason", "Reason", MAX_REASON_LENGTH),
];

fn load(db: &Reader<'_>, (id, payment): (DueId, PaymentId)) -> Result<PageData> {
    let due = NamedDue::load(db, id)?;
    let payment = paying::find(db, id, payment)?;
    let refundable = RefundablePayment::of_payment(db, &payment)?;
    let refunds = payment::find_refunds_by_subject(db, &payment.subject)?;
    let method = refund_methods::default_method(std::slice::from_ref(&payment), &refunds);
    Ok(PageData { due, payment, refundable, default_method: method })
}

/// What the refund will do.
fn effects(data: &PageData) -> Vec<Sentence> {
    let PageData { due, payment, refundable, .. } = data;
    let mut effects = vec![Sentence::new(match payment.method {
        Method::Credit => mark!("The money stays with the club as the payer’s credit."),
        _ if payment.provider_id.is_some() => mark!(
            "The money is refunded to the card. This can take a few days. If you choose another method, your club returns the money itself and Touchline only records the refund."
        ),
        _ => mark!(
            "Your club returns the money itself, for example in cash or by bank transfer. Touchline only records the refund."
        ),
    })];
    if refundable.unused_credit > 0 {
        let text = mark!("{amount} of the payment is unused credit and is refunded first.");
        effects.push(Sentence::new(text).word("amount", due.money(refundable.unused_credit)));
    }
    if refundable.applied > 0 {
        effects.push(match due.status {
            Status::Waived => {
                Sentence::new("The due is waived, so the refunded amount is not owed again.")
            }
            _ => Sentence::new("Up to {amount} is owed again.")
                .word("amount", due.money(refundable.applied)),
        });
    }
    effects
}

fn show_form(visitor: &Treasurer, data: &PageData, form: FilledForm) -> PageResult {
    let PageData { due, payment, refundable, default_method } = data;
    let (frame, back) = (visitor.frame(t!("Refund payment"), Section::Dues), detail_path(due.id));
    let lead = Sentence::new("{payer} paid {amount} for {title} ({method}).")
        .name("payer", &due.payer())
        .word("amount", due.money(payment.amount))
        .name("title", &due.title)
        .word("method", t!(method_label(payment.method)));
    if refundable.total() == 0 {
        let text = Sentence::new(
            "There is nothing left to refund. The payment was already refunded, or it became credit that was already used.",
        );
        let back_label = mark!("Back");
        return NoticePage { frame, lead: Some(lead), text, back, back_label }.respond();
    }
    let form = form.currency(due.currency).word("max", due.money(refundable.total()));
    let form = form.only_if(default_method.is_some(), "method");
    let page = ConfirmPage::new(frame, "Refund payment", back)
        .lead(lead)
        .heading("What happens when you refund this payment")
        .form(form, "The payment was not refunded");
    effects(data).into_iter().fold(page, ConfirmPage::effect).respond()
}

pub(super) async fn form(
    visitor: Treasurer,
    PathParams(at): PathParams<(DueId, PaymentId)>,
) -> PageResult {
    let data = visitor.read(move |db| load(db, at)).await?;
    let amount = formatting::plain(data.refundable.total(), data.due.currency);
    let method = data.default_method.unwrap_or_default().to_owned();
    let form = FilledForm::empty(FIELDS).with("amount", amount).with("method", method);
    show_form(&visitor, &data, form.nonce(new_nonce(visitor.app())))
}

/// The refund; `None` after adding errors to the form.
fn parse(data: &PageData, form: &mut FilledForm) -> Option<NewDueRefund> {
    let mut body = form.body();
    refund_methods::clear_card(&mut body);
    if body["amount"].as_i64().is_some_and(|amount| amount > data.refundable.total()) {
        let max = data.due.money(data.refundable.total());
        form.faults.add("amount", t!("You can refund at most {max} of this payment.", max));
    }
    form.finish(body)
}

pub(super) async fn refund(
    PathParams(at): PathParams<(DueId, PaymentId)>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult {
    let data = visitor.read(move |db| load(db, at)).await?;
    let nonce = parse_nonce(&form)?;
    let mut form = FilledForm::submitted(FIELDS, &form).currency(data.due.currency);
    let new = parse(&data, &mut form);
    let refund = move |tx: &Tx<'_>| {
        // Fails inside `write_once`, so that a form sent twice is recognized even if nothing is left to refund.
        let new = new.ok_or_else(|| Error::invalid(Vec::new()))?;
        paying::refund(tx, &TeamAccess::AllTeams, at, &IfMatch::Absent, new).map(|_| at.1)
    };
    let home = detail_path(data.due.id);
    match visitor.write_once(nonce, refund).await {
        Ok(Submission::Accepted(_)) => Ok(see_other(&format!("{home}?done=refunded"))),
        Ok(Submission::Duplicate(_)) => Ok(see_other(&format!("{home}?done=before"))),
        Err(error) if is_form_error(&error) => {
            if form.faults.is_empty() || error.code == Code::Conflict {
                form.faults = Faults::default();
                form.add_error(&error);
            }
            show_form(&visitor, &data, form)
        }
        Err(error) => Err(error.into()),
    }
}
