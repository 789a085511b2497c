//! Usage and limits: API requests by hour and by credential, and how many were rate limited.

use std::collections::BTreeMap;

use super::shared::Admin;
use crate::accounts::account::{self, Account};
use crate::accounts::usage::{self, Count, HOUR, HOURS_PER_WEEK, UsageHour};
use crate::admin::chart::{Bar, Chart};
use crate::i18n::{Locale, format};
use crate::names::Names;
use crate::prelude::*;
use crate::tier::Tier;
use crate::web::prelude::*;

const HOURS_PER_DAY: u32 = 24;
/// How many keys and apps are listed, busiest first.
const MAX_CREDENTIALS: usize = 100;

pub(super) fn router() -> Router<App> {
    Router::new().route("/admin/usage", get(show_usage))
}

/// A key or an app, and its number of requests.
struct Credential {
    id: String,
    name: String,
    /// Its page in the admin area.
    href: String,
    kind: &'static str,
    count: Count,
}

#[derive(Template)]
#[template(path = "admin/usage.html")]
struct UsagePage {
    frame: Frame,
    lead: &'static str,
    /// The notes below the number of requests and below the limit.
    notes: (&'static str, &'static str),
    quota: u32,
    remaining: u32,
    /// The period, as the value of the query parameter.
    range: &'static str,
    /// The name and id of the key or app that the page is filtered by.
    selected: Option<(String, String)>,
    total: Count,
    credentials: Vec<Credential>,
    /// How many keys and apps are not listed.
    others: usize,
    chart: Chart,
    summary: String,
    /// Hours with at least one request, newest first.
    hours: Vec<(Timestamp, Count)>,
    zone: Zone,
}

impl UsagePage {
    fn is_selected(&self, id: &str) -> bool {
        self.selected.as_ref().is_some_and(|(_, only)| only == id)
    }

    /// The headings of the table by hour.
    fn hour_heads() -> [String; 3] {
        let [requests, refused] = count_heads();
        [t!("Hour").to_owned(), requests, refused]
    }

    /// The headings of the table by key and app.
    fn credential_heads() -> [String; 4] {
        let [requests, refused] = count_heads();
        [t!("Name").to_owned(), t!("Kind").to_owned(), requests, refused]
    }
}

/// The headings of the columns with numbers.
fn count_heads() -> [String; 2] {
    [t!("Requests"), t!("Refused", "requests")].map(|head| format!("#{head}"))
}

async fn show_usage(visitor: Admin) -> PageResult {
    let query = visitor.guest.query()?;
    let week = query.text("range") == "7d";
    let (hours, range) = if week { (HOURS_PER_WEEK, "7d") } else { (HOURS_PER_DAY, "24h") };
    let app = visitor.app();
    // Flush the counters in memory, so that the newest requests are included.
    app.flush_usage().await;
    let first = usage::window_start(hours, app.clock.now());
    let selected = query.optional("credential").map(str::to_owned);
    let (account, usage, names) = visitor.read(move |db| load(db, first)).await?;
    let is_known =
        |id: &String| usage.iter().any(|hour| hour.credential == *id) || names.get(id).is_some();
    let selected = selected.filter(is_known);
    let matching: Vec<_> = usage
        .iter()
        .filter(|hour| selected.as_ref().is_none_or(|id| hour.credential == *id))
        .collect();
    let by_hour = by_hour(&matching, first, hours);
    let mut total = Count::default();
    for count in by_hour.values() {
        total.add(*count);
    }
    let quota = app.config.rate_limits.of(account.tier);
    let zone = account.timezone.clone();
    let credentials = credentials(&usage, &names);
    let page = UsagePage {
        frame: visitor.frame(t!("Usage and limits"), Section::Usage),
        lead: if week {
            t!("API requests by programs and apps in the last 7 days.")
        } else {
            t!("API requests by programs and apps in the last 24 hours.")
        },
        quota,
        remaining: app.limits.remaining(account.id, quota),
        range,
        selected: selected.map(|id| (names.get_or_id(&id).to_owned(), id)),
        summary: summarize(total, &by_hour, week, &zone),
        total,
        others: credentials.len().saturating_sub(MAX_CREDENTIALS),
        credentials: credentials.into_iter().take(MAX_CREDENTIALS).collect(),
        chart: Chart::new(&bars(&by_hour, &zone, week)),
        hours: by_hour.into_iter().rev().filter(|(_, count)| count.requests > 0).collect(),
        notes: (
            if week { t!("In the last 7 days") } else { t!("In the last 24 hours") },
            match account.tier {
                Tier::Free => t!("The limit of the free tier"),
                Tier::Club => t!("The limit of the club tier"),
                Tier::League => t!("The limit of the league tier"),
            },
        ),
        zone,
    };
    render(StatusCode::OK, &page)
}

