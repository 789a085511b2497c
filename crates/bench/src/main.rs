//! The benchmarks of the service, started by `cargo xtask bench`.
//!
//! They run the service as a separate process, load it over HTTP, and compare it with a baseline that is
//! measured in the same run, in turns: a bare axum route for reads, a loop on the data layer for writes.
//! The result is one table. An unexpected response ends the run, so no number comes from wrong responses.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

mod event_lists;
mod baseline_server;
mod calendars;
mod store_baseline;
mod club;
mod rsvps;
mod pagination;
mod exports;
mod dues;
mod stats;
mod credentials;
mod webhooks;
mod http;
mod load;
mod machine;
mod memory;
mod options;
mod family;
mod admin_overview;
mod pages;
mod posting;
mod process;
mod reads;
mod token_refresh;
mod report;
mod schedule;
mod schedule_fixture;
mod season;
mod series;
mod shop;
mod signin;
mod webhook_receiver;
mod environment;
mod table;
mod writes;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::baseline_server::BaselineServer;
use crate::environment::{DatabaseKind, Environment};
use crate::options::{Measure, Section};
use crate::posting::Posting;
use crate::table::Table;

/// The same allocator as the service: baselines with a slower one would make the service look better.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Errors are messages for the person who runs the benchmarks.
type Result<T, E = String> = std::result::Result<T, E>;

#[derive(Debug, Parser)]
#[command(name = "touchline-bench", about = "Measures the service and compares it with baselines")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the benchmarks and print the table
    Measure(Measure),
    /// Serve fixed bytes: the baseline for reads
    #[command(hide = true)]
    BaselineServer(BaselineServer),
    /// Post signed bodies: the baseline for webhook deliveries
    #[command(hide = true)]
    Posting(Posting),
}

fn main() -> ExitCode {
    touchline::register_modules();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start the runtime: {error}")),
    };
    let result = runtime.block_on(async {
        match Cli::parse().command {
            Command::BaselineServer(bare) => bare.serve().await,
            Command::Posting(posting) => posting.run().await,
            // A signal drops the future, and with it every process it started.
            Command::Measure(measure) => tokio::select! {
                result = run_benchmarks(&measure) => result,
                () = stop_signal() => Err("stopped".to_owned()),
            },
        }
    });
    result.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

fn fail(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    if let Ok(mut terminate) = signal(SignalKind::terminate()) {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    } else {
        std::future::pending::<()>().await;
    }
}

async fn run_benchmarks(measure: &Measure) -> Result<()> {
    let machine = machine::Machine::inspect(measure).await?;
    let mut table = Table::default();
    let postgres = measure.postgres.clone().map(DatabaseKind::Postgres);
    for kind in [Some(DatabaseKind::Sqlite), postgres].into_iter().flatten() {
        for section in measure.sections() {
            eprintln!("{}: {}", kind.name(), section.name());
            let environment = Environment::prepare(measure, &kind, section).await?;
            let rows = match section {
                Section::Reads => reads::measure(&environment, measure).await?,
                Section::Writes => writes::measure(&environment, measure).await?,
                Section::Pagination => pagination::measure(&environment, measure).await?,
                Section::Schedule => schedule::measure(&environment, measure).await?,
                Section::Signin => signin::measure(&environment, measure).await?,
                Section::Pages => pages::measure(&environment, measure).await?,
                Section::Webhooks => webhooks::measure(&environment, measure).await?,
                Section::Shop => shop::measure(&environment, measure).await?,
                Section::Dues => dues::measure(&environment, measure).await?,
                Section::Memory => memory::measure(&environment, measure).await?,
            };
            table.add(kind == DatabaseKind::Sqlite, rows);
            environment.remove().await?;
        }
    }
    let report = report::page(measure, &machine, &table);
    println!("{report}");
    match &measure.write {
        Some(file) => std::fs::write(file, report)
            .map_err(|error| format!("cannot write {}: {error}", file.display())),
        None => Ok(()),
    }
}
