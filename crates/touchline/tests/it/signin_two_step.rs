//! Stories about two-step sign-in.

use kit::totp;
use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, World, both, seconds};
use touchline::accounts::user::{Role, User};

use crate::mail::node_with_mail;
use crate::signin::{RefusedPage, audited, sign_in};

/// What the page tells an app, as bytes.
pub(crate) fn seed(page: &str) -> Vec<u8> {
    let text = page.split("<code id=\"key\">").nth(1).unwrap().split('<').next().unwrap();
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut bits: Vec<u8> = Vec::new();
    for letter in text.bytes().filter(|byte| *byte != b' ') {
        let value = letters.iter().position(|known| *known == letter).unwrap() as u8;
        bits.extend((0..5).rev().map(|place| value >> place & 1));
    }
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | bit)).collect()
}

/// The code an app shows now.
pub(crate) fn code(w: &World, seed: &[u8]) -> String {
    totp::code(seed, totp::step(w.node.app.clock.now()))
}

/// Sets it up and tells the seed and the codes on paper.
pub(crate) async fn set_up(w: &World, user: &User) -> (Vec<u8>, Vec<String>) {
    let mut browser = w.browser(user.id).await;
    browser.get("/account/two-step").await.ok().shows("Two-step sign-in is off");
    let page = browser.get("/account/two-step/set-up").await.ok().shows("<svg class=\"qr\"");
    let seed = seed(&page.text);
    assert_eq!(seed.len(), totp::SEED);
    let page = browser.post("/account/two-step/set-up", &[("code", &code(w, &seed))]).await.ok();
    w.pass(seconds(60));
    (seed, codes(&page.text))
}

/// The codes on paper that a page shows.
pub(crate) fn codes(page: &str) -> Vec<String> {
    let codes = page.split("<li>").filter_map(|part| part.split_once("</li>"));
    let codes: Vec<String> =
        codes.map(|(code, _)| code.to_owned()).filter(|code| code.len() == 19).collect();
    assert_eq!(codes.len(), 10, "{page}");
    codes
}

async fn half_way(w: &World) -> Browser {
    let mut browser = w.newcomer();
    sign_in(&mut browser, "ana@example.org", PASSWORD).await.leads_to("/sign-in/code?next=%2F");
    browser.get("/sign-in/code").await.ok().shows("six digits");
    browser
}

