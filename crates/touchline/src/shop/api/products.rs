//! The JSON endpoints of products.

use axum::response::Response;
use kit::Change;
use utoipa_axum::routes;

use crate::error::Result;
use crate::ids::{ProductId, TeamId};
use crate::money::MOST;
use crate::paging::Order;
use crate::shop::placing::QUANTITY;
use crate::shop::product::{
    self, Buyers, NewProduct, Product, ProductChange, ProductFilter, Status,
};
use crate::shop::variant::{self, NewVariant};
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, OrdersManage, OrdersRead};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const NAME: usize = 120;
const VARIANT: usize = 60;
const BODY: usize = 10_000;
/// The largest stock that can be set.
const STOCK: i64 = 1_000_000_000;
const WHOLE: i64 = 10_000;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List products
///
/// In order of creation. Only those that are sold, unless `status` says otherwise. Users see what their teams
/// and the whole club sell.
#[utoipa::path(get, path = "/products", operation_id = "products_list", tag = "Store",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many products to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("team_id" = Option<TeamId>, Query, description = "Only what this team sells."),
        ("status" = Option<String>, Query, description = "`active` (if left out), `archived` or `all`."),
        ("on_sale" = Option<bool>, Query, description = "Only what is on sale now, or is not."),
        ("external_id" = Option<String>, Query, description = "Only the product with this id in another system."),
        ("q" = Option<String>, Query, description = "Only products whose name contains this, whatever its case.")),
    responses((status = 200, description = "A page of products.", body = Many<Product>), Problems),
    security(("key" = ["orders:read"])))]
async fn list(
    caller: Caller<OrdersRead>,
    Query(paging): Query<Paging<ProductFilter>>,
) -> Result<Response> {
    if let Some(team) = paging.filter.team_id {
        caller.reaches(team)?;
    }
    // Whether a sale is on depends on the clock, not only on what was changed.
    let caller = if paging.filter.on_sale.is_some() { caller.afresh() } else { caller };
    caller.page(paging, product::list).await
}

/// Create a product
///
/// Coaches and managers sell for their teams. What the whole club sells (`team_id` left out) is for admins and
/// for keys that reach every team.
#[utoipa::path(post, path = "/products", operation_id = "products_create", tag = "Store",
    request_body(content = NewProduct, example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "name": "Home kit", "currency": "EUR", "price": 2499, "tax_rate_bp": 2300,
        "variants": [{ "name": "S", "stock": 10 }, { "name": "M", "stock": 20 }] })),
    responses((status = 201, description = "The new product.", body = One<Product>), Problems),
    security(("key" = ["orders:write"])))]
async fn create(
    caller: Caller<OrdersManage>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewProduct>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.create(body, move |tx, new| product::create(tx, &reach, new)).await
}

/// Get a product
#[utoipa::path(get, path = "/products/{product_id}", operation_id = "products_get", tag = "Store",
    params(("product_id" = ProductId, Path)),
    responses((status = 200, description = "The product.", body = One<Product>), Problems),
    security(("key" = ["orders:read"])))]
async fn find(
    caller: Caller<OrdersRead>,
    At(id): At<ProductId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one(move |db| product::find(db, &reach, id)).await
}

/// Change a product
///
/// Members that are left out stay as they are; `null` clears. `variants` replaces the list: those with an `id`
/// stay, those that are left out are archived. A `stock` is set as it is said, whatever was sold in the meantime;
/// send `If-Match` if that matters. What was ordered keeps its price.
#[utoipa::path(patch, path = "/products/{product_id}", operation_id = "products_update", tag = "Store",
    params(("product_id" = ProductId, Path)),
    request_body(content = ProductChange, example = json!({ "price": 1999, "on_sale_until": null })),
    responses((status = 200, description = "The product after the change.", body = One<Product>), Problems),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<OrdersManage>,
    At(id): At<ProductId>,
    Query(Nothing): Query<Nothing>,
    body: Body<ProductChange>,
) -> Result<Response> {
    let reach = caller.reach();
    let work = move |tx: &store::Tx<'_>, change, expected: &_| {
        product::change(tx, &reach, id, expected, change)
    };
    caller.change(body, work).await
}

/// Archive a product
///
/// It is sold no longer; what was ordered stays.
#[utoipa::path(delete, path = "/products/{product_id}", operation_id = "products_archive", tag = "Store",
    params(("product_id" = ProductId, Path)),
    responses((status = 200, description = "The archived product.", body = One<Product>), Problems),
    security(("key" = ["orders:write"])))]
async fn archive(
    caller: Caller<OrdersManage>,
    At(id): At<ProductId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let reach = caller.reach();
    let work =
        move |tx: &store::Tx<'_>, NoBody, expected: &_| product::archive(tx, &reach, id, expected);
    caller.change(body, work).await
}

fn variants(fields: &mut Fields) -> Change<Vec<NewVariant>> {
    fields.objects("variants", variant::MOST, |fields| NewVariant {
        id: fields.id("id").apply(None),
        name: fields.kept_line("name", VARIANT),
        price: fields.number("price", 0, MOST),
        stock: fields.number("stock", 0, STOCK),
    })
}

impl FromBody for NewProduct {
    fn read(fields: &mut Fields) -> Self {
        let price = fields.number("price", 0, MOST);
        Self {
            team_id: fields.id("team_id").apply(None),
            name: fields.required_line("name", NAME),
            description: fields.block("description", BODY).apply(None),
            currency: fields.currency("currency").apply(None),
            price: fields.required("price", price).unwrap_or_default(),
            tax_rate_bp: fields.number("tax_rate_bp", 0, WHOLE).apply_or(0, 0),
            tax_included: fields.flag("tax_included").apply_or(true, true),
            variants: variants(fields).apply(None).unwrap_or_default(),
            stock: fields.number("stock", 0, STOCK).apply(None),
            on_sale_from: fields.moment("on_sale_from").apply(None),
            on_sale_until: fields.moment("on_sale_until").apply(None),
            buyers: fields.word("buyers").apply_or(Buyers::Everyone, Buyers::Everyone),
            most_per_order: fields.number("most_per_order", 1, QUANTITY).apply(None),
            pick_up_on: fields.day("pick_up_on").apply(None),
            external_id: fields.line("external_id", NAME).apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        }
    }
}

impl FromBody for ProductChange {
    fn read(fields: &mut Fields) -> Self {
        let price = fields.number("price", 0, MOST);
        Self {
            name: fields.kept_line("name", NAME),
            description: fields.block("description", BODY),
            price: fields.kept("price", price),
            tax_rate_bp: fields.number("tax_rate_bp", 0, WHOLE),
            tax_included: fields.flag("tax_included"),
            variants: variants(fields),
            stock: fields.number("stock", 0, STOCK),
            on_sale_from: fields.moment("on_sale_from"),
            on_sale_until: fields.moment("on_sale_until"),
            buyers: fields.word("buyers"),
            most_per_order: fields.number("most_per_order", 1, QUANTITY),
            pick_up_on: fields.day("pick_up_on"),
            external_id: fields.line("external_id", NAME),
            metadata: fields.metadata("metadata"),
        }
    }
}

impl FromQuery for ProductFilter {
    fn read(params: &mut Params) -> Self {
        Self {
            team_id: params.id("team_id"),
            status: params.word_or_all("status", Status::Active),
            on_sale: params.flag("on_sale"),
            external_id: params.line("external_id", NAME),
            q: params.line("q", NAME),
        }
    }
}
