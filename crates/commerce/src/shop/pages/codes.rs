//! The list of discount codes, and archiving one.

use super::{AdminSubmission, AdminVisitor, fill_cells, money, percent, with_sellers};
use crate::accounts::account;
use crate::prelude::*;
use crate::shop::discount::{self, Discount, DiscountFilter, Status};
use crate::web::confirm::ConfirmPage;
use crate::web::list::{Cell, Column, FilterBar, List, list_page};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// Messages by the value of `?done=`.
const DONE: [(&str, &str); 3] = [
    ("made", mark!("The code was created.")),
    ("saved", mark!("The code was saved.")),
    ("archived", mark!("The code was archived and can no longer be used.")),
];

/// A row of the list: a code, its seller, and the kind and text of its badge.
struct CodeRow {
    code: Discount,
    seller: String,
    badge: (&'static str, &'static str),
}

/// Kind and text of the badge of a code.
fn badge(code: &Discount, now: Timestamp) -> (&'static str, &'static str) {
    if code.status == Status::Archived {
        ("", mark!("Archived"))
    } else if code.valid_from.is_some_and(|from| from > now) {
        ("info", mark!("Not valid yet"))
    } else if code.valid_until.is_some_and(|until| until <= now) {
        ("", mark!("Expired"))
    } else if code.max_uses.is_some_and(|max| code.use_count >= max) {
        ("warn", mark!("Limit reached"))
    } else {
        ("good", mark!("Valid"))
    }
}

const COLUMNS: &[Column<CodeRow>] = &[
    Column::page("Code", |CodeRow { code, .. }| {
        Cell::name(&code.code).link(format!("/admin/store/codes/{}", code.id))
    }),
    Column::page("Discount", |CodeRow { code, .. }| match code.amount.zip(code.currency) {
        Some((amount, currency)) => Cell::Money(money(amount, currency)),
        None => Cell::text(format_args!("{}%", percent(code.percent_bps.unwrap_or_default())))
            .inside("span", "nowrap"),
    }),
    Column::page("Products sold by", |row| match row.code.team_id {
        Some(_) => Cell::wide(&row.seller),
        None => Cell::muted(t!("Any seller")),
    }),
    Column::number("Uses", |CodeRow { code, .. }| match code.max_uses {
        Some(max) => Cell::text(t!("{count} of {max}", count = code.use_count, max)),
        None => Cell::text(code.use_count),
    }),
    Column::page("Valid", |CodeRow { code, .. }| {
        let period = match (code.valid_from, code.valid_until) {
            (None, None) => Cell::muted(t!("Always")),
            (Some(from), None) => fill_cells(t!("from {time}"), &[("time", Cell::Time(from))]),
            (None, Some(until)) => fill_cells(t!("until {time}"), &[("time", Cell::Time(until))]),
            (Some(from), Some(until)) => {
                let times = [("from", Cell::Time(from)), ("until", Cell::Time(until))];
                fill_cells(t!("{from} to {until}"), &times)
            }
        };
        period.inside("span", "")
    }),
    Column::page("Status", |row| Cell::Badge(row.badge)),
];

list_page!(CodesPage, "shop/codes.html");

pub(super) async fn list(visitor: AdminVisitor) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let choices = [("archived", t!("Archived")), ("all", t!("All codes"))];
    let filters =
        FilterBar::new(&request.form).select("state", "Status", "All except archived", choices);
    let status = match filters.text("state") {
        "archived" => Some(Status::Archived),
        "all" => None,
        _ => Some(Status::Active),
    };
    let filter = DiscountFilter { status, ..DiscountFilter::default() };
    let read = move |db: &Reader<'_>, page: &_| discount::list(db, &filter, page);
    let RowPage { rows, next } = RowPage::read(&visitor, &request, read).await?;
    let now = visitor.app().clock.now();
    let load = move |db: &Reader<'_>| {
        let rows = with_sellers(db, rows, |code: &Discount| code.team_id)?.into_iter();
        let codes = rows.map(|(code, seller)| CodeRow { badge: badge(&code, now), code, seller });
        Ok((codes.collect::<Vec<_>>(), account::find(db)?.timezone))
    };
    let (codes, zone) = visitor.read(load).await?;
    let frame =
        visitor.frame(t!("Discount codes"), Section::Store).flash(visitor.guest.done_flash(&DONE));
    let list = List::new(t!("Discount codes"), COLUMNS, &codes, &(now, zone));
    let list = list.next(next).filters(filters);
    render(StatusCode::OK, &CodesPage { frame, list })
}

pub(super) async fn ask_archive(
    visitor: AdminVisitor,
    PathParams(id): PathParams<DiscountId>,
) -> PageResult {
    let code = visitor.read(move |db| discount::find(db, id)).await?;
    if code.status == Status::Archived {
        return Ok(see_other("/admin/store/codes"));
    }
    let frame = visitor.frame(t!("Archive this code?"), Section::Store);
    let lead = Sentence::new("{code} will be archived when you confirm.");
    ConfirmPage::new(frame, "Archive code", format!("/admin/store/codes/{id}"))
    .lead(lead.name("code", &code.code))
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
) -> PageResult {
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
