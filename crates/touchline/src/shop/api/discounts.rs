//! The JSON endpoints of codes that make orders cheaper.

use axum::response::Response;
use utoipa_axum::routes;

use crate::error::Result;
use crate::ids::DiscountId;
use crate::money::MOST;
use crate::paging::Order;
use crate::shop::discount::{self, Discount, DiscountChange, DiscountFilter, NewDiscount, Status};
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, MoneyManage};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

pub(in crate::shop) const CODE: usize = 40;
const WHOLE: i64 = 10_000;
/// How often a code can be used at most.
const USES: i64 = 1_000_000_000;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List discount codes
///
/// In order of creation. Only those that can be used, unless `status` says otherwise. For admins, and for keys
/// that may write orders and reach every team: whoever knows a code can use it.
#[utoipa::path(get, path = "/discounts", operation_id = "discounts_list", tag = "Store",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many codes to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("status" = Option<String>, Query, description = "`active` (if left out), `archived` or `all`."),
        ("code" = Option<String>, Query, description = "Only this code, whatever its case.")),
    responses((status = 200, description = "A page of codes.", body = Many<Discount>), Problems),
    security(("key" = ["orders:write"])))]
async fn list(
    caller: Caller<MoneyManage>,
    Query(paging): Query<Paging<DiscountFilter>>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.page(paging, |db, _, filter, page| discount::list(db, filter, page)).await
}

/// Create a discount code
///
/// With `amount` and `currency`, or with `percent_bp` in basis points.
#[utoipa::path(post, path = "/discounts", operation_id = "discounts_create", tag = "Store",
    request_body(content = NewDiscount, example = json!({ "code": "SIBLING10", "percent_bp": 1000, "most_uses": 50 })),
    responses((status = 201, description = "The new code.", body = One<Discount>), Problems),
    security(("key" = ["orders:write"])))]
async fn create(
    caller: Caller<MoneyManage>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewDiscount>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.create(body, discount::create).await
}

/// Get a discount code
#[utoipa::path(get, path = "/discounts/{discount_id}", operation_id = "discounts_get", tag = "Store",
    params(("discount_id" = DiscountId, Path)),
    responses((status = 200, description = "The code.", body = One<Discount>), Problems),
    security(("key" = ["orders:write"])))]
async fn find(
    caller: Caller<MoneyManage>,
    At(id): At<DiscountId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.one(move |db| discount::find(db, id)).await
}

/// Change a discount code
///
/// Members that are left out stay as they are; `null` clears. Orders that used it stay as they are.
#[utoipa::path(patch, path = "/discounts/{discount_id}", operation_id = "discounts_update", tag = "Store",
    params(("discount_id" = DiscountId, Path)),
    request_body(content = DiscountChange, example = json!({ "most_uses": 100 })),
    responses((status = 200, description = "The code after the change.", body = One<Discount>), Problems),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<MoneyManage>,
    At(id): At<DiscountId>,
    Query(Nothing): Query<Nothing>,
    body: Body<DiscountChange>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller
        .change(body, move |tx, change, expected| discount::change(tx, id, expected, change))
        .await
}

/// Archive a discount code
///
/// It can no longer be used, and another code can be written like it.
#[utoipa::path(delete, path = "/discounts/{discount_id}", operation_id = "discounts_archive", tag = "Store",
    params(("discount_id" = DiscountId, Path)),
    responses((status = 200, description = "The archived code.", body = One<Discount>), Problems),
    security(("key" = ["orders:write"])))]
async fn archive(
    caller: Caller<MoneyManage>,
    At(id): At<DiscountId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.change(body, move |tx, NoBody, expected| discount::archive(tx, id, expected)).await
}

impl FromBody for NewDiscount {
    fn read(fields: &mut Fields) -> Self {
        Self {
            code: fields.required_line("code", CODE),
            amount: fields.number("amount", 1, MOST).apply(None),
            currency: fields.currency("currency").apply(None),
            percent_bp: fields.number("percent_bp", 1, WHOLE).apply(None),
            team_id: fields.id("team_id").apply(None),
            least_subtotal: fields.number("least_subtotal", 0, MOST).apply(None),
            valid_from: fields.moment("valid_from").apply(None),
            valid_until: fields.moment("valid_until").apply(None),
            most_uses: fields.number("most_uses", 1, USES).apply(None),
            most_uses_each: fields.number("most_uses_each", 1, USES).apply(None),
        }
    }
}

impl FromBody for DiscountChange {
    fn read(fields: &mut Fields) -> Self {
        Self {
            code: fields.kept_line("code", CODE),
            amount: fields.number("amount", 1, MOST),
            currency: fields.currency("currency"),
            percent_bp: fields.number("percent_bp", 1, WHOLE),
            team_id: fields.id("team_id"),
            least_subtotal: fields.number("least_subtotal", 0, MOST),
            valid_from: fields.moment("valid_from"),
            valid_until: fields.moment("valid_until"),
            most_uses: fields.number("most_uses", 1, USES),
            most_uses_each: fields.number("most_uses_each", 1, USES),
        }
    }
}

impl FromQuery for DiscountFilter {
    fn read(params: &mut Params) -> Self {
        Self {
            status: params.word_or_all("status", Status::Active),
            code: params.line("code", CODE),
        }
    }
}
