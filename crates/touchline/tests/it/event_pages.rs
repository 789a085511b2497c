//! Tests of the event page: answering, duties, and who sees what.

use testkit::club::TestClub;
use testkit::{Browser, TestResponse, Value, World, both, json, seconds};

use crate::dues_pages::HOSTILE;
use crate::events::{event_path, practice, with};

const DAY: u64 = 86_400;

/// A practice of the Hawks tomorrow.
pub(crate) async fn tomorrow(w: &World, club: &TestClub, more: Value) -> TestResponse {
    let body = practice(&club.hawks, "2026-09-06T18:30", "2026-09-06T20:00");
    w.owner.post("/events", with(body, more)).await.created()
}

/// Answers on the event page.
async fn answer(
    browser: &mut Browser,
    event: &str,
    member: &str,
    more: &[(&str, &str)],
) -> TestResponse {
    let fields: Vec<_> = [("member_id", member)].iter().chain(more).copied().collect();
    browser.post(&format!("/events/{event}/answer"), &fields).await
}

async fn rsvp(w: &World, event: &TestResponse, member: &str) -> Value {
    w.owner.get(&event_path(event, &format!("/rsvps/{member}"))).await.ok().data().clone()
}

both! {
    async fn a_parent_answers_for_each_child(w: &World) {
        let club = w.club().await;
        let ben = w.add_member(&club.hawks, json!({ "first_name": "Ben", "last_name": HOSTILE, "birth_date": "2015-01-01", "guardians": [{ "id": club.pat }] })).await;
        let event = tomorrow(w, &club, json!({ "title": HOSTILE, "notes": HOSTILE, "uniform": HOSTILE, "opponent": HOSTILE })).await;
        let (id, path) = (event.id(), format!("/events/{}", event.id()));
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&path).await.ok().shows("Is <bdi>Max</bdi> going?").shows("Is <bdi>Ben</bdi> going?").shows("Sunday 6 September");
        assert!(!page.text.contains("<img src=x") && !page.text.contains("tel:") && !page.text.contains("/edit"));

        let anchor = format!("#answers-{id}");
        answer(&mut parent, id, &club.max.member, &[("answer", "yes"), ("note", "Ten minutes\r\nlate")]).await.redirects_to(&format!("{path}{anchor}"));
        answer(&mut parent, id, &ben.member, &[("answer", "no"), ("next", "/schedule?type=game")]).await.redirects_to(&format!("/schedule?type=game{anchor}"));
        answer(&mut parent, id, &ben.member, &[("answer", "no"), ("next", "//evil.example")]).await.redirects_to(&format!("/{anchor}"));
        parent.get(&path).await.ok().shows("<bdi>Max</bdi> is going").shows("<bdi>Ben</bdi> can’t go").shows("Ten minutes\nlate</textarea>");
        assert_eq!(rsvp(w, &event, &club.max.member).await["version"], 1);
        // Without the field, the note stays. The same answer again changes nothing.
        answer(&mut parent, id, &club.max.member, &[("answer", "maybe")]).await;
        answer(&mut parent, id, &club.max.member, &[("answer", "maybe")]).await;
        let saved = rsvp(w, &event, &club.max.member).await;
        assert_eq!((&saved["answer"], &saved["note"], &saved["version"]), (&json!("maybe"), &json!("Ten minutes\nlate"), &json!(2)));

        // With scripts, only the forms come back.
        let fields = [("member_id", club.max.member.as_str()), ("answer", "yes"), ("note", ""), ("csrf", &parent.csrf.clone().unwrap())];
        let headers = [("Sec-Fetch-Site", "same-origin"), ("Hx-Request", "true")];
        let part = parent.send(&format!("{path}/answer"), &fields, &headers).await.ok().shows("<bdi>Max</bdi> is going").shows("autofocus");
        assert!(!part.text.contains("<html") && part.text.contains(&format!("id=\"answers-{id}\"")));
        let too_long = "x".repeat(501);
        let fields = [("member_id", club.max.member.as_str()), ("answer", "no"), ("note", &too_long), ("csrf", &parent.csrf.clone().unwrap())];
        let part = parent.send(&format!("{path}/answer"), &fields, &headers).await.shows("Your answer was not saved").shows(&too_long);
        assert_eq!(part.status, 422);
        assert_eq!(rsvp(w, &event, &club.max.member).await["note"], Value::Null);

        // Lia is on the team and sees the names, but not the notes of others.
        answer(&mut parent, id, &ben.member, &[("answer", "no"), ("note", "Dentist")]).await;
        let mut player = w.browser(club.player.id).await;
        let page = player.get(&path).await.ok().shows("Are you going?").shows("<bdi>Max</bdi>");
        assert!(!page.text.contains("Dentist"));
        assert_eq!(answer(&mut player, id, &club.max.member, &[("answer", "no")]).await.status, 403);
        w.browser(club.coach.id).await.get(&path).await.ok().shows("Dentist");
        assert_eq!(w.browser(club.outsider.id).await.get(&path).await.status, 404);
    }

    async fn an_answer_that_is_not_accepted_keeps_the_note(w: &World) {
        let club = w.club().await;
        let mut parent = w.browser(club.parent.id).await;
        let full = tomorrow(w, &club, json!({ "capacity": 1 })).await;
        w.owner.put(&event_path(&full, &format!("/rsvps/{}", club.zoe.member)), json!({ "answer": "yes" })).await.ok();
        parent.get(&format!("/events/{}", full.id())).await.ok().shows("puts you on the waiting list");
        answer(&mut parent, full.id(), &club.max.member, &[("answer", "yes")]).await;
        parent.get(&format!("/events/{}", full.id())).await.ok().shows("<bdi>Max</bdi> is number 1 on the waiting list").shows("Waiting list, 1");

        let soon = tomorrow(w, &club, json!({ "rsvp_deadline": "2026-09-05T12:00:00Z" })).await;
        let cancelled = tomorrow(w, &club, json!({})).await;
        w.owner.post(&event_path(&cancelled, "/cancel"), json!({ "reason": "Under water" })).await.ok();
        w.advance_clock(seconds(3 * 3600));
        for (event, text) in [(&soon, "It is too late to answer here"), (&cancelled, "This event is cancelled, so no answer is needed.")] {
            let page = answer(&mut parent, event.id(), &club.max.member, &[("answer", "yes"), ("note", "We <b>come")]).await;
            assert_eq!(page.status, 422);
            let page = page.shows(text).shows("Your answer was not saved").shows("Your note was: “<bdi>We &#60;b&#62;come");
            assert_eq!((page.text.matches(text).count(), page.text.contains("RSVP")), (1, false));
        }
        parent.get(&format!("/events/{}", cancelled.id())).await.ok().shows("Under water");
        for fields in [&[("answer", "yes")][..], &[("answer", "sometimes"), ("member_id", &club.max.member)]] {
            assert_eq!(parent.post(&format!("/events/{}/answer", full.id()), fields).await.status, 422, "{fields:?}");
        }

        // Max leaves the team, so his parent does not see its events anymore.
        w.owner.delete(&format!("/teams/{}/roster/{}", club.hawks, club.max.member)).await.ok();
        let page = answer(&mut parent, full.id(), &club.max.member, &[("answer", "no"), ("note", "Sorry!")]).await;
        assert_eq!(page.status, 409);
        page.shows("Max is no longer on Hawks").shows("Sorry!");
        assert_eq!(parent.get(&format!("/events/{}", full.id())).await.status, 404);
    }

    async fn coaches_see_whom_to_call_and_others_do_not(w: &World) {
        let club = w.club().await;
        let phone = json!({ "first_name": "Rosa", "last_name": "Roth", "phone": "+49 (30) 1234-5", "email": "rosa@example.org" });
        w.add_member(&club.hawks, json!({ "first_name": "Ann", "birth_date": "2014-05-05", "phone": "0170 1", "guardians": [phone] })).await;
        let event = tomorrow(w, &club, json!({ "arrival_minutes": 30 })).await;
        let path = format!("/events/{}", event.id());
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok().shows("Arrive by<b>18:00</b>").shows("Starts<b>18:30</b>").shows("No answer yet, 5")
            .shows("href=\"tel:+493012345\"").shows("Call Rosa Roth").shows("mailto:mia@example.org").shows(&format!("/events/new?copy={}", event.id()));
        assert!(!page.text.contains("01701"), "the phone number of a child");
        assert!(!page.text.contains("/attendance\""), "attendance is taken from a day before");
        w.advance_clock(seconds(DAY));
        w.browser(club.coach.id).await.get(&path).await.ok().shows("Take attendance");
        for user in [club.parent.id, club.player.id] {
            let page = w.browser(user).await.get(&path).await.ok();
            for hidden in ["tel:", "mailto:", "rosa@example.org", "/remind", "Roth"] {
                assert!(!page.text.contains(hidden), "{hidden}");
            }
            assert_eq!(w.browser(user).await.post(&format!("{path}/remind"), &[]).await.status, 403);
        }
        assert_eq!(w.browser(club.outsider.id).await.post(&format!("{path}/remind"), &[]).await.status, 404);
    }

    async fn a_parent_takes_a_duty_and_gives_it_up(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({ "duties": [{ "name": "Bring oranges" }] })).await;
        let (path, duty) = (format!("/events/{}", event.id()), event.data()["duties"][0]["id"].as_str().unwrap().to_owned());
        let mut parent = w.browser(club.parent.id).await;
        parent.get(&path).await.ok().shows("Bring oranges").shows("I’ll do it").shows("1 person needed");
        let (at, take) = (format!("{path}/duties/{duty}"), [("person_id", club.pat.as_str()), ("action", "take")]);
        for _ in 0..2 {
            parent.post(&at, &take).await.redirects_to(&format!("{path}#duties"));
        }
        parent.get(&path).await.ok().shows("1 of 1 taken: <bdi>Pat</bdi>").shows("Undo: Bring oranges");
        let mut player = w.browser(club.player.id).await;
        let page = player.post(&at, &[("person_id", &club.lia.person)]).await;
        assert_eq!(page.status, 409);
        page.shows("already has enough volunteers");
        assert_eq!(player.post(&at, &[("person_id", &club.pat), ("action", "release")]).await.status, 403);
        for _ in 0..2 {
            parent.post(&at, &[("person_id", &club.pat), ("action", "release")]).await.redirects_to(&format!("{path}#duties"));
        }
        player.post(&at, &[("person_id", &club.lia.person), ("next", "/")]).await.redirects_to("/#duties");
    }

    async fn places_have_links_to_maps(w: &World) {
        let club = w.club().await;
        let place = json!({ "name": "Pitch & <b>", "address": "12 Mill Road\nTown", "latitude": 38.7, "longitude": -9.25, "notes": "North gate" });
        let place = w.owner.post("/locations", place).await.created();
        let event = tomorrow(w, &club, json!({ "location_id": place.id() })).await;
        let path = format!("/events/{}", event.id());
        let mut parent = w.browser(club.parent.id).await;
        parent.get(&path).await.ok().shows("href=\"geo:38.7,-9.25?q=38.7,-9.25(Pitch%20%26%20%3Cb%3E)").shows("https://www.openstreetmap.org/?mlat=38.7").shows("North gate");
        w.owner.patch(&format!("/locations/{}", place.id()), json!({ "latitude": null, "longitude": null })).await.ok();
        parent.get(&path).await.ok().shows("openstreetmap.org/search?query=12%20Mill%20Road%2C%20Town").shows("geo:0,0?q=12%20Mill%20Road%2C%20Town");
    }

    async fn a_stale_page_saves_nothing_after_signing_out(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let mut parent = w.browser(club.parent.id).await;
        parent.get(&format!("/events/{}", event.id())).await.ok();
        let csrf = parent.csrf.clone();
        parent.post("/sign-out", &[]).await.redirects_to("/sign-in?done=signed-out");
        parent.csrf = csrf;
        let page = answer(&mut parent, event.id(), &club.max.member, &[("answer", "yes"), ("note", "Late")]).await;
        assert_eq!(page.status, 403);
        page.shows("You are signed out").shows("<bdi>Late</bdi>").shows("Send again");
        let path = format!("/events/{}", event.id());
        parent.get(&path).await.redirects_to(&format!("/sign-in?next=%2Fevents%2F{}", event.id()));
        w.owner.get(&event_path(&event, &format!("/rsvps/{}", club.max.member))).await.assert_problem(404, "not_found");
        // Somebody else who signs in on the same device does not answer with the old page.
        let mut player = w.browser(club.player.id).await;
        player.csrf = parent.csrf.clone();
        assert_eq!(answer(&mut player, event.id(), &club.lia.member, &[("answer", "yes")]).await.status, 403);
    }
}
