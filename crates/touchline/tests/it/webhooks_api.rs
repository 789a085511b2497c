//! Tests of the webhook API: creation, changes, tests, replays and deliveries.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kit::Timestamp;
use store::{Scope, bind};
use testkit::receiver::ReceivedRequest;
use testkit::{Client, Receiver, TestResponse, Value, World, both, json, seconds};
use touchline::webhooks::signature::Secret;

use crate::roster_access::field_values;
use crate::signin_attacks::dump;

/// The API path of a webhook, or of something below it.
pub(crate) fn webhook_path(webhook: &TestResponse, below: &str) -> String {
    format!("/webhooks/{}{below}", webhook.id())
}

/// Creates a webhook that subscribes to these event types.
pub(crate) async fn create_webhook(
    client: &Client,
    receiver: &Receiver,
    events: &[&str],
) -> TestResponse {
    let body = json!({ "url": receiver.url(), "events": events });
    client.post("/webhooks", body).await.created()
}

/// The event types that a receiver got, in order.
pub(crate) fn received_event_types(receiver: &Receiver) -> Vec<String> {
    let event_type =
        |delivery: &ReceivedRequest| delivery.json()["type"].as_str().unwrap().to_owned();
    receiver.received().iter().map(event_type).collect()
}

/// The sequence numbers that a receiver got, sorted.
fn sorted_sequences(receiver: &Receiver) -> Vec<i64> {
    let mut sorted_sequences: Vec<_> =
        receiver.received().iter().map(ReceivedRequest::sequence).collect();
    sorted_sequences.sort_unstable();
    sorted_sequences
}

pub(crate) async fn team(w: &World, name: &str) -> String {
    let team = w.owner.post("/teams", json!({ "name": name })).await.created();
    team.id().to_owned()
}

/// The secret in a response.
fn secret(answer: &TestResponse) -> Secret {
    let text = answer.data()["secret"].as_str().unwrap();
    let bytes = STANDARD.decode(text.strip_prefix("whsec_").unwrap()).unwrap();
    assert_eq!(bytes.len(), 32);
    Secret::from_bytes(bytes)
}

/// The number of signatures of a delivery, and whether one of them is by this secret.
fn check_signature(delivery: &ReceivedRequest, secret: &Secret) -> (usize, bool) {
    let seconds: i64 = delivery.header("webhook-timestamp").parse().unwrap();
    let timestamp = Timestamp::from_micros(seconds * 1_000_000);
    let expected = secret.sign(delivery.header("webhook-id"), timestamp, &delivery.body);
    let signatures: Vec<_> = delivery.header("webhook-signature").split(' ').collect();
    (signatures.len(), signatures.contains(&expected.as_str()))
}

/// The secret part of a secret, in every encoding in which it could be stored.
fn secret_encodings(answer: &TestResponse) -> [String; 3] {
    let text = answer.data()["secret"].as_str().unwrap()[6..].to_owned();
    let bytes = STANDARD.decode(&text).unwrap();
    let bytes_text = format!("{bytes:?}").trim_matches(['[', ']']).to_owned();
    [text, kit::secret::hex(&bytes), bytes_text]
}

/// Deletes the beginning of Harbour's log.
async fn delete_log_until(w: &World, up_to: i64) {
    let text = "delete from notification where account_id = :account and sequence <= :up_to";
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| tx.execute(text, bind! { up_to })).await.unwrap();
}

