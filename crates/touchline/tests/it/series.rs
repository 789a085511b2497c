//! Stories about series: events by a rule, and changes that reach one, the following or all of them.

use futures_util::future::join_all;
use testkit::{Answer, Value, World, both, json};

use crate::events::{at, each, hawks, practice, squad, texts, told, with};

/// Every event of a team, by start.
async fn schedule(w: &World, team: &str) -> Answer {
    w.owner.get(&format!("/events?team_id={team}&limit=100")).await.ok()
}

/// Practices by a rule, on 13 October and later, from half past six to eight.
async fn practices(w: &World, team: &str, rule: &str, more: Value) -> Vec<String> {
    let body = practice(team, "2026-10-13T18:30", "2026-10-13T20:00");
    let body = with(with(body, json!({ "recurrence": rule })), more);
    w.owner.post("/events", body).await.created();
    texts(&schedule(w, team).await, "id")
}

fn place(id: &str) -> String {
    format!("/events/{id}")
}

/// The days and times of a list's local starts, without year and seconds.
fn starts(list: &Answer) -> Vec<String> {
    texts(list, "starts_local").iter().map(|time| time[5..16].replace('T', " ")).collect()
}

/// The times of day in UTC at which the events of a list start.
fn utc(list: &Answer) -> Vec<String> {
    texts(list, "starts_at").iter().map(|time| time[11..16].to_owned()).collect()
}

