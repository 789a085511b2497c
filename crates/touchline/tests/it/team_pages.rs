//! Tests of the team pages in the admin area.

use testkit::{Browser, TestResponse, World, both};
use touchline::accounts::user::Role;

use crate::signin::RefusedPage;

const TEAM: [(&str, &str); 7] = [
    ("name", "Harbour Hawks U12"),
    ("sport", "Football"),
    ("season", "2026/27"),
    ("age_group", "U12"),
    ("gender", "girls"),
    ("timezone", "Europe/Lisbon"),
    ("color", "#0b5cad"),
];

/// Opens the form and submits it with these fields replaced.
async fn add(browser: &mut Browser, changes: &[(&str, &str)]) -> TestResponse {
    let page = browser.get("/admin/teams/new").await.ok();
    send(browser, &page, changes).await
}

async fn send(
    browser: &mut Browser,
    page: &TestResponse,
    changes: &[(&str, &str)],
) -> TestResponse {
    let nonce =
        page.text.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut fields = TEAM
        .map(|(name, value)| {
            let other = changes.iter().find(|(changed, _)| *changed == name);
            (name, other.map_or(value, |(_, value)| *value))
        })
        .to_vec();
    fields.push(("nonce", nonce));
    browser.post("/admin/teams/new", &fields).await
}

both! {
    async fn team_form_adds_a_team_once(w: &World) {
        let admin = w.user(Role::Admin, "admin@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        browser.get("/admin/teams").await.ok().shows("No teams yet").shows("href=\"/admin/teams/new\"");
        let page = browser.get("/admin/teams/new").await.ok();
        send(&mut browser, &page, &[]).await.redirects_to("/admin/teams?done=added");
        // Submitted twice, it creates one team.
        send(&mut browser, &page, &[]).await.redirects_to("/admin/teams?done=added");
        browser.get("/admin/teams?done=added").await.ok().shows("Team added.").shows("Harbour Hawks U12");
        let teams = w.owner.get("/teams").await.ok();
        assert_eq!(teams.data().as_array().unwrap().len(), 1);
        for (name, value) in TEAM {
            assert_eq!(teams.data()[0][name], value, "{name}");
        }
        let notifications = w.notifications().await;
        assert_eq!(notifications.iter().filter(|row| row["type"] == "team.created").count(), 1);
        let id = teams.data()[0]["id"].as_str().unwrap();
        w.owner.delete(&format!("/teams/{id}")).await.ok();
        browser.get("/admin/teams").await.ok().shows("No teams yet");
        browser.get("/admin/teams?state=archived").await.ok().shows("Harbour Hawks U12").shows("Archived");
    }

    async fn team_form_shows_errors_and_keeps_the_input(w: &World) {
        let owner = w.user(Role::Owner, "owner@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        add(&mut browser, &[("name", "")]).await.refused_page(422).shows("id=\"name-error\"").shows("2026/27");
        add(&mut browser, &[("color", "blue")]).await.refused_page(422).shows("id=\"color-error\"");
        add(&mut browser, &[("timezone", "Nope/Zone")]).await.refused_page(422).shows("id=\"timezone-error\"");
        add(&mut browser, &[("sport", ""), ("season", ""), ("color", "")]).await.redirects_to("/admin/teams?done=added");
        add(&mut browser, &[]).await.refused_page(422).shows("Another active team already has this name");
        let teams = w.owner.get("/teams").await.ok();
        assert_eq!(teams.data().as_array().unwrap().len(), 1);
        assert!(teams.data()[0]["sport"].is_null() && teams.data()[0]["color"].is_null());
    }
}
