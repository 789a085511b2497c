//! Tests of idempotency keys: a request that is sent twice has one effect and one answer.

use std::sync::mpsc;
use std::time::Instant;

use futures_util::future::{join_all, select_all};
use store::Scope;
use testkit::world::new_key;
use testkit::{Client, TestResponse, Value, World, both, json, seconds};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use touchline::accounts::account;
use touchline::accounts::api_key;
use touchline::tier::Tier;

/// The same client with an idempotency key.
fn keyed(client: &Client, key: &str) -> Client {
    client.with_header("Idempotency-Key", key)
}

fn is_replay(answer: &TestResponse) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// Asserts that the second answer is a replay of the first.
#[track_caller]
fn assert_replay(second: &TestResponse, first: &TestResponse) {
    assert!(!is_replay(first) && is_replay(second), "{first:?}\n{second:?}");
    assert_eq!(second.status, first.status);
    assert_eq!(second.data(), first.data());
    assert_eq!(second.header("etag"), first.header("etag"));
    assert_eq!(second.header("location"), first.header("location"));
    // Each request has its own id.
    assert_ne!(second.header("request-id"), first.header("request-id"));
}

/// Renames a table, so that everything that needs it fails until it is renamed back.
async fn rename(w: &World, from: &str, to: &str) {
    let script = format!("alter table {from} rename to {to}");
    let renamed = w.db().write(Scope::system("rename"), move |tx| tx.execute_batch(&script));
    renamed.await.unwrap();
}

/// Runs `act` while the account's write lock is held, as by a very long request.
async fn while_locked<T>(w: &World, act: impl AsyncFnOnce(mpsc::Sender<()>) -> T) -> T {
    let db = w.database.open(w.clock.clock());
    let (locked_tx, locked_rx) = tokio::sync::oneshot::channel();
    let (release, released) = mpsc::channel();
    let lock = db.write(Scope::account(w.harbour, "test"), move |_| {
        locked_tx.send(()).unwrap();
        let _ = released.recv_timeout(seconds(15));
        Ok::<_, store::Error>(())
    });
    let (unlocked, result) = tokio::join!(lock, async {
        locked_rx.await.unwrap();
        act(release).await
    });
    unlocked.unwrap();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    result
}

/// Posts a team until no other request with the key is running: on a slow machine, the last of many may wait longer
/// than the service allows.
async fn post_until_key_is_free(client: &Client, body: Value) -> TestResponse {
    loop {
        let answer = client.post("/teams", body.clone()).await;
        if answer.body["code"] != "idempotency_key_in_use" {
            return answer;
        }
    }
}

