//! Stories about what webhooks are told: no more than whoever answers for them may read.

use std::time::Duration;

use store::Scope;
use testkit::receiver::Reply;
use testkit::world::new_key;
use testkit::{Receiver, World, both, json};
use touchline::accounts::api_key;
use touchline::accounts::user::{self, Role};
use touchline::ids::KeyId;
use touchline::oauth::grant;

use crate::events::narrowed;
use crate::standing::values;
use crate::webhooks::{Running, happen};
use crate::webhooks_api::{at, hook, team, told};

/// Something of every sort about a team.
async fn season(w: &World, team: &str) {
    let member = json!({ "first_name": "Ana", "role": "coach", "email": "ana@example.org", "allow_duplicate": true });
    let member = w.joins(team, member).await;
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

const SEASON: [&str; 6] = [
    "roster.member_added",
    "event.created",
    "rsvp.answered",
    "calendar_feed.created",
    "message.posted",
    "message.read",
];

/// What a receiver was told, whatever the order.
fn sorted(receiver: &Receiver) -> Vec<String> {
    let mut kinds = told(receiver);
    kinds.sort();
    kinds
}

async fn revoke(w: &World, key: KeyId) {
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| api_key::revoke(tx, key)).await.unwrap();
}

/// Lets somebody end what a receiver is told while it is being told a great deal. Says how much it was told of
/// what was not under way by then.
async fn told_after_all(w: &World, receiver: &Receiver, end: impl AsyncFnOnce()) -> usize {
    receiver.always(Reply::from(200).after(Duration::from_millis(20)));
    happen(w, w.harbour, 40).await;
    let _running = Running::start(&w.node.dispatcher);
    receiver.wait_for(40).await;
    let held = receiver.hold();
    happen(w, w.harbour, 2_000).await;
    receiver.wait_for(41).await;
    end().await;
    drop(held);
    // Time enough for many hundreds, if it went on. What was looked at together may be under way: sixty-four.
    tokio::time::sleep(Duration::from_millis(1_900)).await;
    receiver.received().len().saturating_sub(40 + 64)
}

