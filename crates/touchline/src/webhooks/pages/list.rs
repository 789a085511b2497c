//! The webhooks of a club.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Timestamp;
use store::Reader;

use super::shown::{self, Bar};
use super::{Keeper, show};
use crate::error::Result;
use crate::ids::WebhookId;
use crate::paging::{Order, Page};
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{Frame, Section};
use crate::web::visitor::Outcome;
use crate::webhooks::webhook::{Reason, Status, Webhook};
use crate::webhooks::{edit, summary};

/// What is said after something was done.
const DONE: [(&str, &str); 1] =
    [("deleted", "The webhook was deleted, with all that was known of its deliveries.")];

/// A webhook as it is listed.
struct Row {
    url: String,
    events: String,
    state: (&'static str, &'static str),
    why: &'static str,
    bar: Bar,
    /// Deliveries that were given up.
    failed: i64,
    last: Option<Timestamp>,
    webhook: Webhook,
}

#[derive(Template)]
#[template(path = "webhooks/list.html")]
struct ListPage {
    frame: Frame,
    rows: Vec<Row>,
    next: String,
    state: String,
    now: Timestamp,
}

/// Which webhooks the list can be narrowed to, with the label of the choice.
const STATES: [(&str, &str); 2] =
    [("failing", "Failing"), ("turned_off", "Turned off by Touchline")];

/// Whether a webhook is in a state that the list is narrowed to.
fn is_in(webhook: &Webhook, state: &str) -> bool {
    match state {
        "failing" => webhook.status == Status::Enabled && webhook.failing_since.is_some(),
        "turned_off" => {
            webhook.status == Status::Disabled && webhook.disabled_reason != Some(Reason::ByHand)
        }
        _ => true,
    }
}

pub(super) async fn list(visitor: Keeper) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let state = asked.form.text("state").to_owned();
    let wanted = state.clone();
    let read = move |db: &Reader<'_>, asked: &Page<WebhookId>| page(db, &wanted, asked);
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, read).await?;
    let rows = visitor.read(move |db| rows.into_iter().map(|one| row(db, one)).collect()).await?;
    let frame = visitor.frame("Webhooks", Section::Webhooks);
    let frame = frame.flash(visitor.guest.done(&DONE));
    show(StatusCode::OK, &ListPage { frame, rows, next, state, now: visitor.app().clock.now() })
}

/// A page of the webhooks, the newest first. An account has few enough to look at all.
fn page(db: &Reader<'_>, state: &str, page: &Page<WebhookId>) -> Result<Vec<Webhook>> {
    let after = page.after(WebhookId::LEAST, WebhookId::GREATEST);
    let mut all = edit::all(db)?;
    all.retain(|webhook| webhook.id < after && is_in(webhook, state));
    all.reverse();
    all.truncate(usize::try_from(page.fetch()).unwrap_or(usize::MAX));
    Ok(all)
}

fn row(db: &Reader<'_>, webhook: Webhook) -> Result<Row> {
    Ok(Row {
        url: shown::short_url(&webhook.url),
        events: shown::events_in_short(&webhook),
        state: shown::state(&webhook),
        why: shown::why(&webhook),
        bar: Bar::new(&summary::day(db, webhook.id)?),
        failed: summary::open(db, webhook.id)?.failed,
        last: summary::last(db, webhook.id)?,
        webhook,
    })
}