fn load(db: &store::Reader<'_>, first: Timestamp) -> Result<(Account, Vec<UsageHour>, Names)> {
    let hours = usage::list_since(db, first)?;
    let mut ids: Vec<_> = hours.iter().map(|hour| hour.credential.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let names = Names::load(db, ids)?;
    Ok((account::find(db)?, hours, names))
}

/// The requests of every hour of the period, including hours without any.
fn by_hour(usage: &[&UsageHour], first: Timestamp, hours: u32) -> BTreeMap<Timestamp, Count> {
    let all = (0..hours).map(|number| (first.plus(HOUR * number), Count::default()));
    let mut by_hour: BTreeMap<_, _> = all.collect();
    for hour in usage {
        by_hour.entry(hour.hour).or_default().add(hour.count());
    }
    by_hour
}

/// Keys and apps, the busiest first.
fn credentials(usage: &[UsageHour], names: &Names) -> Vec<Credential> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for hour in usage {
        counts.entry(&hour.credential).or_default().add(hour.count());
    }
    let credentials = counts.into_iter().map(|(id, count)| {
        let is_app = id.starts_with("app_");
        let (kind, folder) =
            if is_app { (t!("OAuth app"), "apps") } else { (t!("API key"), "keys") };
        let (id, name) = (id.to_owned(), names.get_or_id(id).to_owned());
        Credential { href: format!("/admin/{folder}/{id}"), id, name, kind, count }
    });
    let mut all: Vec<_> = credentials.collect();
    all.sort_by(|a, b| b.count.requests.cmp(&a.count.requests).then_with(|| a.id.cmp(&b.id)));
    all
}

fn bars(by_hour: &BTreeMap<Timestamp, Count>, zone: &Zone, week: bool) -> Vec<Bar> {
    let locale = Locale::current_or_english();
    let bar = |(hour, count): (&Timestamp, &Count)| {
        let local = zone.local(*hour);
        let label = match (week, local.hour()) {
            (false, _) => format::time(locale, local),
            (true, 0) => format::day(locale, local.day()),
            (true, _) => String::new(),
        };
        Bar {
            label,
            tooltip: tooltip(*hour, *count, zone),
            value: count.requests,
            part: count.refused,
        }
    };
    by_hour.iter().map(bar).collect()
}

fn tooltip(hour: Timestamp, Count { requests, refused }: Count, zone: &Zone) -> String {
    let time = format::minute(Locale::current_or_english(), zone.local(hour));
    match refused {
        0 => tn!("{time}: {count} request", "{time}: {count} requests", requests, time),
        _ => tn!(
            "{time}: {count} request, {refused} refused",
            "{time}: {count} requests, {refused} refused",
            requests,
            time,
            refused
        ),
    }
}

/// The chart as text, for screen readers.
fn summarize(
    Count { requests, refused }: Count,
    by_hour: &BTreeMap<Timestamp, Count>,
    week: bool,
    zone: &Zone,
) -> String {
    let total = if week {
        tn!(
            "{count} request in the last 7 days, {refused} of them refused.",
            "{count} requests in the last 7 days, {refused} of them refused.",
            requests,
            refused
        )
    } else {
        tn!(
            "{count} request in the last 24 hours, {refused} of them refused.",
            "{count} requests in the last 24 hours, {refused} of them refused.",
            requests,
            refused
        )
    };
    let busiest = by_hour.iter().max_by_key(|(_, count)| count.requests);
    let busiest = busiest.filter(|(_, count)| count.requests > 0).map(|(hour, count)| {
        let local = zone.local(*hour);
        let time = format::time(Locale::current_or_english(), local);
        let (day, count) = (local.day(), count.requests);
        tn!(
            "The busiest hour started at {time} on {day}, with {count} request.",
            "The busiest hour started at {time} on {day}, with {count} requests.",
            count,
            time,
            day
        )
    });
    match busiest {
        Some(busiest) => format!("{total} {busiest}"),
        None => total,
    }
}
