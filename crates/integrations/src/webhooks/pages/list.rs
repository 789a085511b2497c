//! The list of a club's webhooks.

use super::WebhookAdmin;
use super::display::DayChart;
use crate::prelude::*;
use crate::web::list::FilterBar;
use crate::web::prelude::*;
use crate::webhooks::webhook::{Reason, Webhook};
use crate::webhooks::{edit, summary};

/// The messages after an action.
const DONE: [(&str, &str); 1] =
    [("deleted", mark!("The webhook and its delivery history were deleted."))];

/// A webhook as it is listed.
struct Row {
    chart: DayChart,
    /// How many deliveries have failed for good.
    failed: i64,
    last_delivery_at: Option<Timestamp>,
    webhook: Webhook,
}

#[derive(Template)]
#[template(path = "webhooks/list.html")]
struct ListPage {
    frame: Frame,
    rows: Vec<Row>,
    next: String,
    filters: FilterBar,
    now: Timestamp,
}

/// The states that the list can be filtered by, with their labels.
const STATES: [(&str, &str); 2] =
    [("failing", mark!("Failing")), ("turned_off", mark!("Turned off by Touchline"))];

/// Whether a webhook is in this state.
fn is_in(webhook: &Webhook, state: &str) -> bool {
    match state {
        "failing" => webhook.is_on() && webhook.failing_since.is_some(),
        "turned_off" => !webhook.is_on() && webhook.disabled_reason != Some(Reason::Manual),
        _ => true,
    }
}

pub(super) async fn list(visitor: WebhookAdmin) -> PageResult<Response> {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let filters = FilterBar::new(&request.form).select("state", "Status", "All", STATES);
    let state = filters.text("state").to_owned();
    let read = move |db: &Reader<'_>, position: &Page<WebhookId>| page(db, &state, position);
    let RowPage { rows, next } = RowPage::read(&visitor, &request, read).await?;
    let rows = visitor.read(move |db| rows.into_iter().map(|one| row(db, one)).collect()).await?;
    let frame = visitor.frame(t!("Webhooks"), Section::Webhooks);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let now = visitor.app().clock.now();
    render(StatusCode::OK, &ListPage { frame, rows, next, filters, now })
}

/// A page of the webhooks, newest first. An account has at most 1,000, so all are read.
fn page(db: &Reader<'_>, state: &str, page: &Page<WebhookId>) -> Result<Vec<Webhook>> {
    let after = page.after(WebhookId::MIN, WebhookId::MAX);
    let mut all = edit::list_all(db)?;
    all.retain(|webhook| webhook.id < after && is_in(webhook, state));
    all.reverse();
    all.truncate(usize::try_from(page.fetch_limit()).unwrap_or(usize::MAX));
    Ok(all)
}

fn row(db: &Reader<'_>, webhook: Webhook) -> Result<Row> {
    Ok(Row {
        chart: DayChart::new(&summary::day(db, webhook.id)?),
        failed: summary::count_undelivered(db, webhook.id)?.failed,
        last_delivery_at: summary::last_delivery_at(db, webhook.id)?,
        webhook,
    })
}
