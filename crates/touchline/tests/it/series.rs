//! Tests of series: recurring events, and changes of one, the following or all of them.

use futures_util::future::join_all;
use testkit::{TestResponse, Value, World, both, json};

use crate::events::{
    event_path, field_texts, field_values, hawks, notifications_of, practice, squad, with,
};

/// All events of a team, by start.
async fn schedule(w: &World, team: &str) -> TestResponse {
    w.owner.get(&format!("/events?team_id={team}&limit=100")).await.ok()
}

/// Creates practices by this rule from 13 October on, 18:30 to 20:00, and returns their ids.
async fn practices(w: &World, team: &str, rule: &str, more: Value) -> Vec<String> {
    let body = practice(team, "2026-10-13T18:30", "2026-10-13T20:00");
    let body = with(with(body, json!({ "recurrence": rule })), more);
    w.owner.post("/events", body).await.created();
    field_texts(&schedule(w, team).await, "id")
}

fn path_of(id: &str) -> String {
    format!("/events/{id}")
}

/// Local start dates and times of a list, without year and seconds.
fn starts(list: &TestResponse) -> Vec<String> {
    field_texts(list, "starts_local").iter().map(|time| time[5..16].replace('T', " ")).collect()
}

/// Start times of a list in UTC.
fn utc(list: &TestResponse) -> Vec<String> {
    field_texts(list, "starts_at").iter().map(|time| time[11..16].to_owned()).collect()
}