both! {
    async fn another_day_and_time_hold_on_both_sides_of_a_change_of_the_clocks(w: &World) {
        let team = hawks(w).await;
        let deadline = json!({ "rsvp_deadline": "2026-10-12T12:00" });
        let ids = practices(w, &team, "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=6", deadline).await;
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-15 18:30", "10-20 18:30", "10-22 18:30", "10-27 18:30", "10-29 18:30"]);
        assert_eq!(utc(&list), ["17:30", "17:30", "17:30", "17:30", "18:30", "18:30"]);
        // The deadline is at noon on the day before, whatever the clocks did in between.
        assert_eq!(each(&list, "rsvp_deadline")[3], "2026-10-21T11:00:00.000000Z");
        assert_eq!(each(&list, "rsvp_deadline")[4], "2026-10-26T12:00:00.000000Z");
        let change = json!({ "starts_at": "2026-10-16T19:15", "apply_to": "following" });
        let answer = w.owner.patch(&place(&ids[1]), change).await.ok();
        assert_eq!(answer.data()["starts_local"], "2026-10-16T19:15:00");
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-16 19:15", "10-21 19:15", "10-23 19:15", "10-28 19:15", "10-30 19:15"]);
        assert_eq!(utc(&list), ["17:30", "18:15", "18:15", "18:15", "19:15", "19:15"]);
        let ends: Vec<_> = texts(&list, "ends_local").iter().map(|end| end[11..16].to_owned()).collect();
        assert_eq!(ends, ["20:00", "20:45", "20:45", "20:45", "20:45", "20:45"]);
        assert_eq!(each(&list, "rsvp_deadline")[3], "2026-10-22T11:45:00.000000Z");
        assert_eq!(each(&list, "rsvp_deadline")[4], "2026-10-27T12:45:00.000000Z");
        // One more change, of all, from the last one.
        w.owner.patch(&place(&ids[5]), json!({ "starts_at": "2026-10-29T18:00", "apply_to": "all" })).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-12 18:00", "10-15 18:00", "10-20 18:00", "10-22 18:00", "10-27 18:00", "10-29 18:00"]);
        let told = told(w, "event.updated").await;
        assert_eq!(told.len(), 5 + 6);
        assert_eq!(told[1]["data"]["previous"]["starts_local"], "2026-10-20T18:30:00");
        assert_eq!(told[1]["data"]["previous"].get("title"), None);
    }

    async fn a_new_end_is_an_end_for_all(w: &World) {
        let team = hawks(w).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=4", json!({})).await;
        w.owner.patch(&place(&ids[0]), json!({ "ends_at": "2026-10-13T19:30", "apply_to": "all" })).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-20 18:30", "10-27 18:30", "11-03 18:30"]);
        assert_eq!(texts(&list, "ends_local")[2..], ["2026-10-27T19:30:00", "2026-11-03T19:30:00"]);
        let early = json!({ "ends_at": "2026-10-13T18:00", "apply_to": "all" });
        assert_eq!(w.owner.patch(&place(&ids[0]), early).await.refused(422, "validation_failed").pointers(), ["/ends_at"]);
    }

    async fn another_zone_keeps_what_the_clocks_show(w: &World) {
        let team = hawks(w).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=4", json!({})).await;
        let change = json!({ "timezone": "America/New_York", "apply_to": "following" });
        w.owner.patch(&place(&ids[1]), change).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-20 18:30", "10-27 18:30", "11-03 18:30"]);
        // There the clocks are put back a week later.
        assert_eq!(utc(&list), ["17:30", "22:30", "22:30", "23:30"]);
        assert_eq!(texts(&list, "timezone")[1], "America/New_York");
        w.owner.patch(&place(&ids[1]), json!({ "timezone": null, "apply_to": "all" })).await.ok();
        assert_eq!(utc(&schedule(w, &team).await), ["17:30", "17:30", "18:30", "18:30"]);
        let unknown = json!({ "timezone": "Europe/Atlantis" });
        assert_eq!(w.owner.patch(&place(&ids[0]), unknown).await.refused(422, "validation_failed").pointers(), ["/timezone"]);
    }

    async fn whole_days_stay_whole(w: &World) {
        let team = hawks(w).await;
        let body = json!({ "team_id": team, "type": "tournament", "all_day": true, "starts_at": "2026-10-17",
            "ends_at": "2026-10-18", "recurrence": "FREQ=WEEKLY;COUNT=3" });
        w.owner.post("/events", body).await.created();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-17 00:00", "10-24 00:00", "10-31 00:00"]);
        assert_eq!(texts(&list, "ends_local"), ["2026-10-19T00:00:00", "2026-10-26T00:00:00", "2026-11-02T00:00:00"]);
        // The clocks are put back in between: the two days have forty-nine hours.
        assert_eq!(texts(&list, "starts_at")[1], "2026-10-23T23:00:00.000000Z");
        assert_eq!(texts(&list, "ends_at")[1], "2026-10-26T00:00:00.000000Z");
        let ids = texts(&list, "id");
        w.owner.patch(&place(&ids[0]), json!({ "starts_at": "2026-10-18", "apply_to": "all" })).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-18 00:00", "10-25 00:00", "11-01 00:00"]);
        assert_eq!(texts(&list, "ends_local"), ["2026-10-20T00:00:00", "2026-10-27T00:00:00", "2026-11-03T00:00:00"]);
        // And they can become events of an evening.
        let evening = json!({ "all_day": false, "starts_at": "2026-10-18T18:00", "ends_at": "2026-10-18T19:00", "apply_to": "all" });
        w.owner.patch(&place(&ids[0]), evening).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-18 18:00", "10-25 18:00", "11-01 18:00"]);
        assert_eq!(each(&list, "all_day"), [false; 3]);
    }

    async fn an_hour_that_is_skipped_or_doubled_is_in_every_series_somewhere(w: &World) {
        let team = hawks(w).await;
        let body = practice(&team, "2027-03-27T01:30", "2027-03-27T02:15");
        w.owner.post("/events", with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=3" }))).await.created();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["03-27 01:30", "03-28 02:30", "03-29 01:30"]);
        let minutes: Vec<_> = texts(&list, "ends_local").iter().map(|end| end[11..16].to_owned()).collect();
        assert_eq!(minutes, ["02:15", "03:15", "02:15"]);
        // A series that begins in the second of two equal hours begins there, and not an hour earlier.
        let body = practice(&team, "2027-10-31T01:30:00+00:00", "2027-10-31T02:00:00+00:00");
        let first = w.owner.post("/events", with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=2",
            "rsvp_deadline": "2027-10-31T01:10:00+00:00" }))).await.created();
        assert_eq!(first.data()["starts_at"], "2027-10-31T01:30:00.000000Z");
        assert_eq!(first.data()["rsvp_deadline"], "2027-10-31T01:10:00.000000Z");
        // Another title moves neither the event nor its deadline.
        let renamed = w.owner.patch(&at(&first, ""), json!({ "title": "Night" })).await.ok();
        assert_eq!((&renamed.data()["starts_at"], &renamed.data()["rsvp_deadline"]), (&first.data()["starts_at"], &first.data()["rsvp_deadline"]));
        let same = w.owner.patch(&at(&first, ""), json!({ "title": "Night" })).await.ok();
        assert_eq!(same.data()["version"], renamed.data()["version"]);
    }

    async fn days_can_be_left_out(w: &World) {
        let team = hawks(w).await;
        let rule = "RRULE:FREQ=WEEKLY;BYDAY=TU,TH;UNTIL=20261030T235959Z\nEXDATE;TZID=Europe/Lisbon:20261020T183000\nEXDATE;VALUE=DATE:20261029";
        practices(w, &team, rule, json!({})).await;
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-13 18:30", "10-15 18:30", "10-22 18:30", "10-27 18:30"]);
        let kept = texts(&list, "recurrence");
        assert!(kept.iter().all(|rule| rule.starts_with("FREQ=WEEKLY;BYDAY=TU,TH;UNTIL=20261030T235959Z\n")), "{kept:?}");
        // The second Tuesday and the last Friday of a month; the 29th of February is in leap years only.
        let monthly = hawks_of_another_kind(w, "FREQ=MONTHLY;BYDAY=2TU,-1FR;COUNT=4").await;
        assert_eq!(starts(&monthly), ["10-13 18:30", "10-30 18:30", "11-10 18:30", "11-27 18:30"]);
        let leap = json!({ "starts_at": "2027-01-29T18:00", "ends_at": "2027-01-29T19:00", "recurrence": "FREQ=MONTHLY;COUNT=3" });
        let body = with(practice(&team, "", ""), leap);
        let first = w.owner.post("/events", body).await.created();
        let of = format!("/events?series_id={}", first.data()["series_id"].as_str().unwrap());
        assert_eq!(starts(&w.owner.get(&of).await.ok()), ["01-29 18:00", "03-29 18:00", "04-29 18:00"]);
    }
}

