//! Tests of series that are moved more than once: unmentioned fields stay, and past events are not
//! changed.

use testkit::{TestResponse, Value, World, both, json, seconds};

use crate::events::{event_path, field_texts, field_values, hawks, practice, with};

/// Creates a series from 18:00 to 19:30 from this day on, and returns the ids of its events.
async fn series(w: &World, team: &str, day: &str, rule: &str) -> Vec<String> {
    let body = practice(team, &format!("{day}T18:00"), &format!("{day}T19:30"));
    w.owner.post("/events", with(body, json!({ "recurrence": rule }))).await.created();
    field_texts(&schedule(w, team).await, "id")
}

async fn schedule(w: &World, team: &str) -> TestResponse {
    w.owner.get(&format!("/events?team_id={team}&limit=100")).await.ok()
}

async fn change(w: &World, id: &str, body: Value) -> TestResponse {
    w.owner.patch(&format!("/events/{id}"), body).await.ok()
}

/// Local start and end of each event.
async fn times(w: &World, ids: &[String]) -> Vec<String> {
    let mut times = Vec::new();
    for id in ids {
        let event = w.owner.get(&format!("/events/{id}")).await.ok();
        let local = |field: &str| event.data()[field].as_str().unwrap().to_owned();
        let (start, end) = (local("starts_local"), local("ends_local"));
        times.push(format!("{} {}-{}", &start[5..10], &start[11..16], &end[11..16]));
    }
    times
}

