//! Tests of child safety: no adult exchanges messages with a child alone.

use testkit::{TestResponse, World, both, json};

use crate::messages::{announce, post_message, recipients, reply, sorted_ids};
use crate::messages_fixtures::{TeamFixture, TestMember};

/// Asserts that the message was refused because a second adult is missing.
#[track_caller]
fn requires_second_adult(answer: TestResponse) {
    let refused = answer.assert_problem(409, "conflict");
    assert_eq!(refused.body["errors"][0]["code"], "second_adult_required");
    assert_eq!(refused.pointers(), ["/audience"]);
}

fn to(members: &[TestMember]) -> testkit::Value {
    let members: Vec<_> = members.iter().map(|member| member.member).collect();
    json!({ "to": "members", "member_ids": members })
}

both! {
    async fn adds_guardians_to_a_coachs_message_to_one_child(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        requires_second_adult(post_message(w, &club, Some(carl.person), to(&[mia])).await);
        requires_second_adult(post_message(w, &club, None, to(&[mia])).await);
        requires_second_adult(announce(w, &club, to(&[mia])).await);
        assert_eq!(w.count("message").await, 0);
        // A guardian who opted out of messages gets this one anyway.
        let father = club.add_guardian("Father", mia, false).await;
        let talk = post_message(w, &club, Some(carl.person), to(&[mia])).await.created();
        assert_eq!(recipients(w, &talk).await, sorted_ids(&[mia.person, father]));
        let announced = announce(w, &club, to(&[mia])).await.created();
        assert_eq!(recipients(w, &announced).await, sorted_ids(&[mia.person, father]));
        // With a second adult, only guardians who opted in are added.
        let dora = club.add_member("Dora", "coach", None).await;
        let mother = club.add_guardian("Mother", mia, true).await;
        let talk = post_message(w, &club, Some(carl.person), to(&[mia, dora])).await.created();
        assert_eq!(recipients(w, &talk).await, sorted_ids(&[mia.person, dora.person, mother]));
    }

    async fn reply_to_a_child_needs_a_second_adult(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        // A message from a child to one coach includes the guardians.
        requires_second_adult(post_message(w, &club, Some(mia.person), to(&[carl])).await);
        let father = club.add_guardian("Father", mia, false).await;
        let talk = post_message(w, &club, Some(mia.person), to(&[carl])).await.created();
        assert_eq!(recipients(w, &talk).await, sorted_ids(&[carl.person, father]));
        let answer = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(recipients(w, &answer).await, sorted_ids(&[mia.person, father]));
        // The guardian can reply, and the child again.
        let third = reply(w, answer.id(), Some(father)).await.created();
        assert_eq!(recipients(w, &third).await, sorted_ids(&[mia.person, carl.person]));
        let fourth = reply(w, talk.id(), Some(mia.person)).await.created();
        assert_eq!(recipients(w, &fourth).await, sorted_ids(&[carl.person, father]));
        // Without the second adult nobody can reply, until a new guardian takes their place.
        club.erase(father).await;
        requires_second_adult(reply(w, talk.id(), Some(carl.person)).await);
        requires_second_adult(reply(w, talk.id(), Some(mia.person)).await);
        let mother = club.add_guardian("Mother", mia, false).await;
        let fifth = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(recipients(w, &fifth).await, sorted_ids(&[mia.person, mother]));
    }

    async fn api_key_does_not_count_as_an_adult(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        // Replies would be between the child and the coach alone, although the key started the
        // conversation.
        requires_second_adult(post_message(w, &club, None, to(&[mia, carl])).await);
        requires_second_adult(post_message(w, &club, None, json!({ "to": "all" })).await);
        let dora = club.add_member("Dora", "coach", None).await;
        let talk = post_message(w, &club, None, to(&[mia, carl, dora])).await.created();
        assert_eq!(recipients(w, &talk).await, sorted_ids(&[mia.person, carl.person, dora.person]));
        reply(w, talk.id(), Some(carl.person)).await.created();
        // Another child does not count as an adult.
        let leo = club.add_member("Leo", "player", None).await;
        requires_second_adult(post_message(w, &club, Some(leo.person), to(&[mia])).await);
    }

    async fn leaving_the_team_ends_access_to_its_conversations(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        for status in ["removed", "inactive"] {
            let assistant = club.add_member("Asst", "staff", None).await;
            let talk = post_message(w, &club, Some(carl.person), to(&[mia, assistant])).await.created();
            reply(w, talk.id(), Some(assistant.person)).await.created();
            club.set_status(assistant, status).await;
            requires_second_adult(reply(w, talk.id(), Some(carl.person)).await);
            let refused = reply(w, talk.id(), Some(assistant.person)).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/on_behalf_of"]);
        }
        let father = club.add_guardian("Father", mia, false).await;
        let talk = post_message(w, &club, Some(carl.person), to(&[mia])).await.created();
        assert_eq!(recipients(w, &talk).await, sorted_ids(&[mia.person, father]));
        // A former guardian leaves the conversation; a new one takes their place.
        w.owner.patch(&club.member_path(mia), json!({ "guardians": [] })).await.ok();
        requires_second_adult(reply(w, talk.id(), Some(carl.person)).await);
        reply(w, talk.id(), Some(father)).await.assert_problem(422, "validation_failed");
        let mother = club.add_guardian("Mother", mia, false).await;
        let next = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(recipients(w, &next).await, sorted_ids(&[mia.person, mother]));
    }

    async fn announcement_to_one_child_needs_a_second_adult(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        let event = club.create_event().await;
        let audiences = [json!({ "to": "players" }), json!({ "to": "all" }), json!({ "to": "unanswered", "event_id": event }), to(&[mia])];
        for audience in &audiences {
            let body = json!({ "team_id": club.team, "kind": "announcement", "subject": "s", "body": "b", "audience": audience, "on_behalf_of": carl.person });
            requires_second_adult(w.owner.post("/messages", body).await);
            requires_second_adult(announce(w, &club, audience.clone()).await);
        }
        // An announcement to two children is not one-to-one.
        let leo = club.add_member("Leo", "player", None).await;
        let sent = announce(w, &club, json!({ "to": "players" })).await.created();
        assert_eq!(recipients(w, &sent).await, sorted_ids(&[mia.person, leo.person]));
        club.set_status(leo, "removed").await;
        let father = club.add_guardian("Father", mia, false).await;
        let sent = announce(w, &club, json!({ "to": "players" })).await.created();
        assert_eq!(recipients(w, &sent).await, sorted_ids(&[mia.person, father]));
    }

    async fn possible_child_counts_as_a_child_in_every_role(w: &World) {
        let (club, other) = (TeamFixture::new(w, "Hawks", "U12").await, TeamFixture::new(w, "Young", "U16").await);
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        // A guardian who plays on a youth team may be a child.
        let brother = club.add_guardian("Brother", mia, true).await;
        other.add_existing(brother, "player").await;
        requires_second_adult(post_message(w, &club, Some(carl.person), to(&[mia])).await);
        // Changing the birth date is not enough; an admin must confirm the adult.
        club.update_person(brother, json!({ "birth_date": "2000-01-01" })).await;
        requires_second_adult(post_message(w, &club, Some(carl.person), to(&[mia])).await);
        club.confirm_adult(brother).await;
        post_message(w, &club, Some(carl.person), to(&[mia])).await.created();
        // Neither another role nor leaving the team makes a child an adult.
        let leo = club.add_member("Leo", "player", None).await;
        w.owner.patch(&club.member_path(leo), json!({ "role": "staff" })).await.ok();
        requires_second_adult(post_message(w, &club, Some(carl.person), to(&[leo])).await);
        let zoe = other.add_member("Zoe", "player", None).await;
        other.set_status(zoe, "removed").await;
        let zoe = club.add_existing(zoe.person, "coach").await;
        requires_second_adult(post_message(w, &club, Some(carl.person), to(&[zoe])).await);
    }

    async fn parents_may_message_their_own_child_alone(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        let boss = club.add_member("Boss", "manager", None).await;
        club.set_status(boss, "inactive").await;
        requires_second_adult(post_message(w, &club, Some(carl.person), to(&[mia, boss])).await);
        club.add_existing_guardian(carl.person, mia, false).await;
        let talk = post_message(w, &club, Some(carl.person), to(&[mia])).await.created();
        reply(w, talk.id(), Some(mia.person)).await.created();
        let leo = club.add_member("Leo", "player", None).await;
        requires_second_adult(post_message(w, &club, Some(carl.person), to(&[mia, leo])).await);
    }

    async fn conversation_continues_when_a_member_leaves(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        let (assistant, dora) = (club.add_member("Asst", "staff", None).await, club.add_member("Dora", "coach", None).await);
        let talk = post_message(w, &club, Some(carl.person), to(&[assistant, mia, dora])).await.created();
        club.set_status(assistant, "removed").await;
        let next = reply(w, talk.id(), Some(carl.person)).await.created();
        assert_eq!(recipients(w, &next).await, sorted_ids(&[mia.person, dora.person]));
    }

    async fn birth_date_guardians_and_team_decide_who_is_a_child(w: &World) {
        let (open, young, unknown) = (TeamFixture::new(w, "Open", "Adult").await, TeamFixture::new(w, "Young", "u-14").await, TeamFixture::new(w, "Unsaid", "Tigers").await);
        for (club, name, birth, is_child) in [
            (&open, "A", None, false),
            (&open, "B", Some("2008-09-06"), true),
            (&open, "C", Some("2008-09-05"), false),
            (&young, "D", None, true),
            (&young, "E", Some("1990-01-01"), false),
            (&unknown, "F", None, true),
        ] {
            let coach = club.add_member(&format!("Coach{name}"), "coach", None).await;
            let player = club.add_member(name, "player", birth).await;
            let answer = post_message(w, club, Some(coach.person), to(&[player])).await;
            if is_child { requires_second_adult(answer) } else { answer.created(); }
        }
        // A person with a guardian counts as a child on every team; the guardian is the second
        // adult.
        let (coach, guarded) = (open.add_member("Coach", "coach", None).await, open.add_member("Kept", "player", None).await);
        let guardian = open.add_guardian("Guardian", guarded, false).await;
        let talk = post_message(w, &open, Some(coach.person), to(&[guarded])).await.created();
        assert_eq!(recipients(w, &talk).await, sorted_ids(&[guarded.person, guardian]));
        // A coach of 16 counts as a child, and so does a guardian of 17.
        let helper = open.add_member("Helper", "coach", Some("2010-01-01")).await;
        requires_second_adult(post_message(w, &open, Some(coach.person), to(&[helper])).await);
        let brother = open.add_guardian("Brother", helper, true).await;
        open.update_person(brother, json!({ "birth_date": "2009-01-01" })).await;
        requires_second_adult(post_message(w, &open, Some(coach.person), to(&[helper])).await);
    }

    async fn birthday_starts_in_the_teams_time_zone(w: &World) {
        // It is 10:00 on 5 September in UTC, and still 4 September in Pago Pago.
        let body = json!({ "name": "East", "age_group": "open", "timezone": "Pacific/Kiritimati" });
        let east = TeamFixture::from_body(w, body).await;
        let west = TeamFixture::from_body(w, json!({ "name": "West", "age_group": "open", "timezone": "Pacific/Pago_Pago" })).await;
        for (club, is_adult) in [(&east, true), (&west, false)] {
            let coach = club.add_member("Coach", "coach", None).await;
            let player = club.add_member("Player", "player", Some("2008-09-05")).await;
            let answer = post_message(w, club, Some(coach.person), to(&[player])).await;
            if is_adult { answer.created(); } else { requires_second_adult(answer) }
        }
    }

    async fn rechecks_a_scheduled_message_when_publishing(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "U12").await;
        let (mia, carl) = (club.add_member("Mia", "player", None).await, club.add_member("Carl", "coach", None).await);
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x", "publish_at": "2026-09-05T11:00:00Z",
            "on_behalf_of": carl.person, "audience": to(&[mia]) });
        requires_second_adult(w.owner.post("/messages", body.clone()).await);
        let father = club.add_guardian("Father", mia, true).await;
        let scheduled = w.owner.post("/messages", body).await.created();
        club.erase(father).await;
        w.advance_clock(testkit::seconds(3600));
        touchline::jobs::publish_scheduled_messages(&w.node.app).await;
        let withheld = w.owner.get(&format!("/messages/{}", scheduled.id())).await.ok();
        assert_eq!((&withheld.data()["status"], &withheld.data()["retracted_by"]), (&json!("retracted"), &json!("system")));
        assert_eq!(w.count("receipt").await, 0);
    }
}
