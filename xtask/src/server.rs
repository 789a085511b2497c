//! The service itself with demonstration data, for checks from outside.

use crate::guard::Guard;
use crate::job;
use crate::scratch;
use std::ffi::{OsStr, OsString};
use std::fs::{File, read_to_string};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);
const LISTENING: &str = "listening on http://";
const LOG: &str = "log";

/// The checks send more in a minute than any tier allows.
const LIMITS: &str = "free=600000,club=600000,league=600000";

/// Somebody who looks after the demonstration club, for checks with a browser.
pub(crate) const EMAIL: &str = "browser@touchline.example";
pub(crate) const PASSWORD: &str = "quiet-lantern-over-the-halfway-line";

/// A running service; dropped, it is stopped and its data are gone.
pub(crate) struct Server {
    child: Child,
    /// Gone with the service: its log, its data, and what a check leaves lying about.
    pub(crate) folder: PathBuf,
    pub(crate) url: String,
    /// The same by its name, as people reach it: an IP address has no passkeys.
    pub(crate) home: String,
    pub(crate) key: String,
    _guard: Guard,
}

/// The service without the settings of whoever runs the checks.
pub(crate) fn command(service: &Path) -> Command {
    let mut command = Command::new(service);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOUCHLINE_") {
            command.env_remove(name);
        }
    }
    command
}

impl Server {
    pub(crate) fn start(service: &Path) -> Result<Self, String> {
        let folder = scratch::folder("web")?;
        let said = folder.join("said.json");
        let told = |e: std::io::Error| format!("cannot start the service: {e}");
        // Its own address must be known before it starts.
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).map_err(told)?;
        let home = format!("http://localhost:{}", free.port());
        // Files instead of pipes: nobody has to read along, and the log outlives a crash.
        let child = command(service)
            .args(["serve", "--demo", "--json", "--listen", &free.to_string(), "--data"])
            .arg(folder.join("data"))
            .env("TOUCHLINE_BASE_URL", &home)
            .env("TOUCHLINE_RATE_LIMITS", LIMITS)
            .stdin(Stdio::null())
            .stdout(File::create(&said).map_err(told)?)
            .stderr(File::create(folder.join(LOG)).map_err(told)?)
            .spawn()
            .map_err(told)?;
        let guard = guard(&child, &folder)?;
        let (url, key) = Default::default();
        let mut server = Self { child, folder, url, home, key, _guard: guard };
        server.url = server.wait()?;
        let said = read_to_string(said).map_err(told)?;
        server.key = key_in(&said)?;
        server.add_user(service, &found(&said, "/demo/account/id")?)?;
        Ok(server)
    }

    fn add_user(&self, service: &Path, account: &str) -> Result<(), String> {
        let told = |e: std::io::Error| format!("cannot make a user: {e}");
        let mut child = command(service)
            .args([
                "user",
                "create",
                "--account",
                account,
                "--email",
                EMAIL,
                "--name",
                "Bo Browser",
            ])
            .args(["--role", "owner", "--password-stdin", "--data"])
            .arg(self.folder.join("data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(told)?;
        let mut input = child.stdin.take().ok_or("the program takes no password")?;
        writeln!(input, "{PASSWORD}").map_err(told)?;
        drop(input);
        let made = child.wait().map_err(told)?.success();
        if made { Ok(()) } else { Err("the program made no user".into()) }
    }

    /// The end of what the service logged.
    pub(crate) fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn log(&self) -> String {
        read_to_string(self.folder.join(LOG)).unwrap_or_default()
    }

    fn wait(&mut self) -> Result<String, String> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(url) = address_in(&self.log()) {
                return Ok(url);
            }
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("the service does not come up:\n{}", self.last_words()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        job::stop(&mut self.child);
    }
}

/// Only a server that outlived us is still there when this runs.
fn guard(child: &Child, folder: &Path) -> Result<Guard, String> {
    let number = OsString::from(child.id().to_string());
    let words: [&OsStr; 2] = [&number, folder.as_os_str()];
    Guard::new("kill \"$1\" && sleep 1 && kill -9 \"$1\"; rm -rf -- \"$2\"", &words)
}

fn address_in(log: &str) -> Option<String> {
    // Without its line's end the address may be half written.
    let (_, rest) = log.split_once(LISTENING)?;
    let (line, _) = rest.split_once('\n')?;
    let address = line.split(|c: char| c.is_whitespace() || "\"',\u{1b}".contains(c)).next()?;
    Some(format!("http://{}", address.trim_end_matches('/')))
}

fn key_in(said: &str) -> Result<String, String> {
    found(said, "/demo/key/value")
}

fn found(said: &str, pointer: &str) -> Result<String, String> {
    let said: serde_json::Value = serde_json::from_str(said)
        .map_err(|e| format!("`serve --demo --json` did not print one JSON object: {e}"))?;
    let text = said.pointer(pointer).and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("the demo came without {pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_once_its_line_is_whole() {
        assert_eq!(address_in("INFO listening on http://127.0.0.1:80"), None);
        let log = "one\nINFO listening on http://127.0.0.1:8080\nmore\n";
        assert_eq!(address_in(log), Some("http://127.0.0.1:8080".into()));
    }

    #[test]
    fn the_key_is_found() {
        let said = r#"{"demo":{"account":{},"key":{"id":"key_1","value":"tl_live_abc"}}}"#;
        assert_eq!(key_in(said), Ok("tl_live_abc".into()));
        assert!(key_in("{}").is_err());
        assert!(key_in("").is_err());
    }
}
