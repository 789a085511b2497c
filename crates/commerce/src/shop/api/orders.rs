//! JSON endpoints for orders.

use macros::input;

use crate::money::OrdersRead;
use crate::money::payment::{self, Method, Payment, PaymentDetails, Refund};
use crate::paging;
use crate::prelude::*;
use crate::shop::cancellation::{self, OrderCancellation};
use crate::shop::export::OrdersTable;
use crate::shop::fulfillment::{self, FulfillRequest};
use crate::shop::listing::{self, OrderFilter};
use crate::shop::order::{self, Order, OrderChange};
use crate::shop::placing::{self, NewOrder};
use crate::shop::refunding::{self, NewRefund, RefundedOrder};
use crate::shop::settle;
use crate::shop::{OrdersManage, OrdersOversee, OrdersPlace};
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
        .with(routes!(export))
}

/// List orders
///
/// Newest first by default. Users see orders for themselves and their dependents. Coaches and managers also
/// see all orders of their teams.
#[endpoint(get, "/orders", id = "orders.list", tag = "Store",
    200(ListResponse<Order>, "A page of orders."))]
async fn list(caller: Caller<OrdersRead>, paging: Paging<OrderFilter>) -> Result<Response> {
    caller.team_access().check_key_filter(paging.filter.team_id, &paging.filter.team_ids)?;
    caller.page(paging, listing::list).await
}

/// Place an order
///
/// The server calculates prices, tax and totals, which do not change later. Stock is reserved immediately and
/// released if the order is cancelled or not paid in time. Families order for themselves and their
/// dependents, coaches and managers for their teams, keys for anybody. If a product is sold out, the response is
/// 409 with the error code `sold_out`. Free orders are paid immediately.
#[endpoint(post, "/orders", id = "orders.create", tag = "Store",
    example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "buyer": { "name": "Rui Duarte", "email": "rui@example.org" },
        "lines": [{ "product_id": "prod_01kbm2x5q8f7vr0n3hd9tzc4wy", "variant_id": "var_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 2 }],
        "discount_code": "SIBLING10" }),
    201(ObjectResponse<Order>, "The new order."))]
async fn create(caller: Caller<OrdersPlace>, body: Body<NewOrder>) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| placing::place(tx, &access, new)).await
}

/// Retrieve an order
///
/// Returns an order with its lines. `GET /orders/{order_id}/payments` lists its payments.
#[endpoint(get, "/orders/{order_id}", id = "orders.get", tag = "Store",
    200(ObjectResponse<Order>, "The order."))]
async fn find(caller: Caller<OrdersRead>, id: OrderId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| order::find(db, &access, id)).await
}

/// Update an order
///
/// Changes the note and metadata. Lines and amounts of an order do not change; cancel or refund it instead.
#[endpoint(patch, "/orders/{order_id}", id = "orders.update", tag = "Store",
    example = json!({ "note": "Ring twice", "metadata": { "invoice": "2026-17" } }),
    200(ObjectResponse<Order>, "The updated order."))]
async fn change(
    caller: Caller<OrdersManage>,
    id: OrderId,
    body: Body<OrderChange>,
) -> Result<Response> {
    caller.change_by_id(id, body, order::change).await
}

/// Record the payment of an order
///
/// An order is paid once and in full. If you send `amount`, it must equal the order's total.
#[endpoint(post, "/orders/{order_id}/pay", id = "orders.pay", tag = "Store",
    outcome = json!({ "status": "paid", "paid": 4498 }),
    example = json!({ "method": "cash", "reference": "till 2" }),
    200(ObjectResponse<Order>, "The paid order."))]
async fn pay(
    caller: Caller<OrdersManage>,
    id: OrderId,
    body: Body<OrderPayment>,
) -> Result<Response> {
    let access = caller.team_access();
    let work = move |tx: &Tx<'_>, payment: OrderPayment, expected: &IfMatch| {
        let OrderPayment { method, reference, amount } = payment;
        let paid = PaymentDetails { amount, reference, ..PaymentDetails::new(method) };
        settle::pay(tx, expected.check(order::find(tx, &access, id))?, paid)
    };
    caller.change(body, work).await
}

/// Fulfill an order
///
/// Records that the buyer has received everything, or some units of some lines. A paid order becomes `fulfilled` when
/// nothing is left to fulfill. A partially refunded order stays `partially_refunded`; its `fulfilled_at` is set
/// instead.
#[endpoint(post, "/orders/{order_id}/fulfill", id = "orders.fulfill", tag = "Store",
    outcome = json!({ "status": "fulfilled", "paid": 4498 }),
    example = json!({ "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 1 }] }),
    200(ObjectResponse<Order>, "The order."))]
