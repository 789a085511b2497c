//! JSON endpoints for discount codes.

use crate::error::Result;
use crate::ids::DiscountId;
use crate::shop::discount::{self, Discount, DiscountChange, DiscountFilter, NewDiscount};
use crate::web::caller::MoneyManage;
use crate::web::prelude::*;

/// Maximum length of a code.
pub(in crate::shop) const MAX_CODE_LENGTH: usize = 40;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List discount codes
///
/// Lists active codes by default, oldest first. Only available to admins, and to keys with `orders:write` and access to
/// all teams, because everybody who knows a code can use it.
#[utoipa::path(get, path = "/discounts", operation_id = "discounts_list", tag = "Store",
    params(Paging<DiscountFilter>),
    responses((status = 200, description = "A page of discount codes.", body = ListResponse<Discount>)),
    security(("key" = ["orders:write"])))]
async fn list(
    caller: Caller<MoneyManage>,
    Query(paging): Query<Paging<DiscountFilter>>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.page(paging, |db, _, filter, page| discount::list(db, filter, page)).await
}

/// Create a discount code
///
/// Send either `amount` and `currency`, or `percent_bps` in basis points.
#[utoipa::path(post, path = "/discounts", operation_id = "discounts_create", tag = "Store",
    request_body(content = NewDiscount, example = json!({ "code": "SIBLING10", "percent_bps": 1000, "max_uses": 50 })),
    responses((status = 201, description = "The new discount code.", body = ObjectResponse<Discount>)),
    security(("key" = ["orders:write"])))]
async fn create(
    caller: Caller<MoneyManage>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<NewDiscount>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.create(body, discount::create).await
}

/// Retrieve a discount code
///
/// Returns a discount code with its number of uses.
#[utoipa::path(get, path = "/discounts/{discount_id}", operation_id = "discounts_get", tag = "Store",
    params(("discount_id" = DiscountId, Path, description = "ID of the discount code.")),
    responses((status = 200, description = "The discount code.", body = ObjectResponse<Discount>)),
    security(("key" = ["orders:write"])))]
async fn find(
    caller: Caller<MoneyManage>,
    PathParams(id): PathParams<DiscountId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.read_object(move |db| discount::find(db, id)).await
}

/// Update a discount code
///
/// Omitted fields stay unchanged; `null` clears a field. Existing orders keep their discount.
#[utoipa::path(patch, path = "/discounts/{discount_id}", operation_id = "discounts_update", tag = "Store",
    params(("discount_id" = DiscountId, Path, description = "ID of the discount code.")),
    request_body(content = DiscountChange, example = json!({ "max_uses": 100 })),
    responses((status = 200, description = "The updated discount code.", body = ObjectResponse<Discount>)),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<MoneyManage>,
    PathParams(id): PathParams<DiscountId>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<DiscountChange>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller
        .change(body, move |tx, change, expected| discount::change(tx, id, expected, change))
        .await
}

/// Archive a discount code
///
/// The code can no longer be used, and its name becomes available for a new code.
#[utoipa::path(delete, path = "/discounts/{discount_id}", operation_id = "discounts_archive", tag = "Store",
    params(("discount_id" = DiscountId, Path, description = "ID of the discount code.")),
    responses((status = 200, description = "The archived discount code.", body = ObjectResponse<Discount>)),
    security(("key" = ["orders:write"])))]
async fn archive(
    caller: Caller<MoneyManage>,
    PathParams(id): PathParams<DiscountId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.change(body, move |tx, NoBody, expected| discount::archive(tx, id, expected)).await
}
