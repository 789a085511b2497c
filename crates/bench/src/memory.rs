//! Resident memory of the service: idle, and with many writers.

use std::time::Duration;

use crate::Result;
use crate::club::Club;
use crate::environment::Environment;
use crate::load::{self, Counter, CreateTeams, writers};
use crate::options::Measure;
use crate::table::{Row, TargetResult};

const CLIENTS: usize = 256;
/// How long to wait until the service is idle.
const IDLE_DELAY: Duration = Duration::from_secs(2);
/// The target for an idle service, in bytes.
const MAX_IDLE_BYTES: u64 = 50_000_000;

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let database = environment.database("club").await?;
    let club = Club::create(&database)?;
    let service = database.serve(&["--demo"]).await?;
    tokio::time::sleep(IDLE_DELAY).await;
    let (idle, _) = service.memory()?;
    let script = CreateTeams::new(&club.key, false, &Counter::default());
    load::measure(writers(service.address, &[script], CLIENTS).await?, measure.timing()).await?;
    let (_, peak) = service.memory()?;
    Ok(vec![
        row("Resident memory, idle with the demo club", idle, Some(MAX_IDLE_BYTES)),
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
