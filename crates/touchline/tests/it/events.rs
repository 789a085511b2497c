//! Stories about events: planning them, moving them, cancelling them. And the small club in which the
//! other stories about the schedule are told.

use testkit::world::new_key;
use testkit::{Answer, Client, Value, World, both, json};
use touchline::accounts::api_key::NewKey;

/// A team in Lisbon.
pub(crate) async fn hawks(w: &World) -> String {
    let body = json!({ "name": "Hawks", "timezone": "Europe/Lisbon" });
    w.owner.post("/teams", body).await.created().id().to_owned()
}

/// Another team.
pub(crate) async fn team(w: &World, name: &str) -> String {
    w.owner.post("/teams", json!({ "name": name })).await.created().id().to_owned()
}

/// So many players of a team, in the order of the roster.
pub(crate) async fn squad(w: &World, team: &str, count: usize) -> Vec<String> {
    let player = |number| json!({ "team_id": team, "first_name": format!("P{number}"), "allow_duplicate": true });
    let members: Vec<_> = (0..count).map(player).collect();
    let made = w.owner.post("/roster/batch", json!({ "members": members })).await.created();
    texts(&made, "id")
}

/// A caller who reaches this team only.
pub(crate) async fn narrowed(w: &World, team: &str, scopes: &str) -> Client {
    let team_ids = Some(vec![team.parse().unwrap()]);
    w.caller(NewKey { team_ids, ..new_key(scopes) }).await.1
}

/// The address of an event, or of something below it.
pub(crate) fn at(event: &Answer, below: &str) -> String {
    format!("/events/{}{below}", event.id())
}

pub(crate) fn practice(team: &str, start: &str, end: &str) -> Value {
    json!({ "team_id": team, "type": "practice", "starts_at": start, "ends_at": end })
}

/// A body with more in it.
pub(crate) fn with(mut body: Value, more: Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The objects of a list by one of their members.
pub(crate) fn each<'a>(list: &'a Answer, member: &str) -> Vec<&'a Value> {
    list.data().as_array().expect("a list").iter().map(|event| &event[member]).collect()
}

/// The same, for members that are text.
pub(crate) fn texts(list: &Answer, member: &str) -> Vec<String> {
    each(list, member).into_iter().map(|value| value.as_str().unwrap().to_owned()).collect()
}

/// Everything that was told of one kind, oldest first.
pub(crate) async fn told(w: &World, kind: &str) -> Vec<Value> {
    w.news().await.into_iter().filter(|news| news["type"] == kind).collect()
}

