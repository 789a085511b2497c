//! Pages of the store: for admins under `/admin`, for families and coaches under `/store`.

mod checkout_form;
mod code_form;
mod codes;
mod staff_order;
mod order;
mod orders;
mod order_view;
mod my_orders;
mod print;
mod product_form;
mod products;
mod receipt;
mod refund;
mod storefront;
mod display;

use std::borrow::Borrow;

use crate::i18n::{Locale, format};
use crate::money::pages::teams::active as team_options;
pub use crate::money::pages::{money, money_text};
use crate::money::{MoneyManage, OrdersRead};
use crate::names::Names;
use crate::paging;
use crate::prelude::*;
use crate::shop::OrdersPlace;
use crate::shop::order::{Line, Order};
use crate::shop::product::{AvailableTo, Product};
use crate::shop::product_listing::{self, ProductFilter};
use crate::web::form::format_percent;
use crate::web::list::Cell;
use crate::web::prelude::*;

/// Maximum number of products in a select field.
const MAX_OPTIONS: i64 = 200;

/// An admin who manages the store, and a form they submitted.
type AdminVisitor = Visitor<MoneyManage>;
type AdminSubmission = VisitorForm<MoneyManage>;
/// Somebody who may place orders, and a form they submitted.
type BuyerVisitor = Visitor<OrdersPlace>;
type BuyerSubmission = VisitorForm<OrdersPlace>;
/// Somebody who may view orders.
type OrderVisitor = Visitor<OrdersRead>;

/// All routes of the store pages.
pub fn router() -> Router<App> {
    Router::new().merge(catalog_routes()).merge(order_routes()).merge(family_routes())
}

/// Admin routes for products and discount codes.
fn catalog_routes() -> Router<App> {
    Router::new()
        .route("/admin/store", get(products::list))
        .route("/admin/store/products/new", get(product_form::new).post(product_form::create))
        .route("/admin/store/products/{id}", get(product_form::edit).post(product_form::save))
        .route(
            "/admin/store/products/{id}/archive",
            get(products::ask_archive).post(products::archive),
        )
        .route("/admin/store/codes", get(codes::list))
        .route("/admin/store/codes/new", get(code_form::new).post(code_form::create))
        .route("/admin/store/codes/{id}", get(code_form::edit).post(code_form::save))
        .route("/admin/store/codes/{id}/archive", get(codes::ask_archive).post(codes::archive))
}

/// Admin routes for orders, and printable lists.
fn order_routes() -> Router<App> {
    Router::new()
        .route("/admin/orders", get(orders::list))
        .route("/admin/exports/orders.csv", get(orders::export))
        .route("/admin/orders/new", get(staff_order::new).post(staff_order::create))
        .route("/admin/orders/{id}", get(order::detail))
        .route("/admin/orders/{id}/pay", post(order::pay))
        .route("/admin/orders/{id}/hand-out", post(order::fulfill))
        .route("/admin/orders/{id}/cancel", get(order::ask_cancel).post(order::cancel))
        .route("/admin/orders/{id}/refund", get(refund::refund_form).post(refund::refund))
        .route("/store/orders/print", get(print::orders))
        .route("/store/products/{id}/pick-list", get(print::pickup_list))
}

/// Routes for families.
fn family_routes() -> Router<App> {
    Router::new()
        .route("/store", get(storefront::show).post(storefront::submit))
        .route("/store/orders", get(my_orders::list))
        .route("/store/orders/{id}", get(my_orders::detail))
        .route("/store/orders/{id}/cancel", get(my_orders::ask_cancel).post(my_orders::cancel))
        .route("/store/orders/{id}/receipt", get(receipt::show_receipt))
}

/// The maximum number of products that are read to find one that a visitor may order.
const MAX_CHECKED: i64 = 50;

/// The tab of a team that has something on sale that the visitor may order: for families to order it, for admins to manage it.
pub(super) fn team_tab(
    db: &Reader<'_>,
    access: &TeamAccess,
    team: TeamId,
) -> Result<Option<String>> {
    let area = if matches!(access, TeamAccess::AllTeams) { "/admin/store" } else { "/store" };
    let is_staff = access.has_full_access(team);
    let products = storefront::find_on_sale(db, access, Some(team), MAX_CHECKED)?;
    let can_order = |one: &Product| is_staff || one.record.available_to != AvailableTo::Staff;
    let is_on_sale = products.iter().any(can_order);
    Ok(is_on_sale.then(|| format!("{area}?team={team}")))
}

/// The status code for a form that is shown with these errors.
fn form_status(faults: &Faults) -> StatusCode {
    if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
}

/// A date with its day of the week, in the reader's language.
pub fn weekday(day: Day) -> String {
    format::day_with_weekday(Locale::current_or_english(), day)
}

