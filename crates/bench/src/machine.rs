//! The machine that was measured on, as far as it matters to the numbers.

use std::fmt;
use std::fs::{File, read_to_string};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use kit::Clock;

use crate::Result;
use crate::options::Measure;
use crate::process::kib_in;
use crate::site::admin;
use crate::table::millis;

const SYNCS: usize = 200;
const BLOCK: usize = 4096;

#[derive(Debug)]
pub(crate) struct Machine {
    /// Day and time at which the run began.
    began: String,
    cores: usize,
    processor: String,
    memory_gib: f64,
    kernel: String,
    /// How much else was going on in the minute before.
    load: String,
    sync: (Duration, Duration),
    /// The version of the server, if there is one.
    postgres: Option<String>,
}

impl Machine {
    /// Looks around; the disk is the one that the data lie on.
    pub(crate) async fn look(measure: &Measure) -> Result<Self> {
        let postgres = match &measure.postgres {
            Some(server) => admin(server, &["show server_version".to_owned()]).await?.pop(),
            None => None,
        };
        let text = |file: &str| read_to_string(file).unwrap_or_default();
        let processor = text("/proc/cpuinfo");
        let processor = processor.lines().find_map(|line| line.strip_prefix("model name"));
        let processor = processor.map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
        let load = text("/proc/loadavg");
        Ok(Self {
            began: Clock::system().now().to_string().chars().take(16).collect(),
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            processor: processor.unwrap_or_else(|| "an unnamed processor".to_owned()),
            memory_gib: kib_in(&text("/proc/meminfo"), "MemTotal:").unwrap_or(0) as f64
                / 1_048_576.0,
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            postgres,
            sync: sync(&measure.folder)
                .map_err(|error| format!("cannot measure the disk: {error}"))?,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { began, cores, processor, memory_gib, kernel, load, sync, postgres } = self;
        writeln!(f, "- {began} UTC, load {load} before it began")?;
        writeln!(f, "- {cores} cores of {processor}, {memory_gib:.0} GiB, Linux {kernel}")?;
        if let Some(version) = postgres {
            writeln!(f, "- PostgreSQL {version}")?;
        }
        let (p50, p99) = (millis(sync.0), millis(sync.1));
        write!(f, "- {SYNCS} times 4 kB and fdatasync on this disk: median {p50}, p99 {p99}")
    }
}

/// How long the disk takes to keep a block for sure: median and 99th percentile.
fn sync(folder: &Path) -> std::io::Result<(Duration, Duration)> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("sync-{}", std::process::id()));
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        file.write_all(&[7; BLOCK])?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed());
    }
    std::fs::remove_file(path)?;
    times.sort_unstable();
    Ok((times[SYNCS / 2], times[SYNCS * 99 / 100]))
}
