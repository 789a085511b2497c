//! Tests of away dates: the answers that they set and withdraw, and who may enter them.

use testkit::{TestResponse, Value, World, both, json};

use crate::events::{event_path, notifications_of, practice, team_client, with};
use crate::roster_access::client_with_all_scopes;

/// Adds away dates of a person and returns their id.
pub(crate) async fn create_away_date(w: &World, person: &str) -> String {
    let body = json!({ "starts_on": "2027-01-01", "ends_on": "2027-01-02", "note": "target" });
    w.owner.post(&format!("/people/{person}/away_dates"), body).await.created().id().to_owned()
}

async fn create(w: &World, team: &str, start: &str, end: &str) -> TestResponse {
    w.owner.post("/events", practice(team, start, end)).await.created()
}

/// The answer of a member, and who gave it.
async fn answer(w: &World, event: &TestResponse, member: &str) -> Option<(String, String)> {
    let found = w.owner.get(&event_path(event, &format!("/rsvps/{member}"))).await;
    let text = |field: &str| found.data()[field].as_str().unwrap().to_owned();
    (found.status == 200).then(|| (text("answer"), text("answered_by")))
}

async fn is_away(w: &World, event: &TestResponse, member: &str) -> bool {
    answer(w, event, member).await == Some(("no".to_owned(), "away_date".to_owned()))
}

fn days(from: &str, to: &str) -> Value {
    json!({ "starts_on": from, "ends_on": to })
}

