//! Stories about messages whose time is yet to come.

use store::{Scope, bind};
use testkit::{Answer, Value, World, both, json, seconds};
use touchline::jobs;

use crate::messages::{announce, faults, kinds, listed, path, people, reached, reply, say};
use crate::messages_people::Club;

both! {
    async fn a_scheduled_message_is_published_when_its_time_comes(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let ana = club.member("Ana", "player", None).await;
        let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "publish_at": "2026-09-05T12:00:00+01:00" });
        let scheduled = w.owner.post("/messages", body).await.created();
        assert_eq!((&scheduled.data()["status"], &scheduled.data()["published_at"]), (&json!("scheduled"), &Value::Null));
        assert_eq!(scheduled.data()["receipt_counts"]["delivered"], 0);
        let now = announce(w, &club, json!({})).await.created();
        assert_eq!(listed(&w.owner, "").await, [now.id()]);
        assert_eq!(listed(&w.owner, "status=scheduled").await, [scheduled.id()]);
        assert_eq!(listed(&w.owner, "status=all").await, [scheduled.id(), now.id()]);
        w.owner.send("PUT", &format!("{}/receipts/{}", path(&scheduled), ana.person), None).await.refused(404, "not_found");
        // Who joins before the time gets it; who leaves before does not.
        let bob = club.member("Bob", "player", None).await;
        club.becomes(ana, "removed").await;
        w.pass(seconds(3599));
        jobs::publish_due(&w.node.app).await;
        assert_eq!(w.owner.get(&path(&scheduled)).await.ok().data()["status"], "scheduled");
        w.pass(seconds(2));
        let other = w.node(|_| {}).await;
        tokio::join!(jobs::publish_due(&w.node.app), jobs::publish_due(&other.app), jobs::publish_due(&w.node.app));
        let published = w.owner.get(&path(&scheduled)).await.ok();
        assert_eq!((&published.data()["status"], &published.data()["version"]), (&json!("published"), &json!(2)));
        assert_eq!(published.data()["published_at"], "2026-09-05T11:00:01.000000Z");
        assert_eq!(published.data()["author"], scheduled.data()["author"]);
        assert_eq!(reached(w, &published).await, people(&[bob.person]));
        assert_eq!(listed(&w.owner, "").await, [scheduled.id(), now.id()]);
        assert_eq!(kinds(w).await, ["message.scheduled", "message.posted", "message.posted"]);
        assert_eq!(w.count("mail").await, 2);
        other.stop().await;
    }

    async fn a_scheduled_message_can_be_rewritten_moved_and_called_off(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, carl) = (club.member("Ana", "player", None).await, club.member("Carl", "coach", None).await);
        let body = |at: &str| json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "publish_at": at });
        for (at, code) in [("2026-09-05T10:00:00Z", "in_the_past"), ("2020-01-01T00:00:00Z", "in_the_past"), ("2027-09-07T10:00:01Z", "too_far")] {
            let refused = w.owner.post("/messages", body(at)).await.refused(422, "validation_failed");
            assert_eq!(faults(&refused), [("/publish_at", code)]);
        }
        let first = w.owner.post("/messages", body("2026-09-05T11:00:00Z")).await.created();
        let change = json!({ "subject": "t", "body": "c", "audience": { "to": "staff" }, "publish_at": "2026-09-05T12:00:00Z", "pinned": true });
        let changed = w.owner.patch(&path(&first), change).await.ok();
        assert_eq!((&changed.data()["subject"], &changed.data()["body"], &changed.data()["version"]), (&json!("t"), &json!("c"), &json!(2)));
        for (change, fault) in [
            (json!({ "publish_at": "2026-09-05T09:00:00Z" }), ("/publish_at", "in_the_past")),
            (json!({ "subject": null }), ("/subject", "required")),
            (json!({ "audience": { "to": "members", "member_ids": ["mem_00000000000000000000000001"] } }), ("/audience/member_ids/0", "unknown_member")),
            (json!({ "audience": { "to": "guardians" } }), ("/audience", "empty_audience")),
        ] {
            let refused = w.owner.patch(&path(&first), change).await.refused(422, "validation_failed");
            assert_eq!(faults(&refused), [fault]);
        }
        let second = w.owner.post("/messages", body("2026-09-05T11:00:00Z")).await.created();
        let gone = w.owner.delete(&path(&second)).await.ok();
        assert_eq!((&gone.data()["status"], &gone.data()["published_at"], &gone.data()["body"]), (&json!("retracted"), &Value::Null, &Value::Null));
        let third = w.owner.post("/messages", body("2026-09-06T11:00:00Z")).await.created();
        let at_once = w.owner.patch(&path(&third), json!({ "publish_at": null })).await.ok();
        assert_eq!(at_once.data()["status"], "published");
        assert_eq!(reached(w, &third).await, people(&[ana.person, carl.person]));
        w.pass(seconds(3601));
        jobs::publish_due(&w.node.app).await;
        assert_eq!(w.owner.get(&path(&first)).await.ok().data()["status"], "scheduled");
        w.pass(seconds(3600));
        jobs::publish_due(&w.node.app).await;
        assert_eq!(reached(w, &first).await, people(&[carl.person]));
        assert_eq!(w.owner.get(&path(&second)).await.ok().data()["status"], "retracted");
        assert_eq!(kinds(w).await.iter().filter(|kind| *kind == "message.posted").count(), 2);
    }

    async fn who_left_meanwhile_is_left_out_and_a_retracted_question_gets_no_answer(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, bob) = (club.member("Ana", "player", None).await, club.member("Bob", "player", None).await);
        let named = json!({ "to": "members", "member_ids": [ana.member, bob.member] });
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "audience": named, "publish_at": "2026-09-05T11:00:00Z" });
        let named = w.owner.post("/messages", body).await.created();
        let event = club.event().await;
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "audience": { "to": "unanswered", "event_id": event }, "publish_at": "2026-09-05T11:00:00Z" });
        let reminder = w.owner.post("/messages", body).await.created();
        let talk = say(w, &club, None, json!({})).await.created();
        let body = |parent: &Answer| json!({ "parent_id": parent.id(), "body": "Yes", "publish_at": "2026-09-05T11:00:00Z", "on_behalf_of": bob.person });
        let fine = w.owner.post("/messages", body(&talk)).await.created();
        let question = reply(w, talk.id(), None).await.created();
        let (late, held) = (w.owner.post("/messages", body(&question)).await.created(), w.owner.post("/messages", body(&question)).await.created());
        w.owner.patch(&path(&fine), json!({ "audience": { "to": "staff" } })).await.refused(422, "validation_failed");
        w.owner.delete(&path(&question)).await.ok();
        w.owner.patch(&path(&held), json!({ "publish_at": null })).await.refused(409, "invalid_state");
        club.becomes(ana, "removed").await;
        club.answers(event, bob).await;
        w.pass(seconds(3600));
        jobs::publish_due(&w.node.app).await;
        assert_eq!(reached(w, &named).await, people(&[bob.person]));
        assert!(reached(w, &fine).await.is_empty(), "who left the team is off its conversations");
        for message in [&late, &held, &reminder] {
            assert_eq!(w.owner.get(&path(message)).await.ok().data()["status"], "retracted");
        }
    }

    async fn a_message_that_cannot_be_published_holds_up_nobody(w: &World) {
        let (club, other) = (Club::new(w, "Hawks", "open").await, Club::new(w, "Kraken", "open").await);
        let ana = club.member("Ana", "player", None).await;
        other.join(ana.person, "player").await;
        let carl = club.member("Carl", "coach", None).await;
        let later = async |body: Value| {
            let mut whole = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-05T11:00:00Z" });
            whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
            w.owner.post("/messages", whole).await.created()
        };
        let broken = later(json!({})).await;
        let archived = later(json!({ "team_id": other.team })).await;
        let nobody = later(json!({ "audience": { "to": "staff" } })).await;
        let speechless = later(json!({ "on_behalf_of": carl.person })).await;
        let fine = later(json!({})).await;
        w.owner.delete(&format!("/teams/{}", other.team)).await.ok();
        club.becomes(carl, "removed").await;
        let id: touchline::ids::MessageId = broken.id().parse().unwrap();
        // A fault of ours: nothing that a caller could have sent.
        w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            tx.run("update message set audience = '{' where account_id = :account and id = :id", bind! { id })
        }).await.unwrap();
        w.pass(seconds(3600));
        for _ in 0..2 {
            jobs::publish_due(&w.node.app).await;
        }
        assert_eq!(w.owner.get(&path(&fine)).await.ok().data()["status"], "published");
        for message in [&archived, &nobody, &speechless] {
            let held = w.owner.get(&path(message)).await.ok();
            assert_eq!((&held.data()["status"], &held.data()["retracted_by"]), (&json!("retracted"), &json!("system")));
        }
        let reasons = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(String,)>("select subject from audit_entry where account_id = :account and action = 'message.withheld'", bind! {})
        }).await.unwrap();
        assert_eq!(reasons.len(), 3);
        let (status,) = w.db().read(Scope::account(w.harbour, "test"), move |db| {
            db.one::<(String,)>("select status from message where account_id = :account and id = :id", bind! { id })
        }).await.unwrap();
        assert_eq!(status, "scheduled", "it waits until the fault is mended");
    }
}
