//! What was ordered: the list, and what it comes to.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Timestamp;
use kit::word::Word;
use store::Reader;

use super::own::PLACED;
use super::shown::{self, STATES};
use super::{Keeper, named, products, seller, show, teams};
use crate::accounts::rights::Reach;
use crate::ids::{ProductId, TeamId};
use crate::paging;
use crate::shop::listing::{self, OrderFilter, Sums};
use crate::shop::order::{Order, Status};
use crate::shop::product;
use crate::web::form::Form;
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{Frame, Section};
use crate::web::visitor::Outcome;

/// What a list of orders is narrowed to, as it was chosen.
#[derive(Debug, Default)]
pub(super) struct Narrowed {
    pub(super) q: String,
    pub(super) state: String,
    pub(super) team: String,
    pub(super) product: String,
}

impl Narrowed {
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

    /// What it is narrowed to, in words.
    pub(super) fn in_words(&self, db: &Reader<'_>, reach: &Reach) -> crate::error::Result<String> {
        let state = STATES.iter().find(|(word, _)| self.is_state(word));
        let state = state.map(|(_, label)| format!("“{label}”"));
        let sought = (!self.q.is_empty()).then(|| format!("“{}”", self.q));
        let filter = self.filter();
        let team = named(db, std::iter::once(filter.team_id))?;
        let team = filter.team_id.map(|id| format!("sold by {}", seller(&team, Some(id))));
        let product = filter.product_id.map(|id| product::find(db, reach, id)).transpose()?;
        let product = product.map(|product| format!("with {}", product.kept.name));
        let all = [state, sought, team, product];
        Ok(all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    fn is_any(&self) -> bool {
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

/// An order as it is listed.
pub(super) struct Row {
    pub(super) order: Order,
    pub(super) seller: String,
    pub(super) state: (&'static str, &'static str),
    pub(super) goods: String,
}

impl Row {
    pub(super) fn all(db: &Reader<'_>, orders: Vec<Order>) -> crate::error::Result<Vec<Self>> {
        let names = named(db, orders.iter().map(|order| order.kept.team_id))?;
        let row = |order: Order| Self {
            seller: seller(&names, order.kept.team_id),
            state: shown::progress(order.kept.status),
            goods: shown::in_short(&order),
            order,
        };
        Ok(orders.into_iter().map(row).collect())
    }
}

#[derive(Template)]
#[template(path = "shop/orders.html")]
struct ListPage {
    frame: Frame,
    rows: Vec<Row>,
    next: String,
    sums: Vec<Sums>,
    narrowed: Narrowed,
    teams: Vec<(TeamId, String)>,
    products: Vec<(ProductId, String)>,
    states: [(&'static str, &'static str); 6],
    /// The address of the list to be printed.
    print: String,
    now: Timestamp,
}

pub(super) async fn list(visitor: Keeper) -> Outcome<Response> {
    let asked = Asked::of(&visitor, paging::Order::Desc)?;
    let narrowed = Narrowed::read(&asked.form);
    let filter = narrowed.filter();
    let read =
        move |db: &Reader<'_>, page: &_| listing::list(db, &Reach::Everywhere, &filter, page);
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, read).await?;
    let filter = narrowed.filter();
    let look = move |db: &Reader<'_>| {
        let everywhere = &Reach::Everywhere;
        let sums = listing::sums(db, everywhere, &filter)?;
        let choice = (teams(db, everywhere)?, products(db, everywhere)?);
        Ok((Row::all(db, rows)?, sums, choice))
    };
    let (rows, sums, (teams, products)) = visitor.read(look).await?;
    let page = ListPage {
        frame: visitor.frame("Orders", Section::Orders).flash(visitor.guest.done(&PLACED)),
        rows,
        next,
        sums,
        print: format!("/store/orders/print?{}", asked.filters()),
        narrowed,
        teams,
        products,
        states: STATES,
        now: visitor.app().clock.now(),
    };
    show(StatusCode::OK, &page)
}
