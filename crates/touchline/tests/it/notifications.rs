//! Stories about the account's log: complete and in order for whoever asks, and kept as long as it is to be kept.

use std::time::Duration;

use futures_util::future::join_all;
use kit::Timestamp;
use serde::Serialize;
use store::{Dialect, Scope, bind};
use testkit::receiver::Reply;
use testkit::world::new_key;
use testkit::{Answer, Client, Receiver, Value, World, both, json, seconds};
use touchline::ids::WebhookId;
use touchline::jobs;
use touchline::signals::{self, Subject, Tell};
use touchline::webhooks::webhook::Ordering;

use crate::webhooks::{subscribe, team};

const DAY: Duration = Duration::from_secs(86_400);

/// Something to tell of.
#[derive(Serialize)]
pub(crate) struct Note {
    pub text: String,
}

impl Subject for Note {
    fn subject(&self) -> String {
        "note".to_owned()
    }
}

/// Tells something many times in one change.
pub(crate) async fn tell(w: &World, kind: &'static str, count: usize, text: &str) {
    let text = text.to_owned();
    let telling = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
        let note = Note { text };
        let notes: Vec<_> = (0..count).map(|_| (None, &note)).collect();
        tx.tell_all(kind, &notes)
    });
    telling.await.unwrap();
}

/// The numbers on a page.
fn numbers(page: &Answer) -> Vec<i64> {
    let rows = page.data().as_array().unwrap().iter();
    rows.map(|row| row["sequence"].as_i64().unwrap()).collect()
}

/// How a page says that one goes on.
fn on(page: &Answer) -> (bool, &Value) {
    (page.body["has_more"].as_bool().unwrap(), &page.body["next_after"])
}

async fn verify(w: &World) -> Option<String> {
    w.db().read(Scope::account(w.harbour, "test"), signals::verify).await.unwrap()
}

async fn run(w: &World, sql: &'static str) -> u64 {
    w.db().write(Scope::account(w.harbour, "test"), move |tx| tx.run(sql, bind! {})).await.unwrap()
}

/// Makes teams, a few at a time.
async fn teams(client: &Client, writer: usize, count: usize) {
    for n in 0..count {
        client.post("/teams", json!({ "name": format!("{writer} {n}") })).await.created();
    }
}

