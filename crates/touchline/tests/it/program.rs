//! Stories about the program itself: first steps, commands beside a running service, bad luck at start.

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

/// A program with a fresh data folder on the database of this kind.
async fn on(engine: Engine) -> Option<(TestDatabase, Program)> {
    let database = TestDatabase::new(engine).await?;
    let program = program(database.folder.path()).flag("--database", &database.url);
    Some((database, program))
}

/// The program refuses in one line that says these words, without a panic.
pub(crate) fn refuses(output: &Output, words: &[&str]) {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.starts_with("touchline: ") && !told.contains("panicked"), "{told}");
    for word in words {
        assert!(told.contains(word), "{told}");
    }
}

async fn first_steps(engine: Engine) {
    let Some((database, program)) = on(engine).await else { return };
    let account = program.json(&["account", "create", "--name", "Harbour", "--tier", "club"]);
    let account = account["account"]["id"].as_str().unwrap().to_owned();
    assert_eq!(program.json(&["account", "list"])["accounts"][0]["tier"], "club");
    let service = program.serve(&[]);
    let make = [
        "key",
        "create",
        "--account",
        &account,
        "--name",
        "First",
        "--scopes",
        "teams:read,teams:write",
    ];
    let key = program.json(&make)["key"].clone();
    let client = Client::new(service.address, key["value"].as_str());
    client.post("/teams", json!({ "name": "Kraken" })).await.created();
    assert_eq!(client.get("/me").await.ok().data()["limits"]["requests_per_minute"], 600);

    let list = || program.json(&["key", "list", "--account", &account])["keys"][0].clone();
    let mut listed = list();
    // That it was used is noted beside the request.
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
    client.get("/me").await.refused(401, "invalid_credentials");

    refuses(&program.run(&["account", "delete", &account]), &["--yes"]);
    program.json(&["account", "delete", &account, "--yes"]);
    assert_eq!(program.json(&["account", "list"]), json!({ "accounts": [] }));
    let (ended, _) = service.stop();
    assert!(ended.success());
    database.remove().await;
}

#[tokio::test]
async fn commands_work_beside_a_running_service_on_sqlite() {
    first_steps(Engine::Sqlite).await;
}

#[tokio::test]
async fn commands_work_beside_a_running_service_on_postgres() {
    first_steps(Engine::Postgres).await;
}

async fn demo_twice(engine: Engine) {
    let Some((database, program)) = on(engine).await else { return };
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
    client.get("/teams").await.refused(401, "invalid_credentials");
    refuses(&program.run(&["seed", "demo", "--remove"]), &["no demo club"]);
    drop(service);
    database.remove().await;
}

#[tokio::test]
async fn the_demo_club_is_loaded_once_and_removed_whole_on_sqlite() {
    demo_twice(Engine::Sqlite).await;
}

#[tokio::test]
async fn the_demo_club_is_loaded_once_and_removed_whole_on_postgres() {
    demo_twice(Engine::Postgres).await;
}

/// A backup of one kind of database, put into an empty one of the other kind.
async fn moves(from: Engine, to: Engine) {
    let (Some((old, program)), Some((new, other))) = (on(from).await, on(to).await) else { return };
    let demo = program.json(&["seed", "demo"]);
    let file = old.folder.path().join("b.tar.gz");
    let file = file.to_str().unwrap();
    let made = program.json(&["backup", "create", "--to", file]);
    assert!(made["backup"]["rows"].as_u64().unwrap() > 20, "{made}");
    assert_eq!(program.json(&["backup", "verify", file]), made);
    other.json(&["restore", file]);
    refuses(&other.run(&["restore", file]), &["not empty"]);
    let findings = other.json(&["doctor"])["findings"].clone();
    assert!(!findings.to_string().contains("\"ill\""), "{findings}");
    let service = other.serve(&[]);
    let client = Client::new(service.address, demo["demo"]["key"]["value"].as_str());
    assert_eq!(client.get("/teams").await.ok().names().len(), 6);
    client.post("/teams", json!({ "name": "After the move" })).await.created();
    drop(service);
    old.remove().await;
    new.remove().await;
}

#[tokio::test]
async fn a_backup_moves_from_sqlite_to_postgres() {
    moves(Engine::Sqlite, Engine::Postgres).await;
}

#[tokio::test]
async fn a_backup_moves_from_postgres_to_sqlite() {
    moves(Engine::Postgres, Engine::Sqlite).await;
}

