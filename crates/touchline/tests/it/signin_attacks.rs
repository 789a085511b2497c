//! Tests of attacks on signing in, and of secrets in the database and the log.

use store::{Db, Scope};
use testkit::people::PASSWORD;
use testkit::process::Program;
use testkit::{Browser, Engine, TestDatabase, World, both};
use touchline::accounts::user::Role;

use crate::signin::{RefusedPage, sign_in};
use crate::signin_two_step;

/// Every form of this module that a visitor can send.
const FORMS: &[&str] = &[
    "/sign-in",
    "/sign-in/code",
    "/sign-out",
    "/confirm",
    "/forgot",
    "/accounts",
    "/account",
    "/account/email",
    "/account/password",
    "/account/two-step/set-up",
    "/account/two-step/codes",
    "/account/two-step/off",
    "/account/sessions/end-others",
    "/account/sessions/ses_01kbm2x5q8f7vr0n3hd9tzc4wy/end",
    "/reset/tlln_x",
    "/account/email/tlln_x",
    "/set-up",
    "/set-up/tlln_x",
];

/// Every row of every table, as text.
pub(crate) async fn dump(db: &Db) -> String {
    let read = db.read(Scope::system("dump"), |db| {
        let mut dump = String::new();
        for table in db.tables()? {
            db.rows(&table, |row| {
                dump += &format!("{row:?}\n");
                Ok(())
            })?;
        }
        Ok::<_, store::Error>(dump)
    });
    read.await.unwrap()
}

both! {
    async fn accepts_forms_only_from_the_same_origin(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let eve = w.user(Role::Member, "eve@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let csrf = browser.csrf.clone().unwrap();
        let other_token = w.browser(eve.id).await.csrf.unwrap();
        let origin = format!("http://{}", w.node.address);
        let same_origin = [("Sec-Fetch-Site", "same-origin"), ("Origin", origin.as_str())];
        let fields = [("name", "Eve"), ("email", "eve@example.org"), ("password", PASSWORD), ("current", PASSWORD)];
        for form in FORMS {
            let fields_with = |token: &str| {
                let token = token.to_owned();
                fields.iter().map(|(name, value)| (*name, (*value).to_owned())).chain([("csrf", token)]).collect::<Vec<_>>()
            };
            let valid = fields_with(&csrf);
            let valid: Vec<_> = valid.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let with_other_token = fields_with(&other_token);
            let with_other_token: Vec<_> = with_other_token.iter().map(|(name, value)| (*name, value.as_str())).collect();
            browser.send(form, &fields, &same_origin).await.refused_page(403);
            browser.send(form, &with_other_token, &same_origin).await.refused_page(403);
            for headers in [
                &[("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")][..],
                &[("Sec-Fetch-Site", "same-site"), ("Origin", origin.as_str())],
                &[("Origin", "null")],
                &[("Origin", "https://evil.example")],
                &[],
            ] {
                browser.send(form, &valid, headers).await.refused_page(403);
            }
            let text = browser.send(form, &valid, &[same_origin[0], same_origin[1], ("Content-Type", "text/plain")]).await;
            assert!([400, 403, 415].contains(&text.status), "{form}: {}", text.status);
        }
        browser.get("/account").await.ok().shows("ana@example.org");
        sign_in(&mut w.anonymous_browser(), "ana@example.org", PASSWORD).await.redirects_to("/");
    }

    async fn replaces_a_planted_cookie(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        let mut thief = w.anonymous_browser();
        thief.get("/sign-in").await.ok();
        let planted = thief.cookie.clone().unwrap();
        let mut victim = w.anonymous_browser().with_cookie(thief.cookie.clone());
        sign_in(&mut victim, "ana@example.org", PASSWORD).await.redirects_to("/");
        assert_ne!(victim.cookie.as_ref(), Some(&planted));
        victim.get("/account").await.ok();
        thief.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        // Signing in again ends the previous session of the browser.
        let before = victim.cookie.clone();
        victim.get("/account").await.ok();
        let fields = [("email", "ana@example.org"), ("password", PASSWORD)];
        victim.post("/sign-in", &fields).await.redirects_to("/");
        let mut old = w.anonymous_browser().with_cookie(before);
        old.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        assert_eq!(w.count("session").await, 1);
    }

    async fn never_redirects_to_another_site(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        for evil in ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aSet-Cookie:x"] {
            let mut browser = w.anonymous_browser();
            let page = browser.get(&format!("/sign-in?next={}", touchline::web::visitor::url_encode(evil))).await.ok();
            assert!(!page.text.contains("evil") && !page.text.contains("javascript:"), "{}", page.text);
            let fields = [("email", "ana@example.org"), ("password", PASSWORD), ("next", evil)];
            let redirect = browser.post("/sign-in", &fields).await;
            let redirect = redirect.header("location").unwrap();
            assert!(redirect == "/" || redirect == "/%0d%0aSet-Cookie:x" || redirect.starts_with("/%0d"), "{redirect}");
            assert!(!redirect.contains("evil") && !redirect.contains('\n'));
        }
    }

    async fn every_page_sends_a_strict_policy(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        for page in ["/account", "/account/password", "/account/two-step", "/account/two-step/set-up", "/account/two-step/off",
                     "/account/sessions", "/account/email", "/accounts", "/confirm", "/forgot"] {
            let answer = browser.get(page).await.ok();
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{page}");
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{page}");
            assert!(!answer.text.contains(" style=") && !answer.text.contains("<script>") && !answer.text.contains(" onclick"), "{page}");
            assert_eq!(answer.text.matches("<h1>").count(), 1, "{page}");
        }
    }

    async fn secrets_are_not_in_the_database(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, codes) = signin_two_step::set_up(w, &ana).await;
        let mut browser = w.anonymous_browser();
        let canary = "a canary sings in the dark mine";
        sign_in(&mut browser, "ana@example.org", canary).await.refused_page(422);
        browser.get("/account/two-step").await.redirects_to("/sign-in?next=%2Faccount%2Ftwo-step");
        let text = kit::totp::base32(&seed);
        let cookie = browser.cookie.unwrap();
        let dump = dump(w.db()).await;
        assert!(dump.contains("ana@example.org"));
        let bytes = format!("{seed:?}");
        let bytes = bytes.trim_matches(['[', ']']);
        for secret in [PASSWORD, canary, &text, bytes, &kit::secret::hex(&seed), &codes[0], &codes[0].replace('-', ""), &cookie] {
            assert!(!dump.contains(secret), "{secret} is in the database");
        }
    }
}

