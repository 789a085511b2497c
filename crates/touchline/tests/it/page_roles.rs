//! Who can open and submit which page: every page outside of the admin area, for everybody in the test club.

use testkit::{Browser, TestClub, World, both, json};
use touchline::accounts::user::Role;

use crate::matrix::{objects_of_child, sequence};
use crate::openapi::operations;
use crate::page_routes::{Route, page_routes};
use crate::roster_access::{client_with_all_scopes, clients_of_cast};
use crate::tenant_isolation::{fill_path as fill_api_path, with_person_query};

/// Path, outcome of GET and outcome of POST per caller: `+` allowed, `-` forbidden (403), `0` not found (404). The columns
/// are owner, admin, coach, coach of another team, player, guardian, user without a roster and owner of another club
/// with objects of somebody else's child, then the guardian with their own.
const TABLE: &[(&str, &str, &str)] = &[
    ("/", "++++++++ +", ""),
    ("/dues", "++++++++ +", ""),
    ("/dues/teams/{team}", "+++0--00 -", ""),
    ("/dues/{id}", "+++00000 +", ""),
    ("/dues/{id}/pay", "", "+++00000 +"),
    ("/dues/{id}/receipt", "+++00000 +", ""),
    // The empty form names no team.
    ("/events/new", "++++---+ -", "00000000 0"),
    ("/events/{event}", "+++0++00 +", ""),
    ("/events/{event}/answer", "", "+++0++00 +"),
    ("/events/{event}/attendance", "+++0--00 -", "+++0--00 -"),
    ("/events/{event}/result", "+++0--00 -", "+++0--00 -"),
    ("/events/{event}/result/delete", "+++0--00 -", "+++0--00 -"),
    ("/events/{event}/cancel", "+++0--00 -", "+++0--00 -"),
    ("/events/{event}/delete", "+++0--00 -", "+++0--00 -"),
    ("/events/{event}/duties/{duty}", "", "+++0++00 +"),
    ("/events/{event}/edit", "+++0--00 -", "+++0--00 -"),
    ("/events/{event}/postpone", "+++0--00 -", "+++0--00 -"),
    ("/events/{event}/remind", "", "+++0--00 -"),
    ("/files/{file}", "+++00000 +", ""),
    ("/home/seen", "", "++++++++ +"),
    ("/locations", "++++---+ -", ""),
    ("/locations/new", "++++---+ -", "++++---+ -"),
    // The place is not shared with other teams.
    ("/locations/{location}", "+++0---0 -", "++-----0 -"),
    ("/locations/{location}/archive", "++-----0 -", "++-----0 -"),
    ("/messages", "++++++++ +", ""),
    ("/messages/new", "++++++++ +", "++++++++ +"),
    ("/messages/new/recipients", "", "++++++++ +"),
    ("/messages/templates", "++-----+ -", ""),
    ("/messages/templates/new", "++-----+ -", "++-----+ -"),
    ("/messages/templates/{template}", "++-----0 -", "++-----0 -"),
    ("/messages/templates/{template}/delete", "++-----0 -", "++-----0 -"),
    ("/messages/{message}", "+++00000 +", "+++00000 +"),
    ("/messages/{message}/edit", "+++00000 +", "+++00000 +"),
    ("/messages/{message}/pin", "", "+++00000 -"),
    ("/messages/{message}/receipts", "+++00000 +", ""),
    ("/messages/{message}/retract", "+++00000 +", "+++00000 +"),
    ("/messages/{message}/send", "", "+++00000 +"),
    ("/more", "++++++++ +", ""),
    ("/people", "++-----+ -", ""),
    ("/people/duplicates", "++-----+ -", ""),
    ("/people/{person}", "++-----0 -", ""),
    ("/people/{person}/adult", "", "++-----0 -"),
    ("/people/{person}/away", "+++00000 +", "+++00000 +"),
    ("/people/{person}/away/{away}/remove", "", "+++00000 +"),
    ("/people/{person}/edit", "++-----0 -", "++-----0 -"),
    ("/people/{person}/erase", "++-----0 -", "++-----0 -"),
    ("/people/{person}/export", "++-----0 -", "++-----0 -"),
    ("/people/{person}/medical", "++-----0 -", "++-----0 -"),
    // The empty form names no other record.
    ("/people/{person}/merge", "++-----0 -", "00-----0 -"),
    ("/people/{person}/minor", "", "++-----0 -"),
    // Only a guardian or an admin sets the photo of a minor.
    ("/people/{person}/photo", "+++00000 +", "++-00000 +"),
    ("/schedule", "++++++++ +", ""),
    ("/schedule/away", "++++++++ +", ""),
    ("/schedule/print", "++++++++ +", ""),
    ("/schedule/subscribe", "++++++++ +", "++++++++ +"),
    ("/schedule/subscribe/{feed}/revoke", "+++00000 +", "+++00000 +"),
    ("/store", "++++++++ +", "++++++++ +"),
    ("/store/orders", "++++++++ +", ""),
    ("/store/orders/{id}", "+++00000 +", ""),
    ("/store/orders/{id}/cancel", "+++00000 +", "+++00000 +"),
    ("/store/orders/{id}/checkout", "", "+++00000 +"),
    ("/store/orders/{id}/receipt", "+++00000 +", ""),
    ("/store/products/{id}/pick-list", "+++0---0 -", ""),
    ("/teams", "++++++++ +", ""),
    ("/teams/add-people", "++++---+ -", ""),
    ("/teams/move", "++++---+ -", "++++---+ -"),
    ("/teams/new", "++-----+ -", "++-----+ -"),
    ("/teams/{team}", "+++0++00 +", ""),
    ("/teams/{team}/archive", "++-----0 -", "++-----0 -"),
    ("/teams/{team}/attendance", "+++0++00 +", ""),
    ("/teams/{team}/attendance.csv", "+++0--00 -", ""),
    ("/teams/{team}/edit", "+++0--00 -", "+++0--00 -"),
    ("/teams/{team}/emergency", "+++0--00 -", ""),
    ("/teams/{team}/logo", "+++0--00 -", "+++0--00 -"),
    ("/teams/{team}/messages", "+++0++00 +", ""),
    ("/teams/{team}/restore", "++-----0 -", "++-----0 -"),
    ("/teams/{team}/roster", "+++0++00 +", ""),
    ("/teams/{team}/roster/new", "+++0--00 -", "+++0--00 -"),
    ("/teams/{team}/roster/paste", "+++0--00 -", "+++0--00 -"),
    ("/teams/{team}/roster/{member}", "+++0++00 +", ""),
    ("/teams/{team}/roster/{member}/edit", "+++0--00 -", "+++0--00 -"),
    ("/teams/{team}/roster/{member}/move", "+++0--00 -", "+++0--00 -"),
    // Others see the page without the note.
    ("/teams/{team}/roster/{member}/note", "+++0++00 +", "+++0++00 +"),
    ("/teams/{team}/roster/{member}/note/save", "", "+++0--00 -"),
    ("/teams/{team}/roster/{member}/remove", "+++0--00 -", "+++0--00 -"),
];

