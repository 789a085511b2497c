//! The checks that must pass before a change is merged, cheapest first.

use crate::suite::{self, cargo};
use crate::{client, i18n, openapi, workspace};
use std::time::Instant;

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];

pub(crate) fn run() -> Result<(), String> {
    run_step("fmt", || run_cargo(FORMAT))?;
    run_step("i18n", i18n::check)?;
    run_step("clippy", || run_cargo(LINTS))?;
    let report = run_step("test", suite::run_all)?;
    // Checked even if a test fails, so that both problems are reported in one run.
    let generated = run_step("gen", || {
        openapi::check_with(&workspace::service_binary()?)?;
        client::check()
    });
    let tests = report.finish();
    match (tests, generated) {
        (Err(failed), Err(stale)) => Err(format!("{failed}; {stale}")),
        (tests, generated) => tests.and(generated),
    }
}

fn run_cargo(args: &[&str]) -> Result<(), String> {
    if cargo(args).run()?.ok { Ok(()) } else { Err(format!("cargo {} failed", args.join(" "))) }
}

fn run_step<T>(step: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    println!("== {step}");
    let started = Instant::now();
    let result = work();
    println!("== {step}: {:.1} s", started.elapsed().as_secs_f64());
    result
}
