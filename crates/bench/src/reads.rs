//! Reads: a page and a team, compared with a bare route that returns the same bytes.
//!
//! The service caches responses while an account does not change. So besides the first page, pages across the whole
//! list and pages with concurrent writes are measured.

use std::net::SocketAddr;

use crate::Result;
use crate::baseline_server;
use crate::club::{Club, create_teams, page, page_path};
use crate::environment::{Database, Environment};
use crate::http::{Connection, TEAMS, get_request};
use crate::load::{
    self, Counter, CreateTeams, HttpClient, RequestCycle, Timing, measure_with_background, readers,
};
use crate::options::Measure;
use crate::process::Process;
use crate::stats::Rounds;
use crate::table::{Row, TargetResult};

const TEAM_COUNT: usize = 100_000;
const CLIENTS: usize = 32;
const LIMIT: usize = 50;
/// The numbers of different pages and teams that are requested.
const PAGES: usize = 200;
const TEAM_REQUESTS: usize = 10_000;

/// The prepared requests.
struct Requests {
    first: RequestCycle,
    pages: RequestCycle,
    teams: RequestCycle,
    /// For the concurrent writer.
    writes: CreateTeams,
}

/// The results of all rounds.
#[derive(Default)]
struct Results {
    baseline_page: Rounds,
    first: Rounds,
    pages: Rounds,
    pages_with_writes: Rounds,
    baseline_team: Rounds,
    team: Rounds,
    team_with_writes: Rounds,
}

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let database = environment.database("club").await?;
    let club = Club::create(&database)?;
    let numbers = Counter::default();
    create_teams(&database, &club, measure.scaled(TEAM_COUNT), &numbers).await?;
    let service = database.serve(&[]).await?;
    let requests = collect_requests(&service, &club, measure.scaled(TEAM_COUNT), &numbers).await?;
    let bare = start_baseline(&service, &club, &requests, &database).await?;
    let mut results = Results::default();
    for round in 0..measure.timing().rounds {
        eprintln!("  round {}", round + 1);
        results.round(service.address, bare.address, &requests, measure.timing()).await?;
    }
    let peak = service.memory()?.1;
    Ok(results.rows(environment, peak))
}

/// Reads the whole list once and picks pages and teams at even intervals.
async fn collect_requests(
    service: &Process,
    club: &Club,
    teams: usize,
    numbers: &Counter,
) -> Result<Requests> {
    let mut connection = Connection::open(service.address).await?;
    let (mut pages, mut ids) = (Vec::new(), Vec::new());
    let (mut cursor, mut number) = (None, 0);
    loop {
        let page = page(&mut connection, club, LIMIT, cursor.as_deref()).await?;
        ids.extend(page.data.into_iter().map(|team| team.id));
        cursor = page.next_cursor;
        number += 1;
        match &cursor {
            Some(cursor) if number % (teams / LIMIT / PAGES).max(1) == 0 => {
                pages.push(get_request(&page_path(LIMIT, Some(cursor)), &club.key));
            }
            Some(_) => {}
            None => break,
        }
    }
    if ids.len() != teams {
        return Err(format!("the list has {} of {teams} teams", ids.len()));
    }
    let step = (teams / TEAM_REQUESTS).max(1);
    let team = |id: &String| get_request(&format!("{TEAMS}/{id}"), &club.key);
    Ok(Requests {
        first: RequestCycle::new(vec![get_request(&page_path(LIMIT, None), &club.key)]),
        pages: RequestCycle::new(pages),
        teams: RequestCycle::new(ids.iter().step_by(step).map(team).collect()),
        writes: CreateTeams::new(&club.key, false, numbers),
    })
}

/// Starts the baseline server with responses of the service.
async fn start_baseline(
    service: &Process,
    club: &Club,
    requests: &Requests,
    database: &Database,
) -> Result<Process> {
    use crate::load::Script;
    let mut connection = Connection::open(service.address).await?;
    let page = connection.request(&get_request(&page_path(LIMIT, None), &club.key)).await?;
    let page = (TEAMS.to_owned(), page.expect(200)?.to_vec());
    let team = connection.request(requests.teams.clone().next()).await?;
    let team = (format!("{TEAMS}/{{id}}"), team.expect(200)?.to_vec());
    baseline_server::start(database, &[page, team]).await
}

impl Results {
    async fn round(
        &mut self,
        ours: SocketAddr,
        bare: SocketAddr,
        requests: &Requests,
        timing: Timing,
    ) -> Result<()> {
        let Requests { first, pages, teams, writes } = requests;
        let read = async |address, requests| {
            load::measure(readers(address, requests, CLIENTS).await?, timing).await
        };
        let read_with_writes = async |requests| {
            let writer = HttpClient::connect(ours, writes.clone(), 201).await?;
            measure_with_background(readers(ours, requests, CLIENTS).await?, writer, timing).await
        };
        self.baseline_page.add(read(bare, first).await?);
        self.first.add(read(ours, first).await?);
        self.pages.add(read(ours, pages).await?);
        self.pages_with_writes.add(read_with_writes(pages).await?);
        self.baseline_team.add(read(bare, teams).await?);
        self.team.add(read(ours, teams).await?);
        self.team_with_writes.add(read_with_writes(teams).await?);
        Ok(())
    }

    fn rows(&self, environment: &Environment, peak: u64) -> Vec<Row> {
        let has_target = !environment.kind.is_postgres();
        let list = "`GET /teams?limit=50`";
        let one = "`GET /teams/{id}`";
        vec![
            row(format!("{list}, first page"), &self.first, &self.baseline_page, has_target),
            row(format!("{list}, 200 different pages"), &self.pages, &self.baseline_page, false),
            row(
                format!("{list}, 200 different pages, with concurrent writes"),
                &self.pages_with_writes,
                &self.baseline_page,
                false,
            ),
            row(format!("{one}, 10,000 teams"), &self.team, &self.baseline_team, has_target),
            row(
                format!("{one}, 10,000 teams, with concurrent writes"),
                &self.team_with_writes,
                &self.baseline_team,
                false,
            ),
            crate::memory::row("Peak resident memory of the reads", peak, None),
        ]
    }
}

fn row(name: String, ours: &Rounds, baseline: &Rounds, has_target: bool) -> Row {
    let (ratio, p99) = (ours.rate_ratio(baseline), ours.p99_ratio(baseline));
    let met = ratio >= 0.5 && p99 < 4.0;
    Row {
        target: "≥ 0.5, p99 < 4×",
        ratio: format!("{ratio:.2}, p99 {p99:.1}×"),
        verdict: if has_target { TargetResult::Target(met) } else { TargetResult::Reference(met) },
        ..Row::compare_rates(name, ours, baseline)
    }
}
