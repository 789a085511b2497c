//! Tests of the pages that create, show and revoke API keys.

use store::Scope;
use testkit::world::{make_account, make_key, new_key};
use testkit::{Browser, Client, TestResponse, World, both, json, seconds};
use touchline::accounts::api_key::NewKey;
use touchline::accounts::user::Role;
use touchline::jobs;

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>";

/// The text of a page between two strings.
pub(crate) fn between<'a>(page: &'a TestResponse, before: &str, after: &str) -> &'a str {
    page.text.split(before).nth(1).and_then(|rest| rest.split(after).next()).unwrap()
}

/// Opens the form for a new key and returns its nonce.
async fn open_form(browser: &mut Browser) -> String {
    let page = browser.get("/admin/keys/new").await.ok();
    between(&page, "name=\"nonce\" value=\"", "\"").to_owned()
}

/// Creates a key with the form and returns the page that shows it.
pub(crate) async fn create_key(browser: &mut Browser, name: &str, scopes: &[&str]) -> TestResponse {
    let nonce = open_form(browser).await;
    let mut fields = vec![("nonce", nonce.as_str()), ("name", name), ("expires", "90")];
    fields.extend(scopes.iter().map(|scope| ("scopes", *scope)));
    browser.post("/admin/keys/new", &fields).await
}

pub(crate) fn key_value(page: &TestResponse) -> String {
    between(page, "<code id=\"key\">", "</code>").to_owned()
}

fn id_of(page: &TestResponse) -> String {
    let start = page.text.find("/admin/keys/key_").unwrap() + "/admin/keys/".len();
    let rest = &page.text[start..];
    rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap()].to_owned()
}

