//! The admin page of an order: payment, fulfillment, cancellation and history.

use std::borrow::Borrow;

use super::order_view::OrderView;
use super::{
    AdminSubmission, AdminVisitor, display, is_form_error, map_faults, money, quantity_label,
};
use crate::accounts::permissions::Permission;
use crate::money::pages::methods;
use crate::money::payment::{Method, PaymentDetails};
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
    order: OrderView,
    /// The form for a payment. It also has the errors of the quantities.
    form: FilledForm,
    quantities: LineQuantities,
}

impl OrderPage {
    fn can_fulfill(&self) -> bool {
        let paid = matches!(self.order.record.status, Status::Paid | Status::PartiallyRefunded);
        paid && self.order.lines.iter().any(|line| line.unfulfilled() > 0)
    }

    fn can_cancel(&self) -> bool {
        can_cancel(&self.order)
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

async fn render_order(
    visitor: &AdminVisitor,
    id: OrderId,
    form: FilledForm,
    quantities: LineQuantities,
) -> PageResult {
    let order = visitor.read(move |db| OrderView::load(db, EVERYWHERE, id)).await?;
    let frame = visitor.frame(order.title(), Section::Orders);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    render(form.status(), &OrderPage { frame, order, form, quantities })
}

/// The payment form, as it was submitted or with the outstanding amount.
fn payment_form(order: &Order, submitted: Option<&Form>) -> FilledForm {
    let form = match submitted {
        Some(form) => FilledForm::submitted(PAYMENT, form),
        None => FilledForm::empty(PAYMENT)
            .with("method", Method::Cash.as_str())
            .with("amount", display::outstanding(order).format_amount()),
    };
    form.options("method", methods::manual_options()).currency(order.record.currency)
}

pub(super) async fn detail(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    let form = payment_form(&order, None).nonce(new_nonce(visitor.app()));
    render_order(&visitor, id, form, LineQuantities::default()).await
}

/// An order that the visitor may see.
pub(super) async fn find_order<N: Permission>(visitor: &Visitor<N>, id: OrderId) -> Result<Order> {
    let access = visitor.team_access().await?;
    visitor.read(move |db| order::find(db, &access, id)).await
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
        let details = PaymentDetails { amount, reference, ..PaymentDetails::new(method) };
        let pay = move |tx: &Tx<'_>| {
            let before = order::find(tx, EVERYWHERE, id)?;
            settle::pay(tx, before, details).map(|_| id)
        };
        if form.accept(visitor.write_once(nonce, pay).await)?.is_some() {
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
            fulfillment::fulfill(tx, EVERYWHERE, id, &IfMatch::Absent, request).map(|_| id)
        };
        match visitor.write_once(nonce, fulfill).await {
            Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=handed"))),
            Err(error) if is_form_error(&error) => shown.faults = quantities.map_faults(&error),
            Err(error) => return Err(error.into()),
        }
    }
    render_order(&visitor, id, shown, quantities).await
}

/// The fields of a cancellation.
const CANCELLATION: &[Field] = &[Field::line("reason", "Reason", MAX_REASON_LENGTH)];

/// The page that asks before an order is cancelled. `list` is the path of the list of orders.
pub(super) fn cancellation_page<N: Permission>(
    visitor: &Visitor<N>,
    order: &Order,
    (section, list): (Section, &str),
    lead: Sentence,
) -> PageResult {
    let back = format!("{list}/{}", order.record.id);
    if !can_cancel(order) {
        return Ok(see_other(&back));
    }
    let frame = visitor.frame(t!("Cancel this order?"), section);
    let form = FilledForm::empty(CANCELLATION).nonce(new_nonce(visitor.app()));
    ConfirmPage::new(frame, "Cancel order", back)
        .lead(lead.word("number", order.record.number))
        .effect("The items can be sold to other people.")
        .effect("If the order uses a discount code, the code can be used again.")
        .effect("You cannot undo this. To get the items after all, place a new order.")
        .back_label("Go back")
        .form(form, "Nothing was saved")
        .respond()
}

/// Cancels an order, and redirects to it in the list with this path.
pub(super) async fn cancel_order<N: Permission>(
    visitor: &Visitor<N>,
    form: &Form,
    id: OrderId,
    list: &str,
) -> PageResult {
    find_order(visitor, id).await?;
    let (nonce, cancellation) = (parse_nonce(form)?, read_cancellation(form)?);
    let access = visitor.team_access().await?;
    let cancel = move |tx: &Tx<'_>| {
        cancellation::cancel(tx, &access, id, &IfMatch::Absent, cancellation).map(|_| id)
    };
    visitor.write_once(nonce, cancel).await?;
    Ok(see_other(&format!("{list}/{id}?done=cancelled")))
}

/// Reads the reason of a cancellation.
fn read_cancellation(form: &Form) -> Result<OrderCancellation> {
    let mut form = FilledForm::submitted(CANCELLATION, form);
    let invalid = |form: &FilledForm| {
        let fault = Fault::new("/reason", "invalid", form.faults.at("reason").to_owned());
        Error::invalid(vec![fault])
    };
    form.parse().ok_or_else(|| invalid(&form))
}

pub(super) async fn ask_cancel(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    let lead = Sentence::new("Order {number} for {name} will be cancelled when you confirm.");
    let lead = lead.name("name", &order.record.buyer_name);
    cancellation_page(&visitor, &order, (Section::Orders, "/admin/orders"), lead)
}

pub(super) async fn cancel(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult {
    cancel_order(&visitor, &form, id, "/admin/orders").await
}
