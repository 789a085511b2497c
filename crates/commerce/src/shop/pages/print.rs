//! Printable lists: orders, and the pickup list of a product. Coaches can print those of their teams.

use super::orders::{OrderRow, PRINTED, describe, filter_bar, order_filter};
use super::{find_seller, sums};
use crate::accounts::account;
use crate::paging;
use crate::prelude::*;
use crate::shop::OrdersManage;
use crate::shop::listing::{self, OrderTotals};
use crate::shop::order::{Line, Order, Status};
use crate::shop::product::{self, Product};
use crate::web::list::{List, Times};
use crate::web::prelude::*;

/// Somebody who may manage orders: an admin, coach or manager.
type SellerVisitor = Visitor<OrdersManage>;

/// Maximum number of orders on a list. Larger clubs can filter the list.
const MAX_ORDERS: i64 = 2000;

/// The access of the visitor. Fails if they manage no team.
async fn managed_access(visitor: &SellerVisitor) -> Result<TeamAccess> {
    let access = visitor.team_access().await?;
    if matches!(&access, TeamAccess::User(place) if place.managed_team_ids.is_empty()) {
        let detail = "Only coaches and managers of a team can do this.";
        return Err(Error::new(Code::Forbidden, detail));
    }
    Ok(access)
}

/// The frame of a list: in the admin section for admins, in the account section for others.
fn list_frame(visitor: &SellerVisitor, title: String, section: Section) -> Frame {
    let frame = visitor.frame(title, Section::MyOrders);
    if frame.is_admin { Frame { section, ..frame } } else { frame }
}

fn first_page() -> Page<OrderId> {
    Page { limit: MAX_ORDERS, order: paging::Order::Desc, last: None }
}

/// Truncates the list to the maximum. Returns whether there were more orders.
fn truncate(orders: &mut Vec<Order>) -> bool {
    let max = usize::try_from(MAX_ORDERS).unwrap_or(usize::MAX);
    let more = orders.len() > max;
    orders.truncate(max);
    more
}

#[derive(Template)]
#[template(path = "shop/print_orders.html")]
struct PrintedOrdersPage {
    frame: Frame,
    /// Description of the filters; empty if there are none.
    filter_text: String,
    list: List,
    sums: Vec<OrderTotals>,
    more: bool,
    max: i64,
    times: Times,
}

pub(super) async fn orders(visitor: SellerVisitor) -> PageResult {
    let filters = filter_bar(&visitor.guest.query()?);
    let access = managed_access(&visitor).await?;
    let frame = list_frame(&visitor, t!("Orders").to_owned(), Section::Orders);
    let path = if frame.is_admin { "/admin/orders" } else { "/store/orders" };
    let load = move |db: &Reader<'_>| {
        let filter = order_filter(&filters);
        let mut orders = listing::list(db, &access, &filter, &first_page())?;
        let more = truncate(&mut orders);
        let sums = listing::totals(db, &access, &filter)?;
        let rows = OrderRow::all(db, orders, path)?;
        Ok((rows, sums, more, account::find(db)?.timezone, describe(db, &access, &filters)?))
    };
    let (rows, sums, more, zone, filter_text) = visitor.read(load).await?;
    let times = (visitor.app().clock.now(), zone);
    let list = List::new(t!("Orders"), PRINTED, &rows, &times);
    let page = PrintedOrdersPage { frame, filter_text, list, sums, more, max: MAX_ORDERS, times };
    render(StatusCode::OK, &page)
}

/// A row of the pickup list.
struct PickupRow {
    order: Order,
    line: Line,
}

#[derive(Template)]
#[template(path = "shop/pickup_list.html")]
struct PickupListPage {
    frame: Frame,
    product: Product,
    seller: String,
    rows: Vec<PickupRow>,
    /// Number of units by variant.
    counts: Vec<(String, i64)>,
    more: bool,
    max: i64,
    zone: Zone,
    now: Timestamp,
}

pub(super) async fn pickup_list(
    visitor: SellerVisitor,
    PathParams(id): PathParams<ProductId>,
) -> PageResult {
    let access = managed_access(&visitor).await?;
    let load = move |db: &Reader<'_>| {
        let product = product::find(db, &access, id)?;
        let mut orders = listing::list_unfulfilled(db, &access, id, &first_page())?;
        let more = truncate(&mut orders);
        let seller = find_seller(db, product.record.team_id)?;
        Ok((product, seller, orders, more, account::find(db)?.timezone))
    };
    let (product, seller, orders, more, zone) = visitor.read(load).await?;
    let rows = pickup_rows(&product, orders);
    let page = PickupListPage {
        frame: list_frame(
            &visitor,
            t!("Pickup list: {product}", product = product.record.name),
            Section::Store,
        ),
        counts: counts(&rows),
        product,
        seller,
        rows,
        more,
        max: MAX_ORDERS,
        zone,
        now: visitor.app().clock.now(),
    };
    render(StatusCode::OK, &page)
}

/// The units of a product that were not picked up, sorted by variant and buyer.
fn pickup_rows(product: &Product, orders: Vec<Order>) -> Vec<PickupRow> {
    let mut rows = Vec::new();
    for order in orders {
        let lines = order.lines.iter().filter(|line| line.product_id == product.record.id);
        let open: Vec<_> = lines.filter(|line| line.unfulfilled() > 0).cloned().collect();
        rows.extend(open.into_iter().map(|line| PickupRow { order: order.clone(), line }));
    }
    let variant_index = |line: &Line| {
        let is_same = |variant: &crate::shop::variant::Variant| Some(variant.id) == line.variant_id;
        product.variants.iter().position(is_same)
    };
    rows.sort_by_cached_key(|row| {
        let name = kit::text::fold_case(&row.order.record.buyer_name);
        let index = variant_index(&row.line);
        (index.is_none(), index, name, row.order.record.number)
    });
    rows
}

fn counts(rows: &[PickupRow]) -> Vec<(String, i64)> {
    sums(rows.iter().map(|PickupRow { line, .. }| {
        let name = line.variant_name.as_ref().unwrap_or(&line.name);
        (name.clone(), line.unfulfilled())
    }))
}
