//! Python and Node for tests with third-party programs, as `cargo xtask test` installs them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

/// The Python interpreter with the tests' packages. `None` if it is missing and not required.
pub fn python() -> Option<String> {
    if let Ok(python) = std::env::var("TOUCHLINE_TEST_PYTHON") {
        return Some(python);
    }
    skip_or_fail("Python", "TOUCHLINE_TEST_REQUIRE_PYTHON");
    None
}

/// Starts a Python script below `tests` and receives the JSON lines it prints. The script exits when its standard
/// input closes. `None` if Python is missing and not required.
pub(crate) fn spawn_script(script: &str, arguments: &[&str]) -> Option<(Child, Receiver<Value>)> {
    let script = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/{}"), script);
    let mut child = Command::new(python()?)
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                return;
            }
        }
    });
    Some((child, receiver))
}

/// The directory with the tests' Node packages. `None` if they are missing and not required.
pub fn node() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/web"));
    if folder.join("node_modules/standardwebhooks").exists() {
        return Some(folder);
    }
    skip_or_fail("Node", "TOUCHLINE_TEST_REQUIRE_NODE");
    None
}

/// Fails in CI or if the variable is set; otherwise prints that the test is skipped.
fn skip_or_fail(what: &str, require_variable: &str) {
    assert!(
        std::env::var(require_variable).is_err() && std::env::var("CI").is_err(),
        "{what} is not installed for the tests; run `cargo xtask test`"
    );
    eprintln!("SKIPPED: {what} is not installed for the tests; run `cargo xtask test`");
}
