//! JSON endpoints for discount codes.

use axum::response::Response;
use kit::Timestamp;
use utoipa_axum::routes;

use crate::error::Result;
use crate::ids::{DiscountId, TeamId};
use crate::money::MAX_AMOUNT;
use crate::paging::Order;
use crate::shop::discount::{self, Discount, DiscountChange, DiscountFilter, NewDiscount, Status};
use crate::web::body::{Body, NoBody, OptionalBody};
use crate::web::caller::{Caller, MoneyManage};
use crate::web::cursor::Paging;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::PathParams;
use crate::web::query::{FromQuery, NoQuery, Params, Query};
use crate::web::reply::{ListResponse, ObjectResponse};
use crate::web::routes::Routes;

/// Maximum length of a code.
pub(in crate::shop) const MAX_CODE_LENGTH: usize = 40;
/// 100 % in basis points.
const MAX_PERCENT_BPS: i64 = 10_000;
/// Highest usage limit that can be set.
const MAX_USAGE_LIMIT: i64 = 1_000_000_000;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List discount codes
///
/// Lists active codes by default, oldest first. Only available to admins, and to keys with `orders:write` and access to
/// all teams, because everybody who knows a code can use it.
#[utoipa::path(get, path = "/discounts", operation_id = "discounts_list", tag = "Store",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of codes per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`."),
        ("status" = Option<String>, Query, description = "Filter by status: `active` (default), `archived` or `all`."),
        ("code" = Option<String>, Query, description = "Only the discount with this code (case-insensitive)."),
        ("team_id" = Option<TeamId>, Query, description = "Only codes for products of this team."),
        ("updated_since" = Option<Timestamp>, Query, description = "Only objects that changed at or after this time.")),
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

impl FromBody for NewDiscount {
    fn read(fields: &mut Fields) -> Self {
        fields.require_any(&["amount", "percent_bps"], "Send either `amount` or `percent_bps`.");
        let new = Self {
            code: fields.required_line("code", MAX_CODE_LENGTH),
            amount: fields.number("amount", 1, MAX_AMOUNT).apply(None),
            currency: fields.currency("currency").apply(None),
            percent_bps: fields.number("percent_bps", 1, MAX_PERCENT_BPS).apply(None),
            team_id: fields.id("team_id").apply(None),
            min_subtotal: fields.number("min_subtotal", 0, MAX_AMOUNT).apply(None),
            valid_from: fields.timestamp("valid_from").apply(None),
            valid_until: fields.timestamp("valid_until").apply(None),
            max_uses: fields.number("max_uses", 1, MAX_USAGE_LIMIT).apply(None),
            max_uses_per_buyer: fields.number("max_uses_per_buyer", 1, MAX_USAGE_LIMIT).apply(None),
        };
        fields.add_faults(new.faults());
        new
    }
}

impl FromBody for DiscountChange {
    fn read(fields: &mut Fields) -> Self {
        let read = Self {
            code: fields.non_null_line("code", MAX_CODE_LENGTH),
            amount: fields.number("amount", 1, MAX_AMOUNT),
            currency: fields.currency("currency"),
            percent_bps: fields.number("percent_bps", 1, MAX_PERCENT_BPS),
            team_id: fields.id("team_id"),
            min_subtotal: fields.number("min_subtotal", 0, MAX_AMOUNT),
            valid_from: fields.timestamp("valid_from"),
            valid_until: fields.timestamp("valid_until"),
            max_uses: fields.number("max_uses", 1, MAX_USAGE_LIMIT),
            max_uses_per_buyer: fields.number("max_uses_per_buyer", 1, MAX_USAGE_LIMIT),
        };
        if fields.has_faults() {
            fields.add_faults(read.faults());
        }
        read
    }
}

impl FromQuery for DiscountFilter {
    fn read(params: &mut Params) -> Self {
        Self {
            status: params.enum_or_all("status", Status::Active),
            code: params.line("code", MAX_CODE_LENGTH),
            team_id: params.id("team_id"),
            updated_since: params.timestamp("updated_since"),
        }
    }
}
