//! JSON endpoints for discount codes.

use crate::error::Result;
use crate::ids::DiscountId;
use crate::money::MoneyManage;
use crate::shop::discount::{self, Discount, DiscountChange, DiscountFilter, NewDiscount};
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
#[endpoint(get, "/discounts", id = "discounts.list", tag = "Store",
    200(ListResponse<Discount>, "A page of discount codes."))]
async fn list(caller: Caller<MoneyManage>, paging: Paging<DiscountFilter>) -> Result<Response> {
    caller.require_all_teams()?;
    caller.page(paging, |db, _, filter, page| discount::list(db, filter, page)).await
}

/// Create a discount code
///
/// Send either `amount` and `currency`, or `percent_bps` in basis points.
#[endpoint(post, "/discounts", id = "discounts.create", tag = "Store",
    example = json!({ "code": "SIBLING10", "percent_bps": 1000, "max_uses": 50 }),
    201(ObjectResponse<Discount>, "The new discount code."))]
async fn create(caller: Caller<MoneyManage>, body: Body<NewDiscount>) -> Result<Response> {
    caller.require_all_teams()?;
    caller.create(body, discount::create).await
}

/// Retrieve a discount code
///
/// Returns a discount code with its number of uses.
#[endpoint(get, "/discounts/{discount_id}", id = "discounts.get", tag = "Store",
    params(("discount_id" = DiscountId, Path, description = "ID of the discount code.")),
    200(ObjectResponse<Discount>, "The discount code."))]
async fn find(caller: Caller<MoneyManage>, id: DiscountId) -> Result<Response> {
    caller.require_all_teams()?;
    caller.read_object(move |db| discount::find(db, id)).await
}

/// Update a discount code
///
/// Omitted fields stay unchanged; `null` clears a field. Existing orders keep their discount.
#[endpoint(patch, "/discounts/{discount_id}", id = "discounts.update", tag = "Store",
    params(("discount_id" = DiscountId, Path, description = "ID of the discount code.")),
    example = json!({ "max_uses": 100 }),
    200(ObjectResponse<Discount>, "The updated discount code."))]
async fn change(
    caller: Caller<MoneyManage>,
    id: DiscountId,
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
#[endpoint(delete, "/discounts/{discount_id}", id = "discounts.archive", tag = "Store",
    outcome = json!({ "status": "archived" }),
    params(("discount_id" = DiscountId, Path, description = "ID of the discount code.")),
    200(ObjectResponse<Discount>, "The archived discount code."))]
async fn archive(
    caller: Caller<MoneyManage>,
    id: DiscountId,
    body: Body<NoBody>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.change(body, move |tx, NoBody, expected| discount::archive(tx, id, expected)).await
}
