//! The codes that make orders cheaper: the list, and the end of one.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Timestamp, Zone};
use store::{Reader, Tx};

use super::shown::AskPage;
use super::{Keeper, Sent, money, named, percent, seller, show};
use crate::accounts::account;
use crate::expected::Expected;
use crate::ids::DiscountId;
use crate::paging::Order;
use crate::shop::discount::{self, Discount, DiscountFilter, Status};
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// What is said after something was done.
const DONE: [(&str, &str); 3] = [
    ("made", "The code can be used."),
    ("saved", "The code was saved."),
    ("archived", "The code can no longer be used."),
];

/// A code as it is listed.
struct Shown {
    code: Discount,
    /// What it takes off.
    off: String,
    seller: String,
    state: (&'static str, &'static str),
}

impl Shown {
    fn new(code: Discount, seller: String, now: Timestamp) -> Self {
        let off = match (code.amount.zip(code.currency), code.percent_bp) {
            (Some((amount, currency)), _) => money(amount, currency).to_string(),
            (None, points) => format!("{} %", percent(points.unwrap_or_default())),
        };
        let state = if code.status == Status::Archived {
            ("", "Archived")
        } else if code.valid_from.is_some_and(|from| from > now) {
            ("info", "Not valid yet")
        } else if code.valid_until.is_some_and(|until| until <= now) {
            ("", "Expired")
        } else if code.most_uses.is_some_and(|most| code.uses >= most) {
            ("warn", "Used up")
        } else {
            ("good", "Valid")
        };
        Self { code, off, seller, state }
    }
}

#[derive(Template)]
#[template(path = "shop/codes.html")]
struct ListPage {
    frame: Frame,
    codes: Vec<Shown>,
    next: String,
    state: String,
    zone: Zone,
}

pub(super) async fn list(visitor: Keeper) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let state = asked.form.text("state").to_owned();
    let status = match state.as_str() {
        "archived" => Some(Status::Archived),
        "all" => None,
        _ => Some(Status::Active),
    };
    let filter = DiscountFilter { status, code: None };
    let read = move |db: &Reader<'_>, page: &_| discount::list(db, &filter, page);
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, read).await?;
    let now = visitor.app().clock.now();
    let look = move |db: &Reader<'_>| {
        let names = named(db, rows.iter().map(|code: &Discount| code.team_id))?;
        let shown = rows.into_iter().map(|code| {
            let seller = seller(&names, code.team_id);
            Shown::new(code, seller, now)
        });
        Ok((shown.collect::<Vec<_>>(), account::find(db)?.timezone))
    };
    let (codes, zone) = visitor.read(look).await?;
    let frame = visitor.frame("Discount codes", Section::Store).flash(visitor.guest.done(&DONE));
    show(StatusCode::OK, &ListPage { frame, codes, next, state, zone })
}

pub(super) async fn ask_archive(visitor: Keeper, At(id): At<DiscountId>) -> Outcome<Response> {
    let code = visitor.read(move |db| discount::find(db, id)).await?;
    if code.status == Status::Archived {
        return Ok(see_other("/admin/store/codes"));
    }
    let page = AskPage {
        frame: visitor.frame("Archive this code?", Section::Store),
        name: code.code,
        lead: "can no longer be used.",
        events: vec![
            "Whoever types it is told that there is no such code.",
            "Orders that used it stay as cheap as they are.",
            "Another code can be written like it.",
        ],
        button: "Archive it",
        nonce: String::new(),
        reason: false,
        back: format!("/admin/store/codes/{id}"),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn archive(
    At(id): At<DiscountId>,
    Sent { visitor, .. }: Sent,
) -> Outcome<Response> {
    let archive = move |tx: &Tx<'_>| {
        let code = discount::find(tx, id)?;
        if code.status == Status::Archived {
            return Ok(code);
        }
        discount::archive(tx, id, &Expected::Anything)
    };
    visitor.write(archive).await?;
    Ok(see_other("/admin/store/codes?done=archived"))
}
