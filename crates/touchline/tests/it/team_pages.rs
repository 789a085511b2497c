//! Tests of the team pages.

use testkit::{Browser, TestResponse, World, both, json};
use touchline::accounts::user::Role;

use crate::signin::RefusedPage;

/// The field with the hours before a reminder.
const HOURS: &str = "rsvp_reminder_hours";
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
    let page = browser.get("/teams/new").await.ok();
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
    browser.post("/teams/new", &fields).await
}

/// Opens the form of a team and saves it with this number of hours before reminders.
pub(crate) async fn set_reminder_hours(
    browser: &mut Browser,
    team: &str,
    hours: &str,
) -> TestResponse {
    let path = format!("/teams/{team}/edit");
    let page = browser.get(&path).await.ok();
    let fields = [
        ("name", input(&page, "name")),
        ("timezone", "Europe/Lisbon"),
        (HOURS, hours),
        ("shown", input(&page, "shown")),
    ];
    browser.post(&path, &fields).await
}

/// The value of a field of a form.
fn input<'a>(page: &'a TestResponse, name: &str) -> &'a str {
    let (_, rest) = page.text.split_once(&format!("name=\"{name}\"")).expect("a field");
    let (attributes, _) = rest.split_once('>').unwrap();
    attributes.split("value=\"").nth(1).unwrap().split('"').next().unwrap()
}

