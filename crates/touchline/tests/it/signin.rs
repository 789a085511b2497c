//! Stories about people who sign in with a browser.

use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use store::{Record, Scope, bind, sql};
use testkit::people::PASSWORD;
use testkit::{Answer, Browser, Client, Value, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::signals::AuditEntry;

/// Fills in the first page.
pub(crate) async fn sign_in(browser: &mut Browser, email: &str, password: &str) -> Answer {
    if browser.csrf.is_none() {
        browser.get("/sign-in").await.ok();
    }
    browser.post("/sign-in", &[("email", email), ("password", password)]).await
}

/// What the audit log of Harbour says of this action, oldest first.
pub(crate) async fn audited(w: &World, action: &str) -> Vec<(String, Value)> {
    let action = action.to_owned();
    let read = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        let mut found = Vec::new();
        db.each(
            sql!(AuditEntry::SELECT, " where account_id = :account order by position"),
            bind! {},
            |row| {
                let entry = <AuditEntry as Record>::read(row)?;
                if entry.action == action {
                    let details = serde_json::from_str(&entry.details.unwrap()).unwrap();
                    found.push((entry.subject, details));
                }
                Ok(())
            },
        )?;
        Ok::<_, store::Error>(found)
    });
    read.await.unwrap()
}

both! {
    async fn somebody_signs_in_and_out(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.newcomer();
        browser.get("/").await.leads_to("/sign-in");
        let page = browser.get("/sign-in").await.ok();
        let page = page.shows("Forgot your password?").shows("Ask your coach for an invite link");
        assert!(page.header("set-cookie").unwrap().ends_with("Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=2592000"));
        browser.get("/account/sessions?x=1").await.leads_to("/sign-in?next=%2Faccount%2Fsessions%3Fx%3D1");
        browser.get("/sign-in?next=%2Faccount%2Fsessions").await.shows("value=\"/account/sessions\"");

        let fields = [("email", " ANA@example.org "), ("password", PASSWORD), ("next", "/account/sessions")];
        browser.post("/sign-in", &fields).await.leads_to("/account/sessions");
        browser.get("/account/sessions").await.ok().shows("This one");
        browser.get("/account").await.ok().shows("ana@example.org");
        browser.get("/").await.leads_to("/admin");
        browser.get("/sign-in").await.leads_to("/");
        let entries = audited(w, "user.signed_in").await;
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].0, ana.id.to_string());
        assert_eq!(entries[0].1["method"], "password");
        assert_eq!(entries[0].1["user_agent"], "Stories/1.0");

        let cookie = browser.cookie.clone();
        browser.get("/account").await.ok();
        browser.post("/sign-out", &[]).await.leads_to("/sign-in?done=signed-out");
        assert_eq!(browser.cookie, None);
        let mut old = w.newcomer().holding(cookie);
        old.get("/account").await.leads_to("/sign-in?next=%2Faccount");
        assert_eq!(audited(w, "user.signed_out").await.len(), 1);
        browser.get("/sign-out").await.refused_page(405);
    }

    async fn the_start_page_leads_programs_to_the_reference(w: &World) {
        let hint = w.newcomer().get("/").await.ok().shows("touchline set-up-link");
        assert!(!hint.text.contains("/set-up/"), "{}", hint.text);
        w.user(Role::Member, "bo@example.org").await;
        assert_eq!(w.nobody.get("/").await.header("location"), Some("/docs"));
        w.newcomer().get("/").await.leads_to("/sign-in");
        let bo = w.user(Role::Member, "cy@example.org").await;
        w.browser(bo.id).await.get("/").await.leads_to("/account");
    }

    async fn known_and_unknown_addresses_are_answered_alike(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let disabled = w.user(Role::Member, "gone@example.org").await;
        let gone = disabled.id.to_string();
        let off = move |tx: &store::Tx<'_>| {
            let id = disabled.id;
            tx.run("update app_user set disabled_at = :now where id = :id /* any account */", bind! { id })
        };
        w.db().write(Scope::system("test"), off).await.unwrap();
        let mut pages = Vec::new();
        for (email, password) in [
            ("ana@example.org", "not her password"),
            ("nobody@example.org", "not her password"),
            ("gone@example.org", PASSWORD),
            ("ana@example.org", ""),
            ("ana@example.org", &"x".repeat(2000)),
        ] {
            let mut browser = w.newcomer();
            let answer = sign_in(&mut browser, email, password).await;
            assert_eq!(answer.status, 422);
            let csrf = browser.csrf.clone().unwrap();
            pages.push(answer.text.replace(email, "EMAIL").replace(&csrf, "CSRF"));
            w.pass(seconds(86_400));
        }
        assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
        assert!(pages[0].contains("The email address or password is incorrect.") && !pages[0].contains("xxxx"));
        // It is noted beside the request, so nobody knows in which order.
        for _ in 0..1000 {
            if audited(w, "user.sign_in_failed").await.len() >= 4 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let noted = audited(w, "user.sign_in_failed").await;
        assert_eq!(noted.len(), 4, "{noted:?}");
        let of = |id: String| noted.iter().filter(|(subject, _)| *subject == id).count();
        assert_eq!((of(ana.id.to_string()), of(gone)), (3, 1), "{noted:?}");
        assert!(!format!("{noted:?}").contains("not her password"));
    }

    async fn guessing_gets_slower_and_nobody_is_locked_out(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        for email in ["ana@example.org", "nobody@example.org"] {
            let mut browser = w.newcomer();
            for _ in 0..3 {
                assert_eq!(sign_in(&mut browser, email, "wrong").await.status, 422);
            }
            for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
                let refused = sign_in(&mut browser, email, PASSWORD).await;
                assert_eq!(refused.status, 429, "{email}");
                assert_eq!(refused.header("retry-after"), Some(wait.to_string().as_str()));
                w.pass(seconds(wait - 1));
                assert_eq!(sign_in(&mut browser, email, PASSWORD).await.status, 429);
                w.pass(seconds(1));
                assert_eq!(sign_in(&mut browser, email, "wrong").await.status, 422);
            }
            w.pass(seconds(60));
        }
        let mut browser = w.newcomer();
        sign_in(&mut browser, "Ana@Example.org", PASSWORD).await.leads_to("/");
        // What failed before is forgiven.
        for _ in 0..3 {
            let mut browser = w.newcomer();
            assert_eq!(sign_in(&mut browser, "ana@example.org", "wrong").await.status, 422);
        }
        w.pass(seconds(86_400));
        let mut browser = w.newcomer();
        assert_eq!(sign_in(&mut browser, "ana@example.org", "wrong").await.status, 422);
    }

    async fn guessing_elsewhere_does_not_make_people_wait_at_home(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        let node = w.node(|config| {
            config.sign_in_rate = 100_000.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let at = |address: &str| Browser::new(node.address).with("X-Forwarded-For", address);
        let mut home = at("198.51.100.7");
        sign_in(&mut home, "ana@example.org", PASSWORD).await.leads_to("/");
        for attempt in 0..20 {
            let mut thief = at("203.0.113.9");
            let status = sign_in(&mut thief, "ana@example.org", "wrong").await.status;
            assert_eq!(status, if attempt < 3 { 422 } else { 429 });
        }
        let mut home = at("198.51.100.7");
        sign_in(&mut home, "ana@example.org", PASSWORD).await.leads_to("/");
        let mut thief = at("203.0.113.9");
        assert_eq!(sign_in(&mut thief, "ana@example.org", "wrong").await.status, 429);
        node.stop().await;
    }

    async fn a_guesser_at_every_opening_does_not_keep_the_owner_out(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        let node = w.node(|config| {
            config.sign_in_rate = 100_000.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let at = |address: &str| Browser::new(node.address).with("X-Forwarded-For", address);
        let (mut thief, mut passed, mut guesses) = (at("203.0.113.9"), 0, 0);
        while passed < 600 {
            let answer = sign_in(&mut thief, "ana@example.org", "wrong").await;
            guesses += u32::from(answer.status == 422);
            if answer.status == 429 {
                let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
                w.pass(seconds(wait));
                passed += wait;
            }
        }
        assert!((10..25).contains(&guesses), "{guesses}");
        assert_eq!(sign_in(&mut thief, "ana@example.org", "wrong").await.status, 422);
        sign_in(&mut at("198.51.100.7"), "ana@example.org", PASSWORD).await.leads_to("/");
        // Many places together are slowed down, and what they use up is there again soon.
        let mut refused = 0;
        for host in 0..80 {
            let mut thief = at(&format!("192.0.2.{host}"));
            refused += u32::from(sign_in(&mut thief, "ana@example.org", "wrong").await.status == 429);
        }
        assert!((15..=25).contains(&refused), "{refused}");
        w.pass(seconds(2));
        sign_in(&mut at("198.51.100.99"), "ana@example.org", PASSWORD).await.leads_to("/");
        node.stop().await;
    }

    async fn an_address_can_fail_only_so_often(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        let node = w.node(|config| {
            config.sign_in_rate = 10.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let at = |address: &str| Browser::new(node.address).with("X-Forwarded-For", address);
        let mut statuses = Vec::new();
        for number in 0..7 {
            let mut browser = at(&format!("2001:db8::{number:x}"));
            statuses.push(sign_in(&mut browser, &format!("x{number}@example.org"), "wrong").await.status);
        }
        assert_eq!(statuses, [422, 422, 422, 422, 422, 429, 429]);
        // A good one elsewhere costs nothing, however often.
        for _ in 0..8 {
            let mut browser = at("192.0.2.1");
            sign_in(&mut browser, "ana@example.org", PASSWORD).await.leads_to("/");
        }
        // Only what a trusted proxy says of the address counts.
        let mut spoofed = at("198.51.100.1, 2001:db8::1");
        assert_eq!(sign_in(&mut spoofed, "y@example.org", "wrong").await.status, 429);
        w.pass(seconds(6));
        let mut browser = at("2001:db8::1");
        assert_eq!(sign_in(&mut browser, "z@example.org", "wrong").await.status, 422);
        node.stop().await;
    }

    async fn an_old_hash_is_renewed_at_sign_in(w: &World) {
        let id = w.user(Role::Member, "ana@example.org").await.id;
        // The same password with other parameters.
        let params = argon2::Params::new(64, 1, 1, None).unwrap();
        let argon = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
        let old = argon.hash_password_with_salt(PASSWORD.as_bytes(), &[7; 16]).unwrap().to_string();
        let kept = old.clone();
        let set = move |tx: &store::Tx<'_>| touchline::accounts::own::set_password(tx, id, &kept);
        w.db().write(Scope::system("test"), set).await.unwrap();
        let mut browser = w.newcomer();
        sign_in(&mut browser, "ana@example.org", "wrong").await.refused_page(422);
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.leads_to("/");
        let look = move |db: &store::Reader<'_>| touchline::accounts::user::find(db, id);
        let kept = w.db().read(Scope::system("test"), look).await.unwrap().password_hash.unwrap();
        assert!(kept != old && !kit::password::is_outdated(&kept), "{kept}");
        let mut browser = w.newcomer();
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.leads_to("/");
    }

    async fn many_at_once_leave_the_service_alive(w: &World) {
        for number in 0..4 {
            w.user(Role::Member, &format!("p{number}@example.org")).await;
        }
        let address = w.node.address;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..200 {
            tasks.spawn(async move {
                let mut browser = Browser::new(address);
                let email = format!("p{number}@example.org");
                sign_in(&mut browser, &email, PASSWORD).await.status
            });
        }
        let client = Client::new(address, None);
        let mut times = Vec::new();
        while !tasks.is_empty() {
            let began = Instant::now();
            client.get("/healthz").await.ok();
            times.push(began.elapsed());
            while tasks.try_join_next().is_some_and(|status| {
                assert!([303, 422, 503].contains(&status.unwrap()));
                true
            }) {}
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        times.sort();
        let late = times[times.len() * 95 / 100];
        // Were passwords hashed where requests are answered, each answer would wait for many of them.
        assert!(times.len() >= 20, "it answered too seldom, or it was over too soon: {times:?}");
        assert!(late < Duration::from_millis(100), "{late:?} of {}", times.len());
        // Whoever was turned away comes in afterwards.
        let mut browser = w.newcomer();
        sign_in(&mut browser, "p1@example.org", PASSWORD).await.leads_to("/");
    }
}

/// What a page that was refused looks like.
pub(crate) trait RefusedPage {
    fn refused_page(self, status: u16) -> Self;
}

impl RefusedPage for Answer {
    #[track_caller]
    fn refused_page(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }
}
