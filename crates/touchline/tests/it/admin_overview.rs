//! Stories about the overview and the settings of a club.

use std::collections::BTreeSet;

use testkit::{Answer, World, both, json};
use touchline::accounts::user::Role;
use touchline::demo;

use crate::joining::{link_in, team};

both! {
    async fn the_overview_counts_and_says_what_waits(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let hawks = team(w, "Hawks").await;
        let mut browser = w.browser(owner.id).await;
        let event = json!({ "team_id": hawks.id.to_string(), "title": "Practice <b>", "type": "practice",
            "starts_at": "2026-09-07T17:00", "ends_at": "2026-09-07T18:00" });
        w.owner.post("/events", event).await.created();
        let page = browser.get("/admin").await
            .shows("1 owner signs in with a password alone")
            .shows("What happened last")
            .shows("Event created");
        assert!(page.text.len() < 60_000, "{} bytes", page.text.len());
        for href in ["/admin/members", "/admin/events", "/admin/members/claims", "/admin/letters", "/admin/audit"] {
            assert!(page.text.contains(&format!("href=\"{href}\"")), "{href}");
        }
        assert!(!page.text.contains("want to join") && !page.text.contains("wants to join"));
        browser.get("/admin/events").await.shows("Practice &#60;b&#62;").shows("Hawks");
        browser.get("/admin/letters").await.shows("Every letter arrived");
        let id = hawks.id.to_string();
        link_in(&browser.post("/admin/members/link", &[("team", &id)]).await);
        browser.get("/admin").await.shows("1 invited").shows("Invitation created");
    }

    async fn the_overview_of_a_busy_club_loads_quickly(w: &World) {
        demo::load(&w.node.app).await.unwrap();
        let owner = w.user_of(demo::ACCOUNT, Role::Owner, "owner@example.org").await;
        let mut browser = w.browser_at(owner.id, Some(demo::ACCOUNT)).await.with("Accept-Encoding", "gzip");
        let page = browser.get("/admin").await.ok().shows("What happened last");
        let html = size(&page);
        assert!(html < 60_000, "{html} bytes");
        let named = page.text.split('"').filter(|text| text.starts_with("/assets/"));
        let files: BTreeSet<_> = named.filter_map(|text| text.split('#').next()).collect();
        for file in ["app.css", "app.js", "htmx.min.js", "icons.svg", "mark.svg"] {
            assert!(files.iter().any(|known| known.starts_with(&format!("/assets/{file}?v="))), "{file}");
        }
        let mut whole = html;
        for file in files {
            let asset = browser.get(file).await.ok();
            assert_eq!(asset.header("content-encoding"), Some("gzip"), "{file}");
            whole += size(&asset);
        }
        assert!(whole < 150_000, "{whole} bytes");
    }

    async fn settings_are_changed_and_told(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut browser = w.browser(owner.id).await;
        browser.get("/admin/settings").await.shows("value=\"Harbour\"").shows("League").shows("6,000");
        let wrong = [("name", ""), ("sport", "rugby"), ("timezone", "Mars/Olympus")];
        let told = browser.post("/admin/settings", &wrong).await;
        assert_eq!(told.status, 422);
        told.shows("not the name of a time zone").shows("value=\"rugby\"");
        let before = w.news().await.len();
        let right = [("name", "Harbour <i>AC</i>"), ("sport", "rugby"), ("timezone", "Europe/Lisbon"), ("tier", "free")];
        browser.post("/admin/settings", &right).await.leads_to("/admin/settings?done=saved");
        browser.post("/admin/settings", &right).await.leads_to("/admin/settings?done=saved");
        let me = w.owner.get("/me").await.ok();
        let account = &me.data()["account"];
        assert_eq!((&account["name"], &account["timezone"]), (&json!("Harbour <i>AC</i>"), &json!("Europe/Lisbon")));
        assert_eq!((&account["sport"], &account["tier"]), (&json!("rugby"), &json!("league")));
        let news = w.news().await;
        assert_eq!(news.len(), before + 1, "saving the same again tells nobody");
        assert_eq!(news[before]["type"], "account.updated");
        let page = browser.get("/admin/settings?done=saved").await.shows("Saved.");
        assert!(!page.text.contains("<i>AC"));
        let new = w.owner.post("/teams", json!({ "name": "New" })).await.created();
        assert_eq!(new.data()["timezone"], "Europe/Lisbon");
        // Only the demo club can be removed here.
        assert_eq!(browser.get("/admin/settings/demo").await.status, 404);
        assert_eq!(browser.post("/admin/settings/demo", &[]).await.status, 404);
        w.owner.get("/teams").await.ok();
    }
}

/// How many bytes were sent, packed or not.
fn size(answer: &Answer) -> usize {
    answer.header("content-length").and_then(|length| length.parse().ok()).expect("a length")
}
