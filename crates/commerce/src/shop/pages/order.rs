//! The admin page of an order: payment, fulfillment, cancellation and history.

use std::borrow::Borrow;

use super::display;
use super::{
    AdminSubmission, AdminVisitor, is_form_error, map_faults, money, quantity_label, render,
    run_once, seller_name, team_names,
};
use crate::accounts::account;
use crate::money::pages::methods::{MANUAL_METHODS, method_label};
use crate::money::payment::{self, Method, Payment, PaymentDetails, Refund};
use crate::prelude::*;
use crate::shop::cancellation::{self, OrderCancellation};
use crate::shop::fulfillment::{self, FulfillRequest, LineQuantity};
use crate::shop::order::{self, Order, Status};
use crate::shop::settle;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm, parse_number};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// Messages by the value of `?done=`.
const DONE: [(&str, &str); 5] = [
    ("placed", mark!("The order was placed.")),
    ("paid", mark!("The payment was recorded.")),
    ("handed", mark!("The items were marked as picked up.")),
    ("cancelled", mark!("The order was cancelled. Its items can be sold again.")),
    ("refunded", mark!("The refund was recorded.")),
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
            match parse_number(&input) {
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
    let reason = |text: Option<&String>| text.map(|text| display::reason(text).to_owned());
    let record = &order.record;
    let mut history = vec![entry(record.created_at, t!("Order placed"))];
    for payment in payments {
        let amount = money(payment.amount, payment.currency);
        let title =
            t!("{amount} paid ({method})", amount, method = t!(method_label(payment.method)));
        history.push(HistoryEntry {
            detail: payment.reference.clone(),
            ..entry(payment.paid_at, &title)
        });
    }
    if record.total == 0 {
        history.extend(record.paid_at.map(|at| entry(at, t!("Free order, no payment needed"))));
    }
    history.extend(record.fulfilled_at.map(|at| entry(at, t!("Everything picked up"))));
    for refund in refunds {
        let title = t!("{amount} refunded", amount = money(refund.amount, refund.currency));
        let badge = Some(display::refund_badge(refund.status));
        history.push(HistoryEntry {
            detail: reason(refund.reason.as_ref()),
            badge,
            ..entry(refund.created_at, &title)
        });
    }
    let cancelled = record.cancelled_at.map(|at| entry(at, t!("Cancelled")));
    let detail = reason(record.cancel_reason.as_ref());
    history.extend(cancelled.map(|entry| HistoryEntry { detail, ..entry }));
    history.sort_by_key(|entry| entry.at);
    history
}

/// The fields of a payment.
const PAYMENT: &[Field] = &[
    Field::select("method", "Payment method", &[]).required("Choose a payment method."),
    Field::amount("amount", "Amount in {currency}").required(""),
    Field::line("reference", "Reference", MAX_REFERENCE_LENGTH)
        .hint("For example, the reference on the bank statement."),
];

#[derive(Template)]
#[template(path = "shop/order.html")]
struct OrderPage {
    frame: Frame,
    order: Order,
    seller: String,
    badge: (&'static str, &'static str),
    outstanding: kit::Money,
    history: Vec<HistoryEntry>,
    /// The form for a payment. It also has the errors of the quantities.
    form: FilledForm,
    quantities: LineQuantities,
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

async fn render_order(
    visitor: &AdminVisitor,
    id: OrderId,
    form: FilledForm,
    quantities: LineQuantities,
) -> PageResult {
    let load = move |db: &Reader<'_>| {
        let (order, payments, refunds) = find_with_payments(db, EVERYWHERE, id)?;
        let names = team_names(db, std::iter::once(order.record.team_id))?;
        let seller = seller_name(&names, order.record.team_id);
        let history = history(&order, &payments, &refunds);
        Ok((order, seller, history, account::find(db)?.timezone))
    };
    let (order, seller, history, zone) = visitor.read(load).await?;
    let outstanding = display::outstanding(&order);
    let title = t!("Order {number}", number = order.record.number.to_string());
    let frame = visitor.frame(title, Section::Orders);
    let page = OrderPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        seller,
        badge: display::status_badge(order.record.status),
        outstanding,
        history,
        form,
        quantities,
        zone,
        order,
    };
    render(page.form.status(), &page)
}

/// The payment form, as it was submitted or with the outstanding amount.
fn payment_form(order: &Order, submitted: Option<&Form>) -> FilledForm {
    let methods = MANUAL_METHODS.map(|(method, label)| (method.as_str(), t!(label)));
    let form = match submitted {
        Some(form) => FilledForm::submitted(PAYMENT, form),
        None => FilledForm::empty(PAYMENT)
            .with("method", Method::Cash.as_str())
            .with("amount", display::outstanding(order).format_amount()),
    };
    form.options("method", methods).currency(order.record.currency)
}

