//! Numbers on pages that are links: the list behind each has that many rows, or a column that adds up to it.

use std::collections::BTreeMap;

use testkit::{Browser, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::demo;

use crate::dues::charged;
use crate::dues_pages::treasurer;
use crate::joining::link_in;
use crate::mail::DAY;

/// The pages that are searched for numbers.
const PAGES: [&str; 9] = [
    "/admin",
    "/admin/dues",
    "/admin/orders",
    "/admin/store",
    "/admin/members",
    "/admin/webhooks",
    "/admin/apps",
    "/admin/usage",
    "/admin/audit",
];

/// How a number is found on the page it links to.
enum Behind {
    /// As many rows as the number says, over all pages of the list.
    Rows,
    /// As many rows with this column, where the page has other tables too.
    RowsWith(&'static str),
    /// As many requests to decide.
    Cards,
    /// A column that adds up to it.
    Column(&'static str),
    /// A tile with this label shows the same number.
    Tile(&'static str),
    /// The number is no count of anything on the page.
    Nothing,
}

fn behind(href: &str, text: &str) -> Behind {
    let (path, query) = href.split_once('?').unwrap_or((href, ""));
    match path {
        "/admin/dues" if query.contains("status=unpaid") => Behind::Column("Open"),
        "/admin/dues" if query.contains("status=overdue") => Behind::Column("Overdue"),
        "/admin/dues" if query.contains("status=received") => Behind::Column("Paid"),
        "/admin/webhooks" if query.is_empty() => Behind::Column("Failed"),
        _ if path.starts_with("/admin/webhooks/") => Behind::RowsWith("Answer"),
        "/admin/members/claims" => Behind::Cards,
        "/admin/usage" => Behind::Tile("Requests"),
        "/admin/settings" if text.contains("Requests a minute") => Behind::Nothing,
        "/admin/health" => Behind::Nothing,
        "#hours" if text.contains("Refused") => Behind::Column("Refused"),
        "#hours" => Behind::Column("Requests"),
        _ => Behind::Rows,
    }
}

/// The text of some HTML.
fn text(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or("", |(_, text)| text));
        text.push(' ');
    }
    text.replace("&#38;", "&").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first number of a text in minor units, or as it is.
fn number(text: &str) -> Option<i64> {
    let digits = |word: &str| word.replace([',', '.'], "").parse().ok();
    text.split(' ').find(|word| word.starts_with(|c: char| c.is_ascii_digit())).and_then(digits)
}

/// The links of a page whose text has a number: where they lead, and what they say. A row is named by a
/// link in its first cell, which counts nothing.
fn number_links(html: &str) -> Vec<(String, String)> {
    let main = html.split("<main").nth(1).unwrap_or_default();
    let mut found = Vec::new();
    for (position, _) in main.match_indices("<a ") {
        let (link, _) = main[position..].split_once("</a>").unwrap();
        let href = link.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let named = main[..position].trim_end().ends_with("<th scope=\"row\">");
        // What is hidden from the eye names the row.
        let shown = link.split("<span class=\"vh\"> of").next().unwrap();
        let text = text(shown);
        if !named && !link.contains("rel=\"") && number(&text).is_some() {
            found.push((href.replace("&#38;", "&"), text));
        }
    }
    found
}

/// The cells of each row by label, over all pages of a list.
async fn rows_behind(browser: &mut Browser, href: &str) -> Vec<BTreeMap<String, String>> {
    let (mut rows, mut next) = (Vec::new(), Some(href.to_owned()));
    while let Some(href) = next {
        let page = browser.get(&href).await.ok();
        for body in page.text.split("<tbody>").skip(1) {
            let body = body.split("</tbody>").next().unwrap();
            for row in body.split("<tr").skip(1) {
                let cells = row.split("<td data-label=\"").skip(1).map(|cell| {
                    let (label, rest) = cell.split_once('"').unwrap();
                    let rest = rest.split("</td>").next().unwrap();
                    (label.to_owned(), text(&format!("<td{rest}")))
                });
                rows.push(cells.collect());
            }
        }
        let more = page.text.split("<p class=\"more\">").nth(1);
        let more = more.and_then(|rest| rest.split("href=\"").nth(1)?.split('"').next());
        next = more.filter(|href| href.contains("cursor=")).map(|href| href.replace("&#38;", "&"));
    }
    rows
}

/// Follows every number of a page and compares.
async fn check(browser: &mut Browser, path: &str) -> usize {
    let page = browser.get(path).await.ok();
    let links = number_links(&page.text);
    for (href, says) in &links {
        let expected = number(says).unwrap();
        let target = if href.starts_with('#') { path } else { href };
        let found = match behind(href, says) {
            Behind::Nothing => continue,
            Behind::Rows => i64::try_from(rows_behind(browser, target).await.len()).unwrap(),
            Behind::RowsWith(label) => {
                let rows = rows_behind(browser, target).await;
                let own = rows.iter().filter(|row| row.contains_key(label));
                i64::try_from(own.count()).unwrap()
            }
            Behind::Cards => {
                let page = browser.get(target).await.ok();
                i64::try_from(page.text.matches("/approve\"").count()).unwrap()
            }
            Behind::Column(label) => {
                let rows = rows_behind(browser, target).await;
                rows.iter().filter_map(|row| row.get(label)).filter_map(|cell| number(cell)).sum()
            }
            Behind::Tile(label) => {
                let page = browser.get(target).await.ok();
                let tiles = page.text.split("class=\"stat\"").skip(1);
                let tile = tiles.map(text).find(|tile| tile.starts_with(label)).unwrap();
                number(tile.trim_start_matches(label)).unwrap()
            }
        };
        assert_eq!(found, expected, "“{says}” on {path} leads to {href}");
    }
    links.len()
}

both! {
    async fn every_number_that_is_a_link_leads_to_a_list_that_matches_it(w: &World) {
        demo::load(&w.node.app).await.unwrap();
        let owner = w.user_of(demo::ACCOUNT, Role::Owner, "olga@example.org").await;
        w.user_of(demo::ACCOUNT, Role::Owner, "otto@example.org").await;
        let mut browser = w.browser_at(owner.id, Some(demo::ACCOUNT)).await;
        let page = browser.get("/admin/members/invite").await.ok();
        let team = page.text.split("value=\"team_").nth(1).unwrap().split('"').next().unwrap();
        link_in(&browser.post("/admin/members/link", &[("team", &format!("team_{team}"))]).await);
        let mut followed = 0;
        for path in PAGES {
            followed += check(&mut browser, path).await;
        }
        assert!(followed >= 12, "{followed}");
        // Each webhook has numbers of its own.
        let page = browser.get("/admin/webhooks").await.ok();
        let id = page.text.split("/admin/webhooks/whk_").nth(1).unwrap().split(['"', '?']).next().unwrap();
        assert!(check(&mut browser, &format!("/admin/webhooks/whk_{id}")).await > 0);
    }

    async fn tiles_of_dues_match_their_lists_in_every_currency(w: &World) {
        let (cast, _) = treasurer(w).await;
        let parts = charged(w, &cast.hawks, &cast.max.member, json!({ "instalment_count": 4, "late_fee": { "amount": 700 } })).await;
        let waived = charged(w, &cast.hawks, &cast.zoe.member, json!({ "discount": { "amount": 1500 } })).await;
        charged(w, &cast.otters, &cast.ole.member, json!({ "currency": "JPY", "due_on": "2026-09-20" })).await;
        let pay = async |due: &testkit::Value, amount: i64| {
            let path = format!("/dues/{}/payments", due["id"].as_str().unwrap());
            w.owner.post(&path, json!({ "amount": amount, "method": "cash" })).await.created();
        };
        pay(&parts, 1200).await;
        pay(&waived, 500).await;
        w.owner.post(&format!("/dues/{}/waive", waived["id"].as_str().unwrap()), json!({ "reason": "Moved away" })).await.ok();
        let paid = charged(w, &cast.hawks, &cast.lia.member, json!({ "use_credit": false })).await;
        pay(&paid, 12_000).await;
        w.pass(seconds(DAY * 70));
        let mut browser = w.browser(cast.admin.id).await;
        for narrowed in ["", "?team=", "?payer="] {
            let path = match narrowed {
                "?team=" => format!("/admin/dues?team={}", cast.hawks),
                "?payer=" => format!("/admin/dues?payer={}", cast.pat),
                _ => "/admin/dues".to_owned(),
            };
            let tiles = if narrowed.is_empty() { 6 } else { 3 };
            assert_eq!(check(&mut browser, &path).await, tiles, "{path}");
        }
    }

    async fn an_app_lists_each_person_once_with_all_they_allow(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let app = w.app(touchline::oauth::app::Kind::Native, "http://127.0.0.1/callback", "teams:read events:read").await;
        let (id, user) = (app.id, cast.parent.id);
        for scopes in ["teams:read", "events:read"] {
            let (app, scopes) = (app.clone(), touchline::accounts::rights::Scopes::parse(scopes).unwrap());
            let scope = store::Scope::account(w.harbour, "test");
            w.db().write(scope, move |tx| touchline::oauth::grant::create(tx, &app, user, scopes, &app.redirect_uris.0[0])).await.unwrap();
        }
        assert_eq!(check(&mut browser, "/admin/apps").await, 1);
        let rows = rows_behind(&mut browser, &format!("/admin/apps/{id}/users")).await;
        assert_eq!(rows.len(), 1);
        let allowed = &rows[0]["What they allow"];
        assert!(allowed.contains("team metadata") && allowed.contains("schedules"), "{allowed}");
    }

    async fn warnings_of_the_overview_lead_to_what_they_count(w: &World) {
        let owner = w.user(Role::Owner, "olga@example.org").await;
        w.user(Role::Owner, "otto@example.org").await;
        w.user(Role::Member, "mia@example.org").await;
        w.pass(seconds(DAY * 100));
        let mut browser = w.browser(owner.id).await;
        browser.get("/admin").await.ok().shows("2 owners sign in with a password alone").shows("older than 90 days");
        check(&mut browser, "/admin").await;
        let members = browser.get("/admin/members?role=owner&two_step=off").await.ok().shows("otto@example.org");
        assert!(!members.text.contains("mia@example.org"), "{}", members.text);
    }
}
