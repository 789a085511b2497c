//! The JSON endpoints of orders.

use axum::response::Response;
use kit::Timestamp;
use store::Tx;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::discounts::CODE;
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::{MemberId, OrderId, ProductId, TeamId};
use crate::money::MOST;
use crate::money::payment::{self, Method, Paid, Payment, Refund};
use crate::paging;
use crate::shop::buyer::NewBuyer;
use crate::shop::ending::{self, OrderCancellation};
use crate::shop::handing::{self, Handing, Part};
use crate::shop::listing::{self, OrderFilter};
use crate::shop::order::{self, Order, Status};
use crate::shop::placing::{self, LINES, NewLine, NewOrder, QUANTITY};
use crate::shop::refunding::{self, NewRefund};
use crate::shop::settle;
use crate::web::body::{Body, MaybeBody};
use crate::web::caller::{Caller, OrdersManage, OrdersPlace, OrdersRead};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const NAME: usize = 120;
pub(in crate::shop) const NOTE: usize = 1000;
const REASON: usize = 500;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, create))
        .with(routes!(find))
        .with(routes!(pay))
        .with(routes!(fulfil))
        .with(routes!(cancel))
        .with(routes!(refund))
        .with(routes!(payments))
        .with(routes!(refunds))
}

/// List orders
///
/// Newest first. Users see what they or those they look after ordered; coaches and managers everything of their
/// teams.
#[utoipa::path(get, path = "/orders", operation_id = "orders_list", tag = "Store",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many orders to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<paging::Order>, Query, description = "`desc` if left out."),
        ("team_id" = Option<TeamId>, Query, description = "Only what this team sold."),
        ("status" = Option<Status>, Query, description = "Only orders that have come so far."),
        ("member_id" = Option<MemberId>, Query, description = "Only what was bought for this member."),
        ("product_id" = Option<ProductId>, Query, description = "Only orders with this product."),
        ("from" = Option<Timestamp>, Query, description = "Only what was placed at this moment or later; a day is its beginning in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only what was placed before this moment; a day is its beginning in UTC.")),
    responses((status = 200, description = "A page of orders.", body = Many<Order>), Problems),
    security(("key" = ["orders:read"])))]
async fn list(
    caller: Caller<OrdersRead>,
    Query(paging): Query<Paging<OrderFilter>>,
) -> Result<Response> {
    if let Some(team) = paging.filter.team_id {
        caller.reaches(team)?;
    }
    caller.page(paging, listing::list).await
}

/// Place an order
///
/// Prices, tax and totals are reckoned here, and stay as they are. Stock is taken at once; an order that is not
/// paid in time is cancelled and gives it back. Families order for themselves and those they look after, coaches and
/// managers for their teams, keys for anybody. What is sold out answers 409 with the fault `sold_out`. What costs
/// nothing is paid at once.
#[utoipa::path(post, path = "/orders", operation_id = "orders_create", tag = "Store",
    request_body(content = NewOrder, example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "buyer": { "name": "Rui Duarte", "email": "rui@example.org" },
        "lines": [{ "product_id": "prod_01kbm2x5q8f7vr0n3hd9tzc4wy", "variant_id": "var_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 2 }],
        "discount_code": "SIBLING10" })),
    responses((status = 201, description = "The new order.", body = One<Order>), Problems),
    security(("key" = ["orders:write"])))]
async fn create(
    caller: Caller<OrdersPlace>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewOrder>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.create(body, move |tx, new| placing::place(tx, &reach, new)).await
}

/// Get an order
#[utoipa::path(get, path = "/orders/{order_id}", operation_id = "orders_get", tag = "Store",
    params(("order_id" = OrderId, Path)),
    responses((status = 200, description = "The order.", body = One<Order>), Problems),
    security(("key" = ["orders:read"])))]
async fn find(
    caller: Caller<OrdersRead>,
    At(id): At<OrderId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one(move |db| order::find(db, &reach, id)).await
}

/// Write down that an order was paid
///
/// All of it, once. `amount` can be left out; if it is there, it must be what is owed.
#[utoipa::path(post, path = "/orders/{order_id}/pay", operation_id = "orders_pay", tag = "Store",
    params(("order_id" = OrderId, Path)),
    request_body(content = OrderPayment, example = json!({ "method": "cash", "reference": "till 2" })),
    responses((status = 200, description = "The paid order.", body = One<Order>), Problems),
    security(("key" = ["orders:write"])))]
