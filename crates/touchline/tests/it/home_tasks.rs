//! Tests of what Home shows besides events: dues, announcements and requests to join. Also the size of the first visit.

use std::collections::BTreeSet;

use testkit::{TestResponse, World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::compression::{fetch, gunzip, is_gzip};
use crate::dues::{charge_member, pay};
use crate::dues_pages::HOSTILE;
use crate::home::three_children_on_six_teams;
use crate::joining;

/// The limit for everything that a browser loads for Home, as it is sent.
const MAX_FIRST_VISIT: usize = 120_000;

/// The paths of the files of this service that a page or a stylesheet loads. Links to other pages are left out.
fn files_of_page(html: &str) -> BTreeSet<String> {
    let values = html.split(['"', '\'']).map(|value| value.replace("&#38;", "&"));
    let paths = values.map(|value| value.split('#').next().unwrap_or_default().to_owned());
    let is_file = |path: &String| {
        ["/assets/", "/files/", "/manifest."].iter().any(|start| path.starts_with(start))
    };
    paths.filter(is_file).collect()
}

/// The paths of what a stylesheet loads, such as fonts and images.
fn files_of_stylesheet(css: &str) -> BTreeSet<String> {
    let urls = css.split("url(").skip(1).filter_map(|rest| rest.split(')').next());
    let imports = css.split("@import").skip(1).filter_map(|rest| rest.split(';').next());
    let paths = urls.chain(imports).map(|path| path.trim().trim_matches(['"', '\'']).to_owned());
    paths.filter(|path| !path.starts_with("data:")).collect()
}

/// The ids of the messages that a page links to.
fn linked_messages(page: &TestResponse) -> Vec<String> {
    let links = page.text.split("href=\"/messages/msg_").skip(1);
    links.map(|rest| format!("msg_{}", &rest[..26])).collect()
}

both! {
    async fn a_parent_sees_open_dues_until_they_are_paid(w: &World) {
        let club = w.club().await;
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get("/").await.ok();
        assert!(!page.text.contains("For you") && !page.text.contains("href=\"/dues/due_"));
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "title": HOSTILE, "amount": 4550, "due_on": "2026-10-01" })).await;
        let zoe = charge_member(w, &club.hawks, &club.zoe.member, json!({ "title": "Somebody else’s" })).await;
        let link = |due: &testkit::Value| format!("href=\"/dues/{}\"", due["id"].as_str().unwrap());
        let page = parent.get("/").await.ok().shows("For you").shows(&link(&due)).shows("€45.50 · due 1 Oct 2026").shows("View");
        assert!(!page.text.contains("<img src=x") && !page.text.contains("Somebody else") && !page.text.contains(&link(&zoe)));
        for user in [club.coach.id, club.player.id, club.admin.id, club.outsider.id] {
            assert!(!w.browser(user).await.get("/").await.ok().text.contains("href=\"/dues/due_"));
        }
        pay(w, &due, 2000).await.created();
        parent.get("/").await.ok().shows("€25.50 · due 1 Oct 2026");
        pay(w, &due, 2550).await.created();
        assert!(!parent.get("/").await.ok().text.contains("href=\"/dues/due_"));
    }

    async fn more_than_three_unread_announcements_lead_to_the_messages(w: &World) {
        let club = w.club().await;
        let announce = async |number: usize| {
            w.advance_clock(seconds(60));
            let body = json!({ "team_id": club.hawks, "kind": "announcement", "subject": format!("Announcement {number}"), "body": "x", "audience": { "to": "guardians" } });
            w.owner.post("/messages", body).await.created().id().to_owned()
        };
        let more = "More unread messages";
        let mut parent = w.browser(club.parent.id).await;
        let mut all = Vec::new();
        for number in 1..=3 {
            all.insert(0, announce(number).await);
        }
        let page = parent.get("/").await.ok().shows("Announcement 1").shows("Announcement 3");
        assert_eq!((linked_messages(&page), page.text.contains(more)), (all.clone(), false));
        for number in 4..=5 {
            all.insert(0, announce(number).await);
            let page = parent.get("/").await.ok().shows(more).shows("href=\"/messages?show=unread\"");
            assert_eq!(linked_messages(&page), all[..3], "the latest three");
        }
        let page = parent.get("/messages?show=unread").await.ok();
        for number in 1..=5 {
            assert!(page.text.contains(&format!("Announcement {number}")), "{number}");
        }
        // Those who did not get them see none.
        assert_eq!(linked_messages(&w.browser(club.player.id).await.get("/").await.ok()), Vec::<String>::new());
        // Messages that were read are no longer listed.
        for message in [all.remove(4), all.remove(1)] {
            parent.get(&format!("/messages/{message}")).await.ok();
        }
        let page = parent.get("/").await.ok();
        assert_eq!((linked_messages(&page), page.text.contains(more)), (all, false));
    }

    async fn an_admin_sees_the_number_of_requests_to_join(w: &World) {
        let gulls = joining::team(w, "Gulls").await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let path = "/admin/members/claims";
        assert!(!admin.get("/").await.ok().text.contains("to join"));
        let link = joining::team_link(w, &gulls).await;
        let player = gulls.player.to_string();
        for (email, text) in [("ana@example.org", "1 person wants to join"), ("bea@example.org", "2 people want to join")] {
            let mut browser = joining::sign_up(w, &link, email, &[("as", "guardian")]).await;
            let fields = [("as", "guardian"), ("person", player.as_str())];
            browser.post(&format!("{link}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
            admin.get("/").await.ok().shows(text).shows(&format!("href=\"{path}\""));
        }
        let list = admin.get(path).await.ok();
        assert_eq!(list.text.matches("/approve\"").count(), 2);
        assert!(!w.browser(gulls.coach.id).await.get("/").await.ok().text.contains("to join"));
        let refuse = format!("{path}/{}/refuse", joining::claim_in(&list));
        assert_eq!(admin.post(&refuse, &[]).await.status, 303);
        admin.get("/").await.ok().shows("1 person wants to join");
        let approve = format!("{path}/{}/approve", joining::claim_in(&admin.get(path).await.ok()));
        assert_eq!(admin.post(&approve, &[]).await.status, 303);
        assert!(!admin.get("/").await.ok().text.contains("to join"));
    }

    async fn the_first_visit_stays_small(w: &World) {
        let club = three_children_on_six_teams(w).await;
        let cookie = w.browser(club.parent.id).await.cookie.unwrap();
        let browser = w.nobody.with_header("Accept-Encoding", "gzip, deflate, br, zstd");
        let page = browser.with_header("Cookie", &format!("__Host-touchline={cookie}"));
        let page = page.with_header("Sec-Fetch-Site", "none").with_header("Accept", "text/html");
        let (head, body) = fetch(&page, "/").await;
        assert!(head.starts_with("http/1.1 200") && is_gzip(&head), "{head}");
        let html = gunzip(&body);
        assert!(html.contains("more events need an answer"), "{html}");
        let mut sizes = vec![("/".to_owned(), head.len() + body.len())];
        let mut waiting: Vec<_> = files_of_page(&html).into_iter().collect();
        let browser = browser.with_header("Sec-Fetch-Site", "same-origin");
        while let Some(path) = waiting.pop() {
            let (head, body) = fetch(&browser, &path).await;
            assert!(head.starts_with("http/1.1 200"), "{path}: {head}");
            if head.contains("content-type: text/css") {
                let css = if is_gzip(&head) { gunzip(&body) } else { String::from_utf8(body.clone()).unwrap() };
                let known = |path: &String| sizes.iter().any(|(name, _)| name == path) || waiting.contains(path);
                let new: Vec<_> = files_of_stylesheet(&css).into_iter().filter(|path| !known(path)).collect();
                waiting.extend(new);
            }
            sizes.push((path, head.len() + body.len()));
        }
        for part in ["/assets/app.css?", "/assets/colors/", "/assets/app.js?", "/assets/htmx.min.js?", "/assets/icons.svg?"] {
            assert!(sizes.iter().any(|(path, _)| path.starts_with(part)), "{part}: {sizes:?}");
        }
        let total: usize = sizes.iter().map(|(_, size)| size).sum();
        assert!(total < MAX_FIRST_VISIT, "{total} bytes: {sizes:?}");
    }
}
