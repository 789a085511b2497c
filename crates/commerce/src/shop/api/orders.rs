//! JSON endpoints for orders.

use macros::input;

use crate::money::payment::{self, Method, Payment, PaymentDetails, Refund};
use crate::paging;
use crate::prelude::*;
use crate::shop::cancellation::{self, OrderCancellation};
use crate::shop::fulfillment::{self, FulfillRequest};
use crate::shop::listing::{self, OrderFilter};
use crate::shop::order::{self, Order, OrderChange};
use crate::shop::placing::{self, NewOrder};
use crate::shop::refunding::{self, NewRefund, RefundedOrder};
use crate::shop::settle;
use crate::web::caller::{OrdersManage, OrdersPlace, OrdersRead};
use crate::web::prelude::*;

pub(in crate::shop) const MAX_NOTE_LENGTH: usize = 1000;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, create))
        .with(routes!(find, change))
        .with(routes!(pay))
        .with(routes!(fulfill))
        .with(routes!(cancel))
        .with(routes!(refund))
        .with(routes!(payments))
        .with(routes!(refunds))
}

/// List orders
///
/// Newest first by default. Users see orders for themselves and their dependents. Coaches and managers also
/// see all orders of their teams.
#[utoipa::path(get, path = "/orders", operation_id = "orders_list", tag = "Store",
    params(Paging<OrderFilter>),
    responses((status = 200, description = "A page of orders.", body = ListResponse<Order>)),
    security(("key" = ["orders:read"])))]
async fn list(
    caller: Caller<OrdersRead>,
    Query(paging): Query<Paging<OrderFilter>>,
) -> Result<Response> {
    caller.team_access().check_key_filter(paging.filter.team_id, &paging.filter.team_ids)?;
    caller.page(paging, listing::list).await
}

/// Place an order
///
/// The server calculates prices, tax and totals, which do not change later. Stock is reserved immediately and
/// released if the order is cancelled or not paid in time. Families order for themselves and their
/// dependents, coaches and managers for their teams, keys for anybody. If a product is sold out, the response is
/// 409 with the error code `sold_out`. Free orders are paid immediately.
#[utoipa::path(post, path = "/orders", operation_id = "orders_create", tag = "Store",
    request_body(content = NewOrder, example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "buyer": { "name": "Rui Duarte", "email": "rui@example.org" },
        "lines": [{ "product_id": "prod_01kbm2x5q8f7vr0n3hd9tzc4wy", "variant_id": "var_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 2 }],
        "discount_code": "SIBLING10" })),
    responses((status = 201, description = "The new order.", body = ObjectResponse<Order>)),
    security(("key" = ["orders:write"])))]
async fn create(
    caller: Caller<OrdersPlace>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<NewOrder>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| placing::place(tx, &access, new)).await
}

/// Retrieve an order
///
/// Returns an order with its lines. `GET /orders/{order_id}/payments` lists its payments.
#[utoipa::path(get, path = "/orders/{order_id}", operation_id = "orders_get", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order.")),
    responses((status = 200, description = "The order.", body = ObjectResponse<Order>)),
    security(("key" = ["orders:read"])))]
async fn find(
    caller: Caller<OrdersRead>,
    PathParams(id): PathParams<OrderId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| order::find(db, &access, id)).await
}

/// Update an order
///
/// Changes the note and metadata. Lines and amounts of an order do not change; cancel or refund it instead.
#[utoipa::path(patch, path = "/orders/{order_id}", operation_id = "orders_update", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order.")),
    request_body(content = OrderChange, example = json!({ "note": "Ring twice", "metadata": { "invoice": "2026-17" } })),
    responses((status = 200, description = "The updated order.", body = ObjectResponse<Order>)),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<OrdersManage>,
    PathParams(id): PathParams<OrderId>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<OrderChange>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, change, expected| order::change(tx, &access, id, expected, change))
        .await
}

/// Record the payment of an order
///
/// An order is paid once and in full. If you send `amount`, it must equal the order's total.
#[utoipa::path(post, path = "/orders/{order_id}/pay", operation_id = "orders_pay", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order.")),
    request_body(content = OrderPayment, example = json!({ "method": "cash", "reference": "till 2" })),
    responses((status = 200, description = "The paid order.", body = ObjectResponse<Order>)),
    security(("key" = ["orders:write"])))]
async fn pay(
    caller: Caller<OrdersManage>,
    PathParams(id): PathParams<OrderId>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<OrderPayment>,
) -> Result<Response> {
    let access = caller.team_access();
    let work = move |tx: &Tx<'_>, payment: OrderPayment, expected: &IfMatch| {
        let OrderPayment { method, reference, amount } = payment;
        let paid = PaymentDetails { amount, method, reference, paid_at: None, provider_id: None };
        settle::pay(tx, expected.check(order::find(tx, &access, id))?, paid)
    };
    caller.change(body, work).await
}