/// Pages about the visitor's own user, and pages that need no session.
const OTHER_PAGES: [&str; 16] = [
    "/account",
    "/accounts",
    "/admin",
    "/checkout",
    "/confirm",
    "/confirm-address",
    "/forgot",
    "/join",
    "/oauth",
    "/offline",
    "/reset",
    "/set-up",
    "/sign-in",
    "/sign-out",
    "/unsubscribe",
    "/store/orders/print",
];

/// The objects in the paths of pages: the path up to the object, and the name of the object in the API.
const OBJECTS: [(&str, &str); 15] = [
    ("/teams/{team}", "{team_id}"),
    ("/teams/{team}/roster/{member}", "{member_id}"),
    ("/people/{person}", "{person_id}"),
    ("/people/{person}/away/{away}", "{away_date_id}"),
    ("/events/{event}", "{event_id}"),
    ("/events/{event}/duties/{duty}", "{duty_id}"),
    ("/locations/{location}", "{location_id}"),
    ("/schedule/subscribe/{feed}", "{feed_id}"),
    ("/messages/{message}", "{message_id}"),
    ("/messages/templates/{template}", "{template_id}"),
    ("/files/{file}", "{file_id}"),
    ("/dues/{id}", "{due_id}"),
    ("/dues/teams/{team}", "{team_id}"),
    ("/store/orders/{id}", "{order_id}"),
    ("/store/products/{id}", "{product_id}"),
];

