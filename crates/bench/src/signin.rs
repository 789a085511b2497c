//! Signing in: tokens that are renewed, lists read with a token and with a key, and the first page that
//! somebody sees.

use std::net::SocketAddr;

use crate::Result;
use crate::club::{Club, fill, page_path};
use crate::figures::Rounds;
use crate::holders::{self, COACHED, Holders};
use crate::http::{Connection, get};
use crate::load::{self, Circle, Numbers, Pace, readers};
use crate::options::Measure;
use crate::schedule::{LIMIT, asked};
use crate::site::Site;
use crate::table::{Row, Verdict};
use crate::{overview, renewals};

const TEAMS_THERE: usize = 1000;
/// How many read at the same time.
const CLIENTS: usize = 32;

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let (database, pace) = (site.database("club").await?, measure.pace());
    let club = Club::found(&database)?;
    let numbers = Numbers::default();
    fill(&database, &club, measure.teams(TEAMS_THERE), &numbers).await?;
    let many = renewals::needed(pace.rounds);
    let holders = Holders::join(&database, &club, many, &numbers).await?;
    let cookie = holders::demo_owner(&database).await?;
    let service = database.serve(&[]).await?;
    let mut rows = read(service.address, &club, &holders, pace).await?;
    rows.extend(renewals::measure(site, service.address, &holders, pace).await?);
    rows.extend(overview::measure(&database, service.address, &cookie, pace).await?);
    Ok(rows)
}

/// Two who ask for the same and see the same, one with a token and one with a key.
#[derive(Default)]
struct Pair {
    token: Rounds,
    key: Rounds,
}

impl Pair {
    async fn round(
        &mut self,
        ours: SocketAddr,
        [token, key]: [&Circle; 2],
        pace: Pace,
    ) -> Result<()> {
        let read = async |circle| load::measure(readers(ours, circle, CLIENTS).await?, pace).await;
        self.key.add(read(key).await?);
        self.token.add(read(token).await?);
        Ok(())
    }

    fn row(&self, name: String) -> Row {
        let met = self.token.rate_against(&self.key) >= 0.9;
        let verdict = Verdict::Asked(met);
        Row { ask: "≥ 0.9", verdict, ..Row::of_rates(name, &self.token, &self.key) }
    }
}

/// The list of teams with the owner's token and with the coach's, each against a key.
async fn read(ours: SocketAddr, club: &Club, holders: &Holders, pace: Pace) -> Result<Vec<Row>> {
    let ask = |bearer: &String| get(&page_path(LIMIT, None), bearer);
    let owner = [&holders.owner, &club.key].map(ask);
    let coach = [&holders.coach, &holders.narrowed].map(ask);
    alike(ours, &owner, LIMIT).await?;
    alike(ours, &coach, COACHED).await?;
    let [owner, coach] = [owner, coach].map(|two| two.map(|one| Circle::new(vec![one])));
    let (mut owners, mut coachs) = (Pair::default(), Pair::default());
    for round in 0..pace.rounds {
        eprintln!("  tokens and keys, round {}", round + 1);
        owners.round(ours, owner.each_ref(), pace).await?;
        coachs.round(ours, coach.each_ref(), pace).await?;
    }
    let list = "`GET /teams?limit=50`";
    Ok(vec![
        owners.row(format!("{list}, an owner's token against a key")),
        coachs.row(format!("{list}, a coach's token against a key for the same {COACHED} teams")),
    ])
}

/// Fails unless both are shown the same teams, and so many.
async fn alike(ours: SocketAddr, requests: &[Vec<u8>; 2], many: usize) -> Result<()> {
    let mut connection = Connection::open(ours).await?;
    let token = asked(&mut connection, &requests[0], 200).await?;
    let key = asked(&mut connection, &requests[1], 200).await?;
    let shown = token["data"].as_array().map_or(0, Vec::len);
    if token["data"] != key["data"] || shown != many {
        return Err(format!("a token shows {shown} of {many} teams, or others than the key does"));
    }
    Ok(())
}
