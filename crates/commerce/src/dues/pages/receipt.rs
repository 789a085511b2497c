//! A printable receipt of the payments of a due.

use super::detail::PaymentRow;
use super::family::{VisibleDue, load_visible};
use super::formatting::NamedDue;
use super::{LIST_PATH, OWN_DUES_PATH};
use crate::money::OrdersRead;
use crate::prelude::*;
use crate::web::prelude::*;

#[derive(Template)]
#[template(path = "dues/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    back: String,
    due: NamedDue,
    payments: Vec<PaymentRow>,
    zone: Zone,
    now: Timestamp,
}

pub(super) async fn show(
    visitor: Visitor<OrdersRead>,
    PathParams(id): PathParams<DueId>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let VisibleDue { due, payments, zone } =
        visitor.read(move |db| load_visible(db, &access, id)).await?;
    let family = visitor.roster_access().await?.family_person_ids();
    let own = family.contains(&due.person_id) || family.contains(&due.payer_id);
    let list = if visitor.is_admin() && !own { LIST_PATH } else { OWN_DUES_PATH };
    let page = ReceiptPage {
        frame: visitor.frame(t!("Receipt"), Section::MyDues),
        back: format!("{list}/{id}"),
        due,
        payments,
        zone,
        now: visitor.app().clock.now(),
    };
    super::render(StatusCode::OK, &page)
}
