//! Tests of the program itself: commands, a running service, and errors at start.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;
use testkit::process::Program;
use testkit::{Client, Engine, TestDatabase, Value, json};

pub(crate) fn program(data: &Path) -> Program {
    Program::new(env!("CARGO_BIN_EXE_touchline"), data)
}

/// A program with a fresh data folder on this database engine.
async fn program_on(engine: Engine) -> Option<(TestDatabase, Program)> {
    let database = TestDatabase::new(engine).await?;
    let program = program(database.folder.path()).flag("--database", &database.url);
    Some((database, program))
}

/// Asserts that the program failed with one line that contains these texts, without a panic.
pub(crate) fn assert_fails_with(output: &Output, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("touchline: ") && !stderr.contains("panicked"), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{stderr}");
    }
}

async fn commands_work_beside_a_running_service(engine: Engine) {
    let Some((database, program)) = program_on(engine).await else { return };
    let account = program.json(&["account", "create", "--name", "Harbour", "--tier", "club"]);
    let account = account["account"]["id"].as_str().unwrap().to_owned();
    assert_eq!(program.json(&["account", "list"])["accounts"][0]["tier"], "club");
    let service = program.serve(&[]);
    let arguments = [
        "key",
        "create",
        "--account",
        &account,
        "--name",
        "First",
        "--scopes",
        "teams:read,teams:write",
    ];
    let key = program.json(&arguments)["key"].clone();
    let client = Client::new(service.address, key["value"].as_str());
    client.post("/teams", json!({ "name": "Kraken" })).await.created();
    assert_eq!(client.get("/me").await.ok().data()["limits"]["requests_per_minute"], 600);

    let list = || program.json(&["key", "list", "--account", &account])["keys"][0].clone();
    let mut listed = list();
    // The last use of a key is written in the background.
    for _ in 0..300 {
        if listed["last_used_at"].is_string() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        listed = list();
    }
    assert!(listed["value"].is_null() && listed["last_used_at"].is_string(), "{listed}");

    program.json(&["account", "set-tier", &account, "league"]);
    assert_eq!(client.get("/me").await.ok().data()["limits"]["requests_per_minute"], 6000);

    program.json(&["key", "revoke", key["id"].as_str().unwrap()]);
    client.get("/me").await.assert_problem(401, "invalid_credentials");

    assert_fails_with(&program.run(&["account", "delete", &account]), &["--yes"]);
    program.json(&["account", "delete", &account, "--yes"]);
    assert_eq!(program.json(&["account", "list"]), json!({ "accounts": [] }));
    let (ended, _) = service.stop();
    assert!(ended.success());
    database.remove().await;
}

#[tokio::test]
async fn commands_work_beside_a_running_service_on_sqlite() {
    commands_work_beside_a_running_service(Engine::Sqlite).await;
}

#[tokio::test]
async fn commands_work_beside_a_running_service_on_postgres() {
    commands_work_beside_a_running_service(Engine::Postgres).await;
}

async fn demo_club_loads_once(engine: Engine) {
    let Some((database, program)) = program_on(engine).await else { return };
    let first = program.json(&["seed", "demo"]);
    let service = program.serve(&["--demo"]);
    let key = fs::read_to_string(database.folder.path().join("demo.key")).unwrap();
    assert_eq!(first["demo"]["key"]["value"], key.trim());
    let client = Client::new(service.address, Some(key.trim()));
    assert_eq!(client.get("/teams").await.ok().names().len(), 6);
    let scopes = client.get("/me").await.ok().data()["scopes"].clone();
    assert_eq!(scopes.as_array().unwrap().len(), 12);
    assert!(!scopes.to_string().contains('*'));
    let again = program.json(&["seed", "demo"]);
    assert_eq!(again["demo"]["key"]["value"], first["demo"]["key"]["value"]);
    assert_eq!(client.get("/teams").await.ok().names().len(), 6);
    program.json(&["seed", "demo", "--remove"]);
    client.get("/teams").await.assert_problem(401, "invalid_credentials");
    assert_fails_with(&program.run(&["seed", "demo", "--remove"]), &["no demo club"]);
    drop(service);
    database.remove().await;
}

