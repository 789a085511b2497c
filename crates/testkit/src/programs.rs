//! Programs of others that stories use, as `cargo xtask test` prepared them.

use std::path::PathBuf;

/// The Python with the packages of the tests. `None` where there is none and nobody insists.
pub fn python() -> Option<String> {
    if let Ok(python) = std::env::var("TOUCHLINE_TEST_PYTHON") {
        return Some(python);
    }
    missing("Python", "TOUCHLINE_TEST_REQUIRE_PYTHON");
    None
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
