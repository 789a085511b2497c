//! Tests of the pages that register and manage OAuth apps.

use store::Scope;
use testkit::world::make_account;
use testkit::{Browser, TestResponse, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::ids::AppId;
use touchline::oauth::{app, secret};

use crate::admin_keys::between;

async fn nonce(browser: &mut Browser, path: &str) -> String {
    let page = browser.get(path).await.ok();
    between(&page, "name=\"nonce\" value=\"", "\"").to_owned()
}

pub(crate) async fn register_app(browser: &mut Browser, kind: &str, uris: &str) -> TestResponse {
    let nonce = nonce(browser, "/admin/apps/new").await;
    let fields = [
        ("nonce", nonce.as_str()),
        ("name", "Scores"),
        ("kind", kind),
        ("redirect_uris", uris),
        ("scopes", "teams:read"),
        ("scopes", "events:read"),
    ];
    browser.post("/admin/apps/new", &fields).await
}

/// The id of the app that an answer links or redirects to.
pub(crate) fn id_of(answer: &TestResponse) -> AppId {
    let text = format!("{} {}", answer.header("location").unwrap_or_default(), answer.text);
    let rest = text.split("/admin/apps/app_").nth(1).unwrap();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    format!("app_{}", &rest[..end]).parse().unwrap()
}

async fn admin(w: &World) -> Browser {
    let admin = w.user(Role::Admin, "ana@harbour.example").await;
    w.browser(admin.id).await
}

both! {
    async fn a_server_app_gets_a_secret_that_is_shown_once(w: &World) {
        let mut browser = admin(w).await;
        browser.get("/admin/apps").await.ok().shows("No apps yet");
        let page = register_app(&mut browser, "server", "https://app.example.org/callback\nhttps://app.example.org/other").await.ok();
        assert_eq!(page.header("cache-control"), Some("no-store"));
        let (id, first) = (id_of(&page), between(&page, "<code id=\"secret\">", "</code>").to_owned());
        assert!(first.starts_with("tlcs_"), "{first}");
        let app_path = format!("/admin/apps/{id}");
        let works = async |value: &str| {
            let value = value.to_owned();
            let scope = Scope::account(w.harbour, "test");
            w.db().read(scope, move |db| secret::verify(db, id, &value)).await.unwrap().is_some()
        };
        assert!(works(&first).await);
        // An app can have two secrets at a time, not three.
        let form = nonce(&mut browser, &app_path).await;
        let page = browser.post(&format!("{app_path}/secrets"), &[("nonce", &form)]).await.ok();
        let second = between(&page, "<code id=\"secret\">", "</code>").to_owned();
        browser.post(&format!("{app_path}/secrets"), &[("nonce", &form)]).await.redirects_to(&app_path);
        assert!(works(&first).await && works(&second).await);
        let other = "0".repeat(32);
        assert_eq!(browser.post(&format!("{app_path}/secrets"), &[("nonce", &other)]).await.status, 409);
        let page = browser.get(&app_path).await.ok().shows("Revoke a secret before you add another").shows("https://app.example.org/other")
            .shows("/oauth/authorize?response_type=code").shows(&id.to_string());
        let revoke = page.text.split("href=\"").find(|link| link.contains("/secrets/")).unwrap().split('"').next().unwrap().to_owned();
        browser.get(&revoke).await.ok().shows("The other secret keeps working");
        browser.post(&revoke, &[]).await.redirects_to(&format!("{app_path}?done=secret-revoked"));
        assert!(!works(&first).await && works(&second).await);
        for path in ["/admin/apps", &app_path, &format!("{app_path}/edit"), "/admin/audit", "/admin/audit.csv"] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains(&first) && !page.text.contains(&second), "{path}");
        }
    }

    async fn registers_and_edits_an_app_with_valid_redirect_uris(w: &World) {
        let mut browser = admin(w).await;
        for (uris, fault) in [
            ("", "redirect_uris-error"), ("http://app.example.org/cb", "Use https"),
            ("https://a.example/*", "wildcard"), ("javascript:alert(1)", "redirect_uris-error"),
        ] {
            let page = register_app(&mut browser, "spa", uris).await;
            assert_eq!(page.status, 422, "{uris}");
            page.shows(fault).shows("value=\"Scores\"").shows("value=\"teams:read\" checked");
        }
        let page = register_app(&mut browser, "", "https://app.example.org/cb").await;
        assert_eq!(page.status, 422);
        page.shows("Choose where the app runs.");
        assert_eq!(w.count("oauth_app").await, 0);
        let registered = register_app(&mut browser, "spa", "https://app.example.org/cb").await;
        let id = id_of(&registered);
        registered.redirects_to(&format!("/admin/apps/{id}"));
        let page = browser.get(&format!("/admin/apps/{id}")).await.ok().shows("In a browser");
        assert!(!page.text.contains("Add secret"));
        let hostile = "\"><script>alert(1)</script>";
        let fields = [("name", hostile), ("redirect_uris", "https://app.example.org/new"), ("scopes", "teams:read"), ("kind", "server")];
        browser.post(&format!("/admin/apps/{id}/edit"), &fields).await.redirects_to(&format!("/admin/apps/{id}?done=saved"));
        let stored = w.db().read(Scope::account(w.harbour, "test"), move |db| app::find(db, id)).await.unwrap();
        assert_eq!((stored.kind, stored.redirect_uris.0[0].as_str()), (app::Kind::Spa, "https://app.example.org/new"));
        for path in ["/admin/apps".to_owned(), format!("/admin/apps/{id}"), format!("/admin/apps/{id}/users"),
            format!("/admin/apps/{id}/edit"), format!("/admin/apps/{id}/disable"), "/admin/audit".to_owned()] {
            assert!(!browser.get(&path).await.ok().text.contains("<script>alert"), "{path}");
        }
        browser.get(&format!("/admin/audit?subject={id}")).await.ok().shows("OAuth app updated").shows("https://app.example.org/cb</bdi></del>");
        let wrong = [("name", "x"), ("redirect_uris", "https://app.example.org/new"), ("scopes", "*")];
        assert_eq!(browser.post(&format!("/admin/apps/{id}/edit"), &wrong).await.status, 422);
    }

    async fn revoking_all_access_takes_effect_immediately(w: &World) {
        let mut browser = admin(w).await;
        let user = w.user(Role::Admin, "rui@harbour.example").await;
        let caller = w.client_for_user(user.id, "teams:read").await;
        caller.get("/teams").await.ok();
        let id = id_of(&browser.get("/admin/apps").await.ok());
        let app_path = format!("/admin/apps/{id}");
        browser.get(&app_path).await.ok().shows(&format!("{app_path}/users\">1</a>"));
        browser.get(&format!("{app_path}/users")).await.ok().shows("rui@harbour.example").shows("Read team metadata");
        browser.get(&format!("{app_path}/revoke-all")).await.ok().shows("1 person");
        caller.get("/teams").await.ok();
        browser.post(&format!("{app_path}/revoke-all"), &[]).await.redirects_to(&format!("{app_path}?done=revoked"));
        caller.get("/teams").await.assert_problem(401, "invalid_credentials");
        browser.get(&format!("{app_path}/users")).await.ok().shows("No users yet");
        browser.get(&format!("{app_path}/disable")).await.ok().shows("Disable app");
        browser.post(&format!("{app_path}/disable"), &[]).await.redirects_to(&format!("{app_path}?done=disabled"));
        browser.get(&app_path).await.ok().shows("Enable app");
        browser.post(&format!("{app_path}/enable"), &[]).await.redirects_to(&format!("{app_path}?done=enabled"));
        browser.get("/admin/usage").await.ok().shows("Scores");
    }

    async fn only_admins_can_manage_apps(w: &World) {
        let mut browser = admin(w).await;
        let id = id_of(&register_app(&mut browser, "server", "https://app.example.org/cb").await);
        let sub = ["", "/edit", "/users", "/revoke-all", "/disable", "/secrets/sec_00000000000000000000000001/revoke"];
        let member = w.user(Role::Member, "eva@harbour.example").await;
        let other = make_account(w.db(), "Riverside", w.node.app.clock.now()).await;
        let foreign = w.user_of(other, Role::Owner, "ivo@riverside.example").await;
        let (mut eva, mut ivo) = (w.browser(member.id).await, w.browser_at(foreign.id, Some(other)).await);
        for path in sub.map(|sub| format!("/admin/apps/{id}{sub}")) {
            assert_eq!(eva.get(&path).await.status, 403, "{path}");
            assert_eq!(ivo.get(&path).await.status, 404, "{path}");
        }
        let form = "0".repeat(32);
        let fields = [("nonce", form.as_str()), ("name", "Mine"), ("scopes", "teams:read"), ("redirect_uris", "https://evil.example/")];
        for path in ["edit", "secrets", "revoke-all", "disable", "enable", "secrets/sec_00000000000000000000000001/revoke"]
            .map(|sub| format!("/admin/apps/{id}/{sub}")) {
            assert_eq!(ivo.post(&path, &fields).await.status, 404, "{path}");
            assert_eq!(eva.post(&path, &fields).await.status, 403, "{path}");
            assert_eq!(browser.send(&path, &fields, &[("Sec-Fetch-Site", "same-origin")]).await.status, 403, "{path}");
        }
        assert!(!ivo.get("/admin/apps").await.ok().text.contains("Scores"));
        w.advance_clock(seconds(11 * 60));
        for path in ["edit", "revoke-all", "disable"].map(|sub| format!("/admin/apps/{id}/{sub}")) {
            assert!(browser.get(&path).await.local_redirect().unwrap().starts_with("/confirm?next="), "{path}");
            assert!(browser.post(&path, &fields).await.local_redirect().unwrap().starts_with("/confirm?next="), "{path}");
        }
    }
}
