//! Tests of announcements and conversations: recipients and content.

use futures_util::future::join_all;
use store::{Scope, bind};
use testkit::{Client, TestResponse, Value, World, both, json};
use touchline::accounts::api_key::NewKey;
use touchline::ids::PersonId;
use touchline::signals;

use crate::messages_fixtures::TeamFixture;

/// Posts an announcement to an audience.
pub(crate) async fn announce(w: &World, club: &TeamFixture<'_>, audience: Value) -> TestResponse {
    let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "News", "body": "Hello",
        "audience": audience });
    w.owner.post("/messages", body).await
}

/// Posts a message on behalf of a person, or of the API key itself.
pub(crate) async fn post_message(
    w: &World,
    club: &TeamFixture<'_>,
    speaker: Option<PersonId>,
    audience: Value,
) -> TestResponse {
    let body = json!({ "team_id": club.team, "kind": "message", "body": "Hello", "audience": audience,
        "on_behalf_of": speaker });
    w.owner.post("/messages", body).await
}

/// Replies to a message.
pub(crate) async fn reply(w: &World, parent: &str, speaker: Option<PersonId>) -> TestResponse {
    let body = json!({ "parent_id": parent, "body": "Yes", "on_behalf_of": speaker });
    w.owner.post("/messages", body).await
}

pub(crate) fn message_path(message: &TestResponse) -> String {
    format!("/messages/{}", message.id())
}

/// The recipients of a message, without its author.
pub(crate) async fn recipients(w: &World, message: &TestResponse) -> Vec<String> {
    let list = w.owner.get(&format!("{}/receipts?limit=100", message_path(message))).await.ok();
    let rows = list.data().as_array().unwrap().iter().map(|row| &row["person_id"]);
    let others = rows.filter(|person| **person != message.data()["author"]["person_id"]);
    others.map(|person| person.as_str().unwrap().to_owned()).collect()
}

/// The ids of these people, in list order.
pub(crate) fn sorted_ids(people: &[PersonId]) -> Vec<String> {
    let mut people = people.to_vec();
    people.sort_unstable();
    people.iter().map(ToString::to_string).collect()
}

