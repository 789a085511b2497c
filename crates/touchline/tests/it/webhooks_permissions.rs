//! Tests of webhook permissions: a webhook gets no more than its creator may read.

use std::time::Duration;

use store::Scope;
use testkit::receiver::Reply;
use testkit::world::new_key;
use testkit::{Receiver, World, both, json};
use touchline::accounts::api_key;
use touchline::accounts::user::{self, Role};
use touchline::ids::KeyId;
use touchline::oauth::grant;

use crate::events::team_client;
use crate::roster_access::field_values;
use crate::webhooks::{RunningDispatcher, publish_events};
use crate::webhooks_api::{create_webhook, received_event_types, team, webhook_path};

/// Triggers events of every kind about a team.
async fn trigger_team_events(w: &World, team: &str) {
    let member = json!({ "first_name": "Ana", "role": "coach", "email": "ana@example.org", "allow_duplicate": true });
    let member = w.add_member(team, member).await;
    let event = json!({ "team_id": team, "type": "game", "starts_at": "2026-09-10T18:00" });
    let event = w.owner.post("/events", event).await.created();
    let answer = format!("/events/{}/rsvps/{}", event.id(), member.member);
    w.owner.put(&answer, json!({ "answer": "yes" })).await.ok();
    w.owner.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    let message =
        json!({ "team_id": team, "kind": "announcement", "subject": "Hello", "body": "All" });
    let message = w.owner.post("/messages", message).await.created();
    let receipt = format!("/messages/{}/receipts/{}", message.id(), member.person);
    w.owner.send("PUT", &receipt, None).await.ok();
}

const TEAM_EVENTS: [&str; 6] = [
    "roster.member_added",
    "event.created",
    "rsvp.answered",
    "calendar_feed.created",
    "message.posted",
    "message.read",
];

/// The event types that a receiver got, sorted.
fn sorted_event_types(receiver: &Receiver) -> Vec<String> {
    let mut kinds = received_event_types(receiver);
    kinds.sort();
    kinds
}

async fn revoke(w: &World, key: KeyId) {
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| api_key::revoke(tx, key)).await.unwrap();
}

/// Ends a webhook while many events are being delivered. Returns how many events were delivered
/// that were not in flight at that time.
async fn delivered_after(w: &World, receiver: &Receiver, end: impl AsyncFnOnce()) -> usize {
    receiver.set_reply(Reply::from(200).after(Duration::from_millis(20)));
    publish_events(w, w.harbour, 40).await;
    let _running = RunningDispatcher::start(&w.node.dispatcher);
    receiver.wait_for(40).await;
    let hold = receiver.hold_replies();
    publish_events(w, w.harbour, 2_000).await;
    receiver.wait_for(41).await;
    end().await;
    drop(hold);
    // Enough time for hundreds, if it continued. A batch of 64 may be in flight.
    tokio::time::sleep(Duration::from_millis(1_900)).await;
    receiver.received().len().saturating_sub(40 + 64)
}

