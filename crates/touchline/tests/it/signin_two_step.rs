//! Tests of two-step sign-in.

use kit::totp;
use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, World, both, seconds};
use touchline::accounts::user::{Role, User};

use crate::mail::node_with_mail;
use crate::signin::{RefusedPage, audit_entries_of, sign_in};

/// The secret on the page for an authenticator app, as bytes.
pub(crate) fn totp_secret(page: &str) -> Vec<u8> {
    let text = page.split("<code id=\"key\">").nth(1).unwrap().split('<').next().unwrap();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut bits: Vec<u8> = Vec::new();
    for letter in text.bytes().filter(|byte| *byte != b' ') {
        let value = alphabet.iter().position(|symbol| *symbol == letter).unwrap() as u8;
        bits.extend((0..5).rev().map(|shift| value >> shift & 1));
    }
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | bit)).collect()
}

/// The code that an authenticator app shows now.
pub(crate) fn totp_code(w: &World, seed: &[u8]) -> String {
    totp::code(seed, totp::step(w.node.app.clock.now()))
}

/// Sets up two-step sign-in; returns its secret and the recovery codes.
pub(crate) async fn set_up(w: &World, user: &User) -> (Vec<u8>, Vec<String>) {
    let mut browser = w.browser(user.id).await;
    browser.get("/account/two-step").await.ok().shows("Two-step sign-in is off");
    let page = browser.get("/account/two-step/set-up").await.ok().shows("<svg class=\"qr\"");
    let seed = totp_secret(&page.text);
    assert_eq!(seed.len(), totp::SEED_BYTES);
    let page =
        browser.post("/account/two-step/set-up", &[("code", &totp_code(w, &seed))]).await.ok();
    w.advance_clock(seconds(60));
    (seed, recovery_codes(&page.text))
}

/// The recovery codes that a page shows.
pub(crate) fn recovery_codes(page: &str) -> Vec<String> {
    let codes = page.split("<li>").filter_map(|part| part.split_once("</li>"));
    let codes: Vec<String> =
        codes.map(|(code, _)| code.to_owned()).filter(|code| code.len() == 19).collect();
    assert_eq!(codes.len(), 10, "{page}");
    codes
}

async fn after_password(w: &World) -> Browser {
    let mut browser = w.anonymous_browser();
    sign_in(&mut browser, "ana@example.org", PASSWORD).await.redirects_to("/sign-in/code?next=%2F");
    browser.get("/sign-in/code").await.ok().shows("six-digit code");
    browser
}

