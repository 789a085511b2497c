//! The list of discount codes, and archiving one.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Timestamp, Zone};
use store::{Reader, Tx};

use super::{AdminSubmission, AdminVisitor, money, percent, render, seller_name, team_names};
use crate::accounts::account;
use crate::ids::DiscountId;
use crate::if_match::IfMatch;
use crate::paging::Order;
use crate::shop::discount::{self, Discount, DiscountFilter, Status};
use crate::web::confirm::ConfirmPage;
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::row_page::{ListRequest, RowPage};
use crate::web::sentence::Sentence;
use crate::web::visitor::{PageResult, see_other};

/// Messages by the value of `?done=`.
const DONE: [(&str, &str); 3] = [
    ("made", "The code was created."),
    ("saved", "The code was saved."),
    ("archived", "The code was archived and can no longer be used."),
];

/// A row of the list.
struct CodeRow {
    code: Discount,
    /// The amount or percentage of the discount.
    reduction: String,
    seller: String,
    /// Kind and text of the badge.
    badge: (&'static str, &'static str),
}

impl CodeRow {
    fn new(code: Discount, seller: String, now: Timestamp) -> Self {
        let reduction = match (code.amount.zip(code.currency), code.percent_bps) {
            (Some((amount, currency)), _) => money(amount, currency).to_string(),
            (None, points) => format!("{}%", percent(points.unwrap_or_default())),
        };
        let badge = if code.status == Status::Archived {
            ("", "Archived")
        } else if code.valid_from.is_some_and(|from| from > now) {
            ("info", "Not valid yet")
        } else if code.valid_until.is_some_and(|until| until <= now) {
            ("", "Expired")
        } else if code.max_uses.is_some_and(|max| code.use_count >= max) {
            ("warn", "Limit reached")
        } else {
            ("good", "Valid")
        };
        Self { code, reduction, seller, badge }
    }
}

#[derive(Template)]
#[template(path = "shop/codes.html")]
struct CodesPage {
    frame: Frame,
    codes: Vec<CodeRow>,
    next: String,
    state: String,
    zone: Zone,
}

pub(super) async fn list(visitor: AdminVisitor) -> PageResult<Response> {
    let asked = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let state = asked.form.text("state").to_owned();
    let status = match state.as_str() {
        "archived" => Some(Status::Archived),
        "all" => None,
        _ => Some(Status::Active),
    };
    let filter = DiscountFilter { status, ..DiscountFilter::default() };
    let read = move |db: &Reader<'_>, page: &_| discount::list(db, &filter, page);
    let RowPage { rows, next } = RowPage::read(&visitor, &asked, read).await?;
    let now = visitor.app().clock.now();
    let load = move |db: &Reader<'_>| {
        let names = team_names(db, rows.iter().map(|code: &Discount| code.team_id))?;
        let codes = rows.into_iter().map(|code| {
            let seller = seller_name(&names, code.team_id);
            CodeRow::new(code, seller, now)
        });
        Ok((codes.collect::<Vec<_>>(), account::find(db)?.timezone))
    };
    let (codes, zone) = visitor.read(load).await?;
    let frame =
        visitor.frame("Discount codes", Section::Store).flash(visitor.guest.done_flash(&DONE));
    render(StatusCode::OK, &CodesPage { frame, codes, next, state, zone })
}

pub(super) async fn ask_archive(
    visitor: AdminVisitor,
    PathParams(id): PathParams<DiscountId>,
) -> PageResult<Response> {
    let code = visitor.read(move |db| discount::find(db, id)).await?;
    if code.status == Status::Archived {
        return Ok(see_other("/admin/store/codes"));
    }
    ConfirmPage::new(
        visitor.frame("Archive this code?", Section::Store),
        "Archive code",
        format!("/admin/store/codes/{id}"),
    )
    .lead(Sentence::new("{code} will be archived when you confirm.").name("code", &code.code))
    .effect(
        "It can no longer be used. People who enter it see a message that the code does not exist.",
    )
    .effect("Existing orders keep their discount.")
    .effect("You can create a new code with the same name.")
    .back_label("Go back")
    .respond()
}

pub(super) async fn archive(
    PathParams(id): PathParams<DiscountId>,
    AdminSubmission { visitor, .. }: AdminSubmission,
) -> PageResult<Response> {
    let archive = move |tx: &Tx<'_>| {
        let code = discount::find(tx, id)?;
        if code.status == Status::Archived {
            return Ok(code);
        }
        discount::archive(tx, id, &IfMatch::Absent)
    };
    visitor.write(archive).await?;
    Ok(see_other("/admin/store/codes?done=archived"))
}
