//! Stories about webhooks over the API: how they are made, asked and changed, and what is shown of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kit::Timestamp;
use store::{Scope, bind};
use testkit::receiver::Received;
use testkit::{Answer, Client, Receiver, Value, World, both, json, seconds};
use touchline::webhooks::signature::Secret;

use crate::signin_attacks::dump;
use crate::standing::values;

/// The address of a webhook, or of something below it.
pub(crate) fn at(webhook: &Answer, below: &str) -> String {
    format!("/webhooks/{}{below}", webhook.id())
}

/// A webhook that is told these kinds.
pub(crate) async fn hook(client: &Client, receiver: &Receiver, events: &[&str]) -> Answer {
    let body = json!({ "url": receiver.url(), "events": events });
    client.post("/webhooks", body).await.created()
}

/// The kinds a receiver was told, in order.
pub(crate) fn told(receiver: &Receiver) -> Vec<String> {
    let kind = |one: &Received| one.json()["type"].as_str().unwrap().to_owned();
    receiver.received().iter().map(kind).collect()
}

/// The sequence numbers a receiver was told, in their order.
fn numbers(receiver: &Receiver) -> Vec<i64> {
    let mut numbers: Vec<_> = receiver.received().iter().map(Received::sequence).collect();
    numbers.sort_unstable();
    numbers
}

pub(crate) async fn team(w: &World, name: &str) -> String {
    let made = w.owner.post("/teams", json!({ "name": name })).await.created();
    made.id().to_owned()
}

/// The secret that an answer shows.
fn secret(answer: &Answer) -> Secret {
    let text = answer.data()["secret"].as_str().unwrap();
    let bytes = STANDARD.decode(text.strip_prefix("whsec_").unwrap()).unwrap();
    assert_eq!(bytes.len(), 32);
    Secret::from_bytes(bytes)
}

/// How many signatures a notification carries, and whether one of them was made with this secret.
fn signed(one: &Received, secret: &Secret) -> (usize, bool) {
    let seconds: i64 = one.header("webhook-timestamp").parse().unwrap();
    let at = Timestamp::from_micros(seconds * 1_000_000);
    let own = secret.sign(one.header("webhook-id"), at, &one.body);
    let all: Vec<_> = one.header("webhook-signature").split(' ').collect();
    (all.len(), all.contains(&own.as_str()))
}

/// The secret part of a secret, in every form in which it could lie somewhere.
fn forms(answer: &Answer) -> [String; 3] {
    let text = answer.data()["secret"].as_str().unwrap()[6..].to_owned();
    let bytes = STANDARD.decode(&text).unwrap();
    let listed = format!("{bytes:?}").trim_matches(['[', ']']).to_owned();
    [text, kit::secret::hex(&bytes), listed]
}

/// Forgets the beginning of Harbour's log.
async fn forget(w: &World, up_to: i64) {
    let text = "delete from notification where account_id = :account and sequence <= :up_to";
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| tx.run(text, bind! { up_to })).await.unwrap();
}

/// Addresses of T-HOOK 9 and 10.
const WRONG: &[&str] = &[
    "https://2130706433",
    "https://0x7f.1",
    "https://0177.0.0.1",
    "https://127.1",
    "https://①②⑦.⓪.⓪.①",
    "https://0",
    "https://[::]",
    "https://[::1]",
    "https://[::ffff:127.0.0.1]",
    "https://[::127.0.0.1]",
    "https://[64:ff9b::7f00:1]",
    "https://[2002:7f00:1::]",
    "https://[2001:0:7f00:1::]",
    "https://[fec0::1]",
    "https://[fd00:ec2::254]",
    "https://user:pass@hooks.example.org",
    "https://hooks.example.org:22",
    "https://hooks.example.org:6379",
    "ftp://hooks.example.org",
    "file:///etc/passwd",
    "https://hooks.example.org/#there",
    "https://hooks.exa\tmple.org",
    "https://hooks.exa\nmple.org",
    "https://example.com\\@127.0.0.1",
    "http://hooks.example.org",
    "https://localhost",
    "https://localhost.",
    "https://169.254.169.254/latest",
    "",
    "hooks",
];

