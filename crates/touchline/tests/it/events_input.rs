//! Tests of the validation of events, of locations, duties, and warnings about overlaps.

use testkit::{TestResponse, Value, World, both, json, seconds};

use crate::events::{
    event_path, field_texts, field_values, hawks, notifications_of, practice, squad, team,
    team_client, with,
};

both! {
    async fn reports_all_invalid_fields_at_once(w: &World) {
        let team = hawks(w).await;
        let wrong = json!({ "team_id": "team_x", "type": "party", "title": "t".repeat(121), "starts_at": "soon", "ends_at": 5,
            "timezone": "Mars/Olympus", "all_day": "yes", "arrival_minutes": 601, "location_id": "x", "opponent": ["a"], "home_away": "inside",
            "uniform": "u\u{0}", "notes": "n".repeat(10_001), "rsvp_enabled": 1, "rsvp_deadline": "", "capacity": 0,
            "duties": [{ "slots": 0 }, 5], "recurrence": 7, "external_id": "", "metadata": { "a": 1 } });
        let refused = w.owner.post("/events", wrong).await.assert_problem(422, "validation_failed");
        let pointers = refused.pointers();
        for pointer in ["/team_id", "/type", "/title", "/starts_at", "/ends_at", "/timezone", "/all_day", "/arrival_minutes", "/location_id", "/opponent",
            "/home_away", "/uniform", "/notes", "/rsvp_enabled", "/rsvp_deadline", "/capacity", "/duties/0/name", "/duties/0/slots", "/recurrence"] {
            assert!(pointers.contains(&pointer), "{pointer} is not among {pointers:?}");
        }
        assert_eq!(w.owner.post("/events", json!({})).await.assert_problem(422, "validation_failed").pointers(), ["/team_id", "/type", "/starts_at"]);
        w.owner.post("/events", with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), json!({ "place": 1 }))).await.assert_problem(400, "invalid_parameter");
        assert_eq!(w.count("event").await, 0);
    }

    async fn rejects_impossible_times(w: &World) {
        let team = hawks(w).await;
        let faults = async |start: &str, end: &str| {
            let body = practice(&team, start, end);
            let refused = w.owner.post("/events", body).await.assert_problem(422, "validation_failed");
            let fault = &refused.body["errors"][0];
            format!("{} {}", fault["pointer"].as_str().unwrap(), fault["code"].as_str().unwrap())
        };
        assert_eq!(faults("2026-09-10T18:00", "2026-09-10T17:59").await, "/ends_at ends_before_start");
        assert_eq!(faults("2026-09-10T18:00", "2026-09-10T18:00").await, "/ends_at ends_before_start");
        assert_eq!(faults("2027-03-28T01:30", "2027-03-28T03:00").await, "/starts_at nonexistent_time");
        assert_eq!(faults("2026-10-25T01:00", "2026-10-25T03:00").await, "/starts_at ambiguous_time");
        assert_eq!(faults("2026-10-24T23:00", "2026-10-25T01:59").await, "/ends_at ambiguous_time");
        assert_eq!(faults("9999-12-31T18:00", "9999-12-31T19:00").await, "/starts_at out_of_range");
        assert_eq!(faults("1969-12-31T18:00", "2026-12-31T19:00").await, "/starts_at out_of_range");
        assert_eq!(faults("2026-09-10T18:00", "2026-10-12T18:00").await, "/ends_at too_long");
        assert_eq!(faults("2026-09-10", "2026-09-10T18:00").await, "/starts_at time_required");
        assert_eq!(faults("2027-02-29T18:00", "2027-02-28T19:00").await, "/starts_at invalid_time");
        for text in ["10.09.2026 18:00", "2026-09-10 18:00", "2026-9-10T18:00", "2026-09-10T24:00", "tomorrow", "1788998400", "2026-W37-4", "٢٠٢٦-٠٩-١٠"] {
            assert_eq!(faults(text, "2026-09-10T19:00").await, "/starts_at invalid_time", "{text}");
        }
        let late = with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), json!({ "rsvp_deadline": "2026-09-10T19:01" }));
        assert_eq!(w.owner.post("/events", late).await.assert_problem(422, "validation_failed").pointers(), ["/rsvp_deadline"]);
        assert_eq!(w.count("event").await, 0);
        // An offset selects one of the two hours. February 29 exists in 2028.
        let with_offsets = w.owner.post("/events", practice(&team, "2026-10-25T01:30+01:00", "2026-10-25T01:30+00:00")).await.created();
        assert_eq!((&with_offsets.data()["starts_at"], &with_offsets.data()["ends_at"]), (&json!("2026-10-25T00:30:00.000000Z"), &json!("2026-10-25T01:30:00.000000Z")));
        assert_eq!((&with_offsets.data()["starts_local"], &with_offsets.data()["ends_local"]), (&json!("2026-10-25T01:30:00"), &json!("2026-10-25T01:30:00")));
        let leap = w.owner.post("/events", practice(&team, "2028-02-29T18:00", "2028-02-29T19:00")).await.created();
        assert_eq!(leap.data()["starts_local"], "2028-02-29T18:00:00");
        let moved = w.owner.patch(&event_path(&leap, ""), json!({ "starts_at": "2026-10-25T01:30" })).await;
        assert_eq!(moved.assert_problem(422, "validation_failed").pointers(), ["/starts_at"]);
    }

    async fn stores_text_in_any_script_unchanged(w: &World) {
        let team = hawks(w).await;
        let notes = "ש".repeat(9_999) + "🏉";
        let more = json!({ "title": "⚽ مباراة ودية 👩‍👩‍👧‍👦", "opponent": "הפועל", "uniform": "青", "notes": notes, "metadata": { "ключ": "значение" } });
        let event = w.owner.post("/events", with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), more.clone())).await.created();
        let read = w.owner.get(&event_path(&event, "")).await.ok();
        for (name, value) in more.as_object().unwrap() {
            assert_eq!(&read.data()[name], value, "{name}");
        }
        let notifications = notifications_of(w, "event.created").await;
        assert_eq!(notifications[0]["data"]["object"]["title"], more["title"]);
        let longer = json!({ "notes": notes.clone() + "x" });
        assert_eq!(w.owner.patch(&event_path(&event, ""), longer).await.assert_problem(422, "validation_failed").pointers(), ["/notes"]);
    }

    async fn changes_clears_postpones_and_cancels_an_event(w: &World) {
        let team = hawks(w).await;
        let more = json!({ "type": "game", "opponent": "Owls", "home_away": "home", "uniform": "blue", "notes": "n", "capacity": 3, "arrival_minutes": 20,
            "rsvp_deadline": "2026-09-09T12:00", "duties": [{ "name": "Tent" }], "external_id": "g1", "metadata": { "a": "b" } });
        let event = w.owner.post("/events", with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), more)).await.created();
        assert_eq!(event.data()["title"], "vs Owls");
        let cleared = json!({ "title": null, "opponent": null, "home_away": null, "uniform": null, "notes": null, "capacity": null, "arrival_minutes": null,
            "rsvp_deadline": null, "duties": null, "external_id": null, "metadata": null });
        let after = w.owner.patch(&event_path(&event, ""), cleared).await.ok();
        for name in ["opponent", "home_away", "uniform", "notes", "capacity", "arrival_minutes", "rsvp_deadline", "external_id"] {
            assert_eq!(after.data()[name], Value::Null, "{name}");
        }
        assert_eq!((&after.data()["title"], &after.data()["duties"], &after.data()["metadata"]), (&json!("Game"), &json!([]), &json!({})));
        for required in ["type", "starts_at", "ends_at", "all_day", "rsvp_enabled"] {
            let refused = w.owner.patch(&event_path(&event, ""), json!({ required: null })).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [format!("/{required}")]);
        }
        let previous = &notifications_of(w, "event.updated").await[0]["data"]["previous"];
        assert_eq!((&previous["capacity"], &previous["opponent"], previous.get("starts_at")), (&json!(3), &json!("Owls"), None));
        let postponed = w.owner.send("POST", &event_path(&event, "/postpone"), None).await.ok();
        assert_eq!(postponed.data()["status"], "postponed");
        w.owner.send("POST", &event_path(&event, "/postpone"), None).await.assert_problem(409, "invalid_state");
        let again = w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-17T18:00" })).await.ok();
        assert_eq!((&again.data()["status"], &again.data()["ends_local"]), (&json!("scheduled"), &json!("2026-09-17T19:00:00")));
        let body = json!({ "reason": "Rain" });
        let cancelled = w.owner.post(&event_path(&event, "/cancel"), body.clone()).await.ok();
        assert_eq!((&cancelled.data()["status"], &cancelled.data()["cancelled_at"]), (&json!("cancelled"), &json!("2026-09-05T10:00:00.000000Z")));
        w.owner.post(&event_path(&event, "/cancel"), body).await.assert_problem(409, "invalid_state");
        for (method, below) in [("POST", "/postpone"), ("PATCH", "")] {
            w.owner.send(method, &event_path(&event, below), Some("{}")).await.assert_problem(409, "invalid_state");
        }
        assert_eq!(field_texts(&w.owner.get("/events").await.ok(), "status"), ["cancelled"]);
        let long = json!({ "reason": "r".repeat(501) });
        assert_eq!(w.owner.post(&event_path(&event, "/cancel"), long).await.assert_problem(422, "validation_failed").pointers(), ["/reason"]);
        let notifications = notifications_of(w, "event.cancelled").await;
        assert_eq!((&notifications[0]["data"]["previous"]["status"], &notifications[0]["data"]["object"]["cancel_reason"]), (&json!("scheduled"), &json!("Rain")));
    }

    async fn external_ids_are_unique_and_archived_teams_get_no_events(w: &World) {
        let team = hawks(w).await;
        let body = with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), json!({ "external_id": "x" }));
        let event = w.owner.post("/events", body.clone()).await.created();
        assert_eq!(w.owner.post("/events", body).await.assert_problem(409, "taken").pointers(), ["/external_id"]);
        assert_eq!(field_texts(&w.owner.get("/events?external_id=x").await.ok(), "id"), [event.id()]);
        w.owner.delete(&format!("/teams/{team}")).await.ok();
        w.owner.post("/events", practice(&team, "2026-09-10T18:00", "2026-09-10T19:00")).await.assert_problem(409, "invalid_state");
        let foreign = w.stranger.post("/teams", json!({ "name": "Foreign" })).await.created().id().to_owned();
        let refused = w.owner.post("/events", practice(&foreign, "2026-09-10T18:00", "2026-09-10T19:00")).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/team_id"]);
        assert_eq!(w.owner.get(&format!("/events?team_id={foreign}")).await.ok().data(), &json!([]));
    }
}