both! {
    async fn a_key_is_shown_once_and_stops_working_when_revoked(w: &World) {
        let owner = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        let page = create_key(&mut browser, "Website", &["teams:read", "events:read"]).await.ok();
        assert_eq!(page.header("cache-control"), Some("no-store"));
        let (value, id) = (key_value(&page), id_of(&page));
        assert!(value.starts_with("tl_live_"), "{value}");
        let page = page.shows("curl -H").shows("/api/public/v1/me").shows("Read team metadata");
        assert!(page.text.contains(&w.node.app.base_url.as_str().to_owned()));

        let caller = Client::new(w.node.address, Some(&value));
        caller.get("/teams").await.ok();
        caller.post("/teams", json!({ "name": "No" })).await.assert_problem(403, "insufficient_scope");
        // The API cannot create keys.
        w.owner.post("/keys", json!({ "name": "No" })).await.assert_problem(404, "not_found");

        let secret = value.rsplit_once('_').unwrap().1.to_owned();
        let key_path = format!("/admin/keys/{id}");
        for path in ["/admin/keys", &key_path, &format!("{key_path}/revoke"), "/admin/audit", "/admin/usage", "/admin/audit.csv"] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains(&secret), "{path} shows the secret");
        }
        browser.get("/admin/keys").await.ok().shows("Website").shows("Read event schedules").shows("ana");
        browser.get(&key_path).await.ok().shows("Active").shows("All teams").shows("4 Dec 2026").shows("Allowed IP addresses");

        browser.get(&format!("{key_path}/revoke")).await.ok().shows("stops working at once").shows("You cannot undo this");
        caller.get("/teams").await.ok();
        browser.post(&format!("{key_path}/revoke"), &[]).await.redirects_to("/admin/keys?done=revoked");
        caller.get("/teams").await.assert_problem(401, "invalid_credentials");
        browser.get("/admin/keys?done=revoked").await.ok().shows("The key was revoked");
        browser.get("/admin/keys?state=over").await.ok().shows("Website").shows("Revoked");
        browser.get(&format!("{key_path}/revoke")).await.redirects_to(&key_path);
        browser.get("/admin/audit?action=api_key").await.ok().shows("API key revoked").shows("API key created");
    }

    async fn submitting_a_form_twice_creates_one_key(w: &World) {
        let owner = w.user(Role::Owner, "ana@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        let before = w.count("api_key").await;
        let nonce = open_form(&mut browser).await;
        let fields = [("nonce", nonce.as_str()), ("name", "Once"), ("scopes", "teams:read")];
        let first = browser.post("/admin/keys/new", &fields).await.ok();
        let value = key_value(&first);
        // A reload of the page, or a second click.
        let again = browser.post("/admin/keys/new", &fields).await.ok().shows("This key already exists");
        assert!(!again.text.contains(&value) && !again.text.contains("id=\"key\""));
        assert_eq!(w.count("api_key").await, before + 1);
        // Two submissions at the same time.
        let nonce = open_form(&mut browser).await;
        let fields = [("nonce", nonce.as_str()), ("name", "Twice"), ("scopes", "teams:read")];
        let (mut here, mut there) = (browser.clone(), browser.clone());
        let (a, b) = tokio::join!(here.post("/admin/keys/new", &fields), there.post("/admin/keys/new", &fields));
        let pages_with_key = [a.ok(), b.ok()].iter().filter(|page| page.text.contains("id=\"key\"")).count();
        assert_eq!((pages_with_key, w.count("api_key").await), (1, before + 2));
        for wrong in ["", "xyz", &"g".repeat(32)] {
            let answer = browser.post("/admin/keys/new", &[("nonce", wrong), ("name", "No"), ("scopes", "teams:read")]).await;
            assert_eq!(answer.status, 400, "{}", answer.text);
        }
    }

    async fn shows_errors_beside_fields_and_keeps_the_input(w: &World) {
        let owner = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        w.owner.post("/teams", json!({ "name": HOSTILE })).await.created();
        let nonce = open_form(&mut browser).await;
        let fields = [
            ("nonce", nonce.as_str()), ("name", ""), ("addresses", "10.0.0.300\n<b>"), ("expires", "30"),
            ("team_ids", "team_nobody"),
        ];
        let page = browser.post("/admin/keys/new", &fields).await;
        assert_eq!(page.status, 422);
        let page = page.shows("id=\"name-error\"").shows("Choose at least one permission.").shows("10.0.0.300 is not an IP address")
            .shows("One of these teams does not exist").shows("10.0.0.300\n&#60;b&#62;")
            .shows("<option value=\"30\" selected>");
        assert!(!page.text.contains("<img src=x") && !page.text.contains("<b>\n"));
        let fields = [
            ("nonce", nonce.as_str()), ("name", HOSTILE), ("scopes", "teams:read"), ("expires", "1000"),
        ];
        let page = browser.post("/admin/keys/new", &fields).await;
        assert_eq!(page.status, 422);
        let page = page.shows("value=\"teams:read\" checked").shows("Choose when the key expires.");
        assert!(!page.text.contains("<img src=x"));
        // The form is still valid.
        let fields = [("nonce", nonce.as_str()), ("name", HOSTILE), ("scopes", "teams:read"), ("expires", "never")];
        let page = browser.post("/admin/keys/new", &fields).await.ok();
        let id = id_of(&page);
        for path in ["/admin/keys", &format!("/admin/keys/{id}"), &format!("/admin/keys/{id}/revoke"), "/admin/audit", "/admin/usage"] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains("<img src=x") && !page.text.contains("<script>alert"), "{path}");
        }
        let renamed = browser.post(&format!("/admin/keys/{id}"), &[("name", "Plain")]).await;
        renamed.redirects_to(&format!("/admin/keys/{id}?done=renamed"));
        let wrong = browser.post(&format!("/admin/keys/{id}"), &[("name", " ")]).await;
        assert_eq!(wrong.status, 422);
        browser.get(&format!("/admin/audit?subject={id}")).await.ok().shows("API key renamed").shows("<ins><bdi>Plain</bdi></ins>");
    }

    async fn a_key_can_be_limited_to_teams_and_ip_addresses(w: &World) {
        let owner = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        w.owner.post("/teams", json!({ "name": "Owls" })).await.created();
        let theirs = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let nonce = open_form(&mut browser).await;
        let base = [("nonce", nonce.as_str()), ("name", "Narrow"), ("scopes", "teams:read")];
        let foreign: Vec<_> = base.iter().copied().chain([("team_ids", theirs.id())]).collect();
        let refused = browser.post("/admin/keys/new", &foreign).await;
        assert_eq!(refused.status, 422, "another club's team");
        let fields: Vec<_> = base.iter().copied()
            .chain([("team_ids", hawks.id()), ("addresses", "127.0.0.0/8 ::1")]).collect();
        let page = browser.post("/admin/keys/new", &fields).await.ok().shows("Hawks");
        let caller = Client::new(w.node.address, Some(&key_value(&page)));
        assert_eq!(caller.get("/teams").await.ok().names(), ["Hawks"]);
        let nonce = open_form(&mut browser).await;
        let fields = [("nonce", nonce.as_str()), ("name", "Far"), ("scopes", "teams:read"), ("addresses", "203.0.113.7")];
        let page = browser.post("/admin/keys/new", &fields).await.ok();
        Client::new(w.node.address, Some(&key_value(&page))).get("/teams").await.assert_problem(403, "forbidden");
    }

    async fn only_owners_create_keys_with_full_access(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let owner = w.user(Role::Owner, "rui@harbour.example").await;
        let before = w.count("api_key").await;
        let mut browser = w.browser(admin.id).await;
        assert!(!browser.get("/admin/keys/new").await.ok().text.contains("name=\"everything\""));
        let nonce = open_form(&mut browser).await;
        for forged in [
            &[("scopes", "*")][..],
            &[("scopes", "teams:read"), ("scopes", "*")],
            &[("scopes", "teams:read *")],
        ] {
            let fields: Vec<_> = [("nonce", nonce.as_str()), ("name", "All")].into_iter().chain(forged.iter().copied()).collect();
            assert_eq!(browser.post("/admin/keys/new", &fields).await.status, 422);
        }
        let fields = [("nonce", nonce.as_str()), ("name", "All"), ("everything", "yes"), ("understood", "yes")];
        let refused = browser.post("/admin/keys/new", &fields).await;
        assert_eq!(refused.status, 403);
        refused.shows("Only owners");
        assert_eq!(w.count("api_key").await, before);

        let mut browser = w.browser(owner.id).await;
        let nonce = open_form(&mut browser).await;
        let fields = [("nonce", nonce.as_str()), ("name", "All"), ("everything", "yes")];
        let unconfirmed = browser.post("/admin/keys/new", &fields).await;
        assert_eq!(unconfirmed.status, 422);
        unconfirmed.shows("Confirm that you have read");
        let fields = [("nonce", nonce.as_str()), ("name", "All"), ("everything", "yes"), ("understood", "yes")];
        let page = browser.post("/admin/keys/new", &fields).await.ok().shows("Full access");
        Client::new(w.node.address, Some(&key_value(&page))).post("/teams", json!({ "name": "Yes" })).await.created();
    }

    async fn lists_the_last_requests_of_a_key(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        let (key, caller) = w.client_with_key(new_key("teams:read")).await;
        let (_, other) = w.client_with_key(new_key("teams:read")).await;
        let path = format!("/admin/keys/{}/requests", key.id);
        browser.get(&path).await.ok().shows("No requests yet");

        let listed = caller.get("/teams?q=secret").await.ok();
        let refused = caller.post("/teams", json!({ "name": "No" })).await.assert_problem(403, "insufficient_scope");
        other.get("/me").await.ok();
        let page = browser.get(&path).await.ok().shows("GET /teams").shows("200")
            .shows("403").shows("insufficient_scope").shows(refused.header("request-id").unwrap())
            .shows(listed.header("request-id").unwrap());
        assert!(!page.text.contains("secret") && !page.text.contains("GET /me"), "{}", page.text);
        let failed = browser.get(&format!("{path}?outcome=failed")).await.ok().shows("insufficient_scope");
        assert!(!failed.text.contains(listed.header("request-id").unwrap()));

        // Requests that are rejected before the key is checked are listed too.
        caller.get("/nowhere?q=secret").await.assert_problem(404, "not_found");
        caller.get(&format!("/teams/{}", "x".repeat(40_000))).await.assert_problem(400, "invalid_request");
        let page = browser.get(&path).await.ok().shows("GET /nowhere").shows("invalid_request");
        assert!(!page.text.contains("secret"), "{}", page.text);
        let elsewhere = NewKey { cidrs: Some(vec!["192.0.2.0/24".parse().unwrap()]), ..new_key("teams:read") };
        let (fenced, outside) = w.client_with_key(elsewhere).await;
        outside.get("/teams").await.assert_problem(403, "forbidden");
        browser.get(&format!("/admin/keys/{}/requests", fenced.id)).await.ok().shows("GET /teams").shows("forbidden");

        // Only the last 100 are kept.
        for _ in 0..60 {
            caller.get("/me").await.ok();
        }
        w.node.app.flush_request_log(None).await;
        for _ in 0..60 {
            caller.get("/me").await.ok();
        }
        let page = browser.get(&path).await.ok();
        assert_eq!(page.text.matches("GET /me").count(), 100);
        assert_eq!(w.count("key_request").await, 102);
        w.advance_clock(seconds(31 * 24 * 60 * 60));
        jobs::delete_expired_records(&w.node.app).await;
        assert_eq!(w.count("key_request").await, 0);
    }

    async fn only_admins_can_manage_keys(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let member = w.user(Role::Member, "eva@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        let page = create_key(&mut browser, "Website", &["teams:read"]).await.ok();
        let (id, value) = (id_of(&page), key_value(&page));
        let paths = ["/admin/keys", "/admin/keys/new", &format!("/admin/keys/{id}"), &format!("/admin/keys/{id}/revoke"),
            &format!("/admin/keys/{id}/requests"), "/admin/usage", "/admin/audit", "/admin/audit.csv", "/admin/audit/check", "/admin/health"].map(str::to_owned);
        let mut eva = w.browser(member.id).await;
        let mut nobody = w.anonymous_browser();
        for path in &paths {
            let refused = eva.get(path).await;
            assert_eq!(refused.status, 403, "{path}");
            refused.shows("Only admins");
            assert!(nobody.get(path).await.local_redirect().unwrap().starts_with("/sign-in"), "{path}");
        }
        assert_eq!(eva.post(&format!("/admin/keys/{id}/revoke"), &[]).await.status, 403);

        // An admin of another club can neither see nor change the key.
        let other = make_account(w.db(), "Riverside", w.node.app.clock.now()).await;
        let foreign = w.user_of(other, Role::Owner, "ivo@riverside.example").await;
        let mut ivo = w.browser_at(foreign.id, Some(other)).await;
        assert_eq!(ivo.get(&format!("/admin/keys/{id}/requests")).await.status, 404);
        for path in [format!("/admin/keys/{id}"), format!("/admin/keys/{id}/revoke"), "/admin/keys/key_x".to_owned()] {
            assert_eq!(ivo.get(&path).await.status, 404, "{path}");
            assert_eq!(ivo.post(&path, &[("name", "Mine")]).await.status, 404, "{path}");
        }
        assert!(!ivo.get("/admin/keys").await.ok().text.contains("Website"));
        assert!(!ivo.get(&format!("/admin/usage?credential={id}")).await.ok().text.contains("Website"));

        // Forms without a valid CSRF token or from another site are rejected.
        for (fields, headers) in [
            (&[("name", "x")][..], &[("Sec-Fetch-Site", "same-origin")][..]),
            (&[("name", "x"), ("csrf", browser.csrf.clone().unwrap().as_str())], &[("Sec-Fetch-Site", "cross-site")]),
            (&[("name", "x"), ("csrf", "wrong")], &[("Sec-Fetch-Site", "same-origin")]),
        ] {
            for path in ["/admin/keys/new".to_owned(), format!("/admin/keys/{id}"), format!("/admin/keys/{id}/revoke")] {
                assert_eq!(browser.send(&path, fields, headers).await.status, 403, "{path}");
            }
        }
        Client::new(w.node.address, Some(&value)).get("/teams").await.ok();
    }

    async fn an_old_sign_in_must_be_confirmed_again(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        let page = create_key(&mut browser, "Website", &["teams:read"]).await.ok();
        let (id, value, nonce) = (id_of(&page), key_value(&page), open_form(&mut browser).await);
        w.advance_clock(seconds(11 * 60));
        let new = browser.get("/admin/keys/new").await;
        new.redirects_to("/confirm?next=%2Fadmin%2Fkeys%2Fnew");
        let fields = [("nonce", nonce.as_str()), ("name", "Late one"), ("scopes", "teams:read")];
        let sent = browser.post("/admin/keys/new", &fields).await;
        let next = sent.local_redirect().unwrap();
        assert!(next.starts_with("/confirm?next=") && next.contains("Late"), "{next}");
        assert!(browser.post(&format!("/admin/keys/{id}/revoke"), &[]).await.local_redirect().unwrap().starts_with("/confirm"));
        Client::new(w.node.address, Some(&value)).get("/teams").await.ok();
        // The form is filled with the same input afterwards.
        let mut new_browser = w.browser(admin.id).await;
        let page = new_browser.get("/admin/keys/new?name=Late+one&scopes=teams%3Aread&everything=yes").await.ok();
        page.shows("value=\"Late one\"").shows("value=\"teams:read\" checked");
    }

    async fn pages_keys_and_suggests_rotating_old_ones(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        for number in 0..7 {
            let new = touchline::accounts::api_key::NewKey { name: format!("Key {number}"), ..new_key("teams:read") };
            make_key(w.db(), w.harbour, new).await;
        }
        let mut browser = w.browser(admin.id).await;
        let (mut path, mut seen) = ("/admin/keys?limit=3".to_owned(), Vec::new());
        for _ in 0..6 {
            let page = browser.get(&path).await.ok();
            seen.extend(page.text.split("/admin/keys/key_").skip(1).map(|rest| rest[..26].to_owned()));
            let Some(link) = page.text.split("href=\"").find(|link| link.contains("cursor=")) else { break };
            path = link.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
        }
        seen.dedup();
        let keys = w.db().read(Scope::account(w.harbour, "test"), touchline::accounts::api_key::list).await.unwrap();
        let mut all: Vec<_> = keys.iter().map(|key| key.id.to_string()["key_".len()..][..26].to_owned()).collect();
        all.reverse();
        assert_eq!(seen, all, "each key once, newest first");
        assert_eq!(browser.get("/admin/keys?cursor=AAAA").await.status, 400);

        assert!(!browser.get("/admin/keys").await.ok().text.contains("Rotate"));
        w.advance_clock(seconds(92 * 86_400));
        let mut browser = w.browser(admin.id).await;
        browser.get("/admin/keys").await.ok().shows("Rotate").shows("Older than 90 days");
    }

    async fn a_club_without_keys_sees_an_explanation(w: &World) {
        let club = make_account(w.db(), "Riverside", w.node.app.clock.now()).await;
        let owner = w.user_of(club, Role::Owner, "ivo@riverside.example").await;
        let mut browser = w.browser_at(owner.id, Some(club)).await;
        browser.get("/admin/keys").await.ok().shows("No API keys yet").shows("/admin/keys/new");
        browser.get("/admin/usage").await.ok().shows("No requests yet");
    }
}
