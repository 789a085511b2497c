//! Stories about two services on one database: what one does, the other knows at once.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on has failed")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use kit::{Change, Clock};
use store::{Db, Dialect, Scope};
use testkit::world::new_key;
use testkit::{Answer, Engine, TestDatabase, World, both, json, seconds};
use tokio::time::timeout;
use touchline::expected::Expected;
use touchline::ids::{AccountId, TeamId};
use touchline::teams::team::{self, TeamChange};

use super::keys::revoke;
use super::limits::{burst, set_quota};

const ROUNDS: i64 = 200;

fn rename(name: &str) -> TeamChange {
    TeamChange {
        name: Some(name.to_owned()),
        sport: Change::Keep,
        season: Change::Keep,
        age_group: Change::Keep,
        gender: Change::Keep,
        timezone: Change::Keep,
        color: Change::Keep,
        description: Change::Keep,
        unique_jerseys: Change::Keep,
        external_id: Change::Keep,
        metadata: Change::Keep,
    }
}

/// An answer without its request id.
fn shown(answer: &Answer) -> (Option<&str>, String) {
    (answer.header("etag"), answer.text.replace(answer.header("request-id").unwrap(), ""))
}

/// Long enough for what comes at once, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whose news the bell of a database rings for.
async fn hears(db: &Db) -> Vec<AccountId> {
    db.bell().heard().await
}

#[tokio::test]
async fn nodes_on_one_postgres_hear_each_others_bell() {
    let Some(database) = TestDatabase::new(Engine::Postgres).await else { return };
    let (here, there) = (database.open(Clock::system()), database.open(Clock::system()));
    let account = AccountId::from_bits(7);
    let ring = || {
        here.write(Scope::account(account, "test"), |tx| {
            tx.ring();
            Ok::<(), store::Error>(())
        })
    };
    let heard = async {
        loop {
            ring().await.unwrap();
            // The other one may not listen yet.
            if let Ok(heard) = timeout(Duration::from_millis(100), hears(&there)).await {
                return heard;
            }
        }
    };
    assert_eq!(timeout(PATIENCE, heard).await.unwrap(), [account]);
    // It is not told back to who told it.
    assert_eq!(hears(&here).await, [account]);
    let echo = timeout(Duration::from_millis(300), hears(&here)).await;
    assert!(echo.is_err(), "{echo:?}");
    tokio::task::spawn_blocking(move || [here, there].map(|db| db.close())).await.unwrap();
    database.left_alone().await;
    database.remove().await;
}