#[test]
fn a_damaged_backup_is_refused() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    program.json(&["seed", "demo"]);
    let file = folder.path().join("b.tar.gz");
    program.json(&["backup", "create", "--to", file.to_str().unwrap()]);
    let whole = fs::read(&file).unwrap();
    for place in (1..12).map(|part| whole.len() * part / 12) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        fs::write(&file, bytes).unwrap();
        let refused = program.run(&["backup", "verify", file.to_str().unwrap()]);
        refuses(&refused, &["b.tar.gz", "damaged"]);
    }
    refuses(&program.run(&["restore", "/nowhere.tar.gz"]), &["/nowhere.tar.gz"]);
}

#[test]
fn bad_luck_at_start_is_told_in_one_line() {
    let folder = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let serve = |data: &Path, flags: &[&str]| {
        let words: Vec<_> = ["serve"].into_iter().chain(flags.iter().copied()).collect();
        program(data).run(&words)
    };
    refuses(&serve(folder.path(), &["--listen", &port]), &["cannot listen", "in use"]);

    let file = folder.path().join("a-file");
    fs::write(
        &file,
        "This is a text file, not a database, and long enough to be looked at.".repeat(40),
    )
    .unwrap();
    refuses(&serve(&file, &[]), &["a-file"]);
    refuses(&serve(&file.join("below"), &[]), &["cannot make the data folder"]);
    let text = format!("sqlite:{}", file.display());
    refuses(&serve(folder.path(), &["--database", &text]), &["not a database"]);
    let directory = format!("sqlite:{}", folder.path().display());
    refuses(&serve(folder.path(), &["--database", &directory]), &["directory"]);
    refuses(&serve(folder.path(), &["--database", "postgres://x@127.0.0.1:1/y"]), &["refused"]);
    refuses(&serve(folder.path(), &["--database", "mysql://x"]), &["sqlite:PATH or postgres://"]);
    // The address of a database may hold a password.
    let secret = serve(folder.path(), &["--database", "postgres://x:hush@127.0.0.1:1/y"]);
    assert!(!String::from_utf8_lossy(&secret.stderr).contains("hush"));
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    program.json(&["migrate"]);
    let url = format!("sqlite:{}", folder.path().join("touchline.db").display());
    let db = store::Db::open(testkit::database::options(&url, kit::Clock::system())).unwrap();
    let write = db.write(store::Scope::system("test"), |tx| {
        tx.run("insert into schema_migration (name, checksum, applied_at) values ('9999_future', 'x', 1) /* any account */", &[])
    });
    tokio::runtime::Runtime::new().unwrap().block_on(write).unwrap();
    db.close();
    refuses(&program.run(&["serve"]), &["newer version", "9999_future"]);
}

#[test]
fn faults_of_the_settings_are_told_together() {
    let folder = TempDir::new().unwrap();
    let wrong = program(folder.path())
        .variable("TOUCHLINE_LISTEN", "nowhere")
        .variable("TOUCHLINE_IDEMPOTENCY_TTL", "soon")
        .run(&["config", "check"]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        told.contains("TOUCHLINE_LISTEN") && told.contains("TOUCHLINE_IDEMPOTENCY_TTL"),
        "{told}"
    );

    let file = folder.path().join("touchline.toml");
    fs::write(&file, "listen = \"127.0.0.1:7777\"\nnonsense = 1\nidempotency_ttl = \"2h\"\n")
        .unwrap();
    let program = program(folder.path()).flag("--config", file.to_str().unwrap());
    refuses(&program.run(&["config", "check"]), &["nonsense is not a setting"]);
    fs::write(
        &file,
        "listen = \"127.0.0.1:7777\"\nidempotency_ttl = \"2h\"\nmetrics_token = \"hush\"\n",
    )
    .unwrap();
    let shown = program.json(&["config", "show"])["config"].clone();
    assert_eq!(
        (&shown["listen"], &shown["idempotency_ttl"]),
        (&json!("127.0.0.1:7777"), &json!("7200s"))
    );
    assert!(!shown.to_string().contains("hush"));
    let over = program.json(&["config", "show", "--listen", "127.0.0.1:1"])["config"].clone();
    assert_eq!(over["listen"], "127.0.0.1:1");
}

