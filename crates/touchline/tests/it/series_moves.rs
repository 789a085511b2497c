//! Stories about series that are moved more than once: what a change does not speak of stays, and what was
//! held was held.

use testkit::{Answer, Value, World, both, json, seconds};

use crate::events::{at, each, hawks, practice, texts, with};

/// A series from 18:00 to 19:30 from this day on, and the ids of its events.
async fn series(w: &World, team: &str, day: &str, rule: &str) -> Vec<String> {
    let body = practice(team, &format!("{day}T18:00"), &format!("{day}T19:30"));
    w.owner.post("/events", with(body, json!({ "recurrence": rule }))).await.created();
    texts(&schedule(w, team).await, "id")
}

async fn schedule(w: &World, team: &str) -> Answer {
    w.owner.get(&format!("/events?team_id={team}&limit=100")).await.ok()
}

async fn change(w: &World, id: &str, body: Value) -> Answer {
    w.owner.patch(&format!("/events/{id}"), body).await.ok()
}

/// From when to when each event is, by the clocks.
async fn times(w: &World, ids: &[String]) -> Vec<String> {
    let mut times = Vec::new();
    for id in ids {
        let event = w.owner.get(&format!("/events/{id}")).await.ok();
        let local = |member: &str| event.data()[member].as_str().unwrap().to_owned();
        let (start, end) = (local("starts_local"), local("ends_local"));
        times.push(format!("{} {}-{}", &start[5..10], &start[11..16], &end[11..16]));
    }
    times
}