both! {
    async fn an_event_is_planned_in_local_time_and_shown_in_both(w: &World) {
        let team = hawks(w).await;
        let body = json!({ "team_id": team, "type": "game", "starts_at": "2026-09-12T18:30",
            "ends_at": "2026-09-12T20:00", "opponent": "Breakwater", "home_away": "away",
            "arrival_minutes": 30, "uniform": "blue", "capacity": 14,
            "duties": [{ "name": "Oranges", "needed": 2 }, { "name": "Linesman" }] });
        let event = w.owner.post("/events", body).await.created();
        assert_eq!(event.data()["object"], "event");
        assert_eq!(event.data()["title"], "at Breakwater");
        assert_eq!(event.data()["starts_at"], "2026-09-12T17:30:00.000000Z");
        assert_eq!(event.data()["starts_local"], "2026-09-12T18:30:00");
        assert_eq!(event.data()["timezone"], "Europe/Lisbon");
        assert_eq!(event.data()["status"], "scheduled");
        assert_eq!(event.data()["duties"][1]["needed"], 1);
        assert_eq!(event.data()["rsvp_counts"], json!({ "yes": 0, "no": 0, "maybe": 0, "waiting": 0, "unanswered": 0 }));
        assert_eq!((&event.data()["result"], &event.data()["warnings"]), (&Value::Null, &json!([])));
        let read = w.owner.get(&at(&event, "")).await.ok();
        assert_eq!(read.data(), event.data());
        let list = w.owner.get(&format!("/events?team_id={team}")).await.ok();
        assert_eq!(list.data()[0], *event.data());
        let moved = w.owner.patch(&at(&event, ""), json!({ "starts_at": "2026-09-12T19:00" })).await.ok();
        assert_eq!(moved.data()["ends_local"], "2026-09-12T20:30:00");
        let news = w.news().await.pop().unwrap();
        assert_eq!(news["type"], "event.updated");
        assert_eq!(news["data"]["previous"]["starts_local"], "2026-09-12T18:30:00");
    }

    async fn a_series_keeps_its_local_time_over_a_change_of_the_clocks(w: &World) {
        let team = hawks(w).await;
        let mut body = practice(&team, "2026-10-20T18:30", "2026-10-20T20:00");
        body["recurrence"] = json!("FREQ=WEEKLY;COUNT=3");
        let first = w.owner.post("/events", body).await.created();
        assert!(first.data()["series_id"].as_str().unwrap().starts_with("ser_"));
        let list = w.owner.get(&format!("/events?series_id={}", first.data()["series_id"].as_str().unwrap())).await.ok();
        let local = ["2026-10-20T18:30:00", "2026-10-27T18:30:00", "2026-11-03T18:30:00"];
        assert_eq!(each(&list, "starts_local"), local);
        assert_eq!(each(&list, "starts_at"), ["2026-10-20T17:30:00.000000Z", "2026-10-27T18:30:00.000000Z", "2026-11-03T18:30:00.000000Z"]);
        let kinds: Vec<_> = w.news().await.iter().map(|news| news["type"].clone()).collect();
        assert_eq!(kinds, ["team.created", "event.created", "event.created", "event.created"]);
    }

    async fn changes_reach_the_events_that_are_meant(w: &World) {
        let team = hawks(w).await;
        let mut body = practice(&team, "2026-10-20T18:30", "2026-10-20T20:00");
        body["recurrence"] = json!("FREQ=WEEKLY;COUNT=4");
        w.owner.post("/events", body).await.created();
        let all = format!("/events?team_id={team}");
        let ids: Vec<String> = each(&w.owner.get(&all).await.ok(), "id").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        let place = |n: usize| format!("/events/{}", ids[n]);
        w.owner.patch(&place(2), json!({ "title": "Special" })).await.ok();
        let change = json!({ "starts_at": "2026-10-28T19:00", "title": "Drill", "apply_to": "following" });
        w.owner.patch(&place(1), change).await.ok();
        let list = w.owner.get(&all).await.ok();
        assert_eq!(each(&list, "title"), ["Practice", "Drill", "Special", "Drill"]);
        assert_eq!(each(&list, "starts_local"), ["2026-10-20T18:30:00", "2026-10-28T19:00:00", "2026-11-03T18:30:00", "2026-11-11T19:00:00"]);
        assert_eq!(each(&list, "ends_local")[3], "2026-11-11T20:30:00");
        w.owner.patch(&place(0), json!({ "title": "All", "apply_to": "all", "overwrite_edits": true })).await.ok();
        assert_eq!(each(&w.owner.get(&all).await.ok(), "title"), ["All"; 4]);
        w.owner.post(&format!("{}/cancel", place(2)), json!({ "reason": "Rain", "apply_to": "following" })).await.ok();
        w.owner.post(&format!("{}/cancel", place(3)), json!({})).await.refused(409, "invalid_state");
        assert_eq!(each(&w.owner.get(&all).await.ok(), "status"), ["scheduled", "scheduled", "cancelled", "cancelled"]);
        w.owner.patch(&place(3), json!({ "title": "X" })).await.refused(409, "invalid_state");
        // What is cancelled stays visible, whatever is deleted.
        w.owner.delete(&place(2)).await.refused(409, "invalid_state");
        w.owner.send("DELETE", &format!("{}?apply_to=all", place(0)), None).await.ok();
        assert_eq!(each(&w.owner.get(&all).await.ok(), "status"), ["cancelled", "cancelled"]);
    }

    async fn what_overlaps_is_told(w: &World) {
        let (team, other) = (hawks(w).await, w.owner.post("/teams", json!({ "name": "Owls" })).await.created().id().to_owned());
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        let mut body = practice(&team, "2026-10-20T18:30:00Z", "2026-10-20T20:00:00Z");
        body["location_id"] = json!(pitch.id());
        let first = w.owner.post("/events", body).await.created();
        let mut body = practice(&other, "2026-10-20T19:00:00Z", "2026-10-20T21:00:00Z");
        body["location_id"] = json!(pitch.id());
        let second = w.owner.post("/events", body).await.created();
        let warning = &second.data()["warnings"][0];
        assert_eq!((&warning["other_event_id"], &warning["shares"]), (&first.data()["id"], &json!(["location"])));
        let same = w.owner.post("/events", practice(&team, "2026-10-20T19:30:00Z", "2026-10-20T21:00:00Z")).await.created();
        assert_eq!(same.data()["warnings"][0]["shares"], json!(["team"]));
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
        assert_eq!(w.nobody.with("If-None-Match", tag).get(path).await.status, 304);
        w.owner.post(&at(&event, "/cancel"), json!({})).await.ok();
        let text = w.nobody.with("If-None-Match", tag).get(path).await.ok();
        assert!(text.text.contains("STATUS:CANCELLED\r\n") && text.text.contains("SEQUENCE:1\r\n"));
        w.owner.delete(&format!("/calendar_feeds/{}", feed.id())).await.ok();
        w.nobody.get(path).await.refused(404, "not_found");
    }
}
