//! Stories about the pages on which apps are registered and looked after.

use store::Scope;
use testkit::world::make_account;
use testkit::{Answer, Browser, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::ids::AppId;
use touchline::oauth::{app, secret};

use crate::admin_keys::between;

async fn nonce(browser: &mut Browser, path: &str) -> String {
    let page = browser.get(path).await.ok();
    between(&page, "name=\"nonce\" value=\"", "\"").to_owned()
}

pub(crate) async fn register(browser: &mut Browser, kind: &str, uris: &str) -> Answer {
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

/// The app with this address in the page or in where it leads.
pub(crate) fn id_of(answer: &Answer) -> AppId {
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
    async fn an_app_on_a_server_gets_a_secret_that_is_shown_once(w: &World) {
        let mut browser = admin(w).await;
        browser.get("/admin/apps").await.ok().shows("No apps yet");
        let page = register(&mut browser, "server", "https://app.example.org/callback\nhttps://app.example.org/other").await.ok();
        assert_eq!(page.header("cache-control"), Some("no-store"));
        let (id, first) = (id_of(&page), between(&page, "<code id=\"secret\">", "</code>").to_owned());
        assert!(first.starts_with("tlcs_"), "{first}");
        let one = format!("/admin/apps/{id}");
        let works = async |value: &str| {
            let told = value.to_owned();
            let scope = Scope::account(w.harbour, "test");
            w.db().read(scope, move |db| secret::verify(db, id, &told)).await.unwrap().is_some()
        };
        assert!(works(&first).await);
        // A second one beside it, and no third.
        let form = nonce(&mut browser, &one).await;
        let page = browser.post(&format!("{one}/secrets"), &[("nonce", &form)]).await.ok();
        let second = between(&page, "<code id=\"secret\">", "</code>").to_owned();
        browser.post(&format!("{one}/secrets"), &[("nonce", &form)]).await.leads_to(&one);
        assert!(works(&first).await && works(&second).await);
        let other = "0".repeat(32);
        assert_eq!(browser.post(&format!("{one}/secrets"), &[("nonce", &other)]).await.status, 409);
        let page = browser.get(&one).await.ok().shows("Revoke one before you add another").shows("https://app.example.org/other")
            .shows("/oauth/authorize?response_type=code").shows(&id.to_string());
        let revoke = page.text.split("href=\"").find(|link| link.contains("/secrets/")).unwrap().split('"').next().unwrap().to_owned();
        browser.get(&revoke).await.ok().shows("The other secret goes on working");
        browser.post(&revoke, &[]).await.leads_to(&format!("{one}?done=secret-revoked"));
        assert!(!works(&first).await && works(&second).await);
        for path in ["/admin/apps", &one, &format!("{one}/edit"), "/admin/audit", "/admin/audit.csv"] {
            let page = browser.get(path).await.ok();
            assert!(!page.text.contains(&first) && !page.text.contains(&second), "{path}");
        }
    }

    async fn an_app_is_registered_once_with_good_addresses_and_changed(w: &World) {
        let mut browser = admin(w).await;
        for (uris, fault) in [
            ("", "redirect_uris-error"), ("http://app.example.org/cb", "Use https"),
            ("https://a.example/*", "wildcard"), ("javascript:alert(1)", "redirect_uris-error"),
        ] {
            let page = register(&mut browser, "spa", uris).await;
            assert_eq!(page.status, 422, "{uris}");
            page.shows(fault).shows("value=\"Scores\"").shows("value=\"teams:read\" checked");
        }
        let page = register(&mut browser, "", "https://app.example.org/cb").await;
        assert_eq!(page.status, 422);
        page.shows("Choose where the app runs.");
        assert_eq!(w.count("oauth_app").await, 0);
        let made = register(&mut browser, "spa", "https://app.example.org/cb").await;
        let id = id_of(&made);
        made.leads_to(&format!("/admin/apps/{id}"));
        let page = browser.get(&format!("/admin/apps/{id}")).await.ok().shows("In a browser");
        assert!(!page.text.contains("Add a secret"));
        let hostile = "\"><script>alert(1)</script>";
        let fields = [("name", hostile), ("redirect_uris", "https://app.example.org/new"), ("scopes", "teams:read"), ("kind", "server")];
        browser.post(&format!("/admin/apps/{id}/edit"), &fields).await.leads_to(&format!("/admin/apps/{id}?done=saved"));
        let kept = w.db().read(Scope::account(w.harbour, "test"), move |db| app::find(db, id)).await.unwrap();
        assert_eq!((kept.kind, kept.redirect_uris.0[0].as_str()), (app::Kind::Spa, "https://app.example.org/new"));
        for path in ["/admin/apps".to_owned(), format!("/admin/apps/{id}"), format!("/admin/apps/{id}/users"),
            format!("/admin/apps/{id}/edit"), format!("/admin/apps/{id}/disable"), "/admin/audit".to_owned()] {
            assert!(!browser.get(&path).await.ok().text.contains("<script>alert"), "{path}");
        }
        browser.get(&format!("/admin/audit?subject={id}")).await.ok().shows("OAuth app updated").shows("https://app.example.org/cb</bdi></del>");
        let wrong = [("name", "x"), ("redirect_uris", "https://app.example.org/new"), ("scopes", "*")];
        assert_eq!(browser.post(&format!("/admin/apps/{id}/edit"), &wrong).await.status, 422);
    }

    async fn access_ends_at_once_for_everybody(w: &World) {
        let mut browser = admin(w).await;
        let user = w.user(Role::Admin, "rui@harbour.example").await;
        let caller = w.acting_for(user.id, "teams:read").await;
        caller.get("/teams").await.ok();
        let id = id_of(&browser.get("/admin/apps").await.ok());
        let one = format!("/admin/apps/{id}");
        browser.get(&one).await.ok().shows(&format!("{one}/users\">1</a>"));
        browser.get(&format!("{one}/users")).await.ok().shows("rui@harbour.example").shows("Read team metadata");
        browser.get(&format!("{one}/revoke-all")).await.ok().shows("1 person");
        caller.get("/teams").await.ok();
        browser.post(&format!("{one}/revoke-all"), &[]).await.leads_to(&format!("{one}?done=revoked"));
        caller.get("/teams").await.refused(401, "invalid_credentials");
        browser.get(&format!("{one}/users")).await.ok().shows("Nobody yet");
        browser.get(&format!("{one}/disable")).await.ok().shows("out of service");
        browser.post(&format!("{one}/disable"), &[]).await.leads_to(&format!("{one}?done=disabled"));
        browser.get(&one).await.ok().shows("Put it into service again");
        browser.post(&format!("{one}/enable"), &[]).await.leads_to(&format!("{one}?done=enabled"));
        browser.get("/admin/usage").await.ok().shows("Scores");
    }

    async fn apps_are_only_for_those_who_look_after_the_club(w: &World) {
        let mut browser = admin(w).await;
        let id = id_of(&register(&mut browser, "server", "https://app.example.org/cb").await);
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
        w.pass(seconds(11 * 60));
        for path in ["edit", "revoke-all", "disable"].map(|sub| format!("/admin/apps/{id}/{sub}")) {
            assert!(browser.get(&path).await.next().unwrap().starts_with("/confirm?next="), "{path}");
            assert!(browser.post(&path, &fields).await.next().unwrap().starts_with("/confirm?next="), "{path}");
        }
    }
}
