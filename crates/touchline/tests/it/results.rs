//! Tests of the results of games: recording, correcting and deleting them by API and on the page.

use testkit::{Browser, Client, TestResponse, Value, World, both, json, seconds};

use crate::events::{event_path, hawks, notifications_of, practice, with};
use crate::roster_access::client_with_all_scopes;

/// A game that begins in an hour.
async fn game(w: &World, team: &str) -> TestResponse {
    let body = practice(team, "2026-09-05T11:00:00Z", "2026-09-05T12:30:00Z");
    let game = json!({ "type": "game", "opponent": "Breakwater", "title": null });
    w.owner.post("/events", with(body, game)).await.created()
}

async fn record(client: &Client, event: &TestResponse, result: Value) -> TestResponse {
    client.put(&event_path(event, "/result"), result).await
}

/// Status, outcome and score of a result, and the status of its event.
fn summary(event: &TestResponse) -> Value {
    let result = &event.data()["result"];
    json!([
        result["status"],
        result["outcome"],
        result["score_for"],
        result["score_against"],
        event.data()["status"]
    ])
}

/// Opens the form and sends it with these values.
async fn submit(
    browser: &mut Browser,
    path: &str,
    version: &str,
    fields: &[(&str, &str)],
) -> TestResponse {
    let all: Vec<_> = fields.iter().copied().chain([("version", version)]).collect();
    browser.post(path, &all).await
}

fn version(page: &TestResponse) -> String {
    let rest = page.text.split("name=\"version\" value=\"").nth(1).expect("a form");
    rest.split('"').next().unwrap().to_owned()
}

