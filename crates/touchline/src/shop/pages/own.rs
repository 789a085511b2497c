//! What one's family ordered: the list, one order, paying it by card, and cancelling it.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Zone;
use store::{Reader, Tx};

use super::order::{self as orders, ENDED, Happened, can_cancel, history, whole};
use super::orders::Row;
use super::shelf::own_reach;
use super::shown::{self, AskPage};
use super::{Bought, Buyer, Onlooker, do_once, is_own, named, seller, show};
use crate::accounts::account;
use crate::cards::checkout::Wish;
use crate::cards::opening;
use crate::cards::subject::Subject;
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::{OrderId, ProductId};
use crate::paging;
use crate::shop::ending;
use crate::shop::listing::{self, OrderFilter};
use crate::shop::order::{self, Order};
use crate::shop::product;
use crate::web::leaf::{Asked, Leaf};
use crate::web::once::{new_nonce, nonce};
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// What is said after something was done.
const DONE: [(&str, &str); 2] =
    [("placed", "Your order was placed."), ("cancelled", "The order was cancelled.")];

/// What the list says after a checkout that placed several orders.
pub(super) const PLACED: [(&str, &str); 1] = [("placed", "The orders were placed.")];

#[derive(Template)]
#[template(path = "shop/own_orders.html")]
struct ListPage {
    frame: Frame,
    rows: Vec<Row>,
    next: String,
    /// Whether the visitor leads a team, or looks after the club.
    leads: bool,
    zone: Zone,
}

pub(super) async fn list(visitor: Onlooker) -> Outcome<Response> {
    let asked = Asked::of(&visitor, paging::Order::Desc)?;
    let standing = visitor.standing().await?;
    let reach = own_reach(&standing);
    let read =
        move |db: &Reader<'_>, page: &_| listing::list(db, &reach, &OrderFilter::default(), page);
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, read).await?;
    let look = move |db: &Reader<'_>| Ok((Row::all(db, rows)?, account::find(db)?.timezone));
    let (rows, zone) = visitor.read(look).await?;
    let frame = visitor.frame("My orders", Section::MyOrders).flash(visitor.guest.done(&PLACED));
    let leads = frame.is_admin || !standing.leads.is_empty();
    show(StatusCode::OK, &ListPage { frame, rows, next, leads, zone })
}

#[derive(Template)]
#[template(path = "shop/own_order.html")]
struct OnePage {
    frame: Frame,
    order: Order,
    seller: String,
    state: (&'static str, &'static str),
    owed: kit::Money,
    history: Vec<Happened>,
    /// What can be picked up from which day on.
    fetched: Vec<(String, kit::Day)>,
    /// Whether the visitor's family bought it; coaches also see the orders of their teams.
    own: bool,
    /// Whether it can be paid by card here.
    by_card: bool,
    cancellable: bool,
    zone: Zone,
}

pub(super) async fn one(visitor: Onlooker, At(id): At<OrderId>) -> Outcome<Response> {
    let reach = visitor.reach().await?;
    let look = move |db: &Reader<'_>| {
        let (order, payments, refunds) = whole(db, &reach, id)?;
        let names = named(db, std::iter::once(order.kept.team_id))?;
        let seller = seller(&names, order.kept.team_id);
        let history = history(&order, &payments, &refunds);
        let fetched = fetched(db, &order)?;
        Ok((order, seller, history, fetched, account::find(db)?.timezone))
    };
    let (order, seller, history, fetched, zone) = visitor.read(look).await?;
    let owed = shown::owed(&order);
    let own = is_own(&visitor, &order).await?;
    let cards = visitor.app().cards.clone().filter(|_| own && owed.minor > 0);
    let frame = visitor.frame(format!("Order {}", order.kept.number), Section::MyOrders);
    let page = OnePage {
        frame: frame.flash(visitor.guest.done(&DONE)),
        seller,
        state: shown::progress(order.kept.status),
        owed,
        own,
        history,
        fetched,
        by_card: cards.is_some(),
        cancellable: can_cancel(&order),
        zone,
        order,
    };
    match cards {
        // The form leads on to the page of the provider.
        Some(cards) => {
            let origin = cards.provider.origin();
            Ok(page::html_with_form_action(StatusCode::OK, &page, origin)?)
        }
        None => show(StatusCode::OK, &page),
    }
}

/// When what was ordered can be picked up, as far as products say so.
fn fetched(db: &Reader<'_>, order: &Order) -> Result<Vec<(String, kit::Day)>> {
    let ids: Vec<ProductId> = order.lines.iter().map(|line| line.product_id).collect();
    let products = product::all(db, ids)?;
    let day = |(kept, _): &(product::Stored, _)| Some((kept.name.clone(), kept.pick_up_on?));
    Ok(products.values().filter_map(day).collect())
}

/// Opens the provider's page for an order, and sends the payer there.
pub(super) async fn checkout(
    At(id): At<OrderId>,
    Bought { visitor, .. }: Bought,
) -> Outcome<Response> {
    let (scope, reach) = (visitor.scope()?, visitor.reach().await?);
    let wish = Wish::all_of(Subject::Order(id));
    let url = opening::lead(visitor.app(), scope, reach, wish).await?;
    Ok(see_other(&url))
}

async fn found(visitor: &Buyer, id: OrderId) -> Result<Order> {
    let reach = visitor.reach().await?;
    visitor.read(move |db| order::find(db, &reach, id)).await
}

pub(super) async fn ask_cancel(visitor: Buyer, At(id): At<OrderId>) -> Outcome<Response> {
    let order = found(&visitor, id).await?;
    if !can_cancel(&order) {
        return Ok(see_other(&format!("/store/orders/{id}")));
    }
    let page = AskPage {
        frame: visitor.frame("Cancel this order?", Section::MyOrders),
        name: format!("Order {}", order.kept.number),
        lead: "is cancelled once you say so below.",
        events: ENDED.to_vec(),
        button: "Cancel the order",
        nonce: new_nonce(visitor.app()),
        reason: true,
        back: format!("/store/orders/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn cancel(
    At(id): At<OrderId>,
    Bought { visitor, form }: Bought,
) -> Outcome<Response> {
    found(&visitor, id).await?;
    let (nonce, why, reach) = (nonce(&form)?, orders::reason(&form)?, visitor.reach().await?);
    let cancel = move |tx: &Tx<'_>| {
        let done = ending::cancel(tx, &reach, id, &Expected::Anything, why);
        done.map(|order| order.kept.id.to_string())
    };
    do_once(&visitor, nonce, cancel).await?;
    Ok(see_other(&format!("/store/orders/{id}?done=cancelled")))
}
