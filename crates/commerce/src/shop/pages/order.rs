//! The admin page of an order: payment, fulfillment, cancellation and history.

use std::borrow::Borrow;

use askama::Template;
use axum::response::Response;
use kit::string_enum::StringEnum;
use kit::text;
use kit::{Timestamp, Zone};
use store::{Reader, Tx};

use super::display::{self, ConfirmPage};
use super::form_body;
use super::{
    AdminSubmission, AdminVisitor, form_status, is_form_error, map_faults, money, quantity_label,
    render, run_once, seller_name, team_names,
};
use crate::accounts::account;
use crate::error::{Error, Fault, Result};
use crate::ids::OrderId;
use crate::if_match::IfMatch;
use crate::money::pages::methods::{MANUAL_METHODS, method_label};
use crate::money::payment::{self, Method, Payment, PaymentDetails, Refund};
use crate::rights::TeamAccess;
use crate::shop::cancellation::{self, OrderCancellation};
use crate::shop::fulfillment::{self, FulfillRequest, LineQuantity};
use crate::shop::order::{self, Order, Status};
use crate::shop::settle;
use crate::web::form::{Faults, Form};
use crate::web::form_dedup::{new_nonce, parse_nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

/// Messages by the value of `?done=`.
const DONE: [(&str, &str); 5] = [
    ("placed", "The order was placed."),
    ("paid", "The payment was recorded."),
    ("handed", "The items were marked as picked up."),
    ("cancelled", "The order was cancelled. Its items can be sold again."),
    ("refunded", "The refund was recorded."),
];
const EVERYWHERE: &TeamAccess = &TeamAccess::AllTeams;
/// Maximum lengths of a reference and of a reason.
const MAX_REFERENCE_LENGTH: usize = 120;
const MAX_REASON_LENGTH: usize = 500;

/// The quantities entered next to the lines of an order.
#[derive(Debug, Default)]
pub(super) struct LineQuantities {
    /// The inputs, by index of the line in the order.
    pub(super) inputs: Vec<String>,
    /// The parsed quantities that are not zero.
    pub(super) lines: Vec<LineQuantity>,
    /// For each of these, the index of its line in the order.
    line_indexes: Vec<usize>,
}

impl LineQuantities {
    /// Reads the quantity fields of a form.
    pub(super) fn read(form: &Form, order: &Order, faults: &mut Faults) -> Self {
        let mut quantities = Self::default();
        for (index, line) in order.lines.iter().enumerate() {
            let name = format!("part-{index}");
            let input = form.text(&name).to_owned();
            match form_body::parse_whole_number(&input) {
                _ if input.is_empty() => {}
                Ok(0) => {}
                Ok(quantity) => {
                    quantities.lines.push(LineQuantity { line_id: line.id, quantity });
                    quantities.line_indexes.push(index);
                }
                Err(message) => faults.add(&name, message),
            }
            quantities.inputs.push(input);
        }
        quantities
    }

    /// The name of the field for a line.
    pub(super) fn field(index: impl Borrow<usize>) -> String {
        format!("part-{}", index.borrow())
    }

    /// The input for a line.
    pub(super) fn input(&self, index: impl Borrow<usize>) -> &str {
        self.inputs.get(*index.borrow()).map_or("", String::as_str)
    }

    /// The error of the field for a line.
    pub(super) fn error(faults: &Faults, index: impl Borrow<usize>) -> &str {
        faults.at(&Self::field(index))
    }

    /// Maps the faults of an error to the fields of the lines.
    pub(super) fn map_faults(&self, error: &Error) -> Faults {
        let mut faults = Faults::default();
        for fault in &error.faults {
            let mut segments = fault.pointer.split('/').skip(1);
            let part = match (segments.next(), segments.next()) {
                (Some("lines"), Some(number)) => number.parse::<usize>().ok(),
                _ => None,
            };
            match part.and_then(|part| self.line_indexes.get(part)) {
                Some(index) => faults.add(&format!("part-{index}"), fault.detail.clone()),
                None => faults.add(fault.pointer.trim_start_matches('/'), fault.detail.clone()),
            }
        }
        if faults.is_empty() { map_faults(error) } else { faults }
    }
}

/// An entry in the history of an order.
pub(super) struct HistoryEntry {
    pub(super) at: Timestamp,
    pub(super) title: String,
    pub(super) detail: Option<String>,
    /// Kind and text of a badge.
    pub(super) badge: Option<(&'static str, &'static str)>,
}

/// The history of an order, in chronological order.
pub(super) fn history(
    order: &Order,
    payments: &[Payment],
    refunds: &[Refund],
) -> Vec<HistoryEntry> {
    let entry =
        |at, what: &str| HistoryEntry { at, title: what.to_owned(), detail: None, badge: None };
    let record = &order.record;
    let mut history = vec![entry(record.created_at, "Order placed")];
    for payment in payments {
        let amount = money(payment.amount, payment.currency);
        let title = format!("{amount} paid ({})", method_label(payment.method));
        history.push(HistoryEntry {
            detail: payment.reference.clone(),
            ..entry(payment.paid_at, &title)
        });
    }
    if record.total == 0 {
        history.extend(record.paid_at.map(|at| entry(at, "Free order, no payment needed")));
    }
    history.extend(record.fulfilled_at.map(|at| entry(at, "Everything picked up")));
    for refund in refunds {
        let title = format!("{} refunded", money(refund.amount, refund.currency));
        let badge = Some(display::refund_badge(refund.status));
        history.push(HistoryEntry {
            detail: refund.reason.clone(),
            badge,
            ..entry(refund.created_at, &title)
        });
    }
    let cancelled = record.cancelled_at.map(|at| entry(at, "Cancelled"));
    history.extend(
        cancelled.map(|entry| HistoryEntry { detail: record.cancel_reason.clone(), ..entry }),
    );
    history.sort_by_key(|entry| entry.at);
    history
}

/// The payment form as submitted.
#[derive(Debug, Default)]
struct PaymentForm {
    method: String,
    amount: String,
    reference: String,
}

#[derive(Template)]
#[template(path = "shop/order.html")]
struct OrderPage {
    frame: Frame,
    order: Order,
    seller: String,
    badge: (&'static str, &'static str),
    outstanding: kit::Money,
    history: Vec<HistoryEntry>,
    methods: Vec<(&'static str, &'static str)>,
    payment: PaymentForm,
    quantities: LineQuantities,
    faults: Faults,
    nonce: String,
    zone: Zone,
}

impl OrderPage {
    fn can_fulfill(&self) -> bool {
        let paid = matches!(self.order.record.status, Status::Paid | Status::PartiallyRefunded);
        paid && self.order.lines.iter().any(|line| line.unfulfilled() > 0)
    }

    fn can_cancel(&self) -> bool {
        can_cancel(&self.order)
    }

    fn can_refund(&self) -> bool {
        self.order.record.paid > self.order.record.refunded
    }

    /// Label of the field for the units of a line that were not picked up.
    fn unfulfilled_label(line: &order::Line) -> String {
        quantity_label(line, line.unfulfilled())
    }

    fn amount_label(&self) -> String {
        format!("Amount in {}", self.outstanding.currency.code())
    }

    fn is_method(&self, word: &str) -> bool {
        self.payment.method == word
    }
}

/// Whether an order can still be cancelled.
pub(super) fn can_cancel(order: &Order) -> bool {
    let untouched = order.lines.iter().all(|line| line.fulfilled == 0 && line.returned == 0);
    let free = order.record.status == Status::Paid && order.record.total == 0 && untouched;
    order.record.status == Status::Placed || free
}

/// An order with its payments and refunds.
pub(super) fn find_with_payments(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: OrderId,
) -> Result<(Order, Vec<Payment>, Vec<Refund>)> {
    let order = order::find(db, access, id)?;
    let subject = id.to_string();
    Ok((
        order,
        payment::find_by_subject(db, &subject)?,
        payment::find_refunds_by_subject(db, &subject)?,
    ))
}

/// The state of the forms on the page, to show it again after an error.
struct FormState {
    payment: Option<PaymentForm>,
    quantities: LineQuantities,
    faults: Faults,
    nonce: String,
}

async fn render_order(
    visitor: &AdminVisitor,
    id: OrderId,
    forms: FormState,
) -> PageResult<Response> {
    let load = move |db: &Reader<'_>| {
        let (order, payments, refunds) = find_with_payments(db, EVERYWHERE, id)?;
        let names = team_names(db, std::iter::once(order.record.team_id))?;
        let seller = seller_name(&names, order.record.team_id);
        let history = history(&order, &payments, &refunds);
        Ok((order, seller, history, account::find(db)?.timezone))
    };
    let (order, seller, history, zone) = visitor.read(load).await?;
    let outstanding = display::outstanding(&order);
    let payment = forms.payment.unwrap_or_else(|| PaymentForm {
        method: Method::Cash.as_str().to_owned(),
        amount: outstanding.format_amount(),
        reference: String::new(),
    });
    let status = form_status(&forms.faults);
    let frame = visitor.frame(format!("Order {}", order.record.number), Section::Orders);
    let page = OrderPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        seller,
        badge: display::status_badge(order.record.status),
        outstanding,
        history,
        methods: MANUAL_METHODS.map(|(method, label)| (method.as_str(), label)).to_vec(),
        payment,
        quantities: forms.quantities,
        faults: forms.faults,
        nonce: forms.nonce,
        zone,
        order,
    };
    render(status, &page)
}

