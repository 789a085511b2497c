//! The admin list of orders with totals.

use super::display::{self, STATUS_OPTIONS};
use super::my_orders::PLACED;
use super::{
    AdminVisitor, fill_cells, find_seller, money, product_options, team_options, with_sellers,
};
use crate::accounts::permissions::AdminArea;
use crate::paging;
use crate::prelude::*;
use crate::shop::export::OrdersTable;
use crate::shop::listing::{self, OrderFilter, OrderTotals};
use crate::shop::order::{Order, Status};
use crate::shop::product;
use crate::web::export::ExportSource;
use crate::web::list::{Cell, Column, FilterBar, List};
use crate::web::prelude::*;

/// The filters of the list.
pub(super) fn filter_bar(query: &Form) -> FilterBar {
    FilterBar::new(query)
        .input("q", "Name or number", "text")
        .select("state", "Status", "Any", STATUS_OPTIONS)
        .select_later("product", "Product", "Any")
        .select_later("team", "Sold by", "Any seller")
}

/// The orders that the filters ask for. Invalid values are ignored.
pub(super) fn order_filter(filters: &FilterBar) -> OrderFilter {
    OrderFilter {
        team_id: filters.value("team"),
        status: Status::parse(filters.text("state")),
        product_id: filters.value("product"),
        q: filters.search("q"),
        ..OrderFilter::default()
    }
}

/// Describes the filters as text.
pub(super) fn describe(
    db: &Reader<'_>,
    access: &TeamAccess,
    filters: &FilterBar,
) -> Result<String> {
    let state = STATUS_OPTIONS.iter().find(|(word, _)| *word == filters.text("state"));
    let state = state.map(|(_, label)| format!("“{}”", t!(*label)));
    let search = filters.search("q").map(|q| format!("“{q}”"));
    let filter = order_filter(filters);
    let seller = filter.team_id.map(|team| find_seller(db, Some(team))).transpose()?;
    let team = seller.map(|seller| t!("sold by {seller}", seller));
    let product = filter.product_id.map(|id| product::find(db, access, id)).transpose()?;
    let product = product.map(|product| t!("containing {product}", product = product.record.name));
    let filters = [state, search, team, product];
    Ok(filters.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// A row of a list of orders.
pub(super) struct OrderRow {
    order: Order,
    seller: String,
    /// The path of the orders' pages.
    path: &'static str,
}

impl OrderRow {
    pub(super) fn all(
        db: &Reader<'_>,
        orders: Vec<Order>,
        path: &'static str,
    ) -> Result<Vec<Self>> {
        let orders = with_sellers(db, orders, |order| order.record.team_id)?.into_iter();
        Ok(orders.map(|(order, seller)| Self { order, seller, path }).collect())
    }

    fn number_cell(&self, number: Cell<'static>) -> Cell<'_> {
        number.link(format!("{}/{}", self.path, self.order.record.id))
    }

    /// The status and the time of the order.
    fn status_cell(&self, placed: Cell<'static>) -> Cell<'_> {
        let badge = Cell::Badge(display::status_badge(self.order.record.status));
        badge.and_if(Some(placed.inside("span", "about"))).inside("div", "")
    }
}

const NUMBER: Column<OrderRow> = Column::page("Order", |row| {
    // Translators: after the number of an order, for screen readers
    let buyer = t!("for {name}");
    let buyer = fill_cells(buyer, &[("name", Cell::name(row.order.record.buyer_name.clone()))]);
    let buyer = Cell::text(" ").and(buyer).hidden();
    row.number_cell(Cell::text(row.order.record.number).and(buyer))
});
const ITEMS: Column<OrderRow> =
    Column::page("Items", |row| Cell::text(display::summary(&row.order)).inside("bdi", "goods"));
const SELLER: Column<OrderRow> = Column::page("Sold by", |row| Cell::wide(&row.seller));
const TOTAL: Column<OrderRow> = Column::number("Total", |row| {
    Cell::Money(money(row.order.record.total, row.order.record.currency))
});
const STATUS_AT: Column<OrderRow> =
    Column::page("Status", |row| row.status_cell(Cell::Time(row.order.record.created_at)));

const fn buyer(label: &'static str) -> Column<OrderRow> {
    Column::page(label, |row| Cell::wide(&row.order.record.buyer_name))
}

const COLUMNS: &[Column<OrderRow>] = &[
    NUMBER,
    buyer(mark!("Buyer")),
    ITEMS,
    SELLER,
    TOTAL,
    Column::page("Status", |row| row.status_cell(Cell::Age(row.order.record.created_at))),
];
/// The columns of the printed list.
pub(super) const PRINTED: &[Column<OrderRow>] =
    &[NUMBER, buyer(mark!("Buyer")), ITEMS, SELLER, TOTAL, STATUS_AT];
/// The columns of the list of a family.
pub(super) const FAMILY: &[Column<OrderRow>] = &[
    Column::page("Order", |row| {
        let number = row.order.record.number.to_string();
        row.number_cell(Cell::text(t!("Order {number}", number)))
    }),
    buyer(mark!("For")),
    ITEMS,
    TOTAL,
    STATUS_AT,
];

#[derive(Template)]
#[template(path = "shop/orders.html")]
struct OrdersPage {
    frame: Frame,
    list: List,
    sums: Vec<OrderTotals>,
    /// The URL of the printable list.
    print_url: String,
}

pub(super) async fn list(visitor: AdminVisitor) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, paging::Order::Desc)?;
    let filters = filter_bar(&request.form);
    let filter = order_filter(&filters);
    let read =
        move |db: &Reader<'_>, page: &_| listing::list(db, &TeamAccess::AllTeams, &filter, page);
    let RowPage { rows, next } = RowPage::read(&visitor, &request, read).await?;
    let filter = order_filter(&filters);
    let load = move |db: &Reader<'_>| {
        let everywhere = &TeamAccess::AllTeams;
        let sums = listing::totals(db, everywhere, &filter)?;
        let options = (team_options(db)?, product_options(db, everywhere)?);
        Ok((OrderRow::all(db, rows, "/admin/orders")?, sums, options))
    };
    let (rows, sums, (teams, products)) = visitor.read(load).await?;
    let filters = filters.options("product", products).options("team", teams);
    let list = List::new(t!("Orders"), COLUMNS, &rows, &visitor.times());
    let frame =
        visitor.frame(t!("Orders"), Section::Orders).flash(visitor.guest.done_flash(&PLACED));
    let print_url = format!("/store/orders/print?{}", request.filters());
    let list = list.next(next).filters(filters);
    render(StatusCode::OK, &OrdersPage { frame, list, sums, print_url })
}

pub(super) async fn export(visitor: Visitor<AdminArea>) -> PageResult<Response> {
    let file = Download { table: OrdersTable::default(), bom: true };
    Ok(file.send(ExportSource::of_club(&visitor)?, "orders.csv").await?)
}
