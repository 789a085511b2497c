//! Pages of the team app: Home of a parent of three children with six teams, and the page of an event.
//!
//! Each page is compared with a bare route that sends the same bytes, and with a list of 50 events that does not come
//! from the cache. All three are measured in turns.

use std::net::SocketAddr;
use std::time::Duration;

use kit::Clock;

use crate::Result;
use crate::admin_overview::{browser_request, linked_files};
use crate::baseline_server;
use crate::club::Club;
use crate::environment::{Database, Environment};
use crate::family::{self, Family};
use crate::http::{Connection, EVENTS, get_request, request_json};
use crate::load::{self, Counter, RequestCycle, Timing, readers};
use crate::options::Measure;
use crate::process::Process;
use crate::schedule_fixture::LIMIT;
use crate::stats::Rounds;
use crate::table::{Row, TargetResult};

const HOME: &str = "/";
const CLIENTS: usize = 32;
/// The number of different lists. Their responses do not fit into the cache.
const LISTS: u64 = 5000;
/// The targets: the server's time compared with that of the list, and bytes.
const MAX_TIME_RATIO: f64 = 3.0;
const MAX_HTML_BYTES: usize = 40_000;
const MAX_FIRST_LOAD_BYTES: usize = 120_000;

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let database = environment.database("family").await?;
    let club = Club::create(&database)?;
    let family = family::create(&database, &club, &Counter::default()).await?;
    let service = database.serve(&[]).await?;
    let lists = event_lists(service.address, &club).await?;
    let event = format!("/events/{}", family.event);
    let home = Page::load(&database, service.address, HOME, &family).await?;
    let event = Page::load(&database, service.address, &event, &family).await?;
    let timing = measure.timing();
    let mut results = [Results::default(), Results::default()];
    for round in 0..timing.rounds {
        eprintln!("  round {}", round + 1);
        for (page, results) in [&home, &event].into_iter().zip(&mut results) {
            results.round(page, service.address, &lists, timing).await?;
        }
    }
    let [of_home, of_event] = results;
    let (home_name, event_name) =
        ("`/`, Home of a parent of three with six teams", "`/events/{id}` of the parent");
    let mut rows = of_home.rows(home_name, &home, true);
    rows.extend(of_event.rows(event_name, &event, false));
    Ok(rows)
}

/// Lists of 50 events from many times.
async fn event_lists(ours: SocketAddr, club: &Club) -> Result<RequestCycle> {
    let now = Clock::system().now();
    let request = |number| {
        let from = now.plus(Duration::from_secs(number));
        get_request(&format!("{EVENTS}?from={from}&limit={LIMIT}"), &club.key)
    };
    let requests: Vec<_> = (0..LISTS).map(request).collect();
    let mut connection = Connection::open(ours).await?;
    let list = request_json(&mut connection, &requests[0], 200).await?;
    match list["data"].as_array().map_or(0, Vec::len) {
        LIMIT => Ok(RequestCycle::new(requests)),
        count => Err(format!("a list has {count} events, expected {LIMIT}")),
    }
}

/// A page, and a bare route that sends the same bytes.
struct Page {
    request: RequestCycle,
    bare: Process,
    /// Bytes of the HTML.
    html: usize,
    /// Bytes of the page and of every file that it links to, as sent.
    first_load: usize,
}

impl Page {
    async fn load(
        database: &Database,
        ours: SocketAddr,
        path: &str,
        family: &Family,
    ) -> Result<Self> {
        let request = browser_request(path, &family.cookie);
        let mut connection = Connection::open(ours).await?;
        let html = connection.request(&request).await?.expect(200)?.to_vec();
        let text = String::from_utf8_lossy(&html).into_owned();
        if !text.contains(&format!("/events/{}", family.event)) {
            return Err(format!("{path} does not show the next event"));
        }
        let mut first_load = html.len();
        for file in linked_files(&text) {
            let sent = connection.request(&browser_request(file, &family.cookie)).await?;
            first_load += sent.expect(200)?.len();
        }
        let size = html.len();
        let bare = baseline_server::start(database, &[(path.to_owned(), html)]).await?;
        Ok(Self { request: RequestCycle::new(vec![request]), bare, html: size, first_load })
    }
}

/// The results of all rounds of one page.
#[derive(Default)]
struct Results {
    bare: Rounds,
    page: Rounds,
    list: Rounds,
}

impl Results {
    async fn round(
        &mut self,
        page: &Page,
        ours: SocketAddr,
        lists: &RequestCycle,
        timing: Timing,
    ) -> Result<()> {
        let read = async |address, requests: &RequestCycle| {
            load::measure(readers(address, requests, CLIENTS).await?, timing).await
        };
        self.bare.add(read(page.bare.address, &page.request).await?);
        self.list.add(read(ours, lists).await?);
        self.page.add(read(ours, &page.request).await?);
        Ok(())
    }

    fn rows(&self, name: &str, page: &Page, has_target: bool) -> Vec<Row> {
        let time = self.list.rate_ratio(&self.page);
        let ratio = self.page.rate_ratio(&self.bare);
        let verdict = if has_target { TargetResult::Target } else { TargetResult::Reference };
        let size = |what: &str, target, bytes: usize, max| Row {
            name: format!("{name}: {what}"),
            target,
            result: format!("{:.1} kB", bytes as f64 / 1e3),
            baseline: String::new(),
            ratio: String::new(),
            verdict: verdict(bytes < max),
        };
        vec![
            Row {
                target: "time ≤ 3× `GET /events?limit=50`",
                ratio: format!("{ratio:.2}; time of `GET /events` {time:.2}×"),
                verdict: verdict(time <= MAX_TIME_RATIO),
                ..Row::compare_rates(name, &self.page, &self.bare)
            },
            size("HTML", "< 40 kB", page.html, MAX_HTML_BYTES),
            size("first load, as sent", "< 120 kB", page.first_load, MAX_FIRST_LOAD_BYTES),
        ]
    }
}
