//! Who sees and changes locations. A location may be somebody's home: callers who reach some teams only see the
//! locations of their teams' events, those they added, and, if they lead a team, those that are shared.

use testkit::{Answer, Client, World, both, json};

use crate::events::{narrowed, practice, texts, with};
use crate::standing::acting;

const EVERYTHING: &str = "events:read events:write";

fn place(location: &Answer) -> String {
    format!("/locations/{}", location.id())
}

/// The names of the locations that a caller sees.
async fn names(client: &Client) -> Vec<String> {
    texts(&client.get("/locations").await.ok(), "name")
}

/// A location of the club, and an event of this team there.
async fn used(w: &World, team: &str, name: &str, shared: bool) -> Answer {
    let body = json!({ "name": name, "address": "12 Quay Street", "shared": shared });
    let made = w.owner.post("/locations", body).await.created();
    meets(&w.owner, team, made.id()).await.created();
    made
}

async fn meets(client: &Client, team: &str, location: &str) -> Answer {
    let event = practice(team, "2026-09-10T18:00:00Z", "2026-09-10T19:00:00Z");
    client.post("/events", with(event, json!({ "location_id": location }))).await
}

both! {
    async fn a_key_for_one_team_sees_the_locations_of_its_events(w: &World) {
        let cast = w.cast().await;
        let own = used(w, &cast.hawks, "Own", false).await;
        let home = used(w, &cast.otters, "Home", false).await;
        let pitch = used(w, &cast.otters, "Pitch", true).await;
        let key = narrowed(w, &cast.hawks, EVERYTHING).await;
        assert_eq!(names(&key).await, ["Own"]);
        key.get(&place(&own)).await.ok();
        for hidden in [&home, &pitch] {
            key.get(&place(hidden)).await.refused(404, "not_found");
            assert_eq!(texts(&key.get("/locations?q=o").await.ok(), "name"), ["Own"]);
            // An event there would show the address.
            let refused = meets(&key, &cast.hawks, hidden.id()).await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/location_id"]);
            assert!(!refused.text.contains("Quay"), "{}", refused.text);
        }
        let event = meets(&key, &cast.hawks, own.id()).await.created();
        assert_eq!(event.data()["location"]["address"], "12 Quay Street");
        let path = format!("/events/{}", event.id());
        let moved = json!({ "location_id": home.id() });
        assert_eq!(key.patch(&path, moved).await.refused(422, "validation_failed").pointers(), ["/location_id"]);
        // A key of the whole club sees them all.
        let (_, whole) = w.caller(testkit::world::new_key("events:read")).await;
        assert_eq!(names(&whole).await, ["Own", "Home", "Pitch"]);
        // Once an event of the team is there, the team sees it.
        w.owner.patch(&path, json!({ "location_id": home.id() })).await.ok();
        assert_eq!(names(&key).await, ["Own", "Home"]);
    }

    async fn a_key_for_one_team_sees_and_plans_with_what_it_added(w: &World) {
        let cast = w.cast().await;
        let key = narrowed(w, &cast.hawks, EVERYTHING).await;
        let made = key.post("/locations", json!({ "name": "Garden" })).await.created();
        assert_eq!(made.data()["shared"], false);
        let shared = json!({ "name": "Garden", "shared": true });
        assert_eq!(key.post("/locations", shared).await.refused(422, "validation_failed").pointers(), ["/shared"]);
        assert_eq!(names(&key).await, ["Garden"]);
        let other = narrowed(w, &cast.otters, EVERYTHING).await;
        assert_eq!(names(&other).await, Vec::<String>::new());
        assert_eq!(names(&acting(w, cast.coach.id).await).await, Vec::<String>::new());
        meets(&key, &cast.hawks, made.id()).await.created();
        assert_eq!(names(&acting(w, cast.coach.id).await).await, ["Garden"]);
        assert_eq!(names(&other).await, Vec::<String>::new());
        // Other teams may meet there too, so that only the club changes it.
        key.patch(&place(&made), json!({ "name": "x" })).await.refused(403, "forbidden");
        key.delete(&place(&made)).await.refused(403, "forbidden");
    }

    async fn coaches_plan_with_shared_locations_and_families_see_their_own(w: &World) {
        let cast = w.cast().await;
        let own = used(w, &cast.hawks, "Own", false).await;
        let home = used(w, &cast.otters, "Home", false).await;
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        assert_eq!(pitch.data()["shared"], true);
        let coach = acting(w, cast.coach.id).await;
        assert_eq!(names(&coach).await, ["Own", "Pitch"]);
        coach.get(&place(&home)).await.refused(404, "not_found");
        for family in [&cast.parent, &cast.player] {
            let family = acting(w, family.id).await;
            assert_eq!(names(&family).await, ["Own"]);
            family.get(&place(&own)).await.ok();
            family.get(&place(&pitch)).await.refused(404, "not_found");
            family.get(&place(&home)).await.refused(404, "not_found");
        }
        meets(&coach, &cast.hawks, pitch.id()).await.created();
        assert_eq!(names(&acting(w, cast.parent.id).await).await, ["Own", "Pitch"]);
        let garden = coach.post("/locations", json!({ "name": "Garden" })).await.created();
        assert_eq!(names(&coach).await, ["Own", "Pitch", "Garden"]);
        coach.patch(&place(&garden), json!({ "name": "x" })).await.refused(403, "forbidden");
        for whole in [&cast.owner, &cast.admin] {
            let whole = acting(w, whole.id).await;
            assert_eq!(names(&whole).await, ["Own", "Home", "Pitch", "Garden"]);
            whole.patch(&place(&home), json!({ "shared": null })).await.ok();
            assert!(names(&coach).await.contains(&"Home".to_owned()));
            whole.patch(&place(&home), json!({ "shared": false })).await.ok();
            assert!(!names(&coach).await.contains(&"Home".to_owned()));
        }
    }

    async fn news_exports_and_calendars_hide_the_locations_of_other_teams(w: &World) {
        let cast = w.cast().await;
        used(w, &cast.hawks, "Own ground", false).await;
        used(w, &cast.otters, "Private home", false).await;
        let all = touchline::accounts::rights::Scopes::all_named().to_string();
        let key = narrowed(w, &cast.hawks, &all).await;
        let feed = key.post("/calendar_feeds", json!({ "team_id": cast.hawks })).await.created();
        let url = feed.data()["url"].as_str().unwrap();
        let calendar = url[url.find("/calendar/").unwrap()..].to_owned();
        for path in ["/locations", "/locations?status=all", "/events", "/exports/events.csv", "/notifications", &calendar] {
            let seen = key.get(path).await.ok();
            assert!(!seen.text.contains("Private home"), "{path}: {}", seen.text);
            assert!(path == "/notifications" || seen.text.contains("Own ground"), "{path}: {}", seen.text);
        }
    }
}
