//! Tests of emails about cancelled and changed events, and of the pages that send them.

use testkit::{TestResponse, Value, World, both, json};

use crate::events::{practice, with};
use crate::signin::RefusedPage;

/// The emails about events, by recipient: address, subject and text.
async fn emails(w: &World) -> Vec<(String, String, String)> {
    let all = w.owner.get("/emails?limit=100").await.ok();
    let text = |email: &Value, name: &str| email[name].as_str().unwrap().to_owned();
    let is_about = |email: &&Value| email["related_id"].as_str().unwrap().starts_with("evt_");
    let sent = all.data().as_array().unwrap().iter().filter(is_about);
    let mut sent: Vec<_> = sent
        .map(|email| (text(email, "to_address"), text(email, "subject"), text(email, "body_text")))
        .collect();
    sent.sort();
    sent
}

fn addresses(emails: &[(String, String, String)]) -> Vec<&str> {
    emails.iter().map(|(address, ..)| address.as_str()).collect()
}

/// A practice of this team at 18:30 on a day in September.
async fn create(w: &World, team: &str, day: &str, more: Value) -> TestResponse {
    let (start, end) = (format!("2026-09-{day}T18:30:00Z"), format!("2026-09-{day}T20:00:00Z"));
    w.owner.post("/events", with(practice(team, &start, &end), more)).await.created()
}

