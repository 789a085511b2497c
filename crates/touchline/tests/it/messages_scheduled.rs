//! Tests of scheduled messages.

use store::{Scope, bind};
use testkit::{TestResponse, Value, World, both, json, seconds};
use touchline::jobs;

use crate::messages::{
    announce, field_errors, list_message_ids, message_event_types, message_path, post_message,
    recipients, reply, sorted_ids,
};
use crate::messages_fixtures::TeamFixture;

both! {
    async fn publishes_a_scheduled_message_when_due(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let ana = club.add_member("Ana", "player", None).await;
        let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "publish_at": "2026-09-05T12:00:00+01:00" });
        let scheduled = w.owner.post("/messages", body).await.created();
        assert_eq!((&scheduled.data()["status"], &scheduled.data()["published_at"]), (&json!("scheduled"), &Value::Null));
        assert_eq!(scheduled.data()["receipt_counts"]["delivered"], 0);
        let immediate = announce(w, &club, json!({})).await.created();
        assert_eq!(list_message_ids(&w.owner, "").await, [immediate.id()]);
        assert_eq!(list_message_ids(&w.owner, "status=scheduled").await, [scheduled.id()]);
        assert_eq!(list_message_ids(&w.owner, "status=all").await, [scheduled.id(), immediate.id()]);
        w.owner.send("PUT", &format!("{}/receipts/{}", message_path(&scheduled), ana.person), None).await.assert_problem(404, "not_found");
        // People who join before it is published get it; people who leave before do not.
        let bob = club.add_member("Bob", "player", None).await;
        club.set_status(ana, "removed").await;
        w.advance_clock(seconds(3599));
        jobs::publish_scheduled_messages(&w.node.app).await;
        assert_eq!(w.owner.get(&message_path(&scheduled)).await.ok().data()["status"], "scheduled");
        w.advance_clock(seconds(2));
        let other = w.node(|_| {}).await;
        tokio::join!(jobs::publish_scheduled_messages(&w.node.app), jobs::publish_scheduled_messages(&other.app), jobs::publish_scheduled_messages(&w.node.app));
        let published = w.owner.get(&message_path(&scheduled)).await.ok();
        assert_eq!((&published.data()["status"], &published.data()["version"]), (&json!("published"), &json!(2)));
        assert_eq!(published.data()["published_at"], "2026-09-05T11:00:01.000000Z");
        assert_eq!(published.data()["author"], scheduled.data()["author"]);
        assert_eq!(recipients(w, &published).await, sorted_ids(&[bob.person]));
        assert_eq!(list_message_ids(&w.owner, "").await, [scheduled.id(), immediate.id()]);
        assert_eq!(message_event_types(w).await, ["message.scheduled", "message.posted", "message.posted"]);
        assert_eq!(w.count("mail").await, 2);
        other.stop().await;
    }

    async fn scheduled_message_can_be_edited_moved_and_retracted(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, carl) = (club.add_member("Ana", "player", None).await, club.add_member("Carl", "coach", None).await);
        let body = |at: &str| json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "publish_at": at });
        for (at, code) in [("2026-09-05T10:00:00Z", "in_the_past"), ("2020-01-01T00:00:00Z", "in_the_past"), ("2027-09-07T10:00:01Z", "too_far")] {
            let refused = w.owner.post("/messages", body(at)).await.assert_problem(422, "validation_failed");
            assert_eq!(field_errors(&refused), [("/publish_at", code)]);
        }
        let first = w.owner.post("/messages", body("2026-09-05T11:00:00Z")).await.created();
        let change = json!({ "subject": "t", "body": "c", "audience": { "to": "staff" }, "publish_at": "2026-09-05T12:00:00Z", "pinned": true });
        let changed = w.owner.patch(&message_path(&first), change).await.ok();
        assert_eq!((&changed.data()["subject"], &changed.data()["body"], &changed.data()["version"]), (&json!("t"), &json!("c"), &json!(2)));
        for (change, fault) in [
            (json!({ "publish_at": "2026-09-05T09:00:00Z" }), ("/publish_at", "in_the_past")),
            (json!({ "subject": null }), ("/subject", "required")),
            (json!({ "audience": { "to": "members", "member_ids": ["mem_00000000000000000000000001"] } }), ("/audience/member_ids/0", "not_found")),
            (json!({ "audience": { "to": "guardians" } }), ("/audience", "empty_audience")),
        ] {
            let refused = w.owner.patch(&message_path(&first), change).await.assert_problem(422, "validation_failed");
            assert_eq!(field_errors(&refused), [fault]);
        }
        let second = w.owner.post("/messages", body("2026-09-05T11:00:00Z")).await.created();
        let retracted = w.owner.delete(&message_path(&second)).await.ok();
        assert_eq!((&retracted.data()["status"], &retracted.data()["published_at"], &retracted.data()["body"]), (&json!("retracted"), &Value::Null, &Value::Null));
        let third = w.owner.post("/messages", body("2026-09-06T11:00:00Z")).await.created();
        let published = w.owner.patch(&message_path(&third), json!({ "publish_at": null })).await.ok();
        assert_eq!(published.data()["status"], "published");
        assert_eq!(recipients(w, &third).await, sorted_ids(&[ana.person, carl.person]));
        w.advance_clock(seconds(3601));
        jobs::publish_scheduled_messages(&w.node.app).await;
        assert_eq!(w.owner.get(&message_path(&first)).await.ok().data()["status"], "scheduled");
        w.advance_clock(seconds(3600));
        jobs::publish_scheduled_messages(&w.node.app).await;
        assert_eq!(recipients(w, &first).await, sorted_ids(&[carl.person]));
        assert_eq!(w.owner.get(&message_path(&second)).await.ok().data()["status"], "retracted");
        assert_eq!(message_event_types(w).await.iter().filter(|kind| *kind == "message.posted").count(), 2);
    }

    async fn scheduled_message_skips_former_members_and_retracted_parents(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, bob) = (club.add_member("Ana", "player", None).await, club.add_member("Bob", "player", None).await);
        let named = json!({ "to": "members", "member_ids": [ana.member, bob.member] });
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "audience": named, "publish_at": "2026-09-05T11:00:00Z" });
        let named = w.owner.post("/messages", body).await.created();
        let event = club.create_event().await;
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "audience": { "to": "unanswered", "event_id": event }, "publish_at": "2026-09-05T11:00:00Z" });
        let reminder = w.owner.post("/messages", body).await.created();
        let conversation = post_message(w, &club, None, json!({})).await.created();
        let body = |parent: &TestResponse| json!({ "parent_id": parent.id(), "body": "Yes", "publish_at": "2026-09-05T11:00:00Z", "on_behalf_of": bob.person });
        let valid = w.owner.post("/messages", body(&conversation)).await.created();
        let question = reply(w, conversation.id(), None).await.created();
        let (late, early) = (w.owner.post("/messages", body(&question)).await.created(), w.owner.post("/messages", body(&question)).await.created());
        w.owner.patch(&message_path(&valid), json!({ "audience": { "to": "staff" } })).await.assert_problem(422, "validation_failed");
        w.owner.delete(&message_path(&question)).await.ok();
        w.owner.patch(&message_path(&early), json!({ "publish_at": null })).await.assert_problem(409, "invalid_state");
        club.set_status(ana, "removed").await;
        club.decline_event(event, bob).await;
        w.advance_clock(seconds(3600));
        jobs::publish_scheduled_messages(&w.node.app).await;
        assert_eq!(recipients(w, &named).await, sorted_ids(&[bob.person]));
        assert!(recipients(w, &valid).await.is_empty(), "Ana left the team and its conversations");
        for message in [&late, &early, &reminder] {
            assert_eq!(w.owner.get(&message_path(message)).await.ok().data()["status"], "retracted");
        }
    }

    async fn unpublishable_message_does_not_block_others(w: &World) {
        let (club, other) = (TeamFixture::new(w, "Hawks", "open").await, TeamFixture::new(w, "Kraken", "open").await);
        let ana = club.add_member("Ana", "player", None).await;
        other.add_existing(ana.person, "player").await;
        let carl = club.add_member("Carl", "coach", None).await;
        let schedule = async |body: Value| {
            let mut request = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-05T11:00:00Z" });
            request.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
            w.owner.post("/messages", request).await.created()
        };
        let broken = schedule(json!({})).await;
        let archived = schedule(json!({ "team_id": other.team })).await;
        let empty_audience = schedule(json!({ "audience": { "to": "staff" } })).await;
        let author_left = schedule(json!({ "on_behalf_of": carl.person })).await;
        let valid = schedule(json!({})).await;
        w.owner.delete(&format!("/teams/{}", other.team)).await.ok();
        club.set_status(carl, "removed").await;
        let id: touchline::ids::MessageId = broken.id().parse().unwrap();
        // Simulates a fault of the server: no request can store this audience.
        w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            tx.execute("update message set audience = '{' where account_id = :account and id = :id", bind! { id })
        }).await.unwrap();
        w.advance_clock(seconds(3600));
        for _ in 0..2 {
            jobs::publish_scheduled_messages(&w.node.app).await;
        }
        assert_eq!(w.owner.get(&message_path(&valid)).await.ok().data()["status"], "published");
        for message in [&archived, &empty_audience, &author_left] {
            let withheld = w.owner.get(&message_path(message)).await.ok();
            assert_eq!((&withheld.data()["status"], &withheld.data()["retracted_by"]), (&json!("retracted"), &json!("system")));
        }
        let reasons = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(String,)>("select subject from audit_entry where account_id = :account and action = 'message.withheld'", bind! {})
        }).await.unwrap();
        assert_eq!(reasons.len(), 3);
        let (status,) = w.db().read(Scope::account(w.harbour, "test"), move |db| {
            db.one::<(String,)>("select status from message where account_id = :account and id = :id", bind! { id })
        }).await.unwrap();
        assert_eq!(status, "scheduled", "it stays scheduled until the fault is fixed");
    }
}