both! {
    async fn code_is_required_and_works_once(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut browser = after_password(w).await;
        // With the password alone no page opens, and nothing can be changed.
        for page in ["/account", "/account/two-step", "/account/two-step/off", "/account/sessions", "/accounts", "/confirm"] {
            let answer = browser.get(page).await;
            assert!(answer.header("location").unwrap_or("").starts_with("/sign-in/code"), "{page}: {}", answer.status);
        }
        for form in ["/account", "/account/password", "/account/two-step/off", "/account/two-step/codes", "/account/sessions/end-others", "/accounts", "/confirm", "/set-up"] {
            let answer = browser.post(form, &[("password", PASSWORD), ("name", "Eve")]).await;
            assert!(answer.header("location").unwrap_or("").starts_with("/sign-in/code"), "{form}: {}", answer.status);
        }
        let valid_code = totp_code(w, &seed);
        let wrong = if valid_code == "000000" { "000001" } else { "000000" };
        browser.post("/sign-in/code", &[("code", wrong)]).await.refused_page(422);
        let before = browser.cookie.clone();
        browser.post("/sign-in/code", &[("code", &valid_code), ("next", "/account")]).await.redirects_to("/account");
        assert_ne!(browser.cookie, before);
        browser.get("/account").await.ok();
        assert_eq!(audit_entries_of(w, "user.signed_in").await[0].1["method"], "totp");

        let mut thief = after_password(w).await;
        thief.post("/sign-in/code", &[("code", &valid_code)]).await.refused_page(422);
        w.advance_clock(seconds(30));
        thief.post("/sign-in/code", &[("code", &valid_code)]).await.refused_page(422);
        // An older code is refused too; a newer one works after the wait.
        w.advance_clock(seconds(5));
        thief.post("/sign-in/code", &[("code", &totp_code(w, &seed))]).await.redirects_to("/");
    }

    async fn guessing_codes_gets_slower(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut tries = 0;
        for _ in 0..6 {
            let mut browser = w.anonymous_browser();
            let answer = sign_in(&mut browser, "ana@example.org", PASSWORD).await;
            if answer.status == 429 {
                break;
            }
            browser.get("/sign-in/code").await.ok();
            let answer = browser.post("/sign-in/code", &[("code", "nonsense")]).await;
            tries += usize::from(answer.status == 422);
        }
        assert!((1..=3).contains(&tries), "{tries} codes could be tried immediately");
        w.advance_clock(seconds(60));
        let mut browser = after_password(w).await;
        w.advance_clock(seconds(60));
        browser.post("/sign-in/code", &[("code", &totp_code(w, &seed))]).await.redirects_to("/");
    }

    async fn guessing_codes_does_not_lock_out_the_owner(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let node = w.node(|config| {
            config.sign_in_rate = 100_000.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let browser_at = |address: &str| Browser::new(node.address).with_header("X-Forwarded-For", address);
        // A thief with the password tries for a long time: after five codes the password is
        // required again.
        let mut thief = browser_at("203.0.113.9");
        sign_in(&mut thief, "ana@example.org", PASSWORD).await.redirects_to("/sign-in/code?next=%2F");
        thief.get("/sign-in/code").await.ok();
        let (mut wrong, mut ended, mut refused) = (0, 0, 0);
        for _ in 0..60 {
            let answer = thief.post("/sign-in/code", &[("code", "nonsense")]).await;
            match (answer.status, answer.header("location")) {
                (422, _) => wrong += 1,
                (429, _) => refused += 1,
                (303, Some("/sign-in?done=codes" | "/sign-in")) => {
                    wrong += u32::from(answer.header("location") == Some("/sign-in?done=codes"));
                    ended += 1;
                    thief = browser_at("203.0.113.9");
                    sign_in(&mut thief, "ana@example.org", PASSWORD).await.redirects_to("/sign-in/code?next=%2F");
                    thief.get("/sign-in/code").await.ok();
                }
                other => panic!("{other:?}"),
            }
            w.advance_clock(seconds(15));
        }
        assert!((4..=10).contains(&wrong), "{wrong} codes were tried in a quarter of an hour");
        assert!(ended >= 1 && refused > 30, "{ended} {refused}");
        let mut owner = browser_at("198.51.100.7");
        sign_in(&mut owner, "ana@example.org", PASSWORD).await.redirects_to("/sign-in/code?next=%2F");
        owner.get("/sign-in/code").await.ok();
        owner.post("/sign-in/code", &[("code", &totp_code(w, &seed))]).await.redirects_to("/");
        node.stop().await;
    }

    async fn pending_sign_in_expires(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut browser = after_password(w).await;
        w.advance_clock(seconds(601));
        browser.post("/sign-in/code", &[("code", &totp_code(w, &seed))]).await.redirects_to("/sign-in");
        browser.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
    }

    async fn recovery_code_works_once_under_concurrency(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (_, codes) = set_up(w, &ana).await;
        let mut browsers = Vec::new();
        for _ in 0..3 {
            browsers.push(after_password(w).await);
            w.advance_clock(seconds(61));
        }
        let mut tasks = tokio::task::JoinSet::new();
        for mut browser in browsers {
            let code = codes[0].to_uppercase().replace('-', " ");
            tasks.spawn(async move { browser.post("/sign-in/code", &[("code", &code)]).await.status });
        }
        let mut statuses = tasks.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
        assert_eq!(audit_entries_of(w, "user.signed_in").await[0].1["method"], "recovery_code");
        w.advance_clock(seconds(61));
        let mut browser = w.browser(ana.id).await;
        browser.get("/account/two-step").await.ok().shows("Codes left: 9");
        let page = browser.post("/account/two-step/codes", &[]).await.ok();
        assert!(!page.text.contains(&codes[1]));
        let mut later_browser = after_password(w).await;
        w.advance_clock(seconds(61));
        later_browser.post("/sign-in/code", &[("code", &codes[1])]).await.refused_page(422);
    }

    async fn turning_it_off_requires_a_recent_confirmation(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        set_up(w, &ana).await;
        let mut browser = w.browser(ana.id).await;
        w.advance_clock(seconds(601));
        browser.get("/account/two-step/off").await.redirects_to("/confirm?next=%2Faccount%2Ftwo-step%2Foff");
        browser.post("/account/two-step/off", &[]).await.redirects_to("/confirm?next=%2Faccount%2Ftwo-step%2Foff");
        browser.post("/account/two-step/codes", &[]).await.redirects_to("/confirm?next=%2Faccount%2Ftwo-step");
        browser.get("/confirm?next=%2Faccount%2Ftwo-step%2Foff").await.ok().shows("ana@example.org");
        browser.post("/confirm", &[("password", "wrong"), ("next", "/account/two-step/off")]).await.refused_page(422);
        let before = browser.cookie.clone();
        browser.post("/confirm", &[("password", PASSWORD), ("next", "/account/two-step/off")]).await.redirects_to("/account/two-step/off");
        assert_ne!(browser.cookie, before, "the cookie is replaced");
        let mut old = w.anonymous_browser().with_cookie(before);
        old.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        browser.get("/account/two-step/off").await.ok().shows("What happens next");
        browser.post("/account/two-step/off", &[]).await.redirects_to("/account/two-step?done=off");
        let mut browser = w.anonymous_browser();
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.redirects_to("/");
        assert_eq!(audit_entries_of(w, "user.two_step_off").await.len(), 1);
        assert_eq!(w.count("recovery_code").await, 0);
    }

    async fn turning_it_off_sends_an_email(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = w.user(Role::Owner, "ana@example.org").await;
        set_up(w, &ana).await;
        let node = node_with_mail(w, &server.url()).await;
        let mut browser = Browser::new(node.address).with_cookie(w.browser(ana.id).await.cookie);
        browser.get("/account/two-step/off").await.ok();
        assert!(server.is_empty());
        browser.post("/account/two-step/off", &[]).await.redirects_to("/account/two-step?done=off");
        let email = &server.emails(1)[0];
        assert_eq!(email["to"], testkit::json!(["ana@example.org"]));
        let subject = testkit::json!(["Subject", "Two-step sign-in is off"]);
        assert!(email["headers"].as_array().unwrap().contains(&subject), "{email}");
        assert!(email["text"].as_str().unwrap().contains("If you did not do this"), "{email}");
        assert_eq!(w.count("mail").await, 0, "the email is not stored");
        node.stop().await;
    }

    async fn wrong_code_does_not_turn_it_on(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let first = totp_secret(&browser.get("/account/two-step/set-up").await.ok().text);
        let page = browser.post("/account/two-step/set-up", &[("code", "12 34")]).await.refused_page(422);
        assert_eq!(totp_secret(&page.text), first, "the secret stays the same");
        let mut other = w.anonymous_browser();
        sign_in(&mut other, "ana@example.org", PASSWORD).await.redirects_to("/");
        browser.get("/account/two-step").await.ok().shows("Two-step sign-in is off");
        w.advance_clock(seconds(2));
        browser.post("/account/two-step/set-up", &[("code", &totp_code(w, &first))]).await.ok().shows("recovery codes");
        browser.get("/account/two-step/set-up").await.redirects_to("/account/two-step");
    }
}
