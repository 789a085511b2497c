//! The orders of the visitor's family: list, detail page, card payment and cancellation.

use super::order::{can_cancel, cancel_order, cancellation_page, find_order};
use super::order_view::OrderView;
use super::orders::{FAMILY, OrderRow};
use super::storefront::family_only_access;
use super::{BuyerSubmission, BuyerVisitor, OrderVisitor, is_family_order};
use crate::accounts::account;
use crate::money::pages::render_with_cards;
use crate::paging;
use crate::prelude::*;
use crate::shop::listing::{self, OrderFilter};
use crate::shop::order::Order;
use crate::shop::product::{self, Product};
use crate::web::list::List;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// Messages by the value of `?done=`.
const DONE: [(&str, &str); 2] =
    [("placed", mark!("Your order was placed.")), ("cancelled", mark!("The order was cancelled."))];

/// Message on the list after a checkout that placed several orders.
pub(super) const PLACED: [(&str, &str); 1] = [("placed", mark!("The orders were placed."))];

#[derive(Template)]
#[template(path = "shop/my_orders.html")]
struct MyOrdersPage {
    frame: Frame,
    list: List,
    /// Whether the visitor manages a team or is an admin.
    manages: bool,
}

pub(super) async fn list(visitor: OrderVisitor) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, paging::Order::Desc)?;
    let roster_access = visitor.roster_access().await?;
    let access = family_only_access(&roster_access);
    let read =
        move |db: &Reader<'_>, page: &_| listing::list(db, &access, &OrderFilter::default(), page);
    let RowPage { rows, next } = RowPage::read(&visitor, &request, read).await?;
    let load = move |db: &Reader<'_>| {
        Ok((OrderRow::all(db, rows, "/store/orders")?, account::find(db)?.timezone))
    };
    let (rows, zone) = visitor.read(load).await?;
    let frame =
        visitor.frame(t!("My orders"), Section::MyOrders).flash(visitor.guest.done_flash(&PLACED));
    let manages = frame.is_admin || !roster_access.managed_team_ids.is_empty();
    let times = (visitor.app().clock.now(), zone);
    let list = List::new(t!("My orders"), FAMILY, &rows, &times).next(next);
    render(StatusCode::OK, &MyOrdersPage { frame, list, manages })
}

#[derive(Template)]
#[template(path = "shop/my_order.html")]
struct MyOrderPage {
    frame: Frame,
    order: OrderView,
    /// Products with their pickup days.
    pickup_days: Vec<(String, kit::Day)>,
    /// Whether the visitor's family bought it. Coaches also see the orders of their teams.
    is_own: bool,
    /// Whether it can be paid by card now.
    can_pay_by_card: bool,
    cancellable: bool,
}

pub(super) async fn detail(
    visitor: OrderVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let load = move |db: &Reader<'_>| {
        let order = OrderView::load(db, &access, id)?;
        Ok((pickup_days(db, &order)?, order))
    };
    let (pickup_days, order) = visitor.read(load).await?;
    let own = is_family_order(&visitor, &order).await?;
    let cards = visitor.app().cards.clone().filter(|_| own && order.outstanding().minor > 0);
    let frame = visitor.frame(order.title(), Section::MyOrders);
    let page = MyOrderPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        is_own: own,
        pickup_days,
        can_pay_by_card: cards.is_some(),
        cancellable: can_cancel(&order),
        order,
    };
    render_with_cards(cards.as_ref(), &page)
}

/// The pickup days of the ordered products that have one.
fn pickup_days(db: &Reader<'_>, order: &Order) -> Result<Vec<(String, kit::Day)>> {
    let ids: Vec<ProductId> = order.lines.iter().map(|line| line.product_id).collect();
    let products = product::load_all(db, ids)?;
    let day = |product: &Product| Some((product.record.name.clone(), product.record.pickup_date?));
    Ok(products.values().filter_map(day).collect())
}

pub(super) async fn ask_cancel(
    visitor: BuyerVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    let lead = Sentence::new("Order {number} will be cancelled when you confirm.");
    cancellation_page(&visitor, &order, (Section::MyOrders, "/store/orders"), lead)
}

pub(super) async fn cancel(
    PathParams(id): PathParams<OrderId>,
    BuyerSubmission { visitor, form }: BuyerSubmission,
) -> PageResult {
    cancel_order(&visitor, &form, id, "/store/orders").await
}
