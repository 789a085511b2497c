//! Tests of the pages to plan and change events and locations.

use testkit::{Browser, TestResponse, Value, World, both, json};

use crate::events::{practice, with};
use crate::signin::RefusedPage;

pub(crate) type Fields<'a> = Vec<(&'a str, &'a str)>;

/// The value of a hidden field of a page.
#[track_caller]
pub(crate) fn hidden(page: &TestResponse, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let value =
        page.text.split(&start).nth(1).unwrap_or_else(|| panic!("no {name}: {}", page.text));
    let value = value.split('"').next().unwrap();
    value.replace("&#34;", "\"").replace("&quot;", "\"").replace("&#38;", "&")
}

/// Fields with some of them replaced or added.
pub(crate) fn changed<'a>(fields: &Fields<'a>, changes: &[(&'a str, &'a str)]) -> Fields<'a> {
    let kept = fields.iter().filter(|(name, _)| !changes.iter().any(|(other, _)| other == name));
    kept.chain(changes).copied().collect()
}

/// A practice on Tuesday, September 15.
pub(crate) fn fields<'a>(team: &'a str, nonce: &'a str) -> Fields<'a> {
    vec![
        ("team_id", team),
        ("nonce", nonce),
        ("type", "practice"),
        ("date", "2026-09-15"),
        ("starts_at", "18:30"),
        ("ends_at", "20:00"),
        ("notes", "Bring <water>"),
        ("step", "save"),
    ]
}

/// Opens the form for a new event and returns its nonce.
pub(crate) async fn nonce_of(browser: &mut Browser, team: &str) -> String {
    hidden(&browser.get(&format!("/events/new?team={team}")).await.ok(), "nonce")
}

/// All events of a team.
pub(crate) async fn events(w: &World, team: &str) -> Vec<Value> {
    let all = w.owner.get(&format!("/events?team_id={team}&limit=100")).await.ok();
    all.data().as_array().unwrap().clone()
}

/// The path of the only page that a response redirects to.
#[track_caller]
pub(crate) fn redirect(answer: &TestResponse) -> String {
    assert_eq!(answer.status, 303, "{}", answer.text);
    answer.header("location").unwrap().to_owned()
}

