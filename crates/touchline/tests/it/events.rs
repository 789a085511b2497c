//! Tests of events: creating, moving and cancelling them. Also helpers for the other tests of the schedule.

use testkit::world::new_key;
use testkit::{Client, TestResponse, Value, World, both, json};
use touchline::accounts::api_key::NewKey;

/// Creates the team Hawks in Lisbon.
pub(crate) async fn hawks(w: &World) -> String {
    let body = json!({ "name": "Hawks", "timezone": "Europe/Lisbon" });
    w.owner.post("/teams", body).await.created().id().to_owned()
}

/// Creates a team.
pub(crate) async fn team(w: &World, name: &str) -> String {
    w.owner.post("/teams", json!({ "name": name })).await.created().id().to_owned()
}

/// Adds `count` players to a team and returns their member ids in roster order.
pub(crate) async fn squad(w: &World, team: &str, count: usize) -> Vec<String> {
    let player = |number| json!({ "team_id": team, "first_name": format!("P{number}"), "allow_duplicate": true });
    let members: Vec<_> = (0..count).map(player).collect();
    let created = w.owner.post("/roster/batch", json!({ "members": members })).await.created();
    field_texts(&created, "id")
}

/// A client with a key that is limited to this team.
pub(crate) async fn team_client(w: &World, team: &str, scopes: &str) -> Client {
    let team_ids = Some(vec![team.parse().unwrap()]);
    w.client_with_key(NewKey { team_ids, ..new_key(scopes) }).await.1
}

/// The path of an event, or of something below it.
pub(crate) fn event_path(event: &TestResponse, below: &str) -> String {
    format!("/events/{}{below}", event.id())
}

pub(crate) fn practice(team: &str, start: &str, end: &str) -> Value {
    json!({ "team_id": team, "type": "practice", "starts_at": start, "ends_at": end })
}

/// A body to which the fields of `more` are added.
pub(crate) fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// One field of every object in a list.
pub(crate) fn field_values<'a>(list: &'a TestResponse, field: &str) -> Vec<&'a Value> {
    list.data().as_array().expect("a list").iter().map(|object| &object[field]).collect()
}

/// The same, for fields that are strings.
pub(crate) fn field_texts(list: &TestResponse, field: &str) -> Vec<String> {
    field_values(list, field).into_iter().map(|value| value.as_str().unwrap().to_owned()).collect()
}

/// All published notifications of a type, oldest first.
pub(crate) async fn notifications_of(w: &World, kind: &str) -> Vec<Value> {
    w.notifications()
        .await
        .into_iter()
        .filter(|notification| notification["type"] == kind)
        .collect()
}

