//! Tests of numbers that are links: the list behind each has that many rows, or a column that adds
//! up to it.

use std::collections::BTreeMap;

use testkit::{Browser, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::demo;

use crate::dues::charge_member;
use crate::dues_pages::treasurer;
use crate::joining::link_in;
use crate::mail::DAY;

/// The pages that are checked.
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

/// How a number relates to the page it links to.
enum LinkTarget {
    /// The number of rows, over all pages of the list.
    Rows,
    /// The number of rows that have this column, where the page has other tables too.
    RowsWith(&'static str),
    /// The number of requests to approve.
    Cards,
    /// The sum of this column.
    Column(&'static str),
    /// The number in the tile with this label.
    Tile(&'static str),
    /// The number does not count anything on the page.
    Nothing,
}

fn link_target(href: &str, text: &str) -> LinkTarget {
    let (path, query) = href.split_once('?').unwrap_or((href, ""));
    match path {
        "/admin/dues" if query.contains("status=unpaid") => LinkTarget::Column("Open balance"),
        "/admin/dues" if query.contains("status=overdue") => LinkTarget::Column("Overdue"),
        "/admin/dues" if query.contains("status=received") => LinkTarget::Column("Paid"),
        "/admin/webhooks" if query.is_empty() => LinkTarget::Column("Failed"),
        _ if path.starts_with("/admin/webhooks/") => LinkTarget::RowsWith("Response"),
        "/admin/members/claims" => LinkTarget::Cards,
        "/admin/usage" => LinkTarget::Tile("Requests"),
        "/admin/settings" if text.contains("Requests per minute") => LinkTarget::Nothing,
        "/admin/health" => LinkTarget::Nothing,
        "#hours" if text.contains("Refused") => LinkTarget::Column("Refused"),
        "#hours" => LinkTarget::Column("Requests"),
        _ => LinkTarget::Rows,
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

/// The first number in a text, without separators (an amount in minor units).
fn number(text: &str) -> Option<i64> {
    let digits = |word: &str| word.replace([',', '.'], "").parse().ok();
    let mut words =
        text.split([' ', '\u{a0}']).map(|word| word.trim_start_matches(['€', '$', '£', '¥']));
    words.find(|word| word.starts_with(|c: char| c.is_ascii_digit())).and_then(digits)
}

/// The links of a page whose text contains a number, with target and text. A link in the first cell
/// names its row and counts nothing.
fn number_links(html: &str) -> Vec<(String, String)> {
    let main = html.split("<main").nth(1).unwrap_or_default();
    let mut links = Vec::new();
    for (position, _) in main.match_indices("<a ") {
        let (link, _) = main[position..].split_once("</a>").unwrap();
        let href = link.split("href=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let is_row_name = main[..position].trim_end().ends_with("<th scope=\"row\">");
        // Visually hidden text names the row.
        let visible = link.split("<span class=\"vh\"> of").next().unwrap();
        let text = text(visible);
        if !is_row_name && !link.contains("rel=\"") && number(&text).is_some() {
            links.push((href.replace("&#38;", "&"), text));
        }
    }
    links
}

/// The cells of each row by column label, over all pages of a list.
async fn all_rows(browser: &mut Browser, href: &str) -> Vec<BTreeMap<String, String>> {
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

/// Follows every number of a page and compares it with its target.
async fn check(browser: &mut Browser, path: &str) -> usize {
    let page = browser.get(path).await.ok();
    let links = number_links(&page.text);
    for (href, label_text) in &links {
        let expected = number(label_text.trim_start_matches("Events in the next 7 days")).unwrap();
        let target = if href.starts_with('#') { path } else { href };
        let actual = match link_target(href, label_text) {
            LinkTarget::Nothing => continue,
            LinkTarget::Rows => i64::try_from(all_rows(browser, target).await.len()).unwrap(),
            LinkTarget::RowsWith(label) => {
                let rows = all_rows(browser, target).await;
                let matching = rows.iter().filter(|row| row.contains_key(label));
                i64::try_from(matching.count()).unwrap()
            }
            LinkTarget::Cards => {
                let page = browser.get(target).await.ok();
                i64::try_from(page.text.matches("/approve\"").count()).unwrap()
            }
            LinkTarget::Column(label) => {
                let rows = all_rows(browser, target).await;
                rows.iter().filter_map(|row| row.get(label)).filter_map(|cell| number(cell)).sum()
            }
            LinkTarget::Tile(label) => {
                let page = browser.get(target).await.ok();
                let tiles = page.text.split("class=\"stat\"").skip(1);
                let tile = tiles.map(text).find(|tile| tile.starts_with(label)).unwrap();
                number(tile.trim_start_matches(label)).unwrap()
            }
        };
        assert_eq!(actual, expected, "“{label_text}” on {path} leads to {href}");
    }
    links.len()
}

both! {
    async fn linked_numbers_match_their_lists(w: &World) {
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
        // Each webhook has its own numbers.
        let page = browser.get("/admin/webhooks").await.ok();
        let id = page.text.split("/admin/webhooks/whk_").nth(1).unwrap().split(['"', '?']).next().unwrap();
        assert!(check(&mut browser, &format!("/admin/webhooks/whk_{id}")).await > 0);
    }

    async fn dues_tiles_match_their_lists_in_every_currency(w: &World) {
        let (club, _) = treasurer(w).await;
        let installments = charge_member(w, &club.hawks, &club.max.member, json!({ "installment_count": 4, "late_fee": { "amount": 700 } })).await;
        let waived = charge_member(w, &club.hawks, &club.zoe.member, json!({ "discount": { "amount": 1500 } })).await;
        charge_member(w, &club.otters, &club.ole.member, json!({ "currency": "JPY", "due_on": "2026-09-20" })).await;
        let pay = async |due: &testkit::Value, amount: i64| {
            let path = format!("/dues/{}/payments", due["id"].as_str().unwrap());
            w.owner.post(&path, json!({ "amount": amount, "method": "cash" })).await.created();
        };
        pay(&installments, 1200).await;
        pay(&waived, 500).await;
        w.owner.post(&format!("/dues/{}/waive", waived["id"].as_str().unwrap()), json!({ "reason": "Moved away" })).await.ok();
        let paid = charge_member(w, &club.hawks, &club.lia.member, json!({ "use_credit": false })).await;
        pay(&paid, 12_000).await;
        w.advance_clock(seconds(DAY * 70));
        let mut browser = w.browser(club.admin.id).await;
        for filter in ["", "?team=", "?payer="] {
            let path = match filter {
                "?team=" => format!("/admin/dues?team={}", club.hawks),
                "?payer=" => format!("/admin/dues?payer={}", club.pat),
                _ => "/admin/dues".to_owned(),
            };
            let tiles = if filter.is_empty() { 6 } else { 3 };
            assert_eq!(check(&mut browser, &path).await, tiles, "{path}");
        }
    }

    async fn app_lists_each_user_once_with_all_permissions(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let app = w.app(touchline::oauth::app::Kind::Native, "http://127.0.0.1/callback", "teams:read events:read").await;
        let (id, user) = (app.id, club.parent.id);
        for scopes in ["teams:read", "events:read"] {
            let (app, scopes) = (app.clone(), touchline::rights::Scopes::parse(scopes).unwrap());
            let scope = store::Scope::account(w.harbour, "test");
            w.db().write(scope, move |tx| touchline::oauth::grant::create(tx, &app, user, scopes, &app.redirect_uris.0[0])).await.unwrap();
        }
        assert_eq!(check(&mut browser, "/admin/apps").await, 1);
        let rows = all_rows(&mut browser, &format!("/admin/apps/{id}/users")).await;
        assert_eq!(rows.len(), 1);
        let permissions = &rows[0]["Permissions"];
        assert!(permissions.contains("team metadata") && permissions.contains("schedules"), "{permissions}");
    }

    async fn overview_warnings_link_to_what_they_count(w: &World) {
        let owner = w.user(Role::Owner, "olga@example.org").await;
        w.user(Role::Owner, "otto@example.org").await;
        w.user(Role::Member, "mia@example.org").await;
        w.advance_clock(seconds(DAY * 100));
        let mut browser = w.browser(owner.id).await;
        browser.get("/admin").await.ok().shows("2 owners have no two-step sign-in").shows("older than 90 days");
        check(&mut browser, "/admin").await;
        let members = browser.get("/admin/members?role=owner&two_step=off").await.ok().shows("otto@example.org");
        assert!(!members.text.contains("mia@example.org"), "{}", members.text);
    }
}
