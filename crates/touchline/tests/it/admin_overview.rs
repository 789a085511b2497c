//! Tests of the overview and the settings of a club.

use std::collections::BTreeSet;

use testkit::{TestResponse, World, both, json};
use touchline::accounts::user::Role;
use touchline::demo;

use crate::joining::{link_in, team};

both! {
    async fn overview_shows_counts_and_open_tasks(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let hawks = team(w, "Hawks").await;
        let mut browser = w.browser(owner.id).await;
        let event = json!({ "team_id": hawks.id.to_string(), "title": "Practice <b>", "type": "practice",
            "starts_at": "2026-09-07T17:00", "ends_at": "2026-09-07T18:00" });
        w.owner.post("/events", event).await.created();
        let page = browser.get("/admin").await
            .shows("1 owner has no two-step sign-in")
            .shows("Recent activity")
            .shows("Event created");
        assert!(page.text.len() < 60_000, "{} bytes", page.text.len());
        for href in ["/admin/members", "/admin/events", "/admin/members/claims", "/admin/failed-emails", "/admin/audit"] {
            assert!(page.text.contains(&format!("href=\"{href}\"")), "{href}");
        }
        assert!(!page.text.contains("want to join") && !page.text.contains("wants to join"));
        browser.get("/admin/events").await.shows("Practice &#60;b&#62;").shows("Hawks");
        browser.get("/admin/failed-emails").await.shows("No failed emails");
        let id = hawks.id.to_string();
        link_in(&browser.post("/admin/members/link", &[("team", &id)]).await);
        browser.get("/admin").await.shows("1 invited").shows("Invitation created");
    }

    async fn overview_of_a_busy_club_stays_small(w: &World) {
        demo::load(&w.node.app).await.unwrap();
        let owner = w.user_of(demo::ACCOUNT, Role::Owner, "owner@example.org").await;
        let mut browser = w.browser_at(owner.id, Some(demo::ACCOUNT)).await.with_header("Accept-Encoding", "gzip");
        let page = browser.get("/admin").await.ok().shows("Recent activity");
        let html = size(&page);
        assert!(html < 60_000, "{html} bytes");
        let asset_urls = page.text.split('"').filter(|text| text.starts_with("/assets/"));
        let files: BTreeSet<_> = asset_urls.filter_map(|text| text.split('#').next()).collect();
        for file in ["app.css", "app.js", "htmx.min.js", "icons.svg", "mark.svg"] {
            assert!(files.iter().any(|known| known.starts_with(&format!("/assets/{file}?v="))), "{file}");
        }
        let mut total = html;
        for file in files {
            let asset = browser.get(file).await.ok();
            assert_eq!(asset.header("content-encoding"), Some("gzip"), "{file}");
            total += size(&asset);
        }
        assert!(total < 150_000, "{total} bytes");
    }

    async fn changing_settings_publishes_a_notification(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut browser = w.browser(owner.id).await;
        browser.get("/admin/settings").await.shows("value=\"Harbour\"").shows("League").shows("6,000");
        let wrong = [("name", ""), ("sport", "rugby"), ("timezone", "Mars/Olympus")];
        let answer = browser.post("/admin/settings", &wrong).await;
        assert_eq!(answer.status, 422);
        answer.shows("This time zone does not exist").shows("value=\"rugby\"");
        let before = w.notifications().await.len();
        let right = [("name", "Harbour <i>AC</i>"), ("sport", "rugby"), ("timezone", "Europe/Lisbon"), ("tier", "free")];
        browser.post("/admin/settings", &right).await.redirects_to("/admin/settings?done=saved");
        browser.post("/admin/settings", &right).await.redirects_to("/admin/settings?done=saved");
        let me = w.owner.get("/me").await.ok();
        let account = &me.data()["account"];
        assert_eq!((&account["name"], &account["timezone"]), (&json!("Harbour <i>AC</i>"), &json!("Europe/Lisbon")));
        assert_eq!((&account["sport"], &account["tier"]), (&json!("rugby"), &json!("league")));
        let notifications = w.notifications().await;
        assert_eq!(notifications.len(), before + 1, "saving the same again tells nobody");
        assert_eq!(notifications[before]["type"], "account.updated");
        let page = browser.get("/admin/settings?done=saved").await.shows("The settings were saved.");
        assert!(!page.text.contains("<i>AC"));
        let new = w.owner.post("/teams", json!({ "name": "New" })).await.created();
        assert_eq!(new.data()["timezone"], "Europe/Lisbon");
        // Only the demo club can be removed here.
        assert_eq!(browser.get("/admin/settings/demo").await.status, 404);
        assert_eq!(browser.post("/admin/settings/demo", &[]).await.status, 404);
        w.owner.get("/teams").await.ok();
    }
}

/// The number of bytes sent, compressed or not.
fn size(answer: &TestResponse) -> usize {
    answer.header("content-length").and_then(|length| length.parse().ok()).expect("a length")
}