#[tokio::test]
async fn demo_club_loads_once_and_can_be_removed_on_sqlite() {
    demo_club_loads_once(Engine::Sqlite).await;
}

#[tokio::test]
async fn demo_club_loads_once_and_can_be_removed_on_postgres() {
    demo_club_loads_once(Engine::Postgres).await;
}

/// Restores a backup of one engine into an empty database of the other.
async fn restores_into_other_engine(from: Engine, to: Engine) {
    let (Some((source, program)), Some((target, other))) =
        (program_on(from).await, program_on(to).await)
    else {
        return;
    };
    let demo = program.json(&["seed", "demo"]);
    let file = source.folder.path().join("b.tar.gz");
    let file = file.to_str().unwrap();
    let backup = program.json(&["backup", "create", "--to", file]);
    assert!(backup["backup"]["rows"].as_u64().unwrap() > 20, "{backup}");
    assert_eq!(program.json(&["backup", "verify", file]), backup);
    other.json(&["restore", file]);
    assert_fails_with(&other.run(&["restore", file]), &["not empty"]);
    let findings = other.json(&["doctor"])["findings"].clone();
    assert!(!findings.to_string().contains("\"failed\""), "{findings}");
    let service = other.serve(&[]);
    let client = Client::new(service.address, demo["demo"]["key"]["value"].as_str());
    assert_eq!(client.get("/teams").await.ok().names().len(), 6);
    client.post("/teams", json!({ "name": "After the move" })).await.created();
    drop(service);
    source.remove().await;
    target.remove().await;
}

#[tokio::test]
async fn restores_a_sqlite_backup_into_postgres() {
    restores_into_other_engine(Engine::Sqlite, Engine::Postgres).await;
}

#[tokio::test]
async fn restores_a_postgres_backup_into_sqlite() {
    restores_into_other_engine(Engine::Postgres, Engine::Sqlite).await;
}

#[test]
fn rejects_a_damaged_backup() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    program.json(&["seed", "demo"]);
    let file = folder.path().join("b.tar.gz");
    program.json(&["backup", "create", "--to", file.to_str().unwrap()]);
    let intact = fs::read(&file).unwrap();
    for offset in (1..12).map(|part| intact.len() * part / 12) {
        let mut bytes = intact.clone();
        bytes[offset] ^= 0x55;
        fs::write(&file, bytes).unwrap();
        let refused = program.run(&["backup", "verify", file.to_str().unwrap()]);
        assert_fails_with(&refused, &["b.tar.gz", "damaged"]);
    }
    assert_fails_with(&program.run(&["restore", "/nowhere.tar.gz"]), &["/nowhere.tar.gz"]);
}

#[test]
fn reports_start_errors_in_one_line() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().to_string();
    let serve = |data: &Path, flags: &[&str]| {
        let arguments: Vec<_> = ["serve"].into_iter().chain(flags.iter().copied()).collect();
        program(data).run(&arguments)
    };
    assert_fails_with(&serve(folder.path(), &["--listen", &port]), &["cannot listen", "in use"]);

    let file = folder.path().join("a-file");
    fs::write(
        &file,
        "This is a text file, not a database, and long enough to be looked at.".repeat(40),
    )
    .unwrap();
    assert_fails_with(&serve(&file, &[]), &["a-file"]);
    assert_fails_with(&serve(&file.join("below"), &[]), &["cannot create the directory"]);
    let url = format!("sqlite:{}", file.display());
    assert_fails_with(&serve(folder.path(), &["--database", &url]), &["not a database"]);
    let directory = format!("sqlite:{}", folder.path().display());
    assert_fails_with(&serve(folder.path(), &["--database", &directory]), &["directory"]);
    assert_fails_with(
        &serve(folder.path(), &["--database", "postgres://x@127.0.0.1:1/y"]),
        &["refused"],
    );
    assert_fails_with(
        &serve(folder.path(), &["--database", "mysql://x"]),
        &["sqlite:PATH or postgres://"],
    );
    // The database URL may contain a password.
    let secret = serve(folder.path(), &["--database", "postgres://x:hush@127.0.0.1:1/y"]);
    assert!(!String::from_utf8_lossy(&secret.stderr).contains("hush"));
}