both! {
    async fn a_coach_plans_an_event_at_a_new_place_once(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        // The only team of the coach is chosen.
        let page = coach.get("/events/new").await.ok().shows("New event for Hawks");
        let nonce = hidden(&page, "nonce");
        let place = [("location_id", "new"), ("place_name", "Harbour <hall>"), ("place_address", "Quay 1"),
            ("rsvp_enabled", "yes"), ("deadline", "24"), ("capacity", "14"), ("arrival_minutes", "15"),
            ("duty_name_1", "Bring oranges"), ("duty_slots_1", "2")];
        let sent = changed(&fields(&club.hawks, &nonce), &place);
        let first = redirect(&coach.post("/events/new", &sent).await);
        assert_eq!(redirect(&coach.post("/events/new", &sent).await), first);
        let all = events(w, &club.hawks).await;
        let [event] = &all[..] else { panic!("{all:?}") };
        assert_eq!(first, format!("/events/{}?done=created", event["id"].as_str().unwrap()));
        let expected = json!({ "title": "Practice", "starts_at": "2026-09-15T18:30:00.000000Z",
            "ends_at": "2026-09-15T20:00:00.000000Z", "rsvp_deadline": "2026-09-14T18:30:00.000000Z",
            "capacity": 14, "arrival_minutes": 15, "notes": "Bring <water>", "opponent": null });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&event[name], value, "{name}");
        }
        assert_eq!(event["location"]["name"], "Harbour <hall>");
        assert_eq!((&event["duties"][0]["name"], &event["duties"][0]["slots"]), (&json!("Bring oranges"), &json!(2)));
        // The next form has the same times and place, one week later.
        let next = coach.get("/events/new").await.ok().shows("value=\"2026-09-08\"").shows("value=\"18:30\"");
        assert!(!next.text.contains("Bring &#60;water") && !next.text.contains("value=\"Bring oranges"), "{}", next.text);
        let copy = format!("/events/new?copy={}", event["id"].as_str().unwrap());
        coach.get(&copy).await.ok().shows("Bring &#60;water&#62;").shows("value=\"Bring oranges").shows("value=\"14\"");
    }

    async fn an_event_of_whole_days_has_no_time_of_arrival(w: &World) {
        let club = w.club().await;
        let usual = practice(&club.hawks, "2026-09-08T18:30", "2026-09-08T20:00");
        w.owner.post("/events", with(usual, json!({ "arrival_minutes": 15 }))).await.created();
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&format!("/events/new?team={}", club.hawks)).await.ok().shows("value=\"15\"");
        let nonce = hidden(&page, "nonce");
        let camp = [("title", "Camp"), ("all_day", "yes"), ("arrival_minutes", "15")];
        redirect(&coach.post("/events/new", &changed(&fields(&club.hawks, &nonce), &camp)).await);
        let events = events(w, &club.hawks).await;
        let camp = events.iter().find(|event| event["title"] == "Camp").unwrap();
        assert_eq!((&camp["all_day"], &camp["arrival_minutes"]), (&json!(true), &Value::Null));
    }

    async fn bad_input_gets_a_message_and_keeps_what_was_typed(w: &World) {
        let club = w.club().await;
        let zone = json!({ "timezone": "Europe/Lisbon" });
        w.owner.patch(&format!("/teams/{}", club.hawks), zone).await.ok();
        let mut coach = w.browser(club.coach.id).await;
        let nonce = nonce_of(&mut coach, &club.hawks).await;
        let sent = fields(&club.hawks, &nonce);
        let weekly = [("repeat", "weekly"), ("days", "TU")];
        let cases: [(&[(&str, &str)], &str); 13] = [
            (&[("date", "")], "Choose a date."),
            (&[("starts_at", "")], "Enter a start time."),
            (&[("ends_at", "late")], "Enter a time such as 18:30."),
            (&[("ends_at", "18:30")], "The end must be after the start."),
            (&[("date", "2027-03-28"), ("starts_at", "01:30"), ("ends_at", "03:00")], "01:30 does not exist on 28 Mar 2027"),
            (&[("date", "2026-10-25"), ("starts_at", "01:30"), ("ends_at", "03:00")], "01:30 occurs twice on 25 Oct 2026"),
            (&[("ends_on", "2026-11-15")], "An event can last at most 31 days."),
            (&[("location_id", "new")], "Enter the name of the place."),
            (&weekly, "A repeating event needs an end."),
            (&[("until", "2026-12-01"), ("count", "3"), weekly[0]], "not both"),
            (&[("until", "2026-09-01"), weekly[0]], "The last date is before the first one."),
            (&[("until", "2050-09-01"), weekly[0]], "There are more than 400 dates."),
            (&[("count", "401"), weekly[0]], "Enter a number from 1 to 400."),
        ];
        for (changes, error) in cases {
            let page = coach.post("/events/new", &changed(&sent, changes)).await.refused_page(422);
            page.shows(error).shows("Bring &#60;water&#62;");
        }
        assert_eq!(events(w, &club.hawks).await.len(), 0);
        let nothing = changed(&sent, &[("team_id", "team_nothing")]);
        coach.post("/events/new", &nothing).await.refused_page(404);
        let other = changed(&sent, &[("team_id", &club.otters)]);
        coach.post("/events/new", &other).await.refused_page(404);
        let mut parent = w.browser(club.parent.id).await;
        for path in ["/events/new", &format!("/events/new?team={}", club.hawks), "/locations", "/locations/new"] {
            parent.get(path).await.refused_page(403);
        }
        parent.post("/events/new", &sent).await.refused_page(403);
    }

    async fn a_series_is_previewed_and_dates_are_left_out(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let nonce = nonce_of(&mut coach, &club.hawks).await;
        let base = changed(&fields(&club.hawks, &nonce), &[("repeat", "weekly"), ("until", "2026-10-01")]);
        let base: Fields<'_> = base.into_iter().chain([("days", "TU"), ("days", "TH")]).collect();
        // Without a preview, the first button shows it.
        let page = coach.post("/events/new", &base).await.ok();
        let page = page.shows("Every Tuesday and Thursday").shows("Until 1 Oct 2026").shows("6 events").shows("Bring &#60;water&#62;");
        assert_eq!(events(w, &club.hawks).await.len(), 0);
        let (seen, dates) = (hidden(&page, "seen"), hidden(&page, "dates"));
        assert_eq!(dates, "2026-09-15,2026-09-17,2026-09-22,2026-09-24,2026-09-29,2026-10-01");
        let shown: Fields<'_> = base.iter().copied().chain([("seen", &*seen), ("dates", &*dates)]).collect();
        let all_left_out = coach.post("/events/new", &shown).await.refused_page(422);
        all_left_out.shows("You left out all dates.");
        let kept = dates.split(',').filter(|day| *day != "2026-09-22").map(|day| ("on", day));
        let kept: Fields<'_> = shown.iter().copied().chain(kept).collect();
        // One more is left out with its own button, which shows the preview again.
        let more: Fields<'_> = kept.iter().copied().chain([("leave_out", "2026-09-24")]).collect();
        let page = coach.post("/events/new", &more).await.ok().shows("4 events").shows("Except Tue, 22 Sep and Thu, 24 Sep");
        assert_eq!(hidden(&page, "skip"), "2026-09-22,2026-09-24");
        let first = redirect(&coach.post("/events/new", &kept).await);
        let all = events(w, &club.hawks).await;
        let starts: Vec<_> = all.iter().map(|event| event["starts_at"].as_str().unwrap()[..10].to_owned()).collect();
        assert_eq!(starts, ["2026-09-15", "2026-09-17", "2026-09-24", "2026-09-29", "2026-10-01"]);
        assert_eq!(first, format!("/events/{}?done=series_created", all[0]["id"].as_str().unwrap()));
        assert_eq!(all[0]["recurrence"], "FREQ=WEEKLY;BYDAY=TU,TH;UNTIL=20261001\nEXDATE;VALUE=DATE:20260922");
        // Other times than in the preview are shown again first.
        let nonce = nonce_of(&mut coach, &club.hawks).await;
        let later = changed(&kept, &[("nonce", &nonce), ("starts_at", "10:00"), ("ends_at", "11:00"), ("days", "FR")]);
        coach.post("/events/new", &later).await.ok().shows("Every Friday");
        assert_eq!(events(w, &club.hawks).await.len(), 5);
    }

    async fn conflicts_are_shown_before_saving(w: &World) {
        let club = w.club().await;
        let hall = w.owner.post("/locations", json!({ "name": "Hall" })).await.created();
        let there = json!({ "location_id": hall.id(), "title": "Otters <meet>" });
        let taken = with(practice(&club.otters, "2026-09-15T19:00:00Z", "2026-09-15T21:00:00Z"), there);
        w.owner.post("/events", taken).await.created();
        let own = practice(&club.hawks, "2026-09-15T17:00:00Z", "2026-09-15T18:45:00Z");
        w.owner.post("/events", own).await.created();
        let mut coach = w.browser(club.coach.id).await;
        let nonce = nonce_of(&mut coach, &club.hawks).await;
        let sent = changed(&fields(&club.hawks, &nonce), &[("location_id", hall.id())]);
        let page = coach.post("/events/new", &sent).await.ok().shows("Save anyway").shows("already has");
        // The event of the other team is not named, because the coach does not see it.
        let page = page.shows("Another team is at the same place at that time.");
        assert!(!page.text.contains("Otters"), "{}", page.text);
        assert_eq!(events(w, &club.hawks).await.len(), 1);
        let seen = hidden(&page, "seen");
        // Other conflicts than those that were shown are not confirmed.
        let other_day = [("seen", &*seen), ("starts_at", "17:30"), ("ends_at", "18:00")];
        coach.post("/events/new", &changed(&sent, &other_day)).await.ok().shows("Save anyway");
        redirect(&coach.post("/events/new", &changed(&sent, &[("seen", &seen)])).await);
        assert_eq!(events(w, &club.hawks).await.len(), 2);
        // An owner sees which event it is.
        let mut owner = w.browser(club.owner.id).await;
        let nonce = nonce_of(&mut owner, &club.hawks).await;
        let sent = changed(&sent, &[("nonce", &nonce)]);
        owner.post("/events/new", &sent).await.ok().shows("Otters &#60;meet&#62;");
    }

    async fn the_second_editor_sees_what_changed_and_loses_nothing(w: &World) {
        let club = w.club().await;
        let more = json!({ "notes": "First", "duties": [{ "name": "Oranges" }] });
        let event = with(practice(&club.hawks, "2026-09-15T18:30:00Z", "2026-09-15T20:00:00Z"), more);
        let event = w.owner.post("/events", event).await.created();
        let path = format!("/events/{}/edit", event.id());
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok().shows("value=\"18:30\"").shows("First").shows("Oranges");
        let (nonce, opened, duty) = (hidden(&page, "nonce"), hidden(&page, "opened"), hidden(&page, "duty_id_1"));
        let sent: Fields<'_> = vec![
            ("team_id", &club.hawks), ("nonce", &nonce), ("opened", &opened), ("type", "practice"),
            ("date", "2026-09-15"), ("starts_at", "18:30"), ("ends_at", "20:00"), ("notes", "Mine"),
            ("rsvp_enabled", "yes"), ("duty_id_1", &duty), ("duty_name_1", "Oranges"), ("duty_slots_1", "1"), ("step", "save"),
        ];
        let change = json!({ "notes": "Theirs", "starts_at": "2026-09-15T19:00:00Z", "arrival_minutes": 20 });
        let current = format!("/events/{}", event.id());
        w.owner.patch(&current, change).await.ok();
        let page = coach.post(&path, &sent).await.refused_page(422).shows("Somebody else changed this event");
        let page = page.shows("Now: <bdi>Theirs</bdi>").shows("You entered: <bdi>Mine</bdi>").shows("Now: <bdi>19:00</bdi>");
        // What only the other one changed is taken over; what was typed is kept.
        let page = page.shows("value=\"19:00\"").shows("Mine</textarea>").shows("value=\"20\"");
        assert_eq!(w.owner.get(&current).await.ok().data()["notes"], "Theirs");
        let opened = hidden(&page, "opened");
        let again = [("opened", &*opened), ("starts_at", "19:00"), ("ends_at", "20:30"), ("arrival_minutes", "20")];
        let saved = changed(&sent, &again);
        assert_eq!(redirect(&coach.post(&path, &saved).await), format!("{current}?done=saved"));
        // Sent twice, it is not taken for a conflict.
        assert_eq!(redirect(&coach.post(&path, &saved).await), format!("{current}?done=saved"));
        let now = w.owner.get(&current).await.ok();
        assert_eq!((&now.data()["notes"], &now.data()["starts_at"]), (&json!("Mine"), &json!("2026-09-15T19:00:00.000000Z")));
        assert_eq!((&now.data()["duties"][0]["id"], &now.data()["arrival_minutes"]), (&json!(duty), &json!(20)));
        // An answer meanwhile is not a change of the event.
        let page = coach.get(&path).await.ok();
        let (nonce, opened) = (hidden(&page, "nonce"), hidden(&page, "opened"));
        let answer = json!({ "answer": "yes" });
        w.owner.put(&format!("{current}/rsvps/{}", club.lia.member), answer).await.ok();
        let sent = changed(&saved, &[("nonce", &nonce), ("opened", &opened), ("type", "game"), ("opponent", "Gulls")]);
        redirect(&coach.post(&path, &sent).await);
        let now = w.owner.get(&current).await.ok();
        assert_eq!((&now.data()["title"], &now.data()["opponent"]), (&json!("vs Gulls"), &json!("Gulls")));
    }

    async fn a_change_of_a_series_applies_to_the_chosen_events(w: &World) {
        let club = w.club().await;
        let series = practice(&club.hawks, "2026-09-15T18:30:00Z", "2026-09-15T20:00:00Z");
        let series = with(series, json!({ "recurrence": "FREQ=WEEKLY;COUNT=4" }));
        w.owner.post("/events", series).await.created();
        let all = events(w, &club.hawks).await;
        let second = all[1]["id"].as_str().unwrap();
        let own = json!({ "notes": "Only here" });
        w.owner.patch(&format!("/events/{}", all[2]["id"].as_str().unwrap()), own).await.ok();
        let path = format!("/events/{second}/edit");
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok().shows("This and the following events");
        let (nonce, opened) = (hidden(&page, "nonce"), hidden(&page, "opened"));
        let sent = [("team_id", &*club.hawks), ("nonce", &nonce), ("opened", &opened), ("type", "practice"), ("date", "2026-09-22"),
            ("starts_at", "18:30"), ("ends_at", "20:00"), ("rsvp_enabled", "yes"), ("uniform", "blue"), ("arrival_minutes", "10"),
            ("apply_to", "following"), ("step", "save")];
        redirect(&coach.post(&path, &sent).await);
        let arrivals: Vec<_> = events(w, &club.hawks).await.iter().map(|event| event["arrival_minutes"].clone()).collect();
        assert_eq!(arrivals, [json!(null), json!(10), json!(null), json!(10)]);
        let page = coach.get(&path).await.ok();
        let (nonce, opened) = (hidden(&page, "nonce"), hidden(&page, "opened"));
        // A cancelled event has no form.
        w.owner.post(&format!("/events/{second}/cancel"), json!({})).await.ok();
        let page = coach.get(&path).await.ok().shows("This event is cancelled").shows("/events/new?copy=");
        assert!(!page.text.contains("<textarea"));
        // The page says what happened and still shows what the coach typed.
        let typed = changed(&sent.to_vec(), &[("nonce", &nonce), ("opened", &opened), ("notes", "Typed before")]);
        let page = coach.post(&path, &typed).await.refused_page(422).shows("Typed before</textarea>").shows("Now: <bdi>Cancelled</bdi>");
        assert!(!page.text.contains("Save changes"));
        for page in ["edit", "cancel", "postpone", "delete"] {
            let path = format!("/events/{second}/{page}");
            w.browser(club.parent.id).await.get(&path).await.refused_page(403);
            w.browser(club.outsider.id).await.get(&path).await.refused_page(404);
        }
    }

    async fn coaches_add_places_and_admins_manage_them(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        coach.get("/locations").await.ok().shows("No places yet");
        let nonce = hidden(&coach.get("/locations/new").await.ok(), "nonce");
        let sent = [("name", "Garden <b>"), ("address", "Quay 1"), ("shared", "yes"), ("nonce", &nonce)];
        coach.post("/locations/new", &sent).await.redirects_to("/locations?done=added");
        coach.post("/locations/new", &sent).await.redirects_to("/locations?done=added");
        let all = w.owner.get("/locations").await.ok();
        let all = all.data().as_array().unwrap();
        let (place, true) = (&all[0], all.len() == 1) else { panic!("{all:?}") };
        // Only admins can share a place with all teams.
        assert_eq!((&place["name"], &place["shared"]), (&json!("Garden <b>"), &json!(false)));
        let path = format!("/locations/{}", place["id"].as_str().unwrap());
        let shown = coach.get(&path).await.ok().shows("geo:0,0?q=Quay%201").shows("https://www.openstreetmap.org/search?query=Quay%201");
        assert!(!shown.text.contains("name=\"address\""), "{}", shown.text);
        coach.post(&path, &sent).await.refused_page(403);
        coach.get(&format!("{path}/archive")).await.refused_page(403);
        let mut admin = w.browser(club.admin.id).await;
        let page = admin.get(&path).await.ok().shows("Archive place");
        let version = hidden(&page, "version");
        let wrong = [("name", "Garden"), ("coordinates", "here"), ("notes", "Key at the bar"), ("version", &version)];
        admin.post(&path, &wrong).await.refused_page(422).shows("such as 38.7071, -9.1355").shows("Key at the bar");
        let far = changed(&wrong.to_vec(), &[("coordinates", "95, 10")]);
        admin.post(&path, &far).await.refused_page(422).shows("id=\"coordinates-error\"");
        let right = changed(&wrong.to_vec(), &[("coordinates", "38.5, -9.25")]);
        admin.post(&path, &right).await.redirects_to("/locations?done=saved");
        admin.post(&path, &right).await.refused_page(422).shows("Somebody else changed this");
        admin.get(&path).await.ok().shows("geo:38.5,-9.25?q=38.5,-9.25").shows("38.5, -9.25");
        admin.get(&format!("{path}/archive")).await.ok().shows("Garden");
        admin.post(&format!("{path}/archive"), &[]).await.redirects_to("/locations?done=archived");
        admin.get("/locations?state=archived").await.ok().shows("Garden");
        assert!(!coach.get("/events/new").await.ok().text.contains("Garden"));
    }
}
