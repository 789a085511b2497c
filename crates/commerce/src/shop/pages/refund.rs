//! The refund page of an order.

use super::order::LineQuantities;
use super::order_view::OrderView;
use super::{AdminSubmission, AdminVisitor, is_form_error, money_text, quantity_label};
use crate::money::pages::refund_methods::{self, REFUND_METHOD};
use crate::prelude::*;
use crate::shop::order::{self, Line, Order};
use crate::shop::refunding::{self, NewRefund};
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::prelude::*;

const EVERYWHERE: &TeamAccess = &TeamAccess::AllTeams;
/// The error if the refundable amount has changed since the page was shown.
const AMOUNT_CHANGED: &str = mark!(
    "Another refund was made since you opened this page, so nothing was refunded now. Check the remaining amount."
);

const FIELDS: &[Field] = &[
    Field::radio(
        "how",
        "What to refund",
        &[
            Choice::new("all", "Everything")
                .about("Refund {refundable}. All items count as returned."),
            Choice::new("lines", "Some items")
                .about("Refund the price of the items that are returned."),
            Choice::new("amount", "An amount").about("No items are returned."),
        ],
    )
    .required("Choose what to refund.")
    .page_only(),
    Field::slot("lines").when("how", &["lines"]),
    Field::amount("amount", "Amount in {currency}")
        .required("")
        .when("how", &["amount"])
        .or_reject("Clear the amount, or choose “An amount”."),
    Field::check(
        "restock",
        "Return items to stock",
        "Do not choose this if they are broken or worn.",
    )
    .when("how", &["all", "lines"]),
    REFUND_METHOD,
    Field::line("reason", "Reason", 500),
    // The refundable amount on the page, in minor units.
    Field::hidden("left").page_only(),
];

/// The quantities of a refund by lines.
#[derive(Template)]
#[template(path = "shop/returned_lines.html")]
struct ReturnedLines<'a> {
    order: &'a Order,
    quantities: &'a LineQuantities,
    faults: &'a Faults,
}

impl ReturnedLines<'_> {
    /// Label of the field for the units of a line that can be returned.
    fn returnable_label(line: &Line) -> String {
        quantity_label(line, line.quantity - line.returned)
    }
}

#[derive(Template)]
#[template(path = "shop/refund.html")]
struct RefundPage {
    frame: Frame,
    order: OrderView,
    /// Whether the order was paid by card, so that the refund can be automatic.
    paid_by_card: bool,
    form: FilledForm,
}

/// The refund this form requests; `None` after adding errors.
fn to_refund(
    form: &mut FilledForm,
    quantities: &LineQuantities,
    refundable: kit::Money,
) -> Option<NewRefund> {
    let mut body = form.body();
    refund_methods::clear_card(&mut body);
    let by_line = form.text("how") == "lines";
    if by_line == quantities.lines.is_empty() {
        let error = if by_line {
            t!("Enter a quantity for at least one item.")
        } else {
            t!("Clear the quantities, or choose “Some items”.")
        };
        form.faults.add("lines", error);
    }
    if body["amount"].as_i64().is_some_and(|amount| amount > refundable.minor) {
        form.faults.add("amount", t!("Enter an amount up to {max}.", max = refundable));
    }
    let new: NewRefund = form.finish(body)?;
    Some(NewRefund { lines: by_line.then(|| quantities.lines.clone()), ..new })
}

async fn show_form(
    visitor: &AdminVisitor,
    id: OrderId,
    form: FilledForm,
    quantities: &LineQuantities,
) -> PageResult {
    let order = find_order(visitor, id).await?;
    let frame = visitor.frame(t!("Refund", "noun"), Section::Orders);
    let refundable = order.refundable();
    let default = refund_methods::default_method(&order.payments, &order.refunds);
    let lines = ReturnedLines { order: &order, quantities, faults: &form.faults }.to_string();
    let mut form = form
        .currency(order.record.currency)
        .word("refundable", money_text(refundable.minor, refundable.currency))
        .with("left", refundable.minor.to_string())
        .slot("lines", lines)
        .only_if(default.is_some(), "method");
    if form.all("method").is_empty() {
        form.set("method", default.unwrap_or_default());
    }
    let status = form.status();
    let paid_by_card = default.is_some();
    render(status, &RefundPage { frame, order, paid_by_card, form })
}

async fn find_order(visitor: &AdminVisitor, id: OrderId) -> Result<OrderView> {
    visitor.read(move |db| OrderView::load(db, EVERYWHERE, id)).await
}

pub(super) async fn refund_form(
    visitor: AdminVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let form = FilledForm::empty(FIELDS).with("how", "all").with("restock", "yes");
    let form = form.nonce(new_nonce(visitor.app()));
    show_form(&visitor, id, form, &LineQuantities::default()).await
}

pub(super) async fn refund(
    PathParams(id): PathParams<OrderId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    let nonce = parse_nonce(&form)?;
    let mut filled = FilledForm::submitted(FIELDS, &form).currency(order.record.currency);
    let mut line_faults = Faults::default();
    let quantities = LineQuantities::read(&form, &order, &mut line_faults);
    if filled.text("how") == "lines" {
        filled.faults = line_faults;
    }
    let new = to_refund(&mut filled, &quantities, order.refundable());
    let (all, shown_amount) = (filled.text("how") == "all", filled.text("left").to_owned());
    let refund = move |tx: &Tx<'_>| {
        // Fails inside `write_once`, so that a form sent twice is recognized even if nothing is left to refund.
        let new = new.ok_or_else(|| Error::invalid(Vec::new()))?;
        let current = order::find(tx, EVERYWHERE, id)?.record;
        if all && (current.paid - current.refunded).to_string() != shown_amount {
            return Err(Error::new(Code::Conflict, AMOUNT_CHANGED));
        }
        refunding::refund(tx, EVERYWHERE, id, &IfMatch::Absent, new).map(|_| id)
    };
    match visitor.write_once(nonce, refund).await {
        Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=refunded"))),
        Err(error) if !is_form_error(&error) => return Err(error.into()),
        Err(error) if filled.faults.is_empty() || error.code == Code::Conflict => {
            filled.faults = quantities.map_faults(&error);
        }
        Err(_) => {}
    }
    show_form(&visitor, id, filled, &quantities).await
}