pub(super) async fn detail(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult<Response> {
    let nonce = new_nonce(visitor.app());
    let forms = FormState {
        payment: None,
        quantities: LineQuantities::default(),
        faults: Faults::default(),
        nonce,
    };
    render_order(&visitor, id, forms).await
}

pub(super) async fn find_order(visitor: &AdminVisitor, id: OrderId) -> Result<Order> {
    visitor.read(move |db| order::find(db, EVERYWHERE, id)).await
}

pub(super) async fn pay(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    let order = find_order(&visitor, id).await?;
    let nonce = parse_nonce(&form)?;
    let text = |name: &str| form.text(name).to_owned();
    let input = PaymentForm {
        method: text("method"),
        amount: text("amount"),
        reference: text("reference"),
    };
    let mut faults = Faults::default();
    let details = input.to_details(&order, &mut faults);
    if let Some(details) = details.filter(|_| faults.is_empty()) {
        let pay = move |tx: &Tx<'_>| {
            let before = order::find(tx, EVERYWHERE, id)?;
            settle::pay(tx, before, details).map(|order| order.record.id.to_string())
        };
        match run_once(&visitor, nonce.clone(), pay).await {
            Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=paid"))),
            Err(error) if is_form_error(&error) => faults = map_faults(&error),
            Err(error) => return Err(error.into()),
        }
    }
    let forms = FormState {
        payment: Some(input),
        quantities: LineQuantities::default(),
        faults,
        nonce: nonce.value,
    };
    render_order(&visitor, id, forms).await
}

