//! Tests of the database schema and the store: identical on both databases, isolated per account,
//! batched writes.

use std::ops::Range;
use std::sync::mpsc;

use store::{Db, Scope, Table, bind};
use testkit::{Engine, Receiver, TestDatabase, World, both, json};
use tokio::sync::oneshot;
use touchline::ids::{DeliveryId, NotificationId, WebhookId};
use touchline::signals::Notification;
use touchline::webhooks::delivery::{Attempts, Delivery, Status};

use crate::webhooks_api::{create_webhook, webhook_path};

#[expect(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough")]
pub(crate) async fn tables(db: &Db) -> Vec<Table> {
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

/// Whether rows of a table reference an account, directly or through other tables.
fn is_deleted_with_account(all: &[Table], table: &Table) -> bool {
    let others = all.iter().filter(|other| other.name != table.name);
    let mut parents = others.filter(|other| table.parents.contains(&other.name));
    table.parents.contains("account") || parents.any(|parent| is_deleted_with_account(all, parent))
}

/// A write job that signals when it runs, and ends when released.
fn long_job(
    db: &Db,
    scope: Scope,
) -> (oneshot::Receiver<()>, mpsc::Sender<()>, impl Future<Output = Result<(), store::Error>>) {
    let (started, has_started) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let job = db.write(scope, move |_| {
        started.send(()).unwrap();
        // A failed test drops the sender, which also releases it.
        let _ = released.recv();
        Ok::<(), store::Error>(())
    });
    (has_started, release, job)
}

/// Writes notifications with these sequence numbers in one batch.
fn write_notifications(
    tx: &store::Tx<'_>,
    numbers: Range<i64>,
    body: impl Fn(i64) -> String,
) -> store::Result<()> {
    let notifications = numbers.map(|sequence| Notification {
        account_id: tx.account(),
        sequence,
        id: tx.new_id(),
        kind: "team.created".to_owned(),
        body: body(sequence),
        created_at: tx.now(),
    });
    let notifications: Vec<_> = notifications.collect();
    tx.execute_deferred_all(
        Notification::INSERT,
        &notifications.iter().map(Notification::bind).collect::<Vec<_>>(),
    )
}

/// Twenty deliveries. The bits of `form` select which fields differ between them.
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
    async fn every_table_belongs_to_an_account_or_is_global(w: &World) {
        let all = tables(w.db()).await;
        for table in &all {
            let has_account = table.columns.iter().any(|column| column.name == "account_id");
            // Users belong to the installation, not to one account.
            let user_tables = ["app_user", "user_notification_settings", "session", "totp", "recovery_code", "passkey", "ceremony", "once_link", "sign_in_failure"];
            // Nodes serve all accounts.
            let is_global = ["account", "installation", "dispatch_node", "dispatch_slot"].iter().chain(&user_tables).any(|name| *name == table.name);
            assert!(has_account || is_global, "{} has no account_id", table.name);
            // Deliveries have no foreign key and are deleted explicitly; the next test checks that.
            let is_deleted = table.name == "delivery" || is_deleted_with_account(&all, table);
            assert!(!has_account || is_deleted, "{} is not deleted with its account", table.name);
            if has_account {
                let starts_with_account = |rule: &String| rule.starts_with("account_id");
                assert!(table.unique.iter().any(starts_with_account), "{} is not keyed by account", table.name);
            }
        }
    }

    async fn deleting_an_account_deletes_all_its_rows(w: &World) {
        let with_key = w.stranger.with_header("Idempotency-Key", "one");
        let team = with_key.post("/teams", json!({ "name": "Gone" })).await.created();
        w.stranger.patch(&team.path(""), json!({ "season": "2027" })).await.ok();
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.stranger, &receiver, &["*"]).await;
        w.stranger.post(&webhook_path(&webhook, "/test"), json!({})).await.created();
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
        w.stranger.get("/me").await.assert_problem(401, "invalid_credentials");
        w.owner.get("/me").await.ok();
    }

    async fn lookups_by_id_use_the_primary_key(w: &World) {
        // PostgreSQL has no statistics yet, as on the first day of an installation.
        if w.db().dialect() != store::Dialect::Postgres {
            return;
        }
        for table in tables(w.db()).await.into_iter().filter(|table| table.unique.contains("account_id,id")) {
            let name = &table.name;
            let statement = format!("explain select 1 from {name} where account_id = '\\x00' and id = '\\x00' /* any account */");
            let statement: &'static str = statement.leak();
            let plan = w.db().read(Scope::system("test"), move |db| db.all::<(String,)>(statement, &[])).await.unwrap();
            assert!(plan[0].0.contains(&format!(" using {name}_pkey ")), "{plan:?}");
        }
    }

    async fn statement_must_name_its_account_and_not_scan(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let all = w.db().read(scope(), |db| db.all::<(String,)>("select name from team", &[])).await;
        assert!(matches!(all, Err(store::Error::Database(_))), "{all:?}");
        let other_account = w.db().write(scope(), |tx| {
            let row = [("account_id", store::Value::Id([7; 16]))];
            tx.execute("insert into journal (account_id, sequence, entries, chain) values (:account_id, 0, 0, 'x')", &row)
        });
        assert!(matches!(other_account.await, Err(store::Error::Database(_))));
        let without_account = w.db().read(Scope::system("test"), |db| {
            db.all::<(String,)>("select name from team where account_id = :account", &[])
        });
        assert!(matches!(without_account.await, Err(store::Error::Database(_))));
        if w.db().dialect() == store::Dialect::Sqlite {
            let scan = w.db().read(scope(), |db| {
                db.all::<(String,)>("select name from team where description = 'x' or account_id <> :account", &[])
            });
            assert!(matches!(scan.await, Err(store::Error::Database(reason)) if reason.contains("full table scan")));
        }
    }

    async fn panic_in_a_job_rolls_back_and_the_next_job_runs(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let panicked = w.db().write(scope(), |tx| {
            tx.execute("update account set name = 'X' where id = :account", &[])?;
            assert!(tx.now().micros() == 0, "a job may panic");
            Ok::<(), store::Error>(())
        });
        assert_eq!(panicked.await, Err(store::Error::Panicked));
        assert_eq!(w.owner.get("/me").await.ok().data()["account"]["name"], "Harbour");
        w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
    }

    async fn batch_of_rows_is_written_completely_or_not_at_all(w: &World) {
        let write = |from: i64, to: i64| {
            let rows = move |tx: &store::Tx<'_>| {
                write_notifications(tx, from..to, |sequence| format!("{sequence} \u{1f3c9}"))
            };
            w.db().write(Scope::account(w.harbour, "test"), rows)
        };
        write(10_000, 12_077).await.unwrap();
        write(20_000, 20_000).await.unwrap();
        let broken = write(12_050, 12_140).await;
        assert!(matches!(&broken, Err(store::Error::UniqueViolation(rule)) if rule == "notification_pkey"), "{broken:?}");
        let stored: Vec<(i64, String)> = w.db().read(Scope::account(w.harbour, "test"), |db| db.all(
            "select sequence, body from notification where account_id = :account and sequence >= 10000 order by sequence",
            &[],
        )).await.unwrap();
        let expected: Vec<_> = (10_000..12_077).map(|sequence| (sequence, format!("{sequence} \u{1f3c9}"))).collect();
        assert_eq!(stored, expected);
    }

    async fn batched_rows_with_common_fields_are_stored_exactly(w: &World) {
        const ALL: &str = store::sql!(Delivery::SELECT, " where account_id = :account order by id");
        let scope = || Scope::account(w.harbour, "test");
        let write = w.db().write(scope(), |tx| {
            let all: Vec<_> = (0..32).flat_map(|form| deliveries(tx, form)).collect();
            for rows in all.chunks(20) {
                tx.execute_deferred_all(Delivery::INSERT, &rows.iter().map(Delivery::bind).collect::<Vec<_>>())?;
            }
            Ok::<_, store::Error>(all)
        });
        let written = write.await.unwrap();
        let stored: Vec<Delivery> = w.db().read(scope(), |db| db.all(ALL, bind! {})).await.unwrap();
        assert_eq!(stored, written);
    }

    async fn batched_rows_keep_their_order_among_statements(w: &World) {
        const CHANGE: &str = "update notification set body = 'changed' where account_id = :account and sequence <= 50";
        const CHANGED: &str = "select count(*) from notification where account_id = :account and body = 'changed'";
        const ALL: &str = "select count(*) from notification where account_id = :account";
        let scope = || Scope::account(w.harbour, "test");
        let job = w.db().write(scope(), |tx| {
            write_notifications(tx, 1..101, |_| "x".repeat(20_000))?;
            tx.execute_deferred(CHANGE, bind! {})?;
            write_notifications(tx, 101..201, |_| "changed".to_owned())?;
            let before: (i64,) = tx.one(CHANGED, bind! {})?;
            write_notifications(tx, 201..301, |_| String::new())?;
            Ok::<_, store::Error>(before)
        });
        assert_eq!(job.await, Ok((150,)));
        // Rows written before a job failed are not kept, nor those after a failed statement.
        let refused = w.db().write(scope(), |tx| {
            write_notifications(tx, 401..501, |_| String::new())?;
            Err::<(), _>(store::Error::RowNotFound)
        });
        assert_eq!(refused.await, Err(store::Error::RowNotFound));
        for first in [1..2, 1..101] {
            let duplicate = w.db().write(scope(), move |tx| {
                write_notifications(tx, first.clone(), |_| String::new())?;
                write_notifications(tx, 401..501, |_| String::new())?;
                tx.one::<(i64,)>(ALL, bind! {})
            });
            let duplicate = duplicate.await;
            assert!(matches!(&duplicate, Err(store::Error::UniqueViolation(rule)) if rule == "notification_pkey"), "{duplicate:?}");
        }
        assert_eq!(w.db().read(scope(), |db| db.one::<(i64,)>(ALL, bind! {})).await, Ok((300,)));
    }

    async fn prefetched_statements_run_once_and_do_not_block(w: &World) {
        const RAISE: &str = "update journal set sequence = sequence + 1 where account_id = :account returning sequence";
        const LONG: &str = "select body from notification where account_id = :account and sequence >= :from";
        const COUNT: &str = "select count(*) from notification where account_id = :account";
        let scope = || Scope::account(w.harbour, "test");
        let fill = w.db().write(scope(), |tx| write_notifications(tx, 1..301, |_| "x".repeat(2_000)));
        fill.await.unwrap();
        // More data than any buffer holds lies between the request and its response.
        let job = move |tx: &store::Tx<'_>| {
            tx.prefetch(RAISE, bind! {})?;
            tx.prefetch(LONG, bind! { from: 1 })?;
            let (all,): (i64,) = tx.one(COUNT, bind! {})?;
            for _ in 0..600 {
                tx.execute_deferred("update journal set entries = entries where account_id = :account", bind! {})?;
            }
            let last_rows: Vec<(String,)> = tx.all(LONG, bind! { from: 201 })?;
            let (sequence,): (i64,) = tx.one(RAISE, bind! {})?;
            let all_rows: Vec<(String,)> = tx.all(LONG, bind! { from: 1 })?;
            Ok::<_, store::Error>((all, last_rows.len(), sequence, all_rows.len()))
        };
        assert_eq!(w.db().write(scope(), job).await, Ok((300, 100, 1, 300)));
        // A prefetched statement that a job does not use is rolled back with it, and does not
        // answer the next job.
        let refused = w.db().write(scope(), |tx| {
            tx.prefetch(RAISE, bind! {})?;
            Err::<(), _>(store::Error::RowNotFound)
        });
        assert_eq!(refused.await, Err(store::Error::RowNotFound));
        for _ in 0..4 {
            let idle = w.db().read(scope(), |db| db.prefetch(LONG, bind! { from: 1 }));
            assert_eq!(idle.await, Ok(()));
        }
        assert_eq!(w.db().write(scope(), job).await, Ok((300, 100, 2, 300)));
    }

    async fn waiting_jobs_are_committed_together_and_fail_alone(w: &World) {
        let before = w.db().stats();
        let posts: Vec<_> = (0..60).map(|n| {
            // Every third name is the same: those fail, without affecting the others.
            let name = if n % 3 == 0 { "Same".to_owned() } else { format!("Team {n}") };
            let owner = w.owner.clone();
            tokio::task::spawn(async move { owner.post("/teams", json!({ "name": name })).await.status })
        }).collect();
        let mut created = 0;
        for post in posts {
            created += u32::from(post.await.unwrap() == 201);
        }
        assert_eq!(created, 41);
        let after = w.db().stats();
        assert!(after.batches - before.batches <= after.jobs - before.jobs);
        let sequences: Vec<_> = w.notifications().await.iter().map(|row| row["sequence"].as_i64().unwrap()).collect();
        assert_eq!(sequences, (1..=41).collect::<Vec<_>>());
        let scope = Scope::account(w.harbour, "test");
        let fault = w.db().snapshot(scope, touchline::signals::verify).await.unwrap();
        assert_eq!(fault, None, "a failed job left an entry in the logs");
    }

    async fn rejects_jobs_when_the_queue_is_full(w: &World) {
        let options = testkit::database::options(&w.database.url, w.clock.clock());
        let small = Db::open(store::Options { queue_limit: 3, ..options }).unwrap();
        let scope = || Scope::account(w.harbour, "test");
        let (has_started, release, busy) = long_job(&small, scope());
        let waiting = async {
            has_started.await.unwrap();
            let waiting = (0..10).map(|_| small.write(scope(), |_| Ok::<(), store::Error>(())));
            futures_util::future::join_all(waiting).await
        };
        // No waiting job runs before the others were rejected.
        let rejected = async {
            for _ in 0..4000 {
                if small.stats().rejected >= 7 {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            release.send(()).unwrap();
        };
        let (busy, results, ()) = tokio::join!(busy, waiting, rejected);
        assert_eq!(busy, Ok(()));
        let rejected = results.iter().filter(|job| **job == Err(store::Error::Overloaded)).count();
        assert_eq!((rejected, results.len()), (7, 10), "{results:?}");
        assert_eq!(small.stats().rejected, 7);
        tokio::task::spawn_blocking(move || small.close()).await.unwrap();
    }

    async fn deletes_expired_idempotency_keys(w: &World) {
        for number in 0..3 {
            let with_key = w.owner.with_header("Idempotency-Key", &format!("key-{number}"));
            with_key.post("/teams", json!({ "name": format!("Team {number}") })).await.created();
            w.advance_clock(testkit::seconds(12 * 3600));
        }
        w.advance_clock(testkit::seconds(1));
        assert_eq!(w.count("idempotency").await, 3);
        touchline::jobs::delete_expired_idempotency_keys(&w.node.app).await;
        assert_eq!(w.count("idempotency").await, 1);
    }

    async fn does_not_start_an_abandoned_job(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let (has_started, release, busy) = long_job(w.db(), scope());
        let abandoned = async {
            has_started.await.unwrap();
            let rename = w.db().write(scope(), |tx| {
                tx.execute("update account set name = 'X' where id = :account", &[])
            });
            let patience = std::time::Duration::from_millis(50);
            assert!(tokio::time::timeout(patience, rename).await.is_err());
            release.send(()).unwrap();
        };
        let (busy, ()) = tokio::join!(busy, abandoned);
        assert_eq!(busy, Ok(()));
        // Earlier jobs in the queue have run once this one has.
        w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        assert_eq!(w.owner.get("/me").await.ok().data()["account"]["name"], "Harbour");
    }
}
