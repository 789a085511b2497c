//! JSON endpoints for products.

use crate::money::OrdersRead;
use crate::prelude::*;
use crate::shop::OrdersManage;
use crate::shop::product::WITH_VARIANTS;
use crate::shop::product::{self, NewProduct, Product, ProductChange};
use crate::shop::product_listing::{self, ProductFilter};
use crate::shop::variant::NewVariant;
use crate::web::prelude::*;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List products
///
/// Lists active products by default, oldest first. Users see the products of their teams and of the club.
#[endpoint(get, "/products", id = "products.list", tag = "Store",
    200(ListResponse<Product>, "A page of products."))]
async fn list(caller: Caller<OrdersRead>, paging: Paging<ProductFilter>) -> Result<Response> {
    caller.require_teams(paging.filter.team_id, &paging.filter.team_ids)?;
    // Whether a product is on sale depends on the clock, so a cached response could be stale.
    let caller = if paging.filter.on_sale.is_some() { caller.bypass_cache() } else { caller };
    caller.page(paging, product_listing::list).await
}

/// Create a product
///
/// Coaches and managers create products of their teams. Products of the club (without `team_id`) can be created by
/// admins and by keys with access to all teams.
#[endpoint(post, "/products", id = "products.create", tag = "Store",
    example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "name": "Home kit", "currency": "EUR", "price": 2499, "tax_rate_bps": 2300,
        "variants": [{ "name": "S", "stock": 10 }, { "name": "M", "stock": 20 }] }),
    201(ObjectResponse<Product>, "The new product."))]
async fn create(caller: Caller<OrdersManage>, body: Body<NewProduct>) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| product::create(tx, &access, new)).await
}

/// Retrieve a product
///
/// Returns a product with its variants and stock.
#[endpoint(get, "/products/{product_id}", id = "products.get", tag = "Store",
    200(ObjectResponse<Product>, "The product."))]
async fn find(caller: Caller<OrdersRead>, id: ProductId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| product::find(db, &access, id)).await
}

/// Update a product
///
/// Omitted fields stay unchanged; `null` clears a field. `variants` replaces the whole list: variants with an `id` are
/// kept, variants missing from it are archived. `stock` is set to the value you send even if units were sold since you
/// read the product; send `If-Match` to prevent that. Existing orders keep their prices.
#[endpoint(patch, "/products/{product_id}", id = "products.update", tag = "Store",
    example = json!({ "price": 1999, "on_sale_until": null }),
    200(ObjectResponse<Product>, "The updated product."))]
async fn change(
    caller: Caller<OrdersManage>,
    id: ProductId,
    body: Body<ProductChange>,
) -> Result<Response> {
    caller.change_by_id(id, body, product::change).await
}

/// Archive a product
///
/// The product can no longer be ordered. Existing orders do not change.
#[endpoint(delete, "/products/{product_id}", id = "products.archive", tag = "Store",
    outcome = json!({ "status": "archived" }),
    200(ObjectResponse<Product>, "The archived product."))]
async fn archive(
    caller: Caller<OrdersManage>,
    id: ProductId,
    body: Body<NoBody>,
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

pub(in crate::shop) fn check_new(new: &NewProduct, fields: &mut Fields) {
    check_sale(fields, new.on_sale_from, new.on_sale_until);
    check_stock(fields, new.stock.is_some(), !new.variants.is_empty());
    check_variants(fields, &new.variants);
}

pub(in crate::shop) fn check_change(change: &ProductChange, fields: &mut Fields) {
    let (from, until) = (change.on_sale_from.clone(), change.on_sale_until.clone());
    check_sale(fields, from.apply(None), until.apply(None));
    let variants = match &change.variants {
        Change::Set(variants) => &variants[..],
        _ => &[],
    };
    check_stock(fields, matches!(change.stock, Change::Set(_)), !variants.is_empty());
    check_variants(fields, variants);
}