impl PaymentForm {
    fn to_details(&self, order: &Order, faults: &mut Faults) -> Option<PaymentDetails> {
        let currency = order.record.currency;
        let method = MANUAL_METHODS
            .iter()
            .map(|(method, _)| *method)
            .find(|method| method.as_str() == self.method);
        if method.is_none() {
            faults.add("method", "Choose a payment method.");
        }
        let due = money(order.record.total, currency);
        let amount = form_body::parse_amount(&self.amount, currency);
        match &amount {
            Err(message) => faults.add("amount", message.clone()),
            Ok(amount) if *amount != due.minor => {
                faults.add("amount", format!("An order must be paid in full: {due}."));
            }
            Ok(_) => {}
        }
        let reference = optional_line(&self.reference, MAX_REFERENCE_LENGTH).map_err(|message| {
            faults.add("reference", message);
        });
        Some(PaymentDetails {
            amount: Some(amount.ok()?),
            method: method?,
            reference: reference.ok()?,
            paid_at: None,
            provider_id: None,
        })
    }
}

/// Parses an optional text of one line.
pub(super) fn optional_line(
    input: &str,
    max_chars: usize,
) -> std::result::Result<Option<String>, String> {
    match text::normalize_line(input, max_chars) {
        Ok(text) => Ok(Some(text)),
        Err(text::TextFault::Empty) => Ok(None),
        Err(text::TextFault::TooLong { max }) => Err(format!("Enter at most {max} characters.")),
        Err(text::TextFault::Control) => {
            Err("Remove characters that cannot be displayed.".to_owned())
        }
    }
}

