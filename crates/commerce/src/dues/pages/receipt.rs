//! A printable receipt of the payments of a due.

use super::detail::PaymentRow;
use super::family::{VisibleDue, load_visible};
use super::{LIST_PATH, OWN_DUES_PATH, formatting};
use crate::money::OrdersRead;
use crate::prelude::*;
use crate::web::prelude::*;

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
    payments: Vec<PaymentRow>,
    paid: String,
    open: String,
    zone: Zone,
    now: Timestamp,
}

pub(super) async fn show(
    visitor: Visitor<OrdersRead>,
    PathParams(id): PathParams<DueId>,
) -> PageResult<Response> {
    let access = visitor.team_access().await?;
    let VisibleDue { due, names, payments, zone } =
        visitor.read(move |db| load_visible(db, &access, id)).await?;
    let family = visitor.roster_access().await?.family_person_ids();
    let own = family.contains(&due.person_id) || family.contains(&due.payer_id);
    let page = ReceiptPage {
        frame: visitor.frame(t!("Receipt"), Section::MyDues),
        back: if visitor.is_admin() && !own {
            format!("{LIST_PATH}/{id}")
        } else {
            format!("{OWN_DUES_PATH}/{id}")
        },
        id,
        person: names.person(due.person_id),
        payer: names.person(due.payer_id),
        team: names.team(due.team_id),
        paid: formatting::money(due.paid, due.currency),
        open: formatting::money(due.balance, due.currency),
        title: due.title,
        payments,
        zone,
        now: visitor.app().clock.now(),
    };
    super::render(StatusCode::OK, &page)
}
