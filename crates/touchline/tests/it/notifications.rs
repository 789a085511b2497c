//! Tests of an account's notification log: completeness, order, visibility and retention.

use std::time::Duration;

use futures_util::future::join_all;
use kit::Timestamp;
use serde::Serialize;
use store::{Dialect, Scope, bind};
use testkit::receiver::Reply;
use testkit::world::new_key;
use testkit::{Client, Receiver, TestResponse, Value, World, both, json, seconds};
use touchline::ids::WebhookId;
use touchline::jobs;
use touchline::signals::{self, Publish, Subject};
use touchline::webhooks::webhook::Ordering;

use crate::webhooks::{subscribe, team};

const DAY: Duration = Duration::from_secs(86_400);

/// The subject of a test notification.
#[derive(Serialize)]
pub(crate) struct Note {
    pub text: String,
}

impl Subject for Note {
    fn subject(&self) -> String {
        "note".to_owned()
    }
}

/// Publishes `count` notifications in one transaction.
pub(crate) async fn publish_notes(w: &World, kind: &'static str, count: usize, text: &str) {
    let text = text.to_owned();
    let publish = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
        let note = Note { text };
        let notes: Vec<_> = (0..count).map(|_| (None, &note)).collect();
        tx.publish_all(kind, &notes)
    });
    publish.await.unwrap();
}

/// The sequence numbers on a page.
fn sequences(page: &TestResponse) -> Vec<i64> {
    let rows = page.data().as_array().unwrap().iter();
    rows.map(|row| row["sequence"].as_i64().unwrap()).collect()
}

/// `has_more` and `next_sequence` of a page.
fn page_info(page: &TestResponse) -> (bool, &Value) {
    (page.body["has_more"].as_bool().unwrap(), &page.body["next_sequence"])
}

async fn verify(w: &World) -> Option<String> {
    w.db().read(Scope::account(w.harbour, "test"), signals::verify).await.unwrap()
}

async fn run(w: &World, sql: &'static str) -> u64 {
    w.db()
        .write(Scope::account(w.harbour, "test"), move |tx| tx.execute(sql, bind! {}))
        .await
        .unwrap()
}

/// Creates teams one after the other.
async fn create_teams(client: &Client, writer: usize, count: usize) {
    for n in 0..count {
        client.post("/teams", json!({ "name": format!("{writer} {n}") })).await.created();
    }
}

