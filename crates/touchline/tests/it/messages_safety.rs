//! Stories about children: no adult is alone with one.

use testkit::{Answer, World, both, json};

use crate::messages::{announce, people, reached, reply, say};
use crate::messages_people::{Club, Somebody};

/// It was refused because a second adult is missing.
#[track_caller]
fn lacks_an_adult(answer: Answer) {
    let refused = answer.refused(409, "conflict");
    assert_eq!(refused.body["errors"][0]["code"], "second_adult_required");
    assert_eq!(refused.pointers(), ["/audience"]);
}

fn to(somebody: &[Somebody]) -> testkit::Value {
    let members: Vec<_> = somebody.iter().map(|one| one.member).collect();
    json!({ "to": "members", "member_ids": members })
}

both! {
    async fn a_coach_alone_with_a_child_is_joined_by_the_guardians(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        lacks_an_adult(say(w, &club, Some(carl.person), to(&[mia])).await);
        lacks_an_adult(say(w, &club, None, to(&[mia])).await);
        lacks_an_adult(announce(w, &club, to(&[mia])).await);
        assert_eq!(w.count("message").await, 0);
        // A guardian who wants no messages gets this one all the same.
        let father = club.guardian("Father", mia, false).await;
        let talk = say(w, &club, Some(carl.person), to(&[mia])).await.created();
        assert_eq!(reached(w, &talk).await, people(&[mia.person, father]));
        let announced = announce(w, &club, to(&[mia])).await.created();
        assert_eq!(reached(w, &announced).await, people(&[mia.person, father]));
        // With a second adult there, only those guardians come along who want messages.
        let dora = club.member("Dora", "coach", None).await;
        let mother = club.guardian("Mother", mia, true).await;
        let talk = say(w, &club, Some(carl.person), to(&[mia, dora])).await.created();
        assert_eq!(reached(w, &talk).await, people(&[mia.person, dora.person, mother]));
    }

    async fn a_reply_to_a_child_is_safe_too(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        // A child who writes first to one coach brings their guardians.
        lacks_an_adult(say(w, &club, Some(mia.person), to(&[carl])).await);
        let father = club.guardian("Father", mia, false).await;
        let talk = say(w, &club, Some(mia.person), to(&[carl])).await.created();
        assert_eq!(reached(w, &talk).await, people(&[carl.person, father]));
        let answer = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(reached(w, &answer).await, people(&[mia.person, father]));
        // The guardian can answer as well, and the child again.
        let third = reply(w, answer.id(), Some(father)).await.created();
        assert_eq!(reached(w, &third).await, people(&[mia.person, carl.person]));
        let fourth = reply(w, talk.id(), Some(mia.person)).await.created();
        assert_eq!(reached(w, &fourth).await, people(&[carl.person, father]));
        // If the second adult is gone, nobody can go on; a new guardian can be the one.
        club.erase(father).await;
        lacks_an_adult(reply(w, talk.id(), Some(carl.person)).await);
        lacks_an_adult(reply(w, talk.id(), Some(mia.person)).await);
        let mother = club.guardian("Mother", mia, false).await;
        let fifth = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(reached(w, &fifth).await, people(&[mia.person, mother]));
    }

    async fn a_key_is_nobody_who_sees_what_is_said(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        // Replies would be between the two of them, whoever began.
        lacks_an_adult(say(w, &club, None, to(&[mia, carl])).await);
        lacks_an_adult(say(w, &club, None, json!({ "to": "all" })).await);
        let dora = club.member("Dora", "coach", None).await;
        let talk = say(w, &club, None, to(&[mia, carl, dora])).await.created();
        assert_eq!(reached(w, &talk).await, people(&[mia.person, carl.person, dora.person]));
        reply(w, talk.id(), Some(carl.person)).await.created();
        // Two children are no adult between them.
        let leo = club.member("Leo", "player", None).await;
        lacks_an_adult(say(w, &club, Some(leo.person), to(&[mia])).await);
    }

    async fn who_has_left_the_team_is_off_its_conversations(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        for way in ["removed", "inactive"] {
            let asst = club.member("Asst", "staff", None).await;
            let talk = say(w, &club, Some(carl.person), to(&[mia, asst])).await.created();
            reply(w, talk.id(), Some(asst.person)).await.created();
            club.becomes(asst, way).await;
            lacks_an_adult(reply(w, talk.id(), Some(carl.person)).await);
            let refused = reply(w, talk.id(), Some(asst.person)).await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/on_behalf_of"]);
        }
        let father = club.guardian("Father", mia, false).await;
        let talk = say(w, &club, Some(carl.person), to(&[mia])).await.created();
        assert_eq!(reached(w, &talk).await, people(&[mia.person, father]));
        // A guardian who is none any more is off as well; one who is new joins in their place.
        w.owner.patch(&club.at(mia), json!({ "guardians": [] })).await.ok();
        lacks_an_adult(reply(w, talk.id(), Some(carl.person)).await);
        reply(w, talk.id(), Some(father)).await.refused(422, "validation_failed");
        let mother = club.guardian("Mother", mia, false).await;
        let next = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(reached(w, &next).await, people(&[mia.person, mother]));
    }

    async fn an_announcement_to_one_child_is_safe_too(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        let event = club.event().await;
        let audiences = [json!({ "to": "players" }), json!({ "to": "all" }), json!({ "to": "unanswered", "event_id": event }), to(&[mia])];
        for audience in &audiences {
            let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "audience": audience, "on_behalf_of": carl.person });
            lacks_an_adult(w.owner.post("/messages", body).await);
            lacks_an_adult(announce(w, &club, audience.clone()).await);
        }
        // What two children are told at once is said to neither of them alone.
        let leo = club.member("Leo", "player", None).await;
        let sent = announce(w, &club, json!({ "to": "players" })).await.created();
        assert_eq!(reached(w, &sent).await, people(&[mia.person, leo.person]));
        club.becomes(leo, "removed").await;
        let father = club.guardian("Father", mia, false).await;
        let sent = announce(w, &club, json!({ "to": "players" })).await.created();
        assert_eq!(reached(w, &sent).await, people(&[mia.person, father]));
    }

    async fn who_may_be_a_child_is_one_in_every_role(w: &World) {
        let (club, other) = (Club::new(w, "Hawks", "U12").await, Club::new(w, "Young", "U16").await);
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        // A guardian who plays on another team of children may be a child.
        let brother = club.guardian("Brother", mia, true).await;
        other.join(brother, "player").await;
        lacks_an_adult(say(w, &club, Some(carl.person), to(&[mia])).await);
        // Another birth date is not enough; an admin confirms that he is an adult.
        club.person(brother, json!({ "birth_date": "2000-01-01" })).await;
        lacks_an_adult(say(w, &club, Some(carl.person), to(&[mia])).await);
        club.confirm_adult(brother).await;
        say(w, &club, Some(carl.person), to(&[mia])).await.created();
        // Another role makes nobody older, nor does leaving.
        let leo = club.member("Leo", "player", None).await;
        w.owner.patch(&club.at(leo), json!({ "role": "staff" })).await.ok();
        lacks_an_adult(say(w, &club, Some(carl.person), to(&[leo])).await);
        let zoe = other.member("Zoe", "player", None).await;
        other.becomes(zoe, "removed").await;
        let zoe = club.join(zoe.person, "coach").await;
        lacks_an_adult(say(w, &club, Some(carl.person), to(&[zoe])).await);
    }

    async fn parents_may_write_to_their_own_child_and_the_inactive_do_not_count(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        let boss = club.member("Boss", "manager", None).await;
        club.becomes(boss, "inactive").await;
        lacks_an_adult(say(w, &club, Some(carl.person), to(&[mia, boss])).await);
        club.guards(carl.person, mia, false).await;
        let talk = say(w, &club, Some(carl.person), to(&[mia])).await.created();
        reply(w, talk.id(), Some(mia.person)).await.created();
        let leo = club.member("Leo", "player", None).await;
        lacks_an_adult(say(w, &club, Some(carl.person), to(&[mia, leo])).await);
    }

    async fn a_named_conversation_outlives_who_leaves(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        let (asst, dora) = (club.member("Asst", "staff", None).await, club.member("Dora", "coach", None).await);
        let talk = say(w, &club, Some(carl.person), to(&[asst, mia, dora])).await.created();
        club.becomes(asst, "removed").await;
        let next = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(reached(w, &next).await, people(&[mia.person, dora.person]));
    }

    async fn who_is_a_child_is_known_by_birth_guardians_and_team(w: &World) {
        let (open, young, unsaid) = (Club::new(w, "Open", "Adult").await, Club::new(w, "Young", "u-14").await, Club::new(w, "Unsaid", "Tigers").await);
        for (club, name, birth, is_child) in [
            (&open, "A", None, false),
            (&open, "B", Some("2008-09-06"), true),
            (&open, "C", Some("2008-09-05"), false),
            (&young, "D", None, true),
            (&young, "E", Some("1990-01-01"), false),
            (&unsaid, "F", None, true),
        ] {
            let coach = club.member(&format!("Coach{name}"), "coach", None).await;
            let player = club.member(name, "player", birth).await;
            let answer = say(w, club, Some(coach.person), to(&[player])).await;
            if is_child { lacks_an_adult(answer) } else { answer.created(); }
        }
        // Somebody with a guardian is a child, on whatever team; the guardian is the second adult.
        let (coach, kept) = (open.member("Coach", "coach", None).await, open.member("Kept", "player", None).await);
        let guardian = open.guardian("Guardian", kept, false).await;
        let talk = say(w, &open, Some(coach.person), to(&[kept])).await.created();
        assert_eq!(reached(w, &talk).await, people(&[kept.person, guardian]));
        // A coach of sixteen is a child, and so is a guardian of seventeen.
        let helper = open.member("Helper", "coach", Some("2010-01-01")).await;
        lacks_an_adult(say(w, &open, Some(coach.person), to(&[helper])).await);
        let brother = open.guardian("Brother", helper, true).await;
        open.person(brother, json!({ "birth_date": "2009-01-01" })).await;
        lacks_an_adult(say(w, &open, Some(coach.person), to(&[helper])).await);
    }

    async fn a_birthday_begins_in_the_zone_of_the_team(w: &World) {
        // It is ten in the morning of 5 September in UTC, and still the fourth in Pago Pago.
        let body = json!({ "name": "East", "age_group": "open", "timezone": "Pacific/Kiritimati" });
        let east = Club::with(w, body).await;
        let west = Club::with(w, json!({ "name": "West", "age_group": "open", "timezone": "Pacific/Pago_Pago" })).await;
        for (club, grown) in [(&east, true), (&west, false)] {
            let coach = club.member("Coach", "coach", None).await;
            let player = club.member("Player", "player", Some("2008-09-05")).await;
            let answer = say(w, club, Some(coach.person), to(&[player])).await;
            if grown { answer.created(); } else { lacks_an_adult(answer) }
        }
    }

    async fn a_scheduled_message_is_judged_when_it_is_published(w: &World) {
        let club = Club::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.member("Mia", "player", None).await, club.member("Carl", "coach", None).await);
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-05T11:00:00Z",
            "on_behalf_of": carl.person, "audience": to(&[mia]) });
        lacks_an_adult(w.owner.post("/messages", body.clone()).await);
        let father = club.guardian("Father", mia, true).await;
        let scheduled = w.owner.post("/messages", body).await.created();
        club.erase(father).await;
        w.pass(testkit::seconds(3600));
        touchline::jobs::publish_due(&w.node.app).await;
        let held = w.owner.get(&format!("/messages/{}", scheduled.id())).await.ok();
        assert_eq!((&held.data()["status"], &held.data()["retracted_by"]), (&json!("retracted"), &json!("system")));
        assert_eq!(w.count("receipt").await, 0);
    }
}
