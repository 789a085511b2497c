//! JSON endpoints for card payments.

use super::checkout::{self, Checkout, CheckoutRequest, NewCheckout};
use super::checkout_session;
use super::subject::Subject;
use crate::money::OrdersRead;
use crate::prelude::*;
use crate::shop::OrdersPlace;
use crate::web::prelude::*;

/// `/orders/{id}/checkout`, `/dues/{id}/checkout` and `/checkouts/{id}`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(pay_order)).with(routes!(pay_due)).with(routes!(find))
}

/// Create a checkout session for an order
///
/// The response contains the `url` of a page where the order can be paid by card within an hour. Send the payer
/// there. The order is paid as soon as the payment provider confirms the payment. While a session is open, the same
/// one is returned.
#[endpoint(post, "/orders/{order_id}/checkout", id = "orders.checkout", tag = "Money",
    example = json!({}),
    201(ObjectResponse<Checkout>, "The checkout session."))]
async fn pay_order(
    caller: Caller<OrdersPlace>,
    id: OrderId,
    body: OptionalBody<NewCheckout>,
) -> Result<Response> {
    pay(caller, Subject::Order(id), body).await
}

/// Create a checkout session for a due
///
/// The response contains the `url` of a page where the due can be paid by card within an hour, in full or in part. Send
/// the payer there. The payment is recorded as soon as the payment provider confirms it. While a session for the same
/// amount is open, the same one is returned.
#[endpoint(post, "/dues/{due_id}/checkout", id = "dues.checkout", tag = "Money",
    example = json!({ "amount": 2500 }),
    201(ObjectResponse<Checkout>, "The checkout session."))]
async fn pay_due(
    caller: Caller<OrdersPlace>,
    id: DueId,
    body: OptionalBody<NewCheckout>,
) -> Result<Response> {
    pay(caller, Subject::Due(id), body).await
}

/// Retrieve a checkout session
///
/// Returns a checkout session. Its `status` shows whether it was paid.
#[endpoint(get, "/checkouts/{checkout_id}", id = "checkouts.get", tag = "Money",
    params(("checkout_id" = CheckoutId, Path, description = "ID of the checkout session.")),
    200(ObjectResponse<Checkout>, "The checkout session."))]
async fn find(caller: Caller<OrdersRead>, id: CheckoutId) -> Result<Response> {
    let access = caller.team_access();
    // Expiry publishes no notification, so a cached response could be stale.
    caller.bypass_cache().read_object(move |db| checkout::find_visible(db, &access, id)).await
}

/// Opens a checkout session and returns it. A repeated request with the same idempotency key gets the stored response,
/// even if opening fails now.
async fn pay(
    caller: Caller<OrdersPlace>,
    subject: Subject,
    body: Body<NewCheckout>,
) -> Result<Response> {
    let (app, access) = (caller.app(), caller.team_access());
    let request =
        CheckoutRequest { subject, amount: body.value.amount, expected: caller.if_match()? };
    let opened = checkout_session::open(app, caller.scope(), access, request).await;
    let answer = move |tx: &Tx<'_>, _| match opened? {
        (checkout, Some(session)) => checkout::record_session(tx, checkout.id, &session),
        (checkout, None) => Ok(checkout),
    };
    caller.with_location_prefix("/checkouts").create(body, answer).await
}
