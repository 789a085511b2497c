//! The options of a measurement.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::load::Timing;

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Measured seconds per round, after one second of warm-up
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Number of rounds; the table shows the median
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Run only this section
    #[arg(long)]
    only: Option<Section>,
    /// One short round on a tenth of the data, to check that the benchmarks work
    #[arg(long)]
    quick: bool,
    /// Also write the report to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Folder for the data of the run, on the disk to measure
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The service's binary
    #[arg(long, value_name = "FILE")]
    pub(crate) service: PathBuf,
    /// URL of a durable PostgreSQL server on which databases can be created and dropped; without it, only SQLite is measured
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<String>,
    /// The command to show in the report
    #[arg(long, default_value = "touchline-bench measure", hide = true)]
    pub(crate) command: String,
}

/// A section of the benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    Reads,
    Writes,
    Pagination,
    Schedule,
    Signin,
    Pages,
    Webhooks,
    Shop,
    Dues,
    Memory,
}

impl Section {
    const ALL: [Self; 10] = [
        Self::Reads,
        Self::Writes,
        Self::Pagination,
        Self::Schedule,
        Self::Signin,
        Self::Pages,
        Self::Webhooks,
        Self::Shop,
        Self::Dues,
        Self::Memory,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Pagination => "pagination",
            Self::Schedule => "schedule",
            Self::Signin => "signin",
            Self::Pages => "pages",
            Self::Webhooks => "webhooks",
            Self::Shop => "shop",
            Self::Dues => "dues",
            Self::Memory => "memory",
        }
    }
}

impl Measure {
    pub(crate) fn timing(&self) -> Timing {
        let (seconds, rounds) = if self.quick { (1, 1) } else { (self.seconds, self.rounds) };
        let warm_up = if self.quick { Duration::from_millis(300) } else { Duration::from_secs(1) };
        Timing { warm_up, measured: Duration::from_secs(seconds.max(1)), rounds: rounds.max(1) }
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.quick
    }

    /// Scales a count of the full run: a tenth in a quick run.
    pub(crate) fn scaled(&self, full: usize) -> usize {
        if self.quick { full / 10 } else { full }
    }

    pub(crate) fn sections(&self) -> Vec<Section> {
        self.only.map_or(Section::ALL.to_vec(), |only| vec![only])
    }
}
