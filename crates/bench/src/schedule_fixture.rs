//! The club with many events that the benchmarks of the schedule share.

use std::net::SocketAddr;

use crate::Result;
use crate::club::{Club, page_path};
use crate::environment::{Database, Environment};
use crate::http::get_request;
use crate::load::{
    self, Counter, CreateTeams, HttpClient, RequestCycle, Timing, measure_with_background, readers,
};
use crate::options::Measure;
use crate::season::{self, Season};
use crate::stats::{Measurement, Rounds};
use crate::table::{Row, TargetResult};

const TEAM_COUNT: usize = 1000;
/// The number of concurrent readers.
const CLIENTS: usize = 32;
pub(crate) const LIMIT: usize = 50;

/// The club with its season that all schedule benchmarks share.
pub(crate) struct Fixture {
    pub(crate) database: Database,
    pub(crate) club: Club,
    pub(crate) season: Season,
    pub(crate) timing: Timing,
    pub(crate) quick: bool,
    numbers: Counter,
}

impl Fixture {
    pub(crate) async fn create(environment: &Environment, measure: &Measure) -> Result<Self> {
        let database = environment.database("club").await?;
        let club = Club::create(&database)?;
        let numbers = Counter::default();
        let season =
            season::create_season(&database, &club, measure.scaled(TEAM_COUNT), &numbers).await?;
        let (timing, quick) = (measure.timing(), measure.is_quick());
        Ok(Self { database, club, season, timing, quick, numbers })
    }

    /// Reads the first page of the teams, which other reads are compared with.
    pub(crate) fn first_team_page(&self) -> RequestCycle {
        RequestCycle::new(vec![get_request(&page_path(LIMIT, None), &self.club.key)])
    }

    /// A script that creates teams.
    pub(crate) fn create_teams(&self) -> CreateTeams {
        CreateTeams::new(&self.club.key, false, &self.numbers)
    }

    pub(crate) async fn read(
        &self,
        address: SocketAddr,
        requests: &RequestCycle,
    ) -> Result<Measurement> {
        load::measure(readers(address, requests, CLIENTS).await?, self.timing).await
    }

    /// Reads while another client creates teams.
    pub(crate) async fn read_with_writes(
        &self,
        address: SocketAddr,
        requests: &RequestCycle,
    ) -> Result<Measurement> {
        let writer = HttpClient::connect(address, self.create_teams(), 201).await?;
        measure_with_background(readers(address, requests, CLIENTS).await?, writer, self.timing)
            .await
    }
}

/// A row that compares a read with the baseline server and with the list of teams.
pub(crate) fn compare_read(name: String, ours: &Rounds, baseline: &Rounds, teams: &Rounds) -> Row {
    let (ratio, of_teams) = (ours.rate_ratio(baseline), ours.rate_ratio(teams));
    Row {
        target: "≥ 0.5",
        ratio: format!("{ratio:.2}; of `GET /teams` {of_teams:.2}"),
        verdict: TargetResult::Reference(ratio >= 0.5),
        ..Row::compare_rates(name, ours, baseline)
    }
}