both! {
    async fn a_code_is_needed_and_works_once(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut browser = half_way(w).await;
        // With the password alone no page opens, and nothing can be changed.
        for page in ["/account", "/account/two-step", "/account/two-step/off", "/account/sessions", "/accounts", "/confirm"] {
            let answer = browser.get(page).await;
            assert!(answer.header("location").unwrap_or("").starts_with("/sign-in/code"), "{page}: {}", answer.status);
        }
        for form in ["/account", "/account/password", "/account/two-step/off", "/account/two-step/codes", "/account/sessions/end-others", "/accounts", "/confirm", "/set-up"] {
            let answer = browser.post(form, &[("password", PASSWORD), ("name", "Eve")]).await;
            assert!(answer.header("location").unwrap_or("").starts_with("/sign-in/code"), "{form}: {}", answer.status);
        }
        let right = code(w, &seed);
        let wrong = if right == "000000" { "000001" } else { "000000" };
        browser.post("/sign-in/code", &[("code", wrong)]).await.refused_page(422);
        let before = browser.cookie.clone();
        browser.post("/sign-in/code", &[("code", &right), ("next", "/account")]).await.leads_to("/account");
        assert_ne!(browser.cookie, before);
        browser.get("/account").await.ok();
        assert_eq!(audited(w, "user.signed_in").await[0].1["method"], "totp");

        let mut thief = half_way(w).await;
        thief.post("/sign-in/code", &[("code", &right)]).await.refused_page(422);
        w.pass(seconds(30));
        thief.post("/sign-in/code", &[("code", &right)]).await.refused_page(422);
        // A code from before the last one is refused too, one from after is taken, once the wait is over.
        w.pass(seconds(5));
        thief.post("/sign-in/code", &[("code", &code(w, &seed))]).await.leads_to("/");
    }

    async fn guessing_codes_gets_slower_however_often_the_password_is_given(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut tries = 0;
        for _ in 0..6 {
            let mut browser = w.newcomer();
            let answer = sign_in(&mut browser, "ana@example.org", PASSWORD).await;
            if answer.status == 429 {
                break;
            }
            browser.get("/sign-in/code").await.ok();
            let answer = browser.post("/sign-in/code", &[("code", "nonsense")]).await;
            tries += usize::from(answer.status == 422);
        }
        assert!((1..=3).contains(&tries), "{tries} codes could be tried at once");
        w.pass(seconds(60));
        let mut browser = half_way(w).await;
        w.pass(seconds(60));
        browser.post("/sign-in/code", &[("code", &code(w, &seed))]).await.leads_to("/");
    }

    async fn few_codes_can_be_guessed_and_the_owner_comes_in_elsewhere(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let node = w.node(|config| {
            config.sign_in_rate = 100_000.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let at = |address: &str| Browser::new(node.address).with("X-Forwarded-For", address);
        // Whoever has the password tries all day: after five codes it is asked for again.
        let mut thief = at("203.0.113.9");
        sign_in(&mut thief, "ana@example.org", PASSWORD).await.leads_to("/sign-in/code?next=%2F");
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
                    thief = at("203.0.113.9");
                    sign_in(&mut thief, "ana@example.org", PASSWORD).await.leads_to("/sign-in/code?next=%2F");
                    thief.get("/sign-in/code").await.ok();
                }
                other => panic!("{other:?}"),
            }
            w.pass(seconds(15));
        }
        assert!((4..=10).contains(&wrong), "{wrong} codes were tried in a quarter of an hour");
        assert!(ended >= 1 && refused > 30, "{ended} {refused}");
        let mut owner = at("198.51.100.7");
        sign_in(&mut owner, "ana@example.org", PASSWORD).await.leads_to("/sign-in/code?next=%2F");
        owner.get("/sign-in/code").await.ok();
        owner.post("/sign-in/code", &[("code", &code(w, &seed))]).await.leads_to("/");
        node.stop().await;
    }

    async fn a_pending_sign_in_ends_by_itself(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut browser = half_way(w).await;
        w.pass(seconds(601));
        browser.post("/sign-in/code", &[("code", &code(w, &seed))]).await.leads_to("/sign-in");
        browser.get("/account").await.leads_to("/sign-in?next=%2Faccount");
    }

    async fn each_recovery_code_works_once_even_in_a_race(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (_, codes) = set_up(w, &ana).await;
        let mut racers = Vec::new();
        for _ in 0..3 {
            racers.push(half_way(w).await);
            w.pass(seconds(61));
        }
        let mut tasks = tokio::task::JoinSet::new();
        for mut browser in racers {
            let code = codes[0].to_uppercase().replace('-', " ");
            tasks.spawn(async move { browser.post("/sign-in/code", &[("code", &code)]).await.status });
        }
        let mut statuses = tasks.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
        assert_eq!(audited(w, "user.signed_in").await[0].1["method"], "recovery_code");
        w.pass(seconds(61));
        let mut browser = w.browser(ana.id).await;
        browser.get("/account/two-step").await.ok().shows("You have 9 left");
        let page = browser.post("/account/two-step/codes", &[]).await.ok();
        assert!(!page.text.contains(&codes[1]));
        let mut late = half_way(w).await;
        w.pass(seconds(61));
        late.post("/sign-in/code", &[("code", &codes[1])]).await.refused_page(422);
    }

    async fn turning_it_off_needs_a_fresh_proof(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        set_up(w, &ana).await;
        let mut browser = w.browser(ana.id).await;
        w.pass(seconds(601));
        browser.get("/account/two-step/off").await.leads_to("/confirm?next=%2Faccount%2Ftwo-step%2Foff");
        browser.post("/account/two-step/off", &[]).await.leads_to("/confirm?next=%2Faccount%2Ftwo-step%2Foff");
        browser.post("/account/two-step/codes", &[]).await.leads_to("/confirm?next=%2Faccount%2Ftwo-step");
        browser.get("/confirm?next=%2Faccount%2Ftwo-step%2Foff").await.ok().shows("ana@example.org");
        browser.post("/confirm", &[("password", "wrong"), ("next", "/account/two-step/off")]).await.refused_page(422);
        let before = browser.cookie.clone();
        browser.post("/confirm", &[("password", PASSWORD), ("next", "/account/two-step/off")]).await.leads_to("/account/two-step/off");
        assert_ne!(browser.cookie, before, "the cookie is replaced");
        let mut old = w.newcomer().holding(before);
        old.get("/account").await.leads_to("/sign-in?next=%2Faccount");
        browser.get("/account/two-step/off").await.ok().shows("This will happen");
        browser.post("/account/two-step/off", &[]).await.leads_to("/account/two-step?done=off");
        let mut browser = w.newcomer();
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.leads_to("/");
        assert_eq!(audited(w, "user.two_step_off").await.len(), 1);
        assert_eq!(w.count("recovery_code").await, 0);
    }

    async fn whoever_turns_it_off_is_told_by_a_letter(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = w.user(Role::Owner, "ana@example.org").await;
        set_up(w, &ana).await;
        let node = node_with_mail(w, &server.url()).await;
        let mut browser = Browser::new(node.address).holding(w.browser(ana.id).await.cookie);
        browser.get("/account/two-step/off").await.ok();
        assert!(server.is_empty());
        browser.post("/account/two-step/off", &[]).await.leads_to("/account/two-step?done=off");
        let letter = &server.letters(1)[0];
        assert_eq!(letter["to"], testkit::json!(["ana@example.org"]));
        let subject = testkit::json!(["Subject", "Two-step sign-in is off"]);
        assert!(letter["headers"].as_array().unwrap().contains(&subject), "{letter}");
        assert!(letter["text"].as_str().unwrap().contains("If that was not you"), "{letter}");
        assert_eq!(w.count("mail").await, 0, "the letter lies nowhere");
        node.stop().await;
    }

    async fn a_wrong_code_turns_nothing_on(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let first = seed(&browser.get("/account/two-step/set-up").await.ok().text);
        let page = browser.post("/account/two-step/set-up", &[("code", "12 34")]).await.refused_page(422);
        assert_eq!(seed(&page.text), first, "the picture stays the same");
        let mut other = w.newcomer();
        sign_in(&mut other, "ana@example.org", PASSWORD).await.leads_to("/");
        browser.get("/account/two-step").await.ok().shows("Two-step sign-in is off");
        w.pass(seconds(2));
        browser.post("/account/two-step/set-up", &[("code", &code(w, &first))]).await.ok().shows("recovery codes");
        browser.get("/account/two-step/set-up").await.leads_to("/account/two-step");
    }
}
