//! Stories about an encrypted connection to PostgreSQL: it is made only to a server that proves itself.

use testkit::process::Program;
use testkit::{Engine, TestDatabase};

/// The certificate of the authority that vouches for the test server.
#[expect(clippy::print_stderr, reason = "a skipped story must not go unnoticed")]
fn authority() -> Option<String> {
    let known = std::env::var("TOUCHLINE_TEST_POSTGRES_AUTHORITY").ok();
    if known.is_none() {
        eprintln!("SKIPPED: the test server's authority is not known; run `cargo xtask test`");
    }
    known
}

#[tokio::test]
async fn only_a_server_that_proves_itself_is_talked_to() {
    let Some(authority) = authority() else { return };
    let Some(database) = TestDatabase::new(Engine::Postgres).await else { return };
    let at = |url: &str| {
        let url = format!("{url}?sslmode=require");
        Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &url)
    };
    let known = at(&database.url).flag("--postgres-authority", &authority);
    assert!(known.json(&["migrate", "--status"])["steps"][0]["applied_at"].is_string());

    let elsewhere = database.url.replace("127.0.0.1", "localhost");
    for stranger in [at(&database.url), at(&elsewhere).flag("--postgres-authority", &authority)] {
        let output = stranger.run(&["migrate", "--status"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.lines().count() == 1 && told.contains("certificate"), "{told}");
    }
    database.remove().await;
}
