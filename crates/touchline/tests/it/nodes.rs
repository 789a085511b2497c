//! Tests of two nodes on one database: each sees the other's changes immediately.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use kit::Clock;
use store::{Db, Dialect, Scope};
use testkit::world::new_key;
use testkit::{Engine, TestDatabase, TestResponse, World, both, json, seconds};
use tokio::time::timeout;
use touchline::ids::{AccountId, TeamId};
use touchline::if_match::IfMatch;
use touchline::teams::team::{self, TeamChange};

use super::keys::revoke;
use super::limits::{burst, set_quota};

const ROUNDS: i64 = 200;

fn rename(name: &str) -> TeamChange {
    TeamChange { name: Some(name.to_owned()), ..TeamChange::default() }
}

/// The `ETag` and the body of a response, without its request id.
fn without_request_id(answer: &TestResponse) -> (Option<&str>, String) {
    (answer.header("etag"), answer.text.replace(answer.header("request-id").unwrap(), ""))
}

/// A generous time limit for something that happens immediately, even on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The accounts whose changes a database is notified of.
async fn changed_accounts(db: &Db) -> Vec<AccountId> {
    db.change_notifier().wait_for_changes().await
}

#[tokio::test]
async fn nodes_notify_each_other_on_postgres() {
    let Some(database) = TestDatabase::new(Engine::Postgres).await else { return };
    let (here, there) = (database.open(Clock::system()), database.open(Clock::system()));
    let account = AccountId::from_bits(7);
    let notify = || {
        here.write(Scope::account(account, "test"), |tx| {
            tx.notify_change();
            Ok::<(), store::Error>(())
        })
    };
    let received = async {
        loop {
            notify().await.unwrap();
            // The other node may not listen yet.
            if let Ok(received) =
                timeout(Duration::from_millis(100), changed_accounts(&there)).await
            {
                return received;
            }
        }
    };
    assert_eq!(timeout(TIME_LIMIT, received).await.unwrap(), [account]);
    // A node is not notified again of its own change.
    assert_eq!(changed_accounts(&here).await, [account]);
    let second = timeout(Duration::from_millis(300), changed_accounts(&here)).await;
    assert!(second.is_err(), "{second:?}");
    tokio::task::spawn_blocking(move || [here, there].map(|db| db.close())).await.unwrap();
    database.wait_for_disconnects().await;
    database.remove().await;
}