async fn pay(
    caller: Caller<OrdersManage>,
    At(id): At<OrderId>,
    Query(Nothing): Query<Nothing>,
    body: Body<OrderPayment>,
) -> Result<Response> {
    let reach = caller.reach();
    let work = move |tx: &Tx<'_>, said: OrderPayment, expected: &Expected| {
        let OrderPayment { method, reference, amount } = said;
        let paid = Paid { amount, method, reference, paid_at: None, provider_id: None };
        settle::pay(tx, expected.check(order::find(tx, &reach, id))?, paid)
    };
    caller.change(body, work).await
}

/// Hand out what was bought
///
/// Everything, or so many of some lines. A paid order is `fulfilled` when everything was handed out; one of which something
/// was given back stays `partially_refunded`, and `fulfilled_at` says since when nothing is left to hand out.
#[utoipa::path(post, path = "/orders/{order_id}/fulfil", operation_id = "orders_fulfil", tag = "Store",
    params(("order_id" = OrderId, Path)),
    request_body(content = Handing, example = json!({ "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 1 }] })),
    responses((status = 200, description = "The order.", body = One<Order>), Problems),
    security(("key" = ["orders:write"])))]
async fn fulfil(
    caller: Caller<OrdersManage>,
    At(id): At<OrderId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<Handing>,
) -> Result<Response> {
    let reach = caller.reach();
    let work = move |tx: &Tx<'_>, handing, expected: &Expected| {
        handing::fulfil(tx, &reach, id, expected, handing)
    };
    caller.change(body, work).await
}

/// Cancel an order
///
/// As long as it is not paid. Its stock and the use of its code are given back. Families cancel their own.
#[utoipa::path(post, path = "/orders/{order_id}/cancel", operation_id = "orders_cancel", tag = "Store",
    params(("order_id" = OrderId, Path)),
    request_body(content = OrderCancellation, example = json!({ "reason": "Ordered twice" })),
    responses((status = 200, description = "The cancelled order.", body = One<Order>), Problems),
    security(("key" = ["orders:write"])))]
async fn cancel(
    caller: Caller<OrdersPlace>,
    At(id): At<OrderId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<OrderCancellation>,
) -> Result<Response> {
    let reach = caller.reach();
    let work =
        move |tx: &Tx<'_>, why, expected: &Expected| ending::cancel(tx, &reach, id, expected, why);
    caller.change(body, work).await
}

/// Give money back for an order
///
/// All that is left, an `amount`, or what so many of some `lines` cost; never more than was paid. What is taken
/// back can be sold again, unless `restock` is `false`.
#[utoipa::path(post, path = "/orders/{order_id}/refund", operation_id = "orders_refund", tag = "Store",
    params(("order_id" = OrderId, Path)),
    request_body(content = NewRefund, example = json!({
        "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 1 }], "restock": true, "reason": "Too small" })),
    responses((status = 200, description = "The order.", body = One<Order>), Problems),
    security(("key" = ["orders:write"])))]
async fn refund(
    caller: Caller<OrdersManage>,
    At(id): At<OrderId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NewRefund>,
) -> Result<Response> {
    let reach = caller.reach();
    let work = move |tx: &Tx<'_>, new, expected: &Expected| {
        refunding::refund(tx, &reach, id, expected, new)
    };
    caller.change(body, work).await
}

/// List what was paid for an order
///
/// In the order in which it was written down. Something that costs nothing has no payment.
#[utoipa::path(get, path = "/orders/{order_id}/payments", operation_id = "orders_payments_list", tag = "Store",
    params(("order_id" = OrderId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many payments to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<paging::Order>, Query, description = "`asc` if left out.")),
    responses((status = 200, description = "A page of payments.", body = Many<Payment>), Problems),
    security(("key" = ["orders:read"])))]
async fn payments(
    caller: Caller<OrdersRead>,
    At(id): At<OrderId>,
    Query(paging): Query<Paging<Nothing>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, reach, _, page| {
            order::find(db, reach, id)?;
            payment::page(db, &id.to_string(), page)
        })
        .await
}

/// List what was given back for an order
///
/// In the order in which it was written down. What goes back to a card is `pending` until the payment provider
/// has done it; a refund that `failed` does not count.
#[utoipa::path(get, path = "/orders/{order_id}/refunds", operation_id = "orders_refunds_list", tag = "Store",
    params(("order_id" = OrderId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many refunds to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<paging::Order>, Query, description = "`asc` if left out.")),
    responses((status = 200, description = "A page of refunds.", body = Many<Refund>), Problems),
    security(("key" = ["orders:read"])))]