both! {
    async fn new_end_moves_no_start(w: &World) {
        let team = hawks(w).await;
        let ids = series(w, &team, "2027-05-02", "FREQ=WEEKLY;COUNT=4").await;
        change(w, &ids[1], json!({ "starts_at": "2027-05-09T20:00", "apply_to": "following" })).await;
        change(w, &ids[0], json!({ "ends_at": "2027-05-02T20:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-02 18:00-20:00", "05-09 20:00-22:00", "05-16 20:00-22:00", "05-23 20:00-22:00"]);
        // Nor does a new start change the duration of the others.
        change(w, &ids[2], json!({ "ends_at": "2027-05-16T21:00", "apply_to": "following" })).await;
        change(w, &ids[0], json!({ "starts_at": "2027-05-02T17:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-02 17:00-19:00", "05-09 17:00-19:00", "05-16 17:00-18:00", "05-23 17:00-18:00"]);
        // Repeating the same start is no change.
        change(w, &ids[3], json!({ "starts_at": "2027-05-23T20:00", "apply_to": "following" })).await;
        change(w, &ids[0], json!({ "starts_at": "2027-05-02T17:00", "ends_at": "2027-05-02T18:30", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-02 17:00-18:30", "05-09 17:00-18:30", "05-16 17:00-18:30", "05-23 20:00-21:30"]);
    }

    async fn event_shifted_by_a_clock_change_shifts_no_other(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Owls", "timezone": "Europe/Berlin" })).await.created().id().to_owned();
        let body = practice(&team, "2027-03-27T02:30", "2027-03-27T03:30");
        w.owner.post("/events", with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=3" }))).await.created();
        let ids = field_texts(&schedule(w, &team).await, "id");
        assert_eq!(times(w, &ids).await, ["03-27 02:30-03:30", "03-28 03:30-04:30", "03-29 02:30-03:30"]);
        change(w, &ids[1], json!({ "ends_at": "2027-03-28T05:30", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["03-27 02:30-04:30", "03-28 03:30-05:30", "03-29 02:30-04:30"]);
        change(w, &ids[1], json!({ "timezone": "Europe/Paris", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["03-27 02:30-04:30", "03-28 03:30-05:30", "03-29 02:30-04:30"]);
        // On another day it follows the series again.
        change(w, &ids[0], json!({ "starts_at": "2027-03-28T04:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["03-28 04:00-06:00", "03-29 04:00-06:00", "03-30 04:00-06:00"]);
    }

    async fn overwritten_event_follows_the_series(w: &World) {
        let team = hawks(w).await;
        let ids = series(w, &team, "2027-05-02", "FREQ=WEEKLY;COUNT=4").await;
        change(w, &ids[3], json!({ "notes": "before" })).await;
        change(w, &ids[1], json!({ "starts_at": "2027-05-10T18:00", "apply_to": "following" })).await;
        change(w, &ids[2], json!({ "notes": "after" })).await;
        // Individually changed events keep their time.
        assert_eq!(times(w, &ids[3..]).await, ["05-23 18:00-19:30"]);
        change(w, &ids[0], json!({ "starts_at": "2027-05-02T19:00", "apply_to": "all", "override_exceptions": true })).await;
        assert_eq!(times(w, &ids).await, ["05-02 19:00-20:30", "05-10 19:00-20:30", "05-17 19:00-20:30", "05-24 19:00-20:30"]);
        // Fields that the change does not name keep their individual values.
        let notes: Vec<_> = field_values(&schedule(w, &team).await, "notes").into_iter().cloned().collect();
        assert_eq!(notes, [json!(null), json!(null), json!("after"), json!("before")]);
        // Repeated with `override_exceptions`, the same start moves individually moved events back, and
        // changes nothing else.
        change(w, &ids[2], json!({ "starts_at": "2027-05-20T08:00" })).await;
        let same = json!({ "starts_at": "2027-05-02T19:00", "apply_to": "all", "override_exceptions": true });
        change(w, &ids[0], same).await;
        assert_eq!(times(w, &ids).await, ["05-02 19:00-20:30", "05-10 19:00-20:30", "05-17 19:00-20:30", "05-24 19:00-20:30"]);
        // An event that rejoins through another field keeps its time, and moves along from there.
        change(w, &ids[2], json!({ "starts_at": "2027-05-20T08:00" })).await;
        change(w, &ids[0], json!({ "notes": "all", "apply_to": "all", "override_exceptions": true })).await;
        change(w, &ids[0], json!({ "starts_at": "2027-05-03T19:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-03 19:00-20:30", "05-11 19:00-20:30", "05-21 19:00-20:30", "05-25 19:00-20:30"]);
    }

    async fn past_events_are_not_changed(w: &World) {
        let team = hawks(w).await;
        let ids = series(w, &team, "2026-09-06", "FREQ=WEEKLY;COUNT=4").await;
        w.advance_clock(seconds(9 * 86_400));
        let body = json!({ "starts_at": "2026-09-20T20:00", "rsvp_deadline": "2026-09-20T12:00", "title": "Late", "apply_to": "all" });
        change(w, &ids[2], body).await;
        assert_eq!(times(w, &ids).await, ["09-06 18:00-19:30", "09-13 18:00-19:30", "09-20 20:00-21:30", "09-27 20:00-21:30"]);
        let list = schedule(w, &team).await;
        assert_eq!(field_texts(&list, "title"), ["Late"; 4]);
        assert_eq!((&list.data()[1]["rsvp_deadline"], &list.data()[3]["rsvp_deadline"]), (&json!(null), &json!("2026-09-27T11:00:00.000000Z")));
        w.owner.delete(&format!("/events/{}?apply_to=all", ids[3])).await.ok();
        assert_eq!(field_values(&schedule(w, &team).await, "status"), ["scheduled"; 2]);
        // A change of all through a past event includes past events.
        change(w, &ids[1], json!({ "starts_at": "2026-09-13T17:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids[..2]).await, ["09-06 17:00-18:30", "09-13 17:00-18:30"]);
        let second_series = series(w, &team, "2026-09-07", "FREQ=WEEKLY;COUNT=3").await;
        let last = second_series.last().unwrap();
        w.owner.post(&format!("/events/{last}/cancel"), json!({ "apply_to": "all" })).await.ok();
        assert_eq!(field_values(&schedule(w, &team).await, "status"), ["scheduled", "scheduled", "scheduled", "cancelled", "cancelled"]);
    }

    async fn rejects_apply_to_without_a_series(w: &World) {
        let team = hawks(w).await;
        let event = w.owner.post("/events", practice(&team, "2027-05-02T18:00", "2027-05-02T19:00")).await.created();
        for apply_to in ["following", "all"] {
            let cancelled = w.owner.post(&event_path(&event, "/cancel"), json!({ "apply_to": apply_to })).await;
            let deleted = w.owner.delete(&event_path(&event, &format!("?apply_to={apply_to}"))).await;
            assert_eq!(cancelled.pointers(), ["/apply_to"]);
            assert_eq!(deleted.parameters(), ["apply_to"]);
            for refused in [cancelled, deleted] {
                let refused = refused.assert_problem(422, "validation_failed");
                assert_eq!(refused.body["errors"][0]["code"], "no_series");
            }
        }
        w.owner.delete(&event_path(&event, "?apply_to=this")).await.ok();
    }
}
