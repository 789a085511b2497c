//! The schema: the same on both databases, fenced by account, and gone with its account.

use std::ops::Range;
use std::sync::mpsc;

use store::{Db, Scope, Table, bind};
use testkit::{Engine, Receiver, TestDatabase, World, both, json};
use tokio::sync::oneshot;
use touchline::ids::{DeliveryId, NotificationId, WebhookId};
use touchline::signals::Notification;
use touchline::webhooks::delivery::{Attempts, Delivery, Status};

use crate::webhooks_api::{at, hook};

#[expect(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough")]
async fn tables(db: &Db) -> Vec<Table> {
    db.read(Scope::system("test"), |db| db.tables()).await.unwrap()
}

#[tokio::test]
async fn both_databases_have_the_same_schema() {
    let clock = kit::Clock::system();
    let Some(postgres) = TestDatabase::new(Engine::Postgres).await else { return };
    let sqlite = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let (left, right) = (sqlite.open(clock.clone()), postgres.open(clock));
    assert_eq!(tables(&left).await, tables(&right).await);
    tokio::task::spawn_blocking(move || right.close()).await.unwrap();
    postgres.remove().await;
}

/// Whether rows of a table point to an account, or to rows that do.
fn goes_with_an_account(all: &[Table], table: &Table) -> bool {
    let others = all.iter().filter(|other| other.name != table.name);
    let mut parents = others.filter(|other| table.parents.contains(&other.name));
    table.parents.contains("account") || parents.any(|parent| goes_with_an_account(all, parent))
}

/// A job that says when it has begun, and goes on when it is told to.
fn long_job(
    db: &Db,
    scope: Scope,
) -> (oneshot::Receiver<()>, mpsc::Sender<()>, impl Future<Output = Result<(), store::Error>>) {
    let (running, begun) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let job = db.write(scope, move |_| {
        running.send(()).unwrap();
        // A story that has failed lets it go.
        let _ = released.recv();
        Ok::<(), store::Error>(())
    });
    (begun, release, job)
}

/// Writes notifications of these numbers together.
fn tell(
    tx: &store::Tx<'_>,
    numbers: Range<i64>,
    body: impl Fn(i64) -> String,
) -> store::Result<()> {
    let news = numbers.map(|sequence| Notification {
        account_id: tx.account(),
        sequence,
        id: tx.new_id(),
        kind: "team.created".to_owned(),
        body: body(sequence),
        created_at: tx.now(),
    });
    let news: Vec<_> = news.collect();
    tx.later_all(Notification::INSERT, &news.iter().map(Notification::bind).collect::<Vec<_>>())
}

/// Twenty deliveries. What they have in common are the members that this number's bits do not name.
fn deliveries(tx: &store::Tx<'_>, form: i64) -> Vec<Delivery> {
    let differs = |bit: i64, number: i64| if form >> bit & 1 == 1 { number } else { 0 };
    let delivery = |number: i64| Delivery {
        id: DeliveryId::from_bits(u128::from((form * 100 + number).unsigned_abs())),
        account_id: tx.account(),
        webhook_id: WebhookId::from_bits(7),
        sequence: (differs(0, number) != 3).then_some(differs(0, number)),
        notification_id: NotificationId::from_bits(9),
        kind: format!("kind {}", differs(1, number)),
        body: (differs(2, number) % 2 == 1).then(|| "\u{1f3c9}".repeat(40)),
        status: Status::Succeeded,
        tries: differs(3, number),
        attempts: Attempts::default(),
        next_attempt_at: None,
        created_at: tx.now(),
        finished_at: (differs(4, number) > 5).then(|| tx.now()),
        updated_at: tx.now(),
        version: 1,
    };
    (0..20).map(delivery).collect()
}

