//! JSON endpoints for products.

use axum::response::Response;
use kit::{Change, Timestamp};
use utoipa_axum::routes;

use crate::error::Result;
use crate::ids::{ProductId, TeamId};
use crate::money::MAX_AMOUNT;
use crate::paging::Order;
use crate::shop::placing::MAX_QUANTITY;
use crate::shop::product::WITH_VARIANTS;
use crate::shop::product::{self, AvailableTo, NewProduct, Product, ProductChange, Status};
use crate::shop::product_listing::{self, ProductFilter};
use crate::shop::variant::{self, NewVariant};
use crate::web::body::{Body, NoBody, OptionalBody};
use crate::web::caller::{Caller, OrdersManage, OrdersRead};
use crate::web::cursor::Paging;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::PathParams;
use crate::web::query::{FromQuery, MAX_IDS, NoQuery, Params, Query, one_or_several};
use crate::web::reply::{ListResponse, ObjectResponse};
use crate::web::routes::Routes;

const MAX_NAME_LENGTH: usize = 120;
const MAX_VARIANT_NAME_LENGTH: usize = 60;
const MAX_DESCRIPTION_LENGTH: usize = 10_000;
/// Largest stock that can be set.
const MAX_STOCK: i64 = 1_000_000_000;
/// 100 % in basis points.
const MAX_TAX_RATE_BPS: i64 = 10_000;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List products
///
/// Lists active products by default, oldest first. Users see the products of their teams and of the club.
#[utoipa::path(get, path = "/products", operation_id = "products_list", tag = "Store",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of products per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`."),
        ("team_id" = Option<Vec<TeamId>>, Query, style = Form, explode = false, description = "Only objects of these teams, separated by commas; at most 50."),
        ("status" = Option<String>, Query, description = "Filter by status: `active` (default), `archived` or `all`."),
        ("on_sale" = Option<bool>, Query, description = "Only products that are on sale now (`true`) or are not (`false`)."),
        ("external_id" = Option<String>, Query, description = "Only the product with this ID in another system."),
        ("updated_since" = Option<Timestamp>, Query, description = "Only objects that changed at or after this time."),
        ("q" = Option<String>, Query, description = "Only products whose name contains this text (case-insensitive).")),
    responses((status = 200, description = "A page of products.", body = ListResponse<Product>)),
    security(("key" = ["orders:read"])))]
async fn list(
    caller: Caller<OrdersRead>,
    Query(paging): Query<Paging<ProductFilter>>,
) -> Result<Response> {
    caller.require_teams(paging.filter.team_id, &paging.filter.team_ids)?;
    // Whether a product is on sale depends on the clock, so a cached response could be stale.
    let caller = if paging.filter.on_sale.is_some() { caller.bypass_cache() } else { caller };
    caller.page(paging, product_listing::list).await
}

/// Create a product
///
/// Coaches and managers create products of their teams. Products of the club (without `team_id`) can be created by
/// admins and by keys with access to all teams.
#[utoipa::path(post, path = "/products", operation_id = "products_create", tag = "Store",
    request_body(content = NewProduct, example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "name": "Home kit", "currency": "EUR", "price": 2499, "tax_rate_bps": 2300,
        "variants": [{ "name": "S", "stock": 10 }, { "name": "M", "stock": 20 }] })),
    responses((status = 201, description = "The new product.", body = ObjectResponse<Product>)),
    security(("key" = ["orders:write"])))]
async fn create(
    caller: Caller<OrdersManage>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<NewProduct>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| product::create(tx, &access, new)).await
}

/// Retrieve a product
///
/// Returns a product with its variants and stock.
#[utoipa::path(get, path = "/products/{product_id}", operation_id = "products_get", tag = "Store",
    params(("product_id" = ProductId, Path, description = "ID of the product.")),
    responses((status = 200, description = "The product.", body = ObjectResponse<Product>)),
    security(("key" = ["orders:read"])))]
async fn find(
    caller: Caller<OrdersRead>,
    PathParams(id): PathParams<ProductId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| product::find(db, &access, id)).await
}

/// Update a product
///
/// Omitted fields stay unchanged; `null` clears a field. `variants` replaces the whole list: variants with an `id` are
/// kept, variants missing from it are archived. `stock` is set to the value you send even if units were sold since you
/// read the product; send `If-Match` to prevent that. Existing orders keep their prices.
#[utoipa::path(patch, path = "/products/{product_id}", operation_id = "products_update", tag = "Store",
    params(("product_id" = ProductId, Path, description = "ID of the product.")),
    request_body(content = ProductChange, example = json!({ "price": 1999, "on_sale_until": null })),
    responses((status = 200, description = "The updated product.", body = ObjectResponse<Product>)),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<OrdersManage>,
    PathParams(id): PathParams<ProductId>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<ProductChange>,
) -> Result<Response> {
    let access = caller.team_access();
    let work = move |tx: &store::Tx<'_>, change, expected: &_| {
        product::change(tx, &access, id, expected, change)
    };
    caller.change(body, work).await
}

/// Archive a product
///
/// The product can no longer be ordered. Existing orders do not change.
#[utoipa::path(delete, path = "/products/{product_id}", operation_id = "products_archive", tag = "Store",
    params(("product_id" = ProductId, Path, description = "ID of the product.")),
    responses((status = 200, description = "The archived product.", body = ObjectResponse<Product>)),
    security(("key" = ["orders:write"])))]
