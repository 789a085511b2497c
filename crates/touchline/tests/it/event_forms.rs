//! Tests of the forms of events: duties that people have taken, copies, clock changes and postponed events.

use testkit::{TestResponse, World, both, json};

use crate::event_editing::{Fields, changed, events, fields, hidden, nonce_of, redirect};
use crate::events::{practice, with};
use crate::signin::RefusedPage;

/// The fields of the form to edit a practice on September 15.
fn edit_fields<'a>(team: &'a str, nonce: &'a str, opened: &'a str) -> Fields<'a> {
    changed(
        &fields(team, nonce),
        &[("opened", opened), ("rsvp_enabled", "yes"), ("notes", ""), ("apply_to", "this")],
    )
}

/// The nonce and the values in a form.
fn state(page: &TestResponse) -> (String, String) {
    (hidden(page, "nonce"), hidden(page, "opened"))
}

/// A practice on September 15 with these duties: id and path.
async fn with_duties(w: &World, team: &str, duties: testkit::Value) -> TestResponse {
    let body = practice(team, "2026-09-15T18:30", "2026-09-15T20:00");
    w.owner.post("/events", with(body, duties)).await.created()
}

/// The duties of an event: name and number of people who have taken it.
async fn duties_of(w: &World, event: &str) -> Vec<(String, usize)> {
    let event = w.owner.get(&format!("/events/{event}")).await.ok();
    let duties = event.data()["duties"].as_array().unwrap().iter();
    let duty = |duty: &testkit::Value| {
        let name = duty["name"].as_str().unwrap().to_owned();
        (name, duty["assignees"].as_array().unwrap().len())
    };
    duties.map(duty).collect()
}

async fn take(w: &World, event: &str, duty: &str, person: &str) {
    let path = format!("/events/{event}/duties/{duty}/assignees/{person}");
    w.owner.send("PUT", &path, None).await.ok();
}