/// The ids of a list of messages.
pub(crate) async fn list_message_ids(client: &Client, query: &str) -> Vec<String> {
    let list = client.get(&format!("/messages?{query}")).await.ok();
    let rows = list.data().as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Pointer and code of each error.
pub(crate) fn field_errors(refused: &TestResponse) -> Vec<(&str, &str)> {
    let faults = refused.body["errors"].as_array().unwrap().iter();
    faults.map(|f| (f["pointer"].as_str().unwrap(), f["code"].as_str().unwrap())).collect()
}

/// The notifications about messages.
pub(crate) async fn message_notifications(w: &World) -> Vec<Value> {
    let about_messages = |row: &Value| row["type"].as_str().unwrap().starts_with("message.");
    w.notifications().await.into_iter().filter(about_messages).collect()
}

/// The types of the notifications about messages.
pub(crate) async fn message_event_types(w: &World) -> Vec<String> {
    message_notifications(w)
        .await
        .iter()
        .map(|row| row["type"].as_str().unwrap().to_owned())
        .collect()
}

/// A client with a key for the messages of one team only.
pub(crate) async fn client_for_team(w: &World, club: &TeamFixture<'_>) -> Client {
    let new = testkit::world::new_key("messages:read messages:write");
    w.client_with_key(NewKey { team_ids: Some(vec![club.team]), ..new }).await.1
}

both! {
    async fn announcement_reaches_the_team_and_its_guardians(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let mia = club.add_member("Mia", "player", None).await;
        let coach = club.add_member("Carl", "coach", None).await;
        let mother = club.add_guardian("Maria", mia, true).await;
        club.add_guardian("Quiet", mia, false).await;
        let removed = club.add_member("Gone", "player", None).await;
        club.set_status(removed, "removed").await;
        let inactive = club.add_member("Rest", "player", None).await;
        club.set_status(inactive, "inactive").await;
        let injured = club.add_member("Hurt", "player", None).await;
        club.set_status(injured, "injured").await;

        let sent = announce(w, &club, json!({})).await.created();
        assert_eq!(recipients(w, &sent).await, sorted_ids(&[mia.person, coach.person, mother, injured.person]));
        let data = sent.data();
        assert_eq!(data["object"], "message");
        assert_eq!(data["status"], "published");
        assert_eq!(data["audience"], json!({ "to": "all", "member_ids": null, "event_id": null }));
        assert_eq!(data["receipt_counts"], json!({ "delivered": 4, "read": 0 }));
        assert_eq!(data["thread_id"], data["id"]);
        assert_eq!(data["published_at"], "2026-09-05T10:00:00.000000Z");
        assert_eq!(data["body_html"], "<p>Hello</p>\n");
        assert!(data["author"]["id"].as_str().unwrap().starts_with("key_"));
        assert_eq!((&data["author"]["person_id"], &data["author"]["name"]), (&Value::Null, &Value::Null));
        let mut fields: Vec<_> = data.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["attachments", "audience", "author", "body", "body_html", "created_at", "event_id", "id", "kind", "metadata",
            "object", "parent_id", "pinned", "publish_at", "published_at", "receipt_counts", "retracted_at",
            "retracted_by", "status", "subject", "team_id", "thread_id", "updated_at", "version", "withheld_reason"]);
        assert_eq!(w.owner.get(&message_path(&sent)).await.ok().data(), data);
        assert_eq!(sent.header("etag"), Some("\"1\""));
    }

    async fn each_audience_has_the_right_recipients(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let ana = club.add_member("Ana", "player", None).await;
        let kid = club.add_member("Kid", "player", Some("2012-01-01")).await;
        let father = club.add_guardian("Father", kid, true).await;
        let coach = club.add_member("Carl", "coach", None).await;
        let boss = club.add_member("Boss", "manager", None).await;
        let nurse = club.add_member("Nurse", "staff", None).await;
        let event = club.create_event().await;
        club.decline_event(event, ana).await;
        club.decline_event(event, coach).await;
        for (audience, expected) in [
            (json!({ "to": "players" }), sorted_ids(&[ana.person, kid.person, father])),
            (json!({ "to": "guardians" }), sorted_ids(&[father])),
            (json!({ "to": "staff" }), sorted_ids(&[coach.person, boss.person, nurse.person])),
            (json!({ "to": "members", "member_ids": [ana.member] }), sorted_ids(&[ana.person])),
            (json!({ "to": "members", "member_ids": [kid.member, coach.member] }), sorted_ids(&[kid.person, father, coach.person])),
            (json!({ "to": "unanswered", "event_id": event }), sorted_ids(&[kid.person, father, boss.person, nurse.person])),
            (json!({ "to": null }), sorted_ids(&[ana.person, kid.person, father, coach.person, boss.person, nurse.person])),
        ] {
            let sent = announce(w, &club, audience.clone()).await.created();
            assert_eq!(recipients(w, &sent).await, expected, "{audience}");
        }
        // Inactive members can still be named. Each person gets the message once, even if they
        // qualify twice.
        club.set_status(ana, "inactive").await;
        club.add_existing_guardian(coach.person, kid, true).await;
        let named = json!({ "to": "members", "member_ids": [ana.member, kid.member, coach.member] });
        let sent = announce(w, &club, named).await.created();
        assert_eq!(recipients(w, &sent).await, sorted_ids(&[ana.person, kid.person, father, coach.person]));
    }

    async fn rejects_an_audience_outside_the_team(w: &World) {
        let (club, other) = (TeamFixture::new(w, "Hawks", "open").await, TeamFixture::new(w, "Kraken", "open").await);
        let other_account = TeamFixture::in_other_account(w).await;
        let ana = club.add_member("Ana", "player", None).await;
        let removed = club.add_member("Gone", "player", None).await;
        club.set_status(removed, "removed").await;
        let (foreign, stranger) = (other.add_member("Bob", "player", None).await, other_account.add_member("Eve", "player", None).await);
        let named = json!({ "to": "members", "member_ids": [ana.member, foreign.member, stranger.member, removed.member] });
        let refused = announce(w, &club, named).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/audience/member_ids/1", "/audience/member_ids/2", "/audience/member_ids/3"]);
        assert!(field_errors(&refused).iter().all(|(_, code)| *code == "not_found"));
        for event in [other.create_event().await, other_account.create_event().await] {
            let refused = announce(w, &club, json!({ "to": "unanswered", "event_id": event })).await;
            assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), [("/audience/event_id", "not_found")]);
        }
        let (without_rsvp, cancelled) = (club.create_event().await, club.create_event().await);
        w.owner.patch(&format!("/events/{without_rsvp}"), json!({ "rsvp_enabled": false })).await.ok();
        w.owner.post(&format!("/events/{cancelled}/cancel"), json!({})).await.ok();
        for event in [without_rsvp, cancelled] {
            let refused = announce(w, &club, json!({ "to": "unanswered", "event_id": event })).await;
            assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), [("/audience/event_id", "no_recipients")]);
        }
        let too_many: Vec<_> = (0..501).map(|n| touchline::ids::MemberId::from_bits(n).to_string()).collect();
        for (audience, fault) in [
            (json!({ "to": "members" }), ("/audience/member_ids", "required")),
            (json!({ "to": "members", "member_ids": [] }), ("/audience/member_ids", "required")),
            (json!({ "to": "members", "member_ids": too_many }), ("/audience/member_ids", "too_many")),
            (json!({ "to": "members", "member_ids": [ana.person] }), ("/audience/member_ids/0", "invalid_id")),
            (json!({ "to": "members", "member_ids": [ana.member, ana.member] }), ("/audience/member_ids/1", "repeated")),
            (json!({ "to": "players", "member_ids": [ana.member] }), ("/audience/member_ids", "not_applicable")),
            (json!({ "to": "unanswered" }), ("/audience/event_id", "required")),
            (json!({ "to": "world" }), ("/audience/to", "unknown_value")),
            (json!("all"), ("/audience", "wrong_type")),
        ] {
            let refused = announce(w, &club, audience).await.assert_problem(422, "validation_failed");
            assert_eq!(field_errors(&refused), [fault]);
        }
        announce(w, &club, json!({ "everybody": true })).await.assert_problem(400, "invalid_parameter");
        let refused = announce(w, &club, json!({ "to": "staff" })).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/audience", "empty_audience")]);
        // The author does not count as a recipient.
        let refused = post_message(w, &club, Some(ana.person), json!({ "to": "all" })).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/audience", "empty_audience")]);
        assert_eq!(w.count("message").await, 0);
        assert_eq!(w.count("receipt").await, 0);
    }

    async fn reports_all_errors_of_a_message_at_once(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, stranger) = (club.add_member("Ana", "player", None).await, TeamFixture::new(w, "Kraken", "open").await.add_member("Sam", "player", None).await.person);
        let refused = w.owner.post("/messages", json!({})).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/team_id", "required"), ("/kind", "required"), ("/body", "required")]);
        let refused = w.owner.post("/messages", json!({ "team_id": "x", "kind": "shout", "subject": "a\nb", "body": "🏉".repeat(10_001),
            "pinned": 1, "publish_at": "tomorrow", "on_behalf_of": ana.member, "parent_id": null, "metadata": [] })).await;
        let refused = refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/team_id", "/kind", "/subject", "/body", "/pinned", "/publish_at", "/on_behalf_of", "/metadata"]);
        let body = json!({ "team_id": club.team, "kind": "announcement", "body": "x" });
        assert_eq!(field_errors(&w.owner.post("/messages", body).await.assert_problem(422, "validation_failed")), [("/subject", "required")]);
        let refused = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-05T10:00:00Z",
            "on_behalf_of": stranger, "audience": { "to": "members", "member_ids": ["mem_00000000000000000000000001"] } })).await;
        assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")),
            [("/publish_at", "in_the_past"), ("/audience/member_ids/0", "not_found"), ("/on_behalf_of", "not_on_team")]);
        let longest = json!({ "team_id": club.team, "kind": "announcement", "subject": "é".repeat(200), "body": "🏉".repeat(10_000) });
        w.owner.post("/messages", longest).await.created();
    }

    async fn stores_the_body_unchanged_and_escapes_its_html(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        club.add_member("Ana", "player", None).await;
        for (body, html) in [
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
            ("[x](javascript:alert(1))", "<p>x</p>\n"),
            ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n"),
            ("مرحبا \u{202e}abc 🏳️‍🌈", "<p>مرحبا \u{202e}abc 🏳️‍🌈</p>\n"),
            ("# Big\n\n- *a*\n- **b**", "<h3>Big</h3>\n<ul>\n<li><em>a</em></li>\n<li><strong>b</strong></li>\n</ul>\n"),
        ] {
            let sent = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "message", "body": body })).await.created();
            assert_eq!(sent.data()["body"], body);
            assert_eq!(sent.data()["body_html"], html);
        }
        let refused = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "message", "body": "a\u{0}b" })).await;
        assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), [("/body", "control_character")]);
    }

    async fn people_post_only_to_their_own_team(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, coach) = (club.add_member("Ana", "player", None).await, club.add_member("Carl", "coach", None).await);
        let mother = club.add_guardian("Maria", ana, false).await;
        let sent = post_message(w, &club, Some(coach.person), json!({ "to": "all" })).await.created();
        assert_eq!(sent.data()["author"], json!({ "id": coach.person, "person_id": coach.person, "name": "Carl Sousa" }));
        assert_eq!(recipients(w, &sent).await, sorted_ids(&[ana.person, mother]));
        post_message(w, &club, Some(mother), json!({ "to": "staff" })).await.created();
        // Notifications contain no names.
        let notifications = message_notifications(w).await;
        assert_eq!(notifications.last().unwrap()["data"]["object"]["author"], json!({ "id": mother, "person_id": mother, "name": null }));
        assert_eq!(notifications.last().unwrap()["data"]["object"]["body"], "Hello");
        assert!(!notifications.iter().any(|row| row.to_string().contains("Sousa")));
        club.set_status(ana, "inactive").await;
        for person in [ana.person, mother, PersonId::from_bits(7)] {
            let refused = post_message(w, &club, Some(person), json!({ "to": "staff" })).await.assert_problem(422, "validation_failed");
            assert_eq!(field_errors(&refused), [("/on_behalf_of", "not_on_team")]);
        }
    }

    async fn only_staff_and_the_club_can_announce(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, kid) = (club.add_member("Ana", "player", None).await, club.add_member("Kid", "player", Some("2012-01-01")).await);
        let father = club.add_guardian("Father", kid, true).await;
        let body = |person: PersonId| json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "on_behalf_of": person });
        for person in [ana.person, kid.person, father] {
            let refused = w.owner.post("/messages", body(person)).await.assert_problem(422, "validation_failed");
            assert_eq!(field_errors(&refused), [("/on_behalf_of", "not_staff")]);
        }
        for role in ["coach", "manager", "staff"] {
            let member = club.add_member(role, role, None).await;
            w.owner.post("/messages", body(member.person)).await.created();
        }
        announce(w, &club, json!({})).await.created();
    }

    async fn reply_goes_to_everybody_in_the_conversation(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, bob, carl) = (club.add_member("Ana", "player", None).await, club.add_member("Bob", "player", None).await, club.add_member("Carl", "coach", None).await);
        club.add_member("Dan", "player", None).await;
        let audience = json!({ "to": "members", "member_ids": [ana.member, bob.member] });
        let first = post_message(w, &club, Some(carl.person), audience.clone()).await.created();
        let second = reply(w, first.id(), Some(ana.person)).await.created();
        assert_eq!(recipients(w, &second).await, sorted_ids(&[bob.person, carl.person]));
        let third = reply(w, second.id(), Some(bob.person)).await.created();
        assert_eq!(recipients(w, &third).await, sorted_ids(&[ana.person, carl.person]));
        let fourth = reply(w, first.id(), None).await.created();
        assert_eq!(recipients(w, &fourth).await, sorted_ids(&[ana.person, bob.person, carl.person]));
        for (answer, parent) in [(&second, &first), (&third, &second), (&fourth, &first)] {
            assert_eq!(answer.data()["thread_id"], first.data()["id"]);
            assert_eq!(answer.data()["parent_id"], parent.data()["id"]);
            assert_eq!(answer.data()["audience"], first.data()["audience"]);
            assert_eq!(answer.data()["kind"], "message");
        }
        let ids = |answers: &[&TestResponse]| answers.iter().map(|a| a.id().to_owned()).collect::<Vec<_>>();
        assert_eq!(list_message_ids(&w.owner, &format!("thread_id={}&order=asc", first.id())).await, ids(&[&first, &second, &third, &fourth]));
        assert_eq!(list_message_ids(&w.owner, &format!("parent_id={}", first.id())).await, ids(&[&fourth, &second]));
        assert!(list_message_ids(&w.owner, "parent_id=msg_00000000000000000000000001").await.is_empty());

        let body = |more: Value| {
            let mut body = json!({ "parent_id": first.id(), "body": "x" });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let other = TeamFixture::new(w, "Kraken", "open").await;
        for (more, fault) in [
            (json!({ "team_id": other.team }), ("/team_id", "not_in_conversation")),
            (json!({ "audience": { "to": "all" } }), ("/audience", "not_in_conversation")),
            (json!({ "kind": "announcement", "subject": "x" }), ("/kind", "not_applicable")),
            (json!({ "on_behalf_of": other.add_member("Eve", "player", None).await.person }), ("/on_behalf_of", "not_on_team")),
        ] {
            let refused = w.owner.post("/messages", body(more)).await.assert_problem(422, "validation_failed");
            assert_eq!(field_errors(&refused), [fault]);
        }
        w.owner.post("/messages", body(json!({ "team_id": club.team, "kind": "message", "audience": audience }))).await.created();
        let absent = reply(w, "msg_00000000000000000000000001", None).await.assert_problem(422, "validation_failed");
        assert_eq!(absent.pointers(), ["/parent_id"]);
    }

    async fn only_a_published_message_accepts_replies(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let ana = club.add_member("Ana", "player", None).await;
        let announcement = announce(w, &club, json!({})).await.created();
        let refused = reply(w, announcement.id(), Some(ana.person)).await.assert_problem(409, "invalid_state");
        assert!(refused.body["detail"].as_str().unwrap().contains("announcement"));
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-06T10:00:00Z" });
        let scheduled = w.owner.post("/messages", body).await.created();
        reply(w, scheduled.id(), None).await.assert_problem(409, "invalid_state");
        let first = post_message(w, &club, None, json!({})).await.created();
        let second = reply(w, first.id(), Some(ana.person)).await.created();
        w.owner.delete(&message_path(&first)).await.ok();
        reply(w, first.id(), Some(ana.person)).await.assert_problem(409, "invalid_state");
        // The conversation continues, but Ana's reply has no other recipient.
        let third = reply(w, second.id(), Some(ana.person)).await.created();
        assert_eq!(third.data()["receipt_counts"]["delivered"], 0);
        w.owner.delete(&format!("/teams/{}", club.team)).await.ok();
        reply(w, second.id(), None).await.assert_problem(409, "invalid_state");
        announce(w, &club, json!({})).await.assert_problem(409, "invalid_state");
    }

    async fn shows_the_current_name_of_the_author(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        let (mother, _dora) = (club.add_guardian("Maria", mia, true).await, club.add_member("Dora", "coach", None).await);
        let messages = [post_message(w, &club, Some(carl.person), json!({})).await.created(), post_message(w, &club, Some(mother), json!({})).await.created()];
        for (message, person) in messages.iter().zip([carl.person, mother]) {
            let get_if_changed = async |etag: &str| w.owner.with_header("If-None-Match", etag).get(&message_path(message)).await;
            let first = w.owner.get(&message_path(message)).await.ok();
            let etag = first.header("etag").unwrap().to_owned();
            assert_eq!(get_if_changed(&etag).await.status, 304);
            club.update_person(person, json!({ "phone": "1" })).await;
            assert_eq!(get_if_changed(&etag).await.status, 304, "a change of a hidden field keeps the ETag");
            club.update_person(person, json!({ "preferred_name": "Kim" })).await;
            let second = get_if_changed(&etag).await.ok();
            assert_eq!(second.data()["author"]["name"], "Kim Sousa");
            let etag = second.header("etag").unwrap().to_owned();
            club.erase(person).await;
            assert_eq!(get_if_changed(&etag).await.ok().data()["author"]["name"], Value::Null);
        }
    }

    async fn idempotent_request_posts_once(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let ana = club.add_member("Ana", "player", None).await;
        let first_key = w.owner.with_header("Idempotency-Key", "one");
        let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b" });
        let posts = join_all((0..5).map(|_| first_key.post("/messages", body.clone()))).await;
        let ids: std::collections::BTreeSet<_> = posts.iter().map(|post| post.id().to_owned()).collect();
        assert_eq!((ids.len(), w.count("message").await, w.count("receipt").await, w.count("mail").await), (1, 1, 1, 1));
        let receipt = format!("{}/receipts/{}", message_path(&posts[0]), ana.person);
        let second_key = w.owner.with_header("Idempotency-Key", "two");
        second_key.send("PUT", &receipt, None).await.ok();
        assert_eq!(second_key.send("PUT", &receipt, None).await.ok().header("idempotent-replayed"), Some("true"));
        assert_eq!(message_event_types(w).await, ["message.posted", "message.read"]);
    }

    async fn announcement_is_emailed_once_per_address(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, bob, quiet) = (club.add_member("Ana", "player", None).await, club.add_member("Bob", "player", None).await, club.add_member("Quiet", "player", None).await);
        club.update_person(ana.person, json!({ "email": "Family@example.org", "email_opt_in": true })).await;
        club.update_person(bob.person, json!({ "email": "family@example.org", "email_opt_in": true })).await;
        club.update_person(quiet.person, json!({ "email": "quiet@example.org", "email_opt_in": false })).await;
        let carl = club.add_member("Carl", "coach", None).await;
        let sent = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "announcement", "subject": "Snow", "body": "No *game* <b>today</b>" })).await.created();
        let emails = w.owner.get(&format!("/emails?related_id={}&order=asc", sent.id())).await.ok();
        let rows = emails.data().as_array().unwrap();
        let to: Vec<_> = rows.iter().map(|row| (row["to_address"].as_str().unwrap(), row["to_name"].as_str().unwrap())).collect();
        assert_eq!(to, [("Family@example.org", "Ana Sousa"), ("carl@example.org", "Carl Sousa")]);
        assert!(rows.iter().all(|row| row["subject"] == "[Hawks] Snow" && row["body_text"] == "No *game* <b>today</b>"));
        let pages = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(String,)>("select html_body from mail where account_id = :account", bind! {})
        }).await.unwrap();
        assert!(pages.iter().all(|(page,)| page.contains("<p>No <em>game</em> &lt;b&gt;today&lt;/b&gt;</p>")));
        // Conversations are emailed only to people without a login whose address is confirmed:
        // Carl.
        let conversation = post_message(w, &club, None, json!({})).await.created();
        let emails = w.owner.get(&format!("/emails?related_id={}", conversation.id())).await.ok();
        assert_eq!(emails.data().as_array().unwrap().len(), 1);
        assert_eq!(emails.data()[0]["subject"], "[Hawks] New message");
        w.owner.delete(&message_path(&sent)).await.ok();
        let emails = w.owner.get("/emails?status=cancelled").await.ok();
        assert_eq!(emails.data().as_array().unwrap().len(), 2);
        let by_carl = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "on_behalf_of": carl.person })).await.created();
        let emails = w.owner.get(&format!("/emails?related_id={}", by_carl.id())).await.ok();
        assert_eq!(emails.data().as_array().unwrap().len(), 1, "the author gets no email");
    }

    async fn exports_and_erases_a_persons_messages(w: &World) {
        use touchline::messages::personal_data;
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, carl) = (club.add_member("Ana", "player", None).await, club.add_member("Carl", "coach", None).await);
        let written = post_message(w, &club, Some(ana.person), json!({})).await.created();
        let received = post_message(w, &club, Some(carl.person), json!({})).await.created();
        w.owner.delete(&message_path(&written)).await.ok();
        let planned = json!({ "team_id": club.team, "kind": "message", "body": "later", "publish_at": "2026-09-06T10:00:00Z", "on_behalf_of": ana.person });
        let planned = w.owner.post("/messages", planned).await.created();
        let person = ana.person;
        let scope = || Scope::account(w.harbour, "test");
        w.owner.patch(&message_path(&planned), json!({ "body": "later still", "subject": "private plan" })).await.ok();
        let personal_data = w.db().read(scope(), move |db| personal_data::export_person(db, person)).await.unwrap();
        assert_eq!((&personal_data["messages"][0]["id"], &personal_data["messages"][0]["body"]), (&json!(written.id()), &json!("Hello")));
        assert_eq!(personal_data["messages"][1]["id"], planned.id());
        assert_eq!((&personal_data["receipts"][0]["message_id"], personal_data["receipts"].as_array().unwrap().len()), (&json!(received.id()), 1));
        w.owner.send("POST", &format!("/people/{person}/erase"), None).await.ok();
        // An unpublished message is erased everywhere: in the messages, the notifications and the
        // audit log.
        let personal_data = w.db().read(scope(), move |db| personal_data::export_person(db, person)).await.unwrap();
        assert_eq!((&personal_data["messages"][1]["body"], &personal_data["messages"][1]["subject"]), (&json!(""), &Value::Null));
        assert_eq!(personal_data["messages"][0]["body"], "Hello");
        let logs = w.db().read(scope(), |db| {
            db.all::<(Option<String>,)>("select details from audit_entry where account_id = :account", bind! {})
        }).await.unwrap();
        for word in ["later", "private plan"] {
            assert!(!message_notifications(w).await.iter().any(|row| row.to_string().contains(word)), "{word}");
            assert!(!logs.iter().any(|(details,)| details.as_deref().unwrap_or_default().contains(word)), "{word}");
        }
        assert_eq!(w.db().read(scope(), signals::verify).await.unwrap(), None);
        assert_eq!(w.owner.get(&message_path(&planned)).await.ok().data()["status"], "retracted");
        assert_eq!(w.owner.get(&message_path(&written)).await.ok().data()["author"], json!({ "id": person, "person_id": person, "name": null }));
        let next = reply(w, received.id(), Some(carl.person)).await.created();
        assert_eq!(next.data()["receipt_counts"]["delivered"], 0, "an erased person gets no message");
        assert_eq!(w.owner.get(&format!("{}/receipts", message_path(&received))).await.ok().data()[0]["name"], Value::Null);
    }
}