both! {
    async fn a_key_revoked_on_one_node_is_refused_by_the_other_from_the_next_request_on(w: &World) {
        let other = w.node(|_| {}).await;
        for _ in 0..ROUNDS {
            let (key, caller) = w.caller(new_key("teams:read")).await;
            caller.at(other.address).get("/teams").await.ok();
            revoke(&w.node, w, &key).await;
            caller.at(other.address).get("/teams").await.refused(401, "invalid_credentials");
        }
        other.stop().await;
    }

    async fn two_nodes_on_one_postgres_share_the_quota(w: &World) {
        let first = w.node(|config| set_quota(config, 100)).await;
        let second = w.node(|config| set_quota(config, 100)).await;
        let callers = [w.owner.at(first.address), w.owner.at(second.address)];
        // On a file each process counts for itself; the service runs once there.
        let nodes = if w.db().dialect() == Dialect::Postgres { 1 } else { 2 };
        let let_in = burst(&callers, 300).await;
        assert!(let_in <= 100 * nodes, "{let_in}");
        // What one node took in advance and did not use is all that may be missing.
        assert!(let_in >= 95 * nodes, "{let_in}");
        w.pass(seconds(6));
        let refilled = burst(&callers, 100).await;
        assert!(let_in + refilled <= 110 * nodes, "{let_in} and {refilled}");
        w.pass(seconds(3600));
        let next = burst(&callers, 300).await;
        assert!(next <= 100 * nodes, "an idle hour saves up no more than the quota: {next}");
        first.stop().await;
        second.stop().await;
    }

    async fn an_idempotency_key_used_on_one_node_is_replayed_by_the_other(w: &World) {
        let other = w.node(|_| {}).await;
        for round in 0..20 {
            let owner = w.owner.with("Idempotency-Key", &format!("key-{round}"));
            let body = json!({ "name": format!("Team {round}") });
            let there = owner.at(other.address);
            // One after the other, and in every other round at the same time.
            let (first, second) = if round % 2 == 0 {
                (owner.post("/teams", body.clone()).await, there.post("/teams", body).await)
            } else {
                tokio::join!(owner.post("/teams", body.clone()), there.post("/teams", body))
            };
            let (first, second) = (first.created(), second.created());
            assert_eq!(first.data(), second.data());
            let replays = [&first, &second].iter().filter(|a| a.header("idempotent-replayed").is_some()).count();
            assert_eq!(replays, 1);
            there.post("/teams", json!({ "name": "Other" })).await.refused(422, "idempotency_key_reused");
        }
        assert_eq!(w.count("team").await, 20);
        other.stop().await;
    }

    async fn a_node_shows_what_was_changed_through_another_node_at_once(w: &World) {
        let other = w.node(|_| {}).await;
        let team = w.owner.post("/teams", json!({ "name": "Round 0" })).await.created();
        let there = w.owner.at(other.address);
        for round in 1..=ROUNDS {
            // Asked twice, so that the second answer is a remembered one.
            let before = w.owner.get(&team.path("")).await.ok();
            assert_eq!(shown(&w.owner.get(&team.path("")).await.ok()), shown(&before));
            let name = format!("Round {round}");
            let changed = there.patch(&team.path(""), json!({ "name": name })).await.ok();
            let read = w.owner.get(&team.path("")).await.ok();
            assert_eq!(shown(&read), shown(&changed));
            let old = before.header("etag").unwrap();
            let conditional = w.owner.with("If-None-Match", old).get(&team.path("")).await;
            assert_eq!(conditional.status, 200, "the old version is not the current one");
        }
        other.stop().await;
    }

    async fn a_list_shows_what_was_made_changed_archived_and_restored_through_another_node(w: &World) {
        let other = w.node(|_| {}).await;
        let there = w.owner.at(other.address);
        let lists = async || (
            w.reader.get("/teams").await.ok().names().join(","),
            w.reader.get("/teams?status=archived").await.ok().names().join(","),
        );
        let pair = |active: &str, archived: &str| (active.to_owned(), archived.to_owned());
        assert_eq!(lists().await, pair("", ""));
        let team = there.post("/teams", json!({ "name": "Kraken" })).await.created();
        for round in 0..ROUNDS / 4 {
            let name = format!("Kraken {round}");
            there.patch(&team.path(""), json!({ "name": name })).await.ok();
            assert_eq!(lists().await, pair(&name, ""));
            there.delete(&team.path("")).await.ok();
            assert_eq!(lists().await, pair("", &name));
            assert_eq!(w.reader.get(&team.path("")).await.ok().data()["status"], "archived");
            there.send("POST", &team.path("/restore"), None).await.ok();
            assert_eq!(lists().await, pair(&name, ""));
        }
        other.stop().await;
    }

    async fn a_change_by_a_command_beside_the_service_is_shown_at_once(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Round 0" })).await.created();
        let id: TeamId = team.id().parse().unwrap();
        // As a command does it: its own connection, no service around it.
        let db = w.database.open(w.clock.clock());
        for round in 1..=ROUNDS {
            w.owner.get(&team.path("")).await.ok();
            let name = format!("Round {round}");
            let change = rename(&name);
            let scope = Scope::account(w.harbour, "command");
            db.write(scope, move |tx| team::change(tx, &touchline::accounts::rights::Reach::Everywhere, id, &Expected::Anything, change)).await.unwrap();
            assert_eq!(w.owner.get(&team.path("")).await.ok().data()["name"], *name);
            assert_eq!(w.owner.get("/teams").await.ok().names(), [name.as_str()]);
        }
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    }

    async fn a_reader_never_sees_less_than_a_writer_on_another_node_was_promised(w: &World) {
        let other = w.node(|_| {}).await;
        let team = w.owner.post("/teams", json!({ "name": "Round 0" })).await.created();
        let (there, path) = (w.owner.at(other.address), team.path(""));
        let promised = AtomicI64::new(1);
        let writing = async {
            for round in 1..=ROUNDS {
                let answer = there.patch(&path, json!({ "name": format!("Round {round}") })).await.ok();
                promised.store(answer.data()["version"].as_i64().unwrap(), Ordering::SeqCst);
            }
            promised.store(i64::MAX, Ordering::SeqCst);
        };
        let reading = async || loop {
            let least = promised.load(Ordering::SeqCst);
            if least == i64::MAX {
                break;
            }
            let seen = w.owner.get(&path).await.ok().data()["version"].as_i64().unwrap();
            assert!(seen >= least, "{seen} after {least} was promised");
            let listed = w.owner.get("/teams").await.ok().data()[0]["version"].as_i64().unwrap();
            assert!(listed >= seen, "{listed} after {seen} was shown");
        };
        tokio::join!(writing, reading(), reading());
        assert_eq!(w.owner.get(&path).await.ok().data()["version"], ROUNDS + 1);
        other.stop().await;
    }
}