both! {
    async fn every_table_but_the_first_belongs_to_an_account(w: &World) {
        let all = tables(w.db()).await;
        for table in &all {
            let fenced = table.columns.iter().any(|column| column.name == "account_id");
            // Users sign in to the installation, not to one account.
            let of_users = ["app_user", "session", "totp", "recovery_code", "passkey", "ceremony", "once_link", "sign_in_failure"];
            // Nodes share the work of all accounts.
            let known = ["account", "installation", "dispatch_node", "dispatch_slot"].iter().chain(&of_users).any(|name| *name == table.name);
            assert!(fenced || known, "{} has no account_id", table.name);
            // Deliveries point nowhere and are removed by name; the next story looks.
            let goes = table.name == "delivery" || goes_with_an_account(&all, table);
            assert!(!fenced || goes, "{} does not go with its account", table.name);
            if fenced {
                let own = |rule: &String| rule.starts_with("account_id");
                assert!(table.unique.iter().any(own), "{} is not keyed by account", table.name);
            }
        }
    }

    async fn an_account_goes_with_everything_it_had(w: &World) {
        let once = w.stranger.with("Idempotency-Key", "one");
        let team = once.post("/teams", json!({ "name": "Gone" })).await.created();
        w.stranger.patch(&team.path(""), json!({ "season": "2027" })).await.ok();
        let receiver = Receiver::start().await;
        let made = hook(&w.stranger, &receiver, &["*"]).await;
        w.stranger.post(&at(&made, "/test"), json!({})).await.created();
        assert_eq!(w.count("delivery").await, 1);
        let account = w.stranger.get("/me").await.ok().data()["account"]["id"].as_str().unwrap().to_owned();
        let account: touchline::ids::AccountId = account.parse().unwrap();
        let scope = Scope::account(account, "test");
        w.db().write(scope, touchline::accounts::account::delete).await.unwrap();
        for table in tables(w.db()).await {
            let column = table.columns.iter().position(|column| column.name == "account_id");
            let Some(column) = column else { continue };
            let rows = w.db().read(Scope::system("test"), move |db| {
                let mut rows = Vec::new();
                db.rows(&table, |row| {
                    rows.push((table.name.clone(), row[column].clone()));
                    Ok(())
                })?;
                Ok::<_, store::Error>(rows)
            });
            let bytes = account.bits().to_be_bytes().to_vec();
            let left = rows.await.unwrap().into_iter().filter(|(_, id)| *id == store::Value::Bytes(bytes.clone().into()));
            assert_eq!(left.collect::<Vec<_>>(), []);
        }
        w.stranger.get("/me").await.refused(401, "invalid_credentials");
        w.owner.get("/me").await.ok();
    }

    async fn what_is_looked_up_by_its_key_is_found_by_its_key(w: &World) {
        // PostgreSQL has counted nothing yet, as on the first day of an installation.
        if w.db().dialect() != store::Dialect::Postgres {
            return;
        }
        for table in tables(w.db()).await.into_iter().filter(|table| table.unique.contains("account_id,id")) {
            let name = &table.name;
            let look = format!("explain select 1 from {name} where account_id = '\\x00' and id = '\\x00' /* any account */");
            let look: &'static str = look.leak();
            let plan = w.db().read(Scope::system("test"), move |db| db.all::<(String,)>(look, &[])).await.unwrap();
            assert!(plan[0].0.contains(&format!(" using {name}_pkey ")), "{plan:?}");
        }
    }

    async fn a_statement_must_name_its_account_and_may_not_scan(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let all = w.db().read(scope(), |db| db.all::<(String,)>("select name from team", &[])).await;
        assert!(matches!(all, Err(store::Error::Database(_))), "{all:?}");
        let foreign = w.db().write(scope(), |tx| {
            let row = [("account_id", store::Value::Id([7; 16]))];
            tx.run("insert into journal (account_id, sequence, entries, chain) values (:account_id, 0, 0, 'x')", &row)
        });
        assert!(matches!(foreign.await, Err(store::Error::Database(_))));
        let none = w.db().read(Scope::system("test"), |db| {
            db.all::<(String,)>("select name from team where account_id = :account", &[])
        });
        assert!(matches!(none.await, Err(store::Error::Database(_))));
        if w.db().dialect() == store::Dialect::Sqlite {
            let scan = w.db().read(scope(), |db| {
                db.all::<(String,)>("select name from team where description = 'x' or account_id <> :account", &[])
            });
            assert!(matches!(scan.await, Err(store::Error::Database(why)) if why.contains("full scan")));
        }
    }

    async fn a_panic_in_a_job_is_undone_and_the_next_job_runs(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let panicked = w.db().write(scope(), |tx| {
            tx.run("update account set name = 'X' where id = :account", &[])?;
            assert!(tx.now().micros() == 0, "a job may have a fault");
            Ok::<(), store::Error>(())
        });
        assert_eq!(panicked.await, Err(store::Error::Panicked));
        assert_eq!(w.owner.get("/me").await.ok().data()["account"]["name"], "Harbour");
        w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
    }

    async fn rows_written_together_are_all_kept_or_none(w: &World) {
        let write = |from: i64, to: i64| {
            let rows = move |tx: &store::Tx<'_>| {
                tell(tx, from..to, |sequence| format!("{sequence} \u{1f3c9}"))
            };
            w.db().write(Scope::account(w.harbour, "test"), rows)
        };
        write(10_000, 12_077).await.unwrap();
        write(20_000, 20_000).await.unwrap();
        let broken = write(12_050, 12_140).await;
        assert!(matches!(&broken, Err(store::Error::Taken(rule)) if rule == "notification_pkey"), "{broken:?}");
        let kept: Vec<(i64, String)> = w.db().read(Scope::account(w.harbour, "test"), |db| db.all(
            "select sequence, body from notification where account_id = :account and sequence >= 10000 order by sequence",
            &[],
        )).await.unwrap();
        let wanted: Vec<_> = (10_000..12_077).map(|sequence| (sequence, format!("{sequence} \u{1f3c9}"))).collect();
        assert_eq!(kept, wanted);
    }

    async fn rows_are_written_as_they_are_whatever_they_have_in_common(w: &World) {
        const ALL: &str = store::sql!(Delivery::SELECT, " where account_id = :account order by id");
        let scope = || Scope::account(w.harbour, "test");
        let write = w.db().write(scope(), |tx| {
            let all: Vec<_> = (0..32).flat_map(|form| deliveries(tx, form)).collect();
            for rows in all.chunks(20) {
                tx.later_all(Delivery::INSERT, &rows.iter().map(Delivery::bind).collect::<Vec<_>>())?;
            }
            Ok::<_, store::Error>(all)
        });
        let written = write.await.unwrap();
        let kept: Vec<Delivery> = w.db().read(scope(), |db| db.all(ALL, bind! {})).await.unwrap();
        assert_eq!(kept, written);
    }

    async fn rows_keep_their_place_among_statements(w: &World) {
        const CHANGE: &str = "update notification set body = 'changed' where account_id = :account and sequence <= 50";
        const CHANGED: &str = "select count(*) from notification where account_id = :account and body = 'changed'";
        const ALL: &str = "select count(*) from notification where account_id = :account";
        let scope = || Scope::account(w.harbour, "test");
        let job = w.db().write(scope(), |tx| {
            tell(tx, 1..101, |_| "x".repeat(20_000))?;
            tx.later(CHANGE, bind! {})?;
            tell(tx, 101..201, |_| "changed".to_owned())?;
            let before: (i64,) = tx.one(CHANGED, bind! {})?;
            tell(tx, 201..301, |_| String::new())?;
            Ok::<_, store::Error>(before)
        });
        assert_eq!(job.await, Ok((150,)));
        // Neither what was handed over before a job failed is kept, nor what comes after a statement that did.
        let refused = w.db().write(scope(), |tx| {
            tell(tx, 401..501, |_| String::new())?;
            Err::<(), _>(store::Error::Missing)
        });
        assert_eq!(refused.await, Err(store::Error::Missing));
        for first in [1..2, 1..101] {
            let taken = w.db().write(scope(), move |tx| {
                tell(tx, first.clone(), |_| String::new())?;
                tell(tx, 401..501, |_| String::new())?;
                tx.one::<(i64,)>(ALL, bind! {})
            });
            let taken = taken.await;
            assert!(matches!(&taken, Err(store::Error::Taken(rule)) if rule == "notification_pkey"), "{taken:?}");
        }
        assert_eq!(w.db().read(scope(), |db| db.one::<(i64,)>(ALL, bind! {})).await, Ok((300,)));
    }

    async fn what_is_asked_ahead_is_asked_once_and_holds_nothing_up(w: &World) {
        const RAISE: &str = "update journal set sequence = sequence + 1 where account_id = :account returning sequence";
        const LONG: &str = "select body from notification where account_id = :account and sequence >= :from";
        const COUNT: &str = "select count(*) from notification where account_id = :account";
        let scope = || Scope::account(w.harbour, "test");
        let fill = w.db().write(scope(), |tx| tell(tx, 1..301, |_| "x".repeat(2_000)));
        fill.await.unwrap();
        // More than fits into any buffer lies between the question and its answer.
        let ask = move |tx: &store::Tx<'_>| {
            tx.ahead(RAISE, bind! {})?;
            tx.ahead(LONG, bind! { from: 1 })?;
            let (all,): (i64,) = tx.one(COUNT, bind! {})?;
            for _ in 0..600 {
                tx.later("update journal set entries = entries where account_id = :account", bind! {})?;
            }
            let some: Vec<(String,)> = tx.all(LONG, bind! { from: 201 })?;
            let (raised,): (i64,) = tx.one(RAISE, bind! {})?;
            let whole: Vec<(String,)> = tx.all(LONG, bind! { from: 1 })?;
            Ok::<_, store::Error>((all, some.len(), raised, whole.len()))
        };
        assert_eq!(w.db().write(scope(), ask).await, Ok((300, 100, 1, 300)));
        // What one job did not want after all is undone with it, or no answer to the next.
        let refused = w.db().write(scope(), |tx| {
            tx.ahead(RAISE, bind! {})?;
            Err::<(), _>(store::Error::Missing)
        });
        assert_eq!(refused.await, Err(store::Error::Missing));
        for _ in 0..4 {
            let idle = w.db().read(scope(), |db| db.ahead(LONG, bind! { from: 1 }));
            assert_eq!(idle.await, Ok(()));
        }
        assert_eq!(w.db().write(scope(), ask).await, Ok((300, 100, 2, 300)));
    }

    async fn jobs_that_wait_together_are_committed_together_and_fail_alone(w: &World) {
        let before = w.db().stats();
        let posts: Vec<_> = (0..60).map(|n| {
            // Every third name is the same: those fail, the others must not notice.
            let name = if n % 3 == 0 { "Same".to_owned() } else { format!("Team {n}") };
            let owner = w.owner.clone();
            tokio::task::spawn(async move { owner.post("/teams", json!({ "name": name })).await.status })
        }).collect();
        let mut made = 0;
        for post in posts {
            made += u32::from(post.await.unwrap() == 201);
        }
        assert_eq!(made, 41);
        let after = w.db().stats();
        assert!(after.batches - before.batches <= after.jobs - before.jobs);
        let sequences: Vec<_> = w.news().await.iter().map(|news| news["sequence"].as_i64().unwrap()).collect();
        assert_eq!(sequences, (1..=41).collect::<Vec<_>>());
        let scope = Scope::account(w.harbour, "test");
        let fault = w.db().snapshot(scope, touchline::signals::verify).await.unwrap();
        assert_eq!(fault, None, "an undone job left a trace in the logs");
    }

    async fn too_many_waiting_jobs_are_turned_away_at_once(w: &World) {
        let options = testkit::database::options(&w.database.url, w.clock.clock());
        let small = Db::open(store::Options { queue: 3, ..options }).unwrap();
        let scope = || Scope::account(w.harbour, "test");
        let (begun, release, busy) = long_job(&small, scope());
        let many = async {
            begun.await.unwrap();
            let many = (0..10).map(|_| small.write(scope(), |_| Ok::<(), store::Error>(())));
            futures_util::future::join_all(many).await
        };
        // None of those who wait has its turn before the others were turned away.
        let turned_away = async {
            for _ in 0..4000 {
                if small.stats().refused >= 7 {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            release.send(()).unwrap();
        };
        let (busy, rest, ()) = tokio::join!(busy, many, turned_away);
        assert_eq!(busy, Ok(()));
        let turned_away = rest.iter().filter(|job| **job == Err(store::Error::Overloaded)).count();
        assert_eq!((turned_away, rest.len()), (7, 10), "{rest:?}");
        assert_eq!(small.stats().refused, 7);
        tokio::task::spawn_blocking(move || small.close()).await.unwrap();
    }

    async fn old_idempotency_keys_are_forgotten(w: &World) {
        for number in 0..3 {
            let once = w.owner.with("Idempotency-Key", &format!("key-{number}"));
            once.post("/teams", json!({ "name": format!("Team {number}") })).await.created();
            w.pass(testkit::seconds(12 * 3600));
        }
        w.pass(testkit::seconds(1));
        assert_eq!(w.count("idempotency").await, 3);
        touchline::jobs::forget_old_keys(&w.node.app).await;
        assert_eq!(w.count("idempotency").await, 1);
    }

    async fn a_job_nobody_waits_for_any_more_is_not_begun(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let (begun, release, busy) = long_job(w.db(), scope());
        let given_up = async {
            begun.await.unwrap();
            let rename = w.db().write(scope(), |tx| {
                tx.run("update account set name = 'X' where id = :account", &[])
            });
            let moment = std::time::Duration::from_millis(50);
            assert!(tokio::time::timeout(moment, rename).await.is_err());
            release.send(()).unwrap();
        };
        let (busy, ()) = tokio::join!(busy, given_up);
        assert_eq!(busy, Ok(()));
        // Whatever waited in the lane has had its turn once this has.
        w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        assert_eq!(w.owner.get("/me").await.ok().data()["account"]["name"], "Harbour");
    }
}