both! {
    async fn once_it_is_deleted_a_webhook_is_told_no_more(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        let delete = async || { w.owner.delete(&at(&made, "")).await.ok(); };
        assert_eq!(told_after_all(w, &receiver, delete).await, 0);
    }

    async fn once_its_makers_key_is_revoked_a_webhook_is_told_no_more(w: &World) {
        let receiver = Receiver::start().await;
        let (key, maker) = w.caller(new_key("webhooks:write teams:read")).await;
        hook(&maker, &receiver, &["*"]).await;
        assert_eq!(told_after_all(w, &receiver, async || revoke(w, key.id).await).await, 0);
    }

    async fn a_webhook_hears_what_its_maker_may_read(w: &World) {
        let receiver = Receiver::start().await;
        let (_, events) = w.caller(new_key("webhooks:write events:read")).await;
        for wish in ["team.created", "team.*", "message.read", "roster.*", "user.joined"] {
            let body = json!({ "url": receiver.url(), "events": ["event.created", wish] });
            let refused = events.post("/webhooks", body).await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/events/1"], "{wish}");
            assert_eq!(refused.body["errors"][0]["code"], "not_allowed");
        }
        hook(&events, &receiver, &["*"]).await;
        let nothing = Receiver::start().await;
        hook(&w.bystander, &nothing, &["*"]).await;
        let hawks = team(w, "Hawks").await;
        season(w, &hawks).await;
        w.deliver().await;
        assert_eq!(sorted(&receiver), ["calendar_feed.created", "event.created", "rsvp.answered"]);
        assert_eq!(told(&nothing), Vec::<String>::new());
    }

    async fn every_operation_on_a_webhook_needs_the_rights_of_its_maker(w: &World) {
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["team.*", "event.created"]).await;
        team(w, "Hawks").await;
        w.deliver().await;
        let listed = w.owner.get(&at(&made, "/deliveries")).await.ok();
        let delivery = format!("/deliveries/{}", listed.data()[0]["id"].as_str().unwrap());
        let off = hook(&w.owner, &receiver, &["team.*", "event.created"]).await;
        w.owner.post(&at(&off, "/disable"), json!({})).await.ok();

        // Method, address, body, and what a credential with the maker's rights is answered.
        let operations = [
            ("GET", at(&made, ""), None, 200),
            ("PATCH", at(&made, ""), Some(json!({ "description": "Mine" })), 200),
            ("PATCH", at(&made, ""), Some(json!({ "events": ["account.updated"] })), 200),
            ("PATCH", at(&made, ""), Some(json!({ "events": ["team.*", "event.created"] })), 200),
            ("POST", at(&made, "/rotate_secret"), Some(json!({})), 200),
            ("POST", at(&made, "/test"), Some(json!({})), 201),
            ("POST", at(&made, "/replay"), Some(json!({ "from_sequence": 1 })), 202),
            ("GET", at(&made, "/deliveries"), None, 200),
            ("GET", delivery.clone(), None, 200),
            ("POST", format!("{delivery}/redeliver"), Some(json!({})), 200),
            ("POST", at(&off, "/enable"), Some(json!({})), 200),
            ("POST", at(&made, "/disable"), Some(json!({})), 200),
            ("DELETE", at(&made, ""), None, 200),
        ];
        let admin = w.user(Role::Admin, "ana@example.org").await;
        let weak = [
            w.caller(new_key("webhooks:write")).await.1,
            w.caller(new_key("webhooks:write teams:read")).await.1,
            w.acting_for(admin.id, "webhooks:write events:read").await,
        ];
        for caller in &weak {
            for (method, path, body, _) in &operations {
                let body = body.as_ref().map(ToString::to_string);
                let answer = caller.send(method, path, body.as_deref()).await;
                if *method == "GET" && *path == at(&made, "") {
                    // The webhook itself says where it goes, but nothing that it is sent.
                    assert!(!answer.ok().text.contains("whsec_"));
                } else {
                    assert_eq!(answer.status, 403, "{method} {path}: {}", answer.text);
                    assert!(answer.refused(403, "forbidden").body["detail"].as_str().unwrap().contains("you may not read"));
                }
            }
        }
        let unchanged = w.owner.get(&at(&made, "")).await.ok();
        assert_eq!((&unchanged.data()["status"], &unchanged.data()["version"]), (&json!("enabled"), &json!(1)));

        // Whoever may read as much as the maker may do all of it.
        let (_, equal) = w.caller(new_key("webhooks:write teams:read events:read")).await;
        for (method, path, body, status) in &operations {
            let body = body.as_ref().map(ToString::to_string);
            let answer = equal.send(method, path, body.as_deref()).await;
            assert_eq!(answer.status, *status, "{method} {path}: {}", answer.text);
        }
    }

    async fn a_key_that_replaces_another_manages_its_webhooks(w: &World) {
        let receiver = Receiver::start().await;
        let (old, maker) = w.caller(new_key("webhooks:write teams:read")).await;
        let made = hook(&maker, &receiver, &["*"]).await;
        revoke(w, old.id).await;
        let (_, new) = w.caller(new_key("webhooks:write teams:read")).await;
        new.post(&at(&made, "/rotate_secret"), json!({})).await.ok();
        let (_, less) = w.caller(new_key("webhooks:write events:read")).await;
        less.post(&at(&made, "/rotate_secret"), json!({})).await.refused(403, "forbidden");
    }

    async fn a_webhook_of_a_team_hears_of_that_team(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let receiver = Receiver::start().await;
        let body = json!({ "url": receiver.url(), "events": ["*"], "team_ids": [hawks] });
        let made = w.owner.post("/webhooks", body).await.created();
        w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        season(w, &otters).await;
        season(w, &hawks).await;
        w.owner.patch(&format!("/teams/{hawks}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        let mut wanted: Vec<_> = SEASON.iter().chain(&["team.updated"]).copied().collect();
        wanted.sort_unstable();
        assert_eq!(sorted(&receiver), wanted);
        for one in receiver.received() {
            assert!(one.json().to_string().contains(&hawks) && !one.json().to_string().contains(&otters));
        }
        w.owner.patch(&at(&made, ""), json!({ "team_ids": null })).await.ok();
        w.owner.patch(&format!("/teams/{otters}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        assert_eq!(told(&receiver).len(), wanted.len() + 1);
    }

    async fn what_waits_to_be_tried_again_is_not_sent_once_it_may_not_be_told(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        receiver.always(500);
        w.owner.patch(&format!("/teams/{otters}"), json!({ "season": "2027" })).await.ok();
        w.deliver().await;
        assert_eq!(told(&receiver), ["team.updated"]);
        w.owner.patch(&at(&made, ""), json!({ "team_ids": [hawks] })).await.ok();
        receiver.always(200);
        w.pass(Duration::from_secs(60));
        w.deliver().await;
        assert_eq!(told(&receiver), ["team.updated"]);
        let listed = w.owner.get(&at(&made, "/deliveries")).await.ok();
        let one = &listed.data()[0];
        assert_eq!((&one["status"], &one["attempts"][1]["error"]), (&json!("failed"), &json!("not_allowed")));
    }

    async fn a_narrowed_key_has_webhooks_of_its_own(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let (ours, theirs) = (Receiver::start().await, Receiver::start().await);
        let foreign = hook(&w.owner, &theirs, &["team.*"]).await;
        let all = "webhooks:write teams:read events:read roster:read messages:read";
        let narrow = narrowed(w, &hawks, all).await;
        for body in [json!({ "team_ids": [otters] }), json!({ "team_ids": [hawks, otters] })] {
            let mut body = body;
            let place = format!("/team_ids/{}", body["team_ids"].as_array().unwrap().len() - 1);
            body["url"] = json!(ours.url());
            body["events"] = json!(["*"]);
            assert_eq!(narrow.post("/webhooks", body).await.refused(422, "validation_failed").pointers(), [place]);
        }
        let own = hook(&narrow, &ours, &["*"]).await;
        let wide = narrow.patch(&at(&own, ""), json!({ "team_ids": [otters] })).await;
        assert_eq!(wide.refused(422, "validation_failed").pointers(), ["/team_ids/0"]);
        assert_eq!(values(&narrow.get("/webhooks").await.ok(), "id"), [own.id()]);
        assert_eq!(values(&w.owner.get("/webhooks").await.ok(), "id"), [foreign.id(), own.id()]);

        season(w, &hawks).await;
        season(w, &otters).await;
        team(w, "Newts").await;
        w.deliver().await;
        let mut wanted = SEASON.to_vec();
        wanted.sort_unstable();
        assert_eq!(sorted(&ours), wanted);
        narrow.get(&at(&own, "/deliveries")).await.ok();

        let listed = w.owner.get(&at(&foreign, "/deliveries")).await.ok();
        let delivery = format!("/deliveries/{}", listed.data()[0]["id"].as_str().unwrap());
        narrow.get(&at(&foreign, "")).await.refused(404, "not_found");
        narrow.get(&at(&foreign, "/deliveries")).await.refused(404, "not_found");
        narrow.get(&delivery).await.refused(404, "not_found");
        narrow.patch(&at(&foreign, ""), json!({ "url": ours.url() })).await.refused(404, "not_found");
        narrow.delete(&at(&foreign, "")).await.refused(404, "not_found");
        for verb in ["rotate_secret", "test", "enable", "disable"] {
            narrow.post(&at(&foreign, &format!("/{verb}")), json!({})).await.refused(404, "not_found");
        }
        narrow.post(&at(&foreign, "/replay"), json!({ "from_sequence": 1 })).await.refused(404, "not_found");
        narrow.post(&format!("{delivery}/redeliver"), json!({})).await.refused(404, "not_found");
        // Whoever changes a webhook answers for it: it is the owner's now.
        w.owner.patch(&at(&own, ""), json!({ "description": "Ours now" })).await.ok();
        narrow.get(&at(&own, "")).await.refused(404, "not_found");
    }

    async fn nobody_hears_more_by_changing_what_others_made(w: &World) {
        let (theirs, ours) = (Receiver::start().await, Receiver::start().await);
        let named = hook(&w.owner, &theirs, &["event.created"]).await;
        let all = hook(&w.owner, &theirs, &["*"]).await;
        let (key, weak) = w.caller(new_key("webhooks:write teams:read")).await;
        for change in [json!({ "url": ours.url() }), json!({ "url": ours.url(), "events": ["team.*"] })] {
            weak.patch(&at(&named, ""), change.clone()).await.refused(403, "forbidden");
            weak.patch(&at(&all, ""), change).await.refused(403, "forbidden");
        }
        let own = hook(&weak, &ours, &["team.*"]).await;
        assert_eq!(own.data()["created_by"], key.id.to_string());
        let hawks = team(w, "Hawks").await;
        season(w, &hawks).await;
        w.deliver().await;
        assert_eq!(told(&ours), ["team.created"]);
        assert_eq!(told(&theirs).iter().filter(|kind| *kind == "event.created").count(), 2);
        // Nor by a replay of what somebody else was sent, or by enabling what was disabled.
        weak.post(&at(&all, "/replay"), json!({ "from_sequence": 1 })).await.refused(403, "forbidden");
        weak.post(&at(&own, "/replay"), json!({ "from_sequence": 1 })).await;
        w.deliver().await;
        assert_eq!(told(&ours), ["team.created", "team.created"]);
        let other = hook(&w.owner, &ours, &["*"]).await;
        w.owner.post(&at(&other, "/disable"), json!({})).await.ok();
        weak.post(&at(&other, "/enable"), json!({})).await.refused(403, "forbidden");
        season(w, &hawks).await;
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(told(&ours), ["team.created", "team.created", "team.created"]);
    }

    async fn a_webhook_ends_with_its_makers_key(w: &World) {
        let (receiver, watcher) = (Receiver::start().await, Receiver::start().await);
        let (key, maker) = w.caller(new_key("webhooks:write teams:read")).await;
        let made = hook(&maker, &receiver, &["*"]).await;
        hook(&w.owner, &watcher, &["webhook.*"]).await;
        team(w, "Hawks").await;
        w.deliver().await;
        revoke(w, key.id).await;
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(told(&receiver), ["team.created"]);
        let off = w.owner.get(&at(&made, "")).await.ok();
        assert_eq!((&off.data()["status"], &off.data()["disabled_reason"]), (&json!("disabled"), &json!("creator_gone")));
        w.deliver().await;
        let news = watcher.received();
        assert_eq!(told(&watcher), ["webhook.disabled"]);
        assert_eq!(news[0].json()["data"]["object"]["id"], made.id());
        assert!(!news[0].json().to_string().contains("secret\":\""));
        // Somebody who may have it takes it over, with what was missed.
        w.owner.post(&at(&made, "/enable"), json!({})).await.ok();
        w.deliver().await;
        assert_eq!(told(&receiver), ["team.created", "team.created", "webhook.disabled"]);
    }

    async fn a_webhook_ends_with_the_grant_or_the_role_of_its_maker(w: &World) {
        let receiver = Receiver::start().await;
        let (ana, bo) = (w.user(Role::Admin, "ana@example.org").await, w.user(Role::Admin, "bo@example.org").await);
        let scopes = "webhooks:write teams:read";
        let (by_ana, by_bo) = (w.acting_for(ana.id, scopes).await, w.acting_for(bo.id, scopes).await);
        let hooks = [hook(&by_ana, &receiver, &["*"]).await, hook(&by_bo, &receiver, &["*"]).await];
        assert_eq!(hooks[0].data()["created_by"], ana.id.to_string());
        let refused = json!({ "url": receiver.url(), "events": ["event.created"] });
        assert_eq!(by_ana.post("/webhooks", refused).await.refused(422, "validation_failed").pointers(), ["/events/0"]);
        team(w, "Hawks").await;
        w.deliver().await;
        assert_eq!(told(&receiver), ["team.created"; 2]);
        let scope = || Scope::account(w.harbour, "test");
        w.db().write(scope(), move |tx| grant::revoke_all_in_club(tx, ana.id, "test")).await.unwrap();
        w.db().write(scope(), move |tx| user::set_role(tx, bo.id, Role::Member)).await.unwrap();
        team(w, "Otters").await;
        w.deliver().await;
        assert_eq!(told(&receiver).len(), 2);
        for made in &hooks {
            assert_eq!(w.owner.get(&at(made, "")).await.ok().data()["disabled_reason"], "creator_gone");
        }
        w.stranger.get(&at(&hooks[0], "")).await.refused(404, "not_found");
    }
}
