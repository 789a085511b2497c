//! The checks from outside: the document as a linter reads it, the reference in a browser, and
//! every operation with good and bad data.

use crate::install;
use crate::job::Job;
use crate::server::{self, Server};
use crate::tally::Tally;
use crate::workspace;
use std::path::Path;
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);

/// `python` is the folder with Schemathesis.
pub(crate) fn check(service: &Path, python: &Path) -> Result<Tally, String> {
    let mut tally = lint()?;
    let server = Server::start(service)?;
    tally += browse(&server)?;
    tally += fuzz(&server, python)?;
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
        .at_most(MINUTE)
        .run()?;
    Ok(Tally::one(finished.ok))
}

fn browse(server: &Server) -> Result<Tally, String> {
    let finished =
        Job::new("node", ["--test", "--test-reporter=spec", "docs.test.mjs", "passkeys.test.mjs"])
            .within(workspace::web())
            .env("NO_COLOR", "1")
            .env("TOUCHLINE_URL", &server.home)
            .env("TOUCHLINE_EMAIL", server::EMAIL)
            .env("TOUCHLINE_PASSWORD", server::PASSWORD)
            .env("TOUCHLINE_CHROMIUM", install::CHROMIUM)
            .at_most(3 * MINUTE)
            .run()?;
    Ok(Tally::of_node(&finished.lines).ended(finished.ok))
}

fn fuzz(server: &Server, python: &Path) -> Result<Tally, String> {
    let document = format!("{}/api/public/v1/openapi.json", server.url);
    let settings = workspace::web().join("schemathesis.toml");
    let args = ["--config-file".as_ref(), settings.as_os_str(), "run".as_ref(), document.as_ref()];
    let finished = Job::new(python.join("schemathesis"), args)
        // It remembers earlier runs where it stands, but each run shall be like the first.
        .within(&server.folder)
        .env("TOUCHLINE_KEY", &server.key)
        .at_most(3 * MINUTE)
        .run()?;
    Ok(Tally::one(finished.ok))
}
