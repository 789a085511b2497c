//! The test suite: all Rust tests on both databases, then the web checks.

use crate::job::{Job, JobResult};
use crate::postgres::Postgres;
use crate::test_counts::{self, TestCounts};
use crate::{install, web, workspace};
use std::io::IsTerminal;
use std::path::Path;

/// How many of the slowest tests are printed.
const SLOWEST_TESTS: usize = 20;
/// The beginnings of the names of files in `tests/it` that belong to a module with another name.
const OTHER_NAMES: [(&str, &[&str]); 4] = [
    ("events", &["event", "rsvps", "series", "calendars", "locations", "schedule"]),
    ("messages", &["message"]),
    ("roster", &["linking", "people", "safeguarding"]),
    ("signin", &["account", "passkeys", "setup"]),
];

/// The results of a run; none for a part that did not run.
pub(crate) struct Report {
    tests: Option<TestCounts>,
    web: Option<TestCounts>,
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    match args {
        [] => run_all()?.finish(),
        [option, area] if option == "--only" => run_area(area)?.finish(),
        args => run_selected(args)?.finish(),
    }
}

/// Runs all tests and checks.
pub(crate) fn run_all() -> Result<Report, String> {
    let programs = install::from_debian(true)?;
    web::install()?;
    let python = install::from_pypi()?;
    // The same targets as the test runner builds, so that a compile error is printed only once.
    let build = cargo(&["build", "--workspace", "--bins", "--tests"]).run()?;
    if !build.ok {
        return Err("the build failed".into());
    }
    let postgres = Postgres::start(&programs)?;
    let mut tests = run_tests(&postgres, &python, &["--no-fail-fast".into()])?;
    if has_nextest() {
        tests += run_doc_tests()?;
    }
    let web = web::check(&workspace::service_binary()?, &python, &postgres)?;
    Ok(Report { tests: Some(tests), web: Some(web) })
}

/// Runs only the web checks, or only the given files.
pub(crate) fn web(files: &[String]) -> Result<(), String> {
    let programs = install::from_debian(true)?;
    web::install()?;
    let python = install::from_pypi()?;
    if !cargo(&["build", "--workspace", "--bins"]).run()?.ok {
        return Err("the build failed".into());
    }
    let service = workspace::service_binary()?;
    let postgres = Postgres::start(&programs)?;
    let web = match files {
        [] => web::check(&service, &python, &postgres)?,
        files => web::check_files(&service, &python, &postgres, files)?,
    };
    Report { tests: None, web: Some(web) }.finish()
}

/// Runs the Rust tests of one module: its unit tests, and the files of `tests/it` whose names begin with it or with one of
/// its other names. Web checks of a file with that name run too.
fn run_area(area: &str) -> Result<Report, String> {
    if !area.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("{area} is not the name of a module"));
    }
    let other = OTHER_NAMES.iter().find(|(module, _)| *module == area);
    let names = [&[area][..], other.map_or(&[][..], |(_, names)| *names)].concat();
    let filter: Vec<String> = if has_nextest() {
        vec!["-E".into(), format!("test(/^({})(_|::)/)", names.join("|"))]
    } else {
        std::iter::once("--").chain(names).map(str::to_owned).collect()
    };
    let report = run_selected(&[vec!["--no-fail-fast".into()], filter].concat())?;
    let file = format!("{area}.test.mjs");
    if !workspace::web_tests_folder().join(&file).exists() {
        return Ok(report);
    }
    let programs = install::from_debian(true)?;
    web::install()?;
    let python = install::from_pypi()?;
    let postgres = Postgres::start(&programs)?;
    let web = web::check_files(&workspace::service_binary()?, &python, &postgres, &[file])?;
    Ok(Report { web: Some(web), ..report })
}

/// Runs only the Rust tests, with arguments for the test runner.
fn run_selected(args: &[String]) -> Result<Report, String> {
    let programs = install::from_debian(false)?;
    let python = install::from_pypi()?;
    let postgres = Postgres::start(&programs)?;
    let tests = run_tests(&postgres, &python, args)?;
    println!("web: skipped, because arguments for the test runner were given");
    Ok(Report { tests: Some(tests), web: None })
}

impl Report {
    /// Prints the results. An error if anything failed.
    pub(crate) fn finish(&self) -> Result<(), String> {
        for (name, counts) in [("tests", self.tests), ("web", self.web)] {
            if let Some(counts) = counts {
                println!("{name}: {counts}");
            }
        }
        match self.tests.unwrap_or_default().failed + self.web.unwrap_or_default().failed {
            0 => Ok(()),
            failed => Err(format!("{failed} failed")),
        }
    }
}

/// `python` is the `bin` folder of the tests' Python environment.
fn run_tests(postgres: &Postgres, python: &Path, args: &[String]) -> Result<TestCounts, String> {
    let nextest = has_nextest();
    let mut cargo_args = if nextest { vec!["nextest", "run"] } else { vec!["test"] };
    cargo_args.push("--workspace");
    cargo_args.extend(args.iter().map(String::as_str));
    let JobResult { ok, lines } = cargo(&cargo_args)
        .env("TOUCHLINE_TEST_POSTGRES", postgres.url())
        .env("TOUCHLINE_TEST_POSTGRES_AUTHORITY", postgres.ca_certificate())
        .env("TOUCHLINE_TEST_REQUIRE_POSTGRES", "1")
        .env("TOUCHLINE_TEST_PYTHON", python.join("python"))
        .env("TOUCHLINE_TEST_REQUIRE_PYTHON", "1")
        .run()?;
    let counts = if nextest {
        print_slowest(&lines);
        TestCounts::parse_nextest(&lines)
    } else {
        TestCounts::parse_cargo_test(&lines)
    };
    Ok(counts.with_exit_status(ok))
}

/// Prints the tests that took longest, because a slow test is a defect.
fn print_slowest(lines: &[String]) {
    let slowest = test_counts::slowest(lines, SLOWEST_TESTS);
    if slowest.len() == SLOWEST_TESTS {
        println!("the slowest tests:");
        for (seconds, name) in slowest {
            println!("  {seconds:>7.2} s  {name}");
        }
    }
}

/// Nextest does not run doc tests.
fn run_doc_tests() -> Result<TestCounts, String> {
    let JobResult { ok, lines } = cargo(&["test", "--workspace", "--doc", "--quiet"]).run()?;
    Ok(TestCounts::parse_cargo_test(&lines).with_exit_status(ok))
}

fn has_nextest() -> bool {
    cargo(&["nextest", "--version"]).quiet().run().is_ok_and(|finished| finished.ok)
}

/// A cargo command in the repository. Its output is a pipe, so colors must be requested.
pub(crate) fn cargo(args: &[&str]) -> Job {
    // `cargo run` sets these variables for xtask. If they were inherited, the build script of ring would see changed
    // variables, and half of the workspace would be rebuilt after each direct `cargo build`.
    let is_package_variable =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let job = Job::new("cargo", args)
        .env_remove_matching(is_package_variable)
        .current_dir(workspace::root());
    let no_color =
        std::env::var_os("CARGO_TERM_COLOR").is_some() || !std::io::stdout().is_terminal();
    if no_color { job } else { job.env("CARGO_TERM_COLOR", "always") }
}