fn nonce(page: &TestResponse) -> String {
    page.text.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

both! {
    async fn a_child_without_enough_adults_gets_no_text_of_a_coach(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Solo", "sport": "soccer", "age_group": "U12", "timezone": "UTC" })).await.created();
        w.add_member(team.id(), json!({ "first_name": "Kid", "birth_date": "2016-01-01", "email": "kid@example.org" })).await;
        let event = create(w, team.id(), "08", json!({ "title": "Come alone" })).await;
        let moved = json!({ "starts_at": "2026-09-09T18:30:00Z", "ends_at": "2026-09-09T20:00:00Z" });
        w.owner.patch(&format!("/events/{}", event.id()), moved).await.ok();
        let [(address, subject, text)] = &emails(w).await[..] else { panic!("one email") };
        assert_eq!((address.as_str(), subject.as_str()), ("kid@example.org", "[Solo] New time: Practice, Wed, 9 Sep 2026, 18:30 to 20:00"));
        assert!(!text.contains("alone") && text.contains("Place: see the schedule"), "{text}");
    }

    async fn a_cancelled_event_is_announced_to_the_team_once(w: &World) {
        let club = w.club().await;
        let teen = json!({ "first_name": "Tea", "birth_date": "2011-01-01", "email": "tea@example.org" });
        w.add_member(&club.hawks, teen).await;
        let event = create(w, &club.hawks, "08", json!({})).await;
        let path = format!("/events/{}/cancel", event.id());
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok().shows("4 people on the team get an email");
        let nonce = nonce(&page);
        let sent = [("reason", "Pitch under water"), ("nonce", &*nonce)];
        let done = format!("/events/{}?done=cancelled", event.id());
        coach.post(&path, &sent).await.redirects_to(&done);
        coach.post(&path, &sent).await.redirects_to(&done);
        let emails = emails(w).await;
        // The coach who cancelled gets no email, and the guardians of the children do.
        assert_eq!(addresses(&emails), ["lia@example.org", "mia@example.org", "pat@example.org", "tea@example.org"]);
        for (address, subject, text) in &emails {
            assert_eq!(subject, "[Hawks] Cancelled: Practice, Tue, 8 Sep 2026, 18:30 to 20:00");
            // Text of a coach does not reach a minor in a private email.
            assert_eq!(text.contains("Reason: Pitch under water"), address != "tea@example.org", "{text}");
        }
        let (_, _, text) = &emails[0];
        assert_eq!(text, "Hello Lia,\n\nAn event of Hawks is cancelled:\n\nPractice\nCancelled: Tue, 8 Sep 2026, 18:30 to 20:00\n\nReason: Pitch under water\n");
        coach.post(&path, &[("nonce", &*nonce.replace('a', "b").replace('1', "2")), ("reason", "Again")]).await
            .refused_page(422).shows("The event is already cancelled.").shows("Again");
    }

    async fn new_times_and_places_are_announced_for_two_weeks(w: &World) {
        let club = w.club().await;
        let opt_out = json!({ "email_opt_in": false });
        w.owner.patch(&format!("/people/{}", club.lia.person), opt_out).await.ok();
        let hall = w.owner.post("/locations", json!({ "name": "Hall", "address": "Quay 1\nHarbour" })).await.created();
        let series = json!({ "recurrence": "FREQ=WEEKLY;COUNT=5" });
        let first = create(w, &club.hawks, "08", series).await;
        let path = format!("/events/{}", first.id());
        // Notes and RSVPs are not announced.
        w.owner.patch(&path, json!({ "notes": "Bring water", "apply_to": "all" })).await.ok();
        assert_eq!(emails(w).await, []);
        w.owner.patch(&path, json!({ "location_id": hall.id(), "apply_to": "all" })).await.ok();
        let sent = emails(w).await;
        assert_eq!(addresses(&sent), ["kim@example.org", "mia@example.org", "pat@example.org"]);
        assert_eq!(sent[0].1, "[Hawks] 2 events have changed");
        assert!(sent[0].2.contains("Practice\nTue, 8 Sep 2026, 18:30 to 20:00\nNew place: Hall, Quay 1, Harbour\nPreviously: not known yet\n\nPractice\nTue, 15 Sep"), "{}", sent[0].2);
        w.owner.patch(&path, json!({ "starts_at": "2026-09-08T19:00:00Z" })).await.ok();
        let sent = emails(w).await;
        let moved = sent.iter().find(|(_, subject, _)| subject.contains("New time")).unwrap();
        assert_eq!(moved.1, "[Hawks] New time: Practice, Tue, 8 Sep 2026, 19:00 to 20:30");
        assert!(moved.2.contains("Previously: Tue, 8 Sep 2026, 18:30 to 20:00\nPlace: Hall, Quay 1, Harbour"), "{}", moved.2);
        let count = sent.len();
        // Postponing is announced too, and what is far away or over is not.
        let mut coach = w.browser(club.coach.id).await;
        let postpone = format!("{path}/postpone");
        let page = coach.get(&postpone).await.ok().shows("2 people on the team get an email").shows("change date and time");
        coach.post(&postpone, &[("nonce", &nonce(&page))]).await.redirects_to(&format!("{path}?done=postponed"));
        let sent = emails(w).await;
        assert_eq!(sent.iter().filter(|(_, subject, _)| subject.contains("Postponed")).count(), 2);
        assert_eq!(sent.len(), count + 2);
        let far = create(w, &club.hawks, "25", json!({})).await;
        let cancel = format!("/events/{}/cancel", far.id());
        let page = coach.get(&cancel).await.ok().shows("Nobody gets an email");
        coach.post(&cancel, &[("nonce", &nonce(&page))]).await.redirects_to(&format!("/events/{}?done=cancelled", far.id()));
        assert_eq!(emails(w).await.len(), count + 2);
    }

    async fn an_event_is_deleted_while_nobody_has_answered(w: &World) {
        let club = w.club().await;
        let series = json!({ "recurrence": "FREQ=WEEKLY;COUNT=3" });
        let first = create(w, &club.hawks, "08", series).await;
        let answered = create(w, &club.hawks, "09", json!({})).await;
        let rsvp = format!("/events/{}/rsvps/{}", answered.id(), club.lia.member);
        w.owner.put(&rsvp, json!({ "answer": "yes" })).await.ok();
        let mut coach = w.browser(club.coach.id).await;
        let path = format!("/events/{}/delete", answered.id());
        let page = coach.get(&path).await.ok().shows("Nobody gets an email");
        coach.post(&path, &[("nonce", &nonce(&page))]).await.refused_page(422).shows("Cancel it instead of deleting it.");
        let path = format!("/events/{}/delete", first.id());
        let team = format!("/schedule?team={}&done=deleted", club.hawks);
        let nonce = nonce(&coach.get(&path).await.ok());
        // The second submission of the same form has nothing left to delete.
        for _ in 0..2 {
            coach.post(&path, &[("apply_to", "all"), ("nonce", &nonce)]).await.redirects_to(&team);
        }
        coach.get(&path).await.refused_page(404);
        let left = w.owner.get(&format!("/events?team_id={}", club.hawks)).await.ok();
        assert_eq!(left.data().as_array().unwrap().len(), 1);
        assert_eq!(emails(w).await, []);
    }
}