both! {
    async fn team_form_adds_a_team_once(w: &World) {
        let admin = w.user(Role::Admin, "admin@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        browser.get("/teams").await.ok().shows("No teams yet").shows("href=\"/teams/new\"");
        let page = browser.get("/teams/new").await.ok();
        let added = send(&mut browser, &page, &[]).await;
        let roster = added.header("location").unwrap().to_owned();
        assert!(added.status == 303 && roster.ends_with("/roster?done=created"), "{}", added.text);
        // Submitted twice, it creates one team.
        send(&mut browser, &page, &[]).await.redirects_to(&roster);
        browser.get(&roster).await.ok().shows("Team added.").shows("Harbour Hawks U12");
        browser.get("/teams").await.ok().shows("Harbour Hawks U12").shows("2026/27");
        let teams = w.owner.get("/teams").await.ok();
        assert_eq!(teams.data().as_array().unwrap().len(), 1);
        for (name, value) in TEAM {
            assert_eq!(teams.data()[0][name], value, "{name}");
        }
        let notifications = w.notifications().await;
        assert_eq!(notifications.iter().filter(|row| row["type"] == "team.created").count(), 1);
        browser.get("/admin/teams?state=archived").await.redirects_to("/teams?state=archived");
    }

    async fn teams_are_edited_archived_and_restored(w: &World) {
        let club = w.club().await;
        let (mut admin, mut coach) = (w.browser(club.admin.id).await, w.browser(club.coach.id).await);
        let path = |below: &str| format!("/teams/{}{below}", club.hawks);
        let shown = |page: &TestResponse, name: &str| page.text.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned();
        // A coach changes the team, with a color of the row or an own one.
        let page = coach.get(&path("/edit")).await.ok();
        let fingerprint = shown(&page, "shown");
        let fields = [("name", "Hawks"), ("season", "2027"), ("palette", "#b3122f"), ("color", ""), ("timezone", "Europe/Lisbon"), ("shown", fingerprint.as_str())];
        coach.post(&path("/edit"), &fields).await.redirects_to(&path("/roster?done=team"));
        let team = w.owner.get(&path("")).await.ok();
        assert_eq!((&team.data()["season"], &team.data()["color"]), (&"2027".into(), &"#b3122f".into()));
        // Somebody with an older page is warned, and keeps what they entered.
        let old = [("name", "Falcons"), ("palette", "own"), ("color", "#123456"), ("timezone", "Europe/Lisbon"), ("shown", fingerprint.as_str())];
        let page = coach.post(&path("/edit"), &old).await.refused_page(422).shows("Somebody else changed this").shows("value=\"Falcons\"").shows("value=\"#123456\"");
        let fingerprint = shown(&page, "shown");
        let again: Vec<_> = old.iter().map(|(name, value)| (*name, if *name == "shown" { fingerprint.as_str() } else { *value })).collect();
        coach.post(&path("/edit"), &again).await.redirects_to(&path("/roster?done=team"));
        for below in ["/archive", "/restore"] {
            coach.get(&path(below)).await.refused_page(403);
            coach.post(&path(below), &[]).await.refused_page(403);
        }
        coach.get("/teams/new").await.refused_page(403);
        coach.get(&format!("/teams/{}/edit", club.otters)).await.refused_page(404);
        w.browser(club.parent.id).await.get(&path("/edit")).await.refused_page(403);
        // An admin archives and restores it.
        let page = admin.get(&path("/archive")).await.ok().shows("Nothing is deleted");
        let version = shown(&page, "version");
        admin.post(&path("/archive"), &[("version", &version)]).await.redirects_to("/teams?done=archived");
        admin.post(&path("/archive"), &[("version", &version)]).await.redirects_to("/teams?done=archived");
        admin.get(&path("/archive")).await.ok().shows("already archived");
        admin.get("/teams?state=archived").await.ok().shows("Falcons").shows("Restore");
        admin.get(&path("/edit")).await.refused_page(409);
        admin.get(&path("/roster/new")).await.refused_page(409);
        coach.get("/teams").await.ok().shows("You are not on a team yet");
        let page = admin.get(&path("/restore")).await.ok();
        admin.post(&path("/restore"), &[("version", &shown(&page, "version"))]).await.redirects_to("/teams?done=restored");
        let page = coach.get("/teams").await.ok().shows("Falcons");
        assert!(!page.text.contains("Otters") && !page.text.contains("New team"), "{}", page.text);
    }

    async fn team_form_shows_errors_and_keeps_the_input(w: &World) {
        let owner = w.user(Role::Owner, "owner@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        add(&mut browser, &[("name", "")]).await.refused_page(422).shows("id=\"name-error\"").shows("2026/27");
        add(&mut browser, &[("color", "blue")]).await.refused_page(422).shows("id=\"color-error\"");
        add(&mut browser, &[("timezone", "Nope/Zone")]).await.refused_page(422).shows("id=\"timezone-error\"");
        assert_eq!(add(&mut browser, &[("sport", ""), ("season", ""), ("color", "")]).await.status, 303);
        add(&mut browser, &[]).await.refused_page(422).shows("Another active team already has this name");
        let teams = w.owner.get("/teams").await.ok();
        assert_eq!(teams.data().as_array().unwrap().len(), 1);
        assert!(teams.data()[0]["sport"].is_null() && teams.data()[0]["color"].is_null());
    }
    async fn the_hours_before_a_reminder_are_set_and_cleared(w: &World) {
        let club = w.club().await;
        let mut admin = w.browser(club.admin.id).await;
        for (name, entered, stored) in [("Gulls", "24", json!(24)), ("Terns", "", json!(null)), ("Skuas", "168", json!(168))] {
            let page = admin.get("/teams/new").await.ok();
            assert_eq!(input(&page, HOURS), "48");
            let nonce = input(&page, "nonce").to_owned();
            let fields = [("name", name), ("timezone", "Europe/Lisbon"), (HOURS, entered), ("nonce", &nonce)];
            let added = admin.post("/teams/new", &fields).await;
            let path = added.header("location").unwrap().strip_suffix("/roster?done=created").unwrap().to_owned();
            assert_eq!(w.owner.get(&path).await.ok().data()[HOURS], stored, "{name}");
            assert_eq!(input(&admin.get(&format!("{path}/edit")).await.ok(), HOURS), entered);
        }
        let mut coach = w.browser(club.coach.id).await;
        let (path, edit) = (format!("/teams/{}", club.hawks), format!("/teams/{}/edit", club.hawks));
        for (entered, stored) in [("24", json!(24)), ("", json!(null)), ("", json!(null)), (" 1 ", json!(1)), ("24", json!(24))] {
            set_reminder_hours(&mut coach, &club.hawks, entered).await.redirects_to(&format!("{path}/roster?done=team"));
            assert_eq!(w.owner.get(&path).await.ok().data()[HOURS], stored, "{entered}");
            assert_eq!(input(&coach.get(&edit).await.ok(), HOURS), entered.trim());
        }
        for entered in ["0", "169", "-1", "1.5", "soon"] {
            let page = set_reminder_hours(&mut coach, &club.hawks, entered).await.refused_page(422);
            assert_eq!(input(&page, HOURS), entered);
            page.shows("id=\"rsvp_reminder_hours-error\"").shows("Enter a number of hours from 1 to 168, or leave the field empty.");
        }
        assert_eq!(w.owner.get(&path).await.ok().data()[HOURS], 24);
    }
}
