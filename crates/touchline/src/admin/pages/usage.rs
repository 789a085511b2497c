//! Usage and limits: how often keys and apps ask, when, and how often they were turned away.

use std::collections::BTreeMap;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::{Day, Timestamp, Zone};

use super::shared::{Admin, show};
use crate::accounts::account::{self, Account};
use crate::accounts::usage::{self, Count, HOUR, Hour, WEEK};
use crate::admin::chart::{Bar, Chart};
use crate::app::App;
use crate::error::Result;
use crate::jobs;
use crate::names::Names;
use crate::web::page::{Frame, Section};
use crate::web::visitor::Outcome;

const DAY: u32 = 24;
/// So many keys and apps are listed, the busiest ones.
const LISTED: usize = 100;

pub(super) fn router() -> Router<App> {
    Router::new().route("/admin/usage", get(look))
}

/// A key or an app, and how often it asked.
struct Credential {
    id: String,
    name: String,
    /// The page about it.
    href: String,
    kind: &'static str,
    count: Count,
}

#[derive(Template)]
#[template(path = "admin/usage.html")]
struct UsagePage {
    frame: Frame,
    /// What stands below the first number and below the limit.
    notes: (String, String),
    quota: u32,
    remaining: u32,
    /// The stretch of time that is shown, as the address says it and in words.
    range: &'static str,
    stretch: &'static str,
    /// The key or app that is looked at alone.
    only: Option<(String, String)>,
    total: Count,
    credentials: Vec<Credential>,
    /// How many asked less often than those that are listed.
    others: usize,
    chart: Chart,
    told: String,
    /// Hours in which something happened, newest first.
    hours: Vec<(Timestamp, Count)>,
    zone: Zone,
}

impl UsagePage {
    fn is_only(&self, id: &str) -> bool {
        self.only.as_ref().is_some_and(|(_, only)| only == id)
    }
}

async fn look(visitor: Admin) -> Outcome<Response> {
    let asked = visitor.guest.query()?;
    let week = asked.text("range") == "7d";
    let (hours, range, stretch) =
        if week { (WEEK, "7d", "7 days") } else { (DAY, "24h", "24 hours") };
    let app = visitor.app();
    // What was counted a moment ago is shown too.
    jobs::write_usage(app).await;
    let first = usage::first_of(hours, app.clock.now());
    let only = asked.maybe("credential").map(str::to_owned);
    let (account, found, names) = visitor.read(move |db| read(db, first)).await?;
    let known =
        |id: &String| found.iter().any(|hour| hour.credential == *id) || names.of_id(id).is_some();
    let only = only.filter(known);
    let counted: Vec<_> =
        found.iter().filter(|hour| only.as_ref().is_none_or(|id| hour.credential == *id)).collect();
    let by_hour = by_hour(&counted, first, hours);
    let mut total = Count::default();
    for count in by_hour.values() {
        total.add(*count);
    }
    let quota = app.config.rate_limits.of(account.tier);
    let zone = account.timezone.clone();
    let credentials = credentials(&found, &names);
    let page = UsagePage {
        frame: visitor.frame("Usage and limits", Section::Usage),
        quota,
        remaining: app.limits.remaining(account.id, quota),
        range,
        stretch,
        only: only.map(|id| (names.or_id(&id).to_owned(), id)),
        told: told(total, &by_hour, stretch, &zone),
        total,
        others: credentials.len().saturating_sub(LISTED),
        credentials: credentials.into_iter().take(LISTED).collect(),
        chart: Chart::new(&bars(&by_hour, &zone, week)),
        hours: by_hour.into_iter().rev().filter(|(_, count)| count.requests > 0).collect(),
        notes: (
            format!("In the last {stretch}"),
            format!("The limit of the tier {}", account.tier),
        ),
        zone,
    };
    show(StatusCode::OK, &page)
}

fn read(db: &store::Reader<'_>, first: Timestamp) -> Result<(Account, Vec<Hour>, Names)> {
    let found = usage::since(db, first)?;
    let mut ids: Vec<_> = found.iter().map(|hour| hour.credential.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let names = Names::of(db, ids)?;
    Ok((account::find(db)?, found, names))
}

/// Every hour of the stretch, also those in which nothing happened.
fn by_hour(counted: &[&Hour], first: Timestamp, hours: u32) -> BTreeMap<Timestamp, Count> {
    let all = (0..hours).map(|number| (first.plus(HOUR * number), Count::default()));
    let mut by_hour: BTreeMap<_, _> = all.collect();
    for hour in counted {
        by_hour.entry(hour.hour).or_default().add(hour.count());
    }
    by_hour
}

/// Keys and apps, the busiest first.
fn credentials(found: &[Hour], names: &Names) -> Vec<Credential> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for hour in found {
        counts.entry(&hour.credential).or_default().add(hour.count());
    }
    let shown = counts.into_iter().map(|(id, count)| {
        let app = id.starts_with("app_");
        let (kind, place) = if app { ("OAuth app", "apps") } else { ("API key", "keys") };
        let (id, name) = (id.to_owned(), names.or_id(id).to_owned());
        Credential { href: format!("/admin/{place}/{id}"), id, name, kind, count }
    });
    let mut all: Vec<_> = shown.collect();
    all.sort_by(|a, b| b.count.requests.cmp(&a.count.requests).then_with(|| a.id.cmp(&b.id)));
    all
}

fn bars(by_hour: &BTreeMap<Timestamp, Count>, zone: &Zone, week: bool) -> Vec<Bar> {
    let bar = |(hour, count): (&Timestamp, &Count)| {
        let local = zone.local(*hour);
        let day = local.day();
        let label = match (week, local.hour()) {
            (false, hour) => format!("{hour:02}:00"),
            (true, 0) => format!("{} {}", day.day(), month(day)),
            (true, _) => String::new(),
        };
        let refused = match count.refused {
            0 => String::new(),
            refused => format!(", {refused} refused"),
        };
        let told = format!("{day}, {:02}:00: {} requests{refused}", local.hour(), count.requests);
        Bar { label, told, value: count.requests, part: count.refused }
    };
    by_hour.iter().map(bar).collect()
}

fn month(day: Day) -> &'static str {
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    usize::try_from(day.month() - 1).ok().and_then(|month| months.get(month)).unwrap_or(&"")
}

/// The chart in a sentence, for whoever does not see it.
fn told(total: Count, by_hour: &BTreeMap<Timestamp, Count>, stretch: &str, zone: &Zone) -> String {
    let busiest = by_hour.iter().max_by_key(|(_, count)| count.requests);
    let busiest = busiest.filter(|(_, count)| count.requests > 0).map(|(hour, count)| {
        let local = zone.local(*hour);
        format!(
            " The busiest hour began at {:02}:00 on {} with {}.",
            local.hour(),
            local.day(),
            count.requests
        )
    });
    format!(
        "{} requests in the last {stretch}, {} of them refused.{}",
        total.requests,
        total.refused,
        busiest.unwrap_or_default()
    )
}