pub(super) async fn detail(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    let form = payment_form(&order, None).nonce(new_nonce(visitor.app()));
    render_order(&visitor, id, form, LineQuantities::default()).await
}

pub(super) async fn find_order(visitor: &AdminVisitor, id: OrderId) -> Result<Order> {
    visitor.read(move |db| order::find(db, EVERYWHERE, id)).await
}

pub(super) async fn pay(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    let (nonce, mut form) = (parse_nonce(&form)?, payment_form(&order, Some(&form)));
    let body = form.body();
    let due = money(order.record.total, order.record.currency);
    let amount = body["amount"].as_i64();
    if amount.is_some_and(|amount| amount != due.minor) {
        form.faults.add("amount", t!("An order must be paid in full: {amount}.", amount = due));
    }
    let method = body["method"].as_str().and_then(Method::parse);
    if let Some(method) = method.filter(|_| form.faults.is_empty()) {
        let reference = body["reference"].as_str().map(str::to_owned);
        let details =
            PaymentDetails { amount, method, reference, paid_at: None, provider_id: None };
        let pay = move |tx: &Tx<'_>| {
            let before = order::find(tx, EVERYWHERE, id)?;
            settle::pay(tx, before, details).map(|order| order.record.id.to_string())
        };
        if form.accept(run_once(&visitor, nonce, pay).await)?.is_some() {
            return Ok(see_other(&format!("/admin/orders/{id}?done=paid")));
        }
    }
    render_order(&visitor, id, form, LineQuantities::default()).await
}

pub(super) async fn fulfill(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    let nonce = parse_nonce(&form)?;
    let mut shown = payment_form(&order, None).same_nonce(&nonce);
    let quantities = LineQuantities::read(&form, &order, &mut shown.faults);
    let all = form.text("how") == "all";
    if !all && quantities.lines.is_empty() && shown.faults.is_empty() {
        shown.faults.add("parts", t!("Enter a quantity for at least one item."));
    }
    if all || shown.faults.is_empty() {
        let lines = if all { None } else { Some(quantities.lines.clone()) };
        let fulfill = move |tx: &Tx<'_>| {
            let request = FulfillRequest { lines };
            let order = fulfillment::fulfill(tx, EVERYWHERE, id, &IfMatch::Absent, request);
            order.map(|order| order.record.id.to_string())
        };
        match run_once(&visitor, nonce, fulfill).await {
            Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=handed"))),
            Err(error) if is_form_error(&error) => shown.faults = quantities.map_faults(&error),
            Err(error) => return Err(error.into()),
        }
    }
    render_order(&visitor, id, shown, quantities).await
}

/// The fields of a cancellation.
const CANCELLATION: &[Field] = &[Field::line("reason", "Reason", MAX_REASON_LENGTH)];

/// The page that asks before an order is cancelled.
pub(super) fn cancellation_page(
    frame: Frame,
    app: &App,
    lead: Sentence,
    back: String,
) -> PageResult {
    ConfirmPage::new(frame, "Cancel order", back)
        .lead(lead)
        .effect("The items can be sold to other people.")
        .effect("If the order uses a discount code, the code can be used again.")
        .effect("You cannot undo this. To get the items after all, place a new order.")
        .back_label("Go back")
        .form(FilledForm::empty(CANCELLATION).nonce(new_nonce(app)), "Nothing was saved")
        .respond()
}

pub(super) async fn ask_cancel(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    if !can_cancel(&order) {
        return Ok(see_other(&format!("/admin/orders/{id}")));
    }
    let frame = visitor.frame(t!("Cancel this order?"), Section::Orders);
    let lead = Sentence::new("Order {number} for {name} will be cancelled when you confirm.");
    let lead = lead.word("number", order.record.number).name("name", &order.record.buyer_name);
    cancellation_page(frame, visitor.app(), lead, format!("/admin/orders/{id}"))
}

/// Reads the reason of a cancellation.
pub(super) fn read_cancellation(form: &Form) -> Result<OrderCancellation> {
    let mut form = FilledForm::submitted(CANCELLATION, form);
    let invalid = |form: &FilledForm| {
        let fault = Fault::new("/reason", "invalid", form.faults.at("reason").to_owned());
        Error::invalid(vec![fault])
    };
    form.parse().ok_or_else(|| invalid(&form))
}

pub(super) async fn cancel(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult {
    find_order(&visitor, id).await?;
    let (nonce, cancellation) = (parse_nonce(&form)?, read_cancellation(&form)?);
    let cancel = move |tx: &Tx<'_>| {
        let order = cancellation::cancel(tx, EVERYWHERE, id, &IfMatch::Absent, cancellation);
        order.map(|order| order.record.id.to_string())
    };
    run_once(&visitor, nonce, cancel).await?;
    Ok(see_other(&format!("/admin/orders/{id}?done=cancelled")))
}