both! {
    async fn creates_finds_changes_and_archives_locations(w: &World) {
        let body = json!({ "name": "Lower Pitch ⚽", "address": "12 Quay Street\nHarbour", "latitude": -33.8688, "longitude": 151.2093,
            "url": "https://maps.example.org/?q=1", "notes": "Gate code", "external_id": "p1", "metadata": { "surface": "grass" } });
        let pitch = w.owner.post("/locations", body.clone()).await.created();
        for (name, value) in body.as_object().unwrap() {
            assert_eq!(&pitch.data()[name], value, "{name}");
        }
        let path = format!("/locations/{}", pitch.id());
        assert_eq!(pitch.header("location"), Some(format!("/api/public/v1{path}").as_str()));
        assert_eq!(w.owner.get("/locations?q=PITCH").await.ok().names(), ["Lower Pitch ⚽"]);
        assert_eq!(w.owner.get("/locations?external_id=p1").await.ok().names().len(), 1);
        assert_eq!(w.owner.post("/locations", json!({ "name": "B", "external_id": "p1" })).await.assert_problem(409, "taken").pointers(), ["/external_id"]);
        let alone = w.owner.patch(&path, json!({ "latitude": null })).await.assert_problem(422, "validation_failed");
        assert_eq!(alone.pointers(), ["/latitude"]);
        let cleared = w.owner.patch(&path, json!({ "latitude": null, "longitude": null, "notes": null })).await.ok();
        assert_eq!((&cleared.data()["latitude"], &cleared.data()["version"]), (&json!(null), &json!(2)));
        let wrong = json!({ "name": " ", "latitude": 90.1, "longitude": "x", "url": "javascript:alert(1)", "address": "a".repeat(501) });
        let refused = w.owner.post("/locations", wrong).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/name", "/address", "/latitude", "/longitude", "/url"]);
        let team = hawks(w).await;
        let game = with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), json!({ "location_id": pitch.id() }));
        let event = w.owner.post("/events", game.clone()).await.created();
        assert_eq!(event.data()["location"]["name"], "Lower Pitch ⚽");
        w.owner.patch(&path, json!({ "name": "Upper Pitch" })).await.ok();
        assert_eq!(w.owner.get(&event_path(&event, "")).await.ok().data()["location"]["name"], "Upper Pitch");
        assert_eq!(field_values(&w.owner.get(&format!("/events?location_id={}", pitch.id())).await.ok(), "id").len(), 1);
        w.owner.delete(&path).await.ok();
        w.owner.delete(&path).await.assert_problem(409, "invalid_state");
        w.owner.patch(&path, json!({ "name": "x" })).await.assert_problem(409, "invalid_state");
        assert_eq!(w.owner.get("/locations").await.ok().names().len(), 0);
        assert_eq!(w.owner.get("/locations?status=all").await.ok().names(), ["Upper Pitch"]);
        // New events cannot use it, but existing events keep it and can still be changed.
        assert_eq!(w.owner.post("/events", game).await.assert_problem(422, "validation_failed").pointers(), ["/location_id"]);
        let updated = w.owner.patch(&event_path(&event, ""), json!({ "notes": "x", "location_id": pitch.id() })).await.ok();
        assert_eq!(updated.data()["location"]["status"], "archived");
        w.stranger.get(&path).await.assert_problem(404, "not_found");
        let kinds: Vec<_> = w.notifications().await.iter().map(|notification| notification["type"].as_str().unwrap().to_owned()).collect();
        assert_eq!(kinds.iter().filter(|kind| kind.starts_with("location.")).count(), 4);
    }

    async fn moving_an_event_publishes_its_previous_values(w: &World) {
        let team = hawks(w).await;
        let create_location = async |name: &str| w.owner.post("/locations", json!({ "name": name })).await.created();
        let (lower, upper) = (create_location("Lower").await, create_location("Upper").await);
        let body = with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), json!({ "location_id": lower.id() }));
        let event = w.owner.post("/events", body).await.created();
        w.owner.patch(&event_path(&event, ""), json!({ "location_id": upper.id() })).await.ok();
        w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-11T18:00" })).await.ok();
        let notifications = notifications_of(w, "event.updated").await;
        assert_eq!((&notifications[0]["data"]["previous"]["location_id"], &notifications[0]["data"]["object"]["location"]["name"]), (&json!(lower.id()), &json!("Upper")));
        assert_eq!(notifications[0]["data"]["previous"].get("starts_at"), None);
        let previous = &notifications[1]["data"]["previous"];
        let names: Vec<_> = previous.as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, ["ends_at", "ends_local", "starts_at", "starts_local"]);
        assert_eq!(previous["starts_at"], "2026-09-10T17:00:00.000000Z");
        // A change without effect publishes nothing.
        let same = w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-11T18:00", "location_id": upper.id() })).await.ok();
        assert_eq!((&same.data()["version"], notifications_of(w, "event.updated").await.len()), (&json!(3), 2));
    }
}