both! {
    async fn two_concurrent_requests_create_one_team_and_get_one_answer(w: &World) {
        for round in 0..200 {
            let client = keyed(&w.owner, &format!("round-{round}"));
            let body = json!({ "name": format!("Team {round}") });
            let (a, b) = tokio::join!(client.post("/teams", body.clone()), client.post("/teams", body));
            let (a, b) = (a.created(), b.created());
            if is_replay(&a) { assert_replay(&a, &b) } else { assert_replay(&b, &a) }
        }
        assert_eq!(w.count("team").await, 200);
        assert_eq!(w.notifications().await.len(), 200);
    }

    async fn fifty_concurrent_requests_on_two_nodes_create_one_team(w: &World) {
        let second = w.node(|_| {}).await;
        let here = keyed(&w.owner, "fifty");
        let there = here.at(second.address);
        let clients = (0..25).flat_map(|_| [&here, &there]);
        let posts = clients.map(|client| post_until_key_is_free(client, json!({ "name": "Kraken" })));
        let answers: Vec<_> = join_all(posts).await.into_iter().map(TestResponse::created).collect();
        assert_eq!(answers.iter().filter(|answer| !is_replay(answer)).count(), 1);
        assert!(answers.iter().all(|answer| answer.data() == answers[0].data()));
        assert_eq!((w.count("team").await, w.notifications().await.len()), (1, 1));
        second.stop().await;
    }

    async fn a_duplicate_waits_five_seconds_and_is_then_409(w: &World) {
        let client = keyed(&w.owner, "long");
        let body = json!({ "name": "Kraken" });
        // A node's first request on PostgreSQL takes a share of the quota, which needs the lock.
        w.owner.get("/me").await.ok();
        let (first, refused, took) = while_locked(w, async |release| {
            let began = Instant::now();
            // The one that arrives second is the duplicate; the other is not answered before the lock is free.
            let requests = [(); 2].map(|()| Box::pin(client.post("/teams", body.clone())));
            let (refused, _, mut first) = select_all(requests).await;
            let took = began.elapsed();
            release.send(()).unwrap();
            (first.remove(0).await, refused.assert_problem(409, "idempotency_key_in_use"), took)
        })
        .await;
        assert!(seconds(5) <= took && took < seconds(14), "{took:?}");
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(wait >= 1 && refused.body["retryable"] == true);
        // The key is free again as soon as its request has ended.
        assert_replay(&client.post("/teams", body).await, &first.created());
        assert_eq!((w.count("team").await, w.notifications().await.len()), (1, 1));
    }

    async fn a_read_does_not_wait_for_a_long_write_of_its_account(w: &World) {
        let read = while_locked(w, async |release| {
            let read = tokio::time::timeout(seconds(12), w.reader.get("/me")).await;
            release.send(()).unwrap();
            read
        });
        read.await.expect("the read is answered while the write goes on").ok();
    }

    async fn rejects_a_changed_body_and_keeps_the_first_answer(w: &World) {
        let client = keyed(&w.owner, "k");
        let first = client.post("/teams", json!({ "name": "Kraken" })).await.created();
        let changed = json!({ "name": "Kraken", "sport": "soccer" });
        client.post("/teams", changed).await.assert_problem(422, "idempotency_key_reused");
        assert_eq!(w.reader.get(&first.path("")).await.ok().data(), first.data());
        assert_replay(&client.post("/teams", json!({ "name": "Kraken" })).await, &first);
        assert_eq!(w.count("team").await, 1);
    }

    async fn field_order_whitespace_and_escapes_do_not_change_a_body(w: &World) {
        let client = keyed(&w.owner, "k");
        let body = r#"{"name":"Kraken","metadata":{"a":"1","b":"2"}}"#;
        let first = client.send("POST", "/teams", Some(body)).await.created();
        let same = r#"{ "metadata" : {"b":"2", "a":"1"},
            "n\u0061me": "Kr\u0061ken" }"#;
        assert_replay(&client.send("POST", "/teams", Some(same)).await, &first);
        // Bodies are compared as sent: a name with spaces around it is another body, although names are trimmed.
        let other = r#"{"name":" Kraken ","metadata":{"a":"1","b":"2"}}"#;
        client.send("POST", "/teams", Some(other)).await.assert_problem(422, "idempotency_key_reused");
    }

    async fn another_path_or_method_is_another_request(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let other = w.owner.post("/teams", json!({ "name": "Hydra" })).await.created();
        let client = keyed(&w.owner, "k");
        client.patch(&team.path(""), json!({})).await.ok();
        client.patch(&other.path(""), json!({})).await.assert_problem(422, "idempotency_key_reused");
        client.delete(&team.path("")).await.assert_problem(422, "idempotency_key_reused");
        let create = client.post("/teams", json!({ "name": "Nessie" })).await;
        create.assert_problem(422, "idempotency_key_reused");
        let restore = client.send("POST", &team.path("/restore"), None).await;
        restore.assert_problem(422, "idempotency_key_reused");
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
        let (old, before) = w.client_with_key(new_key("teams:write")).await;
        let body = json!({ "name": "Kraken" });
        let first = keyed(&before, "k").post("/teams", body.clone()).await.created();
        let (_, after) = w.client_with_key(new_key("teams:write")).await;
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, move |tx| api_key::revoke(tx, old.id)).await.unwrap();
        keyed(&before, "k").post("/teams", body.clone()).await.assert_problem(401, "invalid_credentials");
        assert_replay(&keyed(&after, "k").post("/teams", body).await, &first);
    }

    async fn a_caller_without_permission_gets_no_replay(w: &World) {
        let body = json!({ "name": "Kraken" });
        let first = keyed(&w.owner, "k").post("/teams", body.clone()).await.created();
        let refused = keyed(&w.reader, "k").post("/teams", body.clone()).await;
        assert!(!refused.assert_problem(403, "insufficient_scope").text.contains("Kraken"));
        let refused = keyed(&w.nobody, "k").post("/teams", body.clone()).await;
        refused.assert_problem(401, "missing_credentials");
        // A key limited to a team cannot create teams, so it gets no replay either.
        let team_ids = Some(vec![first.id().parse().unwrap()]);
        let (_, narrow) = w.client_with_key(api_key::NewKey { team_ids, ..new_key("teams:write") }).await;
        let refused = keyed(&narrow, "k").post("/teams", body).await.assert_problem(403, "forbidden");
        assert!(!refused.text.contains("Kraken"));
    }

    async fn a_rejected_request_does_not_use_up_its_key(w: &World) {
        let client = keyed(&w.owner, "k");
        let good = json!({ "name": "Kraken" });
        client.send("POST", "/teams", Some("{")).await.assert_problem(400, "invalid_json");
        client.post("/teams", json!({ "nam": "Kraken" })).await.assert_problem(400, "invalid_parameter");
        client.post("/teams", json!({ "name": "" })).await.assert_problem(422, "validation_failed");
        let nobody = keyed(&w.nobody, "k").post("/teams", good.clone()).await;
        nobody.assert_problem(401, "missing_credentials");
        let reader = keyed(&w.reader, "k").post("/teams", good.clone()).await;
        reader.assert_problem(403, "insufficient_scope");
        let taken = w.owner.post("/teams", json!({ "name": "Hydra" })).await.created();
        client.post("/teams", json!({ "name": "Hydra" })).await.assert_problem(409, "taken");
        let stale = client.with_header("If-Match", "\"9\"");
        stale.delete(&taken.path("")).await.assert_problem(412, "precondition_failed");
        assert_eq!(w.count("idempotency").await, 0);
        assert!(!is_replay(&client.post("/teams", good).await.created()));
    }

    async fn a_rate_limited_request_does_not_use_up_its_key(w: &World) {
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, |tx| account::set_tier(tx, Tier::Free)).await.unwrap();
        while w.reader.get("/me").await.status == 200 {}
        let client = keyed(&w.owner, "k");
        client.post("/teams", json!({ "name": "Kraken" })).await.assert_problem(429, "rate_limited");
        w.advance_clock(seconds(60));
        assert!(!is_replay(&client.post("/teams", json!({ "name": "Kraken" })).await.created()));
    }

    async fn an_internal_error_does_not_use_up_the_key_and_changes_nothing(w: &World) {
        let client = keyed(&w.owner, "k");
        // The team is written before its notification, so this fails midway.
        rename(w, "notification", "away").await;
        client.post("/teams", json!({ "name": "Kraken" })).await.assert_problem(500, "internal_error");
        rename(w, "away", "notification").await;
        assert_eq!((w.count("team").await, w.count("idempotency").await), (0, 0));
        assert!(!is_replay(&client.post("/teams", json!({ "name": "Kraken" })).await.created()));
        assert_eq!(w.notifications().await.len(), 1);
    }

    async fn a_key_is_remembered_for_a_day(w: &World) {
        let client = keyed(&w.owner, "k");
        let body = json!({ "name": "Kraken" });
        let first = client.post("/teams", body.clone()).await.created();
        w.owner.delete(&first.path("")).await.ok();
        w.advance_clock(seconds(86_399));
        assert_replay(&client.post("/teams", body.clone()).await, &first);
        w.advance_clock(seconds(2));
        let second = client.post("/teams", body.clone()).await.created();
        assert!(!is_replay(&second) && second.id() != first.id());
        // From now on, the key replays the second answer.
        assert_replay(&client.post("/teams", body).await, &second);
    }

    async fn later_changes_of_a_team_do_not_change_the_replay(w: &World) {
        let client = keyed(&w.owner, "k");
        let first = client.post("/teams", json!({ "name": "Kraken" })).await.created();
        w.owner.patch(&first.path(""), json!({ "name": "Hydra" })).await.ok();
        assert_replay(&client.post("/teams", json!({ "name": "Kraken" })).await, &first);
        w.owner.delete(&first.path("")).await.ok();
        assert_replay(&client.post("/teams", json!({ "name": "Kraken" })).await, &first);
        assert_eq!(w.count("team").await, 1);
    }

    async fn every_writing_method_accepts_a_key(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let (archive, restore) = (keyed(&w.owner, "a"), keyed(&w.owner, "r"));
        let first = archive.delete(&team.path("")).await.ok();
        // Without the key, a second request is rejected, because the team is already archived.
        w.owner.delete(&team.path("")).await.assert_problem(409, "invalid_state");
        assert_replay(&archive.delete(&team.path("")).await, &first);
        let first = restore.send("POST", &team.path("/restore"), None).await.ok();
        // No body and an empty object are equivalent.
        assert_replay(&restore.post(&team.path("/restore"), json!({})).await, &first);
        assert_replay(&restore.send("POST", &team.path("/restore"), None).await, &first);
        assert_eq!(w.notifications().await.len(), 3);
    }

    async fn rejects_invalid_and_repeated_keys(w: &World) {
        let (long, longest) = ("x".repeat(256), "x".repeat(255));
        let wrong =
            ["", "\"\"", "two words", "schlüssel", "a\tb", "a\rb", "a\nb", "a\r\n b", &long];
        for (number, key) in wrong.into_iter().enumerate() {
            let body = json!({ "name": format!("Team {number}") });
            keyed(&w.owner, key).post("/teams", body).await.assert_problem(400, "invalid_request");
        }
        let twice = keyed(&keyed(&w.owner, "a"), "a");
        twice.post("/teams", json!({ "name": "Twice" })).await.assert_problem(400, "invalid_request");
        assert_eq!(w.count("team").await, 0);
        keyed(&w.owner, &longest).post("/teams", json!({ "name": "Longest" })).await.created();
    }

    async fn quotes_are_not_part_of_a_key(w: &World) {
        let body = json!({ "name": "Kraken" });
        let first = keyed(&w.owner, "\"k\"").post("/teams", body.clone()).await.created();
        assert_replay(&keyed(&w.owner, "k").post("/teams", body).await, &first);
    }

    async fn reads_ignore_the_key(w: &World) {
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

    async fn a_repeated_conditional_change_is_replayed_and_not_412(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let client = keyed(&w.owner, "k").with_header("If-Match", "\"1\"");
        let first = client.patch(&team.path(""), json!({ "name": "Hydra" })).await.ok();
        assert_eq!(first.header("etag"), Some("\"2\""));
        assert_replay(&client.patch(&team.path(""), json!({ "name": "Hydra" })).await, &first);
        let fresh = w.owner.with_header("If-Match", "\"1\"");
        let stale = fresh.patch(&team.path(""), json!({ "name": "Hydra" })).await;
        stale.assert_problem(412, "precondition_failed");
    }

    async fn a_disconnected_client_leaves_a_complete_change_or_none(w: &World) {
        for round in 0..30 {
            let body = json!({ "name": format!("Team {round}") }).to_string();
            let client = keyed(&w.owner, &format!("k{round}"));
            let bytes = client.request("POST", "/teams", Some(&body));
            // Every third client disconnects in the middle of its body.
            let sent = if round % 3 == 0 { bytes.len() - 3 } else { bytes.len() };
            let mut stream = TcpStream::connect(client.address).await.unwrap();
            stream.write_all(&bytes[..sent]).await.unwrap();
            drop(stream);
            let again = client.send("POST", "/teams", Some(&body)).await.created();
            assert_eq!(again.data()["name"], format!("Team {round}"));
        }
        assert_eq!((w.count("team").await, w.notifications().await.len()), (30, 30));
        assert_eq!(w.count("idempotency").await, 30);
    }
}
