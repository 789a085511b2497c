//! The web checks: linting of the OpenAPI document, all pages in a browser, third-party clients, and fuzzing of
//! every API operation.

use crate::job::Job;
use crate::postgres::Postgres;
use crate::server::Server;
use crate::test_counts::TestCounts;
use crate::{client, install, workspace};
use std::path::{Path, PathBuf};
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);
/// Far more than needed: a shared machine can stall for minutes.
const TIME_LIMIT: Duration = Duration::from_mins(45);
/// The test files that take longest. They start first, so that the others run beside them.
const LONGEST: [&str; 3] = ["pages.test.mjs", "hostile.test.mjs", "jobs.test.mjs"];
/// Other runtimes that the TypeScript client is tested with.
const DENO: &str = "deno@2.9.6";
const BUN: &str = "bun@1.4.4";
/// How many lines about failures are repeated at the end.
const MAX_FAILURE_LINES: usize = 40;

/// The results of the browser tests.
struct BrowserResults {
    counts: TestCounts,
    /// The first lines about failures.
    failures: Vec<String>,
}

/// Installs and builds what the checks need.
pub(crate) fn install() -> Result<(), String> {
    // The examples in the guides use them.
    install::programs(&[("/usr/bin/curl", "curl"), ("/usr/bin/jq", "jq")])?;
    install::from_npm(&workspace::web_tests_folder())?;
    client::build()
}

/// Runs all web checks. `python` is the `bin` folder of the tests' Python environment.
pub(crate) fn check(
    service: &Path,
    python: &Path,
    postgres: &Postgres,
) -> Result<TestCounts, String> {
    let mut counts = lint()?;
    let server = Server::start(service, python)?;
    let browser = run_browser_tests(&server, service, python, postgres, &test_files()?)?;
    counts += browser.counts;
    counts += fuzz(&server, python)?;
    if counts.failed > 0 {
        println!("the service's log ends with:\n{}", server.log_tail());
        // Repeated, because the fuzzer has printed many lines since.
        println!("{}", browser.failures.join("\n"));
    }
    Ok(counts)
}

/// Runs only these files of `tests/web`.
pub(crate) fn check_files(
    service: &Path,
    python: &Path,
    postgres: &Postgres,
    files: &[String],
) -> Result<TestCounts, String> {
    let server = Server::start(service, python)?;
    let BrowserResults { counts, .. } =
        run_browser_tests(&server, service, python, postgres, files)?;
    if counts.failed > 0 {
        println!("the service's log ends with:\n{}", server.log_tail());
    }
    Ok(counts)
}

/// Lints the OpenAPI document with Redocly and Spectral.
fn lint() -> Result<TestCounts, String> {
    let mut counts = TestCounts::default();
    let document = "../../openapi.json";
    let redocly = ["lint", "--config", "redocly.yaml", document];
    let spectral = ["lint", "--ruleset", "spectral.yaml", "--fail-severity", "warn", document];
    for (tool, args) in [("redocly", &redocly[..]), ("spectral", &spectral[..])] {
        let program = workspace::web_tests_folder().join("node_modules/.bin").join(tool);
        let finished = Job::new(program, args.iter().copied())
            .current_dir(workspace::web_tests_folder())
            .env("NO_COLOR", "1")
            // No telemetry and no update checks.
            .env("REDOCLY_TELEMETRY", "off")
            .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
            .time_limit(5 * MINUTE)
            .run()?;
        counts += TestCounts::single(finished.ok);
    }
    Ok(counts)
}

/// Runs browser tests; they share one running service.
fn run_browser_tests(
    server: &Server,
    service: &Path,
    python: &Path,
    postgres: &Postgres,
    files: &[String],
) -> Result<BrowserResults, String> {
    let screenshots = screenshot_folder();
    let args = ["run.mjs"].into_iter().chain(files.iter().map(String::as_str));
    let mut job = Job::new("node", args)
        .current_dir(workspace::web_tests_folder())
        .env("NO_COLOR", "1")
        .env("TOUCHLINE_URL", &server.url)
        .env("TOUCHLINE_DEMO_JSON", &server.demo_json)
        .env("TOUCHLINE_EMAIL", server.demo_value("/demo/sign_ins/0/email")?)
        .env("TOUCHLINE_PASSWORD", server.demo_value("/demo/password")?)
        .env("TOUCHLINE_PROGRAM", service)
        .env("TOUCHLINE_FOLDER", server.data_folder())
        .env("TOUCHLINE_EMAIL_LOG", server.email_log())
        .env("TOUCHLINE_CHROMIUM", install::CHROMIUM)
        .env("TOUCHLINE_PYTHON", python.join("python"))
        .env("TOUCHLINE_NODE_22", install::node_22()?)
        .env("TOUCHLINE_DENO", install::npm_program(DENO)?)
        .env("TOUCHLINE_BUN", install::npm_program(BUN)?)
        .env("TOUCHLINE_TEST_POSTGRES", postgres.url())
        .env("TOUCHLINE_OAUTH_CLIENT", workspace::target_folder()?.join("touchline-oauth-client"))
        .time_limit(TIME_LIMIT);
    if let Some(screenshots) = &screenshots {
        println!("screenshots: {}", screenshots.display());
        job = job.env("TOUCHLINE_SCREENSHOTS", screenshots);
    }
    let finished = job.run()?;
    let counts = TestCounts::parse_node(&finished.lines).with_exit_status(finished.ok);
    let failures = finished.lines.into_iter().skip_while(|line| !line.contains("failing tests:"));
    Ok(BrowserResults { counts, failures: failures.take(MAX_FAILURE_LINES).collect() })
}

/// The test files, the longest first. They are listed here because older versions of Node do not find them in a folder.
fn test_files() -> Result<Vec<String>, String> {
    let failed = |e| format!("cannot read {}: {e}", workspace::web_tests_folder().display());
    let entries = std::fs::read_dir(workspace::web_tests_folder()).map_err(failed)?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".test.mjs")).collect();
    let rank = |name: &str| LONGEST.iter().position(|longest| *longest == name);
    names.extend(client::test_files()?);
    names.sort_by_key(|name| (rank(name).unwrap_or(LONGEST.len()), name.clone()));
    Ok(names)
}

/// Where screenshots of all pages are saved, outside of the repository. CI takes none, because they take minutes.
fn screenshot_folder() -> Option<PathBuf> {
    let chosen = std::env::var_os("TOUCHLINE_SCREENSHOTS").map(PathBuf::from);
    let default = || std::env::temp_dir().join("touchline-screenshots");
    chosen.or_else(|| std::env::var_os("CI").is_none().then(default))
}

fn fuzz(server: &Server, python: &Path) -> Result<TestCounts, String> {
    let document = format!("{}/api/public/v1/openapi.json", server.url);
    let settings = workspace::web_tests_folder().join("schemathesis.toml");
    let args = ["--config-file".as_ref(), settings.as_os_str(), "run".as_ref(), document.as_ref()];
    let finished = Job::new(python.join("schemathesis"), args)
        // Schemathesis saves state in the working directory; a temporary folder makes each run independent.
        .current_dir(&server.folder)
        .env("TOUCHLINE_KEY", &server.key)
        .time_limit(TIME_LIMIT)
        .run()?;
    Ok(TestCounts::single(finished.ok))
}