#[test]
fn rejects_a_newer_schema() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    program.json(&["migrate"]);
    let url = format!("sqlite:{}", folder.path().join("touchline.db").display());
    let db = store::Db::open(testkit::database::options(&url, kit::Clock::system())).unwrap();
    let write = db.write(store::Scope::system("test"), |tx| {
        tx.execute("insert into schema_migration (name, checksum, applied_at) values ('9999_future', 'x', 1) /* any account */", &[])
    });
    tokio::runtime::Runtime::new().unwrap().block_on(write).unwrap();
    db.close();
    assert_fails_with(&program.run(&["serve"]), &["newer version", "9999_future"]);
}

#[test]
fn reports_all_invalid_settings_together() {
    let folder = TempDir::new().unwrap();
    let wrong = program(folder.path())
        .variable("TOUCHLINE_LISTEN", "nowhere")
        .variable("TOUCHLINE_IDEMPOTENCY_TTL", "soon")
        .run(&["config", "check"]);
    assert_eq!(wrong.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        stderr.contains("TOUCHLINE_LISTEN") && stderr.contains("TOUCHLINE_IDEMPOTENCY_TTL"),
        "{stderr}"
    );

    let file = folder.path().join("touchline.toml");
    fs::write(&file, "listen = \"127.0.0.1:7777\"\nnonsense = 1\nidempotency_ttl = \"2h\"\n")
        .unwrap();
    let program = program(folder.path()).flag("--config", file.to_str().unwrap());
    assert_fails_with(&program.run(&["config", "check"]), &["unknown setting nonsense"]);
    fs::write(
        &file,
        "listen = \"127.0.0.1:7777\"\nidempotency_ttl = \"2h\"\nmetrics_token = \"hush\"\n",
    )
    .unwrap();
    let settings = program.json(&["config", "show"])["config"].clone();
    assert_eq!(
        (&settings["listen"], &settings["idempotency_ttl"]),
        (&json!("127.0.0.1:7777"), &json!("7200s"))
    );
    assert!(!settings.to_string().contains("hush"));
    let overridden = program.json(&["config", "show", "--listen", "127.0.0.1:1"])["config"].clone();
    assert_eq!(overridden["listen"], "127.0.0.1:1");
}

#[test]
fn reports_errors_of_file_and_flags_together() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.toml");
    fs::write(&file, "nope = 1\nlisten = \"zzz\"\n").unwrap();
    let wrong = program(folder.path()).flag("--config", file.to_str().unwrap()).run(&[
        "config",
        "check",
        "--queue",
        "0",
        "--base-url",
        "ftp://x",
        "--log",
        "!!!=",
        "--database",
        "mysql://u:hush@h/d",
    ]);
    let stderr = String::from_utf8_lossy(&wrong.stderr).into_owned();
    for word in ["nope", "zzz", "--queue", "--base-url", "--log", "--database"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    assert!(wrong.status.code() == Some(2) && !stderr.contains("hush"), "{stderr}");
}

#[test]
fn reports_errors_as_json() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    let object =
        |output: &Output| -> serde_json::Value { serde_json::from_slice(&output.stdout).unwrap() };
    let unreachable = ["--database", "postgres://u@127.0.0.1:1/d", "--json"];
    let refused = program.run(&[&["account", "list"], &unreachable[..]].concat());
    assert!(object(&refused)["error"]["messages"][0].as_str().unwrap().contains("refused"));
    let doctor = program.run(&[&["doctor"], &unreachable[..]].concat());
    assert_eq!(doctor.status.code(), Some(1));
    assert_eq!(object(&doctor)["findings"][0]["verdict"], "failed");
    assert!(program.json(&["completions", "bash"])["completions"].is_string());
    let output = program.run(&["key", "revoke", "tl_live_secret"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("secret"));
}