both! {
    async fn revoked_key_is_refused_by_the_other_node_immediately(w: &World) {
        let other = w.node(|_| {}).await;
        for _ in 0..ROUNDS {
            let (key, caller) = w.client_with_key(new_key("teams:read")).await;
            caller.at(other.address).get("/teams").await.ok();
            revoke(&w.node, w, &key).await;
            caller.at(other.address).get("/teams").await.assert_problem(401, "invalid_credentials");
        }
        other.stop().await;
    }

    async fn nodes_share_the_quota_on_postgres(w: &World) {
        let first = w.node(|config| set_quota(config, 100)).await;
        let second = w.node(|config| set_quota(config, 100)).await;
        let callers = [w.owner.at(first.address), w.owner.at(second.address)];
        // On SQLite each process counts for itself, because only one runs in production.
        let nodes = if w.db().dialect() == Dialect::Postgres { 1 } else { 2 };
        let accepted = burst(&callers, 300).await;
        assert!(accepted <= 100 * nodes, "{accepted}");
        // Only the permits that one node reserved and did not use may be missing.
        assert!(accepted >= 95 * nodes, "{accepted}");
        w.advance_clock(seconds(6));
        let refilled = burst(&callers, 100).await;
        assert!(accepted + refilled <= 110 * nodes, "{accepted} and {refilled}");
        w.advance_clock(seconds(3600));
        let next = burst(&callers, 300).await;
        assert!(next <= 100 * nodes, "unused quota does not accumulate: {next}");
        first.stop().await;
        second.stop().await;
    }

    async fn idempotency_key_is_replayed_by_the_other_node(w: &World) {
        let other = w.node(|_| {}).await;
        for round in 0..20 {
            let owner = w.owner.with_header("Idempotency-Key", &format!("key-{round}"));
            let body = json!({ "name": format!("Team {round}") });
            let other_owner = owner.at(other.address);
            // One after the other, and in every second round concurrently.
            let (first, second) = if round % 2 == 0 {
                (owner.post("/teams", body.clone()).await, other_owner.post("/teams", body).await)
            } else {
                tokio::join!(owner.post("/teams", body.clone()), other_owner.post("/teams", body))
            };
            let (first, second) = (first.created(), second.created());
            assert_eq!(first.data(), second.data());
            let replays = [&first, &second].iter().filter(|a| a.header("idempotent-replayed").is_some()).count();
            assert_eq!(replays, 1);
            other_owner.post("/teams", json!({ "name": "Other" })).await.assert_problem(422, "idempotency_key_reused");
        }
        assert_eq!(w.count("team").await, 20);
        other.stop().await;
    }

    async fn node_shows_changes_of_the_other_node_immediately(w: &World) {
        let other = w.node(|_| {}).await;
        let team = w.owner.post("/teams", json!({ "name": "Round 0" })).await.created();
        let other_owner = w.owner.at(other.address);
        for round in 1..=ROUNDS {
            // Requested twice, so that the second response comes from the cache.
            let before = w.owner.get(&team.path("")).await.ok();
            assert_eq!(without_request_id(&w.owner.get(&team.path("")).await.ok()), without_request_id(&before));
            let name = format!("Round {round}");
            let changed = other_owner.patch(&team.path(""), json!({ "name": name })).await.ok();
            let read = w.owner.get(&team.path("")).await.ok();
            assert_eq!(without_request_id(&read), without_request_id(&changed));
            let old = before.header("etag").unwrap();
            let conditional = w.owner.with_header("If-None-Match", old).get(&team.path("")).await;
            assert_eq!(conditional.status, 200, "the old version is not the current one");
        }
        other.stop().await;
    }

    async fn list_shows_changes_of_the_other_node_immediately(w: &World) {
        let other = w.node(|_| {}).await;
        let other_owner = w.owner.at(other.address);
        let lists = async || (
            w.reader.get("/teams").await.ok().names().join(","),
            w.reader.get("/teams?status=archived").await.ok().names().join(","),
        );
        let pair = |active: &str, archived: &str| (active.to_owned(), archived.to_owned());
        assert_eq!(lists().await, pair("", ""));
        let team = other_owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        for round in 0..ROUNDS / 4 {
            let name = format!("Kraken {round}");
            other_owner.patch(&team.path(""), json!({ "name": name })).await.ok();
            assert_eq!(lists().await, pair(&name, ""));
            other_owner.delete(&team.path("")).await.ok();
            assert_eq!(lists().await, pair("", &name));
            assert_eq!(w.reader.get(&team.path("")).await.ok().data()["status"], "archived");
            other_owner.send("POST", &team.path("/restore"), None).await.ok();
            assert_eq!(lists().await, pair(&name, ""));
        }
        other.stop().await;
    }

    async fn service_shows_changes_of_a_command_immediately(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Round 0" })).await.created();
        let id: TeamId = team.id().parse().unwrap();
        // Like a CLI command: its own connection, without a service.
        let db = w.database.open(w.clock.clock());
        for round in 1..=ROUNDS {
            w.owner.get(&team.path("")).await.ok();
            let name = format!("Round {round}");
            let change = rename(&name);
            let scope = Scope::account(w.harbour, "command");
            db.write(scope, move |tx| team::change(tx, &touchline::rights::TeamAccess::AllTeams, id, &IfMatch::Absent, change)).await.unwrap();
            assert_eq!(w.owner.get(&team.path("")).await.ok().data()["name"], *name);
            assert_eq!(w.owner.get("/teams").await.ok().names(), [name.as_str()]);
        }
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    }

    async fn readers_always_see_confirmed_writes(w: &World) {
        let other = w.node(|_| {}).await;
        let team = w.owner.post("/teams", json!({ "name": "Round 0" })).await.created();
        let (other_owner, path) = (w.owner.at(other.address), team.path(""));
        let confirmed = AtomicI64::new(1);
        let writing = async {
            for round in 1..=ROUNDS {
                let answer = other_owner.patch(&path, json!({ "name": format!("Round {round}") })).await.ok();
                confirmed.store(answer.data()["version"].as_i64().unwrap(), Ordering::SeqCst);
            }
            confirmed.store(i64::MAX, Ordering::SeqCst);
        };
        let reading = async || loop {
            let minimum = confirmed.load(Ordering::SeqCst);
            if minimum == i64::MAX {
                break;
            }
            let seen = w.owner.get(&path).await.ok().data()["version"].as_i64().unwrap();
            assert!(seen >= minimum, "{seen} after {minimum} was confirmed");
            let listed = w.owner.get("/teams").await.ok().data()[0]["version"].as_i64().unwrap();
            assert!(listed >= seen, "{listed} after {seen} was shown");
        };
        tokio::join!(writing, reading(), reading());
        assert_eq!(w.owner.get(&path).await.ok().data()["version"], ROUNDS + 1);
        other.stop().await;
    }
}
