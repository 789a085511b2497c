//! Endpoints for payments of dues and their refunds.

use crate::dues::due;
use crate::dues::paying::{self, NewDuePayment, NewDueRefund, RefundedPayment};
use crate::money::OrdersRead;
use crate::money::payment::{self, Payment};
use crate::prelude::*;
use crate::shop::{OrdersManage, OrdersPlace};
use crate::web::prelude::*;

pub(in crate::dues) const MAX_REFERENCE_LENGTH: usize = 120;
pub(in crate::dues) const MAX_REASON_LENGTH: usize = 500;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, pay)).with(routes!(find)).with(routes!(refund))
}

/// List the payments of a due
///
/// In the order in which they were recorded.
#[endpoint(get, "/dues/{due_id}/payments", id = "dues.payments.list", tag = "Dues",
    params(("due_id" = DueId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of payments per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`.")),
    200(ListResponse<Payment>, "A page of payments."))]
async fn list(caller: Caller<OrdersRead>, id: DueId, paging: Paging<NoQuery>) -> Result<Response> {
    caller
        .page(paging, move |db, access, _, page| {
            due::find(db, access, id)?;
            payment::list(db, &id.to_string(), page)
        })
        .await
}

/// Record a payment
///
/// An overpayment becomes the payer's credit, which the next charge uses. With the method `credit`, the payment is
/// taken from the payer's credit. Coaches and managers of the team can record any payment; families can only pay from
/// their credit.
#[endpoint(post, "/dues/{due_id}/payments", id = "dues.payments.create", tag = "Dues",
    example = json!({ "amount": 5000, "method": "bank_transfer", "reference": "Statement 12" }),
    201(ObjectResponse<Payment>, "The payment."))]
async fn pay(
    caller: Caller<OrdersPlace>,
    id: DueId,
    body: Body<NewDuePayment>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .create_for(body, move |tx, new, expected| paying::pay(tx, &access, id, expected, new))
        .await
}

/// Retrieve a payment
///
/// Returns a payment of a due.
#[endpoint(get, "/dues/{due_id}/payments/{payment_id}", id = "dues.payments.get", tag = "Dues",
    200(ObjectResponse<Payment>, "The payment."))]
async fn find(caller: Caller<OrdersRead>, due: DueId, id: PaymentId) -> Result<Response> {
    let access = caller.team_access();
    caller
        .read_object(move |db| {
            due::find(db, &access, due)?;
            paying::find(db, due, id)
        })
        .await
}

/// Refund a payment
///
/// Refunds a payment in full or in part. Unused credit from the payment is refunded first. The rest becomes owed again,
/// unless the due is waived. The amount cannot exceed what is left of the payment.
#[endpoint(post, "/dues/{due_id}/payments/{payment_id}/refund", id = "dues.payments.refund", tag = "Dues",
    example = json!({ "amount": 1000, "reason": "Paid twice" }),
    200(ObjectResponse<RefundedPayment>, "The payment with its refunded amount, and the refund."))]
async fn refund(
    caller: Caller<OrdersManage>,
    at: (DueId, PaymentId),
    body: OptionalBody<NewDueRefund>,
) -> Result<Response> {
    caller.change_by_id(at, body, paying::refund).await
}