/// Runs a service on its own database with the most detailed log.
#[tokio::test]
async fn secrets_are_not_in_the_log() {
    let database = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url)
        .flag("--log", "debug");
    let account = program.json(&["account", "create", "--name", "Harbour"]);
    let account = account["account"]["id"].as_str().unwrap();
    let arguments =
        ["user", "create", "--account", account, "--email", "ana@example.org", "--name", "Ana"];
    let arguments: Vec<_> =
        arguments.into_iter().chain(["--role", "owner", "--password-stdin"]).collect();
    assert!(program.run_with_input(&arguments, &format!("{PASSWORD}\n")).status.success());
    let link = program.json(&["user", "reset", "--email", "ANA@example.org"]);
    assert_eq!(link["user"]["email"], "ana@example.org");
    let path = link["path"].as_str().unwrap();
    assert_eq!(link["link"], format!("http://127.0.0.1:8080{path}"));
    let output = program.run(&["user", "reset", "--email", "ana@example.org"]);
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.contains("(a path below the address of your service)")
            && output.contains(":\n\n/reset/tlln_"),
        "{output}"
    );
    let output = program.run(&[
        "--base-url",
        "https://club.example.org",
        "user",
        "reset",
        "--email",
        "ana@example.org",
    ]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("minutes:\n\nhttps://club.example.org/reset/tlln_")
    );
    assert!(!program.run(&["user", "reset", "--email", "no@example.org"]).status.success());

    let service = program.serve(&[]);
    let mut browser = Browser::new(service.address);
    sign_in(&mut browser, "ana@example.org", "a canary sings").await.refused_page(422);
    sign_in(&mut browser, "ana@example.org", PASSWORD).await.redirects_to("/");
    let cookie = browser.cookie.clone().unwrap();
    browser.get("/account").await.ok();
    browser.get(path).await.ok();
    let new = "seven quiet otters fold paper";
    browser.post(path, &[("password", new)]).await.redirects_to("/sign-in?done=reset");
    browser.get("/set-up/tlln_canary").await.refused_page(410);
    browser.get("/account/email/tlln_canary").await.refused_page(410);
    browser.get("/join/tlin_canary").await;
    browser.get("/oauth/consent/tlrq_canary").await;
    let (_, log) = service.stop();
    assert!(log.contains("POST /reset/ 303"), "{log}");
    for secret in ["canary", PASSWORD, new, &cookie, path.trim_start_matches("/reset/"), "tlln_"] {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
    database.remove().await;
}
