//! The JSON endpoints of payments by card.

use axum::response::Response;
use store::Tx;
use utoipa_axum::routes;

use super::checkout::{self, Checkout, NewCheckout, Wish};
use super::opening;
use super::subject::Subject;
use crate::error::Result;
use crate::ids::{CheckoutId, DueId, OrderId};
use crate::money;
use crate::web::body::{Body, MaybeBody};
use crate::web::caller::{Caller, OrdersPlace, OrdersRead};
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{Nothing, Query};
use crate::web::reply::One;
use crate::web::routes::Routes;

/// `/orders/{id}/checkout`, `/dues/{id}/checkout` and `/checkouts/{id}`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(pay_order)).with(routes!(pay_due)).with(routes!(find))
}

/// Pay an order by card
///
/// Answers with the address of a page on which it can be paid, within an hour. Send the payer there. The order is
/// paid as soon as the payment provider says so. While a page is open, it is answered again.
#[utoipa::path(post, path = "/orders/{order_id}/checkout", operation_id = "orders_checkout", tag = "Money",
    params(("order_id" = OrderId, Path)),
    request_body(content = NewCheckout, example = json!({})),
    responses((status = 201, description = "The page.", body = One<Checkout>), Problems),
    security(("key" = ["orders:write"])))]
async fn pay_order(
    caller: Caller<OrdersPlace>,
    At(id): At<OrderId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NewCheckout>,
) -> Result<Response> {
    pay(caller, Subject::Order(id), body).await
}

/// Pay a due by card
///
/// Answers with the address of a page on which it can be paid, within an hour: all that is open of it, or a part.
/// Send the payer there. The payment is written down as soon as the payment provider says so. While a page for
/// the same amount is open, it is answered again.
#[utoipa::path(post, path = "/dues/{due_id}/checkout", operation_id = "dues_checkout", tag = "Money",
    params(("due_id" = DueId, Path)),
    request_body(content = NewCheckout, example = json!({ "amount": 2500 })),
    responses((status = 201, description = "The page.", body = One<Checkout>), Problems),
    security(("key" = ["orders:write"])))]
async fn pay_due(
    caller: Caller<OrdersPlace>,
    At(id): At<DueId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NewCheckout>,
) -> Result<Response> {
    pay(caller, Subject::Due(id), body).await
}

/// Get a page on which something is paid by card
///
/// Its `status` says whether it was paid.
#[utoipa::path(get, path = "/checkouts/{checkout_id}", operation_id = "checkouts_get", tag = "Money",
    params(("checkout_id" = CheckoutId, Path)),
    responses((status = 200, description = "The page.", body = One<Checkout>), Problems),
    security(("key" = ["orders:read"])))]
async fn find(
    caller: Caller<OrdersRead>,
    At(id): At<CheckoutId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    // That nobody has paid in time is no news.
    caller.afresh().one(move |db| checkout::shown(db, &reach, id)).await
}

/// Writes down that somebody wants to pay, asks the provider for a page, and answers with it. Whatever comes of
/// that, a request that was answered before gets the same answer.
async fn pay(
    caller: Caller<OrdersPlace>,
    subject: Subject,
    body: Body<NewCheckout>,
) -> Result<Response> {
    let (app, reach) = (caller.app(), caller.reach());
    let wish = Wish { subject, amount: body.value.amount, expected: caller.expected()? };
    let opened = opening::open(app, caller.scope(), reach, wish).await;
    let answer = move |tx: &Tx<'_>, _| match opened? {
        (checkout, Some(page)) => checkout::opened(tx, checkout.id, &page),
        (checkout, None) => Ok(checkout),
    };
    caller.found_below("/checkouts").create(body, answer).await
}

impl FromBody for NewCheckout {
    fn read(fields: &mut Fields) -> Self {
        let amount = fields.number("amount", 1, money::MOST);
        Self { amount: fields.kept("amount", amount) }
    }
}
