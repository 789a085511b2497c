//! What the club sells: the list, and the end of a product.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Zone;
use store::Reader;

use super::shown::{AskPage, Offer};
use super::{Keeper, Sent, named, seller, show, teams};
use crate::accounts::account;
use crate::accounts::rights::Reach;
use crate::expected::Expected;
use crate::ids::{ProductId, TeamId};
use crate::paging::Order;
use crate::shop::product::{self, Product, ProductFilter, Status};
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// What is said after something was done.
const DONE: [(&str, &str); 3] = [
    ("made", "The product is in the store."),
    ("saved", "The product was saved."),
    ("archived", "The product is sold no longer. What was ordered stays."),
];

#[derive(Template)]
#[template(path = "shop/products.html")]
struct ListPage {
    frame: Frame,
    offers: Vec<Offer>,
    next: String,
    zone: Zone,
    teams: Vec<(TeamId, String)>,
    /// What the list is narrowed to.
    q: String,
    state: String,
    team: String,
}

impl ListPage {
    fn is_narrowed(&self) -> bool {
        !(self.q.is_empty() && self.state.is_empty() && self.team.is_empty())
    }

    fn is_team(&self, id: &TeamId) -> bool {
        self.team == id.to_string()
    }
}

pub(super) async fn list(visitor: Keeper) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let text = |name: &str| asked.form.text(name).to_owned();
    let (q, state, team) = (text("q"), text("state"), text("team"));
    let (status, on_sale) = match state.as_str() {
        "on_sale" => (Some(Status::Active), Some(true)),
        "off_sale" => (Some(Status::Active), Some(false)),
        "archived" => (Some(Status::Archived), None),
        "all" => (None, None),
        _ => (Some(Status::Active), None),
    };
    let filter = ProductFilter {
        team_id: team.parse().ok(),
        status,
        on_sale,
        external_id: None,
        q: Some(q.clone()).filter(|q| !q.is_empty()),
    };
    let read =
        move |db: &Reader<'_>, page: &_| product::list(db, &Reach::Everywhere, &filter, page);
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, read).await?;
    let now = visitor.app().clock.now();
    let look = move |db: &Reader<'_>| {
        let names = named(db, rows.iter().map(|product| product.kept.team_id))?;
        let offer = |product: Product| {
            let seller = seller(&names, product.kept.team_id);
            Offer::new(product, seller, now)
        };
        let offers: Vec<_> = rows.into_iter().map(offer).collect();
        Ok((offers, teams(db, &Reach::Everywhere)?, account::find(db)?.timezone))
    };
    let (offers, teams, zone) = visitor.read(look).await?;
    let frame = visitor.frame("Store", Section::Store).flash(visitor.guest.done(&DONE));
    show(StatusCode::OK, &ListPage { frame, offers, next, zone, teams, q, state, team })
}

pub(super) async fn ask_archive(visitor: Keeper, At(id): At<ProductId>) -> Outcome<Response> {
    let product = visitor.read(move |db| product::find(db, &Reach::Everywhere, id)).await?;
    if product.kept.status == Status::Archived {
        return Ok(see_other("/admin/store"));
    }
    let page = AskPage {
        frame: visitor.frame("Take this product off sale?", Section::Store),
        name: product.kept.name,
        lead: "is archived once you say so below.",
        events: vec![
            "Nobody can order it any more.",
            "What was ordered stays as it is, can be paid, and can be handed out.",
            "It cannot be put on sale again. To make a pause, change when it is on sale instead.",
        ],
        button: "Archive it",
        nonce: String::new(),
        reason: false,
        back: format!("/admin/store/products/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn archive(
    At(id): At<ProductId>,
    Sent { visitor, .. }: Sent,
) -> Outcome<Response> {
    let archive = move |tx: &store::Tx<'_>| {
        let product = product::find(tx, &Reach::Everywhere, id)?;
        if product.kept.status == Status::Archived {
            return Ok(product);
        }
        product::archive(tx, &Reach::Everywhere, id, &Expected::Anything)
    };
    visitor.write(archive).await?;
    Ok(see_other("/admin/store?done=archived"))
}
