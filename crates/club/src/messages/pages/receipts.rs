//! `/messages/{message}/receipts`: who received a message, and who has read it.

use super::{MessageReader, viewer};
use crate::messages::message;
use crate::messages::receipt::{self, Receipt, ReceiptFilter};
use crate::prelude::*;
use crate::web::list::{Cell, Column, FilterBar, List};
use crate::web::prelude::*;

const COLUMNS: &[Column<Receipt>] = &[
    Column::page("Name", |row| Cell::name(row.name.as_deref().unwrap_or(t!("Someone who left")))),
    Column::page("Read", |row| match row.read_at {
        Some(at) => Cell::Time(at),
        None => Cell::muted("Not yet"),
    }),
];

#[derive(Template)]
#[template(path = "messages/receipts.html")]
struct ReceiptsPage {
    frame: Frame,
    id: MessageId,
    list: List,
    read: i64,
    delivered: i64,
}

pub(super) async fn list(
    visitor: MessageReader,
    PathParams(id): PathParams<MessageId>,
) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let access = viewer(&visitor).await?.access;
    let load = {
        let access = access.clone();
        move |db: &Reader<'_>| {
            let message = message::find_managed(db, &access, id)?;
            let zone = crate::teams::team::find(db, message.team_id)?.timezone;
            Ok((message, zone))
        }
    };
    let (message, zone) = visitor.read(load).await?;
    let states = [("yes", t!("Have read it")), ("no", t!("Have not read it"))];
    let filters = FilterBar::new(&request.form).select("read", "Show", "All", states);
    let read = match filters.text("read") {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    let read = move |db: &Reader<'_>, page: &Page<PersonId>| {
        receipt::list(db, &access, (id, &ReceiptFilter { read }), page)
    };
    let rows = RowPage::read(&visitor, &request, read).await?;
    let times = (visitor.app().clock.now(), zone);
    let list = rows.list(t!("Recipients"), COLUMNS, &times).filters(filters);
    let frame = visitor.frame(t!("Who has read it"), Section::Messages);
    let (read, delivered) = (message.read_count, message.delivered_count);
    render(StatusCode::OK, &ReceiptsPage { frame, id, list, read, delivered })
}