both! {
    async fn creates_an_event_in_local_time_and_shows_utc_too(w: &World) {
        let team = hawks(w).await;
        let body = json!({ "team_id": team, "type": "game", "starts_at": "2026-09-12T18:30",
            "ends_at": "2026-09-12T20:00", "opponent": "Breakwater", "home_away": "away",
            "arrival_minutes": 30, "uniform": "blue", "capacity": 14,
            "duties": [{ "name": "Oranges", "slots": 2 }, { "name": "Linesman" }] });
        let event = w.owner.post("/events", body).await.created();
        assert_eq!(event.data()["object"], "event");
        assert_eq!(event.data()["title"], "at Breakwater");
        assert_eq!(event.data()["starts_at"], "2026-09-12T17:30:00.000000Z");
        assert_eq!(event.data()["starts_local"], "2026-09-12T18:30:00");
        assert_eq!(event.data()["timezone"], "Europe/Lisbon");
        assert_eq!(event.data()["status"], "scheduled");
        assert_eq!(event.data()["duties"][1]["slots"], 1);
        assert_eq!(event.data()["rsvp_counts"], json!({ "yes": 0, "no": 0, "maybe": 0, "waitlisted": 0, "unanswered": 0 }));
        assert_eq!((&event.data()["result"], &event.data()["warnings"]), (&Value::Null, &json!([])));
        let read = w.owner.get(&event_path(&event, "")).await.ok();
        assert_eq!(read.data(), event.data());
        let list = w.owner.get(&format!("/events?team_id={team}")).await.ok();
        assert_eq!(list.data()[0], *event.data());
        let moved = w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-12T19:00" })).await.ok();
        assert_eq!(moved.data()["ends_local"], "2026-09-12T20:30:00");
        let notification = w.notifications().await.pop().unwrap();
        assert_eq!(notification["type"], "event.updated");
        assert_eq!(notification["data"]["previous"]["starts_local"], "2026-09-12T18:30:00");
    }

    async fn a_series_keeps_its_local_time_across_daylight_saving_changes(w: &World) {
        let team = hawks(w).await;
        let mut body = practice(&team, "2026-10-20T18:30", "2026-10-20T20:00");
        body["recurrence"] = json!("FREQ=WEEKLY;COUNT=3");
        let first = w.owner.post("/events", body).await.created();
        assert!(first.data()["series_id"].as_str().unwrap().starts_with("ser_"));
        let list = w.owner.get(&format!("/events?series_id={}", first.data()["series_id"].as_str().unwrap())).await.ok();
        let local = ["2026-10-20T18:30:00", "2026-10-27T18:30:00", "2026-11-03T18:30:00"];
        assert_eq!(field_values(&list, "starts_local"), local);
        assert_eq!(field_values(&list, "starts_at"), ["2026-10-20T17:30:00.000000Z", "2026-10-27T18:30:00.000000Z", "2026-11-03T18:30:00.000000Z"]);
        let kinds: Vec<_> = w.notifications().await.iter().map(|notification| notification["type"].clone()).collect();
        assert_eq!(kinds, ["team.created", "event.created", "event.created", "event.created"]);
    }

    async fn apply_to_selects_the_events_of_a_series_to_change(w: &World) {
        let team = hawks(w).await;
        let mut body = practice(&team, "2026-10-20T18:30", "2026-10-20T20:00");
        body["recurrence"] = json!("FREQ=WEEKLY;COUNT=4");
        w.owner.post("/events", body).await.created();
        let all = format!("/events?team_id={team}");
        let ids: Vec<String> = field_values(&w.owner.get(&all).await.ok(), "id").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        let path = |n: usize| format!("/events/{}", ids[n]);
        w.owner.patch(&path(2), json!({ "title": "Special" })).await.ok();
        let change = json!({ "starts_at": "2026-10-28T19:00", "title": "Drill", "apply_to": "following" });
        w.owner.patch(&path(1), change).await.ok();
        let list = w.owner.get(&all).await.ok();
        assert_eq!(field_values(&list, "title"), ["Practice", "Drill", "Special", "Drill"]);
        assert_eq!(field_values(&list, "starts_local"), ["2026-10-20T18:30:00", "2026-10-28T19:00:00", "2026-11-03T18:30:00", "2026-11-11T19:00:00"]);
        assert_eq!(field_values(&list, "ends_local")[3], "2026-11-11T20:30:00");
        w.owner.patch(&path(0), json!({ "title": "All", "apply_to": "all", "override_exceptions": true })).await.ok();
        assert_eq!(field_values(&w.owner.get(&all).await.ok(), "title"), ["All"; 4]);
        w.owner.post(&format!("{}/cancel", path(2)), json!({ "reason": "Rain", "apply_to": "following" })).await.ok();
        w.owner.post(&format!("{}/cancel", path(3)), json!({})).await.assert_problem(409, "invalid_state");
        assert_eq!(field_values(&w.owner.get(&all).await.ok(), "status"), ["scheduled", "scheduled", "cancelled", "cancelled"]);
        w.owner.patch(&path(3), json!({ "title": "X" })).await.assert_problem(409, "invalid_state");
        // Cancelled events cannot be deleted and stay visible.
        w.owner.delete(&path(2)).await.assert_problem(409, "invalid_state");
        w.owner.send("DELETE", &format!("{}?apply_to=all", path(0)), None).await.ok();
        assert_eq!(field_values(&w.owner.get(&all).await.ok(), "status"), ["cancelled", "cancelled"]);
    }

    async fn warns_about_overlapping_events(w: &World) {
        let (team, other) = (hawks(w).await, w.owner.post("/teams", json!({ "name": "Owls" })).await.created().id().to_owned());
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        let mut body = practice(&team, "2026-10-20T18:30:00Z", "2026-10-20T20:00:00Z");
        body["location_id"] = json!(pitch.id());
        let first = w.owner.post("/events", body).await.created();
        let mut body = practice(&other, "2026-10-20T19:00:00Z", "2026-10-20T21:00:00Z");
        body["location_id"] = json!(pitch.id());
        let second = w.owner.post("/events", body).await.created();
        let warning = &second.data()["warnings"][0];
        assert_eq!((&warning["other_event_id"], &warning["conflict_types"]), (&first.data()["id"], &json!(["location"])));
        let same = w.owner.post("/events", practice(&team, "2026-10-20T19:30:00Z", "2026-10-20T21:00:00Z")).await.created();
        assert_eq!(same.data()["warnings"][0]["conflict_types"], json!(["team"]));
        let after = w.owner.post("/events", practice(&team, "2026-10-20T21:00:00Z", "2026-10-20T22:00:00Z")).await.created();
        assert_eq!(after.data()["warnings"], json!([]));
    }

    async fn a_feed_shows_the_schedule_until_it_is_revoked(w: &World) {
        let team = hawks(w).await;
        let event = w.owner.post("/events", practice(&team, "2026-10-20T18:30", "2026-10-20T20:00")).await.created();
        let feed = w.owner.post("/calendar_feeds", json!({ "team_id": team })).await.created();
        let url = feed.data()["url"].as_str().unwrap().to_owned();
        let path = &url[url.find("/calendar/").unwrap()..];
        let text = w.nobody.get(path).await.ok();
        assert!(text.header("content-type").unwrap().starts_with("text/calendar"));
        assert!(text.text.contains(&format!("UID:{}@touchline\r\n", event.id())), "{}", text.text);
        assert!(text.text.contains("DTSTART;TZID=Europe/Lisbon:20261020T183000\r\n"), "{}", text.text);
        let tag = text.header("etag").unwrap();
        assert_eq!(w.nobody.with_header("If-None-Match", tag).get(path).await.status, 304);
        w.owner.post(&event_path(&event, "/cancel"), json!({})).await.ok();
        let text = w.nobody.with_header("If-None-Match", tag).get(path).await.ok();
        assert!(text.text.contains("STATUS:CANCELLED\r\n") && text.text.contains("SEQUENCE:1\r\n"));
        w.owner.delete(&format!("/calendar_feeds/{}", feed.id())).await.ok();
        w.nobody.get(path).await.assert_problem(404, "not_found");
    }
}