both! {
    async fn moved_series_keeps_local_times_across_clock_changes(w: &World) {
        let team = hawks(w).await;
        let deadline = json!({ "rsvp_deadline": "2026-10-12T12:00" });
        let ids = practices(w, &team, "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=6", deadline).await;
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-15 18:30", "10-20 18:30", "10-22 18:30", "10-27 18:30", "10-29 18:30"]);
        assert_eq!(utc(&list), ["17:30", "17:30", "17:30", "17:30", "18:30", "18:30"]);
        // The deadline is at noon on the day before, across the clock change.
        assert_eq!(field_values(&list, "rsvp_deadline")[3], "2026-10-21T11:00:00.000000Z");
        assert_eq!(field_values(&list, "rsvp_deadline")[4], "2026-10-26T12:00:00.000000Z");
        let change = json!({ "starts_at": "2026-10-16T19:15", "apply_to": "following" });
        let answer = w.owner.patch(&path_of(&ids[1]), change).await.ok();
        assert_eq!(answer.data()["starts_local"], "2026-10-16T19:15:00");
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-16 19:15", "10-21 19:15", "10-23 19:15", "10-28 19:15", "10-30 19:15"]);
        assert_eq!(utc(&list), ["17:30", "18:15", "18:15", "18:15", "19:15", "19:15"]);
        let ends: Vec<_> = field_texts(&list, "ends_local").iter().map(|end| end[11..16].to_owned()).collect();
        assert_eq!(ends, ["20:00", "20:45", "20:45", "20:45", "20:45", "20:45"]);
        assert_eq!(field_values(&list, "rsvp_deadline")[3], "2026-10-22T11:45:00.000000Z");
        assert_eq!(field_values(&list, "rsvp_deadline")[4], "2026-10-27T12:45:00.000000Z");
        // Then change all events, through the last one.
        w.owner.patch(&path_of(&ids[5]), json!({ "starts_at": "2026-10-29T18:00", "apply_to": "all" })).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-12 18:00", "10-15 18:00", "10-20 18:00", "10-22 18:00", "10-27 18:00", "10-29 18:00"]);
        let updates = notifications_of(w, "event.updated").await;
        assert_eq!(updates.len(), 5 + 6);
        assert_eq!(updates[1]["data"]["previous"]["starts_local"], "2026-10-20T18:30:00");
        assert_eq!(updates[1]["data"]["previous"].get("title"), None);
    }

    async fn new_end_applies_to_all_events(w: &World) {
        let team = hawks(w).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=4", json!({})).await;
        w.owner.patch(&path_of(&ids[0]), json!({ "ends_at": "2026-10-13T19:30", "apply_to": "all" })).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-20 18:30", "10-27 18:30", "11-03 18:30"]);
        assert_eq!(field_texts(&list, "ends_local")[2..], ["2026-10-27T19:30:00", "2026-11-03T19:30:00"]);
        let early = json!({ "ends_at": "2026-10-13T18:00", "apply_to": "all" });
        assert_eq!(w.owner.patch(&path_of(&ids[0]), early).await.assert_problem(422, "validation_failed").pointers(), ["/ends_at"]);
    }

    async fn new_time_zone_keeps_local_times(w: &World) {
        let team = hawks(w).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=4", json!({})).await;
        let change = json!({ "timezone": "America/New_York", "apply_to": "following" });
        w.owner.patch(&path_of(&ids[1]), change).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-20 18:30", "10-27 18:30", "11-03 18:30"]);
        // There the clocks change a week later.
        assert_eq!(utc(&list), ["17:30", "22:30", "22:30", "23:30"]);
        assert_eq!(field_texts(&list, "timezone")[1], "America/New_York");
        w.owner.patch(&path_of(&ids[1]), json!({ "timezone": null, "apply_to": "all" })).await.ok();
        assert_eq!(utc(&schedule(w, &team).await), ["17:30", "17:30", "18:30", "18:30"]);
        let unknown = json!({ "timezone": "Europe/Atlantis" });
        assert_eq!(w.owner.patch(&path_of(&ids[0]), unknown).await.assert_problem(422, "validation_failed").pointers(), ["/timezone"]);
    }

    async fn all_day_events_stay_all_day(w: &World) {
        let team = hawks(w).await;
        let body = json!({ "team_id": team, "type": "tournament", "all_day": true, "starts_at": "2026-10-17",
            "ends_at": "2026-10-18", "recurrence": "FREQ=WEEKLY;COUNT=3" });
        w.owner.post("/events", body).await.created();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-17 00:00", "10-24 00:00", "10-31 00:00"]);
        assert_eq!(field_texts(&list, "ends_local"), ["2026-10-19T00:00:00", "2026-10-26T00:00:00", "2026-11-02T00:00:00"]);
        // The clocks go back in between: these two days have 49 hours.
        assert_eq!(field_texts(&list, "starts_at")[1], "2026-10-23T23:00:00.000000Z");
        assert_eq!(field_texts(&list, "ends_at")[1], "2026-10-26T00:00:00.000000Z");
        let ids = field_texts(&list, "id");
        w.owner.patch(&path_of(&ids[0]), json!({ "starts_at": "2026-10-18", "apply_to": "all" })).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-18 00:00", "10-25 00:00", "11-01 00:00"]);
        assert_eq!(field_texts(&list, "ends_local"), ["2026-10-20T00:00:00", "2026-10-27T00:00:00", "2026-11-03T00:00:00"]);
        // All-day events can become evening events.
        let evening = json!({ "all_day": false, "starts_at": "2026-10-18T18:00", "ends_at": "2026-10-18T19:00", "apply_to": "all" });
        w.owner.patch(&path_of(&ids[0]), evening).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-18 18:00", "10-25 18:00", "11-01 18:00"]);
        assert_eq!(field_values(&list, "all_day"), [false; 3]);
    }

    async fn handles_skipped_and_repeated_hours(w: &World) {
        let team = hawks(w).await;
        let body = practice(&team, "2027-03-27T01:30", "2027-03-27T02:15");
        w.owner.post("/events", with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=3" }))).await.created();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["03-27 01:30", "03-28 02:30", "03-29 01:30"]);
        let minutes: Vec<_> = field_texts(&list, "ends_local").iter().map(|end| end[11..16].to_owned()).collect();
        assert_eq!(minutes, ["02:15", "03:15", "02:15"]);
        // A series that starts in the second of two equal hours starts there, and not an hour
        // earlier.
        let body = practice(&team, "2027-10-31T01:30:00+00:00", "2027-10-31T02:00:00+00:00");
        let first = w.owner.post("/events", with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=2",
            "rsvp_deadline": "2027-10-31T01:10:00+00:00" }))).await.created();
        assert_eq!(first.data()["starts_at"], "2027-10-31T01:30:00.000000Z");
        assert_eq!(first.data()["rsvp_deadline"], "2027-10-31T01:10:00.000000Z");
        // A new title moves neither the event nor its deadline.
        let renamed = w.owner.patch(&event_path(&first, ""), json!({ "title": "Night" })).await.ok();
        assert_eq!((&renamed.data()["starts_at"], &renamed.data()["rsvp_deadline"]), (&first.data()["starts_at"], &first.data()["rsvp_deadline"]));
        let same = w.owner.patch(&event_path(&first, ""), json!({ "title": "Night" })).await.ok();
        assert_eq!(same.data()["version"], renamed.data()["version"]);
    }

    async fn excludes_dates(w: &World) {
        let team = hawks(w).await;
        let rule = "RRULE:FREQ=WEEKLY;BYDAY=TU,TH;UNTIL=20261030T235959Z\nEXDATE;TZID=Europe/Lisbon:20261020T183000\nEXDATE;VALUE=DATE:20261029";
        practices(w, &team, rule, json!({})).await;
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-15 18:30", "10-22 18:30", "10-27 18:30"]);
        let rules = field_texts(&list, "recurrence");
        assert!(rules.iter().all(|rule| rule.starts_with("FREQ=WEEKLY;BYDAY=TU,TH;UNTIL=20261030T235959Z\n")), "{rules:?}");
        // The second Tuesday and the last Friday of a month; 29 February only in leap years.
        let monthly = events_of_rule(w, "FREQ=MONTHLY;BYDAY=2TU,-1FR;COUNT=4").await;
        assert_eq!(starts(&monthly), ["10-13 18:30", "10-30 18:30", "11-10 18:30", "11-27 18:30"]);
        let end_of_month = json!({ "starts_at": "2027-01-29T18:00", "ends_at": "2027-01-29T19:00", "recurrence": "FREQ=MONTHLY;COUNT=3" });
        let body = with(practice(&team, "", ""), end_of_month);
        let first = w.owner.post("/events", body).await.created();
        let series_path = format!("/events?series_id={}", first.data()["series_id"].as_str().unwrap());
        assert_eq!(starts(&w.owner.get(&series_path).await.ok()), ["01-29 18:00", "03-29 18:00", "04-29 18:00"]);
    }
}

