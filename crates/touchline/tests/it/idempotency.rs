//! Stories about idempotency keys: a request that is sent twice has one effect and one answer.

use std::sync::mpsc;
use std::time::Instant;

use futures_util::future::{join_all, select_all};
use store::Scope;
use testkit::world::new_key;
use testkit::{Answer, Client, Value, World, both, json, seconds};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use touchline::accounts::account::{self, Tier};
use touchline::accounts::api_key;

/// The same caller, with a key for what is done next.
fn keyed(client: &Client, key: &str) -> Client {
    client.with("Idempotency-Key", key)
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// The second answer is the first one once more, and says so.
#[track_caller]
fn replays(second: &Answer, first: &Answer) {
    assert!(!is_replay(first) && is_replay(second), "{first:?}\n{second:?}");
    assert_eq!(second.status, first.status);
    assert_eq!(second.data(), first.data());
    assert_eq!(second.header("etag"), first.header("etag"));
    assert_eq!(second.header("location"), first.header("location"));
    // Only the envelope is new: each request keeps its own id.
    assert_ne!(second.header("request-id"), first.header("request-id"));
}

/// Renames a table, so that whatever needs it fails until it is renamed back.
async fn rename(w: &World, from: &str, to: &str) {
    let script = format!("alter table {from} rename to {to}");
    let renamed = w.db().write(Scope::system("rename"), move |tx| tx.script(&script));
    renamed.await.unwrap();
}

/// Runs a story while somebody holds the account's write lock, as a very long request would.
async fn while_locked<T>(w: &World, story: impl AsyncFnOnce(mpsc::Sender<()>) -> T) -> T {
    let db = w.database.open(w.clock.clock());
    let (held, is_held) = tokio::sync::oneshot::channel();
    let (release, released) = mpsc::channel();
    let lock = db.write(Scope::account(w.harbour, "test"), move |_| {
        held.send(()).unwrap();
        let _ = released.recv_timeout(seconds(15));
        Ok::<_, store::Error>(())
    });
    let (unlocked, told) = tokio::join!(lock, async {
        is_held.await.unwrap();
        story(release).await
    });
    unlocked.unwrap();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    told
}

/// Asks for a team until no other request with the key is running: on a slow machine, the last of many may wait
/// longer than the service lets them.
async fn persistent(client: &Client, body: Value) -> Answer {
    loop {
        let answer = client.post("/teams", body.clone()).await;
        if answer.body["code"] != "idempotency_key_in_use" {
            return answer;
        }
    }
}

both! {
    async fn two_at_once_make_one_team_and_get_one_answer(w: &World) {
        for round in 0..200 {
            let twin = keyed(&w.owner, &format!("round-{round}"));
            let body = json!({ "name": format!("Team {round}") });
            let (a, b) = tokio::join!(twin.post("/teams", body.clone()), twin.post("/teams", body));
            let (a, b) = (a.created(), b.created());
            if is_replay(&a) { replays(&a, &b) } else { replays(&b, &a) }
        }
        assert_eq!(w.count("team").await, 200);
        assert_eq!(w.news().await.len(), 200);
    }

    async fn fifty_at_once_on_two_nodes_make_one_team(w: &World) {
        let second = w.node(|_| {}).await;
        let here = keyed(&w.owner, "fifty");
        let there = here.at(second.address);
        let crowd = (0..25).flat_map(|_| [&here, &there]);
        let posts = crowd.map(|client| persistent(client, json!({ "name": "Kraken" })));
        let answers: Vec<_> = join_all(posts).await.into_iter().map(Answer::created).collect();
        assert_eq!(answers.iter().filter(|answer| !is_replay(answer)).count(), 1);
        assert!(answers.iter().all(|answer| answer.data() == answers[0].data()));
        assert_eq!((w.count("team").await, w.news().await.len()), (1, 1));
        second.stop().await;
    }

    async fn a_twin_waits_five_seconds_and_is_then_told_that_the_key_is_in_use(w: &World) {
        let client = keyed(&w.owner, "long");
        let body = json!({ "name": "Kraken" });
        // A node's first request on PostgreSQL takes a share of the quota, which needs the lock.
        w.owner.get("/me").await.ok();
        let (first, refused, took) = while_locked(w, async |release| {
            let began = Instant::now();
            // Whichever of the two comes second is the twin; the other has no answer before the lock is free.
            let both = [(); 2].map(|()| Box::pin(client.post("/teams", body.clone())));
            let (refused, _, mut first) = select_all(both).await;
            let took = began.elapsed();
            release.send(()).unwrap();
            (first.remove(0).await, refused.refused(409, "idempotency_key_in_use"), took)
        })
        .await;
        assert!(seconds(5) <= took && took < seconds(14), "{took:?}");
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(wait >= 1 && refused.body["retryable"] == true);
        // The key is free again as soon as its request has ended.
        replays(&client.post("/teams", body).await, &first.created());
        assert_eq!((w.count("team").await, w.news().await.len()), (1, 1));
    }

    async fn a_read_does_not_wait_for_a_long_write_of_its_account(w: &World) {
        let read = while_locked(w, async |release| {
            let read = tokio::time::timeout(seconds(12), w.reader.get("/me")).await;
            release.send(()).unwrap();
            read
        });
        read.await.expect("the read is answered while the write goes on").ok();
    }

    async fn a_changed_body_is_refused_and_the_first_stays_as_it_was(w: &World) {
        let client = keyed(&w.owner, "k");
        let first = client.post("/teams", json!({ "name": "Kraken" })).await.created();
        let changed = json!({ "name": "Kraken", "sport": "soccer" });
        client.post("/teams", changed).await.refused(422, "idempotency_key_reused");
        assert_eq!(w.reader.get(&first.path("")).await.ok().data(), first.data());
        replays(&client.post("/teams", json!({ "name": "Kraken" })).await, &first);
        assert_eq!(w.count("team").await, 1);
    }

    async fn the_order_of_members_white_space_and_escapes_do_not_make_another_body(w: &World) {
        let client = keyed(&w.owner, "k");
        let body = r#"{"name":"Kraken","metadata":{"a":"1","b":"2"}}"#;
        let first = client.send("POST", "/teams", Some(body)).await.created();
        let same = r#"{ "metadata" : {"b":"2", "a":"1"},
            "n\u0061me": "Kr\u0061ken" }"#;
        replays(&client.send("POST", "/teams", Some(same)).await, &first);
        // What is compared is what was sent, not what it comes to: a trimmed name is another body.
        let other = r#"{"name":" Kraken ","metadata":{"a":"1","b":"2"}}"#;
        client.send("POST", "/teams", Some(other)).await.refused(422, "idempotency_key_reused");
    }

    async fn another_path_or_method_is_another_request(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let other = w.owner.post("/teams", json!({ "name": "Hydra" })).await.created();
        let client = keyed(&w.owner, "k");
        client.patch(&team.path(""), json!({})).await.ok();
        client.patch(&other.path(""), json!({})).await.refused(422, "idempotency_key_reused");
        client.delete(&team.path("")).await.refused(422, "idempotency_key_reused");
        let create = client.post("/teams", json!({ "name": "Nessie" })).await;
        create.refused(422, "idempotency_key_reused");
        let restore = client.send("POST", &team.path("/restore"), None).await;
        restore.refused(422, "idempotency_key_reused");
        assert_eq!(w.reader.get("/teams").await.ok().names(), ["Kraken", "Hydra"]);
    }

    async fn a_key_of_one_account_means_nothing_in_another(w: &World) {
        let body = json!({ "name": "Kraken" });
        let ours = keyed(&w.owner, "k").post("/teams", body.clone()).await.created();
        let theirs = keyed(&w.stranger, "k").post("/teams", body).await.created();
        assert!(!is_replay(&theirs));
        assert_ne!(ours.id(), theirs.id());
        let changed = json!({ "name": "Hydra" });
        keyed(&w.stranger, "k2").post("/teams", changed).await.created();
    }

    async fn a_rotated_credential_of_the_account_gets_the_replay(w: &World) {
        let (old, before) = w.caller(new_key("teams:write")).await;
        let body = json!({ "name": "Kraken" });
        let first = keyed(&before, "k").post("/teams", body.clone()).await.created();
        let (_, after) = w.caller(new_key("teams:write")).await;
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, move |tx| api_key::revoke(tx, old.id)).await.unwrap();
        keyed(&before, "k").post("/teams", body.clone()).await.refused(401, "invalid_credentials");
        replays(&keyed(&after, "k").post("/teams", body).await, &first);
    }

    async fn a_caller_without_the_right_gets_no_replay(w: &World) {
        let body = json!({ "name": "Kraken" });
        let first = keyed(&w.owner, "k").post("/teams", body.clone()).await.created();
        let refused = keyed(&w.reader, "k").post("/teams", body.clone()).await;
        assert!(!refused.refused(403, "insufficient_scope").text.contains("Kraken"));
        let refused = keyed(&w.nobody, "k").post("/teams", body.clone()).await;
        refused.refused(401, "missing_credentials");
        // A key that is narrowed to a team may not create teams, so it may not replay it either.
        let team_ids = Some(vec![first.id().parse().unwrap()]);
        let (_, narrow) = w.caller(api_key::NewKey { team_ids, ..new_key("teams:write") }).await;
        let refused = keyed(&narrow, "k").post("/teams", body).await.refused(403, "forbidden");
        assert!(!refused.text.contains("Kraken"));
    }

    async fn a_request_that_was_refused_does_not_burn_its_key(w: &World) {
        let client = keyed(&w.owner, "k");
        let good = json!({ "name": "Kraken" });
        client.send("POST", "/teams", Some("{")).await.refused(400, "invalid_json");
        client.post("/teams", json!({ "nam": "Kraken" })).await.refused(400, "invalid_parameter");
        client.post("/teams", json!({ "name": "" })).await.refused(422, "validation_failed");
        let nobody = keyed(&w.nobody, "k").post("/teams", good.clone()).await;
        nobody.refused(401, "missing_credentials");
        let reader = keyed(&w.reader, "k").post("/teams", good.clone()).await;
        reader.refused(403, "insufficient_scope");
        let taken = w.owner.post("/teams", json!({ "name": "Hydra" })).await.created();
        client.post("/teams", json!({ "name": "Hydra" })).await.refused(409, "taken");
        let stale = client.with("If-Match", "\"9\"");
        stale.delete(&taken.path("")).await.refused(412, "precondition_failed");
        assert_eq!(w.count("idempotency").await, 0);
        assert!(!is_replay(&client.post("/teams", good).await.created()));
    }

    async fn a_request_over_the_quota_does_not_burn_its_key(w: &World) {
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, |tx| account::set_tier(tx, Tier::Free)).await.unwrap();
        while w.reader.get("/me").await.status == 200 {}
        let client = keyed(&w.owner, "k");
        client.post("/teams", json!({ "name": "Kraken" })).await.refused(429, "rate_limited");
        w.pass(seconds(60));
        assert!(!is_replay(&client.post("/teams", json!({ "name": "Kraken" })).await.created()));
    }

    async fn a_failure_of_ours_does_not_burn_the_key_and_leaves_nothing_behind(w: &World) {
        let client = keyed(&w.owner, "k");
        // The team is written before its news is, so this fails in the middle.
        rename(w, "notification", "away").await;
        client.post("/teams", json!({ "name": "Kraken" })).await.refused(500, "internal_error");
        rename(w, "away", "notification").await;
        assert_eq!((w.count("team").await, w.count("idempotency").await), (0, 0));
        assert!(!is_replay(&client.post("/teams", json!({ "name": "Kraken" })).await.created()));
        assert_eq!(w.news().await.len(), 1);
    }

    async fn a_key_is_remembered_for_a_day(w: &World) {
        let client = keyed(&w.owner, "k");
        let body = json!({ "name": "Kraken" });
        let first = client.post("/teams", body.clone()).await.created();
        w.owner.delete(&first.path("")).await.ok();
        w.pass(seconds(86_399));
        replays(&client.post("/teams", body.clone()).await, &first);
        w.pass(seconds(2));
        let second = client.post("/teams", body.clone()).await.created();
        assert!(!is_replay(&second) && second.id() != first.id());
        // And from now on the key stands for the second one.
        replays(&client.post("/teams", body).await, &second);
    }

    async fn what_became_of_a_team_does_not_change_the_answer_to_its_creation(w: &World) {
        let client = keyed(&w.owner, "k");
        let first = client.post("/teams", json!({ "name": "Kraken" })).await.created();
        w.owner.patch(&first.path(""), json!({ "name": "Hydra" })).await.ok();
        replays(&client.post("/teams", json!({ "name": "Kraken" })).await, &first);
        w.owner.delete(&first.path("")).await.ok();
        replays(&client.post("/teams", json!({ "name": "Kraken" })).await, &first);
        assert_eq!(w.count("team").await, 1);
    }

    async fn every_method_that_changes_something_takes_a_key(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let (archive, restore) = (keyed(&w.owner, "a"), keyed(&w.owner, "r"));
        let first = archive.delete(&team.path("")).await.ok();
        // Without the key a second one is refused, since the team is archived already.
        w.owner.delete(&team.path("")).await.refused(409, "invalid_state");
        replays(&archive.delete(&team.path("")).await, &first);
        let first = restore.send("POST", &team.path("/restore"), None).await.ok();
        // No body and an empty object say the same.
        replays(&restore.post(&team.path("/restore"), json!({})).await, &first);
        replays(&restore.send("POST", &team.path("/restore"), None).await, &first);
        assert_eq!(w.news().await.len(), 3);
    }

    async fn a_key_is_visible_ascii_and_stands_once(w: &World) {
        let (long, longest) = ("x".repeat(256), "x".repeat(255));
        let wrong =
            ["", "\"\"", "two words", "schlüssel", "a\tb", "a\rb", "a\nb", "a\r\n b", &long];
        for (number, key) in wrong.into_iter().enumerate() {
            let body = json!({ "name": format!("Team {number}") });
            keyed(&w.owner, key).post("/teams", body).await.refused(400, "invalid_request");
        }
        let twice = keyed(&keyed(&w.owner, "a"), "a");
        twice.post("/teams", json!({ "name": "Twice" })).await.refused(400, "invalid_request");
        assert_eq!(w.count("team").await, 0);
        keyed(&w.owner, &longest).post("/teams", json!({ "name": "Longest" })).await.created();
    }

    async fn quotes_are_not_part_of_a_key(w: &World) {
        let body = json!({ "name": "Kraken" });
        let first = keyed(&w.owner, "\"k\"").post("/teams", body.clone()).await.created();
        replays(&keyed(&w.owner, "k").post("/teams", body).await, &first);
    }

    async fn a_read_does_not_look_at_the_key(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        for key in ["k", "two words"] {
            let client = keyed(&w.owner, key);
            for path in ["/me", "/teams", &team.path("")] {
                assert!(!is_replay(&client.get(path).await.ok()));
            }
        }
        assert_eq!(w.count("idempotency").await, 0);
        keyed(&w.owner, "k").post("/teams", json!({ "name": "Hydra" })).await.created();
    }

    async fn a_lost_answer_to_a_conditional_change_is_replayed_and_not_412(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let client = keyed(&w.owner, "k").with("If-Match", "\"1\"");
        let first = client.patch(&team.path(""), json!({ "name": "Hydra" })).await.ok();
        assert_eq!(first.header("etag"), Some("\"2\""));
        replays(&client.patch(&team.path(""), json!({ "name": "Hydra" })).await, &first);
        let fresh = w.owner.with("If-Match", "\"1\"");
        let stale = fresh.patch(&team.path(""), json!({ "name": "Hydra" })).await;
        stale.refused(412, "precondition_failed");
    }

    async fn a_client_that_goes_away_leaves_a_whole_change_or_none(w: &World) {
        for round in 0..30 {
            let body = json!({ "name": format!("Team {round}") }).to_string();
            let client = keyed(&w.owner, &format!("k{round}"));
            let bytes = client.request("POST", "/teams", Some(&body));
            // Every third one goes away in the middle of its body.
            let sent = if round % 3 == 0 { bytes.len() - 3 } else { bytes.len() };
            let mut stream = TcpStream::connect(client.address).await.unwrap();
            stream.write_all(&bytes[..sent]).await.unwrap();
            drop(stream);
            let again = client.send("POST", "/teams", Some(&body)).await.created();
            assert_eq!(again.data()["name"], format!("Team {round}"));
        }
        assert_eq!((w.count("team").await, w.news().await.len()), (30, 30));
        assert_eq!(w.count("idempotency").await, 30);
    }
}