both! {
    async fn a_score_is_followed_corrected_and_deleted(w: &World) {
        let team = hawks(w).await;
        let event = game(w, &team).await;
        assert_eq!(event.data()["result"], json!(null));
        let live = record(&w.owner, &event, json!({ "status": "in_progress", "score_for": 1, "score_against": 0 })).await.ok();
        assert_eq!(summary(&live), json!(["in_progress", null, 1, 0, "scheduled"]));
        let periods = json!([{ "for": 1, "against": 2 }, { "for": 2, "against": 0 }]);
        let body = json!({ "score_for": 3, "score_against": 2, "periods": periods });
        let done = record(&w.owner, &event, body.clone()).await.ok();
        assert_eq!(summary(&done), json!(["final", "win", 3, 2, "completed"]));
        assert_eq!(done.data()["result"]["periods"], periods);
        // The same result again changes nothing.
        let again = record(&w.owner, &event, body).await.ok();
        assert_eq!(again.data(), done.data());
        let corrected = record(&w.owner, &event, json!({ "score_for": 2, "score_against": 2 })).await.ok();
        assert_eq!(summary(&corrected), json!(["final", "draw", 2, 2, "completed"]));
        let published = notifications_of(w, "result.recorded").await;
        assert_eq!(published.len(), 3);
        assert_eq!(published[2]["data"]["previous"]["result"]["score_for"], json!(3));
        assert_eq!(notifications_of(w, "event.completed").await.len(), 1);
        let listed = w.owner.get("/events?status=completed").await.ok();
        assert_eq!(listed.data()[0]["result"]["score_for"], json!(2));

        w.owner.post(&event_path(&event, "/cancel"), json!({})).await.assert_problem(409, "invalid_state");
        w.owner.patch(&event_path(&event, ""), json!({ "type": "practice" })).await.assert_problem(409, "invalid_state");
        w.owner.delete(&event_path(&event, "")).await.assert_problem(409, "invalid_state");
        // Other changes keep the result.
        let noted = w.owner.patch(&event_path(&event, ""), json!({ "notes": "Well played" })).await.ok();
        assert_eq!(noted.data()["result"], corrected.data()["result"]);

        w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-09T11:00:00Z" })).await.assert_problem(409, "invalid_state");

        let deleted = w.owner.delete(&event_path(&event, "/result")).await.ok();
        assert_eq!((&deleted.data()["result"], &deleted.data()["status"]), (&json!(null), &json!("scheduled")));
        assert_eq!(notifications_of(w, "result.deleted").await.len(), 1);
        w.owner.delete(&event_path(&event, "/result")).await.assert_problem(409, "invalid_state");
    }

    async fn a_game_with_a_running_score_is_not_cancelled(w: &World) {
        let team = hawks(w).await;
        let event = game(w, &team).await;
        record(&w.owner, &event, json!({ "status": "in_progress", "score_for": 1, "score_against": 0 })).await.ok();
        for action in ["/cancel", "/postpone"] {
            w.owner.post(&event_path(&event, action), json!({})).await.assert_problem(409, "invalid_state");
        }
        w.owner.delete(&event_path(&event, "/result")).await.ok();
        w.owner.post(&event_path(&event, "/cancel"), json!({})).await.ok();
    }

    async fn shootouts_forfeits_and_abandoned_games(w: &World) {
        let team = hawks(w).await;
        let event = game(w, &team).await;
        for (body, expected) in [
            (json!({ "score_for": 2, "score_against": 2, "overtime": true, "shootout": { "for": 4, "against": 5 } }), json!(["final", "loss", 2, 2, "completed"])),
            // In ice hockey, the winner of the shootout gets one more goal.
            (json!({ "score_for": 3, "score_against": 2, "periods": [{ "for": 2, "against": 2 }], "shootout": { "for": 1, "against": 0 } }), json!(["final", "win", 3, 2, "completed"])),
            // In volleyball, the score is the number of sets.
            (json!({ "score_for": 2, "score_against": 1, "periods": [{ "for": 25, "against": 20 }, { "for": 20, "against": 25 }, { "for": 15, "against": 9 }] }), json!(["final", "win", 2, 1, "completed"])),
            (json!({ "status": "forfeit", "forfeited_by": "them" }), json!(["forfeit", "win", null, null, "completed"])),
            (json!({ "status": "forfeit", "forfeited_by": "us", "score_for": 0, "score_against": 3 }), json!(["forfeit", "loss", 0, 3, "completed"])),
            (json!({ "status": "abandoned", "score_for": 1, "score_against": 1 }), json!(["abandoned", null, 1, 1, "scheduled"])),
        ] {
            let recorded = record(&w.owner, &event, body).await.ok();
            assert_eq!(summary(&recorded), expected);
        }
    }

    async fn wrong_results_are_explained(w: &World) {
        let team = hawks(w).await;
        let event = game(w, &team).await;
        for (body, pointer, code) in [
            (json!({}), "/score_for", "required"),
            (json!({ "score_for": 1 }), "/score_against", "required"),
            (json!({ "score_for": -1, "score_against": 0 }), "/score_for", "out_of_range"),
            (json!({ "score_for": 10_000, "score_against": 0 }), "/score_for", "out_of_range"),
            (json!({ "score_for": 1.5, "score_against": 0 }), "/score_for", "wrong_type"),
            (json!({ "score_for": 1, "score_against": 1, "periods": [{ "for": 2, "against": 0 }] }), "/periods", "wrong_sum"),
            (json!({ "score_for": 1, "score_against": 1, "periods": [{ "for": 1 }] }), "/periods/0/against", "required"),
            (json!({ "score_for": 1, "score_against": 1, "shootout": { "for": 3, "against": 3 } }), "/shootout", "invalid"),
            (json!({ "score_for": 3, "score_against": 1, "shootout": { "for": 3, "against": 2 } }), "/shootout", "not_allowed"),
            (json!({ "status": "in_progress", "score_for": 1, "score_against": 1, "shootout": { "for": 3, "against": 2 } }), "/shootout", "not_allowed"),
            (json!({ "status": "forfeit" }), "/forfeited_by", "required"),
            (json!({ "score_for": 1, "score_against": 1, "forfeited_by": "us" }), "/forfeited_by", "not_allowed"),
        ] {
            let refused = record(&w.owner, &event, body.clone()).await;
            let errors = refused.body["errors"].as_array().unwrap();
            assert!(matches!(refused.status, 400 | 422), "{body}");
            assert!(errors.iter().any(|error| error["pointer"] == pointer && error["code"] == code), "{body}: {errors:?}");
        }
        let score = json!({ "score_for": 1, "score_against": 0 });
        let session = w.owner.post("/events", practice(&team, "2026-09-05T11:00:00Z", "2026-09-05T12:30:00Z")).await.created();
        record(&w.owner, &session, score.clone()).await.assert_problem(409, "invalid_state");
        let later = with(practice(&team, "2026-09-07T11:00:00Z", "2026-09-07T12:30:00Z"), json!({ "type": "game" }));
        let later = w.owner.post("/events", later).await.created();
        record(&w.owner, &later, score.clone()).await.assert_problem(409, "invalid_state");
        w.owner.post(&event_path(&later, "/cancel"), json!({})).await.ok();
        record(&w.owner, &later, score.clone()).await.assert_problem(409, "invalid_state");
        w.owner.with_header("If-Match", "\"99\"").put(&event_path(&event, "/result"), score).await.assert_problem(412, "precondition_failed");
    }

    async fn coaches_enter_results_on_a_page(w: &World) {
        let club = w.club().await;
        let event = game(w, &club.hawks).await;
        let (page, path) = (format!("/events/{}", event.id()), format!("/events/{}/result", event.id()));
        let mut coach = w.browser(club.coach.id).await;
        coach.get(&page).await.ok().shows("Enter result");
        let form = coach.get(&path).await.ok().shows("Final score").shows("Score by period").shows("name=\"forfeited_by\"");
        let seen = version(&form);
        let wrong = submit(&mut coach, &path, &seen, &[("status", "final"), ("score_for", "2")]).await;
        assert_eq!(wrong.status, 422);
        wrong.shows("The result was not saved").shows("Enter the score.").shows("value=\"2\"");
        let shootout = [("status", "final"), ("score_for", "4"), ("score_against", "2"), ("shootout_for", "1"), ("shootout_against", "0")];
        submit(&mut coach, &path, &seen, &shootout).await.shows("A shootout is only possible after a draw.");
        let scores = [("status", "final"), ("score_for", "2"), ("score_against", "2"), ("overtime", "yes"),
            ("shootout_for", "4"), ("shootout_against", "3"), ("period_for_1", "2"), ("period_against_1", "2")];
        submit(&mut coach, &path, &seen, &scores).await.redirects_to(&format!("{page}?done=result_saved"));
        coach.get(&page).await.ok().shows(">Win<").shows("2–2 · after overtime · shootout 4–3").shows("Change result");
        coach.get(&path).await.ok().shows("name=\"shootout_for\"").shows("value=\"4\"");

        // Somebody who opened the form before does not overwrite it unseen.
        let late = submit(&mut coach, &path, &seen, &[("status", "final"), ("score_for", "9"), ("score_against", "0")]).await;
        assert_eq!(late.status, 422);
        let late = late.shows("Somebody else has saved a result").shows("Win 2–2").shows("value=\"9\"");
        let seen = version(&late);
        w.advance_clock(seconds(1));
        submit(&mut coach, &path, &seen, &[("status", "final"), ("score_for", "9"), ("score_against", "0")]).await
            .redirects_to(&format!("{page}?done=result_saved"));

        // Families see the result, and cannot change it.
        let mut parent = w.browser(club.parent.id).await;
        let shown = parent.get(&page).await.ok().shows(">9–0<").shows(">Win<");
        assert!(!shown.text.contains("/result"));
        assert_eq!(parent.get(&path).await.status, 403);
        parent.get("/schedule?when=past").await.ok();
        let client = client_with_all_scopes(w, club.parent.id).await;
        record(&client, &event, json!({ "score_for": 0, "score_against": 0 })).await.assert_problem(403, "forbidden");

        let confirm = coach.get(&format!("{path}/delete")).await.ok().shows("Win 9–0").shows("Delete result");
        coach.post(&format!("{path}/delete"), &[("version", &seen)]).await.redirects_to(&path);
        coach.post(&format!("{path}/delete"), &[("version", &version(&confirm))]).await.redirects_to(&format!("{page}?done=result_deleted"));
        coach.get(&page).await.ok().shows("Enter result");
    }
}