/// URLs that must be rejected: invalid, not public, not `https`, or ambiguous to parsers.
const INVALID_URLS: &[&str] = &[
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
    async fn shows_the_secret_once(w: &World) {
        let receiver = Receiver::start().await;
        let body = json!({ "url": receiver.url(), "events": ["team.*", "team.*"], "description": "Ours" });
        let with_key = w.owner.with_header("Idempotency-Key", "once");
        let webhook = with_key.post("/webhooks", body.clone()).await.created();
        assert!(webhook.header("location").unwrap().ends_with(&format!("/webhooks/{}", webhook.id())));
        let data = webhook.data();
        assert_eq!((&data["object"], &data["status"], &data["ordering"]), (&json!("webhook"), &json!("enabled"), &json!("parallel")));
        assert_eq!((&data["events"], &data["team_ids"]), (&json!(["team.*"]), &json!(null)));
        assert!(data["created_by"].as_str().unwrap().starts_with("key_"));
        let replayed = with_key.post("/webhooks", body).await.created();
        assert_eq!((replayed.header("idempotent-replayed"), replayed.data()), (Some("true"), webhook.data()));

        let rotated = w.owner.with_header("Idempotency-Key", "new").post(&webhook_path(&webhook, "/rotate_secret"), json!({})).await.ok();
        assert_ne!(rotated.data()["secret"], webhook.data()["secret"]);
        assert_eq!((rotated.header("etag"), &rotated.data()["version"]), (Some("\"2\""), &json!(2)));
        let rotate_again = async || w.owner.with_header("Idempotency-Key", "new").post(&webhook_path(&webhook, "/rotate_secret"), json!({})).await.ok();
        assert_eq!(rotate_again().await.data(), rotated.data());

        for path in [webhook_path(&webhook, ""), "/webhooks".to_owned(), webhook_path(&webhook, "/deliveries")] {
            let read = w.owner.get(&path).await.ok();
            assert!(!read.text.contains("whsec_") && !read.text.contains("\"secret\""), "{}", read.text);
        }
        let changed = w.owner.patch(&webhook_path(&webhook, ""), json!({ "description": null })).await.ok();
        assert!(!changed.text.contains("whsec_") && changed.data()["description"].is_null());
        let dump = dump(w.db()).await;
        assert!(dump.contains("webhook.secret_rotated"));
        for form in secret_encodings(&webhook).iter().chain(&secret_encodings(&rotated)) {
            assert!(!dump.contains(form.as_str()), "a secret is in the database");
        }
    }

    async fn accepts_only_public_urls(w: &World) {
        let node = w.node(|config| config.webhook_allow_cidrs.clear()).await;
        let owner = w.owner.at(node.address);
        let valid = json!({ "url": "https://hooks.example.org/a", "events": ["*"] });
        let webhook = owner.post("/webhooks", valid).await.created();
        for url in ["http://192.168.1.7/hook", "https://10.0.0.1", "https://localhost:8443"] {
            let refused = owner.post("/webhooks", json!({ "url": url, "events": ["*"] })).await;
            let refused = refused.assert_problem(422, "validation_failed");
            let detail = refused.body["errors"][0]["detail"].as_str().unwrap();
            assert!(detail.contains("TOUCHLINE_WEBHOOK_ALLOW_CIDRS") && detail.contains("192.168.1.0/24"), "{detail}");
        }
        for url in INVALID_URLS {
            let new = owner.post("/webhooks", json!({ "url": url, "events": ["*"] })).await;
            assert_eq!(new.assert_problem(422, "validation_failed").pointers(), ["/url"], "{url}");
            let change = owner.patch(&webhook_path(&webhook, ""), json!({ "url": url })).await;
            assert_eq!(change.assert_problem(422, "validation_failed").pointers(), ["/url"], "{url}");
        }
        let unchanged = owner.get(&webhook_path(&webhook, "")).await.ok();
        assert_eq!((&unchanged.data()["url"], &unchanged.data()["version"]), (&json!("https://hooks.example.org/a"), &json!(1)));
        assert_eq!(owner.get("/webhooks").await.ok().data().as_array().unwrap().len(), 1);
        node.stop().await;
        // Even if the operator allows this machine, the service itself is refused.
        let own_url = json!({ "url": format!("http://{}/api", w.node.address), "events": ["*"] });
        assert_eq!(w.owner.post("/webhooks", own_url).await.assert_problem(422, "validation_failed").pointers(), ["/url"]);
    }

    async fn reports_all_errors_of_a_body(w: &World) {
        let refused = w.owner.post("/webhooks", json!({})).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/url", "/events"]);
        let body = json!({ "url": "https://hooks.example.org", "events": ["team.created", "team.flown", "tea*", "ping.*"] });
        let refused = w.owner.post("/webhooks", body).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/events/1", "/events/2", "/events/3"]);
        let empty = json!({ "url": "https://hooks.example.org", "events": [] });
        assert_eq!(w.owner.post("/webhooks", empty).await.assert_problem(422, "validation_failed").pointers(), ["/events"]);
        let body = json!({ "url": "https://hooks.example.org", "events": ["*"], "ordering": "none", "team_ids": ["team_x"], "secret": "x" });
        let refused = w.owner.post("/webhooks", body).await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.pointers(), ["/secret", "/team_ids/0", "/ordering"]);
        let body = json!({ "url": "https://hooks.example.org", "events": ["*"], "team_ids": ["team_01kbm2x5q8f7vr0n3hd9tzc4wy"] });
        assert_eq!(w.owner.post("/webhooks", body).await.assert_problem(422, "validation_failed").pointers(), ["/team_ids/0"]);
        let body = json!({ "url": "ftp://x", "events": ["team.flown"], "team_ids": ["team_01kbm2x5q8f7vr0n3hd9tzc4wy"] });
        let refused = w.owner.post("/webhooks", body.clone()).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/url", "/events/0", "/team_ids/0"]);
        let webhook = w.owner.post("/webhooks", json!({ "url": "https://hooks.example.org", "events": ["*"] })).await.created();
        assert_eq!(w.owner.patch(&webhook_path(&webhook, ""), body).await.assert_problem(422, "validation_failed").pointers(), ["/url", "/events/0", "/team_ids/0"]);
        let empty = json!({ "url": "https://hooks.example.org", "events": ["*"], "team_ids": [] });
        assert_eq!(w.owner.post("/webhooks", empty).await.assert_problem(422, "validation_failed").pointers(), ["/team_ids"]);
    }

    async fn updates_a_webhook_with_matching_etag(w: &World) {
        let (first, second) = (Receiver::start().await, Receiver::start().await);
        let webhook = create_webhook(&w.owner, &first, &["team.created"]).await;
        assert_eq!(webhook.header("etag"), Some("\"1\""));
        let body = json!({ "url": second.url(), "events": ["team.archived"], "ordering": "strict" });
        w.owner.with_header("If-Match", "\"7\"").patch(&webhook_path(&webhook, ""), body.clone()).await.assert_problem(412, "precondition_failed");
        w.owner.with_header("If-Match", "\"7\"").post(&webhook_path(&webhook, "/test"), json!({})).await.assert_problem(412, "precondition_failed");
        let changed = w.owner.with_header("If-Match", "\"1\"").patch(&webhook_path(&webhook, ""), body).await.ok();
        assert_eq!((&changed.data()["ordering"], changed.header("etag")), (&json!("strict"), Some("\"2\"")));
        let same = w.owner.patch(&webhook_path(&webhook, ""), json!({ "ordering": "strict" })).await.ok();
        assert_eq!(same.data()["version"], 2);
        let read = w.owner.with_header("If-None-Match", "\"2\"").get(&webhook_path(&webhook, "")).await;
        assert_eq!(read.status, 304);
        let hawks = team(w, "Hawks").await;
        w.owner.delete(&format!("/teams/{hawks}")).await.ok();
        w.deliver().await;
        assert_eq!((received_event_types(&first).len(), received_event_types(&second)), (0, vec!["team.archived".to_owned()]));
    }

    async fn test_delivery_is_signed_and_recorded(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["team.created"]).await;
        let test = w.owner.post(&webhook_path(&webhook, "/test"), json!({})).await.created();
        assert!(test.header("location").unwrap().ends_with(&format!("/deliveries/{}", test.id())));
        assert_eq!((&test.data()["status"], &test.data()["type"], &test.data()["sequence"]), (&json!("pending"), &json!("ping"), &json!(null)));
        let path = format!("/deliveries/{}", test.id());
        assert_eq!(w.owner.get(&path).await.ok().header("etag"), test.header("etag"));
        w.deliver().await;
        let pings = receiver.received();
        assert_eq!((pings.len(), check_signature(&pings[0], &secret(&webhook))), (1, (1, true)));
        assert_eq!(pings[0].json()["data"]["object"], json!({ "object": "ping", "webhook_id": webhook.id() }));
        let delivered = w.owner.get(&path).await.ok();
        assert_eq!((&delivered.data()["status"], &delivered.data()["attempts"][0]["status_code"]), (&json!("succeeded"), &json!(200)));
        assert_ne!(delivered.header("etag"), test.header("etag"));
        assert!(w.notifications().await.is_empty(), "a test is not in the log");
    }

    async fn subscription_to_ping_gets_only_tests(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["ping"]).await;
        team(w, "Hawks").await;
        w.owner.post(&webhook_path(&webhook, "/test"), json!({})).await.created();
        w.deliver().await;
        assert_eq!(received_event_types(&receiver), ["ping"]);
    }

    async fn both_secrets_sign_for_a_day_after_rotation(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
        let rotated = w.owner.post(&webhook_path(&webhook, "/rotate_secret"), json!({})).await.ok();
        let (old, new) = (secret(&webhook), secret(&rotated));
        assert_eq!(rotated.data()["previous_secret_until"], "2026-09-06T10:00:00.000000Z");
        for (after, signatures) in [(0, 2), (24 * 3600 - 1, 2), (1, 1)] {
            w.advance_clock(seconds(after));
            team(w, &format!("Team {after}")).await;
            w.deliver().await;
            let last = receiver.received().pop().unwrap();
            assert_eq!(check_signature(&last, &new), (signatures, true), "after {after} s");
            assert_eq!(check_signature(&last, &old), (signatures, signatures == 2), "after {after} s");
        }
    }

    async fn each_rotated_secret_signs_for_its_own_day(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
        let rotate = async || w.owner.post(&webhook_path(&webhook, "/rotate_secret"), json!({})).await;
        let mut secrets = vec![secret(&webhook)];
        for _ in 0..4 {
            secrets.push(secret(&rotate().await.ok()));
            w.advance_clock(seconds(3600));
        }
        rotate().await.assert_problem(409, "invalid_state");
        for (after, signatures) in [(0, 5), (20 * 3600 - 1, 5), (1, 4), (3 * 3600, 1)] {
            w.advance_clock(seconds(after));
            team(w, &format!("Team {after}")).await;
            w.deliver().await;
            let last = receiver.received().pop().unwrap();
            for (age, secret) in secrets.iter().rev().enumerate() {
                assert_eq!(check_signature(&last, secret), (signatures, age < signatures), "after {after} s, {age}");
            }
        }
        rotate().await.ok();
    }

    async fn replays_a_part_of_the_log(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["team.created"]).await;
        let replay = webhook_path(&webhook, "/replay");
        w.owner.post(&replay, json!({ "from_sequence": 1 })).await.assert_problem(422, "validation_failed");
        for n in 1..=6 {
            team(w, &format!("Team {n}")).await;
            w.advance_clock(seconds(60));
        }
        w.deliver().await;
        let first: Vec<_> = receiver.received();
        assert_eq!(sorted_sequences(&receiver), [1, 2, 3, 4, 5, 6]);

        let accepted = w.owner.post(&replay, json!({ "from_sequence": 2, "to_sequence": 3 })).await;
        assert_eq!(accepted.status, 202, "{}", accepted.text);
        let expected = json!({ "object": "replay", "webhook_id": webhook.id(), "from_sequence": 2, "to_sequence": 3, "only_missed": false });
        assert_eq!(*accepted.data(), expected);
        w.owner.post(&replay, json!({ "from_sequence": 1 })).await.assert_problem(409, "conflict");
        w.deliver().await;
        assert_eq!(sorted_sequences(&receiver), [1, 2, 2, 3, 3, 4, 5, 6]);
        let replayed = &receiver.received()[6..];
        assert!(replayed.iter().all(|delivery| first.iter().any(|before| before.body == delivery.body)));

        let range = json!({ "since": "2026-09-05T10:04:00Z", "until": "2026-09-05T10:05:00Z" });
        assert_eq!(w.owner.post(&replay, range).await.data()["from_sequence"], 5);
        w.deliver().await;
        assert_eq!(sorted_sequences(&receiver), [1, 2, 2, 3, 3, 4, 5, 5, 6]);
        // Everything arrived, so nothing was missed.
        let missed = json!({ "since": "2026-09-05T10:00:00Z", "only_missed": true });
        assert_eq!(w.owner.post(&replay, missed).await.status, 202);
        w.deliver().await;
        assert_eq!(receiver.received().len(), 9);

        delete_log_until(w, 2).await;
        w.owner.post(&replay, json!({ "from_sequence": 2, "to_sequence": 3 })).await.assert_problem(410, "gone");
        w.owner.post(&replay, json!({ "since": "2026-09-05T10:00:00Z" })).await.assert_problem(410, "gone");
        assert_eq!(w.owner.post(&replay, json!({ "from_sequence": 3, "to_sequence": 3 })).await.status, 202);
    }

    async fn rejects_an_invalid_replay(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
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
            let refused = w.owner.post(&webhook_path(&webhook, "/replay"), body).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{}", refused.text);
        }
    }

    async fn events_skipped_while_disabled_count_as_missed(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["team.created"]).await;
        team(w, "Heard").await;
        w.deliver().await;
        w.owner.post(&webhook_path(&webhook, "/disable"), json!({})).await.ok();
        team(w, "Missed").await;
        w.owner.post(&webhook_path(&webhook, "/enable"), json!({ "replay_missed": false })).await.ok();
        w.deliver().await;
        let missed = json!({ "from_sequence": 1, "only_missed": true });
        assert_eq!(w.owner.post(&webhook_path(&webhook, "/replay"), missed).await.status, 202);
        w.deliver().await;
        let names: Vec<_> = receiver.received().iter().map(|one| one.json()["data"]["object"]["name"].clone()).collect();
        assert_eq!(names, ["Heard", "Missed"]);
    }

    async fn replay_uses_the_current_subscription(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["team.archived"]).await;
        team(w, "Hawks").await;
        w.deliver().await;
        w.owner.patch(&webhook_path(&webhook, ""), json!({ "events": ["team.*"] })).await.ok();
        w.deliver().await;
        assert!(received_event_types(&receiver).is_empty(), "a new subscription covers only later events");
        assert_eq!(w.owner.post(&webhook_path(&webhook, "/replay"), json!({ "from_sequence": 1 })).await.status, 202);
        w.deliver().await;
        assert_eq!(received_event_types(&receiver), ["team.created"]);
    }

    async fn lists_and_redelivers_deliveries(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
        receiver.queue_replies([500, 200, 200]);
        let hawks = team(w, "Hawks").await;
        w.deliver().await;
        w.owner.patch(&format!("/teams/{hawks}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        team(w, "Otters").await;
        w.deliver().await;
        let list = webhook_path(&webhook, "/deliveries");
        let all = w.owner.get(&list).await.ok();
        assert_eq!(field_values(&all, "type"), ["team.created", "team.updated", "team.created"]);
        assert_eq!(field_values(&all, "status"), ["succeeded", "succeeded", "pending"]);
        let failed = &all.data()[2];
        assert_eq!((&failed["attempts"][0]["status_code"], &failed["attempts"][0]["error"]), (&json!(500), &json!("unsuccessful_status")));
        assert!(failed["next_attempt_at"].is_string() && failed["finished_at"].is_null());
        let ids = |answer: &TestResponse| field_values(answer, "id").into_iter().cloned().collect::<Vec<Value>>();
        assert_eq!(ids(&w.owner.get(&format!("{list}?status=pending")).await.ok()), [failed["id"].clone()]);
        assert_eq!(field_values(&w.owner.get(&format!("{list}?status=failed")).await.ok(), "id").len(), 0);
        assert_eq!(field_values(&w.owner.get(&format!("{list}?type=team.updated")).await.ok(), "id").len(), 1);
        w.owner.get(&format!("{list}?status=lost")).await.assert_problem(400, "invalid_parameter");
        for (filter, count) in [("team.*", 3), ("*", 3), ("event.*", 0), ("ping", 0)] {
            assert_eq!(field_values(&w.owner.get(&format!("{list}?type={filter}")).await.ok(), "id").len(), count, "{filter}");
        }
        for invalid in ["team", "te*", "team.create_", "%25"] {
            w.owner.get(&format!("{list}?type={invalid}")).await.assert_problem(400, "invalid_parameter");
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
        let redelivered = w.owner.post(&format!("{first}/redeliver"), json!({})).await.ok();
        assert_eq!((&redelivered.data()["status"], &redelivered.data()["version"]), (&json!("pending"), &json!(2)));
        w.deliver().await;
        let delivered = w.owner.get(&first).await.ok();
        assert_eq!((&delivered.data()["status"], delivered.data()["attempts"].as_array().unwrap().len()), (&json!("succeeded"), 2));
        // A delivered event can be redelivered too, with the same id.
        w.owner.post(&format!("{first}/redeliver"), json!({})).await.ok();
        w.deliver().await;
        let received = receiver.received();
        assert_eq!(received.len(), 5);
        assert_eq!((&received[4].body, received[4].header("webhook-id")), (&received[0].body, received[0].header("webhook-id")));
    }

    async fn enabling_replays_missed_events_on_request(w: &World) {
        let (all, rest) = (Receiver::start().await, Receiver::start().await);
        let hooks = [create_webhook(&w.owner, &all, &["team.created"]).await, create_webhook(&w.owner, &rest, &["team.created"]).await];
        for webhook in &hooks {
            w.owner.post(&webhook_path(webhook, "/enable"), json!({})).await.assert_problem(409, "invalid_state");
            let disabled = w.owner.post(&webhook_path(webhook, "/disable"), json!({})).await.ok();
            assert_eq!((&disabled.data()["status"], &disabled.data()["disabled_reason"]), (&json!("disabled"), &json!("manual")));
            w.owner.post(&webhook_path(webhook, "/disable"), json!({})).await.assert_problem(409, "invalid_state");
            w.owner.post(&webhook_path(webhook, "/test"), json!({})).await.assert_problem(409, "invalid_state");
            w.owner.post(&webhook_path(webhook, "/replay"), json!({ "from_sequence": 1 })).await.assert_problem(409, "invalid_state");
        }
        assert_eq!(field_values(&w.owner.get("/webhooks?status=disabled").await.ok(), "id").len(), 2);
        assert_eq!(field_values(&w.owner.get("/webhooks?status=enabled").await.ok(), "id").len(), 0);
        team(w, "Missed").await;
        w.deliver().await;
        assert_eq!((received_event_types(&all).len(), received_event_types(&rest).len()), (0, 0));
        let enabled = w.owner.send("POST", &webhook_path(&hooks[0], "/enable"), None).await.ok();
        assert_eq!((&enabled.data()["status"], &enabled.data()["disabled_reason"]), (&json!("enabled"), &json!(null)));
        w.owner.post(&webhook_path(&hooks[1], "/enable"), json!({ "replay_missed": false })).await.ok();
        team(w, "Heard").await;
        w.deliver().await;
        let names = |receiver: &Receiver| receiver.received().iter().map(|one| one.json()["data"]["object"]["name"].clone()).collect::<Vec<_>>();
        assert_eq!((names(&all), names(&rest)), (vec![json!("Missed"), json!("Heard")], vec![json!("Heard")]));
    }

    async fn deleted_webhook_is_not_retried(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
        receiver.set_reply(500);
        team(w, "Hawks").await;
        w.deliver().await;
        let pending = w.owner.get(&webhook_path(&webhook, "/deliveries")).await.ok();
        let delivery = format!("/deliveries/{}", pending.data()[0]["id"].as_str().unwrap());
        w.owner.with_header("If-Match", "\"9\"").delete(&webhook_path(&webhook, "")).await.assert_problem(412, "precondition_failed");
        assert_eq!(w.count("delivery").await, 1);
        assert_eq!(w.owner.delete(&webhook_path(&webhook, "")).await.ok().id(), webhook.id());
        assert_eq!(w.count("delivery").await, 0);
        w.advance_clock(seconds(3600));
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        for path in [webhook_path(&webhook, ""), webhook_path(&webhook, "/deliveries"), delivery] {
            w.owner.get(&path).await.assert_problem(404, "not_found");
        }
        w.owner.delete(&webhook_path(&webhook, "")).await.assert_problem(404, "not_found");
    }
}
