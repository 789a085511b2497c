//! A running service with demo data, for the web checks.

use crate::guard::Guard;
use crate::job::{self, env_remove_matching};
use crate::{scratch, workspace};
use std::ffi::{OsStr, OsString};
use std::fs::{File, read_to_string};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_TIMEOUT: Duration = Duration::from_mins(10);
const LISTENING: &str = "listening on http://";
const LOG: &str = "log";
const DATA: &str = "data";

/// Rate limits that the checks cannot exceed.
const LIMITS: [(&str, &str); 2] = [
    ("TOUCHLINE_RATE_LIMITS", "free=600000,club=600000,league=600000"),
    ("TOUCHLINE_SIGN_IN_RATE", "60000"),
];

/// A running service. Dropping it stops it and removes its data.
pub(crate) struct Server {
    child: Child,
    /// The log, the data, and files that checks create. Removed with the service.
    pub(crate) folder: PathBuf,
    pub(crate) url: String,
    pub(crate) key: String,
    /// The JSON that `serve --demo --json` printed.
    pub(crate) demo_json: String,
    mail: MailServer,
    _guard: Guard,
}

/// A mail server that writes each email it receives to a file, as a line of JSON.
struct MailServer {
    child: Child,
    email_log: PathBuf,
}

/// A command of the service, without the `TOUCHLINE_` variables of our own environment.
pub(crate) fn command(service: &Path) -> Command {
    let mut command = Command::new(service);
    env_remove_matching(&mut command, |name| name.starts_with("TOUCHLINE_"));
    command
}

impl Server {
    /// `python` is the `bin` folder of the tests' Python environment.
    pub(crate) fn start(service: &Path, python: &Path) -> Result<Self, String> {
        // Another process may take the free port first, so try three times.
        let mut server = Self::try_start(service, python);
        for _ in 0..2 {
            if server.as_ref().is_err_and(|error| error.contains("in use")) {
                server = Self::try_start(service, python);
            }
        }
        server
    }

    fn try_start(service: &Path, python: &Path) -> Result<Self, String> {
        let folder = scratch::folder("web")?;
        let demo_file = folder.join("demo.json");
        let failed = |e: std::io::Error| format!("cannot start the service: {e}");
        let (mail, mail_url) = MailServer::start(&folder, python)?;
        let port = free_port().map_err(failed)?;
        // Files instead of pipes: nobody has to read them while the service runs, and the log survives a crash.
        let child = command(service)
            .args(["serve", "--demo", "--json", "--listen", &format!("127.0.0.1:{port}")])
            // Passkeys need a host name; they do not work with an IP address.
            .args(["--base-url", &format!("http://localhost:{port}"), "--data"])
            .arg(folder.join(DATA))
            .env("TOUCHLINE_SMTP_URL", mail_url)
            // The tests' webhook receivers run on this machine.
            .env("TOUCHLINE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
            .envs(LIMITS)
            .stdin(Stdio::null())
            .stdout(File::create(&demo_file).map_err(failed)?)
            .stderr(File::create(folder.join(LOG)).map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        let guard = guard(&child, &folder)?;
        let url = format!("http://localhost:{port}");
        let (key, demo_json) = Default::default();
        let mut server = Self { child, folder, url, key, demo_json, mail, _guard: guard };
        server.wait()?;
        server.demo_json = read_to_string(demo_file).map_err(failed)?;
        server.key = server.demo_value("/demo/key/value")?;
        Ok(server)
    }

    /// A string in the demo JSON.
    pub(crate) fn demo_value(&self, pointer: &str) -> Result<String, String> {
        string_at(&self.demo_json, pointer)
    }

    /// Its data folder, for other commands of the service.
    pub(crate) fn data_folder(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// The file with the emails it sent. The first line is the mail server's port, each further line an email.
    pub(crate) fn email_log(&self) -> &Path {
        &self.mail.email_log
    }

    /// The last ten lines of the service's log.
    pub(crate) fn log_tail(&self) -> String {
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
        Err(format!("the service did not start:\n{}", self.log_tail()))
    }
}

impl MailServer {
    fn start(folder: &Path, python: &Path) -> Result<(Self, String), String> {
        let email_log = folder.join("emails");
        let failed = |e: std::io::Error| format!("cannot start the mail server: {e}");
        let child = Command::new(python.join("python"))
            .arg(workspace::root().join("tests/mail/server.py"))
            .arg("accept")
            // It exits when this pipe closes.
            .stdin(Stdio::piped())
            .stdout(File::create(&email_log).map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        let mut mail = Self { child, email_log };
        if !wait_for(&mut mail.child, &mail.email_log, |text| text.contains('\n')) {
            return Err("the mail server did not start".into());
        }
        let output = read_to_string(&mail.email_log).map_err(failed)?;
        let port = parse_port(&output).ok_or("the mail server did not print its port")?;
        Ok((mail, format!("smtp://127.0.0.1:{port}")))
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        job::stop(&mut self.child);
    }
}

/// Waits until the content of the file satisfies `is_ready`. False if the process exits or time runs out.
fn wait_for(child: &mut Child, file: &Path, is_ready: impl Fn(&str) -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < START_TIMEOUT {
        if is_ready(&read_to_string(file).unwrap_or_default()) {
            return true;
        }
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// A free port. The service needs to know its own address when it starts, so it cannot choose the port itself.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

impl Drop for Server {
    fn drop(&mut self) {
        job::stop(&mut self.child);
    }
}

/// Kills the service if it is still running, and removes its folder.
fn guard(child: &Child, folder: &Path) -> Result<Guard, String> {
    let pid = OsString::from(child.id().to_string());
    let args: [&OsStr; 2] = [&pid, folder.as_os_str()];
    Guard::new("kill \"$1\" && sleep 1 && kill -9 \"$1\"; rm -rf -- \"$2\"", &args)
}

fn parse_port(output: &str) -> Option<u64> {
    let line: serde_json::Value = serde_json::from_str(output.lines().next()?).ok()?;
    line["port"].as_u64()
}

fn string_at(json: &str, pointer: &str) -> Result<String, String> {
    let json: serde_json::Value = serde_json::from_str(json)
        .map_err(|e| format!("`serve --demo --json` did not print one JSON object: {e}"))?;
    let text = json.pointer(pointer).and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("the demo JSON has no {pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_has_the_port_of_the_mail_server() {
        assert_eq!(parse_port("{\"port\": 2525}\n{\"from\": \"a\"}\n"), Some(2525));
        assert_eq!(parse_port(""), None);
    }

    #[test]
    fn finds_the_key() {
        let json = r#"{"demo":{"account":{},"key":{"id":"key_1","value":"tl_live_abc"}}}"#;
        assert_eq!(string_at(json, "/demo/key/value"), Ok("tl_live_abc".into()));
        assert!(string_at("{}", "/demo/key/value").is_err());
        assert!(string_at("", "/demo/key/value").is_err());
    }
}