async fn refunds(
    caller: Caller<OrdersRead>,
    At(id): At<OrderId>,
    Query(paging): Query<Paging<Nothing>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, reach, _, page| {
            order::find(db, reach, id)?;
            payment::refunds_page(db, &id.to_string(), page)
        })
        .await
}

/// How an order was paid.
#[derive(Debug, ToSchema)]
struct OrderPayment {
    method: Method,
    /// What the payment is called elsewhere, such as on a bank statement.
    #[schema(max_length = 120)]
    reference: Option<String>,
    /// What is owed; another amount is refused.
    #[schema(minimum = 1, maximum = 1_000_000_000_000i64)]
    amount: Option<i64>,
}

impl FromBody for OrderPayment {
    fn read(fields: &mut Fields) -> Self {
        let method = fields.word("method");
        Self {
            method: fields.required("method", method).unwrap_or(Method::Other),
            reference: fields.line("reference", NAME).apply(None),
            amount: fields.number("amount", 1, MOST).apply(None),
        }
    }
}

/// Lines that are named: at least one, if any.
fn parts(fields: &mut Fields) -> Option<Vec<Part>> {
    let parts = fields.objects("lines", LINES, |fields| {
        let (line, quantity) = (fields.id("line_id"), fields.number("quantity", 1, QUANTITY));
        Some(Part {
            line_id: fields.required("line_id", line)?,
            quantity: fields.required("quantity", quantity)?,
        })
    });
    let parts = parts.apply(None)?;
    if parts.is_empty() {
        fields.fault("lines", "empty", "Name at least one line, or leave this out.");
    }
    Some(parts.into_iter().flatten().collect())
}

impl FromBody for Handing {
    fn read(fields: &mut Fields) -> Self {
        Self { lines: parts(fields) }
    }
}

impl FromBody for OrderCancellation {
    fn read(fields: &mut Fields) -> Self {
        Self { reason: fields.line("reason", REASON).apply(None) }
    }
}

impl FromBody for NewRefund {
    fn read(fields: &mut Fields) -> Self {
        Self {
            amount: fields.number("amount", 1, MOST).apply(None),
            lines: parts(fields),
            restock: fields.flag("restock").apply(None),
            method: fields.word("method").apply(None),
            reason: fields.line("reason", REASON).apply(None),
        }
    }
}

impl FromBody for NewOrder {
    fn read(fields: &mut Fields) -> Self {
        Self {
            team_id: fields.id("team_id").apply(None),
            buyer: buyer(fields),
            lines: lines(fields),
            currency: fields.currency("currency").apply(None),
            discount_code: fields.line("discount_code", CODE).apply(None),
            note: fields.block("note", NOTE).apply(None),
            external_id: fields.line("external_id", NAME).apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        }
    }
}

pub(in crate::shop) fn buyer(fields: &mut Fields) -> Option<NewBuyer> {
    let buyer = fields.object("buyer", |fields| NewBuyer {
        member_id: fields.id("member_id").apply(None),
        person_id: fields.id("person_id").apply(None),
        name: fields.line("name", NAME).apply(None),
        email: fields.email("email").apply(None),
    });
    buyer.apply(None)
}

/// What a line says, but for who buys it.
pub(in crate::shop) fn line(fields: &mut Fields) -> Option<NewLine> {
    let (product, quantity) = (fields.id("product_id"), fields.number("quantity", 1, QUANTITY));
    let variant_id = fields.id("variant_id").apply(None);
    let product_id = fields.required("product_id", product);
    let quantity = fields.required("quantity", quantity);
    Some(NewLine { product_id: product_id?, variant_id, quantity: quantity? })
}

fn lines(fields: &mut Fields) -> Vec<NewLine> {
    let lines = fields.objects("lines", LINES, line);
    let lines = fields.required("lines", lines).unwrap_or_default();
    if lines.is_empty() && !fields.is_faulty("lines") {
        fields.fault("lines", "empty", "An order has at least one line.");
    }
    lines.into_iter().flatten().collect()
}

impl FromQuery for OrderFilter {
    const ORDER: paging::Order = paging::Order::Desc;

    fn read(params: &mut Params) -> Self {
        Self {
            team_id: params.id("team_id"),
            status: params.word("status"),
            member_id: params.id("member_id"),
            product_id: params.id("product_id"),
            from: params.moment("from"),
            to: params.moment("to"),
            q: None,
        }
    }
}
