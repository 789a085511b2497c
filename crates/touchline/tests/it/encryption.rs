//! Tests of TLS connections to PostgreSQL: the server needs a trusted certificate.

use testkit::process::Program;
use testkit::{Engine, TestDatabase};

/// The certificate of the authority that signed the test server's certificate.
#[expect(clippy::print_stderr, reason = "a skipped test must not go unnoticed")]
fn authority() -> Option<String> {
    let known = std::env::var("TOUCHLINE_TEST_POSTGRES_AUTHORITY").ok();
    if known.is_none() {
        eprintln!("SKIPPED: the test server's authority is not known; run `cargo xtask test`");
    }
    known
}

#[tokio::test]
async fn connects_only_to_a_server_with_a_trusted_certificate() {
    let Some(authority) = authority() else { return };
    let Some(database) = TestDatabase::new(Engine::Postgres).await else { return };
    let program_for = |url: &str| {
        let url = format!("{url}?sslmode=require");
        Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &url)
    };
    let trusted = program_for(&database.url).flag("--postgres-authority", &authority);
    assert!(trusted.json(&["migrate", "--status"])["steps"][0]["applied_at"].is_string());

    let other_host = database.url.replace("127.0.0.1", "localhost");
    for untrusted in [
        program_for(&database.url),
        program_for(&other_host).flag("--postgres-authority", &authority),
    ] {
        let output = untrusted.run(&["migrate", "--status"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.lines().count() == 1 && errors.contains("certificate"), "{errors}");
    }
    database.remove().await;
}
