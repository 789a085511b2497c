//! A receipt of what was paid for a due, to be printed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Timestamp, Zone};

use super::detail::PaidRow;
use super::family::{Seen, seen};
use super::{LIST, OWN, shown};
use crate::accounts::permits::OrdersRead;
use crate::ids::DueId;
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Visitor};

#[derive(Template)]
#[template(path = "dues/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    back: String,
    id: DueId,
    title: String,
    person: String,
    payer: String,
    team: String,
    payments: Vec<PaidRow>,
    paid: String,
    open: String,
    zone: Zone,
    now: Timestamp,
}

pub(super) async fn show(visitor: Visitor<OrdersRead>, At(id): At<DueId>) -> Outcome<Response> {
    let reach = visitor.reach().await?;
    let Seen { due, around, payments, zone } = visitor.read(move |db| seen(db, &reach, id)).await?;
    let family = visitor.standing().await?.family();
    let own = family.contains(&due.person_id) || family.contains(&due.payer_id);
    let page = ReceiptPage {
        frame: visitor.frame("Receipt", Section::OwnDues),
        back: if visitor.is_admin() && !own {
            format!("{LIST}/{id}")
        } else {
            format!("{OWN}/{id}")
        },
        id,
        person: around.person(due.person_id),
        payer: around.person(due.payer_id),
        team: around.team(due.team_id),
        paid: shown::money(due.paid, due.currency),
        open: shown::money(due.balance, due.currency),
        title: due.title,
        payments,
        zone,
        now: visitor.app().clock.now(),
    };
    super::show(StatusCode::OK, &page)
}
