//! What must pass before a change goes in, cheapest first.

use crate::suite::{self, cargo};
use crate::{openapi, workspace};
use std::time::Instant;

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];

pub(crate) fn run() -> Result<(), String> {
    timed("fmt", || pass(FORMAT))?;
    timed("clippy", || pass(LINTS))?;
    let report = timed("test", suite::all)?;
    // Stale files are told even when a test fails: both are mended in one go.
    let generated = timed("gen", || openapi::check_with(&workspace::service()?));
    let closed = report.close();
    match (closed, generated) {
        (Err(tests), Err(stale)) => Err(format!("{tests}; {stale}")),
        (closed, generated) => closed.and(generated),
    }
}

fn pass(args: &[&str]) -> Result<(), String> {
    if cargo(args).run()?.ok { Ok(()) } else { Err(format!("cargo {} failed", args.join(" "))) }
}

fn timed<T>(step: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    println!("== {step}");
    let started = Instant::now();
    let outcome = work();
    println!("== {step}: {:.1} s", started.elapsed().as_secs_f64());
    outcome
}
