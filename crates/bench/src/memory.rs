//! Memory: what the service holds when nobody asks, and when many write.

use std::time::Duration;

use crate::Result;
use crate::club::Club;
use crate::load::{self, NewTeams, Numbers, writers};
use crate::options::Measure;
use crate::site::Site;
use crate::table::{Row, Verdict};

const CLIENTS: usize = 256;
/// After this time a service that nobody asks has come to rest.
const REST: Duration = Duration::from_secs(2);
/// 50 MB.
const MOST_IDLE: u64 = 50_000_000;

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let database = site.database("club").await?;
    let club = Club::found(&database)?;
    let service = database.serve(&["--demo"]).await?;
    tokio::time::sleep(REST).await;
    let (idle, _) = service.memory()?;
    let script = NewTeams::new(&club.key, false, &Numbers::default());
    load::measure(writers(service.address, &[script], CLIENTS).await?, measure.pace()).await?;
    let (_, peak) = service.memory()?;
    Ok(vec![
        row("resident, idle with the demo club", idle, Some(MOST_IDLE)),
        row("resident, 256 clients writing, at most", peak, None),
    ])
}

/// A line with a size.
pub(crate) fn row(name: &str, bytes: u64, most: Option<u64>) -> Row {
    Row {
        name: name.to_owned(),
        ask: most.map_or("", |_| "< 50 MB"),
        us: format!("{:.1} MB", bytes as f64 / 1e6),
        against: String::new(),
        ratio: String::new(),
        verdict: most.map_or(Verdict::Nothing, |most| Verdict::Asked(bytes < most)),
    }
}
