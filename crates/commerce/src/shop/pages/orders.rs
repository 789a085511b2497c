//! The admin list of orders with totals.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Timestamp;
use kit::string_enum::StringEnum;
use store::Reader;

use super::display::{self, STATUS_OPTIONS};
use super::my_orders::PLACED;
use super::{AdminVisitor, product_options, render, seller_name, team_names, team_options};
use crate::ids::{ProductId, TeamId};
use crate::paging;
use crate::rights::TeamAccess;
use crate::shop::listing::{self, OrderFilter, OrderTotals};
use crate::shop::order::{Order, Status};
use crate::shop::product;
use crate::web::form::Form;
use crate::web::page::{Frame, Section};
use crate::web::row_page::{ListRequest, RowPage};
use crate::web::visitor::PageResult;

/// The filters of the list as submitted.
#[derive(Debug, Default)]
pub(super) struct OrderListFilter {
    pub(super) q: String,
    pub(super) state: String,
    pub(super) team: String,
    pub(super) product: String,
}

impl OrderListFilter {
    pub(super) fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self { q: text("q"), state: text("state"), team: text("team"), product: text("product") }
    }

    pub(super) fn filter(&self) -> OrderFilter {
        OrderFilter {
            team_id: self.team.parse().ok(),
            status: Status::parse(&self.state),
            product_id: self.product.parse().ok(),
            q: Some(self.q.clone()).filter(|q| !q.is_empty()),
            ..OrderFilter::default()
        }
    }

    /// Describes the filters as text.
    pub(super) fn describe(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
    ) -> crate::error::Result<String> {
        let state = STATUS_OPTIONS.iter().find(|(word, _)| self.is_state(word));
        let state = state.map(|(_, label)| format!("“{label}”"));
        let search = (!self.q.is_empty()).then(|| format!("“{}”", self.q));
        let filter = self.filter();
        let team = team_names(db, std::iter::once(filter.team_id))?;
        let team = filter.team_id.map(|id| format!("sold by {}", seller_name(&team, Some(id))));
        let product = filter.product_id.map(|id| product::find(db, access, id)).transpose()?;
        let product = product.map(|product| format!("containing {}", product.record.name));
        let filters = [state, search, team, product];
        Ok(filters.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    fn is_active(&self) -> bool {
        !(self.q.is_empty()
            && self.state.is_empty()
            && self.team.is_empty()
            && self.product.is_empty())
    }

    fn is_state(&self, word: &str) -> bool {
        self.state == word
    }

    fn is_team(&self, id: &TeamId) -> bool {
        self.team == id.to_string()
    }

    fn is_product(&self, id: &ProductId) -> bool {
        self.product == id.to_string()
    }
}

/// A row of the list.
pub(super) struct OrderRow {
    pub(super) order: Order,
    pub(super) seller: String,
    /// Kind and text of the badge.
    pub(super) badge: (&'static str, &'static str),
    /// Summary of the lines.
    pub(super) summary: String,
}

impl OrderRow {
    pub(super) fn all(db: &Reader<'_>, orders: Vec<Order>) -> crate::error::Result<Vec<Self>> {
        let names = team_names(db, orders.iter().map(|order| order.record.team_id))?;
        let row = |order: Order| Self {
            seller: seller_name(&names, order.record.team_id),
            badge: display::status_badge(order.record.status),
            summary: display::summary(&order),
            order,
        };
        Ok(orders.into_iter().map(row).collect())
    }
}

#[derive(Template)]
#[template(path = "shop/orders.html")]
struct OrdersPage {
    frame: Frame,
    rows: Vec<OrderRow>,
    next: String,
    sums: Vec<OrderTotals>,
    list_filter: OrderListFilter,
    teams: Vec<(TeamId, String)>,
    products: Vec<(ProductId, String)>,
    states: [(&'static str, &'static str); 6],
    /// The URL of the printable list.
    print_url: String,
    now: Timestamp,
}

pub(super) async fn list(visitor: AdminVisitor) -> PageResult<Response> {
    let asked = ListRequest::from_visitor(&visitor, paging::Order::Desc)?;
    let list_filter = OrderListFilter::read(&asked.form);
    let filter = list_filter.filter();
    let read =
        move |db: &Reader<'_>, page: &_| listing::list(db, &TeamAccess::AllTeams, &filter, page);
    let RowPage { rows, next } = RowPage::read(&visitor, &asked, read).await?;
    let filter = list_filter.filter();
    let load = move |db: &Reader<'_>| {
        let everywhere = &TeamAccess::AllTeams;
        let sums = listing::totals(db, everywhere, &filter)?;
        let options = (team_options(db, everywhere)?, product_options(db, everywhere)?);
        Ok((OrderRow::all(db, rows)?, sums, options))
    };
    let (rows, sums, (teams, products)) = visitor.read(load).await?;
    let page = OrdersPage {
        frame: visitor.frame("Orders", Section::Orders).flash(visitor.guest.done_flash(&PLACED)),
        rows,
        next,
        sums,
        print_url: format!("/store/orders/print?{}", asked.filters()),
        list_filter,
        teams,
        products,
        states: STATUS_OPTIONS,
        now: visitor.app().clock.now(),
    };
    render(StatusCode::OK, &page)
}