/// Fulfill an order
///
/// Records that the buyer has received everything, or some units of some lines. A paid order becomes `fulfilled` when
/// nothing is left to fulfill. A partially refunded order stays `partially_refunded`; its `fulfilled_at` is set
/// instead.
#[utoipa::path(post, path = "/orders/{order_id}/fulfill", operation_id = "orders_fulfill", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order.")),
    request_body(content = FulfillRequest, example = json!({ "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 1 }] })),
    responses((status = 200, description = "The order.", body = ObjectResponse<Order>)),
    security(("key" = ["orders:write"])))]
async fn fulfill(
    caller: Caller<OrdersManage>,
    PathParams(id): PathParams<OrderId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<FulfillRequest>,
) -> Result<Response> {
    let access = caller.team_access();
    let work = move |tx: &Tx<'_>, request, expected: &IfMatch| {
        fulfillment::fulfill(tx, &access, id, expected, request)
    };
    caller.change(body, work).await
}

/// Cancel an order
///
/// Only unpaid orders, and free orders that are not fulfilled, can be cancelled. The stock is restored and the use of
/// the discount code is released. Families can cancel their own orders.
#[utoipa::path(post, path = "/orders/{order_id}/cancel", operation_id = "orders_cancel", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order.")),
    request_body(content = OrderCancellation, example = json!({ "reason": "Ordered twice" })),
    responses((status = 200, description = "The cancelled order.", body = ObjectResponse<Order>)),
    security(("key" = ["orders:write"])))]
async fn cancel(
    caller: Caller<OrdersPlace>,
    PathParams(id): PathParams<OrderId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<OrderCancellation>,
) -> Result<Response> {
    let access = caller.team_access();
    let work = move |tx: &Tx<'_>, body, expected: &IfMatch| {
        cancellation::cancel(tx, &access, id, expected, body)
    };
    caller.change(body, work).await
}

/// Refund an order
///
/// Refunds everything that is left, an `amount`, or the price of some units in `lines`. Refunds never exceed the
/// payment. Returned units go back to the stock unless `restock` is `false`.
#[utoipa::path(post, path = "/orders/{order_id}/refund", operation_id = "orders_refund", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order.")),
    request_body(content = NewRefund, example = json!({
        "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 1 }], "restock": true, "reason": "Too small" })),
    responses((status = 200, description = "The order.", body = ObjectResponse<RefundedOrder>)),
    security(("key" = ["orders:write"])))]
async fn refund(
    caller: Caller<OrdersManage>,
    PathParams(id): PathParams<OrderId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NewRefund>,
) -> Result<Response> {
    let access = caller.team_access();
    let work = move |tx: &Tx<'_>, new, expected: &IfMatch| {
        refunding::refund(tx, &access, id, expected, new)
    };
    caller.change(body, work).await
}

/// List payments of an order
///
/// Returns payments in the order in which they were recorded. A free order has no payment.
#[utoipa::path(get, path = "/orders/{order_id}/payments", operation_id = "orders_payments_list", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order."),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of payments per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<paging::Order>, Query, description = "Sort order. Default: `asc`.")),
    responses((status = 200, description = "A page of payments.", body = ListResponse<Payment>)),
    security(("key" = ["orders:read"])))]
async fn payments(
    caller: Caller<OrdersRead>,
    PathParams(id): PathParams<OrderId>,
    Query(paging): Query<Paging<NoQuery>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, _, page| {
            order::find(db, access, id)?;
            payment::list(db, &id.to_string(), page)
        })
        .await
}

/// List refunds of an order
///
/// Returns refunds in the order in which they were recorded. A refund to a card is `pending` until the payment provider
/// completes it. A `failed` refund does not count as refunded.
#[utoipa::path(get, path = "/orders/{order_id}/refunds", operation_id = "orders_refunds_list", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order."),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of refunds per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<paging::Order>, Query, description = "Sort order. Default: `asc`.")),
    responses((status = 200, description = "A page of refunds.", body = ListResponse<Refund>)),
    security(("key" = ["orders:read"])))]
async fn refunds(
    caller: Caller<OrdersRead>,
    PathParams(id): PathParams<OrderId>,
    Query(paging): Query<Paging<NoQuery>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, _, page| {
            order::find(db, access, id)?;
            payment::list_refunds(db, &id.to_string(), page)
        })
        .await
}

/// The payment of an order.
#[input(as = PayOrderRequest)]
struct OrderPayment {
    /// How the order was paid; `credit` is not allowed.
    method: Method,
    /// Reference of the payment in another system, such as on a bank statement.
    #[input(line(120))]
    reference: Option<String>,
    /// Amount paid in minor units; must equal the order's total.
    #[input(number(1, 1_000_000_000_000))]
    amount: Option<i64>,
}

pub(in crate::shop) fn check_lines(new: &NewOrder, fields: &mut Fields) {
    if new.lines.is_empty() && !fields.is_faulty("lines") {
        fields.fault("lines", "empty", "An order must have at least one line.");
    }
}

pub(in crate::shop) fn check_refund(new: &NewRefund, fields: &mut Fields) {
    if new.amount.is_some() && new.lines.is_some() && fields.has_faults() {
        fields.fault("lines", "mutually_exclusive", refunding::AMOUNT_OR_LINES);
    }
}
