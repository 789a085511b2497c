//! The pages of teams in the admin area.

use testkit::{Answer, Browser, World, both};
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

/// Opens the form and sends it, with these fields in place of the usual ones.
async fn add(browser: &mut Browser, changes: &[(&str, &str)]) -> Answer {
    let page = browser.get("/admin/teams/new").await.ok();
    send(browser, &page, changes).await
}

async fn send(browser: &mut Browser, page: &Answer, changes: &[(&str, &str)]) -> Answer {
    let nonce =
        page.text.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut fields = TEAM
        .map(|(name, value)| {
            let other = changes.iter().find(|(known, _)| *known == name);
            (name, other.map_or(value, |(_, value)| *value))
        })
        .to_vec();
    fields.push(("nonce", nonce));
    browser.post("/admin/teams/new", &fields).await
}

both! {
    async fn the_first_team_is_added_on_a_page(w: &World) {
        let admin = w.user(Role::Admin, "admin@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        browser.get("/admin/teams").await.ok().shows("No teams yet").shows("href=\"/admin/teams/new\"");
        let page = browser.get("/admin/teams/new").await.ok();
        send(&mut browser, &page, &[]).await.leads_to("/admin/teams?done=added");
        // Sent twice, it makes one team.
        send(&mut browser, &page, &[]).await.leads_to("/admin/teams?done=added");
        browser.get("/admin/teams?done=added").await.ok().shows("The team was added").shows("Harbour Hawks U12");
        let teams = w.owner.get("/teams").await.ok();
        assert_eq!(teams.data().as_array().unwrap().len(), 1);
        for (name, value) in TEAM {
            assert_eq!(teams.data()[0][name], value, "{name}");
        }
        let news = w.news().await;
        assert_eq!(news.iter().filter(|news| news["type"] == "team.created").count(), 1);
        let id = teams.data()[0]["id"].as_str().unwrap();
        w.owner.delete(&format!("/teams/{id}")).await.ok();
        browser.get("/admin/teams").await.ok().shows("No teams yet");
        browser.get("/admin/teams?state=archived").await.ok().shows("Harbour Hawks U12").shows("Archived");
    }

    async fn a_team_that_cannot_be_added_says_why_and_keeps_what_was_typed(w: &World) {
        let owner = w.user(Role::Owner, "owner@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        add(&mut browser, &[("name", "")]).await.refused_page(422).shows("id=\"name-error\"").shows("2026/27");
        add(&mut browser, &[("color", "blue")]).await.refused_page(422).shows("id=\"color-error\"");
        add(&mut browser, &[("timezone", "Nope/Zone")]).await.refused_page(422).shows("id=\"timezone-error\"");
        add(&mut browser, &[("sport", ""), ("season", ""), ("color", "")]).await.leads_to("/admin/teams?done=added");
        add(&mut browser, &[]).await.refused_page(422).shows("Another active team already has this name");
        let teams = w.owner.get("/teams").await.ok();
        assert_eq!(teams.data().as_array().unwrap().len(), 1);
        assert!(teams.data()[0]["sport"].is_null() && teams.data()[0]["color"].is_null());
    }
}
