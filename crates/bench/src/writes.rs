//! Writes: new teams, each answered after a durable commit, against the same statements without HTTP.

use std::net::SocketAddr;

use crate::Result;
use crate::ceiling::Ceiling;
use crate::club::Club;
use crate::figures::{Measured, Rounds};
use crate::load::{self, NewTeams, Numbers, Pace, writers};
use crate::options::Measure;
use crate::site::Site;
use crate::table::{Row, Verdict};

const CLIENTS: [usize; 4] = [1, 16, 64, 256];
/// With an idempotency key, this many.
const KEYED: usize = 64;
/// How many accounts write side by side where that is asked for.
const CLUBS: usize = 16;

/// The requests of every club.
struct Scripts {
    plain: Vec<NewTeams>,
    keyed: NewTeams,
}

/// What each round adds to.
#[derive(Default)]
struct Seen {
    ours: [Rounds; CLIENTS.len()],
    ceiling: [Rounds; CLIENTS.len()],
    keyed: Rounds,
    clubs: Rounds,
}

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    // SQLite has one writer for all accounts: more of them change nothing there.
    let clubs = if site.kind.is_postgres() { CLUBS } else { 1 };
    let database = site.database("club").await?;
    let found = (0..clubs).map(|_| Club::found(&database)).collect::<Result<Vec<_>>>()?;
    let numbers = Numbers::default();
    let plain = found.iter().map(|club| NewTeams::new(&club.key, false, &numbers)).collect();
    let scripts = Scripts { plain, keyed: NewTeams::new(&found[0].key, true, &numbers) };
    let ceiling = Ceiling::open(site).await?;
    let service = database.serve(&[]).await?;
    let mut seen = Seen::default();
    for round in 0..measure.pace().rounds {
        eprintln!("  round {}", round + 1);
        seen.round(service.address, &scripts, &ceiling, measure.pace()).await?;
    }
    Ok(seen.rows(site.kind.is_postgres()))
}

async fn write(
    address: SocketAddr,
    scripts: &[NewTeams],
    many: usize,
    pace: Pace,
) -> Result<Measured> {
    load::measure(writers(address, scripts, many).await?, pace).await
}

impl Seen {
    async fn round(
        &mut self,
        address: SocketAddr,
        scripts: &Scripts,
        ceiling: &Ceiling,
        pace: Pace,
    ) -> Result<()> {
        let Scripts { plain, keyed } = scripts;
        for (at, many) in CLIENTS.into_iter().enumerate() {
            self.ceiling[at].add(ceiling.measure(many, pace).await?);
            self.ours[at].add(write(address, &plain[..1], many, pace).await?);
            if many == KEYED {
                let keyed = std::slice::from_ref(keyed);
                self.keyed.add(write(address, keyed, many, pace).await?);
            }
        }
        if plain.len() > 1 {
            let most = CLIENTS[CLIENTS.len() - 1];
            self.clubs.add(write(address, plain, most, pace).await?);
        }
        Ok(())
    }

    fn rows(&self, postgres: bool) -> Vec<Row> {
        let mut rows: Vec<_> = (0..CLIENTS.len()).map(|at| self.row(at, postgres)).collect();
        let of_keyed = CLIENTS.iter().position(|many| *many == KEYED).unwrap_or_default();
        rows.push(Row::of_rates(
            format!("`POST /teams` with `Idempotency-Key`, {KEYED} clients"),
            &self.keyed,
            &self.ceiling[of_keyed],
        ));
        let (few, most) = (&self.ours[0], &self.ours[CLIENTS.len() - 1]);
        let (ask, least) = if postgres { ("≥ 5", 5.0) } else { ("≥ 20", 20.0) };
        rows.push(Row {
            ask,
            verdict: Verdict::Asked(most.rate_against(few) >= least),
            ..Row::of_rates("`POST /teams`: 256 clients against 1 client", most, few)
        });
        // How much there is to gain depends on the disk; the loop shows what it allows.
        let (few, most_of_loop) = (&self.ceiling[0], &self.ceiling[CLIENTS.len() - 1]);
        rows.push(Row {
            ask,
            verdict: Verdict::Shown(most_of_loop.rate_against(few) >= least),
            ..Row::of_rates("the loop without HTTP: 256 tasks against 1 task", most_of_loop, few)
        });
        if postgres {
            rows.push(Row {
                ask: "≥ 1",
                verdict: Verdict::Asked(self.clubs.rate_against(most) >= 1.0),
                ..Row::of_rates(
                    format!("`POST /teams`, 256 clients: {CLUBS} accounts against one"),
                    &self.clubs,
                    most,
                )
            });
        }
        rows
    }

    fn row(&self, at: usize, postgres: bool) -> Row {
        let many = CLIENTS[at];
        let (ours, ceiling) = (&self.ours[at], &self.ceiling[at]);
        let plural = if many == 1 { "" } else { "s" };
        let row = Row::of_rates(format!("`POST /teams`, {many} client{plural}"), ours, ceiling);
        if many < 64 {
            return row;
        }
        let met = ours.rate_against(ceiling) >= 0.5;
        let verdict = if postgres { Verdict::Shown(met) } else { Verdict::Asked(met) };
        Row { ask: "≥ 0.5", verdict, ..row }
    }
}
