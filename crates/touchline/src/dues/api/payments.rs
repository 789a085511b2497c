//! What was paid for dues, and what was given back.

use axum::response::Response;
use utoipa_axum::routes;

use crate::dues::due;
use crate::dues::paying::{self, NewDuePayment, NewDueRefund};
use crate::error::Result;
use crate::ids::{DueId, PaymentId};
use crate::money::MOST;
use crate::money::payment::{self, Method, Payment};
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody};
use crate::web::caller::{Caller, OrdersManage, OrdersPlace, OrdersRead};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{Nothing, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

pub(in crate::dues) const REFERENCE: usize = 120;
pub(in crate::dues) const REASON: usize = 500;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, pay)).with(routes!(find)).with(routes!(refund))
}

/// List what was paid for a due
///
/// In the order in which it was written down.
#[utoipa::path(get, path = "/dues/{due_id}/payments", operation_id = "dues_payments_list", tag = "Dues",
    params(("due_id" = DueId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many payments to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out.")),
    responses((status = 200, description = "A page of payments.", body = Many<Payment>), Problems),
    security(("key" = ["orders:read"])))]
async fn list(
    caller: Caller<OrdersRead>,
    At(id): At<DueId>,
    Query(paging): Query<Paging<Nothing>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, reach, _, page| {
            due::find(db, reach, id)?;
            payment::page(db, &id.to_string(), page)
        })
        .await
}

/// Write down a payment
///
/// What is more than owed becomes the payer's credit, which the next charge uses. With the method `credit`,
/// what the payer has paid ahead is used, never more than there is. Whoever runs the team writes down what was
/// paid; families use their credit.
#[utoipa::path(post, path = "/dues/{due_id}/payments", operation_id = "dues_payments_create", tag = "Dues",
    params(("due_id" = DueId, Path)),
    request_body(content = NewDuePayment, example = json!({ "amount": 5000, "method": "transfer", "reference": "Statement 12" })),
    responses((status = 201, description = "The payment.", body = One<Payment>), Problems),
    security(("key" = ["orders:write"])))]
async fn pay(
    caller: Caller<OrdersPlace>,
    At(id): At<DueId>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewDuePayment>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .create_for(body, move |tx, new, expected| paying::pay(tx, &reach, id, expected, new))
        .await
}

/// Get a payment
#[utoipa::path(get, path = "/dues/{due_id}/payments/{payment_id}", operation_id = "dues_payments_get", tag = "Dues",
    params(("due_id" = DueId, Path), ("payment_id" = PaymentId, Path)),
    responses((status = 200, description = "The payment.", body = One<Payment>), Problems),
    security(("key" = ["orders:read"])))]
async fn find(
    caller: Caller<OrdersRead>,
    At((due, id)): At<(DueId, PaymentId)>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .one(move |db| {
            due::find(db, &reach, due)?;
            paying::find(db, due, id)
        })
        .await
}

/// Give a payment back
///
/// Wholly or in part. What became a credit goes first, as far as it is not spent; the rest is owed again,
/// unless what was open was waived. Never more than is left of the payment.
#[utoipa::path(post, path = "/dues/{due_id}/payments/{payment_id}/refund", operation_id = "dues_payments_refund", tag = "Dues",
    params(("due_id" = DueId, Path), ("payment_id" = PaymentId, Path)),
    request_body(content = NewDueRefund, example = json!({ "amount": 1000, "reason": "Paid twice" })),
    responses((status = 200, description = "The payment, with what was given back of it.", body = One<Payment>), Problems),
    security(("key" = ["orders:write"])))]
async fn refund(
    caller: Caller<OrdersManage>,
    At(at): At<(DueId, PaymentId)>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NewDueRefund>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, new, expected| paying::refund(tx, &reach, at, expected, new))
        .await
}

impl FromBody for NewDuePayment {
    fn read(fields: &mut Fields) -> Self {
        let method = fields.word("method");
        Self {
            amount: fields.number("amount", 1, MOST).apply(None),
            method: fields.required("method", method).unwrap_or(Method::Other),
            currency: fields.currency("currency").apply(None),
            reference: fields.line("reference", REFERENCE).apply(None),
            paid_at: fields.moment("paid_at").apply(None),
        }
    }
}

impl FromBody for NewDueRefund {
    fn read(fields: &mut Fields) -> Self {
        Self {
            amount: fields.number("amount", 1, MOST).apply(None),
            method: fields.word("method").apply(None),
            reason: fields.line("reason", REASON).apply(None),
        }
    }
}