both! {
    async fn deleted_webhook_gets_nothing_more(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
        let delete = async || { w.owner.delete(&webhook_path(&webhook, "")).await.ok(); };
        assert_eq!(delivered_after(w, &receiver, delete).await, 0);
    }

    async fn revoking_the_creators_key_stops_delivery_immediately(w: &World) {
        let receiver = Receiver::start().await;
        let (key, creator) = w.client_with_key(new_key("webhooks:write teams:read")).await;
        create_webhook(&creator, &receiver, &["*"]).await;
        assert_eq!(delivered_after(w, &receiver, async || revoke(w, key.id).await).await, 0);
    }

    async fn webhook_gets_only_what_its_creator_may_read(w: &World) {
        let receiver = Receiver::start().await;
        let (_, events_key) = w.client_with_key(new_key("webhooks:write events:read")).await;
        for event_type in ["team.created", "team.*", "message.read", "roster.*", "user.joined"] {
            let body = json!({ "url": receiver.url(), "events": ["event.created", event_type] });
            let refused = events_key.post("/webhooks", body).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/events/1"], "{event_type}");
            assert_eq!(refused.body["errors"][0]["code"], "not_allowed");
        }
        create_webhook(&events_key, &receiver, &["*"]).await;
        let bystander_receiver = Receiver::start().await;
        create_webhook(&w.bystander, &bystander_receiver, &["*"]).await;
        let hawks = team(w, "Hawks").await;
        trigger_team_events(w, &hawks).await;
        w.deliver().await;
        assert_eq!(sorted_event_types(&receiver), ["calendar_feed.created", "event.created", "rsvp.answered"]);
        assert_eq!(received_event_types(&bystander_receiver), Vec::<String>::new());
    }

    async fn managing_a_webhook_requires_the_creators_permissions(w: &World) {
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["team.*", "event.created"]).await;
        team(w, "Hawks").await;
        w.deliver().await;
        let listed = w.owner.get(&webhook_path(&webhook, "/deliveries")).await.ok();
        let delivery = format!("/deliveries/{}", listed.data()[0]["id"].as_str().unwrap());
        let disabled = create_webhook(&w.owner, &receiver, &["team.*", "event.created"]).await;
        w.owner.post(&webhook_path(&disabled, "/disable"), json!({})).await.ok();

        // Method, path, body, and the status for a caller with the creator's permissions.
        let operations = [
            ("GET", webhook_path(&webhook, ""), None, 200),
            ("PATCH", webhook_path(&webhook, ""), Some(json!({ "description": "Mine" })), 200),
            ("PATCH", webhook_path(&webhook, ""), Some(json!({ "events": ["account.updated"] })), 200),
            ("PATCH", webhook_path(&webhook, ""), Some(json!({ "events": ["team.*", "event.created"] })), 200),
            ("POST", webhook_path(&webhook, "/rotate_secret"), Some(json!({})), 200),
            ("POST", webhook_path(&webhook, "/test"), Some(json!({})), 201),
            ("POST", webhook_path(&webhook, "/replay"), Some(json!({ "from_sequence": 1 })), 202),
            ("GET", webhook_path(&webhook, "/deliveries"), None, 200),
            ("GET", delivery.clone(), None, 200),
            ("POST", format!("{delivery}/redeliver"), Some(json!({})), 200),
            ("POST", webhook_path(&disabled, "/enable"), Some(json!({})), 200),
            ("POST", webhook_path(&webhook, "/disable"), Some(json!({})), 200),
            ("DELETE", webhook_path(&webhook, ""), None, 200),
        ];
        let admin = w.user(Role::Admin, "ana@example.org").await;
        let weak = [
            w.client_with_key(new_key("webhooks:write")).await.1,
            w.client_with_key(new_key("webhooks:write teams:read")).await.1,
            w.client_for_user(admin.id, "webhooks:write events:read").await,
        ];
        for caller in &weak {
            for (method, path, body, _) in &operations {
                let body = body.as_ref().map(ToString::to_string);
                let answer = caller.send(method, path, body.as_deref()).await;
                if *method == "GET" && *path == webhook_path(&webhook, "") {
                    // The webhook itself shows its URL, but nothing that it is sent.
                    assert!(!answer.ok().text.contains("whsec_"));
                } else {
                    assert_eq!(answer.status, 403, "{method} {path}: {}", answer.text);
                    assert!(answer.assert_problem(403, "forbidden").body["detail"].as_str().unwrap().contains("you are not allowed to read"));
                }
            }
        }
        let unchanged = w.owner.get(&webhook_path(&webhook, "")).await.ok();
        assert_eq!((&unchanged.data()["status"], &unchanged.data()["version"]), (&json!("enabled"), &json!(1)));

        // A caller with the creator's permissions may do all of it.
        let (_, equal_key) = w.client_with_key(new_key("webhooks:write teams:read events:read")).await;
        for (method, path, body, status) in &operations {
            let body = body.as_ref().map(ToString::to_string);
            let answer = equal_key.send(method, path, body.as_deref()).await;
            assert_eq!(answer.status, *status, "{method} {path}: {}", answer.text);
        }
    }

    async fn replacement_key_manages_existing_webhooks(w: &World) {
        let receiver = Receiver::start().await;
        let (old, creator) = w.client_with_key(new_key("webhooks:write teams:read")).await;
        let webhook = create_webhook(&creator, &receiver, &["*"]).await;
        revoke(w, old.id).await;
        let (_, new) = w.client_with_key(new_key("webhooks:write teams:read")).await;
        new.post(&webhook_path(&webhook, "/rotate_secret"), json!({})).await.ok();
        let (_, weaker) = w.client_with_key(new_key("webhooks:write events:read")).await;
        weaker.post(&webhook_path(&webhook, "/rotate_secret"), json!({})).await.assert_problem(403, "forbidden");
    }

    async fn team_webhook_gets_only_events_of_its_team(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let receiver = Receiver::start().await;
        let body = json!({ "url": receiver.url(), "events": ["*"], "team_ids": [hawks] });
        let webhook = w.owner.post("/webhooks", body).await.created();
        w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        trigger_team_events(w, &otters).await;
        trigger_team_events(w, &hawks).await;
        w.owner.patch(&format!("/teams/{hawks}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        let mut expected: Vec<_> = TEAM_EVENTS.iter().chain(&["team.updated"]).copied().collect();
        expected.sort_unstable();
        assert_eq!(sorted_event_types(&receiver), expected);
        for delivery in receiver.received() {
            assert!(delivery.json().to_string().contains(&hawks) && !delivery.json().to_string().contains(&otters));
        }
        w.owner.patch(&webhook_path(&webhook, ""), json!({ "team_ids": null })).await.ok();
        w.owner.patch(&format!("/teams/{otters}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        assert_eq!(received_event_types(&receiver).len(), expected.len() + 1);
    }

    async fn pending_retry_is_dropped_when_no_longer_allowed(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
        receiver.set_reply(500);
        w.owner.patch(&format!("/teams/{otters}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        assert_eq!(received_event_types(&receiver), ["team.updated"]);
        w.owner.patch(&webhook_path(&webhook, ""), json!({ "team_ids": [hawks] })).await.ok();
        receiver.set_reply(200);
        w.advance_clock(Duration::from_secs(60));
        w.deliver().await;
        assert_eq!(received_event_types(&receiver), ["team.updated"]);
        let listed = w.owner.get(&webhook_path(&webhook, "/deliveries")).await.ok();
        let delivery = &listed.data()[0];
        assert_eq!((&delivery["status"], &delivery["attempts"][1]["error"]), (&json!("failed"), &json!("not_allowed")));
    }

    async fn team_key_manages_only_its_own_webhooks(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let (ours, theirs) = (Receiver::start().await, Receiver::start().await);
        let owner_webhook = create_webhook(&w.owner, &theirs, &["team.*"]).await;
        let all = "webhooks:write teams:read events:read roster:read messages:read";
        let team_key = team_client(w, &hawks, all).await;
        for body in [json!({ "team_ids": [otters] }), json!({ "team_ids": [hawks, otters] })] {
            let mut body = body;
            let pointer = format!("/team_ids/{}", body["team_ids"].as_array().unwrap().len() - 1);
            body["url"] = json!(ours.url());
            body["events"] = json!(["*"]);
            assert_eq!(team_key.post("/webhooks", body).await.assert_problem(422, "validation_failed").pointers(), [pointer]);
        }
        let team_webhook = create_webhook(&team_key, &ours, &["*"]).await;
        let refused = team_key.patch(&webhook_path(&team_webhook, ""), json!({ "team_ids": [otters] })).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/team_ids/0"]);
        assert_eq!(field_values(&team_key.get("/webhooks").await.ok(), "id"), [team_webhook.id()]);
        assert_eq!(field_values(&w.owner.get("/webhooks").await.ok(), "id"), [owner_webhook.id(), team_webhook.id()]);

        trigger_team_events(w, &hawks).await;
        trigger_team_events(w, &otters).await;
        team(w, "Newts").await;
        w.deliver().await;
        let mut expected = TEAM_EVENTS.to_vec();
        expected.sort_unstable();
        assert_eq!(sorted_event_types(&ours), expected);
        team_key.get(&webhook_path(&team_webhook, "/deliveries")).await.ok();

        let listed = w.owner.get(&webhook_path(&owner_webhook, "/deliveries")).await.ok();
        let delivery = format!("/deliveries/{}", listed.data()[0]["id"].as_str().unwrap());
        team_key.get(&webhook_path(&owner_webhook, "")).await.assert_problem(404, "not_found");
        team_key.get(&webhook_path(&owner_webhook, "/deliveries")).await.assert_problem(404, "not_found");
        team_key.get(&delivery).await.assert_problem(404, "not_found");
        team_key.patch(&webhook_path(&owner_webhook, ""), json!({ "url": ours.url() })).await.assert_problem(404, "not_found");
        team_key.delete(&webhook_path(&owner_webhook, "")).await.assert_problem(404, "not_found");
        for action in ["rotate_secret", "test", "enable", "disable"] {
            team_key.post(&webhook_path(&owner_webhook, &format!("/{action}")), json!({})).await.assert_problem(404, "not_found");
        }
        team_key.post(&webhook_path(&owner_webhook, "/replay"), json!({ "from_sequence": 1 })).await.assert_problem(404, "not_found");
        team_key.post(&format!("{delivery}/redeliver"), json!({})).await.assert_problem(404, "not_found");
        // A change makes the caller responsible for the webhook: it is the owner's now.
        w.owner.patch(&webhook_path(&team_webhook, ""), json!({ "description": "Ours now" })).await.ok();
        team_key.get(&webhook_path(&team_webhook, "")).await.assert_problem(404, "not_found");
    }

    async fn changing_others_webhooks_reveals_nothing(w: &World) {
        let (theirs, ours) = (Receiver::start().await, Receiver::start().await);
        let event_webhook = create_webhook(&w.owner, &theirs, &["event.created"]).await;
        let full_webhook = create_webhook(&w.owner, &theirs, &["*"]).await;
        let (key, weak) = w.client_with_key(new_key("webhooks:write teams:read")).await;
        for change in [json!({ "url": ours.url() }), json!({ "url": ours.url(), "events": ["team.*"] })] {
            weak.patch(&webhook_path(&event_webhook, ""), change.clone()).await.assert_problem(403, "forbidden");
            weak.patch(&webhook_path(&full_webhook, ""), change).await.assert_problem(403, "forbidden");
        }
        let weak_webhook = create_webhook(&weak, &ours, &["team.*"]).await;
        assert_eq!(weak_webhook.data()["created_by"], key.id.to_string());
        let hawks = team(w, "Hawks").await;
        trigger_team_events(w, &hawks).await;
        w.deliver().await;
        assert_eq!(received_event_types(&ours), ["team.created"]);
        assert_eq!(received_event_types(&theirs).iter().filter(|kind| *kind == "event.created").count(), 2);
        // Nor by replaying what others were sent, or by enabling a disabled webhook.
        weak.post(&webhook_path(&full_webhook, "/replay"), json!({ "from_sequence": 1 })).await.assert_problem(403, "forbidden");
        weak.post(&webhook_path(&weak_webhook, "/replay"), json!({ "from_sequence": 1 })).await;
        w.deliver().await;
        assert_eq!(received_event_types(&ours), ["team.created", "team.created"]);
        let other = create_webhook(&w.owner, &ours, &["*"]).await;
        w.owner.post(&webhook_path(&other, "/disable"), json!({})).await.ok();
        weak.post(&webhook_path(&other, "/enable"), json!({})).await.assert_problem(403, "forbidden");
        trigger_team_events(w, &hawks).await;
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(received_event_types(&ours), ["team.created", "team.created", "team.created"]);
    }

    async fn webhook_is_disabled_when_its_creators_key_is_revoked(w: &World) {
        let (receiver, observer) = (Receiver::start().await, Receiver::start().await);
        let (key, creator) = w.client_with_key(new_key("webhooks:write teams:read")).await;
        let webhook = create_webhook(&creator, &receiver, &["*"]).await;
        create_webhook(&w.owner, &observer, &["webhook.*"]).await;
        team(w, "Hawks").await;
        w.deliver().await;
        revoke(w, key.id).await;
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(received_event_types(&receiver), ["team.created"]);
        let disabled = w.owner.get(&webhook_path(&webhook, "")).await.ok();
        assert_eq!((&disabled.data()["status"], &disabled.data()["disabled_reason"]), (&json!("disabled"), &json!("creator_removed")));
        w.deliver().await;
        let received = observer.received();
        assert_eq!(received_event_types(&observer), ["webhook.disabled"]);
        assert_eq!(received[0].json()["data"]["object"]["id"], webhook.id());
        assert!(!received[0].json().to_string().contains("secret\":\""));
        // Somebody with permission takes it over, with the missed events.
        w.owner.post(&webhook_path(&webhook, "/enable"), json!({})).await.ok();
        w.deliver().await;
        assert_eq!(received_event_types(&receiver), ["team.created", "team.created", "webhook.disabled"]);
    }

    async fn webhook_is_disabled_when_its_creator_loses_the_grant_or_role(w: &World) {
        let receiver = Receiver::start().await;
        let (ana, bo) = (w.user(Role::Admin, "ana@example.org").await, w.user(Role::Admin, "bo@example.org").await);
        let scopes = "webhooks:write teams:read";
        let (by_ana, by_bo) = (w.client_for_user(ana.id, scopes).await, w.client_for_user(bo.id, scopes).await);
        let hooks = [create_webhook(&by_ana, &receiver, &["*"]).await, create_webhook(&by_bo, &receiver, &["*"]).await];
        assert_eq!(hooks[0].data()["created_by"], ana.id.to_string());
        let refused = json!({ "url": receiver.url(), "events": ["event.created"] });
        assert_eq!(by_ana.post("/webhooks", refused).await.assert_problem(422, "validation_failed").pointers(), ["/events/0"]);
        team(w, "Hawks").await;
        w.deliver().await;
        assert_eq!(received_event_types(&receiver), ["team.created"; 2]);
        let scope = || Scope::account(w.harbour, "test");
        w.db().write(scope(), move |tx| grant::revoke_all_in_club(tx, ana.id, "test")).await.unwrap();
        w.db().write(scope(), move |tx| user::set_role(tx, bo.id, Role::Member)).await.unwrap();
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(received_event_types(&receiver).len(), 2);
        for webhook in &hooks {
            assert_eq!(w.owner.get(&webhook_path(webhook, "")).await.ok().data()["disabled_reason"], "creator_removed");
        }
        w.stranger.get(&webhook_path(&hooks[0], "")).await.assert_problem(404, "not_found");
    }
}
