//! The service itself with demonstration data, for checks from outside.

use crate::guard::Guard;
use crate::job::{self, forget};
use crate::{scratch, workspace};
use std::ffi::{OsStr, OsString};
use std::fs::{File, read_to_string};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(10);
const LISTENING: &str = "listening on http://";
const LOG: &str = "log";
const DATA: &str = "data";

/// The checks send more in a minute than any tier allows, and sign in more often than anybody.
const LIMITS: [(&str, &str); 2] = [
    ("TOUCHLINE_RATE_LIMITS", "free=600000,club=600000,league=600000"),
    ("TOUCHLINE_SIGN_IN_RATE", "60000"),
];

/// A running service; dropped, it is stopped and its data are gone.
pub(crate) struct Server {
    child: Child,
    /// Gone with the service: its log, its data, and what a check leaves lying about.
    pub(crate) folder: PathBuf,
    pub(crate) url: String,
    pub(crate) key: String,
    /// What it said of its demonstration data, as JSON.
    pub(crate) said: String,
    mail: Mail,
    _guard: Guard,
}

/// Takes the service's letters and writes each as a line of JSON into a file.
struct Mail {
    child: Child,
    letters: PathBuf,
}

/// The service without the settings of whoever runs the checks.
pub(crate) fn command(service: &Path) -> Command {
    let mut command = Command::new(service);
    forget(&mut command, |name| name.starts_with("TOUCHLINE_"));
    command
}

impl Server {
    /// `python` is the folder with a Python that has the packages of the tests.
    pub(crate) fn start(service: &Path, python: &Path) -> Result<Self, String> {
        // Somebody else may take the free port before the service does, hence more than one try.
        let mut started = Self::try_start(service, python);
        for _ in 0..2 {
            if started.as_ref().is_err_and(|why| why.contains("in use")) {
                started = Self::try_start(service, python);
            }
        }
        started
    }

    fn try_start(service: &Path, python: &Path) -> Result<Self, String> {
        let folder = scratch::folder("web")?;
        let said = folder.join("said.json");
        let told = |e: std::io::Error| format!("cannot start the service: {e}");
        let (mail, mail_url) = Mail::start(&folder, python)?;
        let port = free_port().map_err(told)?;
        // Files instead of pipes: nobody has to read along, and the log outlives a crash.
        let child = command(service)
            .args(["serve", "--demo", "--json", "--listen", &format!("127.0.0.1:{port}")])
            // Passkeys belong to a name; an address of numbers has none.
            .args(["--base-url", &format!("http://localhost:{port}"), "--data"])
            .arg(folder.join(DATA))
            .env("TOUCHLINE_SMTP_URL", mail_url)
            // Receivers of the tests are on this machine.
            .env("TOUCHLINE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
            .envs(LIMITS)
            .stdin(Stdio::null())
            .stdout(File::create(&said).map_err(told)?)
            .stderr(File::create(folder.join(LOG)).map_err(told)?)
            .spawn()
            .map_err(told)?;
        let guard = guard(&child, &folder)?;
        let url = format!("http://localhost:{port}");
        let (key, nothing) = Default::default();
        let mut server = Self { child, folder, url, key, said: nothing, mail, _guard: guard };
        server.wait()?;
        server.said = read_to_string(said).map_err(told)?;
        server.key = server.told("/demo/key/value")?;
        Ok(server)
    }

    /// A text in what it said.
    pub(crate) fn told(&self, pointer: &str) -> Result<String, String> {
        text_in(&self.said, pointer)
    }

    /// Its data, for commands beside it.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// The letters it sent, one line each, after a line that is none.
    pub(crate) fn letters(&self) -> &Path {
        &self.mail.letters
    }

    /// The end of what the service logged.
    pub(crate) fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }

    fn log(&self) -> String {
        read_to_string(self.folder.join(LOG)).unwrap_or_default()
    }

    fn wait(&mut self) -> Result<(), String> {
        let log = self.folder.join(LOG);
        if wait_for(&mut self.child, &log, |text| text.contains(LISTENING)) {
            return Ok(());
        }
        Err(format!("the service does not come up:\n{}", self.last_words()))
    }
}

impl Mail {
    fn start(folder: &Path, python: &Path) -> Result<(Self, String), String> {
        let letters = folder.join("letters");
        let told = |e: std::io::Error| format!("cannot start the mail server: {e}");
        let child = Command::new(python.join("python"))
            .arg(workspace::root().join("tests/mail/server.py"))
            .arg("accept")
            // It ends when this pipe does.
            .stdin(Stdio::piped())
            .stdout(File::create(&letters).map_err(told)?)
            .spawn()
            .map_err(told)?;
        let mut mail = Self { child, letters };
        if !wait_for(&mut mail.child, &mail.letters, |text| text.contains('\n')) {
            return Err("the mail server does not come up".into());
        }
        let said = read_to_string(&mail.letters).map_err(told)?;
        let port = port_in(&said).ok_or("the mail server does not say its port")?;
        Ok((mail, format!("smtp://127.0.0.1:{port}")))
    }
}

impl Drop for Mail {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        job::stop(&mut self.child);
    }
}

/// Waits until the file says what is waited for, as long as the program lives.
fn wait_for(child: &mut Child, file: &Path, said: impl Fn(&str) -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if said(&read_to_string(file).unwrap_or_default()) {
            return true;
        }
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// A port that nobody listened on a moment ago: the service must know its own address at its start.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
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

fn port_in(said: &str) -> Option<u64> {
    let line: serde_json::Value = serde_json::from_str(said.lines().next()?).ok()?;
    line["port"].as_u64()
}

fn text_in(said: &str, pointer: &str) -> Result<String, String> {
    let said: serde_json::Value = serde_json::from_str(said)
        .map_err(|e| format!("`serve --demo --json` did not print one JSON object: {e}"))?;
    let text = said.pointer(pointer).and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("the demo came without {pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_the_mail_server_is_its_first_line() {
        assert_eq!(port_in("{\"port\": 2525}\n{\"from\": \"a\"}\n"), Some(2525));
        assert_eq!(port_in(""), None);
    }

    #[test]
    fn the_key_is_found() {
        let said = r#"{"demo":{"account":{},"key":{"id":"key_1","value":"tl_live_abc"}}}"#;
        assert_eq!(text_in(said, "/demo/key/value"), Ok("tl_live_abc".into()));
        assert!(text_in("{}", "/demo/key/value").is_err());
        assert!(text_in("", "/demo/key/value").is_err());
    }
}