async fn person_on(w: &World, teams: &[&str], name: &str) -> String {
    let first = w
        .owner
        .post(&format!("/teams/{}/roster", teams[0]), json!({ "first_name": name }))
        .await
        .created();
    let person = first.data()["person_id"].as_str().unwrap().to_owned();
    for team in &teams[1..] {
        w.owner
            .post(&format!("/teams/{team}/roster"), json!({ "person_id": person }))
            .await
            .created();
    }
    person
}

fn warnings(event: &TestResponse) -> Vec<(Value, Value, Value)> {
    let warnings = event.data()["warnings"].as_array().unwrap();
    warnings
        .iter()
        .map(|one| {
            (
                one["other_event_id"].clone(),
                one["conflict_types"].clone(),
                one["person_ids"].clone(),
            )
        })
        .collect()
}

both! {
    async fn warns_about_people_who_have_two_events_at_once(w: &World) {
        let (hawks, owls, crows) = (hawks(w).await, team(w, "Owls").await, team(w, "Crows").await);
        let both = person_on(w, &[&hawks, &owls], "Both").await;
        let coach = person_on(w, &[&hawks, &crows], "Coach").await;
        let owl = w.owner.post("/events", with(practice(&owls, "2026-09-10T18:00:00Z", "2026-09-10T19:00:00Z"), json!({ "title": "Owls only" }))).await.created();
        let crow = w.owner.post("/events", practice(&crows, "2026-09-10T19:00:00Z", "2026-09-10T20:00:00Z")).await.created();
        let event = w.owner.post("/events", practice(&hawks, "2026-09-10T18:30:00Z", "2026-09-10T19:00:00Z")).await.created();
        assert_eq!(warnings(&event), [(json!(owl.id()), json!(["person"]), json!([both]))]);
        assert_eq!(event.data()["warnings"][0]["event_id"], event.id());
        // Moved by half an hour, it overlaps the other event; moved by another hour, it overlaps neither.
        let moved = w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-10T19:00:00Z" })).await.ok();
        assert_eq!(warnings(&moved), [(json!(crow.id()), json!(["person"]), json!([coach]))]);
        assert_eq!(warnings(&w.owner.patch(&event_path(&event, ""), json!({ "title": "x" })).await.ok()), []);
        assert_eq!(warnings(&w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-10T20:00:00Z" })).await.ok()), []);
        // Warnings are returned once and not stored.
        assert_eq!(warnings(&w.owner.get(&event_path(&event, "")).await.ok()), []);
        // Cancelled events and events of teams that a person has left cause no warnings.
        w.owner.post(&event_path(&owl, "/cancel"), json!({})).await.ok();
        let roster = w.owner.get(&format!("/teams/{crows}/roster")).await.ok();
        w.owner.delete(&format!("/teams/{crows}/roster/{}", field_texts(&roster, "id")[0])).await.ok();
        assert_eq!(warnings(&w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-10T18:45:00Z" })).await.ok()), []);
    }

    async fn a_team_key_is_warned_about_other_teams_events_without_details(w: &World) {
        let (hawks, owls) = (hawks(w).await, team(w, "Owls").await);
        let both = person_on(w, &[&hawks, &owls], "Both").await;
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        let more = json!({ "location_id": pitch.id(), "title": "Secret meeting" });
        let owl = w.owner.post("/events", with(practice(&owls, "2026-09-10T18:00:00Z", "2026-09-10T19:00:00Z"), more)).await.created();
        // The team uses the pitch, so the key can see it.
        w.owner.post("/events", with(practice(&hawks, "2026-09-08T18:00:00Z", "2026-09-08T19:00:00Z"), json!({ "location_id": pitch.id() }))).await.created();
        let narrow = team_client(w, &hawks, "events:read events:write").await;
        let body = with(practice(&hawks, "2026-09-10T18:30:00Z", "2026-09-10T19:30:00Z"), json!({ "location_id": pitch.id() }));
        let event = narrow.post("/events", body).await.created();
        assert_eq!(warnings(&event), [(json!(null), json!(["location", "person"]), json!([both]))]);
        assert!(!event.text.contains("Secret") && !event.text.contains(owl.id()) && !event.text.contains(&owls), "{}", event.text);
        let moved = narrow.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-10T18:15:00Z" })).await.ok();
        assert!(warnings(&moved).len() == 1 && !moved.text.contains("Secret"));
    }

    async fn a_series_returns_at_most_50_warnings(w: &World) {
        let team = hawks(w).await;
        let series = json!({ "recurrence": "FREQ=DAILY;COUNT=300" });
        w.owner.post("/events", with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), series.clone())).await.created();
        let second = w.owner.post("/events", with(practice(&team, "2026-09-12T18:30", "2026-09-12T19:30"), series)).await.created();
        assert_eq!(warnings(&second).len(), 50);
        assert!(warnings(&second).iter().all(|(_, types, _)| *types == json!(["team"])));
        // Events of one series that are moved together do not overlap each other.
        let moved = w.owner.patch(&event_path(&second, ""), json!({ "starts_at": "2026-09-12T20:00", "apply_to": "all" })).await.ok();
        assert_eq!(warnings(&moved), []);
    }

    async fn people_of_the_team_can_take_and_release_duties(w: &World) {
        let (hawks, owls) = (hawks(w).await, team(w, "Owls").await);
        let child = w.owner.post(&format!("/teams/{hawks}/roster"), json!({ "first_name": "Inês", "guardians": [{ "first_name": "Rita" }] })).await.created();
        let (own, other) = (child.data()["person_id"].as_str().unwrap().to_owned(), person_on(w, &[&owls], "Owl").await);
        let mother = child.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        let body = with(practice(&hawks, "2026-09-10T18:00", "2026-09-10T19:00"), json!({ "duties": [{ "name": "Oranges", "slots": 2 }] }));
        let event = w.owner.post("/events", body).await.created();
        let duty = event.data()["duties"][0]["id"].as_str().unwrap().to_owned();
        let path = |duty: &str, person: &str| event_path(&event, &format!("/duties/{duty}/assignees/{person}"));
        w.owner.send("PUT", &path(&duty, &mother), None).await.ok();
        let taken = w.owner.send("PUT", &path(&duty, &own), None).await.ok();
        assert_eq!(taken.data()["duties"][0]["assignees"], json!([mother, own]));
        let twice = w.owner.send("PUT", &path(&duty, &own), None).await.ok();
        assert_eq!(twice.data()["version"], taken.data()["version"]);
        for (duty, person) in [(duty.as_str(), other.as_str()), ("dty_00000000000000000000000000", &own), (&duty, "per_00000000000000000000000000")] {
            w.owner.send("PUT", &path(duty, person), None).await.assert_problem(404, "not_found");
        }
        w.owner.delete(&path(&duty, &mother)).await.ok();
        w.owner.delete(&path(&duty, &mother)).await.assert_problem(404, "not_found");
        assert_eq!(notifications_of(w, "event.updated").await.last().unwrap()["data"]["previous"]["duties"][0]["assignees"], json!([mother, own]));
        w.owner.post(&event_path(&event, "/cancel"), json!({})).await.ok();
        w.owner.send("PUT", &path(&duty, &mother), None).await.assert_problem(409, "invalid_state");
    }

    async fn a_duty_is_released_when_its_assignee_leaves(w: &World) {
        let hawks = hawks(w).await;
        let roster = format!("/teams/{hawks}/roster");
        let first = w.owner.post(&roster, json!({ "first_name": "Inês", "guardians": [{ "first_name": "Rita", "email": "rita@example.org" }, { "first_name": "Rui" }] })).await.created();
        let mother = first.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        let father = first.data()["guardians"][1]["id"].as_str().unwrap().to_owned();
        let second = w.owner.post(&roster, json!({ "first_name": "Noa", "guardians": [{ "id": mother }] })).await.created();
        let own = second.data()["person_id"].as_str().unwrap().to_owned();
        let mut events = Vec::new();
        for day in [6, 20] {
            let duties = json!({ "duties": [{ "name": "Oranges", "slots": 3 }] });
            let body = practice(&hawks, &format!("2026-09-{day:02}T18:00"), &format!("2026-09-{day:02}T19:00"));
            let event = w.owner.post("/events", with(body, duties)).await.created();
            for person in [&mother, &father, &own] {
                let duty = event.data()["duties"][0]["id"].as_str().unwrap();
                w.owner.send("PUT", &event_path(&event, &format!("/duties/{duty}/assignees/{person}")), None).await.ok();
            }
            events.push(event);
        }
        let assignees = async |event: &TestResponse| w.owner.get(&event_path(event, "")).await.ok().data()["duties"][0]["assignees"].clone();
        w.advance_clock(seconds(3 * 86_400));
        // Duties of past events can be neither taken nor released.
        let path = |event: &TestResponse, person: &str| event_path(event, &format!("/duties/{}/assignees/{person}", event.data()["duties"][0]["id"].as_str().unwrap()));
        w.owner.send("PUT", &path(&events[0], &mother), None).await.assert_problem(409, "invalid_state");
        w.owner.delete(&path(&events[0], &mother)).await.assert_problem(409, "invalid_state");
        // The father leaves with the first child; the mother still has another child on the team.
        let version = w.owner.get(&event_path(&events[1], "")).await.ok().data()["version"].clone();
        w.owner.patch(&format!("{roster}/{}", first.id()), json!({ "status": "inactive" })).await.ok();
        assert_eq!(assignees(&events[1]).await, json!([mother, own]));
        assert_ne!(w.owner.get(&event_path(&events[1], "")).await.ok().data()["version"], version);
        let notification = notifications_of(w, "event.updated").await.pop().unwrap();
        assert_eq!(notification["data"]["previous"]["duties"][0]["assignees"], json!([mother, father, own]));
        // A guardian without a child on the team has left too.
        w.owner.patch(&format!("{roster}/{}", second.id()), json!({ "guardians": [] })).await.ok();
        assert_eq!(assignees(&events[1]).await, json!([own]));
        w.owner.post(&format!("/people/{own}/erase"), json!({})).await.ok();
        assert_eq!(assignees(&events[1]).await, json!([]));
        assert_eq!(assignees(&events[0]).await, json!([mother, father, own]));
    }

    async fn the_schedule_of_an_archived_team_cannot_be_changed(w: &World) {
        let hawks = hawks(w).await;
        let (member, person) = (squad(w, &hawks, 1).await.remove(0), person_on(w, &[&hawks], "Ana").await);
        let body = with(practice(&hawks, "2026-09-10T18:00", "2026-09-10T19:00"), json!({ "duties": [{ "name": "Tent" }] }));
        let event = w.owner.post("/events", body.clone()).await.created();
        let feed = w.owner.post("/calendar_feeds", json!({ "team_id": hawks })).await.created();
        w.owner.delete(&format!("/teams/{hawks}")).await.ok();
        let duty = event.data()["duties"][0]["id"].as_str().unwrap().to_owned();
        let taker = event_path(&event, &format!("/duties/{duty}/assignees/{person}"));
        for (method, path, body) in [
            ("POST", "/events".to_owned(), Some(body)),
            ("PATCH", event_path(&event, ""), Some(json!({ "title": "x" }))),
            ("POST", event_path(&event, "/cancel"), None),
            ("POST", event_path(&event, "/postpone"), None),
            ("DELETE", event_path(&event, ""), None),
            ("PUT", event_path(&event, &format!("/rsvps/{member}")), Some(json!({ "answer": "yes" }))),
            ("PUT", taker.clone(), None),
            ("DELETE", taker.clone(), None),
            ("POST", "/calendar_feeds".to_owned(), Some(json!({ "team_id": hawks }))),
        ] {
            let refused = w.owner.send(method, &path, body.map(|body| body.to_string()).as_deref()).await;
            assert_eq!(refused.status, 409, "{method} {path}: {}", refused.text);
            refused.assert_problem(409, "invalid_state");
        }
        assert_eq!(w.owner.get(&event_path(&event, "")).await.ok().data(), event.data());
        // Its calendar feed still works.
        let url = feed.data()["url"].as_str().unwrap();
        w.nobody.get(&url[url.find("/calendar/").unwrap()..]).await.ok();
        w.owner.post(&format!("/teams/{hawks}/restore"), json!({})).await.ok();
        w.owner.send("PUT", &taker, None).await.ok();
    }

    async fn rejects_times_that_are_not_rfc_3339(w: &World) {
        let hawks = hawks(w).await;
        for wrong in ["2027-06-01T10:00:00+25:00", "2027-06-01T10:00:00+24:00", "2027-06-01T10:00:60Z", "2027-06-01T10:00:00+0100", "+002027-06-01T10:00:00Z"] {
            let refused = w.owner.post("/events", json!({ "team_id": hawks, "type": "practice", "starts_at": wrong })).await.assert_problem(422, "validation_failed");
            assert_eq!((refused.pointers(), &refused.body["errors"][0]["code"]), (vec!["/starts_at"], &json!("invalid_time")), "{wrong}");
        }
    }
}
