//! Stories about announcements and conversations: who gets them and what they say.

use futures_util::future::join_all;
use store::{Scope, bind};
use testkit::{Answer, Client, Value, World, both, json};
use touchline::accounts::api_key::NewKey;
use touchline::ids::PersonId;
use touchline::signals;

use crate::messages_people::Club;

/// Posts an announcement to an audience.
pub(crate) async fn announce(w: &World, club: &Club<'_>, audience: Value) -> Answer {
    let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "News", "body": "Hello",
        "audience": audience });
    w.owner.post("/messages", body).await
}

/// Posts a message in somebody's name, or in that of the key.
pub(crate) async fn say(
    w: &World,
    club: &Club<'_>,
    speaker: Option<PersonId>,
    audience: Value,
) -> Answer {
    let body = json!({ "team_id": club.team, "kind": "message", "body": "Hello", "audience": audience,
        "on_behalf_of": speaker });
    w.owner.post("/messages", body).await
}

/// Answers a message.
pub(crate) async fn reply(w: &World, parent: &str, speaker: Option<PersonId>) -> Answer {
    let body = json!({ "parent_id": parent, "body": "Yes", "on_behalf_of": speaker });
    w.owner.post("/messages", body).await
}

pub(crate) fn path(message: &Answer) -> String {
    format!("/messages/{}", message.id())
}

/// The people whom a message reached, apart from its author.
pub(crate) async fn reached(w: &World, message: &Answer) -> Vec<String> {
    let list = w.owner.get(&format!("{}/receipts?limit=100", path(message))).await.ok();
    let rows = list.data().as_array().unwrap().iter().map(|row| &row["person_id"]);
    let others = rows.filter(|person| **person != message.data()["author"]["person_id"]);
    others.map(|person| person.as_str().unwrap().to_owned()).collect()
}

/// These people, as they are listed.
pub(crate) fn people(people: &[PersonId]) -> Vec<String> {
    let mut people = people.to_vec();
    people.sort_unstable();
    people.iter().map(ToString::to_string).collect()
}