async fn fulfill(
    caller: Caller<OrdersManage>,
    id: OrderId,
    body: OptionalBody<FulfillRequest>,
) -> Result<Response> {
    caller.change_by_id(id, body, fulfillment::fulfill).await
}

/// Cancel an order
///
/// Only unpaid orders, and free orders that are not fulfilled, can be cancelled. The stock is restored and the use of
/// the discount code is released. Families can cancel their own orders.
#[endpoint(post, "/orders/{order_id}/cancel", id = "orders.cancel", tag = "Store",
    outcome = json!({ "status": "cancelled", "cancelled_at": "2026-09-05T09:30:00.000000Z" }),
    example = json!({ "reason": "Ordered twice" }),
    200(ObjectResponse<Order>, "The cancelled order."))]
async fn cancel(
    caller: Caller<OrdersPlace>,
    id: OrderId,
    body: OptionalBody<OrderCancellation>,
) -> Result<Response> {
    caller.change_by_id(id, body, cancellation::cancel).await
}

/// Refund an order
///
/// Refunds everything that is left, an `amount`, or the price of some units in `lines`. Refunds never exceed the
/// payment. Returned units go back to the stock unless `restock` is `false`.
#[endpoint(post, "/orders/{order_id}/refund", id = "orders.refund", tag = "Store",
    example = json!({
        "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 1 }], "restock": true, "reason": "Too small" }),
    200(ObjectResponse<RefundedOrder>, "The order."))]
async fn refund(
    caller: Caller<OrdersManage>,
    id: OrderId,
    body: OptionalBody<NewRefund>,
) -> Result<Response> {
    caller.change_by_id(id, body, refunding::refund).await
}

/// List payments of an order
///
/// Returns payments in the order in which they were recorded. A free order has no payment.
#[endpoint(get, "/orders/{order_id}/payments", id = "orders.payments.list", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order."),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of payments per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<paging::Order>, Query, description = "Sort order. Default: `asc`.")),
    200(ListResponse<Payment>, "A page of payments."))]
async fn payments(
    caller: Caller<OrdersRead>,
    id: OrderId,
    paging: Paging<NoQuery>,
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
#[endpoint(get, "/orders/{order_id}/refunds", id = "orders.refunds.list", tag = "Store",
    params(("order_id" = OrderId, Path, description = "ID of the order."),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of refunds per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<paging::Order>, Query, description = "Sort order. Default: `asc`.")),
    200(ListResponse<Refund>, "A page of refunds."))]
async fn refunds(
    caller: Caller<OrdersRead>,
    id: OrderId,
    paging: Paging<NoQuery>,
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

/// Export orders
///
/// One row per order line, in order of creation. Columns: `order_id`, `number`, `team_id`, `team`, `status`,
/// `created_at`, `paid_at`, `fulfilled_at`, `cancelled_at`, `buyer_member_id`, `buyer`, `buyer_email`, `note`,
/// `discount_code`, `currency`, `order_total`, `order_paid`, `order_refunded`, `line_id`, `product_id`, `product`,
/// `variant`, `unit_price`, `quantity`, `discount`, `tax_rate_bps`, `tax_included`, `tax`, `total`, `fulfilled`,
/// `returned`, `refunded`, `external_id`. Amounts are in minor units of the currency.
#[endpoint(get, "/exports/orders.csv", id = "exports.orders", tag = "Exports",
    200(String, "The CSV file.", "text/csv",
        "order_id,number,team_id,team,status,created_at,paid_at,fulfilled_at,cancelled_at,buyer_member_id,\
        buyer,buyer_email,note,discount_code,currency,order_total,order_paid,order_refunded,line_id,\
        product_id,product,variant,unit_price,quantity,discount,tax_rate_bps,tax_included,tax,total,\
        fulfilled,returned,refunded,external_id\n\
        ord_01kbm2x5q8f7vr0n3hd9tzc4wy,1,team_01kbm2x5q8f7vr0n3hd9tzc4wy,Hawks U12,placed,\
        2026-10-27T17:00:00.000000Z,,,,mem_01kbm2x5q8f7vr0n3hd9tzc4wy,Inês Duarte,,,SIBLING10,EUR,3150,0,0,\
        lin_01kbm2x5q8f7vr0n3hd9tzc4wy,prod_01kbm2x5q8f7vr0n3hd9tzc4wy,Home kit,128,3499,1,349,2300,true,\
        589,3150,0,0,0,\n"))]
async fn export(caller: Caller<OrdersOversee>, query: Download<OrdersTable>) -> Result<Response> {
    caller.require_teams(query.table.team_id, &[])?;
    query.send(&caller, "orders.csv").await
}
