//! Stories about messages that are changed, pinned or taken back.

use store::{Scope, bind};
use testkit::{Value, World, both, json, seconds};
use touchline::signals;

use crate::messages::{announce, listed, news, path, people, reached};
use crate::messages_people::Club;

both! {
    async fn what_was_retracted_is_kept_and_shown_to_nobody(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let ana = club.member("Ana", "player", None).await;
        let sent = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "announcement", "subject": "Top secret",
            "body": "Do not **tell**", "pinned": true })).await.created();
        // Asked twice, so that answers are remembered.
        for _ in 0..2 {
            assert!(w.owner.get(&path(&sent)).await.ok().text.contains("secret"));
            assert!(w.owner.get("/messages").await.ok().text.contains("secret"));
        }
        w.pass(seconds(60));
        let stale = w.owner.with("If-Match", "\"7\"").delete(&path(&sent)).await;
        stale.refused(412, "precondition_failed");
        let gone = w.owner.with("If-Match", "\"1\"").delete(&path(&sent)).await.ok();
        let data = gone.data();
        assert_eq!((&data["subject"], &data["body"], &data["body_html"]), (&Value::Null, &Value::Null, &Value::Null));
        assert_eq!((&data["status"], &data["pinned"], &data["version"]), (&json!("retracted"), &json!(false), &json!(2)));
        assert_eq!(data["retracted_by"], data["author"]["id"]);
        assert_eq!(data["retracted_at"], "2026-09-05T10:01:00.000000Z");
        assert_eq!(data["published_at"], sent.data()["published_at"]);
        assert_eq!(w.owner.get(&path(&sent)).await.ok().data(), data);
        assert_eq!(w.owner.get("/messages").await.ok().data()[0], *data);
        for query in ["", "status=all", "status=retracted", &format!("person_id={}", ana.person), &format!("team_id={}", club.team)] {
            let list = w.owner.get(&format!("/messages?{query}")).await.ok();
            assert!(!list.text.contains("secret") && !list.text.contains("tell") && list.text.contains(sent.id()), "{query}");
        }
        assert!(listed(&w.owner, "status=published").await.is_empty());
        w.owner.delete(&path(&sent)).await.refused(409, "invalid_state");
        w.owner.patch(&path(&sent), json!({ "pinned": true })).await.refused(409, "invalid_state");
        assert_eq!(reached(w, &sent).await, people(&[ana.person]));
        // It counts for nobody any more, and nobody can have read it now.
        assert_eq!(w.owner.get(&format!("/messages/unread?person_id={}", ana.person)).await.ok().data()["total"], 0);
        w.owner.send("PUT", &format!("{}/receipts/{}", path(&sent), ana.person), None).await.refused(409, "invalid_state");
        // The row and the audit log keep what it said.
        let kept = w.db().read(Scope::account(w.harbour, "test"), |db| {
            let (body,): (String,) = db.one("select body from message where account_id = :account", bind! {})?;
            let details: Vec<(Option<String>,)> = db.all("select details from audit_entry where account_id = :account", bind! {})?;
            Ok::<_, store::Error>((body, details))
        }).await.unwrap();
        assert_eq!(kept.0, "Do not **tell**");
        assert!(kept.1.iter().any(|(details,)| details.as_deref().unwrap_or_default().contains("Top secret")));
        let news = news(w).await;
        assert_eq!(news.last().unwrap()["type"], "message.retracted");
        assert!(!news.last().unwrap().to_string().contains("secret"));
        assert_eq!(w.db().read(Scope::account(w.harbour, "test"), signals::verify).await.unwrap(), None);
    }

    async fn pinning_is_always_possible_and_rewriting_never(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        club.member("Ana", "player", None).await;
        let (first, second) = (announce(w, &club, json!({})).await.created(), announce(w, &club, json!({})).await.created());
        let pinned = w.owner.patch(&path(&first), json!({ "pinned": true, "metadata": { "a": "b" } })).await.ok();
        assert_eq!((&pinned.data()["pinned"], &pinned.data()["version"]), (&json!(true), &json!(2)));
        let again = w.owner.patch(&path(&first), json!({ "pinned": true })).await.ok();
        assert_eq!(again.data()["version"], 2);
        assert_eq!(listed(&w.owner, "pinned=true").await, [first.id()]);
        assert_eq!(listed(&w.owner, "pinned=false").await, [second.id()]);
        for change in [json!({ "body": "y" }), json!({ "subject": "y" }), json!({ "audience": { "to": "staff" } }), json!({ "publish_at": null }), json!({ "pinned": false, "body": "Hello" })] {
            w.owner.patch(&path(&first), change).await.refused(409, "invalid_state");
        }
        w.owner.patch(&path(&first), json!({ "body": null })).await.refused(422, "validation_failed");
        w.owner.patch(&path(&first), json!({ "team_id": club.team })).await.refused(400, "invalid_parameter");
        w.owner.with("If-Match", "\"1\"").patch(&path(&first), json!({ "pinned": false })).await.refused(412, "precondition_failed");
        let news = news(w).await;
        assert_eq!(news.last().unwrap()["type"], "message.updated");
        assert_eq!(news.last().unwrap()["data"]["previous"], json!({ "pinned": false, "metadata": {} }));
    }

    async fn messages_of_an_archived_team_can_only_be_retracted(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        club.member("Ana", "player", None).await;
        let sent = announce(w, &club, json!({})).await.created();
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-06T10:00:00Z" });
        let scheduled = w.owner.post("/messages", body).await.created();
        w.owner.delete(&format!("/teams/{}", club.team)).await.ok();
        w.owner.patch(&path(&sent), json!({ "pinned": true })).await.refused(409, "invalid_state");
        w.owner.patch(&path(&sent), json!({ "metadata": { "a": "b" } })).await.refused(409, "invalid_state");
        w.owner.patch(&path(&scheduled), json!({ "body": "y" })).await.refused(409, "invalid_state");
        w.owner.delete(&path(&sent)).await.ok();
        w.owner.delete(&path(&scheduled)).await.ok();
    }

    async fn a_retracted_message_does_not_come_back_as_a_replay(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let ana = club.member("Ana", "player", None).await;
        let body = json!({ "team_id": club.team, "kind": "message", "body": "Secret" });
        let once = w.owner.with("Idempotency-Key", "one");
        let sent = once.post("/messages", body.clone()).await.created();
        let answer = json!({ "parent_id": sent.id(), "body": "Yes", "on_behalf_of": ana.person, "metadata": { "id": sent.id() } });
        let other = w.owner.with("Idempotency-Key", "two");
        let answered = other.post("/messages", answer.clone()).await.created();
        let gone = w.owner.delete(&path(&sent)).await.ok();
        let replay = once.post("/messages", body).await.created();
        assert_eq!((replay.header("idempotent-replayed"), replay.header("etag")), (Some("true"), gone.header("etag")));
        assert_eq!(replay.data(), gone.data());
        assert!(!replay.text.contains("Secret"));
        assert_eq!(other.post("/messages", answer).await.created().data(), answered.data());
        assert_eq!(w.count("message").await, 2);
    }
}