both! {
    async fn a_new_end_moves_no_start(w: &World) {
        let team = hawks(w).await;
        let ids = series(w, &team, "2027-05-02", "FREQ=WEEKLY;COUNT=4").await;
        change(w, &ids[1], json!({ "starts_at": "2027-05-09T20:00", "apply_to": "following" })).await;
        change(w, &ids[0], json!({ "ends_at": "2027-05-02T20:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-02 18:00-20:00", "05-09 20:00-22:00", "05-16 20:00-22:00", "05-23 20:00-22:00"]);
        // Nor does a new start change how long the others take.
        change(w, &ids[2], json!({ "ends_at": "2027-05-16T21:00", "apply_to": "following" })).await;
        change(w, &ids[0], json!({ "starts_at": "2027-05-02T17:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-02 17:00-19:00", "05-09 17:00-19:00", "05-16 17:00-18:00", "05-23 17:00-18:00"]);
        // The same start, said again, is no new one.
        change(w, &ids[3], json!({ "starts_at": "2027-05-23T20:00", "apply_to": "following" })).await;
        change(w, &ids[0], json!({ "starts_at": "2027-05-02T17:00", "ends_at": "2027-05-02T18:30", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-02 17:00-18:30", "05-09 17:00-18:30", "05-16 17:00-18:30", "05-23 20:00-21:30"]);
    }

    async fn an_event_that_the_clocks_displaced_displaces_no_other(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Owls", "timezone": "Europe/Berlin" })).await.created().id().to_owned();
        let body = practice(&team, "2027-03-27T02:30", "2027-03-27T03:30");
        w.owner.post("/events", with(body, json!({ "recurrence": "FREQ=DAILY;COUNT=3" }))).await.created();
        let ids = texts(&schedule(w, &team).await, "id");
        assert_eq!(times(w, &ids).await, ["03-27 02:30-03:30", "03-28 03:30-04:30", "03-29 02:30-03:30"]);
        change(w, &ids[1], json!({ "ends_at": "2027-03-28T05:30", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["03-27 02:30-04:30", "03-28 03:30-05:30", "03-29 02:30-04:30"]);
        change(w, &ids[1], json!({ "timezone": "Europe/Paris", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["03-27 02:30-04:30", "03-28 03:30-05:30", "03-29 02:30-04:30"]);
        // On another day it is again where the series has it.
        change(w, &ids[0], json!({ "starts_at": "2027-03-28T04:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["03-28 04:00-06:00", "03-29 04:00-06:00", "03-30 04:00-06:00"]);
    }

    async fn an_overwritten_event_goes_where_the_series_has_it_now(w: &World) {
        let team = hawks(w).await;
        let ids = series(w, &team, "2027-05-02", "FREQ=WEEKLY;COUNT=4").await;
        change(w, &ids[3], json!({ "notes": "before" })).await;
        change(w, &ids[1], json!({ "starts_at": "2027-05-10T18:00", "apply_to": "following" })).await;
        change(w, &ids[2], json!({ "notes": "after" })).await;
        // Whatever was changed by itself keeps out, with its time.
        assert_eq!(times(w, &ids[3..]).await, ["05-23 18:00-19:30"]);
        change(w, &ids[0], json!({ "starts_at": "2027-05-02T19:00", "apply_to": "all", "overwrite_edits": true })).await;
        assert_eq!(times(w, &ids).await, ["05-02 19:00-20:30", "05-10 19:00-20:30", "05-17 19:00-20:30", "05-24 19:00-20:30"]);
        // What the change does not name stays as it was made by hand.
        let notes: Vec<_> = each(&schedule(w, &team).await, "notes").into_iter().cloned().collect();
        assert_eq!(notes, [json!(null), json!(null), json!("after"), json!("before")]);
        // Said again with overwrite_edits, the same start brings back what was moved by hand, and nothing else.
        change(w, &ids[2], json!({ "starts_at": "2027-05-20T08:00" })).await;
        let same = json!({ "starts_at": "2027-05-02T19:00", "apply_to": "all", "overwrite_edits": true });
        change(w, &ids[0], same).await;
        assert_eq!(times(w, &ids).await, ["05-02 19:00-20:30", "05-10 19:00-20:30", "05-17 19:00-20:30", "05-24 19:00-20:30"]);
        // One that comes back by another member stays where it is, and moves along from there.
        change(w, &ids[2], json!({ "starts_at": "2027-05-20T08:00" })).await;
        change(w, &ids[0], json!({ "notes": "all", "apply_to": "all", "overwrite_edits": true })).await;
        change(w, &ids[0], json!({ "starts_at": "2027-05-03T19:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids).await, ["05-03 19:00-20:30", "05-11 19:00-20:30", "05-21 19:00-20:30", "05-25 19:00-20:30"]);
    }

    async fn what_was_held_was_held(w: &World) {
        let team = hawks(w).await;
        let ids = series(w, &team, "2026-09-06", "FREQ=WEEKLY;COUNT=4").await;
        w.pass(seconds(9 * 86_400));
        let body = json!({ "starts_at": "2026-09-20T20:00", "rsvp_deadline": "2026-09-20T12:00", "title": "Late", "apply_to": "all" });
        change(w, &ids[2], body).await;
        assert_eq!(times(w, &ids).await, ["09-06 18:00-19:30", "09-13 18:00-19:30", "09-20 20:00-21:30", "09-27 20:00-21:30"]);
        let list = schedule(w, &team).await;
        assert_eq!(texts(&list, "title"), ["Late"; 4]);
        assert_eq!((&list.data()[1]["rsvp_deadline"], &list.data()[3]["rsvp_deadline"]), (&json!(null), &json!("2026-09-27T11:00:00.000000Z")));
        w.owner.delete(&format!("/events/{}?apply_to=all", ids[3])).await.ok();
        assert_eq!(each(&schedule(w, &team).await, "status"), ["scheduled"; 2]);
        // A change that is sent to one that is over means them all.
        change(w, &ids[1], json!({ "starts_at": "2026-09-13T17:00", "apply_to": "all" })).await;
        assert_eq!(times(w, &ids[..2]).await, ["09-06 17:00-18:30", "09-13 17:00-18:30"]);
        let more = series(w, &team, "2026-09-07", "FREQ=WEEKLY;COUNT=3").await;
        let last = more.last().unwrap();
        w.owner.post(&format!("/events/{last}/cancel"), json!({ "apply_to": "all" })).await.ok();
        assert_eq!(each(&schedule(w, &team).await, "status"), ["scheduled", "scheduled", "scheduled", "cancelled", "cancelled"]);
    }

    async fn only_a_series_has_others_that_can_be_meant(w: &World) {
        let team = hawks(w).await;
        let event = w.owner.post("/events", practice(&team, "2027-05-02T18:00", "2027-05-02T19:00")).await.created();
        for apply_to in ["following", "all"] {
            let cancelled = w.owner.post(&at(&event, "/cancel"), json!({ "apply_to": apply_to })).await;
            let deleted = w.owner.delete(&at(&event, &format!("?apply_to={apply_to}"))).await;
            for refused in [cancelled, deleted] {
                let refused = refused.refused(422, "validation_failed");
                assert_eq!((refused.pointers(), &refused.body["errors"][0]["code"]), (vec!["/apply_to"], &json!("no_series")));
            }
        }
        w.owner.delete(&at(&event, "?apply_to=this")).await.ok();
    }
}
