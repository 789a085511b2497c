//! Usage and limits: API requests by hour and by credential, and how many were rate limited.

use std::collections::BTreeMap;

use super::shared::{Admin, show};
use crate::accounts::account::{self, Account};
use crate::accounts::usage::{self, Count, HOUR, HOURS_PER_WEEK, UsageHour};
use crate::admin::chart::{Bar, Chart};
use crate::names::Names;
use crate::prelude::*;
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
    /// The notes below the number of requests and below the limit.
    notes: (String, String),
    quota: u32,
    remaining: u32,
    /// The period, as the value of the query parameter and as text.
    range: &'static str,
    period: &'static str,
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
}

async fn show_usage(visitor: Admin) -> PageResult<Response> {
    let query = visitor.guest.query()?;
    let week = query.text("range") == "7d";
    let (hours, range, period) =
        if week { (HOURS_PER_WEEK, "7d", "7 days") } else { (HOURS_PER_DAY, "24h", "24 hours") };
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
        frame: visitor.frame("Usage and limits", Section::Usage),
        quota,
        remaining: app.limits.remaining(account.id, quota),
        range,
        period,
        selected: selected.map(|id| (names.get_or_id(&id).to_owned(), id)),
        summary: summarize(total, &by_hour, period, &zone),
        total,
        others: credentials.len().saturating_sub(MAX_CREDENTIALS),
        credentials: credentials.into_iter().take(MAX_CREDENTIALS).collect(),
        chart: Chart::new(&bars(&by_hour, &zone, week)),
        hours: by_hour.into_iter().rev().filter(|(_, count)| count.requests > 0).collect(),
        notes: (format!("In the last {period}"), format!("The limit of the {} tier", account.tier)),
        zone,
    };
    show(StatusCode::OK, &page)
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
        let (kind, folder) = if is_app { ("OAuth app", "apps") } else { ("API key", "keys") };
        let (id, name) = (id.to_owned(), names.get_or_id(id).to_owned());
        Credential { href: format!("/admin/{folder}/{id}"), id, name, kind, count }
    });
    let mut all: Vec<_> = credentials.collect();
    all.sort_by(|a, b| b.count.requests.cmp(&a.count.requests).then_with(|| a.id.cmp(&b.id)));
    all
}

fn bars(by_hour: &BTreeMap<Timestamp, Count>, zone: &Zone, week: bool) -> Vec<Bar> {
    let bar = |(hour, count): (&Timestamp, &Count)| {
        let local = zone.local(*hour);
        let day = local.day();
        let label = match (week, local.hour()) {
            (false, hour) => format!("{hour:02}:00"),
            (true, 0) => format!("{} {}", day.day(), month_name(day)),
            (true, _) => String::new(),
        };
        let refused = match count.refused {
            0 => String::new(),
            refused => format!(", {refused} refused"),
        };
        let tooltip =
            format!("{day}, {:02}:00: {} requests{refused}", local.hour(), count.requests);
        Bar { label, tooltip, value: count.requests, part: count.refused }
    };
    by_hour.iter().map(bar).collect()
}

fn month_name(day: Day) -> &'static str {
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    usize::try_from(day.month() - 1).ok().and_then(|month| months.get(month)).unwrap_or(&"")
}

/// The chart as text, for screen readers.
fn summarize(
    total: Count,
    by_hour: &BTreeMap<Timestamp, Count>,
    period: &str,
    zone: &Zone,
) -> String {
    let group = |count: i64| kit::money::group_thousands(&count.to_string());
    let busiest = by_hour.iter().max_by_key(|(_, count)| count.requests);
    let busiest = busiest.filter(|(_, count)| count.requests > 0).map(|(hour, count)| {
        let local = zone.local(*hour);
        format!(
            " The busiest hour started at {:02}:00 on {} with {}.",
            local.hour(),
            local.day().format_text(),
            group(count.requests)
        )
    });
    format!(
        "{} requests in the last {period}, {} of them refused.{}",
        group(total.requests),
        group(total.refused),
        busiest.unwrap_or_default()
    )
}
