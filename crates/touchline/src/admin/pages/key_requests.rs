//! The last requests with an API key, so that the author of a program sees what happened.

use super::shared::Admin;
use crate::accounts::api_key;
use crate::accounts::request_log::{self, LoggedRequest, MAX_DAYS, MAX_REQUESTS};
use crate::prelude::*;
use crate::web::edge::API;
use crate::web::list::{Cell, Column, FilterBar, List};
use crate::web::prelude::*;

pub(super) fn router() -> Router<App> {
    Router::new().route("/admin/keys/{id}/requests", get(list))
}

#[derive(Template)]
#[template(path = "admin/key_requests.html")]
struct RequestsPage {
    frame: Frame,
    list: List,
    /// The page of the key, and its name.
    back: (String, String),
    max: u32,
    days: u32,
}

const COLUMNS: &[Column<LoggedRequest>] = &[
    Column::page("Request", |request| {
        let path = request.path.strip_prefix(API).unwrap_or(&request.path);
        let line = Cell::text(format_args!("{} {path}", request.method)).inside("code", "");
        line.and(Cell::text(&request.id).about())
    }),
    Column::page("Status", |request| {
        let code = request
            .code
            .as_ref()
            .map(|code| Cell::text(code).inside("code", "").link(format!("/docs/errors#{code}")));
        Cell::text(request.status).and_if(code)
    }),
    Column::number("Duration", |request| {
        Cell::text(format_args!("{} ms", request.duration.unsigned_abs().div_ceil(1000)))
    }),
    Column::page("Time", |request| Cell::Age(request.at)),
];

async fn list(visitor: Admin, PathParams(id): PathParams<KeyId>) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let filters = FilterBar::new(&request.form);
    let filters = filters.select("outcome", "Outcome", "All", [("failed", t!("Failed"))]);
    let only_failed = filters.text("outcome") == "failed";
    // The newest requests on this node may not be written yet.
    visitor.app().flush_request_log(Some(visitor.club()?)).await;
    let read = move |db: &Reader<'_>| {
        Ok((api_key::find(db, id)?, request_log::list(db, id, only_failed)?))
    };
    let (key, requests) = visitor.read(read).await?;
    let list = List::new(t!("Requests"), COLUMNS, &requests, &visitor.times()).filters(filters);
    let frame = visitor.frame(t!("Last requests"), Section::ApiKeys);
    let back = (format!("/admin/keys/{id}"), key.name);
    let page = RequestsPage { frame, list, back, max: MAX_REQUESTS, days: MAX_DAYS };
    render(StatusCode::OK, &page)
}
