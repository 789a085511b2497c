//! Tests of who sees and changes locations. A location may be somebody's home: callers who can access only some teams
//! see the locations of these teams' events, those they added, and, if they manage a team, those that are shared.

use testkit::{Client, TestResponse, World, both, json};

use crate::events::{field_texts, practice, team_client, with};
use crate::roster_access::client_with_all_scopes;

const EVERYTHING: &str = "events:read events:write";

fn location_path(location: &TestResponse) -> String {
    format!("/locations/{}", location.id())
}

/// The names of the locations that a caller sees.
async fn names(client: &Client) -> Vec<String> {
    field_texts(&client.get("/locations").await.ok(), "name")
}

/// Creates a location of the club, and an event of this team there.
async fn location_with_event(w: &World, team: &str, name: &str, shared: bool) -> TestResponse {
    let body = json!({ "name": name, "address": "12 Quay Street", "shared": shared });
    let created = w.owner.post("/locations", body).await.created();
    create_event_at(&w.owner, team, created.id()).await.created();
    created
}

async fn create_event_at(client: &Client, team: &str, location: &str) -> TestResponse {
    let event = practice(team, "2026-09-10T18:00:00Z", "2026-09-10T19:00:00Z");
    client.post("/events", with(event, json!({ "location_id": location }))).await
}

both! {
    async fn a_key_for_one_team_sees_the_locations_of_its_events(w: &World) {
        let club = w.club().await;
        let own = location_with_event(w, &club.hawks, "Own", false).await;
        let home = location_with_event(w, &club.otters, "Home", false).await;
        let pitch = location_with_event(w, &club.otters, "Pitch", true).await;
        let key = team_client(w, &club.hawks, EVERYTHING).await;
        assert_eq!(names(&key).await, ["Own"]);
        key.get(&location_path(&own)).await.ok();
        for hidden in [&home, &pitch] {
            key.get(&location_path(hidden)).await.assert_problem(404, "not_found");
            assert_eq!(field_texts(&key.get("/locations?q=o").await.ok(), "name"), ["Own"]);
            // An event there would show the address.
            let refused = create_event_at(&key, &club.hawks, hidden.id()).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/location_id"]);
            assert!(!refused.text.contains("Quay"), "{}", refused.text);
        }
        let event = create_event_at(&key, &club.hawks, own.id()).await.created();
        assert_eq!(event.data()["location"]["address"], "12 Quay Street");
        let path = format!("/events/{}", event.id());
        let moved = json!({ "location_id": home.id() });
        assert_eq!(key.patch(&path, moved).await.assert_problem(422, "validation_failed").pointers(), ["/location_id"]);
        // A key of the whole club sees them all.
        let (_, club_key) = w.client_with_key(testkit::world::new_key("events:read")).await;
        assert_eq!(names(&club_key).await, ["Own", "Home", "Pitch"]);
        // Once an event of the team is there, the team sees it.
        w.owner.patch(&path, json!({ "location_id": home.id() })).await.ok();
        assert_eq!(names(&key).await, ["Own", "Home"]);
    }

    async fn a_key_for_one_team_sees_and_uses_locations_it_added(w: &World) {
        let club = w.club().await;
        let key = team_client(w, &club.hawks, EVERYTHING).await;
        let created = key.post("/locations", json!({ "name": "Garden" })).await.created();
        assert_eq!(created.data()["shared"], false);
        let shared = json!({ "name": "Garden", "shared": true });
        assert_eq!(key.post("/locations", shared).await.assert_problem(422, "validation_failed").pointers(), ["/shared"]);
        assert_eq!(names(&key).await, ["Garden"]);
        let other = team_client(w, &club.otters, EVERYTHING).await;
        assert_eq!(names(&other).await, Vec::<String>::new());
        assert_eq!(names(&client_with_all_scopes(w, club.coach.id).await).await, Vec::<String>::new());
        create_event_at(&key, &club.hawks, created.id()).await.created();
        assert_eq!(names(&client_with_all_scopes(w, club.coach.id).await).await, ["Garden"]);
        assert_eq!(names(&other).await, Vec::<String>::new());
        // Other teams may use it too, so only callers with access to the whole club can change it.
        key.patch(&location_path(&created), json!({ "name": "x" })).await.assert_problem(403, "forbidden");
        key.delete(&location_path(&created)).await.assert_problem(403, "forbidden");
    }

    async fn coaches_use_shared_locations_and_families_see_those_of_their_events(w: &World) {
        let club = w.club().await;
        let own = location_with_event(w, &club.hawks, "Own", false).await;
        let home = location_with_event(w, &club.otters, "Home", false).await;
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        assert_eq!(pitch.data()["shared"], true);
        let coach = client_with_all_scopes(w, club.coach.id).await;
        assert_eq!(names(&coach).await, ["Own", "Pitch"]);
        coach.get(&location_path(&home)).await.assert_problem(404, "not_found");
        for family in [&club.parent, &club.player] {
            let family = client_with_all_scopes(w, family.id).await;
            assert_eq!(names(&family).await, ["Own"]);
            family.get(&location_path(&own)).await.ok();
            family.get(&location_path(&pitch)).await.assert_problem(404, "not_found");
            family.get(&location_path(&home)).await.assert_problem(404, "not_found");
        }
        create_event_at(&coach, &club.hawks, pitch.id()).await.created();
        assert_eq!(names(&client_with_all_scopes(w, club.parent.id).await).await, ["Own", "Pitch"]);
        let garden = coach.post("/locations", json!({ "name": "Garden" })).await.created();
        assert_eq!(names(&coach).await, ["Own", "Pitch", "Garden"]);
        coach.patch(&location_path(&garden), json!({ "name": "x" })).await.assert_problem(403, "forbidden");
        for admin in [&club.owner, &club.admin] {
            let admin = client_with_all_scopes(w, admin.id).await;
            assert_eq!(names(&admin).await, ["Own", "Home", "Pitch", "Garden"]);
            admin.patch(&location_path(&home), json!({ "shared": null })).await.ok();
            assert!(names(&coach).await.contains(&"Home".to_owned()));
            admin.patch(&location_path(&home), json!({ "shared": false })).await.ok();
            assert!(!names(&coach).await.contains(&"Home".to_owned()));
        }
    }

    async fn notifications_exports_and_calendars_hide_locations_of_other_teams(w: &World) {
        let club = w.club().await;
        location_with_event(w, &club.hawks, "Own ground", false).await;
        location_with_event(w, &club.otters, "Private home", false).await;
        let all = touchline::rights::Scopes::all_named().to_string();
        let key = team_client(w, &club.hawks, &all).await;
        let feed = key.post("/calendar_feeds", json!({ "team_id": club.hawks })).await.created();
        let url = feed.data()["url"].as_str().unwrap();
        let calendar = url[url.find("/calendar/").unwrap()..].to_owned();
        for path in ["/locations", "/locations?status=all", "/events", "/exports/events.csv", "/notifications", &calendar] {
            let seen = key.get(path).await.ok();
            assert!(!seen.text.contains("Private home"), "{path}: {}", seen.text);
            assert!(path == "/notifications" || seen.text.contains("Own ground"), "{path}: {}", seen.text);
        }
    }
}