both! {
    async fn events_on_away_dates_are_answered_with_no(w: &World) {
        let club = w.club().await;
        w.owner.patch(&format!("/teams/{}", club.hawks), json!({ "timezone": "America/New_York" })).await.ok();
        let max = &club.max.member;
        let path = format!("/people/{}/away_dates", club.max.person);
        // 23:30 in New York is the next day in UTC.
        let before = create(w, &club.hawks, "2026-09-13T23:00", "2026-09-13T23:30").await;
        let last = create(w, &club.hawks, "2026-09-20T23:30", "2026-09-20T23:45").await;
        let after = create(w, &club.hawks, "2026-09-21T09:00", "2026-09-21T10:00").await;
        let own = create(w, &club.hawks, "2026-09-15T18:00", "2026-09-15T19:00").await;
        let yes = json!({ "answer": "yes" });
        w.owner.put(&event_path(&own, &format!("/rsvps/{max}")), yes.clone()).await.ok();
        let parent = client_with_all_scopes(w, club.parent.id).await;
        let body = with(days("2026-09-14", "2026-09-20"), json!({ "note": "Surgery" }));
        let away = parent.post(&path, body).await.created();
        assert!(is_away(w, &last, max).await);
        assert_eq!((answer(w, &before, max).await, answer(w, &after, max).await), (None, None));
        assert_eq!(answer(w, &own, max).await.unwrap().0, "yes");
        let published = notifications_of(w, "away_date.created").await;
        assert!(!published[0].to_string().contains("Surgery"), "{}", published[0]);
        assert_eq!(parent.get(&path).await.ok().data()[0]["note"], "Surgery");
        // Later events are answered too, and the response shows it.
        let later = create(w, &club.hawks, "2026-09-16T18:00", "2026-09-16T19:00").await;
        assert!(is_away(w, &later, max).await);
        let shown = w.owner.get(&event_path(&later, "")).await.ok();
        assert_eq!((&later.data()["rsvp_counts"]["no"], &later.data()["version"]), (&json!(1), &shown.data()["version"]));
        let series = with(practice(&club.hawks, "2026-09-18T18:00", "2026-09-18T19:00"), json!({ "recurrence": "FREQ=DAILY;COUNT=5" }));
        let series = w.owner.post("/events", series).await.created();
        let all = w.owner.get(&format!("/events?series_id={}", series.data()["series_id"].as_str().unwrap())).await.ok();
        let no: Vec<_> = all.data().as_array().unwrap().iter().map(|event| event["rsvp_counts"]["no"].as_i64().unwrap()).collect();
        assert_eq!(no, [1, 1, 1, 0, 0]);
        // Nobody has answered it, so it can be deleted.
        w.owner.delete(&format!("{}?apply_to=all", event_path(&series, ""))).await.ok();
        // Events that move in and out.
        w.owner.patch(&event_path(&after, ""), json!({ "starts_at": "2026-09-19T09:00" })).await.ok();
        assert!(is_away(w, &after, max).await);
        w.owner.patch(&event_path(&after, ""), json!({ "starts_at": "2026-09-22T09:00" })).await.ok();
        assert_eq!(answer(w, &after, max).await, None);
        // An answer that somebody gives replaces the automatic one, even if it is the same.
        parent.put(&event_path(&later, &format!("/rsvps/{max}")), json!({ "answer": "no" })).await.ok();
        let overlapping = parent.post(&path, days("2026-09-20", "2026-09-25")).await.created();
        assert!(is_away(w, &after, max).await);
        // Deleting withdraws only what no other away dates cover, and nothing that somebody answered.
        w.owner.delete(&format!("{path}/{}", away.id())).await.ok();
        assert!(is_away(w, &last, max).await);
        assert_eq!(answer(w, &later, max).await.unwrap().1, club.parent.id.to_string());
        w.owner.delete(&format!("{path}/{}", overlapping.id())).await.ok();
        assert_eq!((answer(w, &last, max).await, answer(w, &after, max).await), (None, None));
        let counts = w.owner.get(&event_path(&last, "")).await.ok();
        assert_eq!(counts.data()["rsvp_counts"], json!({ "yes": 0, "no": 0, "maybe": 0, "waitlisted": 0, "unanswered": 4 }));
        let history = w.owner.get(&event_path(&last, &format!("/rsvps/{max}/history"))).await.ok();
        assert_eq!(history.data().as_array().unwrap().last().unwrap()["answer"], Value::Null);
    }

    async fn away_dates_follow_the_member_and_the_rules_of_answers(w: &World) {
        let club = w.club().await;
        let closed = with(practice(&club.otters, "2026-09-15T18:00", "2026-09-15T19:00"), json!({ "rsvp_deadline": "2026-09-05T09:00:00Z" }));
        let closed = w.owner.post("/events", closed).await.created();
        let off = with(practice(&club.otters, "2026-09-15T18:00", "2026-09-15T19:00"), json!({ "rsvp_enabled": false }));
        let off = w.owner.post("/events", off).await.created();
        let open = create(w, &club.otters, "2026-09-15T18:00", "2026-09-15T19:00").await;
        let path = format!("/people/{}/away_dates", club.lia.person);
        w.owner.post(&path, days("2026-09-15", "2026-09-15")).await.created();
        // Joining another team.
        let joined = w.owner.post(&format!("/teams/{}/roster", club.otters), json!({ "person_id": club.lia.person })).await.created();
        assert!(is_away(w, &open, joined.id()).await);
        assert_eq!((answer(w, &closed, joined.id()).await, answer(w, &off, joined.id()).await), (None, None));
        w.owner.patch(&event_path(&off, ""), json!({ "rsvp_enabled": true })).await.ok();
        assert!(is_away(w, &off, joined.id()).await);
        // More places: the waiting list is counted with the new answer.
        let full = with(practice(&club.otters, "2026-09-14T18:00", "2026-09-14T19:00"), json!({ "capacity": 1 }));
        let full = w.owner.post("/events", full).await.created();
        let ole = format!("/rsvps/{}", club.ole.member);
        w.owner.put(&event_path(&full, &ole), json!({ "answer": "yes" })).await.ok();
        let moved = json!({ "starts_at": "2026-09-15T18:00", "capacity": 3 });
        w.owner.patch(&event_path(&full, ""), moved).await.ok();
        let counts = w.owner.get(&event_path(&full, "")).await.ok();
        assert_eq!(counts.data()["rsvp_counts"], json!({ "yes": 1, "no": 1, "maybe": 0, "waitlisted": 0, "unanswered": 0 }));
        // Erasure.
        w.owner.post(&format!("/people/{}/erase", club.lia.person), json!({})).await.ok();
        assert_eq!(w.count("away_date").await, 0);
        w.owner.post(&path, days("2026-09-15", "2026-09-15")).await.assert_problem(409, "invalid_state");
    }

    async fn only_the_family_and_staff_of_the_team_enter_away_dates(w: &World) {
        let club = w.club().await;
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let parent = client_with_all_scopes(w, club.parent.id).await;
        let path = |person: &str| format!("/people/{person}/away_dates");
        let (zoe, ole) = (path(&club.zoe.person), path(&club.ole.person));
        let away = coach.post(&zoe, days("2026-10-01", "2026-10-02")).await.created();
        parent.get(&zoe).await.assert_problem(404, "not_found");
        // Other families see the answer, but not that somebody is away.
        let event = create(w, &club.hawks, "2026-10-01T18:00", "2026-10-01T19:00").await;
        assert!(is_away(w, &event, &club.zoe.member).await);
        let answers = event_path(&event, "/rsvps");
        let seen = parent.get(&answers).await.ok().data()[0].clone();
        assert_eq!((&seen["answer"], &seen["answered_by"]), (&json!("no"), &json!(club.zoe.person)));
        assert_eq!(coach.get(&answers).await.ok().data()[0]["answered_by"], "away_date");
        parent.delete(&format!("{zoe}/{}", away.id())).await.assert_problem(404, "not_found");
        coach.post(&ole, days("2026-10-01", "2026-10-02")).await.assert_problem(404, "not_found");
        // A coach does not enter them for the parents of the players.
        coach.post(&path(&club.pat), days("2026-10-01", "2026-10-02")).await.assert_problem(403, "forbidden");
        parent.post(&path(&club.pat), days("2026-10-01", "2026-10-02")).await.created();
        // The id of another person's away dates.
        w.owner.delete(&format!("{}/{}", path(&club.max.person), away.id())).await.assert_problem(404, "not_found");
        let key = team_client(w, &club.otters, "roster:read roster:write").await;
        key.get(&zoe).await.assert_problem(404, "not_found");
        let wrong = [("2026-10-02", "2026-10-01", "/ends_on"), ("2026-10-01", "2027-12-01", "/ends_on"),
            ("2026-08-01", "2026-08-02", "/ends_on"), ("2030-10-01", "2030-10-02", "/starts_on")];
        for (from, to, pointer) in wrong {
            let refused = w.owner.post(&zoe, days(from, to)).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{from} {to}");
        }
        let empty = w.owner.post(&zoe, json!({})).await.assert_problem(422, "validation_failed");
        assert_eq!(empty.pointers(), ["/starts_on", "/ends_on"]);
    }

    async fn a_parent_enters_and_removes_away_dates_on_the_page(w: &World) {
        let club = w.club().await;
        let event = create(w, &club.hawks, "2026-09-15T18:00", "2026-09-15T19:00").await;
        let path = format!("/people/{}/away", club.max.person);
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&path).await.ok().shows("No away dates yet").shows("Max");
        let nonce = page.text.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let send = |from: &'static str, to: &'static str| {
            [("starts_on", from), ("ends_on", to), ("note", "<i>Vacation"), ("nonce", nonce)]
        };
        let refused = parent.post(&path, &send("2026-09-15", "2026-09-14")).await;
        assert_eq!(refused.status, 422);
        refused.shows("&#60;i&#62;Vacation").shows("The away dates were not added");
        let fields = send("2026-09-14", "2026-09-20");
        parent.post(&path, &fields).await.redirects_to(&format!("{path}?done=added"));
        parent.post(&path, &fields).await.redirects_to(&format!("{path}?done=added"));
        assert_eq!(w.count("away_date").await, 1);
        assert!(is_away(w, &event, &club.max.member).await);
        let page = parent.get(&path).await.ok().shows("1 coming event").shows("&#60;i&#62;Vacation");
        let remove = page.text.split("action=\"").find_map(|part| part.split('"').next().filter(|link| link.ends_with("/remove"))).unwrap().to_owned();
        let mut player = w.browser(club.player.id).await;
        player.get(&format!("/people/{}/away", club.lia.person)).await.ok().shows("for you");
        assert_eq!(player.get(&path).await.status, 404);
        assert_eq!(player.post(&remove, &[]).await.status, 404);
        parent.post(&remove, &[]).await.redirects_to(&format!("{path}?done=removed"));
        parent.post(&remove, &[]).await.redirects_to(&format!("{path}?done=removed"));
        assert_eq!(answer(w, &event, &club.max.member).await, None);

        parent.get("/schedule").await.ok().shows("/schedule/away");
        parent.get("/schedule/away").await.redirects_to(&path);
        let child = json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] });
        let ben = w.add_member(&club.otters, child).await;
        parent.get("/schedule/away").await.ok().shows(&path).shows(&format!("/people/{}/away", ben.person));
        w.browser(club.outsider.id).await.get("/schedule/away").await.ok().shows("Nobody in your family");
        w.browser(club.coach.id).await.get(&format!("/teams/{}/roster/{}", club.hawks, club.max.member)).await.ok().shows(&path);
    }
}