/// The last column.
const OWN: &str = "guardian with their own";
/// What the private fields of other people's child, and of the guardian's own child, contain.
const OTHERS_MARK: &str = "PRIVATE-OTHERS";
const OWN_MARK: &str = "PRIVATE-OWN";

type Objects = Vec<(&'static str, String)>;

fn id_of<'a>(objects: &'a Objects, name: &str) -> &'a str {
    let (_, id) = objects.iter().find(|(other, _)| *other == name).unwrap();
    id
}

/// The routes in the table.
fn team_app_routes() -> Vec<Route> {
    let is_other = |path: &str| {
        OTHER_PAGES.iter().any(|page| {
            path.strip_prefix(page).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    page_routes().into_iter().filter(|route| !is_other(&route.path)).collect()
}

/// The path of a page with the ids of these objects.
fn fill_path(route: &Route, objects: &Objects) -> String {
    let mut path = route.path.clone();
    // Longer prefixes come last, so go backwards.
    for (prefix, name) in OBJECTS.iter().rev() {
        if let Some(rest) = path.strip_prefix(prefix) {
            let (start, _) = prefix.rsplit_once('{').unwrap();
            path = format!("{start}{}{rest}", id_of(objects, name));
        }
    }
    assert!(!path.contains('{'), "no value for {path}; add it to `OBJECTS`");
    path
}

/// The browsers of everybody in the test club, in the order of the columns.
async fn browsers(w: &World, club: &TestClub) -> Vec<(&'static str, Browser)> {
    let odo = json!({ "first_name": "Odo", "role": "coach", "birth_date": "1980-01-01" });
    let odo = w.add_member(&club.otters, odo).await;
    let other_coach = w.user(Role::Member, "odo@example.org").await;
    w.link(&odo.person, other_coach.id).await;
    let elsewhere = testkit::world::make_account(w.db(), "Elsewhere", w.clock.clock().now()).await;
    let stranger = w.user_of(elsewhere, Role::Owner, "owner@elsewhere.example").await;
    let mut callers = Vec::new();
    for (name, user) in [
        ("owner", &club.owner),
        ("admin", &club.admin),
        ("coach", &club.coach),
        ("coach of another team", &other_coach),
        ("player", &club.player),
        ("guardian", &club.parent),
        ("user without a roster", &club.outsider),
    ] {
        callers.push((name, w.browser(user.id).await));
    }
    callers.push(("owner of another club", w.browser_at(stranger.id, Some(elsewhere)).await));
    callers.push((OWN, w.browser(club.parent.id).await));
    callers
}

/// How the service answered, as a cell of the table. The forms are empty, so most of those that are allowed have faults.
fn outcome(status: u16) -> char {
    match status {
        200 | 303 | 400 | 409 | 422 => '+',
        403 => '-',
        404 => '0',
        _ => '?',
    }
}

both! {
    async fn visitors_may_do_what_the_table_says(w: &World) {
        let club = w.club().await;
        let routes = team_app_routes();
        let mut found = vec![[String::new(), String::new()]; routes.len()];
        for (name, mut browser) in browsers(w, &club).await {
            let own = name == OWN;
            let own_client = client_with_all_scopes(w, club.parent.id).await;
            let objects = async || objects_of_child(w, &club, &club.hawks, own.then_some(&own_client)).await;
            let mut current = objects().await;
            browser.get("/more").await;
            for (route, [get, post]) in routes.iter().zip(&mut found) {
                if own {
                    for cells in [&mut *get, &mut *post].into_iter().filter(|cells| !cells.is_empty()) {
                        cells.push(' ');
                    }
                }
                let path = fill_path(route, &current);
                if route.accepts_get {
                    get.push(outcome(browser.get(&path).await.status));
                }
                if route.accepts_post {
                    let before = sequence(w).await;
                    let answer = browser.post(&path, &[]).await;
                    let cell = outcome(answer.status);
                    assert!(cell == '+' || sequence(w).await == before, "{path} by {name} changed something: {}", answer.status);
                    post.push(cell);
                    if sequence(w).await != before {
                        w.owner.post(&format!("/teams/{}/restore", club.hawks), json!({})).await;
                        current = objects().await;
                    }
                }
            }
        }
        let rows = routes.iter().zip(&found).map(|(route, [get, post])| (route.path.as_str(), get.as_str(), post.as_str()));
        let wrong: Vec<_> = rows.filter(|row| !TABLE.contains(row)).map(|row| format!("    {row:?},\n")).collect();
        assert!(wrong.is_empty(), "the service does not agree with the table:\n{}", wrong.concat());
        assert_eq!(TABLE.len(), routes.len(), "the table names an unknown page");
    }

    async fn contact_data_is_for_the_family_and_staff_of_the_team(w: &World) {
        let club = w.club().await;
        let own_client = client_with_all_scopes(w, club.parent.id).await;
        let of_others = objects_of_child(w, &club, &club.hawks, None).await;
        let own = objects_of_child(w, &club, &club.hawks, Some(&own_client)).await;
        for (objects, mark) in [(&of_others, OTHERS_MARK), (&own, OWN_MARK)] {
            let change = json!({ "email": format!("{mark}@example.org"), "phone": format!("{mark} 1"), "address": format!("{mark} 2"),
                "emergency_contact": format!("{mark} 3"), "medical_note": format!("{mark} 4") });
            w.owner.patch(&format!("/people/{}", id_of(objects, "{person_id}")), change).await.ok();
        }
        let shows_others = |text: &str| text.contains(OTHERS_MARK) || text.contains("gil@example.org");
        for (name, mut browser) in browsers(w, &club).await {
            let (objects, mark) = if name == OWN { (&own, OWN_MARK) } else { (&of_others, OTHERS_MARK) };
            let is_staff = ["owner", "admin", "coach"].contains(&name);
            for route in team_app_routes().iter().filter(|route| route.accepts_get) {
                let page = browser.get(&fill_path(route, objects)).await;
                assert!(is_staff || !shows_others(&page.text), "{} shows contact data to the {name}: {}", route.path, page.text);
                if route.path == "/teams/{team}/roster/{member}" {
                    assert_eq!(page.text.contains(mark), is_staff || name == OWN, "{name}");
                }
            }
        }
        let document = serde_json::from_str(&touchline::openapi_json()).unwrap();
        for (name, client) in clients_of_cast(w, &club).await {
            let is_staff = ["owner", "admin", "coach"].contains(&name);
            let mut count = 0;
            for (_, path, _) in operations(&document).into_iter().filter(|(method, path, _)| method == "GET" && !path.ends_with("/stream") && !path.contains("{email_id}")) {
                let url = with_person_query(&fill_api_path(&path, &of_others), &of_others);
                for url in [url.clone(), format!("{url}?include=private")] {
                    let answer = client.get(&url).await;
                    let is_shown = shows_others(&answer.text);
                    assert!(is_staff || !is_shown, "{url} shows contact data to the {name}: {}", answer.text);
                    count += usize::from(is_shown);
                }
            }
            assert_eq!(count > 4, is_staff, "{name}: {count}");
        }
        let family = own_client.get(&format!("/people/{}", id_of(&own, "{person_id}"))).await.ok();
        assert!(family.text.contains(OWN_MARK), "{}", family.text);
    }
}
