//! The schedule: lists of events, calendars, answers, series and downloads in a club with many events.

use std::net::SocketAddr;

use serde_json::Value;

use crate::Result;
use crate::club::{Club, page_path};
use crate::figures::{Measured, Rounds};
use crate::http::{Connection, get};
use crate::load::{self, Asker, Circle, NewTeams, Numbers, Pace, beside, readers};
use crate::options::Measure;
use crate::season::{self, Season};
use crate::site::{Database, Site};
use crate::table::{Row, Verdict};
use crate::{agenda, calendars, crowd, download, series};

const TEAMS_THERE: usize = 1000;
/// How many read at the same time.
const CLIENTS: usize = 32;
pub(crate) const LIMIT: usize = 50;

/// Where everything takes place.
pub(crate) struct Stage {
    pub(crate) database: Database,
    pub(crate) club: Club,
    pub(crate) season: Season,
    pub(crate) pace: Pace,
    pub(crate) quick: bool,
    numbers: Numbers,
}

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let database = site.database("club").await?;
    let club = Club::found(&database)?;
    let numbers = Numbers::default();
    let season = season::fill(&database, &club, measure.teams(TEAMS_THERE), &numbers).await?;
    let (pace, quick) = (measure.pace(), measure.is_quick());
    let stage = Stage { database, club, season, pace, quick, numbers };
    let mut downloads = download::measure(&stage).await?;
    let service = stage.database.serve(&[]).await?;
    let mut rows = agenda::measure(&stage, service.address).await?;
    rows.extend(calendars::measure(&stage, service.address).await?);
    let peak = service.memory()?.1;
    rows.push(crate::memory::row("resident after the lists and calendars, at most", peak, None));
    rows.extend(crowd::measure(&stage, service.address).await?);
    rows.extend(series::measure(&stage, service.address).await?);
    rows.append(&mut downloads);
    Ok(rows)
}

impl Stage {
    /// The first page of the teams: what other reads are compared with.
    pub(crate) fn plain(&self) -> Circle {
        Circle::new(vec![get(&page_path(LIMIT, None), &self.club.key)])
    }

    /// A script that creates teams.
    pub(crate) fn writes(&self) -> NewTeams {
        NewTeams::new(&self.club.key, false, &self.numbers)
    }

    pub(crate) async fn read(&self, address: SocketAddr, circle: &Circle) -> Result<Measured> {
        load::measure(readers(address, circle, CLIENTS).await?, self.pace).await
    }

    /// Reads while somebody creates teams without pause.
    pub(crate) async fn read_amid_writes(
        &self,
        address: SocketAddr,
        circle: &Circle,
    ) -> Result<Measured> {
        let writer = Asker::connect(address, self.writes(), 201).await?;
        beside(readers(address, circle, CLIENTS).await?, writer, self.pace).await
    }
}

/// A read beside the bare route and beside the plain list of teams.
pub(crate) fn compared(name: String, ours: &Rounds, bare: &Rounds, teams: &Rounds) -> Row {
    let (rate, of_teams) = (ours.rate_against(bare), ours.rate_against(teams));
    Row {
        ask: "≥ 0.5",
        ratio: format!("{rate:.2}; of `GET /teams` {of_teams:.2}"),
        verdict: Verdict::Shown(rate >= 0.5),
        ..Row::of_rates(name, ours, bare)
    }
}

/// Asks for something and reads the answer as JSON.
pub(crate) async fn asked(
    connection: &mut Connection,
    request: &[u8],
    status: u16,
) -> Result<Value> {
    let body = connection.ask(request).await?.expect(status)?;
    serde_json::from_slice(body).map_err(|error| format!("not JSON: {error}"))
}
