//! Tests of changing, pinning and retracting messages.

use store::{Scope, bind};
use testkit::{Value, World, both, json, seconds};
use touchline::signals;

use crate::messages::{
    announce, list_message_ids, message_notifications, message_path, recipients, sorted_ids,
};
use crate::messages_fixtures::TeamFixture;

both! {
    async fn retracted_text_is_kept_but_never_shown(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let ana = club.add_member("Ana", "player", None).await;
        let sent = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "announcement", "subject": "Top secret",
            "body": "Do not **tell**", "pinned": true })).await.created();
        // Requested twice, so that the second response comes from the cache.
        for _ in 0..2 {
            assert!(w.owner.get(&message_path(&sent)).await.ok().text.contains("secret"));
            assert!(w.owner.get("/messages").await.ok().text.contains("secret"));
        }
        w.advance_clock(seconds(60));
        let stale = w.owner.with_header("If-Match", "\"7\"").delete(&message_path(&sent)).await;
        stale.assert_problem(412, "precondition_failed");
        let retracted = w.owner.with_header("If-Match", "\"1\"").delete(&message_path(&sent)).await.ok();
        let data = retracted.data();
        assert_eq!((&data["subject"], &data["body"], &data["body_html"]), (&Value::Null, &Value::Null, &Value::Null));
        assert_eq!((&data["status"], &data["pinned"], &data["version"]), (&json!("retracted"), &json!(false), &json!(2)));
        assert_eq!(data["retracted_by"], data["author"]["id"]);
        assert_eq!(data["retracted_at"], "2026-09-05T10:01:00.000000Z");
        assert_eq!(data["published_at"], sent.data()["published_at"]);
        assert_eq!(w.owner.get(&message_path(&sent)).await.ok().data(), data);
        assert_eq!(w.owner.get("/messages").await.ok().data()[0], *data);
        for query in ["", "status=all", "status=retracted", &format!("person_id={}", ana.person), &format!("team_id={}", club.team)] {
            let list = w.owner.get(&format!("/messages?{query}")).await.ok();
            assert!(!list.text.contains("secret") && !list.text.contains("tell") && list.text.contains(sent.id()), "{query}");
        }
        assert!(list_message_ids(&w.owner, "status=published").await.is_empty());
        w.owner.delete(&message_path(&sent)).await.assert_problem(409, "invalid_state");
        w.owner.patch(&message_path(&sent), json!({ "pinned": true })).await.assert_problem(409, "invalid_state");
        assert_eq!(recipients(w, &sent).await, sorted_ids(&[ana.person]));
        // It no longer counts as unread and cannot be marked as read.
        assert_eq!(w.owner.get(&format!("/messages/unread?person_id={}", ana.person)).await.ok().data()["total"], 0);
        w.owner.send("PUT", &format!("{}/receipts/{}", message_path(&sent), ana.person), None).await.assert_problem(409, "invalid_state");
        // The row and the audit log keep the text.
        let stored = w.db().read(Scope::account(w.harbour, "test"), |db| {
            let (body,): (String,) = db.one("select body from message where account_id = :account", bind! {})?;
            let details: Vec<(Option<String>,)> = db.all("select details from audit_entry where account_id = :account", bind! {})?;
            Ok::<_, store::Error>((body, details))
        }).await.unwrap();
        assert_eq!(stored.0, "Do not **tell**");
        assert!(stored.1.iter().any(|(details,)| details.as_deref().unwrap_or_default().contains("Top secret")));
        let notifications = message_notifications(w).await;
        assert_eq!(notifications.last().unwrap()["type"], "message.retracted");
        assert!(!notifications.last().unwrap().to_string().contains("secret"));
        assert_eq!(w.db().read(Scope::account(w.harbour, "test"), signals::verify).await.unwrap(), None);
    }

    async fn published_message_can_be_pinned_but_not_edited(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        club.add_member("Ana", "player", None).await;
        let (first, second) = (announce(w, &club, json!({})).await.created(), announce(w, &club, json!({})).await.created());
        let pinned = w.owner.patch(&message_path(&first), json!({ "pinned": true, "metadata": { "a": "b" } })).await.ok();
        assert_eq!((&pinned.data()["pinned"], &pinned.data()["version"]), (&json!(true), &json!(2)));
        let again = w.owner.patch(&message_path(&first), json!({ "pinned": true })).await.ok();
        assert_eq!(again.data()["version"], 2);
        assert_eq!(list_message_ids(&w.owner, "pinned=true").await, [first.id()]);
        assert_eq!(list_message_ids(&w.owner, "pinned=false").await, [second.id()]);
        for change in [json!({ "body": "y" }), json!({ "subject": "y" }), json!({ "audience": { "to": "staff" } }), json!({ "publish_at": null }), json!({ "pinned": false, "body": "Hello" })] {
            w.owner.patch(&message_path(&first), change).await.assert_problem(409, "invalid_state");
        }
        w.owner.patch(&message_path(&first), json!({ "body": null })).await.assert_problem(422, "validation_failed");
        w.owner.patch(&message_path(&first), json!({ "team_id": club.team })).await.assert_problem(400, "invalid_parameter");
        w.owner.with_header("If-Match", "\"1\"").patch(&message_path(&first), json!({ "pinned": false })).await.assert_problem(412, "precondition_failed");
        let notifications = message_notifications(w).await;
        assert_eq!(notifications.last().unwrap()["type"], "message.updated");
        assert_eq!(notifications.last().unwrap()["data"]["previous"], json!({ "pinned": false, "metadata": {} }));
    }

    async fn archived_teams_messages_can_only_be_retracted(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        club.add_member("Ana", "player", None).await;
        let sent = announce(w, &club, json!({})).await.created();
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-06T10:00:00Z" });
        let scheduled = w.owner.post("/messages", body).await.created();
        w.owner.delete(&format!("/teams/{}", club.team)).await.ok();
        w.owner.patch(&message_path(&sent), json!({ "pinned": true })).await.assert_problem(409, "invalid_state");
        w.owner.patch(&message_path(&sent), json!({ "metadata": { "a": "b" } })).await.assert_problem(409, "invalid_state");
        w.owner.patch(&message_path(&scheduled), json!({ "body": "y" })).await.assert_problem(409, "invalid_state");
        w.owner.delete(&message_path(&sent)).await.ok();
        w.owner.delete(&message_path(&scheduled)).await.ok();
    }

    async fn replay_does_not_reveal_a_retracted_message(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let ana = club.add_member("Ana", "player", None).await;
        let body = json!({ "team_id": club.team, "kind": "message", "body": "Secret" });
        let first_key = w.owner.with_header("Idempotency-Key", "one");
        let sent = first_key.post("/messages", body.clone()).await.created();
        let reply_body = json!({ "parent_id": sent.id(), "body": "Yes", "on_behalf_of": ana.person, "metadata": { "id": sent.id() } });
        let second_key = w.owner.with_header("Idempotency-Key", "two");
        let reply = second_key.post("/messages", reply_body.clone()).await.created();
        let retracted = w.owner.delete(&message_path(&sent)).await.ok();
        let replay = first_key.post("/messages", body).await.created();
        assert_eq!((replay.header("idempotent-replayed"), replay.header("etag")), (Some("true"), retracted.header("etag")));
        assert_eq!(replay.data(), retracted.data());
        assert!(!replay.text.contains("Secret"));
        assert_eq!(second_key.post("/messages", reply_body).await.created().data(), reply.data());
        assert_eq!(w.count("message").await, 2);
    }
}