both! {
    async fn the_secret_is_shown_once(w: &World) {
        let receiver = Receiver::start().await;
        let body = json!({ "url": receiver.url(), "events": ["team.*", "team.*"], "description": "Ours" });
        let once = w.owner.with("Idempotency-Key", "once");
        let made = once.post("/webhooks", body.clone()).await.created();
        assert!(made.header("location").unwrap().ends_with(&format!("/webhooks/{}", made.id())));
        let shown = made.data();
        assert_eq!((&shown["object"], &shown["status"], &shown["ordering"]), (&json!("webhook"), &json!("enabled"), &json!("parallel")));
        assert_eq!((&shown["events"], &shown["team_ids"]), (&json!(["team.*"]), &json!(null)));
        assert!(shown["created_by"].as_str().unwrap().starts_with("key_"));
        let again = once.post("/webhooks", body).await.created();
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!((again.id(), again.data().get("secret")), (made.id(), None));

        let new = w.owner.with("Idempotency-Key", "new").post(&at(&made, "/rotate_secret"), json!({})).await.ok();
        assert_ne!(new.data()["secret"], made.data()["secret"]);
        assert_eq!((new.header("etag"), &new.data()["version"]), (Some("\"2\""), &json!(2)));
        let again = w.owner.with("Idempotency-Key", "new").post(&at(&made, "/rotate_secret"), json!({})).await.ok();
        assert_eq!((again.data().get("secret"), &again.data()["version"]), (None, &json!(2)));

        for path in [at(&made, ""), "/webhooks".to_owned(), at(&made, "/deliveries")] {
            let read = w.owner.get(&path).await.ok();
            assert!(!read.text.contains("whsec_") && !read.text.contains("\"secret\""), "{}", read.text);
        }
        let changed = w.owner.patch(&at(&made, ""), json!({ "description": null })).await.ok();
        assert!(!changed.text.contains("whsec_") && changed.data()["description"].is_null());
        let dump = dump(w.db()).await;
        assert!(dump.contains("webhook.secret_rotated"));
        for form in forms(&made).iter().chain(&forms(&new)) {
            assert!(!dump.contains(form.as_str()), "a secret lies in the database");
        }
    }

    async fn only_public_addresses_are_taken(w: &World) {
        let node = w.node(|config| config.webhook_allow_cidrs.clear()).await;
        let owner = w.owner.at(node.address);
        let good = json!({ "url": "https://hooks.example.org/a", "events": ["*"] });
        let made = owner.post("/webhooks", good).await.created();
        for url in ["http://192.168.1.7/hook", "https://10.0.0.1", "https://localhost:8443"] {
            let refused = owner.post("/webhooks", json!({ "url": url, "events": ["*"] })).await;
            let refused = refused.refused(422, "validation_failed");
            let detail = refused.body["errors"][0]["detail"].as_str().unwrap();
            assert!(detail.contains("TOUCHLINE_WEBHOOK_ALLOW_CIDRS") && detail.contains("192.168.1.0/24"), "{detail}");
        }
        for url in WRONG {
            let new = owner.post("/webhooks", json!({ "url": url, "events": ["*"] })).await;
            assert_eq!(new.refused(422, "validation_failed").pointers(), ["/url"], "{url}");
            let change = owner.patch(&at(&made, ""), json!({ "url": url })).await;
            assert_eq!(change.refused(422, "validation_failed").pointers(), ["/url"], "{url}");
        }
        let kept = owner.get(&at(&made, "")).await.ok();
        assert_eq!((&kept.data()["url"], &kept.data()["version"]), (&json!("https://hooks.example.org/a"), &json!(1)));
        assert_eq!(owner.get("/webhooks").await.ok().data().as_array().unwrap().len(), 1);
        node.stop().await;
        // Where the operator allows this machine, what happens here is still not told to here.
        let own = json!({ "url": format!("http://{}/api", w.node.address), "events": ["*"] });
        assert_eq!(w.owner.post("/webhooks", own).await.refused(422, "validation_failed").pointers(), ["/url"]);
    }

    async fn every_fault_of_a_body_is_told(w: &World) {
        let refused = w.owner.post("/webhooks", json!({})).await.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/url", "/events"]);
        let body = json!({ "url": "https://hooks.example.org", "events": ["team.created", "team.flown", "tea*", "ping.*"] });
        let refused = w.owner.post("/webhooks", body).await.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/events/1", "/events/2", "/events/3"]);
        let none = json!({ "url": "https://hooks.example.org", "events": [] });
        assert_eq!(w.owner.post("/webhooks", none).await.refused(422, "validation_failed").pointers(), ["/events"]);
        let body = json!({ "url": "https://hooks.example.org", "events": ["*"], "ordering": "none", "team_ids": ["team_x"], "secret": "x" });
        let refused = w.owner.post("/webhooks", body).await.refused(400, "invalid_parameter");
        assert_eq!(refused.pointers(), ["/team_ids/0", "/ordering", "/secret"]);
        let body = json!({ "url": "https://hooks.example.org", "events": ["*"], "team_ids": ["team_01kbm2x5q8f7vr0n3hd9tzc4wy"] });
        assert_eq!(w.owner.post("/webhooks", body).await.refused(422, "validation_failed").pointers(), ["/team_ids"]);
        let body = json!({ "url": "ftp://x", "events": ["team.flown"], "team_ids": ["team_01kbm2x5q8f7vr0n3hd9tzc4wy"] });
        let refused = w.owner.post("/webhooks", body.clone()).await.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/url", "/events/0", "/team_ids"]);
        let made = w.owner.post("/webhooks", json!({ "url": "https://hooks.example.org", "events": ["*"] })).await.created();
        assert_eq!(w.owner.patch(&at(&made, ""), body).await.refused(422, "validation_failed").pointers(), ["/url", "/events/0", "/team_ids"]);
        let none = json!({ "url": "https://hooks.example.org", "events": ["*"], "team_ids": [] });
        assert_eq!(w.owner.post("/webhooks", none).await.refused(422, "validation_failed").pointers(), ["/team_ids"]);
    }

    async fn a_webhook_is_changed_as_it_was_expected(w: &World) {
        let (first, second) = (Receiver::start().await, Receiver::start().await);
        let made = hook(&w.owner, &first, &["team.created"]).await;
        assert_eq!(made.header("etag"), Some("\"1\""));
        let body = json!({ "url": second.url(), "events": ["team.archived"], "ordering": "strict" });
        w.owner.with("If-Match", "\"7\"").patch(&at(&made, ""), body.clone()).await.refused(412, "precondition_failed");
        w.owner.with("If-Match", "\"7\"").post(&at(&made, "/test"), json!({})).await.refused(412, "precondition_failed");
        let changed = w.owner.with("If-Match", "\"1\"").patch(&at(&made, ""), body).await.ok();
        assert_eq!((&changed.data()["ordering"], changed.header("etag")), (&json!("strict"), Some("\"2\"")));
        let same = w.owner.patch(&at(&made, ""), json!({ "ordering": "strict" })).await.ok();
        assert_eq!(same.data()["version"], 2);
        let read = w.owner.with("If-None-Match", "\"2\"").get(&at(&made, "")).await;
        assert_eq!(read.status, 304);
        let hawks = team(w, "Hawks").await;
        w.owner.delete(&format!("/teams/{hawks}")).await.ok();
        w.deliver().await;
        assert_eq!((told(&first).len(), told(&second)), (0, vec!["team.archived".to_owned()]));
    }

    async fn a_test_is_signed_and_seen(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["team.created"]).await;
        let test = w.owner.post(&at(&made, "/test"), json!({})).await.created();
        assert!(test.header("location").unwrap().ends_with(&format!("/deliveries/{}", test.id())));
        assert_eq!((&test.data()["status"], &test.data()["type"], &test.data()["sequence"]), (&json!("pending"), &json!("ping"), &json!(null)));
        let place = format!("/deliveries/{}", test.id());
        assert_eq!(w.owner.get(&place).await.ok().header("etag"), test.header("etag"));
        w.deliver().await;
        let pings = receiver.received();
        assert_eq!((pings.len(), signed(&pings[0], &secret(&made))), (1, (1, true)));
        assert_eq!(pings[0].json()["data"]["object"], json!({ "object": "ping", "webhook_id": made.id() }));
        let seen = w.owner.get(&place).await.ok();
        assert_eq!((&seen.data()["status"], &seen.data()["attempts"][0]["status_code"]), (&json!("succeeded"), &json!(200)));
        assert_ne!(seen.header("etag"), test.header("etag"));
        assert!(w.news().await.is_empty(), "a test stands in no log");
    }

    async fn whoever_subscribes_to_tests_alone_is_told_nothing_else(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["ping"]).await;
        team(w, "Hawks").await;
        w.owner.post(&at(&made, "/test"), json!({})).await.created();
        w.deliver().await;
        assert_eq!(told(&receiver), ["ping"]);
    }

    async fn both_secrets_sign_for_a_day(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        let rotated = w.owner.post(&at(&made, "/rotate_secret"), json!({})).await.ok();
        let (old, new) = (secret(&made), secret(&rotated));
        assert_eq!(rotated.data()["previous_secret_until"], "2026-09-06T10:00:00.000000Z");
        for (after, signatures) in [(0, 2), (24 * 3600 - 1, 2), (1, 1)] {
            w.pass(seconds(after));
            team(w, &format!("Team {after}")).await;
            w.deliver().await;
            let last = receiver.received().pop().unwrap();
            assert_eq!(signed(&last, &new), (signatures, true), "after {after} s");
            assert_eq!(signed(&last, &old), (signatures, signatures == 2), "after {after} s");
        }
    }

    async fn each_secret_signs_until_its_own_day_is_over(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        let rotate = async || w.owner.post(&at(&made, "/rotate_secret"), json!({})).await;
        let mut secrets = vec![secret(&made)];
        for _ in 0..4 {
            secrets.push(secret(&rotate().await.ok()));
            w.pass(seconds(3600));
        }
        rotate().await.refused(409, "invalid_state");
        for (after, signatures) in [(0, 5), (20 * 3600 - 1, 5), (1, 4), (3 * 3600, 1)] {
            w.pass(seconds(after));
            team(w, &format!("Team {after}")).await;
            w.deliver().await;
            let last = receiver.received().pop().unwrap();
            for (place, secret) in secrets.iter().rev().enumerate() {
                assert_eq!(signed(&last, secret), (signatures, place < signatures), "after {after} s, {place}");
            }
        }
        rotate().await.ok();
    }

    async fn a_part_of_the_log_is_told_again(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["team.created"]).await;
        let replay = at(&made, "/replay");
        w.owner.post(&replay, json!({ "from_sequence": 1 })).await.refused(422, "validation_failed");
        for n in 1..=6 {
            team(w, &format!("Team {n}")).await;
            w.pass(seconds(60));
        }
        w.deliver().await;
        let first: Vec<_> = receiver.received();
        assert_eq!(numbers(&receiver), [1, 2, 3, 4, 5, 6]);

        let asked = w.owner.post(&replay, json!({ "from_sequence": 2, "to_sequence": 3 })).await;
        assert_eq!(asked.status, 202, "{}", asked.text);
        let wanted = json!({ "object": "replay", "webhook_id": made.id(), "from_sequence": 2, "to_sequence": 3, "only_missed": false });
        assert_eq!(*asked.data(), wanted);
        w.owner.post(&replay, json!({ "from_sequence": 1 })).await.refused(409, "conflict");
        w.deliver().await;
        assert_eq!(numbers(&receiver), [1, 2, 2, 3, 3, 4, 5, 6]);
        let again = &receiver.received()[6..];
        assert!(again.iter().all(|one| first.iter().any(|before| before.body == one.body)));

        let part = json!({ "since": "2026-09-05T10:04:00Z", "until": "2026-09-05T10:05:00Z" });
        assert_eq!(w.owner.post(&replay, part).await.data()["from_sequence"], 5);
        w.deliver().await;
        assert_eq!(numbers(&receiver), [1, 2, 2, 3, 3, 4, 5, 5, 6]);
        // Everything arrived: there is nothing that was missed.
        let missed = json!({ "since": "2026-09-05T10:00:00Z", "only_missed": true });
        assert_eq!(w.owner.post(&replay, missed).await.status, 202);
        w.deliver().await;
        assert_eq!(receiver.received().len(), 9);

        forget(w, 2).await;
        w.owner.post(&replay, json!({ "from_sequence": 2, "to_sequence": 3 })).await.refused(410, "gone");
        w.owner.post(&replay, json!({ "since": "2026-09-05T10:00:00Z" })).await.refused(410, "gone");
        assert_eq!(w.owner.post(&replay, json!({ "from_sequence": 3, "to_sequence": 3 })).await.status, 202);
    }

    async fn a_replay_says_what_it_means(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        let (early, late) = ("2026-09-05T10:00:00Z", "2026-09-05T11:00:00Z");
        for (body, pointer) in [
            (json!({}), "/from_sequence"),
            (json!({ "to_sequence": 3 }), "/from_sequence"),
            (json!({ "from_sequence": 1, "since": early }), "/since"),
            (json!({ "from_sequence": 1, "until": late }), "/until"),
            (json!({ "since": early, "to_sequence": 2 }), "/to_sequence"),
            (json!({ "from_sequence": 3, "to_sequence": 2 }), "/to_sequence"),
            (json!({ "since": late, "until": early }), "/until"),
            (json!({ "from_sequence": 0 }), "/from_sequence"),
            (json!({ "since": "soon" }), "/since"),
            (json!({ "from_sequence": 1, "only_missed": "yes" }), "/only_missed"),
            (json!({ "from_sequence": 900 }), ""),
        ] {
            let refused = w.owner.post(&at(&made, "/replay"), body).await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{}", refused.text);
        }
    }

    async fn what_was_passed_over_while_it_was_off_is_missed_too(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["team.created"]).await;
        team(w, "Heard").await;
        w.deliver().await;
        w.owner.post(&at(&made, "/disable"), json!({})).await.ok();
        team(w, "Missed").await;
        w.owner.post(&at(&made, "/enable"), json!({ "replay_missed": false })).await.ok();
        w.deliver().await;
        let missed = json!({ "from_sequence": 1, "only_missed": true });
        assert_eq!(w.owner.post(&at(&made, "/replay"), missed).await.status, 202);
        w.deliver().await;
        let names: Vec<_> = receiver.received().iter().map(|one| one.json()["data"]["object"]["name"].clone()).collect();
        assert_eq!(names, ["Heard", "Missed"]);
    }

    async fn what_is_told_again_is_what_is_wanted_now(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["team.archived"]).await;
        team(w, "Hawks").await;
        w.deliver().await;
        w.owner.patch(&at(&made, ""), json!({ "events": ["team.*"] })).await.ok();
        w.deliver().await;
        assert!(told(&receiver).is_empty(), "a new wish is about what comes");
        assert_eq!(w.owner.post(&at(&made, "/replay"), json!({ "from_sequence": 1 })).await.status, 202);
        w.deliver().await;
        assert_eq!(told(&receiver), ["team.created"]);
    }

    async fn deliveries_are_listed_and_delivered_once_more(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        receiver.next([500, 200, 200]);
        let hawks = team(w, "Hawks").await;
        w.deliver().await;
        w.owner.patch(&format!("/teams/{hawks}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        team(w, "Otters").await;
        w.deliver().await;
        let list = at(&made, "/deliveries");
        let all = w.owner.get(&list).await.ok();
        assert_eq!(values(&all, "type"), ["team.created", "team.updated", "team.created"]);
        assert_eq!(values(&all, "status"), ["succeeded", "succeeded", "pending"]);
        let failed = &all.data()[2];
        assert_eq!((&failed["attempts"][0]["status_code"], &failed["attempts"][0]["error"]), (&json!(500), &json!("refused")));
        assert!(failed["next_attempt_at"].is_string() && failed["finished_at"].is_null());
        let ids = |answer: &Answer| values(answer, "id").into_iter().cloned().collect::<Vec<Value>>();
        assert_eq!(ids(&w.owner.get(&format!("{list}?status=pending")).await.ok()), [failed["id"].clone()]);
        assert_eq!(values(&w.owner.get(&format!("{list}?status=failed")).await.ok(), "id").len(), 0);
        assert_eq!(values(&w.owner.get(&format!("{list}?type=team.updated")).await.ok(), "id").len(), 1);
        w.owner.get(&format!("{list}?status=lost")).await.refused(400, "invalid_parameter");
        for (wish, many) in [("team.*", 3), ("*", 3), ("event.*", 0), ("ping", 0)] {
            assert_eq!(values(&w.owner.get(&format!("{list}?type={wish}")).await.ok(), "id").len(), many, "{wish}");
        }
        for odd in ["team", "te*", "team.create_", "%25"] {
            w.owner.get(&format!("{list}?type={odd}")).await.refused(400, "invalid_parameter");
        }
        let mut paged = Vec::new();
        let mut next = format!("{list}?limit=1");
        loop {
            let page = w.owner.get(&next).await.ok();
            paged.extend(ids(&page));
            let Some(cursor) = page.body["next_cursor"].as_str() else { break };
            next = format!("{list}?limit=1&cursor={cursor}");
        }
        assert_eq!(paged, ids(&all));

        let first = format!("/deliveries/{}", failed["id"].as_str().unwrap());
        let again = w.owner.post(&format!("{first}/redeliver"), json!({})).await.ok();
        assert_eq!((&again.data()["status"], &again.data()["version"]), (&json!("pending"), &json!(2)));
        w.deliver().await;
        let seen = w.owner.get(&first).await.ok();
        assert_eq!((&seen.data()["status"], seen.data()["attempts"].as_array().unwrap().len()), (&json!("succeeded"), 2));
        // What arrived can be asked for too: it comes under the same id.
        w.owner.post(&format!("{first}/redeliver"), json!({})).await.ok();
        w.deliver().await;
        let received = receiver.received();
        assert_eq!(received.len(), 5);
        assert_eq!((&received[4].body, received[4].header("webhook-id")), (&received[0].body, received[0].header("webhook-id")));
    }

    async fn what_was_missed_is_told_or_not(w: &World) {
        let (all, rest) = (Receiver::start().await, Receiver::start().await);
        let hooks = [hook(&w.owner, &all, &["team.created"]).await, hook(&w.owner, &rest, &["team.created"]).await];
        for made in &hooks {
            w.owner.post(&at(made, "/enable"), json!({})).await.refused(409, "invalid_state");
            let off = w.owner.post(&at(made, "/disable"), json!({})).await.ok();
            assert_eq!((&off.data()["status"], &off.data()["disabled_reason"]), (&json!("disabled"), &json!("by_hand")));
            w.owner.post(&at(made, "/disable"), json!({})).await.refused(409, "invalid_state");
            w.owner.post(&at(made, "/test"), json!({})).await.refused(409, "invalid_state");
            w.owner.post(&at(made, "/replay"), json!({ "from_sequence": 1 })).await.refused(409, "invalid_state");
        }
        assert_eq!(values(&w.owner.get("/webhooks?status=disabled").await.ok(), "id").len(), 2);
        assert_eq!(values(&w.owner.get("/webhooks?status=enabled").await.ok(), "id").len(), 0);
        team(w, "Missed").await;
        w.deliver().await;
        assert_eq!((told(&all).len(), told(&rest).len()), (0, 0));
        let on = w.owner.send("POST", &at(&hooks[0], "/enable"), None).await.ok();
        assert_eq!((&on.data()["status"], &on.data()["disabled_reason"]), (&json!("enabled"), &json!(null)));
        w.owner.post(&at(&hooks[1], "/enable"), json!({ "replay_missed": false })).await.ok();
        team(w, "Heard").await;
        w.deliver().await;
        let names = |receiver: &Receiver| receiver.received().iter().map(|one| one.json()["data"]["object"]["name"].clone()).collect::<Vec<_>>();
        assert_eq!((names(&all), names(&rest)), (vec![json!("Missed"), json!("Heard")], vec![json!("Heard")]));
    }

    async fn what_is_deleted_is_not_tried_again(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        receiver.always(500);
        team(w, "Hawks").await;
        w.deliver().await;
        let pending = w.owner.get(&at(&made, "/deliveries")).await.ok();
        let delivery = format!("/deliveries/{}", pending.data()[0]["id"].as_str().unwrap());
        w.owner.with("If-Match", "\"9\"").delete(&at(&made, "")).await.refused(412, "precondition_failed");
        assert_eq!(w.count("delivery").await, 1);
        assert_eq!(w.owner.delete(&at(&made, "")).await.ok().id(), made.id());
        assert_eq!(w.count("delivery").await, 0);
        w.pass(seconds(3600));
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        for place in [at(&made, ""), at(&made, "/deliveries"), delivery] {
            w.owner.get(&place).await.refused(404, "not_found");
        }
        w.owner.delete(&at(&made, "")).await.refused(404, "not_found");
    }
}
