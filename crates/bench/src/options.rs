//! What can be asked of the benchmark.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bare::Bare;
use crate::load::Pace;
use crate::posting::Posting;
use crate::site::Kind;

#[derive(Debug, Parser)]
#[command(name = "touchline-bench", about = "Measures the service against its ceilings")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure and print the table
    Measure(Measure),
    /// Serve fixed bytes: what reads are compared with
    #[command(hide = true)]
    Bare(Bare),
    /// Post signed bodies: what deliveries are compared with
    #[command(hide = true)]
    Posting(Posting),
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Seconds of each round that are counted, after a second that is not
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rounds; the median is shown
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only this part
    #[arg(long)]
    only: Option<Section>,
    /// One short round on a tenth of the data: to see that it works, not to know how fast it is
    #[arg(long)]
    quick: bool,
    /// Also write the page into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Where the data lie while it runs; on the disk whose durability counts
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The service's program
    #[arg(long, value_name = "FILE")]
    pub(crate) service: PathBuf,
    /// A durable PostgreSQL on which databases can be made and dropped; without it, only SQLite
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<String>,
    /// How the run was started, for the page
    #[arg(long, default_value = "touchline-bench measure", hide = true)]
    pub(crate) command: String,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    Reads,
    Writes,
    Depth,
    Schedule,
    Signin,
    Webhooks,
    Shop,
    Dues,
    Memory,
}

impl Section {
    const ALL: [Self; 9] = [
        Self::Reads,
        Self::Writes,
        Self::Depth,
        Self::Schedule,
        Self::Signin,
        Self::Webhooks,
        Self::Shop,
        Self::Dues,
        Self::Memory,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Depth => "depth",
            Self::Schedule => "schedule",
            Self::Signin => "signin",
            Self::Webhooks => "webhooks",
            Self::Shop => "shop",
            Self::Dues => "dues",
            Self::Memory => "memory",
        }
    }
}

impl Measure {
    pub(crate) fn pace(&self) -> Pace {
        let (seconds, rounds) = if self.quick { (1, 1) } else { (self.seconds, self.rounds) };
        let warm_up = if self.quick { Duration::from_millis(300) } else { Duration::from_secs(1) };
        Pace { warm_up, counted: Duration::from_secs(seconds.max(1)), rounds: rounds.max(1) }
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.quick
    }

    /// How many teams there are when `full` are meant.
    pub(crate) fn teams(&self, full: usize) -> usize {
        if self.quick { full / 10 } else { full }
    }

    pub(crate) fn sections(&self) -> Vec<Section> {
        self.only.map_or(Section::ALL.to_vec(), |only| vec![only])
    }

    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let postgres = self.postgres.clone().map(Kind::Postgres);
        [Some(Kind::Sqlite), postgres].into_iter().flatten().collect()
    }
}