#[test]
fn backup_never_overwrites_a_file() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    let file = folder.path().join("b.tar.gz");
    fs::write(&file, "precious").unwrap();
    assert_fails_with(
        &program.run(&["backup", "create", "--to", file.to_str().unwrap()]),
        &["already exists"],
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    let nowhere = folder.path().join("typo/b.tar.gz");
    assert_fails_with(
        &program.run(&["backup", "create", "--to", nowhere.to_str().unwrap()]),
        &["typo"],
    );
    let names = [program.json(&["backup", "create"]), program.json(&["backup", "create"])];
    assert_ne!(names[0]["backup"]["file"], names[1]["backup"]["file"]);
}

#[test]
fn config_completions_openapi_migrate_and_healthcheck_commands_work() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    let stdout = |arguments: &[&str]| String::from_utf8(program.run(arguments).stdout).unwrap();
    assert!(stdout(&["config", "template"]).contains("#listen = \"127.0.0.1:8080\""));
    assert!(stdout(&["completions", "bash"]).contains("touchline"));
    assert_eq!(stdout(&["openapi"]), touchline::openapi_json());
    let steps = program.json(&["migrate", "--status"])["steps"].clone();
    assert!(steps[0]["applied_at"].is_null());
    assert_eq!(program.json(&["migrate"])["applied"][0], "0001_foundation");
    assert!(program.json(&["migrate", "--status"])["steps"][0]["applied_at"].is_string());
    assert_fails_with(&program.run(&["healthcheck", "--listen", "127.0.0.1:1"]), &["127.0.0.1:1"]);
    let service = program.serve(&[]);
    assert_eq!(
        program.json(&["healthcheck", "--listen", &service.address.to_string()]),
        json!({ "ready": true })
    );
    assert_fails_with(
        &program.run(&[
            "key",
            "create",
            "--account",
            "acc_00000000000000000000000000",
            "--name",
            "x",
            "--scopes",
            "teams:read",
        ]),
        &["No such"],
    );
    assert_eq!(
        program
            .run(&["key", "create", "--account", "x", "--name", "x", "--scopes", "teams:fly"])
            .status
            .code(),
        Some(2)
    );
}

#[tokio::test]
async fn metrics_require_the_token() {
    let folder = TempDir::new().unwrap();
    let without_token = program(folder.path()).serve(&[]);
    let nobody = Client::new(without_token.address, None);
    nobody.get("/metrics").await.assert_problem(404, "not_found");
    nobody.get("/healthz").await.ok();
    nobody.get("/readyz").await.ok();
    drop(without_token);
    let with_token = program(folder.path()).variable("TOUCHLINE_METRICS_TOKEN", "hush").serve(&[]);
    let nobody = Client::new(with_token.address, None);
    nobody.get("/metrics").await.assert_problem(401, "missing_credentials");
    let metrics = Client::new(with_token.address, Some("hush")).get("/metrics").await.ok();
    assert!(
        metrics.text.contains("touchline_http_requests_total{method=\"GET\",status=\"401\"} 1"),
        "{}",
        metrics.text
    );
    Client::new(with_token.address, Some("hash"))
        .get("/metrics")
        .await
        .assert_problem(401, "invalid_credentials");
}

#[test]
fn reports_wrong_arguments_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), folder.path());
    for arguments in
        [&["user", "create", "--role", "god", "--json"][..], &["--json"], &["--json", "nonsense"]]
    {
        let output = program.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(object["error"]["messages"][0].is_string(), "{object}");
    }
    let output = program.run(&["user", "create", "--role", "god", "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("god") && text.contains("owner, admin, member"), "{text}");
    let output = program.run(&["user", "create", "--role", "god"]);
    assert!(output.stdout.is_empty() && output.status.code() == Some(2));
}

#[test]
fn help_shows_the_full_text_of_a_setting() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), folder.path());
    let help = program.run(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let help = String::from_utf8(help.stdout).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("`smtps://USER:PASSWORD@HOST`, or `smtp://HOST:25` without encryption."),
        "{help}"
    );
}