/// The events of a rule on a team of its own.
async fn hawks_of_another_kind(w: &World, rule: &str) -> Answer {
    let body = json!({ "name": rule, "timezone": "Europe/Lisbon" });
    let team = w.owner.post("/teams", body).await.created().id().to_owned();
    practices(w, &team, rule, json!({})).await;
    schedule(w, &team).await
}

both! {
    async fn what_was_changed_by_hand_stays_unless_told_otherwise(w: &World) {
        let team = hawks(w).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=4", json!({})).await;
        // One was moved to Wednesday by hand, one got another title.
        w.owner.patch(&place(&ids[1]), json!({ "starts_at": "2026-10-21T17:00" })).await.ok();
        w.owner.patch(&place(&ids[2]), json!({ "title": "Special" })).await.ok();
        let change = json!({ "starts_at": "2026-10-15T19:00", "apply_to": "all" });
        w.owner.patch(&place(&ids[0]), change.clone()).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-15 19:00", "10-21 17:00", "10-27 18:30", "11-05 19:00"]);
        // Told otherwise, they go where the series would have them.
        let forced = json!({ "starts_at": "2026-10-15T19:30", "title": "Drill", "apply_to": "all", "overwrite_edits": true });
        w.owner.patch(&place(&ids[0]), forced).await.ok();
        let list = schedule(w, &team).await;
        assert_eq!(starts(&list), ["10-15 19:30", "10-22 19:30", "10-29 19:30", "11-05 19:30"]);
        assert_eq!(each(&list, "title"), ["Drill"; 4]);
        // From then on they belong again.
        w.owner.patch(&place(&ids[3]), json!({ "uniform": "red", "apply_to": "all" })).await.ok();
        assert_eq!(each(&schedule(w, &team).await, "uniform"), ["red"; 4]);
        // A change that is sent to one that was changed by hand reaches it too.
        w.owner.patch(&place(&ids[2]), json!({ "notes": "own" })).await.ok();
        w.owner.patch(&place(&ids[2]), json!({ "notes": null, "opponent": "Owls", "apply_to": "following" })).await.ok();
        assert_eq!(each(&schedule(w, &team).await, "opponent"), [&json!(null), &json!(null), &json!("Owls"), &json!("Owls")]);
    }

    async fn duties_keep_their_volunteers_in_every_event(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 3).await;
        let people = texts(&w.owner.get(&format!("/teams/{team}/roster")).await.ok(), "person_id");
        let duties = json!({ "duties": [{ "name": "Oranges", "needed": 2 }, { "name": "Linesman" }] });
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=3", duties).await;
        let duty = async |event: usize, number: usize| {
            let event = w.owner.get(&place(&ids[event])).await.ok();
            event.data()["duties"][number]["id"].as_str().unwrap().to_owned()
        };
        let taken = async |event: usize, number: usize, person: usize| {
            let path = format!("{}/duties/{}/takers/{}", place(&ids[event]), duty(event, number).await, people[person]);
            w.owner.send("PUT", &path, None).await
        };
        assert_ne!(duty(0, 0).await, duty(1, 0).await);
        taken(0, 0, 0).await.ok();
        taken(1, 0, 1).await.ok();
        taken(1, 0, 2).await.ok();
        taken(2, 1, 0).await.ok();
        taken(2, 1, 0).await.ok();
        taken(2, 1, 1).await.refused(409, "conflict");
        // Renamed by its id, with one more in front, everywhere: whoever has taken it keeps it.
        let change = json!({ "apply_to": "all", "duties": [{ "name": "Tent" },
            { "id": duty(0, 0).await, "name": "Fruit", "needed": 2 }, { "name": "Linesman", "needed": 1 }] });
        w.owner.patch(&place(&ids[0]), change).await.ok();
        let list = schedule(w, &team).await;
        for (event, (fruit, lines)) in [(vec![0], vec![]), (vec![1, 2], vec![]), (vec![], vec![0])].into_iter().enumerate() {
            let who = |takers: Vec<usize>| json!(takers.iter().map(|taker| &people[*taker]).collect::<Vec<_>>());
            let duties = &list.data()[event]["duties"];
            assert_eq!(each_name(duties), ["Tent", "Fruit", "Linesman"]);
            assert_eq!((&duties[1]["taken_by"], &duties[2]["taken_by"]), (&who(fruit), &who(lines)), "{event}");
        }
        // Fewer than have taken it are not enough, in whichever event that is.
        let fewer = json!({ "apply_to": "all", "duties": [{ "name": "Fruit", "needed": 1 }] });
        assert_eq!(w.owner.patch(&place(&ids[0]), fewer).await.refused(422, "validation_failed").pointers(), ["/duties/0/needed"]);
        // One duty cannot become two, by its id or by its old name.
        let fruit = duty(0, 1).await;
        let twice = json!({ "duties": [{ "id": fruit, "name": "A" }, { "id": fruit, "name": "B" }] });
        assert_eq!(w.owner.patch(&place(&ids[0]), twice).await.refused(422, "validation_failed").pointers(), ["/duties/1/id"]);
        let split = json!({ "duties": [{ "id": fruit, "name": "Apples", "needed": 2 }, { "name": "Fruit" }] });
        let split = w.owner.patch(&place(&ids[0]), split).await.ok();
        let duties = &split.data()["duties"];
        assert_ne!(duties[0]["id"], duties[1]["id"]);
        assert_eq!((&duties[0]["taken_by"], &duties[1]["taken_by"]), (&json!([people[0]]), &json!([])));
        assert_eq!(members.len(), 3);
    }

    async fn what_follows_is_cancelled_and_deleted_only_while_nobody_answered(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=6", json!({})).await;
        w.owner.put(&format!("{}/rsvps/{}", place(&ids[4]), members[0]), json!({ "answer": "no" })).await.ok();
        let delete = async |number: usize, query: &str| w.owner.delete(&format!("{}{query}", place(&ids[number]))).await;
        delete(2, "?apply_to=following").await.refused(409, "invalid_state");
        delete(0, "?apply_to=all").await.refused(409, "invalid_state");
        delete(4, "").await.refused(409, "invalid_state");
        assert_eq!(each(&schedule(w, &team).await, "id").len(), 6);
        delete(5, "?apply_to=following").await.ok();
        delete(0, "").await.ok();
        assert_eq!(texts(&schedule(w, &team).await, "id"), ids[1..5]);
        delete(0, "").await.refused(404, "not_found");
        delete(1, "?apply_to=some").await.refused(400, "invalid_parameter");
        // An answer that was taken back is an answer: it stays in the history.
        w.owner.delete(&format!("/teams/{team}/roster/{}", members[0])).await.ok();
        delete(4, "").await.refused(409, "invalid_state");
        let reason = json!({ "reason": "Pitch under water", "apply_to": "following" });
        let cancelled = w.owner.post(&format!("{}/cancel", place(&ids[2])), reason.clone()).await.ok();
        assert_eq!((&cancelled.data()["status"], &cancelled.data()["cancel_reason"]), (&json!("cancelled"), &json!("Pitch under water")));
        w.owner.post(&format!("{}/cancel", place(&ids[2])), reason).await.refused(409, "invalid_state");
        let list = schedule(w, &team).await;
        assert_eq!(each(&list, "status"), ["scheduled", "cancelled", "cancelled", "cancelled"]);
        assert_eq!(texts(&w.owner.get("/events?status=scheduled").await.ok(), "id"), ids[1..2]);
        // All that are left can still be changed; those that are cancelled stay as they are.
        w.owner.patch(&place(&ids[1]), json!({ "title": "Drill", "apply_to": "all" })).await.ok();
        assert_eq!(texts(&schedule(w, &team).await, "title"), ["Drill", "Practice", "Practice", "Practice"]);
        assert_eq!((told(w, "event.cancelled").await.len(), told(w, "event.deleted").await.len()), (3, 2));
    }

    async fn four_hundred_events_are_made_once(w: &World) {
        let team = hawks(w).await;
        let body = with(practice(&team, "2026-10-13T18:30", "2026-10-13T20:00"), json!({ "recurrence": "FREQ=DAILY;COUNT=400" }));
        let keyed = w.owner.with("Idempotency-Key", "season");
        let answers = join_all((0..6).map(|_| keyed.post("/events", body.clone()))).await;
        for answer in &answers {
            assert_eq!((answer.status, answer.data()), (201, answers[0].data()));
        }
        let replayed = answers.iter().filter(|answer| answer.header("idempotent-replayed").is_some()).count();
        assert_eq!((replayed, w.count("event").await, told(w, "event.created").await.len()), (5, 400, 400));
        let one_more = with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=401" }));
        let refused = w.owner.post("/events", one_more).await.refused(422, "validation_failed");
        assert_eq!((refused.pointers(), w.count("event").await), (vec!["/recurrence"], 400));
        // A change of all of them is one change.
        let first = &answers[0];
        w.owner.patch(&at(first, ""), json!({ "starts_at": "2026-10-13T18:00", "apply_to": "all" })).await.ok();
        let last = w.owner.get(&format!("/events?team_id={team}&order=desc&limit=1")).await.ok();
        assert_eq!(last.data()[0]["starts_local"], "2027-11-16T18:00:00");
        assert_eq!(told(w, "event.updated").await.len(), 400);
        w.owner.send("DELETE", &at(first, "?apply_to=all"), None).await.ok();
        assert_eq!(w.count("event").await, 0);
    }

    async fn rules_that_cannot_be_are_refused(w: &World) {
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
        // Every other fault is told beside it.
        let body = with(practice(&team, "2026-10-25T01:30", "2026-10-13T20:00"), json!({ "recurrence": "FREQ=WEEKLY", "external_id": "x",
            "location_id": "loc_00000000000000000000000000", "rsvp_deadline": "2026-03-29T01:30" }));
        let refused = w.owner.post("/events", body).await.refused(422, "validation_failed");
        let mut pointers = refused.pointers();
        pointers.sort_unstable();
        assert_eq!(pointers, ["/location_id", "/recurrence", "/rsvp_deadline", "/starts_at"]);
        let body = with(practice(&team, "2026-10-13T18:30", "2026-10-13T20:00"), json!({ "recurrence": "FREQ=DAILY;COUNT=2", "external_id": "x" }));
        assert_eq!(w.owner.post("/events", body).await.refused(422, "validation_failed").pointers(), ["/external_id"]);
        assert_eq!(w.count("event").await, 0);
        // Only a series has others that can be meant, and they share no external id.
        let single = w.owner.post("/events", practice(&team, "2026-10-13T18:30", "2026-10-13T20:00")).await.created();
        let refused = w.owner.patch(&at(&single, ""), json!({ "title": "x", "apply_to": "all" })).await;
        assert_eq!(refused.refused(422, "validation_failed").pointers(), ["/apply_to"]);
        w.owner.patch(&at(&single, ""), json!({ "recurrence": "FREQ=DAILY;COUNT=2" })).await.refused(400, "invalid_parameter");
        let ids = practices(w, &team, "FREQ=WEEKLY;COUNT=2", json!({})).await;
        let shared = json!({ "external_id": "x", "apply_to": "all" });
        assert_eq!(w.owner.patch(&place(&ids[1]), shared).await.refused(422, "validation_failed").pointers(), ["/external_id"]);
    }
}

fn each_name(duties: &Value) -> Vec<&str> {
    duties.as_array().unwrap().iter().map(|duty| duty["name"].as_str().unwrap()).collect()
}