/// The events of a rule, on a new team.
async fn events_of_rule(w: &World, rule: &str) -> TestResponse {
    let body = json!({ "name": rule, "timezone": "Europe/Lisbon" });
    let team = w.owner.post("/teams", body).await.created().id().to_owned();
    practices(w, &team, rule, json!({})).await;
    schedule(w, &team).await
}

both! {
    async fn individual_changes_survive_unless_overwritten(w: &World) {
        let team = hawks(w).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=4", json!({})).await;
        // One event was moved to Wednesday individually, another got a new title.
        w.owner.patch(&path_of(&ids[1]), json!({ "starts_at": "2026-10-21T17:00" })).await.ok();
        w.owner.patch(&path_of(&ids[2]), json!({ "title": "Special" })).await.ok();
        let change = json!({ "starts_at": "2026-10-15T19:00", "apply_to": "all" });
        w.owner.patch(&path_of(&ids[0]), change.clone()).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-15 19:00", "10-21 17:00", "10-27 18:30", "11-05 19:00"]);
        // With `override_exceptions` they follow the series.
        let overwrite = json!({ "starts_at": "2026-10-15T19:30", "title": "Drill", "apply_to": "all", "override_exceptions": true });
        w.owner.patch(&path_of(&ids[0]), overwrite).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-15 19:30", "10-22 19:30", "10-29 19:30", "11-05 19:30"]);
        assert_eq!(field_values(&list, "title"), ["Drill"; 4]);
        // From then on they follow the series again.
        w.owner.patch(&path_of(&ids[3]), json!({ "uniform": "red", "apply_to": "all" })).await.ok();
        assert_eq!(field_values(&schedule(w, &team).await, "uniform"), ["red"; 4]);
        // A series change sent to an individually changed event applies to it too.
        w.owner.patch(&path_of(&ids[2]), json!({ "notes": "own" })).await.ok();
        w.owner.patch(&path_of(&ids[2]), json!({ "notes": null, "opponent": "Owls", "apply_to": "following" })).await.ok();
        assert_eq!(field_values(&schedule(w, &team).await, "opponent"), [&json!(null), &json!(null), &json!("Owls"), &json!("Owls")]);
    }

    async fn duties_keep_their_volunteers(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 3).await;
        let people = field_texts(&w.owner.get(&format!("/teams/{team}/roster")).await.ok(), "person_id");
        let duties = json!({ "duties": [{ "name": "Oranges", "slots": 2 }, { "name": "Linesman" }] });
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=3", duties).await;
        let duty = async |event: usize, number: usize| {
            let event = w.owner.get(&path_of(&ids[event])).await.ok();
            event.data()["duties"][number]["id"].as_str().unwrap().to_owned()
        };
        let volunteer = async |event: usize, number: usize, person: usize| {
            let path = format!("{}/duties/{}/assignees/{}", path_of(&ids[event]), duty(event, number).await, people[person]);
            w.owner.send("PUT", &path, None).await
        };
        assert_ne!(duty(0, 0).await, duty(1, 0).await);
        volunteer(0, 0, 0).await.ok();
        volunteer(1, 0, 1).await.ok();
        volunteer(1, 0, 2).await.ok();
        volunteer(2, 1, 0).await.ok();
        volunteer(2, 1, 0).await.ok();
        volunteer(2, 1, 1).await.assert_problem(409, "conflict");
        // Renamed by its id, with a new duty in front, in all events: volunteers are kept.
        let change = json!({ "apply_to": "all", "duties": [{ "name": "Tent" },
            { "id": duty(0, 0).await, "name": "Fruit", "slots": 2 }, { "name": "Linesman", "slots": 1 }] });
        w.owner.patch(&path_of(&ids[0]), change).await.ok();
        let list = schedule(w, &team).await;
        for (event, (fruit, linesman)) in [(vec![0], vec![]), (vec![1, 2], vec![]), (vec![], vec![0])].into_iter().enumerate() {
            let ids_of = |assignees: Vec<usize>| json!(assignees.iter().map(|taker| &people[*taker]).collect::<Vec<_>>());
            let duties = &list.data()[event]["duties"];
            assert_eq!(each_name(duties), ["Tent", "Fruit", "Linesman"]);
            assert_eq!((&duties[1]["assignees"], &duties[2]["assignees"]), (&ids_of(fruit), &ids_of(linesman)), "{event}");
        }
        // The number of slots cannot be lower than the number of volunteers in any event.
        let fewer = json!({ "apply_to": "all", "duties": [{ "name": "Fruit", "slots": 1 }] });
        assert_eq!(w.owner.patch(&path_of(&ids[0]), fewer).await.assert_problem(422, "validation_failed").pointers(), ["/duties/0/slots"]);
        // One duty cannot become two, by its id or by its old name.
        let fruit = duty(0, 1).await;
        let repeated = json!({ "duties": [{ "id": fruit, "name": "A" }, { "id": fruit, "name": "B" }] });
        assert_eq!(w.owner.patch(&path_of(&ids[0]), repeated).await.assert_problem(422, "validation_failed").pointers(), ["/duties/1/id"]);
        let split = json!({ "duties": [{ "id": fruit, "name": "Apples", "slots": 2 }, { "name": "Fruit" }] });
        let split = w.owner.patch(&path_of(&ids[0]), split).await.ok();
        let duties = &split.data()["duties"];
        assert_ne!(duties[0]["id"], duties[1]["id"]);
        assert_eq!((&duties[0]["assignees"], &duties[1]["assignees"]), (&json!([people[0]]), &json!([])));
        assert_eq!(members.len(), 3);
    }

    async fn deletes_events_only_without_answers(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=6", json!({})).await;
        w.owner.put(&format!("{}/rsvps/{}", path_of(&ids[4]), members[0]), json!({ "answer": "no" })).await.ok();
        let delete = async |number: usize, query: &str| w.owner.delete(&format!("{}{query}", path_of(&ids[number]))).await;
        delete(2, "?apply_to=following").await.assert_problem(409, "invalid_state");
        delete(0, "?apply_to=all").await.assert_problem(409, "invalid_state");
        delete(4, "").await.assert_problem(409, "invalid_state");
        assert_eq!(field_values(&schedule(w, &team).await, "id").len(), 6);
        delete(5, "?apply_to=following").await.ok();
        delete(0, "").await.ok();
        assert_eq!(field_texts(&schedule(w, &team).await, "id"), ids[1..5]);
        delete(0, "").await.assert_problem(404, "not_found");
        delete(1, "?apply_to=some").await.assert_problem(400, "invalid_parameter");
        // A withdrawn answer still counts, because it stays in the history.
        w.owner.delete(&format!("/teams/{team}/roster/{}", members[0])).await.ok();
        delete(4, "").await.assert_problem(409, "invalid_state");
        let reason = json!({ "reason": "Pitch under water", "apply_to": "following" });
        let cancelled = w.owner.post(&format!("{}/cancel", path_of(&ids[2])), reason.clone()).await.ok();
        assert_eq!((&cancelled.data()["status"], &cancelled.data()["cancel_reason"]), (&json!("cancelled"), &json!("Pitch under water")));
        w.owner.post(&format!("{}/cancel", path_of(&ids[2])), reason).await.assert_problem(409, "invalid_state");
        let list = schedule(w, &team).await;
        assert_eq!(field_values(&list, "status"), ["scheduled", "cancelled", "cancelled", "cancelled"]);
        assert_eq!(field_texts(&w.owner.get("/events?status=scheduled").await.ok(), "id"), ids[1..2]);
        // The remaining events can still be changed; cancelled ones stay as they are.
        w.owner.patch(&path_of(&ids[1]), json!({ "title": "Drill", "apply_to": "all" })).await.ok();
        assert_eq!(field_texts(&schedule(w, &team).await, "title"), ["Drill", "Practice", "Practice", "Practice"]);
        assert_eq!((notifications_of(w, "event.cancelled").await.len(), notifications_of(w, "event.deleted").await.len()), (3, 2));
    }

    async fn creates_up_to_four_hundred_events_idempotently(w: &World) {
        let team = hawks(w).await;
        let body = with(practice(&team, "2026-10-13T18:30", "2026-10-13T20:00"), json!({ "recurrence": "FREQ=DAILY;COUNT=400" }));
        let with_key = w.owner.with_header("Idempotency-Key", "season");
        let answers = join_all((0..6).map(|_| with_key.post("/events", body.clone()))).await;
        for answer in &answers {
            assert_eq!((answer.status, answer.data()), (201, answers[0].data()));
        }
        let replayed = answers.iter().filter(|answer| answer.header("idempotent-replayed").is_some()).count();
        assert_eq!((replayed, w.count("event").await, notifications_of(w, "event.created").await.len()), (5, 400, 400));
        let one_more = with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=401" }));
        let refused = w.owner.post("/events", one_more).await.assert_problem(422, "validation_failed");
        assert_eq!((refused.pointers(), w.count("event").await), (vec!["/recurrence"], 400));
        // A change of all events is one change.
        let first = &answers[0];
        w.owner.patch(&event_path(first, ""), json!({ "starts_at": "2026-10-13T18:00", "apply_to": "all" })).await.ok();
        let last = w.owner.get(&format!("/events?team_id={team}&order=desc&limit=1")).await.ok();
        assert_eq!(last.data()[0]["starts_local"], "2027-11-16T18:00:00");
        assert_eq!(notifications_of(w, "event.updated").await.len(), 400);
        w.owner.send("DELETE", &event_path(first, "?apply_to=all"), None).await.ok();
        assert_eq!(w.count("event").await, 0);
    }

    async fn rejects_invalid_rules(w: &World) {
        let team = hawks(w).await;
        for rule in ["", "FREQ=WEEKLY", "FREQ=DAILY;COUNT=0", "FREQ=DAILY;COUNT=1000000000", "FREQ=DAILY;COUNT=-1", "FREQ=YEARLY;COUNT=2",
            "FREQ=SECONDLY;COUNT=2", "FREQ=MONTHLY;BYMONTHDAY=31;BYDAY=5XX;COUNT=1", "FREQ=MONTHLY;BYMONTHDAY=32;COUNT=1",
            "FREQ=WEEKLY;UNTIL=20261001;", "FREQ=WEEKLY;UNTIL=20261001", "FREQ=WEEKLY;COUNT=2;UNTIL=20261231", "FREQ=DAILY;UNTIL=99991231",
            "FREQ=WEEKLY;INTERVAL=0;COUNT=2", "FREQ=WEEKLY;COUNT=2;COUNT=3", "COUNT=2", "hello", "FREQ=DAILY;COUNT=1\nEXDATE:20261013T183000",
            "FREQ=DAILY;COUNT=2\nDTSTART:20261013T183000", "FREQ=MONTHLY;INTERVAL=1000;COUNT=400", "FREQ=DAILY;INTERVAL=2;BYMONTHDAY=30;BYDAY=1MO;COUNT=3"] {
            let body = with(practice(&team, "2026-10-13T18:30", "2026-10-13T20:00"), json!({ "recurrence": rule }));
            let refused = w.owner.post("/events", body).await;
            assert_eq!(refused.status, 422, "{rule}: {}", refused.text);
            assert_eq!(refused.pointers(), ["/recurrence"], "{rule}");
        }
        // All other errors are reported with it.
        let body = with(practice(&team, "2026-10-25T01:30", "2026-10-13T20:00"), json!({ "recurrence": "FREQ=WEEKLY", "external_id": "x",
            "location_id": "loc_00000000000000000000000000", "rsvp_deadline": "2026-03-29T01:30" }));
        let refused = w.owner.post("/events", body).await.assert_problem(422, "validation_failed");
        let mut pointers = refused.pointers();
        pointers.sort_unstable();
        assert_eq!(pointers, ["/location_id", "/recurrence", "/rsvp_deadline", "/starts_at"]);
        let body = with(practice(&team, "2026-10-13T18:30", "2026-10-13T20:00"), json!({ "recurrence": "FREQ=DAILY;COUNT=2", "external_id": "x" }));
        assert_eq!(w.owner.post("/events", body).await.assert_problem(422, "validation_failed").pointers(), ["/external_id"]);
        assert_eq!(w.count("event").await, 0);
        // Only a series has other events to apply a change to, and they cannot share an external
        // id.
        let single = w.owner.post("/events", practice(&team, "2026-10-13T18:30", "2026-10-13T20:00")).await.created();
        let refused = w.owner.patch(&event_path(&single, ""), json!({ "title": "x", "apply_to": "all" })).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/apply_to"]);
        w.owner.patch(&event_path(&single, ""), json!({ "recurrence": "FREQ=DAILY;COUNT=2" })).await.assert_problem(400, "invalid_parameter");
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=2", json!({})).await;
        let shared = json!({ "external_id": "x", "apply_to": "all" });
        assert_eq!(w.owner.patch(&path_of(&ids[1]), shared).await.assert_problem(422, "validation_failed").pointers(), ["/external_id"]);
    }
}

fn each_name(duties: &Value) -> Vec<&str> {
    duties.as_array().unwrap().iter().map(|duty| duty["name"].as_str().unwrap()).collect()
}