pub(super) async fn fulfill(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    let order = find_order(&visitor, id).await?;
    let nonce = parse_nonce(&form)?;
    let mut faults = Faults::default();
    let quantities = LineQuantities::read(&form, &order, &mut faults);
    let all = form.text("how") == "all";
    if !all && quantities.lines.is_empty() && faults.is_empty() {
        faults.add("parts", "Enter a quantity for at least one item.");
    }
    if all || faults.is_empty() {
        let lines = if all { None } else { Some(quantities.lines.clone()) };
        let fulfill = move |tx: &Tx<'_>| {
            let order = fulfillment::fulfill(
                tx,
                EVERYWHERE,
                id,
                &IfMatch::Absent,
                FulfillRequest { lines },
            );
            order.map(|order| order.record.id.to_string())
        };
        match run_once(&visitor, nonce.clone(), fulfill).await {
            Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=handed"))),
            Err(error) if is_form_error(&error) => faults = quantities.map_faults(&error),
            Err(error) => return Err(error.into()),
        }
    }
    render_order(&visitor, id, FormState { payment: None, quantities, faults, nonce: nonce.value })
        .await
}

/// The consequences of cancelling an order.
pub(super) const CANCEL_CONSEQUENCES: [&str; 3] = [
    "The items can be sold to other people.",
    "If the order uses a discount code, the code can be used again.",
    "You cannot undo this. To get the items after all, place a new order.",
];

pub(super) async fn ask_cancel(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult<Response> {
    let order = find_order(&visitor, id).await?;
    if !can_cancel(&order) {
        return Ok(see_other(&format!("/admin/orders/{id}")));
    }
    let page = ConfirmPage {
        frame: visitor.frame("Cancel this order?", Section::Orders),
        name: format!("Order {} for {}", order.record.number, order.record.buyer_name),
        lead: "will be cancelled when you confirm.",
        consequences: CANCEL_CONSEQUENCES.to_vec(),
        button: "Cancel order",
        nonce: new_nonce(visitor.app()),
        asks_reason: true,
        back_path: format!("/admin/orders/{id}"),
    };
    render(http::StatusCode::OK, &page)
}

/// Reads the reason of a cancellation.
pub(super) fn read_cancellation(form: &Form) -> Result<OrderCancellation> {
    let invalid = |message| Error::invalid(vec![Fault::new("/reason", "invalid", message)]);
    Ok(OrderCancellation {
        reason: optional_line(form.text("reason"), MAX_REASON_LENGTH).map_err(invalid)?,
    })
}

pub(super) async fn cancel(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    find_order(&visitor, id).await?;
    let (nonce, cancellation) = (parse_nonce(&form)?, read_cancellation(&form)?);
    let cancel = move |tx: &Tx<'_>| {
        let order = cancellation::cancel(tx, EVERYWHERE, id, &IfMatch::Absent, cancellation);
        order.map(|order| order.record.id.to_string())
    };
    run_once(&visitor, nonce, cancel).await?;
    Ok(see_other(&format!("/admin/orders/{id}?done=cancelled")))
}
