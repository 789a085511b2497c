//! Lists on paper: of orders, and of who gets which of a product. Coaches print those of their teams.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Timestamp, Zone};
use store::Reader;

use super::orders::{Narrowed, Row};
use super::{named, seller, show};
use crate::accounts::account;
use crate::accounts::permits::OrdersManage;
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::ids::{OrderId, ProductId};
use crate::paging::{self, Page};
use crate::shop::listing::{self, Sums};
use crate::shop::order::{Line, Order, Status};
use crate::shop::product::{self, Product};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Visitor};

/// Those who sell, for the teams they lead.
type Seller = Visitor<OrdersManage>;

/// So many orders fit on a list; a club that has more of them narrows it.
const MOST: i64 = 2000;

/// What the visitor leads; refuses whoever leads nothing.
async fn led(visitor: &Seller) -> Result<Reach> {
    let reach = visitor.reach().await?;
    if matches!(&reach, Reach::User(place) if place.leads.is_empty()) {
        let detail = "Only those who coach or manage a team can do this.";
        return Err(Error::new(Code::Forbidden, detail));
    }
    Ok(reach)
}

/// The frame of a list: where those who run the store look for it, or where everybody else does.
fn framed(visitor: &Seller, title: String, section: Section) -> Frame {
    let frame = visitor.frame(title, Section::MyOrders);
    if frame.is_admin { Frame { section, ..frame } } else { frame }
}

fn page() -> Page<OrderId> {
    Page { limit: MOST, order: paging::Order::Desc, last: None }
}

/// Cuts what is more than fits, and says so.
fn cut(orders: &mut Vec<Order>) -> bool {
    let most = usize::try_from(MOST).unwrap_or(usize::MAX);
    let more = orders.len() > most;
    orders.truncate(most);
    more
}

#[derive(Template)]
#[template(path = "shop/print_orders.html")]
struct OrdersPage {
    frame: Frame,
    /// What the list is narrowed to, in words.
    only: String,
    rows: Vec<Row>,
    sums: Vec<Sums>,
    more: bool,
    most: i64,
    zone: Zone,
    now: Timestamp,
}

pub(super) async fn orders(visitor: Seller) -> Outcome<Response> {
    let (narrowed, reach) = (Narrowed::read(&visitor.guest.query()?), led(&visitor).await?);
    let filter = narrowed.filter();
    let look = move |db: &Reader<'_>| {
        let mut orders = listing::list(db, &reach, &filter, &page())?;
        let more = cut(&mut orders);
        let sums = listing::sums(db, &reach, &filter)?;
        let only = narrowed.in_words(db, &reach)?;
        Ok((Row::all(db, orders)?, sums, more, account::find(db)?.timezone, only))
    };
    let (rows, sums, more, zone, only) = visitor.read(look).await?;
    let frame = framed(&visitor, "Orders".to_owned(), Section::Orders);
    let now = visitor.app().clock.now();
    show(StatusCode::OK, &OrdersPage { frame, only, rows, sums, more, most: MOST, zone, now })
}

/// Somebody who gets something.
struct Pick {
    order: Order,
    line: Line,
    paid: bool,
}

#[derive(Template)]
#[template(path = "shop/pick_list.html")]
struct PickPage {
    frame: Frame,
    product: Product,
    seller: String,
    picks: Vec<Pick>,
    /// How many of each variant.
    counts: Vec<(String, i64)>,
    more: bool,
    most: i64,
    zone: Zone,
    now: Timestamp,
}

pub(super) async fn pick_list(visitor: Seller, At(id): At<ProductId>) -> Outcome<Response> {
    let reach = led(&visitor).await?;
    let look = move |db: &Reader<'_>| {
        let product = product::find(db, &reach, id)?;
        let mut orders = listing::waiting(db, &reach, id, &page())?;
        let more = cut(&mut orders);
        let names = named(db, std::iter::once(product.kept.team_id))?;
        let seller = seller(&names, product.kept.team_id);
        Ok((product, seller, orders, more, account::find(db)?.timezone))
    };
    let (product, seller, orders, more, zone) = visitor.read(look).await?;
    let picks = picks(&product, orders);
    let page = PickPage {
        frame: framed(&visitor, format!("Pick list: {}", product.kept.name), Section::Store),
        counts: counts(&picks),
        product,
        seller,
        picks,
        more,
        most: MOST,
        zone,
        now: visitor.app().clock.now(),
    };
    show(StatusCode::OK, &page)
}

/// What is still to be handed out of a product, by variant and name.
fn picks(product: &Product, orders: Vec<Order>) -> Vec<Pick> {
    let mut picks = Vec::new();
    for order in orders {
        let lines = order.lines.iter().filter(|line| line.product_id == product.kept.id);
        let open: Vec<_> = lines.filter(|line| line.open() > 0).cloned().collect();
        let paid = order.kept.status != Status::Placed;
        picks.extend(open.into_iter().map(|line| Pick { order: order.clone(), line, paid }));
    }
    let place = |line: &Line| {
        let own = |variant: &crate::shop::variant::Variant| Some(variant.id) == line.variant_id;
        product.variants.iter().position(own)
    };
    picks.sort_by_cached_key(|pick| {
        let name = kit::text::folded(&pick.order.kept.buyer_name);
        (place(&pick.line).is_none(), place(&pick.line), name, pick.order.kept.number)
    });
    picks
}

fn counts(picks: &[Pick]) -> Vec<(String, i64)> {
    let mut counts: Vec<(String, i64)> = Vec::new();
    for Pick { line, .. } in picks {
        let name = line.variant_name.clone().unwrap_or_else(|| line.name.clone());
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += line.open(),
            None => counts.push((name, line.open())),
        }
    }
    counts
}