async fn archive(
    caller: Caller<OrdersManage>,
    PathParams(id): PathParams<ProductId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    let work =
        move |tx: &store::Tx<'_>, NoBody, expected: &_| product::archive(tx, &access, id, expected);
    caller.change(body, work).await
}

fn check_sale(fields: &mut Fields, from: Option<Timestamp>, until: Option<Timestamp>) {
    let is_wrong = from.zip(until).is_some_and(|(from, until)| until <= from);
    if is_wrong && fields.has_faults() {
        fields.fault("on_sale_until", "too_early", "The sale must end after it starts.");
    }
}

/// Without other faults, this is checked later, together with the existing variants.
fn check_variants(fields: &mut Fields, variants: &[NewVariant]) {
    for (index, new) in variants.iter().enumerate() {
        let (id, name) = (format!("variants/{index}/id"), format!("variants/{index}/name"));
        let is_missing = new.id.is_none() && new.name.is_none();
        if is_missing && fields.has_faults() && !fields.is_faulty(&id) && !fields.is_faulty(&name) {
            fields.fault(&name, "required", "`name` is required for a new variant.");
        }
    }
}

fn check_stock(fields: &mut Fields, has_stock: bool, has_variants: bool) {
    if has_stock && has_variants && fields.has_faults() {
        fields.fault("stock", "with_variants", WITH_VARIANTS);
    }
}

fn read_variants(fields: &mut Fields) -> Change<Vec<NewVariant>> {
    fields.objects("variants", variant::MAX_VARIANTS, |fields| NewVariant {
        id: fields.id("id").apply(None),
        name: fields.non_null_line("name", MAX_VARIANT_NAME_LENGTH),
        price: fields.number("price", 0, MAX_AMOUNT),
        stock: fields.number("stock", 0, MAX_STOCK),
    })
}

impl FromBody for NewProduct {
    fn read(fields: &mut Fields) -> Self {
        let price = fields.number("price", 0, MAX_AMOUNT);
        let read = Self {
            team_id: fields.id("team_id").apply(None),
            name: fields.required_line("name", MAX_NAME_LENGTH),
            description: fields.block("description", MAX_DESCRIPTION_LENGTH).apply(None),
            currency: fields.currency("currency").apply(None),
            price: fields.required("price", price).unwrap_or_default(),
            tax_rate_bps: fields.number("tax_rate_bps", 0, MAX_TAX_RATE_BPS).apply_or(0, 0),
            tax_included: fields.flag("tax_included").apply_or(true, true),
            variants: read_variants(fields).apply(None).unwrap_or_default(),
            stock: fields.number("stock", 0, MAX_STOCK).apply(None),
            on_sale_from: fields.timestamp("on_sale_from").apply(None),
            on_sale_until: fields.timestamp("on_sale_until").apply(None),
            available_to: fields
                .enum_value("available_to")
                .apply_or(AvailableTo::Everyone, AvailableTo::Everyone),
            max_per_order: fields.number("max_per_order", 1, MAX_QUANTITY).apply(None),
            pickup_date: fields.day("pickup_date").apply(None),
            external_id: fields.line("external_id", MAX_NAME_LENGTH).apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        };
        check_sale(fields, read.on_sale_from, read.on_sale_until);
        check_stock(fields, read.stock.is_some(), !read.variants.is_empty());
        check_variants(fields, &read.variants);
        read
    }
}

impl FromBody for ProductChange {
    fn read(fields: &mut Fields) -> Self {
        let price = fields.number("price", 0, MAX_AMOUNT);
        let read = Self {
            name: fields.non_null_line("name", MAX_NAME_LENGTH),
            description: fields.block("description", MAX_DESCRIPTION_LENGTH),
            price: fields.non_null("price", price),
            tax_rate_bps: fields.number("tax_rate_bps", 0, MAX_TAX_RATE_BPS),
            tax_included: fields.flag("tax_included"),
            variants: read_variants(fields),
            stock: fields.number("stock", 0, MAX_STOCK),
            on_sale_from: fields.timestamp("on_sale_from"),
            on_sale_until: fields.timestamp("on_sale_until"),
            available_to: fields.enum_value("available_to"),
            max_per_order: fields.number("max_per_order", 1, MAX_QUANTITY),
            pickup_date: fields.day("pickup_date"),
            external_id: fields.line("external_id", MAX_NAME_LENGTH),
            metadata: fields.metadata("metadata"),
        };
        check_sale(
            fields,
            read.on_sale_from.clone().apply(None),
            read.on_sale_until.clone().apply(None),
        );
        check_stock(
            fields,
            matches!(read.stock, Change::Set(_)),
            matches!(&read.variants, Change::Set(all) if !all.is_empty()),
        );
        if let Change::Set(variants) = &read.variants {
            check_variants(fields, variants);
        }
        read
    }
}

impl FromQuery for ProductFilter {
    fn read(params: &mut Params) -> Self {
        let (team_id, team_ids) = one_or_several(params.ids("team_id", MAX_IDS));
        Self {
            team_id,
            team_ids,
            status: params.enum_or_all("status", Status::Active),
            on_sale: params.flag("on_sale"),
            external_id: params.line("external_id", MAX_NAME_LENGTH),
            updated_since: params.timestamp("updated_since"),
            q: params.line("q", MAX_NAME_LENGTH),
        }
    }
}
