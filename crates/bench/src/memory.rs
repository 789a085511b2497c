//! Resident memory of the service: idle, and with many writers.

use std::time::Duration;

use crate::Result;
use crate::club::Club;
use crate::environment::Environment;
use crate::load::{self, Counter, CreateTeams, writers};
use crate::options::Measure;
use crate::table::{Row, TargetResult};

const CLIENTS: usize = 256;
/// How long to wait until the service is idle and has returned the memory that it does not need.
const IDLE_DELAY: Duration = Duration::from_secs(30);
/// The target for an idle service, in bytes.
const MAX_IDLE_BYTES: u64 = 50_000_000;

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let database = environment.database("club").await?;
    let club = Club::create(&database)?;
    let service = database.serve(&["--demo"]).await?;
    tokio::time::sleep(IDLE_DELAY).await;
    let (loaded, _) = service.memory()?;
    drop(service);
    let service = database.serve(&[]).await?;
    tokio::time::sleep(IDLE_DELAY).await;
    let (restarted, _) = service.memory()?;
    let script = CreateTeams::new(&club.key, false, &Counter::default());
    load::measure(writers(service.address, &[script], CLIENTS).await?, measure.timing()).await?;
    let (_, peak) = service.memory()?;
    Ok(vec![
        row("Resident memory, idle after loading the demo club", loaded, Some(MAX_IDLE_BYTES)),
        row("Resident memory, idle after a restart", restarted, Some(MAX_IDLE_BYTES)),
        row("Peak resident memory, 256 clients writing", peak, None),
    ])
}

/// A row with a size, compared with a maximum.
pub(crate) fn row(name: &str, bytes: u64, max: Option<u64>) -> Row {
    Row {
        name: name.to_owned(),
        target: max.map_or("", |_| "< 50 MB"),
        result: format!("{:.1} MB", bytes as f64 / 1e6),
        baseline: String::new(),
        ratio: String::new(),
        verdict: max.map_or(TargetResult::NoTarget, |max| TargetResult::Target(bytes < max)),
    }
}
