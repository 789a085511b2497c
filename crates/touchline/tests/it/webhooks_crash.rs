//! Crash tests of webhook delivery: every event arrives at every receiver, nothing else does, and
//! two nodes never deliver the same event at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kit::Clock;
use store::{Scope, bind};
use testkit::process::{Program, Service};
use testkit::receiver::Reply;
use testkit::{Client, Engine, Receiver, TestDatabase, json};
use touchline::ids::AccountId;

/// A crashed node keeps its slots for a while; everything must have arrived after this.
const TIME_LIMIT: Duration = Duration::from_secs(100);

struct Club {
    database: TestDatabase,
    program: Program,
    account: AccountId,
    key: String,
    receivers: Vec<Receiver>,
}

impl Club {
    /// Creates a club with three webhooks, one of them in strict order; two receivers are slow.
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &database.url)
            .variable("TOUCHLINE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
            .variable("TOUCHLINE_RATE_LIMITS", "league=1000000");
        let created = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
        let account = created["account"]["id"].as_str().unwrap().to_owned();
        let created =
            program.json(&["key", "create", "--account", &account, "--name", "k", "--scopes", "*"]);
        let key = created["key"]["value"].as_str().unwrap().to_owned();
        let service = program.serve(&[]);
        let client = Client::new(service.address, Some(&key));
        let mut receivers = Vec::new();
        for (millis, ordering) in [(0, "strict"), (3, "parallel"), (20, "parallel")] {
            let receiver = Receiver::start().await;
            receiver.set_reply(Reply { after: Duration::from_millis(millis), ..200.into() });
            let new = json!({ "url": receiver.url(), "events": ["*"], "ordering": ordering });
            client.post("/webhooks", new).await.created();
            receivers.push(receiver);
        }
        service.stop();
        let account = account.parse().unwrap();
        Some(Self { database, program, account, key, receivers })
    }

    /// Writes through these services and kills the first one after a while.
    async fn write_and_kill(&self, services: &mut [Service], round: u64) {
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let address = services[writer % services.len()].address;
                let client = Client::new(address, Some(&self.key));
                let (stop, written) = (stop.clone(), written.clone());
                tokio::task::spawn(async move {
                    let mut number = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let name = format!("Team {round} {writer} {number}");
                        let body = json!({ "name": name }).to_string();
                        if client.try_send("POST", "/teams", Some(&body)).await.is_none() {
                            return;
                        }
                        number += 1;
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        while written.load(Ordering::Relaxed) < 10 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(60 + 170 * round)).await;
        services[0].kill();
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
    }

    /// All notifications, by sequence number.
    async fn log(&self) -> BTreeMap<i64, String> {
        let db = self.database.open(Clock::system());
        let scope = Scope::account(self.account, "test");
        let read = db.read(scope, |db| touchline::signals::notifications(db, 0, 1_000_000));
        let log = read.await.unwrap().into_iter().map(|row| (row.sequence, row.body)).collect();
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
        log
    }

    /// The number of deadlocks between writers and the dispatcher.
    async fn deadlocks(&self) -> i64 {
        let db = self.database.open(Clock::system());
        let text = "select deadlocks from pg_stat_database
             where datname = current_database() /* any account */";
        let read = db.read(Scope::system("test"), move |db| db.one::<(i64,)>(text, bind! {}));
        let (deadlocks,) = read.await.unwrap();
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
        deadlocks
    }

    /// Waits until every receiver got everything, and nothing else.
    async fn wait_for_all_deliveries(&self) {
        let log = self.log().await;
        let began = std::time::Instant::now();
        for (number, receiver) in self.receivers.iter().enumerate() {
            loop {
                let received: BTreeMap<_, _> = receiver
                    .received()
                    .iter()
                    .map(|delivery| {
                        (delivery.sequence(), String::from_utf8(delivery.body.to_vec()).unwrap())
                    })
                    .collect();
                if received == log {
                    break;
                }
                let unexpected =
                    received.iter().find(|(number, body)| log.get(number) != Some(body));
                assert_eq!(
                    unexpected, None,
                    "receiver {number} got something that is not in the log"
                );
                assert!(
                    began.elapsed() < TIME_LIMIT,
                    "receiver {number} got {} of {}",
                    received.len(),
                    log.len()
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert_eq!(
                receiver.duplicates_in_flight(),
                0,
                "receiver {number} got concurrent duplicates"
            );
        }
        let strict = self.receivers[0].received();
        let mut last = 0;
        for delivery in &strict {
            // Deliveries in flight at the crash are sent again, but nothing arrives out of order.
            assert!(delivery.sequence() <= last + 1, "{} came after {last}", delivery.sequence());
            last = last.max(delivery.sequence());
        }
    }
}

async fn deliveries_survive_crashes(engine: Engine, rounds: u64) {
    let Some(club) = Club::new(engine).await else { return };
    for round in 0..rounds {
        let mut services = [club.program.serve(&[])];
        club.write_and_kill(&mut services, round).await;
        // Wait, so that late requests of the killed service are not attributed to the next one.
        for receiver in &club.receivers {
            receiver.wait_until_idle().await;
        }
    }
    let service = club.program.serve(&[]);
    club.wait_for_all_deliveries().await;
    let (ended, log) = service.stop();
    assert!(ended.success(), "{log}");
    club.database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_survive_crashes_on_sqlite() {
    deliveries_survive_crashes(Engine::Sqlite, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_survive_crashes_on_postgres() {
    deliveries_survive_crashes(Engine::Postgres, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn surviving_node_takes_over_after_a_crash() {
    let Some(club) = Club::new(Engine::Postgres).await else { return };
    let mut services = [club.program.serve(&[]), club.program.serve(&[])];
    // The nodes learn of each other, then write, then one is killed.
    tokio::time::sleep(Duration::from_secs(6)).await;
    club.write_and_kill(&mut services, 1).await;
    club.wait_for_all_deliveries().await;
    assert_eq!(club.deadlocks().await, 0);
    drop(services);
    club.database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_node_gets_its_share_of_busy_webhooks() {
    let Some(club) = Club::new(Engine::Postgres).await else { return };
    let first = club.program.serve(&[]);
    let client = Client::new(first.address, Some(&club.key));
    let slow = Receiver::start().await;
    slow.set_reply(Reply { after: Duration::from_millis(500), ..200.into() });
    for _ in 0..12 {
        let new = json!({ "url": slow.url(), "events": ["*"] });
        client.post("/webhooks", new).await.created();
    }
    // Enough to keep the first node busy the whole time.
    for number in 0..600 {
        client.post("/teams", json!({ "name": format!("Team {number}") })).await.created();
    }
    let second = club.program.serve(&[]);
    let db = club.database.open(Clock::system());
    let began = std::time::Instant::now();
    loop {
        let holders = db.read(Scope::system("test"), |db| {
            db.one::<(i64, i64)>(
                "select count(distinct s.holder), count(*) from webhook w
                 join dispatch_slot s on s.slot = w.slot /* any account */",
                bind! {},
            )
        });
        if holders.await.unwrap() == (2, 15) {
            break;
        }
        assert!(began.elapsed() < TIME_LIMIT, "the first node keeps every slot");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(slow.received().len() < 12 * 600, "the backlog was already delivered");
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    drop((first, second));
    club.database.remove().await;
}
