//! Programs of others that stories use, as `cargo xtask test` prepared them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

/// The Python with the packages of the tests. `None` where there is none and nobody insists.
pub fn python() -> Option<String> {
    if let Ok(python) = std::env::var("TOUCHLINE_TEST_PYTHON") {
        return Some(python);
    }
    missing("Python", "TOUCHLINE_TEST_REQUIRE_PYTHON");
    None
}

/// Starts a script below `tests` that ends with its standard input, and hears the lines it prints. `None` where
/// there is no Python with its packages and nobody insists.
pub(crate) fn converse(script: &str, words: &[&str]) -> Option<(Child, Receiver<Value>)> {
    let script = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/{}"), script);
    let mut child = Command::new(python()?)
        .arg(script)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if tell.send(serde_json::from_str(&line).unwrap()).is_err() {
                return;
            }
        }
    });
    Some((child, told))
}

/// The folder in which Node finds the packages of the tests. `None` where they are not and nobody insists.
pub fn node() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/web"));
    if folder.join("node_modules/standardwebhooks").exists() {
        return Some(folder);
    }
    missing("Node", "TOUCHLINE_TEST_REQUIRE_NODE");
    None
}

fn missing(what: &str, insists: &str) {
    assert!(
        std::env::var(insists).is_err() && std::env::var("CI").is_err(),
        "there is no {what} to test with; run `cargo xtask test`"
    );
    eprintln!("SKIPPED: there is no {what} to test with; run `cargo xtask test`");
}