both! {
    async fn the_log_is_read_page_by_page_exactly_as_it_is_stored(w: &World) {
        for name in ["Ä", "B", "C", "D", "E"] {
            team(w, name).await;
        }
        let news = w.news().await;
        let first = w.owner.get("/notifications?limit=2").await.ok();
        assert_eq!(first.data(), &json!(news[..2]));
        assert_eq!(on(&first), (true, &json!(2)));
        let stored: (String,) = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.one("select body from notification where account_id = :account and sequence = 1", bind! {})
        }).await.unwrap();
        assert!(first.text.starts_with(&format!("{{\"data\":[{},", stored.0)), "{}", first.text);
        // By the cursor, by the address of the next page, or by the last number: all go on alike.
        let cursor = first.body["next_cursor"].as_str().unwrap();
        let second = w.owner.get(&format!("/notifications?limit=2&cursor={cursor}")).await.ok();
        let link = first.header("link").unwrap().split_once('>').unwrap().0.trim_start_matches('<');
        assert_eq!(w.owner.get(link).await.ok().data(), second.data());
        assert_eq!(numbers(&second), [3, 4]);
        let second = w.owner.get("/notifications?limit=3&after=2").await.ok();
        assert_eq!((numbers(&second), on(&second)), (vec![3, 4, 5], (false, &json!(5))));
        assert_eq!(second.body["next_cursor"], Value::Null);
        for (query, expected) in [("after=0", 5), ("after=5", 0), ("type=team.*", 5), ("type=event.*", 0), ("type=team.created&after=3", 2)] {
            let page = w.owner.get(&format!("/notifications?{query}")).await.ok();
            assert_eq!((numbers(&page).len(), on(&page).0), (expected, false), "{query}");
        }
        let beyond = w.owner.get("/notifications?after=6").await.refused(400, "invalid_parameter");
        assert!(beyond.body["detail"].as_str().unwrap().contains("ends with number 5"), "{}", beyond.body);
        // Whoever has come to the end goes on from there.
        team(w, "F").await;
        assert_eq!(numbers(&w.owner.get("/notifications?after=5").await.ok()), [6]);
        let last = w.owner.get("/notifications?order=desc&limit=4").await.ok();
        assert_eq!((numbers(&last), on(&last)), (vec![6, 5, 4, 3], (true, &Value::Null)));
        let cursor = last.body["next_cursor"].as_str().unwrap();
        let rest = w.owner.get(&format!("/notifications?order=desc&limit=4&cursor={cursor}")).await.ok();
        assert_eq!((numbers(&rest), on(&rest).0), (vec![2, 1], false));
        for query in ["after=-1", "after=01", "after=x", "after=9223372036854775808", "type=nonsense", "type=team", "limit=0", "sequence=1"] {
            w.owner.get(&format!("/notifications?{query}")).await.refused(400, "invalid_parameter");
        }
        w.owner.get("/notifications?cursor=x").await.refused(400, "invalid_cursor");
        w.reader.get("/notifications").await.refused(403, "insufficient_scope");
        w.nobody.get("/notifications").await.refused(401, "missing_credentials");
        assert_eq!(numbers(&w.stranger.get("/notifications").await.ok()), Vec::<i64>::new());
    }

    async fn callers_see_the_kinds_they_may_read_of_the_teams_they_reach(w: &World) {
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let otters = w.owner.post("/teams", json!({ "name": "Otters" })).await.created();
        let ana = json!({ "first_name": "Ana" });
        w.owner.post(&hawks.path("/roster"), ana.clone()).await.created();
        w.owner.post(&otters.path("/roster"), ana).await.created();
        tell(w, "account.updated", 1, "for everybody").await;
        let all = numbers(&w.owner.get("/notifications").await.ok());
        let seen = async |client: &Client, query: &str| {
            let page = client.get(&format!("/notifications{query}")).await.ok();
            assert_eq!(on(&page), (false, &json!(all.len())), "{query}");
            numbers(&page)
        };
        // Nothing but what needs no scope of its own; and still one learns how far it goes.
        assert_eq!(seen(&w.bystander, "").await, [*all.last().unwrap()]);
        let key = |scopes: &str, teams: Option<&str>| {
            let team_ids = teams.map(|id| vec![id.parse().unwrap()]);
            touchline::accounts::api_key::NewKey { team_ids, ..new_key(scopes) }
        };
        let (_, teams_only) = w.caller(key("webhooks:write teams:read", None)).await;
        assert_eq!(seen(&teams_only, "?type=team.created").await, [1, 2]);
        assert_eq!(seen(&teams_only, "?type=roster.*").await, Vec::<i64>::new());
        let (_, narrowed) = w.caller(key("webhooks:write teams:read roster:read", Some(hawks.id()))).await;
        let about_hawks = seen(&narrowed, "").await;
        assert!(about_hawks.contains(&1) && !about_hawks.contains(&2));
        assert_eq!(about_hawks, seen(&w.owner, &format!("?team_id={}", hawks.id())).await);
        narrowed.get(&format!("/notifications?team_id={}", otters.id())).await.refused(404, "not_found");
        // What one answer shows is not what the next caller gets for the same question.
        assert_eq!(seen(&w.owner, "").await, all);
        assert_eq!(seen(&w.bystander, "").await.len(), 1);
    }

    async fn whoever_sees_little_still_gets_on(w: &World) {
        tell(w, "team.updated", 2_300, "hidden").await;
        tell(w, "account.updated", 1, "seen").await;
        let (mut after, mut asked) = (0, 0);
        loop {
            let page = w.bystander.get(&format!("/notifications?after={after}")).await.ok();
            asked += 1;
            let (more, next) = on(&page);
            after = next.as_i64().unwrap();
            if !more {
                assert_eq!(numbers(&page), [2_301]);
                break;
            }
            assert_eq!(numbers(&page), Vec::<i64>::new());
            assert!(page.body["next_cursor"].is_string());
        }
        assert_eq!((after, asked), (2_301, 3));
    }

    async fn five_hundred_writes_at_once_leave_no_gap_and_nobody_who_polls_misses_one(w: &World) {
        let writers = join_all((0..50).map(|writer| teams(&w.owner, writer, 10)));
        let polling = async {
            let (mut seen, mut after) = (Vec::new(), 0);
            while after < 500 {
                let page = w.owner.get(&format!("/notifications?limit=100&after={after}")).await.ok();
                let next = on(&page).1.as_i64().unwrap();
                if next == after {
                    // So that it costs no more requests than a club has, however long the writing takes.
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

    async fn a_long_change_of_one_account_does_not_hold_up_another(w: &World) {
        let (begun, is_begun) = tokio::sync::oneshot::channel();
        let (others_done, others_are_done) = std::sync::mpsc::channel();
        let slow = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            begun.send(()).unwrap();
            let note = Note { text: "slow".to_owned() };
            tx.tell("account.updated", &note)?;
            // If they waited for this, it would have to give up waiting for them.
            let beside = others_are_done.recv_timeout(seconds(20)).is_ok();
            tx.tell("account.updated", &note)?;
            Ok::<_, touchline::error::Error>(beside)
        });
        let other = async {
            is_begun.await.unwrap();
            w.stranger.get("/notifications").await.ok();
            w.owner.get("/notifications").await.ok();
            if w.db().dialect() == Dialect::Postgres {
                team_of(&w.stranger, "Beside").await;
            }
            // Nobody hears it who has given up waiting.
            let _ = others_done.send(());
        };
        let (beside, ()) = tokio::join!(slow, other);
        assert!(beside.unwrap(), "others were held up");
        team_of(&w.stranger, "After").await;
        assert_eq!(verify(w).await, None);
    }

    async fn what_was_kept_long_enough_is_forgotten_and_the_log_still_proves_itself(w: &World) {
        tell(w, "account.updated", 1_200, "old").await;
        w.pass(DAY * 20);
        tell(w, "account.updated", 3, "new").await;
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1_203);
        w.pass(DAY * 11);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 3);
        assert_eq!(verify(w).await, None);
        assert_eq!(touchline::backup::check_journals(w.db()).await, Ok(None));
        // Whoever comes too late is told where the log begins now; the rest goes on as ever.
        let gone = w.owner.get("/notifications?after=1199").await.refused(410, "gone");
        assert!(gone.body["detail"].as_str().unwrap().contains("1201"), "{}", gone.text);
        w.owner.get("/notifications?after=1199&order=desc").await.refused(410, "gone");
        assert_eq!(numbers(&w.owner.get("/notifications?after=1200").await.ok()), [1_201, 1_202, 1_203]);
        assert_eq!(numbers(&w.owner.get("/notifications").await.ok()), [1_201, 1_202, 1_203]);
        assert_eq!(numbers(&w.owner.get("/notifications?after=0&limit=1").await.ok()), [1_201]);
        team(w, "Hawks").await;
        // The newest is never forgotten, however old.
        w.pass(DAY * 100);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        assert_eq!(verify(w).await, None);
        tell(w, "account.updated", 3, "after").await;
        assert_eq!(verify(w).await, None);
        assert_eq!(run(w, "delete from notification where account_id = :account and sequence = 1206").await, 1);
        assert!(verify(w).await.unwrap().contains("gap"));
    }

    async fn what_a_webhook_waits_for_is_kept_longer_but_not_for_ever(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = subscribe(w, receiver.url(), Ordering::Parallel).await;
        tell(w, "account.updated", 5, "waits").await;
        w.pass(DAY * 31);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 5);
        w.deliver().await;
        assert_eq!(receiver.received().len(), 5);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        // One that is off holds nothing up; one that is on does so only for as long again.
        tell(w, "account.updated", 5, "waits").await;
        disable(w, webhook).await;
        w.pass(DAY * 31);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        run(w, "update webhook set status = 'enabled' where account_id = :account").await;
        tell(w, "account.updated", 5, "waits").await;
        w.pass(DAY * 31);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 5);
        w.pass(DAY * 31);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("notification").await, 1);
        assert_eq!(verify(w).await, None);
    }

    async fn a_webhook_that_wants_nothing_of_it_holds_nothing_up(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let wish = json!({ "events": ["order.paid"] });
        w.owner.patch(&format!("/webhooks/{webhook}"), wish).await.ok();
        tell(w, "account.updated", 5, "quiet").await;
        w.deliver().await;
        w.pass(DAY * 31);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!((receiver.received().len(), w.count("notification").await), (0, 1));
    }

    async fn what_became_of_deliveries_is_forgotten_too_unless_they_are_still_on_their_way(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.next([200, 500, 200]);
        for name in ["A", "B", "C"] {
            team(w, name).await;
            w.deliver().await;
        }
        assert_eq!(w.count("delivery").await, 3);
        let hours = w.count("webhook_hour").await;
        assert!(hours > 0);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!((w.count("delivery").await, w.count("webhook_hour").await), (3, hours));
        w.pass(DAY * 31);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!((w.count("delivery").await, w.count("webhook_hour").await), (1, 0));
        // Its notification waits with it, and it still arrives.
        w.deliver().await;
        assert_eq!(receiver.received().last().unwrap().sequence(), 2);
        assert_eq!(receiver.received().len(), 4);
        // What nobody will try any more is not kept for ever.
        receiver.next([500]);
        team(w, "D").await;
        w.deliver().await;
        w.pass(DAY * 31);
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("delivery").await, 1);
        disable(w, webhook).await;
        jobs::forget_old_news(&w.node.app).await;
        assert_eq!(w.count("delivery").await, 0);
    }

    async fn an_erased_person_is_not_left_in_what_receivers_answered(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        w.deliver().await;
        let reply = |text: &'static str| Reply { body: text.into(), ..Reply::from(200) };
        receiver.always(reply("thanks for telling me of Zorblax"));
        let child = json!({ "first_name": "Zorblax" });
        let child = w.owner.post(&hawks.path("/roster"), child).await.created();
        w.deliver().await;
        receiver.always(reply("thanks"));
        assert!(answers(w).await.contains("Zorblax"));
        let person = child.data()["person_id"].as_str().unwrap();
        w.owner.post(&format!("/people/{person}/erase"), json!({})).await.ok();
        let answers = answers(w).await;
        assert!(!answers.contains("Zorblax") && answers.contains("200"), "{answers}");
        w.deliver().await;
        assert!(receiver.received().last().unwrap().json().to_string().contains("Erased"));
    }

    async fn a_person_who_is_erased_meanwhile_does_not_come_back_with_the_answer(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        w.deliver().await;
        let reply = |text: &'static str| Reply { body: text.into(), ..Reply::from(200) };
        receiver.next([reply("that was Zorblax")]);
        let held = receiver.hold();
        let child = w.owner.post(&hawks.path("/roster"), json!({ "first_name": "Zorblax" })).await.created();
        let person = child.data()["person_id"].as_str().unwrap();
        let ((), ()) = tokio::join!(w.deliver(), async {
            receiver.wait_for(2).await;
            w.owner.post(&format!("/people/{person}/erase"), json!({})).await.ok();
            drop(held);
        });
        let answers = answers(w).await;
        assert!(!answers.contains("Zorblax") && answers.contains("200"), "{answers}");
    }
}

async fn team_of(client: &Client, name: &str) {
    client.post("/teams", json!({ "name": name })).await.created();
}

async fn disable(w: &World, id: WebhookId) {
    let reason = touchline::webhooks::webhook::Reason::ByHand;
    let off = move |tx: &store::Tx<'_>| touchline::webhooks::webhook::disable(tx, id, reason);
    w.db().write(Scope::account(w.harbour, "test"), off).await.unwrap();
}

/// Everything receivers answered.
async fn answers(w: &World) -> String {
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
