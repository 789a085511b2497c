//! One webhook: what it is, how it does, and its deliveries.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::word::Word;
use kit::{Timestamp, Zone};
use store::Reader;

use super::form::team_names;
use super::shown::{self, Bar};
use super::{Keeper, named, place, show};
use crate::accounts::account;
use crate::error::Result;
use crate::ids::WebhookId;
use crate::names::Names;
use crate::paging::Order;
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::Outcome;
use crate::webhooks::delivery::{Delivery, Status as DeliveryStatus};
use crate::webhooks::summary::{self, Day, Open, Search, Wanted};
use crate::webhooks::webhook::{self, Ordering, Status, Webhook};

/// What is said after something was done.
const DONE: [(&str, &str); 7] = [
    ("saved", "The webhook was saved."),
    ("off", "The webhook is off. Nothing is sent to it."),
    ("on", "The webhook is on. It is told what happens from now on."),
    ("on-missed", "The webhook is on and is being told what it missed."),
    ("on-before", "The webhook was on already; nothing was changed."),
    ("replay", "The webhook is being told again, as you asked."),
    (
        "before",
        "Your browser sent the same form twice. It was carried out once, and the secret was shown then. If nobody copied it, make a new one.",
    ),
];
/// No search is longer.
const LONGEST: usize = 100;

/// A delivery as it is listed.
struct Row {
    delivery: Delivery,
    state: (&'static str, &'static str),
    answer: String,
    soon: bool,
}

impl Row {
    fn new(delivery: Delivery, now: Timestamp) -> Self {
        Self {
            state: shown::outcome(&delivery),
            answer: shown::answer(&delivery),
            soon: delivery.next_attempt_at.is_some_and(|next| shown::soon(next, now)),
            delivery,
        }
    }
}

/// What is looked at beside the deliveries.
struct Look {
    webhook: Webhook,
    names: Names,
    teams: Vec<String>,
    zone: Zone,
    day: Day,
    open: Open,
    /// How many notifications it missed while it was off or its receiver failed, and whether there may be more.
    missed: (i64, bool),
}

fn look(db: &Reader<'_>, id: WebhookId) -> Result<Look> {
    let webhook = webhook::find(db, id)?;
    let behind = webhook.status == Status::Disabled || webhook.failing_since.is_some();
    let missed = if behind { summary::missed(db, &webhook)? } else { (0, false) };
    Ok(Look {
        names: named(db, &webhook)?,
        teams: team_names(db, &webhook)?,
        zone: account::find(db)?.timezone,
        day: summary::day(db, id)?,
        open: summary::open(db, id)?,
        missed,
        webhook,
    })
}

#[derive(Template)]
#[template(path = "webhooks/detail.html")]
struct DetailPage {
    frame: Frame,
    webhook: Webhook,
    creator: String,
    /// The app it was made through.
    via: Option<String>,
    teams: Vec<String>,
    kinds: usize,
    state: (&'static str, &'static str),
    why: &'static str,
    missed: (i64, bool),
    bar: Bar,
    /// Hours in which something was sent, newest first.
    hours: Vec<summary::Hour>,
    open: Open,
    rows: Vec<Row>,
    next: String,
    /// What the list is narrowed to.
    status: String,
    q: String,
    filtered: bool,
    /// This page, and whether it keeps itself up to date.
    here: String,
    live: bool,
    place: String,
    now: Timestamp,
    zone: Zone,
}

impl DetailPage {
    fn is_on(&self) -> bool {
        self.webhook.status == Status::Enabled
    }

    fn is_strict(&self) -> bool {
        self.webhook.ordering == Ordering::Strict
    }
}

pub(super) async fn one(visitor: Keeper, At(id): At<WebhookId>) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let q: String = asked.form.text("q").chars().take(LONGEST).collect();
    let status = DeliveryStatus::parse(asked.form.text("status"));
    let wanted = Wanted { status, search: Search::read(&q) };
    let searched = !matches!(wanted.search, Search::Everything);
    let Look { webhook, names, teams, zone, day, open, missed } =
        visitor.read(move |db| look(db, id)).await?;
    let deliveries = move |db: &Reader<'_>, page: &_| summary::deliveries(db, id, &wanted, page);
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, deliveries).await?;
    let now = visitor.app().clock.now();
    let filters = asked.filters();
    let place = place(&webhook);
    let here = if filters.is_empty() { place.clone() } else { format!("{place}?{filters}") };
    let frame = visitor.frame(shown::short_url(&webhook.url), Section::Webhooks);
    let via = webhook.creator_app.as_deref().map(|app| names.or_id(app).to_owned());
    let page = DetailPage {
        frame: frame.flash(visitor.guest.done(&DONE)),
        creator: names.or_id(&webhook.creator).to_owned(),
        via,
        teams,
        kinds: shown::kinds_of(&webhook),
        state: shown::state(&webhook),
        why: shown::why(&webhook),
        missed,
        bar: Bar::new(&day),
        hours: day.0.into_iter().rev().filter(|hour| hour.succeeded + hour.failed > 0).collect(),
        open,
        rows: rows.into_iter().map(|delivery| Row::new(delivery, now)).collect(),
        next,
        status: status.map(|status| status.word().to_owned()).unwrap_or_default(),
        filtered: status.is_some() || !q.is_empty(),
        // Older pages seldom change, a search may take a while, and nothing is sent while it is off.
        live: webhook.status == Status::Enabled
            && !searched
            && asked.form.maybe("cursor").is_none(),
        q,
        here,
        place,
        now,
        zone,
        webhook,
    };
    show(StatusCode::OK, &page)
}
