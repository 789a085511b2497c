//! The refund page of an order.

use askama::Template;
use axum::response::Response;
use store::{Reader, Tx};

use super::order::{self as orders, LineQuantities};
use super::{
    AdminSubmission, AdminVisitor, form_body, form_status, is_form_error, money, quantity_label,
    render, run_once,
};
use crate::error::{Code, Error};
use crate::ids::OrderId;
use crate::if_match::IfMatch;
use crate::money::pages::refund_methods;
use crate::rights::TeamAccess;
use crate::shop::order::{self, Line, Order};
use crate::shop::refunding::{self, NewRefund};
use crate::web::form::{Faults, Form};
use crate::web::form_dedup::{new_nonce, parse_nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

const EVERYWHERE: &TeamAccess = &TeamAccess::AllTeams;
const MAX_REASON_LENGTH: usize = 500;
/// The error if the refundable amount has changed since the page was shown.
const AMOUNT_CHANGED: &str = "Another refund was made since you opened this page, so nothing was refunded now. Check the remaining amount.";

/// The form as submitted.
#[derive(Debug)]
struct RefundForm {
    mode: String,
    amount: String,
    restock: bool,
    /// The refund method, if there is a choice.
    method: String,
    reason: String,
    quantities: LineQuantities,
    /// The refundable amount on the page, in minor units.
    shown_amount: String,
}

impl RefundForm {
    fn read(form: &Form, order: &Order, faults: &mut Faults) -> Self {
        let how = form.text("how").to_owned();
        let mut ignored = Faults::default();
        let by_line = how == "lines";
        Self {
            quantities: LineQuantities::read(
                form,
                order,
                if by_line { faults } else { &mut ignored },
            ),
            mode: how,
            amount: form.text("amount").to_owned(),
            restock: form.is_checked("restock"),
            method: form.text("method").to_owned(),
            reason: form.text("reason").to_owned(),
            shown_amount: form.text("left").to_owned(),
        }
    }

    /// The refund this form requests; `None` after adding errors.
    fn to_refund(&self, order: &Order, faults: &mut Faults) -> Option<NewRefund> {
        let record = &order.record;
        let reason = orders::optional_line(&self.reason, MAX_REASON_LENGTH);
        let reason = reason.map_err(|message| faults.add("reason", message)).ok()?;
        let refundable = money(record.paid - record.refunded, record.currency);
        let (restock, method) =
            (Some(self.restock), refund_methods::parse_method(&self.method, faults));
        let new = NewRefund { amount: None, lines: None, restock, method, reason };
        if self.mode != "amount" && !self.amount.is_empty() {
            faults.add("amount", "Clear the amount, or choose “An amount”.");
            return None;
        }
        if self.mode != "lines" && !self.quantities.lines.is_empty() {
            faults.add("lines", "Clear the quantities, or choose “Some items”.");
            return None;
        }
        match self.mode.as_str() {
            "all" => Some(new),
            "lines" if self.quantities.lines.is_empty() => {
                faults.add("lines", "Enter a quantity for at least one item.");
                None
            }
            "lines" => Some(NewRefund { lines: Some(self.quantities.lines.clone()), ..new }),
            "amount" => match form_body::parse_amount(&self.amount, record.currency) {
                Err(message) => {
                    faults.add("amount", message);
                    None
                }
                Ok(amount) if amount == 0 || amount > refundable.minor => {
                    faults.add("amount", format!("Enter an amount up to {refundable}."));
                    None
                }
                Ok(amount) => Some(NewRefund { amount: Some(amount), restock: None, ..new }),
            },
            _ => {
                faults.add("how", "Choose what to refund.");
                None
            }
        }
    }
}

#[derive(Template)]
#[template(path = "shop/refund.html")]
struct RefundPage {
    frame: Frame,
    order: Order,
    refundable: kit::Money,
    /// Whether the order was paid by card, so that the refund can be automatic.
    paid_by_card: bool,
    input: RefundForm,
    faults: Faults,
    nonce: String,
}

impl RefundPage {
    /// Label of the field for the units of a line that can be returned.
    fn returnable_label(line: &Line) -> String {
        quantity_label(line, line.quantity - line.returned)
    }

    fn amount_label(&self) -> String {
        format!("Amount in {}", self.refundable.currency.code())
    }

    fn is_mode(&self, how: &str) -> bool {
        self.input.mode == how
    }
}

async fn show_form(
    visitor: &AdminVisitor,
    id: OrderId,
    input: RefundForm,
    faults: Faults,
    nonce: String,
) -> PageResult<Response> {
    let load = move |db: &Reader<'_>| orders::find_with_payments(db, EVERYWHERE, id);
    let (order, payments, refunds) = visitor.read(load).await?;
    let frame = visitor.frame("Refund", Section::Orders);
    let refundable = money(order.record.paid - order.record.refunded, order.record.currency);
    let default = refund_methods::default_method(&payments, &refunds);
    let method =
        if input.method.is_empty() { default.unwrap_or_default().to_owned() } else { input.method };
    let (online, input) = (default.is_some(), RefundForm { method, ..input });
    let status = form_status(&faults);
    let page = RefundPage { frame, order, refundable, paid_by_card: online, input, faults, nonce };
    render(status, &page)
}

pub(super) async fn refund_form(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult<Response> {
    let input = RefundForm {
        mode: "all".to_owned(),
        amount: String::new(),
        restock: true,
        method: String::new(),
        reason: String::new(),
        quantities: LineQuantities::default(),
        shown_amount: String::new(),
    };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, id, input, Faults::default(), nonce).await
}

pub(super) async fn refund(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    let order = orders::find_order(&visitor, id).await?;
    let nonce = parse_nonce(&form)?;
    let mut faults = Faults::default();
    let input = RefundForm::read(&form, &order, &mut faults);
    let new = input.to_refund(&order, &mut faults).filter(|_| faults.is_empty());
    let (all, shown_amount) = (input.mode == "all", input.shown_amount.clone());
    let refund = move |tx: &Tx<'_>| {
        // Fails inside `run_once`, so that a form sent twice is recognized even if nothing is left to refund.
        let new = new.ok_or_else(|| Error::invalid(Vec::new()))?;
        let current = order::find(tx, EVERYWHERE, id)?.record;
        if all && (current.paid - current.refunded).to_string() != shown_amount {
            return Err(Error::new(Code::Conflict, AMOUNT_CHANGED));
        }
        refunding::refund(tx, EVERYWHERE, id, &IfMatch::Absent, new).map(|_| id.to_string())
    };
    match run_once(&visitor, nonce.clone(), refund).await {
        Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=refunded"))),
        Err(error) if !is_form_error(&error) => return Err(error.into()),
        Err(error) if faults.is_empty() || error.code == Code::Conflict => {
            faults = input.quantities.map_faults(&error);
        }
        Err(_) => {}
    }
    show_form(&visitor, id, input, faults, nonce.value).await
}
