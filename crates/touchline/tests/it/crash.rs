//! Tests of crashes: an answered request has taken effect once, and nothing is half done.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kit::Clock;
use store::Scope;
use testkit::process::Program;
use testkit::{Client, Engine, TestDatabase, json};
use touchline::ids::AccountId;

/// A request that was sent: the name of its team, and the team's id if the service answered.
type Sent = (String, Option<String>);

struct Club {
    database: TestDatabase,
    program: Program,
    account: AccountId,
    key: String,
}

impl Club {
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &database.url)
            .variable("TOUCHLINE_RATE_LIMITS", "league=1000000");
        let created = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
        let account = created["account"]["id"].as_str().unwrap().to_owned();
        let scopes = "teams:read,teams:write";
        let created = program.json(&[
            "key",
            "create",
            "--account",
            &account,
            "--name",
            "k",
            "--scopes",
            scopes,
        ]);
        let key = created["key"]["value"].as_str().unwrap().to_owned();
        Some(Self { database, program, account: account.parse().unwrap(), key })
    }
}

/// Creates teams, each with its own idempotency key, until `stop` is set or the service is gone.
async fn create_teams(
    client: Client,
    writer: usize,
    round: usize,
    sent: Arc<Mutex<Vec<Sent>>>,
    stop: Arc<AtomicBool>,
) {
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("Team {round}-{writer}-{number}");
        let body = json!({ "name": name }).to_string();
        let keyed = client.with_header("Idempotency-Key", &name.replace(' ', "-"));
        let answer = keyed.try_send("POST", "/teams", Some(&body)).await;
        let id = answer
            .as_ref()
            .filter(|answer| answer.status == 201)
            .map(|answer| answer.id().to_owned());
        let gone = answer.is_none();
        sent.lock().unwrap().push((name, id));
        if gone {
            return;
        }
    }
}

/// Repeats every request with its key, and asserts that each has one team and that answered ones are replayed.
async fn retry_all(address: SocketAddr, key: &str, sent: &[Sent]) {
    let client = Client::new(address, Some(key));
    for (name, answered) in sent {
        let keyed = client.with_header("Idempotency-Key", &name.replace(' ', "-"));
        let retried = keyed.post("/teams", json!({ "name": name })).await.created();
        if let Some(id) = answered {
            assert_eq!(retried.id(), id, "{name} was answered before the crash");
            assert_eq!(retried.header("idempotent-replayed"), Some("true"), "{name}");
        }
        assert_eq!(client.get(&retried.path("")).await.ok().data()["name"], **name);
    }
}

/// Starts the service and kills it while eight writers use it.
async fn one_crash(club: &Club, round: usize) -> Vec<Sent> {
    let mut service = club.program.serve(&[]);
    let (sent, stop) = (Arc::<Mutex<Vec<Sent>>>::default(), Arc::new(AtomicBool::new(false)));
    let client = Client::new(service.address, Some(&club.key));
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            tokio::task::spawn(create_teams(
                client.clone(),
                writer,
                round,
                Arc::clone(&sent),
                stop.clone(),
            ))
        })
        .collect();
    // Wait until something was answered, then kill at another moment in each round.
    while sent.lock().unwrap().len() < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(37 + 113 * round as u64)).await;
    service.kill();
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    std::mem::take(&mut *sent.lock().unwrap())
}

async fn check_answers_survive_crashes(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    let mut all = Vec::new();
    for round in 0..3 {
        let sent = one_crash(&club, round).await;
        assert!(sent.iter().any(|(_, id)| id.is_some()), "nothing was answered in round {round}");
        let service = club.program.serve(&[]);
        retry_all(service.address, &club.key, &sent).await;
        all.extend(sent);
        let (ended, log) = service.stop();
        assert!(ended.success(), "{log}");
        assert!(!log.contains(&club.key[30..]), "the log tells a secret");
    }
    let db = club.database.open(Clock::system());
    let scope = Scope::account(club.account, "test");
    let fault = db.snapshot(scope.clone(), touchline::signals::verify).await.unwrap();
    assert_eq!(fault, None);
    let notifications =
        db.read(scope, |db| touchline::signals::notifications(db, 0, 1_000_000)).await.unwrap();
    assert_eq!(
        notifications.len(),
        all.len(),
        "one notification for each team, none for what was undone"
    );
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    club.database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_requests_survive_a_crash_on_sqlite() {
    check_answers_survive_crashes(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_requests_survive_a_crash_on_postgres() {
    check_answers_survive_crashes(Engine::Postgres).await;
}
