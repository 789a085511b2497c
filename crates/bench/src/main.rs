//! The benchmark of the service, started by `cargo xtask bench`.
//!
//! It runs the service as a process of its own, loads it over HTTP, and sets what it measures beside
//! a ceiling measured in the same run, turn by turn: a bare route for reads, a loop on the data layer
//! for writes. The outcome is one table. An unexpected answer ends the run: no number without a check.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks there")]

mod agenda;
mod bare;
mod calendars;
mod ceiling;
mod club;
mod crowd;
mod depth;
mod download;
mod dues;
mod figures;
mod holders;
mod hooks;
mod http;
mod load;
mod machine;
mod memory;
mod options;
mod overview;
mod posting;
mod process;
mod reads;
mod renewals;
mod report;
mod schedule;
mod season;
mod series;
mod shop;
mod signin;
mod sink;
mod site;
mod table;
mod writes;

use std::process::ExitCode;

use clap::Parser;

use crate::options::{Cli, Measure, Section, Verb};
use crate::site::{Kind, Site};
use crate::table::Table;

/// The service's own: a ceiling on a slower one would flatter us.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a failure is: a sentence for whoever started the benchmark.
type Result<T, E = String> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("no runtime: {error}")),
    };
    let outcome = runtime.block_on(async {
        match Cli::parse().verb {
            Verb::Bare(bare) => bare.serve().await,
            Verb::Posting(posting) => posting.run().await,
            // Told to stop, the future is dropped, and with it every process it started.
            Verb::Measure(measure) => tokio::select! {
                outcome = measured(&measure) => outcome,
                () = told_to_stop() => Err("stopped".to_owned()),
            },
        }
    });
    outcome.map_or_else(|why| failed(&why), |()| ExitCode::SUCCESS)
}

fn failed(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::FAILURE
}

async fn told_to_stop() {
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

async fn measured(measure: &Measure) -> Result<()> {
    let machine = machine::Machine::look(measure).await?;
    let mut table = Table::default();
    for kind in measure.kinds() {
        for section in measure.sections() {
            eprintln!("{}: {}", kind.name(), section.name());
            let site = Site::prepare(measure, &kind, section).await?;
            let rows = match section {
                Section::Reads => reads::measure(&site, measure).await?,
                Section::Writes => writes::measure(&site, measure).await?,
                Section::Depth => depth::measure(&site, measure).await?,
                Section::Schedule => schedule::measure(&site, measure).await?,
                Section::Signin => signin::measure(&site, measure).await?,
                Section::Webhooks => hooks::measure(&site, measure).await?,
                Section::Shop => shop::measure(&site, measure).await?,
                Section::Dues => dues::measure(&site, measure).await?,
                Section::Memory => memory::measure(&site, measure).await?,
            };
            table.add(kind == Kind::Sqlite, rows);
            site.clear().await?;
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
