//! Every test on both databases, then the checks from outside.

use crate::job::{Finished, Job};
use crate::postgres::Postgres;
use crate::tally::Tally;
use crate::{install, web, workspace};
use std::io::IsTerminal;
use std::path::Path;

/// What passed and failed.
pub(crate) struct Report {
    tests: Option<Tally>,
    web: Option<Tally>,
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if args.is_empty() { all()?.close() } else { some(args)?.close() }
}

/// Everything there is.
pub(crate) fn all() -> Result<Report, String> {
    let programs = install::from_debian(true)?;
    install::from_npm()?;
    let python = install::from_pypi()?;
    // The same targets as the runner builds, so a fault in the code is shown once and not thrice.
    let build = cargo(&["build", "--workspace", "--bins", "--tests"]).run()?;
    if !build.ok {
        return Err("the workspace does not build".into());
    }
    let tests = {
        let postgres = Postgres::start(&programs)?;
        let mut tests = run_tests(&postgres, &python, &["--no-fail-fast".into()])?;
        if has_nextest() {
            tests += run_doc_tests()?;
        }
        tests
    };
    let web = web::check(&workspace::service()?, &python)?;
    Ok(Report { tests: Some(tests), web: Some(web) })
}

/// The checks from outside alone; whoever names files of theirs is waiting for those.
pub(crate) fn web(files: &[String]) -> Result<(), String> {
    install::from_debian(true)?;
    install::from_npm()?;
    let python = install::from_pypi()?;
    if !cargo(&["build", "--workspace", "--bins"]).run()?.ok {
        return Err("the workspace does not build".into());
    }
    let service = workspace::service()?;
    let web = match files {
        [] => web::check(&service, &python)?,
        files => web::browse(&service, &python, files)?,
    };
    Report { tests: None, web: Some(web) }.close()
}

/// Whoever picks tests is waiting for those and nothing else.
fn some(args: &[String]) -> Result<Report, String> {
    let programs = install::from_debian(false)?;
    let python = install::from_pypi()?;
    let postgres = Postgres::start(&programs)?;
    let tests = run_tests(&postgres, &python, args)?;
    println!("web: not checked, as the test runner was given arguments");
    Ok(Report { tests: Some(tests), web: None })
}

impl Report {
    /// Says how it went, as the last lines.
    pub(crate) fn close(&self) -> Result<(), String> {
        for (name, tally) in [("tests", self.tests), ("web", self.web)] {
            if let Some(tally) = tally {
                println!("{name}: {tally}");
            }
        }
        match self.tests.unwrap_or_default().failed + self.web.unwrap_or_default().failed {
            0 => Ok(()),
            failed => Err(format!("{failed} failed")),
        }
    }
}

/// `python` is the folder with a Python that has the packages of the tests.
fn run_tests(postgres: &Postgres, python: &Path, args: &[String]) -> Result<Tally, String> {
    let nextest = has_nextest();
    let mut words = if nextest { vec!["nextest", "run"] } else { vec!["test"] };
    words.push("--workspace");
    words.extend(args.iter().map(String::as_str));
    let Finished { ok, lines } = cargo(&words)
        .env("TOUCHLINE_TEST_POSTGRES", postgres.url())
        .env("TOUCHLINE_TEST_POSTGRES_AUTHORITY", postgres.authority())
        .env("TOUCHLINE_TEST_REQUIRE_POSTGRES", "1")
        .env("TOUCHLINE_TEST_PYTHON", python.join("python"))
        .env("TOUCHLINE_TEST_REQUIRE_PYTHON", "1")
        .run()?;
    let tally = if nextest { Tally::of_nextest(&lines) } else { Tally::of_cargo_test(&lines) };
    Ok(tally.ended(ok))
}

/// Nextest leaves the examples in the documentation out.
fn run_doc_tests() -> Result<Tally, String> {
    let Finished { ok, lines } = cargo(&["test", "--workspace", "--doc", "--quiet"]).run()?;
    Ok(Tally::of_cargo_test(&lines).ended(ok))
}

fn has_nextest() -> bool {
    cargo(&["nextest", "--version"]).quietly().run().is_ok_and(|finished| finished.ok)
}

/// Cargo in the repository. It writes into a pipe, so it must be told when somebody watches.
pub(crate) fn cargo(args: &[&str]) -> Job {
    // Cargo tells a program that it runs about its package. Passed on, that reads like a change to the build script of
    // ring, and half of the workspace would be built again whenever somebody builds by themselves in between.
    let of_our_package =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let job = Job::new("cargo", args).without(of_our_package).within(workspace::root());
    let plain = std::env::var_os("CARGO_TERM_COLOR").is_some() || !std::io::stdout().is_terminal();
    if plain { job } else { job.env("CARGO_TERM_COLOR", "always") }
}