both! {
    async fn a_duty_that_somebody_else_removed_does_not_block_the_form(w: &World) {
        let club = w.club().await;
        let event = with_duties(w, &club.hawks, json!({ "duties": [{ "name": "Oranges" }, { "name": "Tent" }] })).await;
        let (path, done) = (format!("/events/{}/edit", event.id()), format!("/events/{}?done=saved", event.id()));
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok();
        let (nonce, opened) = state(&page);
        let ids = [hidden(&page, "duty_id_1"), hidden(&page, "duty_id_2")];
        let rows = [("duty_id_1", &*ids[0]), ("duty_name_1", "Oranges"), ("duty_slots_1", "1"),
            ("duty_id_2", &ids[1]), ("duty_name_2", "Big tent"), ("duty_slots_2", "1")];
        let sent = changed(&edit_fields(&club.hawks, &nonce, &opened), &rows);
        let kept = json!({ "duties": [{ "id": ids[1], "name": "Tent" }] });
        w.owner.patch(&format!("/events/{}", event.id()), kept.clone()).await.ok();
        let page = coach.post(&path, &sent).await.refused_page(422).shows("Save again to keep them").shows("Now: <bdi>Tent (1)</bdi>");
        // The form as the browser sends it again.
        let (nonce, opened) = state(&page);
        assert_eq!((hidden(&page, "duty_id_1"), hidden(&page, "duty_id_2")), (String::new(), ids[1].clone()));
        let again = changed(&sent, &[("nonce", &nonce), ("opened", &opened), ("duty_id_1", "")]);
        coach.post(&path, &again).await.redirects_to(&done);
        coach.post(&path, &again).await.redirects_to(&done);
        assert_eq!(duties_of(w, event.id()).await, [("Oranges".to_owned(), 0), ("Big tent".to_owned(), 0)]);

        // One that was removed and added again looks the same, but is another one.
        let page = coach.get(&path).await.ok();
        let (nonce, opened) = state(&page);
        let ids = [hidden(&page, "duty_id_1"), hidden(&page, "duty_id_2")];
        let rows = [("duty_id_1", &*ids[0]), ("duty_name_1", "Oranges"), ("duty_slots_1", "2"), ("duty_id_2", &ids[1])];
        let sent = changed(&again, &[("nonce", &*nonce), ("opened", &opened)]);
        let sent = changed(&sent, &rows);
        w.owner.patch(&format!("/events/{}", event.id()), json!({ "duties": [] })).await.ok();
        w.owner.patch(&format!("/events/{}", event.id()), json!({ "duties": [{ "name": "Oranges" }, { "name": "Big tent" }] })).await.ok();
        coach.post(&path, &sent).await.redirects_to(&done);
        assert_eq!(duties_of(w, event.id()).await.len(), 2);
    }

    async fn a_form_does_not_remove_duties_that_people_have_taken(w: &World) {
        let club = w.club().await;
        let duties = json!({ "duties": [{ "name": "Oranges", "slots": 3 }, { "name": "Tent" }] });
        let event = with_duties(w, &club.hawks, duties).await;
        let oranges = event.data()["duties"][0]["id"].as_str().unwrap();
        for person in [&club.pat, &club.lia.person] {
            take(w, event.id(), oranges, person).await;
        }
        let path = format!("/events/{}/edit", event.id());
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok();
        let (nonce, opened) = state(&page);
        let tent = hidden(&page, "duty_id_2");
        let rows = [("duty_id_1", oranges), ("duty_name_1", "Oranges"), ("duty_slots_1", "1"),
            ("duty_id_2", &tent), ("duty_name_2", "Tent"), ("duty_slots_2", "1")];
        let sent = changed(&edit_fields(&club.hawks, &nonce, &opened), &rows);
        // Fewer people than have taken it.
        let page = coach.post(&path, &sent).await.refused_page(422).shows("2 people have already taken this duty. Enter at least 2.");
        assert!(page.text.contains("id=\"duty_slots_1-error\"") && !page.text.contains("`slots`"), "{}", page.text);
        // Without its name, the duty is removed. The page adds it again, and says why.
        let removed = changed(&sent, &[("duty_name_1", "")]);
        let refused = "“Oranges” cannot be removed, because 2 people have taken it. Ask them to withdraw first.";
        let page = coach.post(&path, &removed).await.refused_page(422).shows(refused).shows("id=\"duties-error\"");
        assert_eq!((hidden(&page, "duty_id_1"), hidden(&page, "duty_id_2").as_str()), (tent.clone(), oranges));
        page.shows("name=\"duty_slots_2\" type=\"text\" value=\"3\"");
        assert_eq!(duties_of(w, event.id()).await[0], ("Oranges".to_owned(), 2));
        // The other duty can be removed.
        let removed = changed(&sent, &[("duty_slots_1", "2"), ("duty_name_2", "")]);
        redirect(&coach.post(&path, &removed).await);
        assert_eq!(duties_of(w, event.id()).await, [("Oranges".to_owned(), 2)]);
        // The API has its own rules: it removes the duty.
        w.owner.patch(&format!("/events/{}", event.id()), json!({ "duties": [] })).await.ok();
        assert_eq!(duties_of(w, event.id()).await, []);
    }

    async fn a_change_of_a_series_does_not_remove_a_duty_that_was_taken_at_another_date(w: &World) {
        let club = w.club().await;
        let series = json!({ "duties": [{ "name": "Oranges" }], "recurrence": "FREQ=WEEKLY;COUNT=2" });
        let first = with_duties(w, &club.hawks, series).await;
        let second = events(w, &club.hawks).await[1].clone();
        let (second, duty) = (second["id"].as_str().unwrap(), second["duties"][0]["id"].as_str().unwrap());
        take(w, second, duty, &club.pat).await;
        let path = format!("/events/{}/edit", first.id());
        let mut coach = w.browser(club.coach.id).await;
        let (nonce, opened) = state(&coach.get(&path).await.ok());
        let sent = edit_fields(&club.hawks, &nonce, &opened);
        let all = changed(&sent, &[("apply_to", "all")]);
        coach.post(&path, &all).await.refused_page(422).shows("“Oranges” cannot be removed, because 1 person has taken it.");
        redirect(&coach.post(&path, &sent).await);
        assert_eq!((duties_of(w, first.id()).await.len(), duties_of(w, second).await), (0, vec![("Oranges".to_owned(), 1)]));
    }

    async fn a_copy_lasts_as_many_days(w: &World) {
        let club = w.club().await;
        let add = async |start: &str, end: &str, more| {
            w.owner.post("/events", with(practice(&club.hawks, start, end), more)).await.created().id().to_owned()
        };
        let mut coach = w.browser(club.coach.id).await;
        let night = add("2026-09-09T22:00", "2026-09-10T02:00", json!({})).await;
        // As the usual practice of the team, and copied.
        for query in [format!("team={}", club.hawks), format!("copy={night}")] {
            let page = coach.get(&format!("/events/new?{query}")).await.ok();
            let (date, last, nonce) = (value_of(&page, "date"), value_of(&page, "ends_on"), hidden(&page, "nonce"));
            assert_eq!((date.as_str(), last.as_str()), ("2026-09-16", "2026-09-17"), "{query}");
            let sent = [("date", &*date), ("ends_on", &last), ("starts_at", "22:00"), ("ends_at", "02:00"), ("notes", "")];
            let sent = changed(&fields(&club.hawks, &nonce), &sent);
            if query.starts_with("copy") {
                redirect(&coach.post("/events/new", &sent).await);
            } else {
                coach.post("/events/new", &changed(&sent, &[("step", "preview")])).await.ok().shows("22:00 to 02:00");
            }
        }
        let cup = add("2026-10-15", "2026-10-17", json!({ "type": "tournament", "all_day": true })).await;
        let page = coach.get(&format!("/events/new?copy={cup}")).await.ok();
        assert_eq!((value_of(&page, "date").as_str(), value_of(&page, "ends_on").as_str()), ("2026-10-22", "2026-10-24"));
        // A new practice is on one day, even if the only event of the team is a camp.
        let camp = practice(&club.otters, "2026-09-09T10:00", "2026-09-11T16:00");
        w.owner.post("/events", with(camp, json!({ "type": "other" }))).await.created();
        let page = w.browser(club.admin.id).await.get(&format!("/events/new?team={}", club.otters)).await.ok();
        assert_eq!((value_of(&page, "date").as_str(), value_of(&page, "ends_on").as_str()), ("2026-09-16", ""));
    }

    async fn the_preview_names_the_day_of_an_event_on_another_day(w: &World) {
        let club = w.club().await;
        let hall = w.owner.post("/locations", json!({ "name": "Hall", "shared": true })).await.created();
        let there = json!({ "location_id": hall.id(), "title": "Final practice" });
        w.owner.post("/events", with(practice(&club.hawks, "2027-02-02T17:00", "2027-02-02T18:30"), there.clone())).await.created();
        w.owner.post("/events", with(practice(&club.hawks, "2027-01-30T17:00", "2027-01-30T18:30"), there)).await.created();
        let mut coach = w.browser(club.coach.id).await;
        let nonce = nonce_of(&mut coach, &club.hawks).await;
        let cup = [("type", "tournament"), ("all_day", "yes"), ("date", "2027-01-30"), ("ends_on", "2027-02-02"), ("location_id", hall.id())];
        let sent = changed(&fields(&club.hawks, &nonce), &cup);
        coach.post("/events/new", &sent).await.ok().shows("<b>Sat, 30 Jan</b>")
            .shows("is at the same place from Tue, 2 Feb 2027, 17:00 to 18:30.").shows("is at the same place from 17:00 to 18:30.");
    }

    async fn a_change_that_the_clocks_move_is_confirmed(w: &World) {
        let club = w.club().await;
        w.owner.patch(&format!("/teams/{}", club.hawks), json!({ "timezone": "Europe/Lisbon" })).await.ok();
        let body = practice(&club.hawks, "2027-03-14T18:30", "2027-03-14T20:00");
        let first = w.owner.post("/events", with(body, json!({ "recurrence": "FREQ=WEEKLY;COUNT=4" }))).await.created();
        let path = format!("/events/{}/edit", first.id());
        let mut coach = w.browser(club.coach.id).await;
        let (nonce, opened) = state(&coach.get(&path).await.ok());
        let night = [("date", "2027-03-14"), ("starts_at", "01:30"), ("ends_at", "02:30"), ("apply_to", "all")];
        let sent = changed(&edit_fields(&club.hawks, &nonce, &opened), &night);
        let page = coach.post(&path, &sent).await.ok().shows("Because of a clock change, the time is different on: Sun, 28 Mar 2027, 02:30<").shows("Save anyway");
        assert_eq!(events(w, &club.hawks).await[0]["starts_local"], "2027-03-14T18:30:00");
        let seen = hidden(&page, "seen");
        redirect(&coach.post(&path, &changed(&sent, &[("seen", &seen)])).await);
        let starts: Vec<_> = events(w, &club.hawks).await.iter().map(|event| event["starts_local"].as_str().unwrap()[5..16].to_owned()).collect();
        assert_eq!(starts, ["03-14T01:30", "03-21T01:30", "03-28T02:30", "04-04T01:30"]);
        // Other changes of the series are saved at once.
        let (nonce, opened) = state(&coach.get(&path).await.ok());
        let sent = changed(&sent, &[("nonce", &nonce), ("opened", &opened), ("notes", "Bring a torch")]);
        redirect(&coach.post(&path, &sent).await);
    }

    async fn a_postponed_event_takes_place_at_its_former_time(w: &World) {
        let club = w.club().await;
        let event = with_duties(w, &club.hawks, json!({})).await;
        let (path, done) = (format!("/events/{}", event.id()), format!("/events/{}?done=saved", event.id()));
        let status = async || w.owner.get(&path).await.ok().data()["status"].as_str().unwrap().to_owned();
        let mut coach = w.browser(club.coach.id).await;
        let edit = format!("{path}/edit");
        assert!(!coach.get(&edit).await.ok().text.contains("takes_place"));
        w.owner.send("POST", &format!("{path}/postpone"), None).await.ok();
        let (nonce, opened) = state(&coach.get(&edit).await.ok().shows("Put the event back on the schedule"));
        let sent = edit_fields(&club.hawks, &nonce, &opened);
        coach.post(&edit, &sent).await.refused_page(422).shows("Choose a new date or time.").shows("id=\"takes_place-error\"");
        // Other changes leave it postponed.
        coach.post(&edit, &changed(&sent, &[("notes", "No idea yet")])).await.redirects_to(&done);
        assert_eq!(status().await, "postponed");
        let (nonce, opened) = state(&coach.get(&edit).await.ok());
        let sent = changed(&sent, &[("nonce", &nonce), ("opened", &opened), ("notes", "No idea yet"), ("takes_place", "yes")]);
        coach.post(&edit, &sent).await.redirects_to(&done);
        assert_eq!(coach.post(&edit, &sent).await.status, 303);
        let now = w.owner.get(&path).await.ok();
        assert_eq!((&now.data()["status"], &now.data()["starts_at"]), (&json!("scheduled"), &event.data()["starts_at"]));
        let sent = w.owner.get("/emails?limit=100").await;
        assert!(sent.text.contains("[Hawks] Back on the schedule: Practice, Tue, 15 Sep 2026, 18:30 to 20:00"), "{}", sent.text);
        // The API does the same with the former start.
        w.owner.send("POST", &format!("{path}/postpone"), None).await.ok();
        w.owner.patch(&path, json!({ "notes": "Soon" })).await.ok();
        assert_eq!(status().await, "postponed");
        w.owner.patch(&path, json!({ "starts_at": event.data()["starts_at"] })).await.ok();
        assert_eq!(status().await, "scheduled");
    }
}

/// The value of an input of a page.
fn value_of(page: &TestResponse, name: &str) -> String {
    let (_, rest) = page.text.split_once(&format!("name=\"{name}\"")).expect("the input");
    let (input, _) = rest.split_once('>').unwrap();
    let value = input.split_once("value=\"").map(|(_, value)| value.split('"').next().unwrap());
    value.unwrap_or_default().to_owned()
}
