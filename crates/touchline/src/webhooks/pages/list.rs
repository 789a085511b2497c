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
use crate::webhooks::webhook::Webhook;
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
    last: Option<Timestamp>,
    webhook: Webhook,
}

#[derive(Template)]
#[template(path = "webhooks/list.html")]
struct ListPage {
    frame: Frame,
    rows: Vec<Row>,
    next: String,
    now: Timestamp,
}

pub(super) async fn list(visitor: Keeper) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, page).await?;
    let rows = visitor.read(move |db| rows.into_iter().map(|one| row(db, one)).collect()).await?;
    let frame = visitor.frame("Webhooks", Section::Webhooks);
    let frame = frame.flash(visitor.guest.done(&DONE));
    show(StatusCode::OK, &ListPage { frame, rows, next, now: visitor.app().clock.now() })
}

/// A page of the webhooks, the newest first. An account has few enough to look at all.
fn page(db: &Reader<'_>, page: &Page<WebhookId>) -> Result<Vec<Webhook>> {
    let after = page.after(WebhookId::LEAST, WebhookId::GREATEST);
    let mut all = edit::all(db)?;
    all.retain(|webhook| webhook.id < after);
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
        last: summary::last(db, webhook.id)?,
        webhook,
    })
}