both! {
    async fn pages_through_the_log_as_stored(w: &World) {
        for name in ["Ä", "B", "C", "D", "E"] {
            team(w, name).await;
        }
        let notifications = w.notifications().await;
        let first = w.owner.get("/notifications?limit=2").await.ok();
        assert_eq!(first.data(), &json!(notifications[..2]));
        assert_eq!(page_info(&first), (true, &json!(2)));
        let stored: (String,) = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.one("select body from notification where account_id = :account and sequence = 1", bind! {})
        }).await.unwrap();
        assert!(first.text.starts_with(&format!("{{\"data\":[{},", stored.0)), "{}", first.text);
        // The cursor, the link to the next page and the last sequence number all continue at the
        // same place.
        let cursor = first.body["next_cursor"].as_str().unwrap();
        let second = w.owner.get(&format!("/notifications?limit=2&cursor={cursor}")).await.ok();
        let link = first.header("link").unwrap().split_once('>').unwrap().0.trim_start_matches('<');
        assert_eq!(w.owner.get(link).await.ok().data(), second.data());
        assert_eq!(sequences(&second), [3, 4]);
        let second = w.owner.get("/notifications?limit=3&after=2").await.ok();
        assert_eq!((sequences(&second), page_info(&second)), (vec![3, 4, 5], (false, &json!(5))));
        assert_eq!(second.body["next_cursor"], Value::Null);
        for (query, expected) in [("after=0", 5), ("after=5", 0), ("type=team.*", 5), ("type=event.*", 0), ("type=team.created&after=3", 2)] {
            let page = w.owner.get(&format!("/notifications?{query}")).await.ok();
            assert_eq!((sequences(&page).len(), page_info(&page).0), (expected, false), "{query}");
        }
        let refused = w.owner.get("/notifications?after=6").await.assert_problem(400, "invalid_parameter");
        assert!(refused.body["detail"].as_str().unwrap().contains("newest sequence number is 5"), "{}", refused.body);
        // A client that has read everything continues from there.
        team(w, "F").await;
        assert_eq!(sequences(&w.owner.get("/notifications?after=5").await.ok()), [6]);
        let last = w.owner.get("/notifications?order=desc&limit=4").await.ok();
        assert_eq!((sequences(&last), page_info(&last)), (vec![6, 5, 4, 3], (true, &Value::Null)));
        let cursor = last.body["next_cursor"].as_str().unwrap();
        let last_page = w.owner.get(&format!("/notifications?order=desc&limit=4&cursor={cursor}")).await.ok();
        assert_eq!((sequences(&last_page), page_info(&last_page).0), (vec![2, 1], false));
        for query in ["after=-1", "after=01", "after=x", "after=9223372036854775808", "type=nonsense", "type=team", "limit=0", "sequence=1"] {
            w.owner.get(&format!("/notifications?{query}")).await.assert_problem(400, "invalid_parameter");
        }
        w.owner.get("/notifications?cursor=x").await.assert_problem(400, "invalid_cursor");
        w.reader.get("/notifications").await.assert_problem(403, "insufficient_scope");
        w.nobody.get("/notifications").await.assert_problem(401, "missing_credentials");
        assert_eq!(sequences(&w.stranger.get("/notifications").await.ok()), Vec::<i64>::new());
    }

    async fn callers_see_only_types_and_teams_they_may_read(w: &World) {
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let otters = w.owner.post("/teams", json!({ "name": "Otters" })).await.created();
        let ana = json!({ "first_name": "Ana" });
        w.owner.post(&hawks.path("/roster"), ana.clone()).await.created();
        w.owner.post(&otters.path("/roster"), ana).await.created();
        publish_notes(w, "account.updated", 1, "for everybody").await;
        let all_sequences = sequences(&w.owner.get("/notifications").await.ok());
        let seen = async |client: &Client, query: &str| {
            let page = client.get(&format!("/notifications{query}")).await.ok();
            assert_eq!(page_info(&page), (false, &json!(all_sequences.len())), "{query}");
            sequences(&page)
        };
        // Sees only notifications that need no scope, but still learns the newest sequence number.
        assert_eq!(seen(&w.bystander, "").await, [*all_sequences.last().unwrap()]);
        let key = |scopes: &str, create_teams: Option<&str>| {
            let team_ids = create_teams.map(|id| vec![id.parse().unwrap()]);
            touchline::accounts::api_key::NewKey { team_ids, ..new_key(scopes) }
        };
        let (_, teams_only) = w.client_with_key(key("webhooks:write teams:read", None)).await;
        assert_eq!(seen(&teams_only, "?type=team.created").await, [1, 2]);
        assert_eq!(seen(&teams_only, "?type=roster.*").await, Vec::<i64>::new());
        let (_, team_key) = w.client_with_key(key("webhooks:write teams:read roster:read", Some(hawks.id()))).await;
        let about_hawks = seen(&team_key, "").await;
        assert!(about_hawks.contains(&1) && !about_hawks.contains(&2));
        assert_eq!(about_hawks, seen(&w.owner, &format!("?team_id={}", hawks.id())).await);
        team_key.get(&format!("/notifications?team_id={}", otters.id())).await.assert_problem(404, "not_found");
        // The cache does not serve one caller's response to another.
        assert_eq!(seen(&w.owner, "").await, all_sequences);
        assert_eq!(seen(&w.bystander, "").await.len(), 1);
    }

    async fn pages_advance_past_hidden_entries(w: &World) {
        publish_notes(w, "team.updated", 2_300, "hidden").await;
        publish_notes(w, "account.updated", 1, "seen").await;
        let (mut after, mut requests) = (0, 0);
        loop {
            let page = w.bystander.get(&format!("/notifications?after={after}")).await.ok();
            requests += 1;
            let (more, next) = page_info(&page);
            after = next.as_i64().unwrap();
            if !more {
                assert_eq!(sequences(&page), [2_301]);
                break;
            }
            assert_eq!(sequences(&page), Vec::<i64>::new());
            assert!(page.body["next_cursor"].is_string());
        }
        assert_eq!((after, requests), (2_301, 3));
    }

    async fn concurrent_writes_leave_no_gaps_for_polling_clients(w: &World) {
        let writers = join_all((0..50).map(|writer| create_teams(&w.owner, writer, 10)));
        let polling = async {
            let (mut seen, mut after) = (Vec::new(), 0);
            while after < 500 {
                let page = w.owner.get(&format!("/notifications?limit=100&after={after}")).await.ok();
                let next = page_info(&page).1.as_i64().unwrap();
                if next == after {
                    // Stay within the request quota of a club, however long the writing takes.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                after = next;
                let bodies = page.data().as_array().unwrap().iter();
                seen.extend(bodies.map(|body| (body["sequence"].as_i64().unwrap(), body["data"]["object"]["id"].clone())));
            }
            seen
        };
        let (_, seen) = tokio::join!(writers, polling);
        assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (1..=500).collect::<Vec<_>>());
        let ids: std::collections::BTreeSet<_> = seen.iter().map(|(_, id)| id.to_string()).collect();
        assert_eq!(ids.len(), 500);
        assert_eq!(verify(w).await, None);
    }

    async fn long_transaction_does_not_block_other_accounts(w: &World) {
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (others_done, others_are_done) = std::sync::mpsc::channel();
        let slow = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            started.send(()).unwrap();
            let note = Note { text: "slow".to_owned() };
            tx.publish("account.updated", &note)?;
            // If the others had to wait for this transaction, this would time out.
            let concurrent = others_are_done.recv_timeout(seconds(20)).is_ok();
            tx.publish("account.updated", &note)?;
            Ok::<_, touchline::error::Error>(concurrent)
        });
        let other = async {
            has_started.await.unwrap();
            w.stranger.get("/notifications").await.ok();
            w.owner.get("/notifications").await.ok();
            if w.db().dialect() == Dialect::Postgres {
                create_team(&w.stranger, "Beside").await;
            }
            // The receiver may have timed out.
            let _ = others_done.send(());
        };
        let (concurrent, ()) = tokio::join!(slow, other);
        assert!(concurrent.unwrap(), "other requests had to wait");
        create_team(&w.stranger, "After").await;
        assert_eq!(verify(w).await, None);
    }

    async fn deletes_old_entries_and_the_log_still_verifies(w: &World) {
        publish_notes(w, "account.updated", 1_200, "old").await;
        w.advance_clock(DAY * 20);
        publish_notes(w, "account.updated", 3, "new").await;
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1_203);
        w.advance_clock(DAY * 11);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 3);
        assert_eq!(verify(w).await, None);
        assert_eq!(touchline::backup::verify_logs(w.db()).await, Ok(None));
        // A request for deleted entries reports where the log begins now.
        let gone = w.owner.get("/notifications?after=1199").await.assert_problem(410, "gone");
        assert!(gone.body["detail"].as_str().unwrap().contains("1201"), "{}", gone.text);
        w.owner.get("/notifications?after=1199&order=desc").await.assert_problem(410, "gone");
        assert_eq!(sequences(&w.owner.get("/notifications?after=1200").await.ok()), [1_201, 1_202, 1_203]);
        assert_eq!(sequences(&w.owner.get("/notifications").await.ok()), [1_201, 1_202, 1_203]);
        assert_eq!(sequences(&w.owner.get("/notifications?after=0&limit=1").await.ok()), [1_201]);
        team(w, "Hawks").await;
        // The newest entry is never deleted.
        w.advance_clock(DAY * 100);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        assert_eq!(verify(w).await, None);
        publish_notes(w, "account.updated", 3, "after").await;
        assert_eq!(verify(w).await, None);
        assert_eq!(run(w, "delete from notification where account_id = :account and sequence = 1206").await, 1);
        assert!(verify(w).await.unwrap().contains("gap"));
    }

    async fn keeps_undelivered_entries_longer_but_not_forever(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = subscribe(w, receiver.url(), Ordering::Parallel).await;
        publish_notes(w, "account.updated", 5, "waits").await;
        w.advance_clock(DAY * 31);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 5);
        w.deliver().await;
        assert_eq!(receiver.received().len(), 5);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        // A disabled webhook keeps nothing; an enabled one doubles the retention time.
        publish_notes(w, "account.updated", 5, "waits").await;
        disable(w, webhook).await;
        w.advance_clock(DAY * 31);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        run(w, "update webhook set status = 'enabled' where account_id = :account").await;
        publish_notes(w, "account.updated", 5, "waits").await;
        w.advance_clock(DAY * 31);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 5);
        w.advance_clock(DAY * 31);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        assert_eq!(verify(w).await, None);
    }

    async fn unsubscribed_webhook_does_not_delay_deletion(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let change = json!({ "events": ["order.paid"] });
        w.owner.patch(&format!("/webhooks/{webhook}"), change).await.ok();
        publish_notes(w, "account.updated", 5, "quiet").await;
        w.deliver().await;
        w.advance_clock(DAY * 31);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!((receiver.received().len(), w.count("notification").await), (0, 1));
    }

    async fn deletes_old_deliveries_unless_still_pending(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.queue_replies([200, 500, 200]);
        for name in ["A", "B", "C"] {
            team(w, name).await;
            w.deliver().await;
        }
        assert_eq!(w.count("delivery").await, 3);
        let hours = w.count("webhook_hour").await;
        assert!(hours > 0);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!((w.count("delivery").await, w.count("webhook_hour").await), (3, hours));
        w.advance_clock(DAY * 31);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!((w.count("delivery").await, w.count("webhook_hour").await), (1, 0));
        // Its notification is kept too, and is still delivered.
        w.deliver().await;
        assert_eq!(receiver.received().last().unwrap().sequence(), 2);
        assert_eq!(receiver.received().len(), 4);
        // Deliveries that will not be retried are deleted.
        receiver.queue_replies([500]);
        team(w, "D").await;
        w.deliver().await;
        w.advance_clock(DAY * 31);
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("delivery").await, 1);
        disable(w, webhook).await;
        jobs::delete_old_notifications(&w.node.app).await;
        assert_eq!(w.count("delivery").await, 0);
    }

    async fn erasing_a_person_clears_stored_responses(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        w.deliver().await;
        let reply = |text: &'static str| Reply { body: text.into(), ..Reply::from(200) };
        receiver.set_reply(reply("thanks for telling me of Zorblax"));
        let child = json!({ "first_name": "Zorblax" });
        let child = w.owner.post(&hawks.path("/roster"), child).await.created();
        w.deliver().await;
        receiver.set_reply(reply("thanks"));
        assert!(stored_attempts(w).await.contains("Zorblax"));
        let person = child.data()["person_id"].as_str().unwrap();
        w.owner.post(&format!("/people/{person}/erase"), json!({})).await.ok();
        let attempts = stored_attempts(w).await;
        assert!(!attempts.contains("Zorblax") && attempts.contains("200"), "{attempts}");
        w.deliver().await;
        assert!(receiver.received().last().unwrap().json().to_string().contains("Erased"));
    }

    async fn erasing_during_a_delivery_clears_its_response(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        w.deliver().await;
        let reply = |text: &'static str| Reply { body: text.into(), ..Reply::from(200) };
        receiver.queue_replies([reply("that was Zorblax")]);
        let hold = receiver.hold_replies();
        let child = w.owner.post(&hawks.path("/roster"), json!({ "first_name": "Zorblax" })).await.created();
        let person = child.data()["person_id"].as_str().unwrap();
        let ((), ()) = tokio::join!(w.deliver(), async {
            receiver.wait_for(2).await;
            w.owner.post(&format!("/people/{person}/erase"), json!({})).await.ok();
            drop(hold);
        });
        let attempts = stored_attempts(w).await;
        assert!(!attempts.contains("Zorblax") && attempts.contains("200"), "{attempts}");
    }
}

async fn create_team(client: &Client, name: &str) {
    client.post("/teams", json!({ "name": name })).await.created();
}

async fn disable(w: &World, id: WebhookId) {
    let reason = touchline::webhooks::webhook::Reason::Manual;
    let disable = move |tx: &store::Tx<'_>| touchline::webhooks::webhook::disable(tx, id, reason);
    w.db().write(Scope::account(w.harbour, "test"), disable).await.unwrap();
}

/// All stored responses of receivers.
async fn stored_attempts(w: &World) -> String {
    let rows: Vec<(String, Timestamp)> = w
        .db()
        .read(Scope::account(w.harbour, "test"), |db| {
            db.all(
                "select attempts, created_at from delivery where account_id = :account order by id",
                bind! {},
            )
        })
        .await
        .unwrap();
    rows.into_iter().map(|(attempts, _)| attempts).collect()
}
