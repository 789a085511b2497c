//! The machine that the benchmarks ran on, for the report.

use std::fmt;
use std::fs::{File, read_to_string};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use kit::Clock;

use crate::Result;
use crate::environment::run_sql;
use crate::options::Measure;
use crate::process::parse_kib;
use crate::table::millis;

const SYNCS: usize = 200;
const BLOCK_SIZE: usize = 4096;

#[derive(Debug)]
pub(crate) struct Machine {
    /// When the run started.
    started_at: String,
    cores: usize,
    processor: String,
    memory_gib: f64,
    kernel: String,
    /// The system load of the minute before.
    load: String,
    /// Median and 99th percentile of a durable write.
    sync_latency: (Duration, Duration),
    /// The version of the PostgreSQL server, if there is one.
    postgres: Option<String>,
}

impl Machine {
    /// Inspects the machine and the disk of the data folder.
    pub(crate) async fn inspect(measure: &Measure) -> Result<Self> {
        let postgres = match &measure.postgres {
            Some(server) => run_sql(server, &["show server_version".to_owned()]).await?.pop(),
            None => None,
        };
        let text = |file: &str| read_to_string(file).unwrap_or_default();
        let processor = text("/proc/cpuinfo");
        let processor = processor.lines().find_map(|line| line.strip_prefix("model name"));
        let processor = processor.map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
        let load = text("/proc/loadavg");
        Ok(Self {
            started_at: Clock::system().now().to_string().chars().take(16).collect(),
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            processor: processor.unwrap_or_else(|| "an unknown processor".to_owned()),
            memory_gib: parse_kib(&text("/proc/meminfo"), "MemTotal:").unwrap_or(0) as f64
                / 1_048_576.0,
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            postgres,
            sync_latency: measure_sync(&measure.folder)
                .map_err(|error| format!("cannot measure the disk: {error}"))?,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            started_at: began,
            cores,
            processor,
            memory_gib,
            kernel,
            load,
            sync_latency: sync,
            postgres,
        } = self;
        writeln!(f, "- {began} UTC, system load {load} before the run")?;
        writeln!(f, "- {cores} cores of {processor}, {memory_gib:.0} GiB, Linux {kernel}")?;
        if let Some(version) = postgres {
            writeln!(f, "- PostgreSQL {version}")?;
        }
        let (p50, p99) = (millis(sync.0), millis(sync.1));
        write!(f, "- Disk: {SYNCS} writes of 4 kB with fdatasync, median {p50}, p99 {p99}")
    }
}

/// How long a durable write of one block takes: median and 99th percentile.
fn measure_sync(folder: &Path) -> std::io::Result<(Duration, Duration)> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("sync-{}", std::process::id()));
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        file.write_all(&[7; BLOCK_SIZE])?;
        let started = Instant::now();
        file.sync_data()?;
        times.push(started.elapsed());
    }
    std::fs::remove_file(path)?;
    times.sort_unstable();
    Ok((times[SYNCS / 2], times[SYNCS * 99 / 100]))
}
