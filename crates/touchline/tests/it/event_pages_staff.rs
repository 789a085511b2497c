//! Tests of what the event page shows to coaches: reminders, other events at the same time, and messages about the event.

use testkit::{TestResponse, Value, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::jobs;

use crate::event_pages::tomorrow;
use crate::events::{event_path, field_texts, practice, with};
use crate::mail::DAY;
use crate::signin::audit_entries_of;
use crate::team_pages::set_reminder_hours;

const HOUR: u64 = 3600;

/// The time that a page shows after a label. `None` if the label is missing.
fn time_after(page: &TestResponse, label: &str) -> Option<String> {
    let (_, rest) = page.text.split_once(label)?;
    let (time, _) = rest.split_once("</time>")?;
    time.rsplit('>').next().map(str::to_owned)
}

/// The times of the last and the next reminder on the page of an event, as a coach or somebody else sees it.
fn reminder_times(page: &TestResponse) -> (Option<String>, Option<String>) {
    (time_after(page, "Last reminder: "), time_after(page, "Automatic reminder: "))
}

/// The addresses of the emails about an event, sorted.
async fn addresses(w: &World, event: &TestResponse) -> Vec<String> {
    let list = w.owner.get(&format!("/emails?related_id={}", event.id())).await.ok();
    let mut addresses = field_texts(&list, "to_address");
    addresses.sort_unstable();
    addresses
}

both! {
    async fn a_coach_reminds_people_who_have_not_answered_once(w: &World) {
        let club = w.club().await;
        let rosa = json!({ "first_name": "Rosa", "last_name": "Roth" });
        w.add_member(&club.hawks, json!({ "first_name": "Ann", "birth_date": "2014-05-05", "guardians": [rosa] })).await;
        let event = tomorrow(w, &club, json!({ "title": "Final training" })).await;
        w.owner.put(&event_path(&event, &format!("/rsvps/{}", club.lia.member)), json!({ "answer": "yes" })).await.ok();
        let (path, remind) = (event_path(&event, ""), event_path(&event, "/remind"));
        let mut coach = w.browser(club.coach.id).await;
        coach.get("/").await.ok().shows(&format!("action=\"{remind}\"")).shows("name=\"next\" value=\"/\"");

        let sent = coach.post(&remind, &[("next", "/")]).await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        let next = sent.local_redirect().unwrap();
        assert!(next.starts_with("/?done=reminded"), "{next}");
        coach.get(next).await.ok().shows("class=\"flash good\"").shows("Reminded 3 people. 1 person cannot be reached by email. Call them.");
        let reminded = ["kim@example.org", "mia@example.org", "pat@example.org"];
        assert_eq!(addresses(w, &event).await, reminded);
        let emails = w.owner.get(&format!("/emails?related_id={}", event.id())).await.ok();
        for email in emails.data().as_array().unwrap() {
            assert_eq!((&email["subject"], &email["kind"]), (&json!("[Hawks] Please answer: Final training"), &json!("rsvp_reminder")));
        }
        // The page of the event names the person who cannot be reached.
        coach.get(&path).await.ok().shows("<bdi>Ann</bdi>").shows("<bdi>Rosa Roth</bdi>: no phone number, no email address");

        // At once again, nobody gets a second email. Without `next`, the page of the event confirms it.
        let again = coach.post(&remind, &[("next", "/")]).await;
        let nobody = "Nobody was reminded. 3 people were reminded recently and get no reminder now. 1 person cannot be reached by email. Call them.";
        coach.get(again.local_redirect().unwrap()).await.ok().shows("class=\"flash bad\"").shows(nobody);
        let again = coach.post(&remind, &[]).await;
        let next = again.local_redirect().unwrap();
        assert!(next.starts_with(&format!("{path}?done=reminded")), "{next}");
        coach.get(next).await.ok().shows(nobody);
        for (next, expected) in [("/schedule?type=game", "/schedule?type=game&done=reminded"), ("//evil.example", "/?done=reminded")] {
            let sent = coach.post(&remind, &[("next", next)]).await;
            assert!(sent.local_redirect().unwrap().starts_with(expected), "{:?}", sent.header("location"));
        }
        assert_eq!(addresses(w, &event).await, reminded);
        let entries = audit_entries_of(w, "event.reminded").await;
        assert_eq!(entries, [(event.id().to_owned(), json!({ "emails": 3, "members": 3 }))]);

        w.owner.post(&event_path(&event, "/cancel"), json!({})).await.ok();
        w.advance_clock(seconds(2 * HOUR));
        let refused = coach.post(&remind, &[("next", "/")]).await;
        assert_eq!(refused.status, 409, "{}", refused.text);
        refused.shows("class=\"flash bad\"");
    }

    async fn the_page_says_when_people_are_reminded(w: &World) {
        let club = w.club().await;
        let body = practice(&club.hawks, "2026-09-15T18:00:00Z", "2026-09-15T19:00:00Z");
        let event = w.owner.post("/events", with(body, json!({ "rsvp_deadline": "2026-09-14T18:00:00Z" }))).await.created();
        let path = event_path(&event, "");
        let some = |text: &str| Some(text.to_owned());
        let shown = async |user| reminder_times(&w.browser(user).await.get(&path).await.ok());
        // The team reminds people 48 hours before the deadline, unless it changes that.
        assert_eq!(shown(club.coach.id).await, (None, some("12 Sep 2026, 18:00")));
        for user in [club.parent.id, club.player.id] {
            assert_eq!(shown(user).await, (None, None));
        }
        let mut coach = w.browser(club.coach.id).await;
        for (hours, next) in [("24", some("13 Sep 2026, 18:00")), ("", None), ("168", some("7 Sep 2026, 18:00")), ("24", some("13 Sep 2026, 18:00"))] {
            assert_eq!(set_reminder_hours(&mut coach, &club.hawks, hours).await.status, 303);
            assert_eq!(shown(club.coach.id).await, (None, next), "{hours}");
        }
        w.advance_clock(seconds(8 * DAY + 8 * HOUR));
        jobs::send_event_reminders(&w.node.app).await;
        assert_eq!(shown(club.coach.id).await, (some("13 Sep 2026, 18:00"), None));
        assert_eq!(shown(club.parent.id).await, (None, None));
        w.advance_clock(seconds(2 * HOUR));
        let mut coach = w.browser(club.coach.id).await;
        assert_eq!(coach.post(&format!("{path}/remind"), &[]).await.status, 303);
        assert_eq!(shown(club.coach.id).await, (some("13 Sep 2026, 20:00"), None));
    }

    async fn a_coach_is_warned_of_other_events_at_the_same_time(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let path = event_path(&event, "");
        let other = practice(&club.otters, "2026-09-06T19:30", "2026-09-06T21:00");
        let other = w.owner.post("/events", with(other, json!({ "title": "Otters training" }))).await.created();
        let link = format!("href=\"/events/{}\"", other.id());
        let [person, place, team] = ["Somebody on the team must also be at another event at this time.", "The place is used for another event at this time.", "The team has another event at this time."];
        let warnings = async |user| {
            let page = w.browser(user).await.get(&path).await.ok();
            ([person, place, team].map(|text| page.text.contains(text)), page)
        };
        assert_eq!(warnings(club.coach.id).await.0, [false; 3], "nobody is on both teams");

        w.add_member(&club.otters, json!({ "person_id": club.max.person })).await;
        // The coach cannot open the event of the other team. An admin can.
        let (shown, page) = warnings(club.coach.id).await;
        assert_eq!(shown, [true, false, false], "{}", page.text);
        assert!(!page.text.contains("Otters training") && !page.text.contains(&link));
        let (shown, page) = warnings(club.admin.id).await;
        assert_eq!(shown, [true, false, false]);
        page.shows(&link).shows("Otters training");
        for user in [club.parent.id, club.player.id] {
            assert_eq!(warnings(user).await.0, [false; 3]);
        }
        // One begins when the other ends.
        let moved = json!({ "starts_at": "2026-09-06T20:00", "ends_at": "2026-09-06T21:30" });
        w.owner.patch(&event_path(&other, ""), moved).await.ok();
        assert_eq!(warnings(club.coach.id).await.0, [false; 3]);

        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        let at_pitch = json!({ "location_id": pitch.id() });
        w.owner.patch(&path, at_pitch.clone()).await.ok();
        let third = w.owner.post("/teams", json!({ "name": "Third" })).await.created();
        let body = practice(third.id(), "2026-09-06T18:00", "2026-09-06T19:00");
        w.owner.post("/events", with(body, at_pitch)).await.created();
        assert_eq!(warnings(club.coach.id).await.0, [false, true, false]);
        let second = tomorrow(w, &club, json!({ "title": "Second training" })).await;
        let (shown, page) = warnings(club.coach.id).await;
        assert_eq!(shown, [false, true, true]);
        page.shows(&format!("href=\"/events/{}\"", second.id()));
        assert_eq!(warnings(club.parent.id).await.0, [false; 3]);
    }

    async fn another_family_does_not_see_a_private_message_about_an_event(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let (path, list) = (event_path(&event, ""), format!("/messages?event={}", event.id()));
        // Zoe's mother signs in too.
        let zoe = w.owner.get(&format!("/people/{}", club.zoe.person)).await.ok();
        let mia = w.user(Role::Member, "mia@example.org").await;
        w.link(zoe.data()["guardians"][0]["id"].as_str().unwrap(), mia.id).await;
        let none = "There are no messages about this event.";
        w.browser(mia.id).await.get(&path).await.ok().shows("Messages about this event").shows(none);

        let post = async |more: Value| {
            w.advance_clock(seconds(1));
            let body = json!({ "team_id": club.hawks, "event_id": event.id(), "on_behalf_of": club.kim.person });
            w.owner.post("/messages", with(body, more)).await.created()
        };
        let announcement = json!({ "kind": "announcement", "subject": "Kit", "body": "Bring the **red** kit." });
        post(announcement.clone()).await;
        let to_max = json!({ "to": "members", "member_ids": [club.max.member] });
        let private = post(json!({ "kind": "message", "body": "Max may skip the warm-up.", "audience": to_max })).await;
        let link = format!("href=\"/messages/{}\"", private.id());
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&path).await.ok().shows("<strong>red</strong>").shows("Max may skip the warm-up.").shows(&link);
        assert_eq!(page.text.matches("<span class=\"tag\">New</span>").count(), 2);
        assert!(!page.text.contains(none));
        w.browser(club.coach.id).await.get(&path).await.ok().shows("Max may skip the warm-up.").shows(&link);
        for user in [mia.id, club.player.id] {
            for path in [&path, &list] {
                let page = w.browser(user).await.get(path).await.ok().shows("Kit");
                assert!(!page.text.contains("warm-up") && !page.text.contains(private.id()), "{}", page.text);
            }
            assert_eq!(w.browser(user).await.get(&format!("/messages/{}", private.id())).await.status, 404);
        }
        // The page shows three messages. The link to all of them does not reveal that there is a fourth one.
        for _ in 0..2 {
            post(announcement.clone()).await;
        }
        let all = format!("href=\"{list}\"");
        let page = parent.get(&path).await.ok().shows(&all);
        assert!(!page.text.contains(none));
        parent.get(&list).await.ok().shows("warm-up");
        for user in [mia.id, club.player.id] {
            let page = w.browser(user).await.get(&path).await.ok();
            assert_eq!((page.text.matches("<strong>red</strong>").count(), page.text.contains(&all)), (3, false));
        }
        // A message that was read is no longer marked as new.
        let count_new = |page: &TestResponse| page.text.matches("<span class=\"tag\">New</span>").count();
        assert_eq!(count_new(&parent.get(&path).await.ok()), 3);
        parent.get(&format!("/messages/{}", private.id())).await.ok();
        assert_eq!(count_new(&parent.get(&path).await.ok()), 2);
    }
}