/// The ids of a list of messages.
pub(crate) async fn listed(client: &Client, query: &str) -> Vec<String> {
    let list = client.get(&format!("/messages?{query}")).await.ok();
    let rows = list.data().as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// What is wrong, fault by fault: where, and as a word.
pub(crate) fn faults(refused: &Answer) -> Vec<(&str, &str)> {
    let faults = refused.body["errors"].as_array().unwrap().iter();
    faults.map(|f| (f["pointer"].as_str().unwrap(), f["code"].as_str().unwrap())).collect()
}

/// The news about messages.
pub(crate) async fn news(w: &World) -> Vec<Value> {
    let about_messages = |news: &Value| news["type"].as_str().unwrap().starts_with("message.");
    w.news().await.into_iter().filter(about_messages).collect()
}

/// The kinds of news about messages.
pub(crate) async fn kinds(w: &World) -> Vec<String> {
    news(w).await.iter().map(|news| news["type"].as_str().unwrap().to_owned()).collect()
}

/// A caller who may use messages of one team only.
pub(crate) async fn narrowed(w: &World, club: &Club<'_>) -> Client {
    let new = testkit::world::new_key("messages:read messages:write");
    w.caller(NewKey { team_ids: Some(vec![club.team]), ..new }).await.1
}

both! {
    async fn an_announcement_reaches_the_whole_team_and_its_guardians(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let mia = club.member("Mia", "player", None).await;
        let coach = club.member("Carl", "coach", None).await;
        let mother = club.guardian("Maria", mia, true).await;
        club.guardian("Quiet", mia, false).await;
        let gone = club.member("Gone", "player", None).await;
        club.becomes(gone, "removed").await;
        let resting = club.member("Rest", "player", None).await;
        club.becomes(resting, "inactive").await;
        let hurt = club.member("Hurt", "player", None).await;
        club.becomes(hurt, "injured").await;

        let sent = announce(w, &club, json!({})).await.created();
        assert_eq!(reached(w, &sent).await, people(&[mia.person, coach.person, mother, hurt.person]));
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
        let mut members: Vec<_> = data.as_object().unwrap().keys().map(String::as_str).collect();
        members.sort_unstable();
        assert_eq!(members, ["audience", "author", "body", "body_html", "created_at", "id", "kind", "metadata",
            "object", "parent_id", "pinned", "publish_at", "published_at", "receipt_counts", "retracted_at",
            "retracted_by", "status", "subject", "team_id", "thread_id", "updated_at", "version"]);
        assert_eq!(w.owner.get(&path(&sent)).await.ok().data(), data);
        assert_eq!(sent.header("etag"), Some("\"1\""));
    }

    async fn each_audience_is_who_it_says(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let ana = club.member("Ana", "player", None).await;
        let kid = club.member("Kid", "player", Some("2012-01-01")).await;
        let father = club.guardian("Father", kid, true).await;
        let coach = club.member("Carl", "coach", None).await;
        let boss = club.member("Boss", "manager", None).await;
        let nurse = club.member("Nurse", "staff", None).await;
        let event = club.event().await;
        club.answers(event, ana).await;
        club.answers(event, coach).await;
        for (audience, expected) in [
            (json!({ "to": "players" }), people(&[ana.person, kid.person, father])),
            (json!({ "to": "guardians" }), people(&[father])),
            (json!({ "to": "staff" }), people(&[coach.person, boss.person, nurse.person])),
            (json!({ "to": "members", "member_ids": [ana.member] }), people(&[ana.person])),
            (json!({ "to": "members", "member_ids": [kid.member, coach.member] }), people(&[kid.person, father, coach.person])),
            (json!({ "to": "unanswered", "event_id": event }), people(&[kid.person, father, boss.person, nurse.person])),
            (json!({ "to": null }), people(&[ana.person, kid.person, father, coach.person, boss.person, nurse.person])),
        ] {
            let sent = announce(w, &club, audience.clone()).await.created();
            assert_eq!(reached(w, &sent).await, expected, "{audience}");
        }
        // Who is not active can still be named; each person gets it once, also who is there twice over.
        club.becomes(ana, "inactive").await;
        club.guards(coach.person, kid, true).await;
        let named = json!({ "to": "members", "member_ids": [ana.member, kid.member, coach.member] });
        let sent = announce(w, &club, named).await.created();
        assert_eq!(reached(w, &sent).await, people(&[ana.person, kid.person, father, coach.person]));
    }

    async fn an_audience_that_is_not_the_teams_own_is_refused(w: &World) {
        let (club, other) = (Club::new(w, "Hawks", "open").await, Club::new(w, "Kraken", "open").await);
        let elsewhere = Club::elsewhere(w).await;
        let ana = club.member("Ana", "player", None).await;
        let removed = club.member("Gone", "player", None).await;
        club.becomes(removed, "removed").await;
        let (foreign, theirs) = (other.member("Bob", "player", None).await, elsewhere.member("Eve", "player", None).await);
        let named = json!({ "to": "members", "member_ids": [ana.member, foreign.member, theirs.member, removed.member] });
        let refused = announce(w, &club, named).await.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/audience/member_ids/1", "/audience/member_ids/2", "/audience/member_ids/3"]);
        assert!(faults(&refused).iter().all(|(_, code)| *code == "unknown_member"));
        for event in [other.event().await, elsewhere.event().await] {
            let refused = announce(w, &club, json!({ "to": "unanswered", "event_id": event })).await;
            assert_eq!(faults(&refused.refused(422, "validation_failed")), [("/audience/event_id", "unknown_event")]);
        }
        let (silent, off) = (club.event().await, club.event().await);
        w.owner.patch(&format!("/events/{silent}"), json!({ "asks_rsvp": false })).await.ok();
        w.owner.post(&format!("/events/{off}/cancel"), json!({})).await.ok();
        for event in [silent, off] {
            let refused = announce(w, &club, json!({ "to": "unanswered", "event_id": event })).await;
            assert_eq!(faults(&refused.refused(422, "validation_failed")), [("/audience/event_id", "asks_nobody")]);
        }
        let many: Vec<_> = (0..501).map(|n| touchline::ids::MemberId::from_bits(n).to_string()).collect();
        for (audience, fault) in [
            (json!({ "to": "members" }), ("/audience/member_ids", "required")),
            (json!({ "to": "members", "member_ids": [] }), ("/audience/member_ids", "required")),
            (json!({ "to": "members", "member_ids": many }), ("/audience/member_ids", "too_many")),
            (json!({ "to": "members", "member_ids": [ana.person] }), ("/audience/member_ids/0", "invalid_id")),
            (json!({ "to": "members", "member_ids": [ana.member, ana.member] }), ("/audience/member_ids/1", "repeated")),
            (json!({ "to": "players", "member_ids": [ana.member] }), ("/audience/member_ids", "not_applicable")),
            (json!({ "to": "unanswered" }), ("/audience/event_id", "required")),
            (json!({ "to": "world" }), ("/audience/to", "unknown_value")),
            (json!("all"), ("/audience", "wrong_type")),
        ] {
            let refused = announce(w, &club, audience).await.refused(422, "validation_failed");
            assert_eq!(faults(&refused), [fault]);
        }
        announce(w, &club, json!({ "everybody": true })).await.refused(400, "invalid_parameter");
        let refused = announce(w, &club, json!({ "to": "staff" })).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/audience", "empty_audience")]);
        // The author does not count: nobody writes to themselves.
        let alone = say(w, &club, Some(ana.person), json!({ "to": "all" })).await.refused(422, "validation_failed");
        assert_eq!(faults(&alone), [("/audience", "empty_audience")]);
        assert_eq!(w.count("message").await, 0);
        assert_eq!(w.count("receipt").await, 0);
    }

    async fn every_fault_of_a_message_is_told_at_once(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, stranger) = (club.member("Ana", "player", None).await, Club::new(w, "Kraken", "open").await.member("Sam", "player", None).await.person);
        let refused = w.owner.post("/messages", json!({})).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/body", "required"), ("/kind", "required"), ("/team_id", "required")]);
        let refused = w.owner.post("/messages", json!({ "team_id": "x", "kind": "shout", "subject": "a\nb", "body": "🏉".repeat(10_001),
            "pinned": 1, "publish_at": "tomorrow", "on_behalf_of": ana.member, "parent_id": null, "metadata": [] })).await;
        let refused = refused.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/team_id", "/kind", "/subject", "/body", "/pinned", "/publish_at", "/on_behalf_of", "/metadata"]);
        let body = json!({ "team_id": club.team, "kind": "announcement", "body": "x" });
        assert_eq!(faults(&w.owner.post("/messages", body).await.refused(422, "validation_failed")), [("/subject", "required")]);
        let refused = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-05T10:00:00Z",
            "on_behalf_of": stranger, "audience": { "to": "members", "member_ids": ["mem_00000000000000000000000001"] } })).await;
        assert_eq!(faults(&refused.refused(422, "validation_failed")),
            [("/publish_at", "in_the_past"), ("/audience/member_ids/0", "unknown_member"), ("/on_behalf_of", "not_on_team")]);
        let longest = json!({ "team_id": club.team, "kind": "announcement", "subject": "é".repeat(200), "body": "🏉".repeat(10_000) });
        w.owner.post("/messages", longest).await.created();
    }

    async fn a_body_is_kept_as_it_is_and_shown_without_harm(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        club.member("Ana", "player", None).await;
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
        assert_eq!(faults(&refused.refused(422, "validation_failed")), [("/body", "control_character")]);
    }

    async fn a_person_speaks_where_they_belong(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, coach) = (club.member("Ana", "player", None).await, club.member("Carl", "coach", None).await);
        let mother = club.guardian("Maria", ana, false).await;
        let sent = say(w, &club, Some(coach.person), json!({ "to": "all" })).await.created();
        assert_eq!(sent.data()["author"], json!({ "id": coach.person, "person_id": coach.person, "name": "Carl Sousa" }));
        assert_eq!(reached(w, &sent).await, people(&[ana.person, mother]));
        say(w, &club, Some(mother), json!({ "to": "staff" })).await.created();
        // News name no names.
        let news = news(w).await;
        assert_eq!(news.last().unwrap()["data"]["object"]["author"], json!({ "id": mother, "person_id": mother, "name": null }));
        assert_eq!(news.last().unwrap()["data"]["object"]["body"], "Hello");
        assert!(!news.iter().any(|news| news.to_string().contains("Sousa")));
        club.becomes(ana, "inactive").await;
        for nobody in [ana.person, mother, PersonId::from_bits(7)] {
            let refused = say(w, &club, Some(nobody), json!({ "to": "staff" })).await.refused(422, "validation_failed");
            assert_eq!(faults(&refused), [("/on_behalf_of", "not_on_team")]);
        }
    }

    async fn only_staff_and_the_club_announce(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, kid) = (club.member("Ana", "player", None).await, club.member("Kid", "player", Some("2012-01-01")).await);
        let father = club.guardian("Father", kid, true).await;
        let body = |person: PersonId| json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "on_behalf_of": person });
        for nobody in [ana.person, kid.person, father] {
            let refused = w.owner.post("/messages", body(nobody)).await.refused(422, "validation_failed");
            assert_eq!(faults(&refused), [("/on_behalf_of", "not_staff")]);
        }
        for role in ["coach", "manager", "staff"] {
            let somebody = club.member(role, role, None).await;
            w.owner.post("/messages", body(somebody.person)).await.created();
        }
        announce(w, &club, json!({})).await.created();
    }

    async fn a_reply_goes_to_everybody_on_its_conversation(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, bob, carl) = (club.member("Ana", "player", None).await, club.member("Bob", "player", None).await, club.member("Carl", "coach", None).await);
        club.member("Dan", "player", None).await;
        let audience = json!({ "to": "members", "member_ids": [ana.member, bob.member] });
        let first = say(w, &club, Some(carl.person), audience.clone()).await.created();
        let second = reply(w, first.id(), Some(ana.person)).await.created();
        assert_eq!(reached(w, &second).await, people(&[bob.person, carl.person]));
        let third = reply(w, second.id(), Some(bob.person)).await.created();
        assert_eq!(reached(w, &third).await, people(&[ana.person, carl.person]));
        let fourth = reply(w, first.id(), None).await.created();
        assert_eq!(reached(w, &fourth).await, people(&[ana.person, bob.person, carl.person]));
        for (answer, parent) in [(&second, &first), (&third, &second), (&fourth, &first)] {
            assert_eq!(answer.data()["thread_id"], first.data()["id"]);
            assert_eq!(answer.data()["parent_id"], parent.data()["id"]);
            assert_eq!(answer.data()["audience"], first.data()["audience"]);
            assert_eq!(answer.data()["kind"], "message");
        }
        let ids = |answers: &[&Answer]| answers.iter().map(|a| a.id().to_owned()).collect::<Vec<_>>();
        assert_eq!(listed(&w.owner, &format!("thread_id={}&order=asc", first.id())).await, ids(&[&first, &second, &third, &fourth]));
        assert_eq!(listed(&w.owner, &format!("parent_id={}", first.id())).await, ids(&[&fourth, &second]));
        assert!(listed(&w.owner, "parent_id=msg_00000000000000000000000001").await.is_empty());

        let body = |more: Value| {
            let mut body = json!({ "parent_id": first.id(), "body": "x" });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let other = Club::new(w, "Kraken", "open").await;
        for (more, fault) in [
            (json!({ "team_id": other.team }), ("/team_id", "not_of_the_conversation")),
            (json!({ "audience": { "to": "all" } }), ("/audience", "not_of_the_conversation")),
            (json!({ "kind": "announcement", "subject": "x" }), ("/kind", "not_applicable")),
            (json!({ "on_behalf_of": other.member("Eve", "player", None).await.person }), ("/on_behalf_of", "not_on_team")),
        ] {
            let refused = w.owner.post("/messages", body(more)).await.refused(422, "validation_failed");
            assert_eq!(faults(&refused), [fault]);
        }
        w.owner.post("/messages", body(json!({ "team_id": club.team, "kind": "message", "audience": audience }))).await.created();
        let absent = reply(w, "msg_00000000000000000000000001", None).await.refused(404, "not_found");
        assert_eq!(absent.pointers(), ["/parent_id"]);
    }

    async fn only_a_published_message_can_be_answered(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let ana = club.member("Ana", "player", None).await;
        let announcement = announce(w, &club, json!({})).await.created();
        let refused = reply(w, announcement.id(), Some(ana.person)).await.refused(409, "invalid_state");
        assert!(refused.body["detail"].as_str().unwrap().contains("announcement"));
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-06T10:00:00Z" });
        let scheduled = w.owner.post("/messages", body).await.created();
        reply(w, scheduled.id(), None).await.refused(409, "invalid_state");
        let first = say(w, &club, None, json!({})).await.created();
        let second = reply(w, first.id(), Some(ana.person)).await.created();
        w.owner.delete(&path(&first)).await.ok();
        reply(w, first.id(), Some(ana.person)).await.refused(409, "invalid_state");
        // The conversation itself goes on. Nobody is left to get this one but the club.
        let third = reply(w, second.id(), Some(ana.person)).await.created();
        assert_eq!(third.data()["receipt_counts"]["delivered"], 0);
        w.owner.delete(&format!("/teams/{}", club.team)).await.ok();
        reply(w, second.id(), None).await.refused(409, "invalid_state");
        announce(w, &club, json!({})).await.refused(409, "invalid_state");
    }

    async fn an_author_who_is_called_otherwise_is_never_shown_by_the_old_name(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        let (mother, _dora) = (club.guardian("Maria", mia, true).await, club.member("Dora", "coach", None).await);
        let texts = [say(w, &club, Some(carl.person), json!({})).await.created(), say(w, &club, Some(mother), json!({})).await.created()];
        for (text, person) in texts.iter().zip([carl.person, mother]) {
            let shown = async |etag: &str| w.owner.with("If-None-Match", etag).get(&path(text)).await;
            let first = w.owner.get(&path(text)).await.ok();
            let etag = first.header("etag").unwrap().to_owned();
            assert_eq!(shown(&etag).await.status, 304);
            club.person(person, json!({ "phone": "1" })).await;
            assert_eq!(shown(&etag).await.status, 304, "what is not shown changes nothing");
            club.person(person, json!({ "preferred_name": "Kim" })).await;
            let second = shown(&etag).await.ok();
            assert_eq!(second.data()["author"]["name"], "Kim Sousa");
            let etag = second.header("etag").unwrap().to_owned();
            club.erase(person).await;
            assert_eq!(shown(&etag).await.ok().data()["author"]["name"], Value::Null);
        }
    }

    async fn the_same_request_posts_once(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let ana = club.member("Ana", "player", None).await;
        let once = w.owner.with("Idempotency-Key", "one");
        let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b" });
        let posts = join_all((0..5).map(|_| once.post("/messages", body.clone()))).await;
        let ids: std::collections::BTreeSet<_> = posts.iter().map(|post| post.id().to_owned()).collect();
        assert_eq!((ids.len(), w.count("message").await, w.count("receipt").await, w.count("mail").await), (1, 1, 1, 1));
        let place = format!("{}/receipts/{}", path(&posts[0]), ana.person);
        let twice = w.owner.with("Idempotency-Key", "two");
        twice.send("PUT", &place, None).await.ok();
        assert_eq!(twice.send("PUT", &place, None).await.ok().header("idempotent-replayed"), Some("true"));
        assert_eq!(kinds(w).await, ["message.posted", "message.read"]);
    }

    async fn an_announcement_goes_out_by_mail_once_to_each_address(w: &World) {
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, bob, quiet) = (club.member("Ana", "player", None).await, club.member("Bob", "player", None).await, club.member("Quiet", "player", None).await);
        club.person(ana.person, json!({ "email": "Family@example.org", "wants_email": true })).await;
        club.person(bob.person, json!({ "email": "family@example.org", "wants_email": true })).await;
        club.person(quiet.person, json!({ "email": "quiet@example.org", "wants_email": false })).await;
        let carl = club.member("Carl", "coach", None).await;
        let sent = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "announcement", "subject": "Snow", "body": "No *game* <b>today</b>" })).await.created();
        let letters = w.owner.get(&format!("/outbox?about={}&order=asc", sent.id())).await.ok();
        let rows = letters.data().as_array().unwrap();
        let to: Vec<_> = rows.iter().map(|row| (row["to_address"].as_str().unwrap(), row["to_name"].as_str().unwrap())).collect();
        assert_eq!(to, [("Family@example.org", "Ana Sousa"), ("carl@example.org", "Carl Sousa")]);
        assert!(rows.iter().all(|row| row["subject"] == "[Hawks] Snow" && row["text_body"] == "No *game* <b>today</b>"));
        let pages = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(String,)>("select html_body from mail where account_id = :account", bind! {})
        }).await.unwrap();
        assert!(pages.iter().all(|(page,)| page.contains("<p>No <em>game</em> &lt;b&gt;today&lt;/b&gt;</p>")));
        // A conversation goes only to those who do not sign in and have confirmed their address: Carl.
        let talk = say(w, &club, None, json!({})).await.created();
        let letters = w.owner.get(&format!("/outbox?about={}", talk.id())).await.ok();
        assert_eq!(letters.data().as_array().unwrap().len(), 1);
        assert_eq!(letters.data()[0]["subject"], "[Hawks] New message");
        w.owner.delete(&path(&sent)).await.ok();
        let letters = w.owner.get("/outbox?status=cancelled").await.ok();
        assert_eq!(letters.data().as_array().unwrap().len(), 2);
        let own = w.owner.post("/messages", json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "on_behalf_of": carl.person })).await.created();
        let letters = w.owner.get(&format!("/outbox?about={}", own.id())).await.ok();
        assert_eq!(letters.data().as_array().unwrap().len(), 1, "the author needs no letter");
    }

    async fn what_is_held_about_a_person_is_told_and_let_go(w: &World) {
        use touchline::messages::held;
        let club = Club::new(w, "Hawks", "open").await;
        let (ana, carl) = (club.member("Ana", "player", None).await, club.member("Carl", "coach", None).await);
        let wrote = say(w, &club, Some(ana.person), json!({})).await.created();
        let got = say(w, &club, Some(carl.person), json!({})).await.created();
        w.owner.delete(&path(&wrote)).await.ok();
        let planned = json!({ "team_id": club.team, "kind": "message", "body": "later", "publish_at": "2026-09-06T10:00:00Z", "on_behalf_of": ana.person });
        let planned = w.owner.post("/messages", planned).await.created();
        let person = ana.person;
        let scope = || Scope::account(w.harbour, "test");
        w.owner.patch(&path(&planned), json!({ "body": "later still", "subject": "private plan" })).await.ok();
        let about = w.db().read(scope(), move |db| held::held_about(db, person)).await.unwrap();
        assert_eq!((&about["messages"][0]["id"], &about["messages"][0]["body"]), (&json!(wrote.id()), &json!("Hello")));
        assert_eq!(about["messages"][1]["id"], planned.id());
        assert_eq!((&about["receipts"][0]["message_id"], about["receipts"].as_array().unwrap().len()), (&json!(got.id()), 1));
        w.owner.send("POST", &format!("/people/{person}/erase"), None).await.ok();
        // What was never said is forgotten everywhere: here, in what is told to others, in the audit log.
        let about = w.db().read(scope(), move |db| held::held_about(db, person)).await.unwrap();
        assert_eq!((&about["messages"][1]["body"], &about["messages"][1]["subject"]), (&json!(""), &Value::Null));
        assert_eq!(about["messages"][0]["body"], "Hello");
        let logs = w.db().read(scope(), |db| {
            db.all::<(Option<String>,)>("select details from audit_entry where account_id = :account", bind! {})
        }).await.unwrap();
        for word in ["later", "private plan"] {
            assert!(!news(w).await.iter().any(|news| news.to_string().contains(word)), "{word}");
            assert!(!logs.iter().any(|(details,)| details.as_deref().unwrap_or_default().contains(word)), "{word}");
        }
        assert_eq!(w.db().read(scope(), signals::verify).await.unwrap(), None);
        assert_eq!(w.owner.get(&path(&planned)).await.ok().data()["status"], "retracted");
        assert_eq!(w.owner.get(&path(&wrote)).await.ok().data()["author"], json!({ "id": person, "person_id": person, "name": null }));
        let next = reply(w, got.id(), Some(carl.person)).await.created();
        assert_eq!(next.data()["receipt_counts"]["delivered"], 0, "who was erased gets nothing");
        assert_eq!(w.owner.get(&format!("{}/receipts", path(&got))).await.ok().data()[0]["name"], Value::Null);
    }
}
