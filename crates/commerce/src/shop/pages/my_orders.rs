//! The orders of the visitor's family: list, detail page, card payment and cancellation.

use super::display;
use super::order::{self as orders, HistoryEntry, can_cancel, find_with_payments, history};
use super::orders::{FAMILY, OrderRow};
use super::storefront::family_only_access;
use super::{
    BuyerSubmission, BuyerVisitor, OrderVisitor, is_family_order, render, run_once, seller_name,
    team_names,
};
use crate::accounts::account;
use crate::paging;
use crate::prelude::*;
use crate::shop::cancellation;
use crate::shop::listing::{self, OrderFilter};
use crate::shop::order::{self, Order};
use crate::shop::product;
use crate::web::list::List;
use crate::web::page;
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
    let asked = ListRequest::from_visitor(&visitor, paging::Order::Desc)?;
    let roster_access = visitor.roster_access().await?;
    let access = family_only_access(&roster_access);
    let read =
        move |db: &Reader<'_>, page: &_| listing::list(db, &access, &OrderFilter::default(), page);
    let RowPage { rows, next } = RowPage::read(&visitor, &asked, read).await?;
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
    order: Order,
    seller: String,
    badge: (&'static str, &'static str),
    outstanding: kit::Money,
    history: Vec<HistoryEntry>,
    /// Products with their pickup days.
    pickup_days: Vec<(String, kit::Day)>,
    /// Whether the visitor's family bought it. Coaches also see the orders of their teams.
    is_own: bool,
    /// Whether it can be paid by card now.
    can_pay_by_card: bool,
    cancellable: bool,
    zone: Zone,
}

pub(super) async fn detail(
    visitor: OrderVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let load = move |db: &Reader<'_>| {
        let (order, payments, refunds) = find_with_payments(db, &access, id)?;
        let names = team_names(db, std::iter::once(order.record.team_id))?;
        let seller = seller_name(&names, order.record.team_id);
        let history = history(&order, &payments, &refunds);
        let pickup_days = pickup_days(db, &order)?;
        Ok((order, seller, history, pickup_days, account::find(db)?.timezone))
    };
    let (order, seller, history, pickup_days, zone) = visitor.read(load).await?;
    let outstanding = display::outstanding(&order);
    let own = is_family_order(&visitor, &order).await?;
    let cards = visitor.app().cards.clone().filter(|_| own && outstanding.minor > 0);
    let title = t!("Order {number}", number = order.record.number.to_string());
    let frame = visitor.frame(title, Section::MyOrders);
    let page = MyOrderPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        seller,
        badge: display::status_badge(order.record.status),
        outstanding,
        is_own: own,
        history,
        pickup_days,
        can_pay_by_card: cards.is_some(),
        cancellable: can_cancel(&order),
        zone,
        order,
    };
    match cards {
        // The form redirects to the payment provider, so the content security policy must allow its origin.
        Some(cards) => {
            let origin = cards.provider.origin();
            Ok(page::html_with_form_action(StatusCode::OK, &page, origin)?)
        }
        None => render(StatusCode::OK, &page),
    }
}

/// The pickup days of the ordered products that have one.
fn pickup_days(db: &Reader<'_>, order: &Order) -> Result<Vec<(String, kit::Day)>> {
    let ids: Vec<ProductId> = order.lines.iter().map(|line| line.product_id).collect();
    let products = product::load_all(db, ids)?;
    let day = |(record, _): &(product::ProductRecord, _)| {
        Some((record.name.clone(), record.pickup_date?))
    };
    Ok(products.values().filter_map(day).collect())
}

async fn find_order(visitor: &BuyerVisitor, id: OrderId) -> Result<Order> {
    let access = visitor.team_access().await?;
    visitor.read(move |db| order::find(db, &access, id)).await
}

pub(super) async fn ask_cancel(
    visitor: BuyerVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let order = find_order(&visitor, id).await?;
    if !can_cancel(&order) {
        return Ok(see_other(&format!("/store/orders/{id}")));
    }
    let frame = visitor.frame(t!("Cancel this order?"), Section::MyOrders);
    let lead = Sentence::new("Order {number} will be cancelled when you confirm.");
    let lead = lead.word("number", order.record.number);
    orders::cancellation_page(frame, visitor.app(), lead, format!("/store/orders/{id}"))
}

pub(super) async fn cancel(
    PathParams(id): PathParams<OrderId>,
    BuyerSubmission { visitor, form }: BuyerSubmission,
) -> PageResult {
    find_order(&visitor, id).await?;
    let (nonce, reason, access) =
        (parse_nonce(&form)?, orders::read_cancellation(&form)?, visitor.team_access().await?);
    let cancel = move |tx: &Tx<'_>| {
        let cancelled = cancellation::cancel(tx, &access, id, &IfMatch::Absent, reason);
        cancelled.map(|order| order.record.id.to_string())
    };
    run_once(&visitor, nonce, cancel).await?;
    Ok(see_other(&format!("/store/orders/{id}?done=cancelled")))
}
