//! The checks from outside: the document as a linter reads it, every page in a browser, real clients, and
//! every operation with good and bad data.

use crate::install;
use crate::job::Job;
use crate::server::Server;
use crate::tally::Tally;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);
/// Many times what it takes: a machine that is shared with others can stand still for minutes.
const MOST: Duration = Duration::from_mins(45);
/// Lines that tell of the first faults.
const FEW: usize = 40;

/// What the tests in the browser found.
struct Seen {
    tally: Tally,
    /// The first of what failed, with why.
    faults: Vec<String>,
}

/// `python` is the folder with a Python that has the packages of the tests.
pub(crate) fn check(service: &Path, python: &Path) -> Result<Tally, String> {
    let mut tally = lint()?;
    let server = Server::start(service, python)?;
    let seen = look(&server, service, python, &tests()?)?;
    tally += seen.tally;
    tally += fuzz(&server, python)?;
    if tally.failed > 0 {
        println!("the service's log ends with:\n{}", server.last_words());
        // Again, as many lines came since.
        println!("{}", seen.faults.join("\n"));
    }
    Ok(tally)
}

/// Only these files of `tests/web`.
pub(crate) fn browse(service: &Path, python: &Path, files: &[String]) -> Result<Tally, String> {
    let server = Server::start(service, python)?;
    let Seen { tally, .. } = look(&server, service, python, files)?;
    if tally.failed > 0 {
        println!("the service's log ends with:\n{}", server.last_words());
    }
    Ok(tally)
}

fn lint() -> Result<Tally, String> {
    let redocly = workspace::web().join("node_modules/.bin/redocly");
    let finished = Job::new(redocly, ["lint", "--config", "redocly.yaml", "../../openapi.json"])
        .within(workspace::web())
        .env("NO_COLOR", "1")
        // A check neither phones home nor asks for newer versions.
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .at_most(5 * MINUTE)
        .run()?;
    Ok(Tally::one(finished.ok))
}

/// Tests against one running service, which they share.
fn look(server: &Server, service: &Path, python: &Path, files: &[String]) -> Result<Seen, String> {
    let pictures = pictures();
    let options = ["--test", "--test-reporter=spec", "--test-concurrency=2"];
    let args = options.into_iter().chain(files.iter().map(String::as_str));
    let mut job = Job::new("node", args)
        .within(workspace::web())
        .env("NO_COLOR", "1")
        .env("TOUCHLINE_URL", &server.url)
        .env("TOUCHLINE_SAID", &server.said)
        .env("TOUCHLINE_EMAIL", server.told("/demo/sign_ins/0/email")?)
        .env("TOUCHLINE_PASSWORD", server.told("/demo/password")?)
        .env("TOUCHLINE_PROGRAM", service)
        .env("TOUCHLINE_FOLDER", server.data())
        .env("TOUCHLINE_LETTERS", server.letters())
        .env("TOUCHLINE_CHROMIUM", install::CHROMIUM)
        .env("TOUCHLINE_PYTHON", python.join("python"))
        .env("TOUCHLINE_OAUTH_CLIENT", workspace::built()?.join("touchline-oauth-client"))
        .at_most(MOST);
    if let Some(pictures) = &pictures {
        println!("pictures of the pages: {}", pictures.display());
        job = job.env("TOUCHLINE_SCREENSHOTS", pictures);
    }
    let finished = job.run()?;
    let tally = Tally::of_node(&finished.lines).ended(finished.ok);
    let faults = finished.lines.into_iter().skip_while(|line| !line.contains("failing tests:"));
    Ok(Seen { tally, faults: faults.take(FEW).collect() })
}

/// The files with tests, which a runner that is given a folder would find only with a newer Node.
fn tests() -> Result<Vec<String>, String> {
    let told = |e| format!("cannot look into {}: {e}", workspace::web().display());
    let entries = std::fs::read_dir(workspace::web()).map_err(told)?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".test.mjs")).collect();
    names.sort();
    Ok(names)
}

/// Where pictures of all pages go, to be looked at: outside of the repository. In CI nobody looks, and taking them
/// takes minutes.
fn pictures() -> Option<PathBuf> {
    let chosen = std::env::var_os("TOUCHLINE_SCREENSHOTS").map(PathBuf::from);
    let usual = || std::env::temp_dir().join("touchline-pictures");
    chosen.or_else(|| std::env::var_os("CI").is_none().then(usual))
}

fn fuzz(server: &Server, python: &Path) -> Result<Tally, String> {
    let document = format!("{}/api/public/v1/openapi.json", server.url);
    let settings = workspace::web().join("schemathesis.toml");
    let args = ["--config-file".as_ref(), settings.as_os_str(), "run".as_ref(), document.as_ref()];
    let finished = Job::new(python.join("schemathesis"), args)
        // It remembers earlier runs where it stands, but each run shall be like the first.
        .within(&server.folder)
        .env("TOUCHLINE_KEY", &server.key)
        .at_most(MOST)
        .run()?;
    Ok(Tally::one(finished.ok))
}