#[test]
fn settings_that_cannot_run_are_refused_all_together() {
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
    let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
    for word in ["nope", "zzz", "--queue", "--base-url", "--log", "--database"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(wrong.status.code() == Some(2) && !told.contains("hush"), "{told}");
}

#[test]
fn a_refusal_is_one_json_object_too() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    let object =
        |output: &Output| -> serde_json::Value { serde_json::from_slice(&output.stdout).unwrap() };
    let away = ["--database", "postgres://u@127.0.0.1:1/d", "--json"];
    let refused = program.run(&[&["account", "list"], &away[..]].concat());
    assert!(object(&refused)["error"]["messages"][0].as_str().unwrap().contains("refused"));
    let ill = program.run(&[&["doctor"], &away[..]].concat());
    assert_eq!(ill.status.code(), Some(1));
    assert_eq!(object(&ill)["findings"][0]["verdict"], "ill");
    assert!(program.json(&["completions", "bash"])["completions"].is_string());
    let typed = program.run(&["key", "revoke", "tl_live_secret"]);
    assert!(!String::from_utf8_lossy(&typed.stderr).contains("secret"));
}

#[test]
fn a_backup_replaces_nothing() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    let file = folder.path().join("b.tar.gz");
    fs::write(&file, "precious").unwrap();
    refuses(
        &program.run(&["backup", "create", "--to", file.to_str().unwrap()]),
        &["is there already"],
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    let nowhere = folder.path().join("typo/b.tar.gz");
    refuses(&program.run(&["backup", "create", "--to", nowhere.to_str().unwrap()]), &["typo"]);
    let names = [program.json(&["backup", "create"]), program.json(&["backup", "create"])];
    assert_ne!(names[0]["backup"]["file"], names[1]["backup"]["file"]);
}

#[test]
fn small_commands_do_what_they_say() {
    let folder = TempDir::new().unwrap();
    let program = program(folder.path());
    let said = |words: &[&str]| String::from_utf8(program.run(words).stdout).unwrap();
    assert!(said(&["config", "template"]).contains("#listen = \"127.0.0.1:8080\""));
    assert!(said(&["completions", "bash"]).contains("touchline"));
    assert_eq!(said(&["openapi"]), touchline::document());
    let steps = program.json(&["migrate", "--status"])["steps"].clone();
    assert!(steps[0]["applied_at"].is_null());
    assert_eq!(program.json(&["migrate"])["applied"][0], "0001_foundation");
    assert!(program.json(&["migrate", "--status"])["steps"][0]["applied_at"].is_string());
    refuses(&program.run(&["healthcheck", "--listen", "127.0.0.1:1"]), &["127.0.0.1:1"]);
    let service = program.serve(&[]);
    assert_eq!(
        program.json(&["healthcheck", "--listen", &service.address.to_string()]),
        json!({ "ready": true })
    );
    refuses(
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
async fn numbers_are_for_whoever_has_the_token() {
    let folder = TempDir::new().unwrap();
    let open = program(folder.path()).serve(&[]);
    let nobody = Client::new(open.address, None);
    nobody.get("/metrics").await.refused(404, "not_found");
    nobody.get("/healthz").await.ok();
    nobody.get("/readyz").await.ok();
    drop(open);
    let token = program(folder.path()).variable("TOUCHLINE_METRICS_TOKEN", "hush").serve(&[]);
    let nobody = Client::new(token.address, None);
    nobody.get("/metrics").await.refused(401, "missing_credentials");
    let numbers = Client::new(token.address, Some("hush")).get("/metrics").await.ok();
    assert!(
        numbers.text.contains("touchline_http_requests_total{method=\"GET\",status=\"401\"} 1"),
        "{}",
        numbers.text
    );
    Client::new(token.address, Some("hash"))
        .get("/metrics")
        .await
        .refused(401, "invalid_credentials");
}

#[test]
fn wrong_arguments_are_told_as_json_too() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), folder.path());
    for words in
        [&["user", "create", "--role", "god", "--json"][..], &["--json"], &["--json", "nonsense"]]
    {
        let told = program.run(words);
        assert_eq!(told.status.code(), Some(2), "{words:?}");
        let object: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert!(object["error"]["messages"][0].is_string(), "{object}");
    }
    let told = program.run(&["user", "create", "--role", "god", "--json"]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(text.contains("god") && text.contains("owner, admin, member"), "{text}");
    let told = program.run(&["user", "create", "--role", "god"]);
    assert!(told.stdout.is_empty() && told.status.code() == Some(2));
}

#[test]
fn the_help_says_all_there_is_to_a_setting() {
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