/// A translated text with a cell in place of each placeholder.
fn fill_cells<'a>(text: &'static str, cells: &[(&str, Cell<'a>)]) -> Cell<'a> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let cell = cells.iter().find(|(known, _)| *known == name);
        parts.push(Cell::Text(before.into()));
        parts.extend(cell.map(|(_, cell)| cell.clone()));
        rest = after;
    }
    parts.push(Cell::Text(rest.into()));
    Cell::Parts(parts)
}

/// Formats basis points as percent, without the sign.
pub fn percent(points: impl Borrow<i64>) -> String {
    format_percent(*points.borrow())
}

/// Whether the buyer is the visitor or somebody they look after.
async fn is_family_order<N: Permission>(visitor: &Visitor<N>, order: &Order) -> Result<bool> {
    let family = visitor.roster_access().await?.family_person_ids();
    Ok(order.record.buyer_person_id.is_some_and(|person| family.contains(&person)))
}

/// The path of an order's page: in the admin area for admins, unless their own family bought it.
async fn order_path<N: Permission>(visitor: &Visitor<N>, order: &Order) -> Result<String> {
    let managed = visitor.is_admin() && !is_family_order(visitor, order).await?;
    let area = if managed { "admin" } else { "store" };
    Ok(format!("/{area}/orders/{}", order.record.id))
}

/// Label of a quantity field: product, variant and the maximum quantity.
fn quantity_label(line: &Line, count: i64) -> String {
    let variant = line.variant_name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    t!("{item}, up to {count}", item = format!("{}{variant}", line.name), count)
}

/// Whether an error can be corrected in the form.
fn is_form_error(error: &Error) -> bool {
    match error.code {
        Code::Conflict | Code::InvalidState | Code::Taken | Code::ValidationFailed => true,
        code => code == Code::Forbidden && !error.faults.is_empty(),
    }
}

/// Maps the faults of an error to form fields: `/lines/0/quantity` becomes `lines-0-quantity`.
fn map_faults(error: &Error) -> Faults {
    let mut faults = Faults::default();
    for fault in &error.faults {
        let field = fault.pointer.trim_start_matches('/').replace('/', "-");
        faults.add(&field, fault.detail.clone());
    }
    if faults.is_empty() {
        faults.add("", error.detail.clone());
    }
    faults
}

/// The products in any status, newest first, for a select field.
fn product_options(db: &Reader<'_>, access: &TeamAccess) -> Result<Vec<(ProductId, String)>> {
    let page = Page { limit: MAX_OPTIONS, order: paging::Order::Desc, last: None };
    let found = product_listing::list(db, access, &ProductFilter::default(), &page)?;
    let found = with_sellers(db, found, |product| product.record.team_id)?;
    let options = found.into_iter().map(|(Product { record, .. }, seller)| {
        let name = match record.team_id {
            None => record.name,
            Some(_) => format!("{} ({seller})", record.name),
        };
        (record.id, name)
    });
    Ok(options.collect())
}

/// The sum of the amounts with the same key, in the order in which the keys first appear.
fn sums<K: PartialEq>(amounts: impl Iterator<Item = (K, i64)>) -> Vec<(K, i64)> {
    let mut sums: Vec<(K, i64)> = Vec::new();
    for (key, amount) in amounts {
        match sums.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => *sum += amount,
            None => sums.push((key, amount)),
        }
    }
    sums
}

/// The name of the selling team, or of the club.
fn seller_name(names: &Names, team: Option<TeamId>) -> String {
    team.map_or_else(
        || t!("Whole club").to_owned(),
        |team| names.get_or_id(&team.to_string()).to_owned(),
    )
}

/// These objects with the names of their sellers.
fn with_sellers<T>(
    db: &Reader<'_>,
    rows: Vec<T>,
    team_of: fn(&T) -> Option<TeamId>,
) -> Result<Vec<(T, String)>> {
    let names = team_names(db, rows.iter().map(team_of))?;
    let with_seller = |row| {
        let seller = seller_name(&names, team_of(&row));
        (row, seller)
    };
    Ok(rows.into_iter().map(with_seller).collect())
}

/// The name of one seller.
fn find_seller(db: &Reader<'_>, team: Option<TeamId>) -> Result<String> {
    Ok(seller_name(&team_names(db, std::iter::once(team))?, team))
}

/// The names of these teams.
fn team_names(db: &Reader<'_>, teams: impl Iterator<Item = Option<TeamId>>) -> Result<Names> {
    let ids: Vec<_> = teams.flatten().map(|team| team.to_string()).collect();
    Names::load(db, ids.iter().map(String::as_str))
}
