//! Reads: a page and a team, against a bare route that returns the same bytes.
//!
//! The service remembers answers while an account does not change. So the first page alone would
//! flatter it: pages all over the list and pages while somebody writes are measured as well.

use std::net::SocketAddr;

use crate::Result;
use crate::bare;
use crate::club::{Club, fill, page, page_path};
use crate::figures::Rounds;
use crate::http::{Connection, TEAMS, get};
use crate::load::{self, Asker, Circle, NewTeams, Numbers, Pace, beside, readers};
use crate::options::Measure;
use crate::process::Process;
use crate::site::{Database, Site};
use crate::table::{Row, Verdict};

const TEAMS_THERE: usize = 100_000;
const CLIENTS: usize = 32;
const LIMIT: usize = 50;
/// How many different pages and teams are asked for.
const PAGES: usize = 200;
const IDS: usize = 10_000;

/// Ready requests.
struct Requests {
    first: Circle,
    pages: Circle,
    teams: Circle,
    /// For whoever writes meanwhile.
    writes: NewTeams,
}

/// What each round adds to.
#[derive(Default)]
struct Seen {
    bare_page: Rounds,
    first: Rounds,
    pages: Rounds,
    pages_amid_writes: Rounds,
    bare_team: Rounds,
    team: Rounds,
    team_amid_writes: Rounds,
}

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let database = site.database("club").await?;
    let club = Club::found(&database)?;
    let numbers = Numbers::default();
    fill(&database, &club, measure.teams(TEAMS_THERE), &numbers).await?;
    let service = database.serve(&[]).await?;
    let requests = survey(&service, &club, measure.teams(TEAMS_THERE), &numbers).await?;
    let bare = bare_routes(&service, &club, &requests, &database).await?;
    let mut seen = Seen::default();
    for round in 0..measure.pace().rounds {
        eprintln!("  round {}", round + 1);
        seen.round(service.address, bare.address, &requests, measure.pace()).await?;
    }
    let peak = service.memory()?.1;
    Ok(seen.rows(site, peak))
}

/// Walks the whole list once and picks pages and teams evenly.
async fn survey(
    service: &Process,
    club: &Club,
    teams: usize,
    numbers: &Numbers,
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
                pages.push(get(&page_path(LIMIT, Some(cursor)), &club.key));
            }
            Some(_) => {}
            None => break,
        }
    }
    if ids.len() != teams {
        return Err(format!("the list shows {} of {teams} teams", ids.len()));
    }
    let step = (teams / IDS).max(1);
    let team = |id: &String| get(&format!("{TEAMS}/{id}"), &club.key);
    Ok(Requests {
        first: Circle::new(vec![get(&page_path(LIMIT, None), &club.key)]),
        pages: Circle::new(pages),
        teams: Circle::new(ids.iter().step_by(step).map(team).collect()),
        writes: NewTeams::new(&club.key, false, numbers),
    })
}

/// The bare routes, with bodies that the service has just answered.
async fn bare_routes(
    service: &Process,
    club: &Club,
    requests: &Requests,
    database: &Database,
) -> Result<Process> {
    use crate::load::Script;
    let mut connection = Connection::open(service.address).await?;
    let page = connection.ask(&get(&page_path(LIMIT, None), &club.key)).await?;
    let page = (TEAMS.to_owned(), page.expect(200)?.to_vec());
    let team = connection.ask(requests.teams.clone().next()).await?;
    let team = (format!("{TEAMS}/{{id}}"), team.expect(200)?.to_vec());
    bare::start(database, &[page, team]).await
}

impl Seen {
    async fn round(
        &mut self,
        ours: SocketAddr,
        bare: SocketAddr,
        requests: &Requests,
        pace: Pace,
    ) -> Result<()> {
        let Requests { first, pages, teams, writes } = requests;
        let read = async |address, circle| {
            load::measure(readers(address, circle, CLIENTS).await?, pace).await
        };
        let read_amid_writes = async |circle| {
            let writer = Asker::connect(ours, writes.clone(), 201).await?;
            beside(readers(ours, circle, CLIENTS).await?, writer, pace).await
        };
        self.bare_page.add(read(bare, first).await?);
        self.first.add(read(ours, first).await?);
        self.pages.add(read(ours, pages).await?);
        self.pages_amid_writes.add(read_amid_writes(pages).await?);
        self.bare_team.add(read(bare, teams).await?);
        self.team.add(read(ours, teams).await?);
        self.team_amid_writes.add(read_amid_writes(teams).await?);
        Ok(())
    }

    fn rows(&self, site: &Site, peak: u64) -> Vec<Row> {
        let asked = !site.kind.is_postgres();
        let list = "`GET /teams?limit=50`";
        let one = "`GET /teams/{id}`";
        vec![
            row(format!("{list}, the first page"), &self.first, &self.bare_page, asked),
            row(format!("{list}, 200 pages"), &self.pages, &self.bare_page, false),
            row(
                format!("{list}, 200 pages while a client writes"),
                &self.pages_amid_writes,
                &self.bare_page,
                false,
            ),
            row(format!("{one}, 10,000 teams"), &self.team, &self.bare_team, asked),
            row(
                format!("{one}, 10,000 teams while a client writes"),
                &self.team_amid_writes,
                &self.bare_team,
                false,
            ),
            crate::memory::row("resident after the reads, at most", peak, None),
        ]
    }
}

fn row(name: String, ours: &Rounds, bare: &Rounds, asked: bool) -> Row {
    let (rate, p99) = (ours.rate_against(bare), ours.p99_against(bare));
    let met = rate >= 0.5 && p99 < 4.0;
    Row {
        ask: "≥ 0.5, p99 < 4×",
        ratio: format!("{rate:.2}, p99 {p99:.1}×"),
        verdict: if asked { Verdict::Asked(met) } else { Verdict::Shown(met) },
        ..Row::of_rates(name, ours, bare)
    }
}
