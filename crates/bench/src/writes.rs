//! Writes: creating teams with durable commits, compared with the same statements without HTTP.

use std::net::SocketAddr;

use crate::Result;
use crate::club::Club;
use crate::environment::Environment;
use crate::load::{self, Counter, CreateTeams, Timing, writers};
use crate::options::Measure;
use crate::stats::{Measurement, Rounds};
use crate::store_baseline::StoreBaseline;
use crate::table::{Row, TargetResult};

const CLIENTS: [usize; 4] = [1, 16, 64, 256];
/// The number of clients for the measurement with idempotency keys.
const KEYED_CLIENTS: usize = 64;
/// The number of accounts for the measurement with several accounts.
const CLUBS: usize = 16;

/// The requests of every club.
struct Scripts {
    plain: Vec<CreateTeams>,
    keyed: CreateTeams,
}

/// The results of all rounds.
#[derive(Default)]
struct Results {
    ours: [Rounds; CLIENTS.len()],
    baseline: [Rounds; CLIENTS.len()],
    keyed: Rounds,
    clubs: Rounds,
}

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    // SQLite has a single writer, so the number of accounts makes no difference there.
    let count = if environment.kind.is_postgres() { CLUBS } else { 1 };
    let database = environment.database("club").await?;
    let clubs = (0..count).map(|_| Club::create(&database)).collect::<Result<Vec<_>>>()?;
    let numbers = Counter::default();
    let plain = clubs.iter().map(|club| CreateTeams::new(&club.key, false, &numbers)).collect();
    let scripts = Scripts { plain, keyed: CreateTeams::new(&clubs[0].key, true, &numbers) };
    let store_baseline = StoreBaseline::open(environment).await?;
    let service = database.serve(&[]).await?;
    let mut results = Results::default();
    for round in 0..measure.timing().rounds {
        eprintln!("  round {}", round + 1);
        results.round(service.address, &scripts, &store_baseline, measure.timing()).await?;
    }
    Ok(results.rows(environment.kind.is_postgres()))
}

async fn write(
    address: SocketAddr,
    scripts: &[CreateTeams],
    clients: usize,
    timing: Timing,
) -> Result<Measurement> {
    load::measure(writers(address, scripts, clients).await?, timing).await
}

impl Results {
    async fn round(
        &mut self,
        address: SocketAddr,
        scripts: &Scripts,
        store_baseline: &StoreBaseline,
        timing: Timing,
    ) -> Result<()> {
        let Scripts { plain, keyed } = scripts;
        for (index, clients) in CLIENTS.into_iter().enumerate() {
            self.baseline[index].add(store_baseline.measure(clients, timing).await?);
            self.ours[index].add(write(address, &plain[..1], clients, timing).await?);
            if clients == KEYED_CLIENTS {
                let keyed = std::slice::from_ref(keyed);
                self.keyed.add(write(address, keyed, clients, timing).await?);
            }
        }
        if plain.len() > 1 {
            let max_clients = CLIENTS[CLIENTS.len() - 1];
            self.clubs.add(write(address, plain, max_clients, timing).await?);
        }
        Ok(())
    }

    fn rows(&self, postgres: bool) -> Vec<Row> {
        let mut rows: Vec<_> = (0..CLIENTS.len()).map(|index| self.row(index, postgres)).collect();
        let keyed_index =
            CLIENTS.iter().position(|clients| *clients == KEYED_CLIENTS).unwrap_or_default();
        rows.push(Row::compare_rates(
            format!("`POST /teams` with `Idempotency-Key`, {KEYED_CLIENTS} clients"),
            &self.keyed,
            &self.baseline[keyed_index],
        ));
        let (single, max) = (&self.ours[0], &self.ours[CLIENTS.len() - 1]);
        let (ask, min_ratio) = if postgres { ("≥ 5", 5.0) } else { ("≥ 20", 20.0) };
        rows.push(Row {
            target: ask,
            verdict: TargetResult::Target(max.rate_ratio(single) >= min_ratio),
            ..Row::compare_rates("`POST /teams`: 256 clients compared with 1 client", max, single)
        });
        // The possible gain depends on the disk; the loop without HTTP shows how much there is.
        let (single, max_loop) = (&self.baseline[0], &self.baseline[CLIENTS.len() - 1]);
        rows.push(Row {
            target: ask,
            verdict: TargetResult::Reference(max_loop.rate_ratio(single) >= min_ratio),
            ..Row::compare_rates(
                "The loop without HTTP: 256 tasks compared with 1 task",
                max_loop,
                single,
            )
        });
        if postgres {
            rows.push(Row {
                target: "≥ 1",
                verdict: TargetResult::Target(self.clubs.rate_ratio(max) >= 1.0),
                ..Row::compare_rates(
                    format!("`POST /teams`, 256 clients: {CLUBS} accounts compared with one"),
                    &self.clubs,
                    max,
                )
            });
        }
        rows
    }

    fn row(&self, index: usize, postgres: bool) -> Row {
        let clients = CLIENTS[index];
        let (ours, baseline) = (&self.ours[index], &self.baseline[index]);
        let plural = if clients == 1 { "" } else { "s" };
        let row =
            Row::compare_rates(format!("`POST /teams`, {clients} client{plural}"), ours, baseline);
        if clients < 64 {
            return row;
        }
        let met = ours.rate_ratio(baseline) >= 0.5;
        let verdict =
            if postgres { TargetResult::Reference(met) } else { TargetResult::Target(met) };
        Row { target: "≥ 0.5", verdict, ..row }
    }
}
