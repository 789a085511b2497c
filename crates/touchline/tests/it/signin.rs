//! Tests of signing in with a browser.

use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use store::{Record, Scope, bind, sql};
use testkit::people::PASSWORD;
use testkit::{Browser, Client, TestResponse, Value, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::signals::AuditEntry;

/// Submits the sign-in form.
pub(crate) async fn sign_in(browser: &mut Browser, email: &str, password: &str) -> TestResponse {
    if browser.csrf.is_none() {
        browser.get("/sign-in").await.ok();
    }
    browser.post("/sign-in", &[("email", email), ("password", password)]).await
}

/// Subject and details of the audit entries of Harbour with this action, oldest first.
pub(crate) async fn audit_entries_of(w: &World, action: &str) -> Vec<(String, Value)> {
    let action = action.to_owned();
    let read = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        let mut entries = Vec::new();
        db.for_each_row(
            sql!(AuditEntry::SELECT, " where account_id = :account order by position"),
            bind! {},
            |row| {
                let entry = <AuditEntry as Record>::read(row)?;
                if entry.action == action {
                    let details = serde_json::from_str(&entry.details.unwrap()).unwrap();
                    entries.push((entry.subject, details));
                }
                Ok(())
            },
        )?;
        Ok::<_, store::Error>(entries)
    });
    read.await.unwrap()
}

both! {
    async fn signs_in_and_out(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.anonymous_browser();
        browser.get("/").await.redirects_to("/sign-in");
        let page = browser.get("/sign-in").await.ok();
        let page = page.shows("Forgot your password?").shows("Ask your coach for an invitation link");
        assert!(page.header("set-cookie").unwrap().ends_with("Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=2592000"));
        browser.get("/account/sessions?x=1").await.redirects_to("/sign-in?next=%2Faccount%2Fsessions%3Fx%3D1");
        browser.get("/sign-in?next=%2Faccount%2Fsessions").await.shows("value=\"/account/sessions\"");

        let fields = [("email", " ANA@example.org "), ("password", PASSWORD), ("next", "/account/sessions")];
        browser.post("/sign-in", &fields).await.redirects_to("/account/sessions");
        browser.get("/account/sessions").await.ok().shows("This browser");
        browser.get("/account").await.ok().shows("ana@example.org");
        browser.get("/").await.ok().shows("/admin");
        browser.get("/sign-in").await.redirects_to("/");
        let entries = audit_entries_of(w, "user.signed_in").await;
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].0, ana.id.to_string());
        assert_eq!(entries[0].1["method"], "password");
        assert_eq!(entries[0].1["user_agent"], "Testkit/1.0");

        let cookie = browser.cookie.clone();
        browser.get("/account").await.ok();
        browser.post("/sign-out", &[]).await.redirects_to("/sign-in?done=signed-out");
        assert_eq!(browser.cookie, None);
        let mut old = w.anonymous_browser().with_cookie(cookie);
        old.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        assert_eq!(audit_entries_of(w, "user.signed_out").await.len(), 1);
        browser.get("/sign-out").await.refused_page(405);
    }

    async fn start_page_redirects_programs_to_the_docs(w: &World) {
        let home_page = w.anonymous_browser().get("/").await.ok().shows("touchline set-up-link");
        assert!(!home_page.text.contains("/set-up/"), "{}", home_page.text);
        w.user(Role::Member, "bo@example.org").await;
        assert_eq!(w.nobody.get("/").await.header("location"), Some("/docs"));
        w.anonymous_browser().get("/").await.redirects_to("/sign-in");
        let bo = w.user(Role::Member, "cy@example.org").await;
        w.browser(bo.id).await.get("/").await.ok();
    }

    async fn known_and_unknown_addresses_get_the_same_answer(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let disabled = w.user(Role::Member, "gone@example.org").await;
        let disabled_id = disabled.id.to_string();
        let disable = move |tx: &store::Tx<'_>| {
            let id = disabled.id;
            tx.execute("update app_user set disabled_at = :now where id = :id /* any account */", bind! { id })
        };
        w.db().write(Scope::system("test"), disable).await.unwrap();
        let mut pages = Vec::new();
        for (email, password) in [
            ("ana@example.org", "not her password"),
            ("nobody@example.org", "not her password"),
            ("gone@example.org", PASSWORD),
            ("ana@example.org", ""),
            ("ana@example.org", &"x".repeat(2000)),
        ] {
            let mut browser = w.anonymous_browser();
            let answer = sign_in(&mut browser, email, password).await;
            assert_eq!(answer.status, 422);
            let csrf = browser.csrf.clone().unwrap();
            pages.push(answer.text.replace(email, "EMAIL").replace(&csrf, "CSRF"));
            w.advance_clock(seconds(86_400));
        }
        assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
        assert!(pages[0].contains("The email address or password is incorrect.") && !pages[0].contains("xxxx"));
        // The entries are written in the background, in any order.
        for _ in 0..1000 {
            if audit_entries_of(w, "user.sign_in_failed").await.len() >= 4 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let failures = audit_entries_of(w, "user.sign_in_failed").await;
        assert_eq!(failures.len(), 4, "{failures:?}");
        let count_of = |id: String| failures.iter().filter(|(subject, _)| *subject == id).count();
        assert_eq!((count_of(ana.id.to_string()), count_of(disabled_id)), (3, 1), "{failures:?}");
        assert!(!format!("{failures:?}").contains("not her password"));
    }

    async fn guessing_gets_slower_but_locks_nobody_out(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        for email in ["ana@example.org", "nobody@example.org"] {
            let mut browser = w.anonymous_browser();
            for _ in 0..3 {
                assert_eq!(sign_in(&mut browser, email, "wrong").await.status, 422);
            }
            for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
                let refused = sign_in(&mut browser, email, PASSWORD).await;
                assert_eq!(refused.status, 429, "{email}");
                assert_eq!(refused.header("retry-after"), Some(wait.to_string().as_str()));
                w.advance_clock(seconds(wait - 1));
                assert_eq!(sign_in(&mut browser, email, PASSWORD).await.status, 429);
                w.advance_clock(seconds(1));
                assert_eq!(sign_in(&mut browser, email, "wrong").await.status, 422);
            }
            w.advance_clock(seconds(60));
        }
        let mut browser = w.anonymous_browser();
        sign_in(&mut browser, "Ana@Example.org", PASSWORD).await.redirects_to("/");
        // A successful sign-in resets the failures.
        for _ in 0..3 {
            let mut browser = w.anonymous_browser();
            assert_eq!(sign_in(&mut browser, "ana@example.org", "wrong").await.status, 422);
        }
        w.advance_clock(seconds(86_400));
        let mut browser = w.anonymous_browser();
        assert_eq!(sign_in(&mut browser, "ana@example.org", "wrong").await.status, 422);
    }

    async fn guessing_from_one_address_does_not_delay_others(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        let node = w.node(|config| {
            config.sign_in_rate = 100_000.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let browser_at = |address: &str| Browser::new(node.address).with_header("X-Forwarded-For", address);
        let mut home = browser_at("198.51.100.7");
        sign_in(&mut home, "ana@example.org", PASSWORD).await.redirects_to("/");
        for attempt in 0..20 {
            let mut thief = browser_at("203.0.113.9");
            let status = sign_in(&mut thief, "ana@example.org", "wrong").await.status;
            assert_eq!(status, if attempt < 3 { 422 } else { 429 });
        }
        let mut home = browser_at("198.51.100.7");
        sign_in(&mut home, "ana@example.org", PASSWORD).await.redirects_to("/");
        let mut thief = browser_at("203.0.113.9");
        assert_eq!(sign_in(&mut thief, "ana@example.org", "wrong").await.status, 429);
        node.stop().await;
    }

    async fn persistent_guessing_does_not_lock_out_the_owner(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        let node = w.node(|config| {
            config.sign_in_rate = 100_000.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let browser_at = |address: &str| Browser::new(node.address).with_header("X-Forwarded-For", address);
        let (mut thief, mut passed, mut guesses) = (browser_at("203.0.113.9"), 0, 0);
        while passed < 600 {
            let answer = sign_in(&mut thief, "ana@example.org", "wrong").await;
            guesses += u32::from(answer.status == 422);
            if answer.status == 429 {
                let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
                w.advance_clock(seconds(wait));
                passed += wait;
            }
        }
        assert!((10..25).contains(&guesses), "{guesses}");
        assert_eq!(sign_in(&mut thief, "ana@example.org", "wrong").await.status, 422);
        sign_in(&mut browser_at("198.51.100.7"), "ana@example.org", PASSWORD).await.redirects_to("/");
        // Attempts from many addresses are slowed down together, and the limit recovers soon.
        let mut refused = 0;
        for host in 0..80 {
            let mut thief = browser_at(&format!("192.0.2.{host}"));
            refused += u32::from(sign_in(&mut thief, "ana@example.org", "wrong").await.status == 429);
        }
        assert!((15..=25).contains(&refused), "{refused}");
        w.advance_clock(seconds(2));
        sign_in(&mut browser_at("198.51.100.99"), "ana@example.org", PASSWORD).await.redirects_to("/");
        node.stop().await;
    }

    async fn limits_failures_per_address(w: &World) {
        w.user(Role::Member, "ana@example.org").await;
        let node = w.node(|config| {
            config.sign_in_rate = 10.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let browser_at = |address: &str| Browser::new(node.address).with_header("X-Forwarded-For", address);
        let mut statuses = Vec::new();
        for number in 0..7 {
            let mut browser = browser_at(&format!("2001:db8::{number:x}"));
            statuses.push(sign_in(&mut browser, &format!("x{number}@example.org"), "wrong").await.status);
        }
        assert_eq!(statuses, [422, 422, 422, 422, 422, 429, 429]);
        // Successful sign-ins from elsewhere are not limited.
        for _ in 0..8 {
            let mut browser = browser_at("192.0.2.1");
            sign_in(&mut browser, "ana@example.org", PASSWORD).await.redirects_to("/");
        }
        // Only the address that a trusted proxy reports counts.
        let mut spoofed = browser_at("198.51.100.1, 2001:db8::1");
        assert_eq!(sign_in(&mut spoofed, "y@example.org", "wrong").await.status, 429);
        w.advance_clock(seconds(6));
        let mut browser = browser_at("2001:db8::1");
        assert_eq!(sign_in(&mut browser, "z@example.org", "wrong").await.status, 422);
        node.stop().await;
    }

    async fn upgrades_an_outdated_hash(w: &World) {
        let id = w.user(Role::Member, "ana@example.org").await.id;
        // The same password with other parameters.
        let params = argon2::Params::new(64, 1, 1, None).unwrap();
        let argon = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
        let old = argon.hash_password_with_salt(PASSWORD.as_bytes(), &[7; 16]).unwrap().to_string();
        let stored = old.clone();
        let set = move |tx: &store::Tx<'_>| touchline::accounts::profile::set_password(tx, id, &stored);
        w.db().write(Scope::system("test"), set).await.unwrap();
        let mut browser = w.anonymous_browser();
        sign_in(&mut browser, "ana@example.org", "wrong").await.refused_page(422);
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.redirects_to("/");
        let find = move |db: &store::Reader<'_>| touchline::accounts::user::find(db, id);
        let stored = w.db().read(Scope::system("test"), find).await.unwrap().password_hash.unwrap();
        assert!(stored != old && !kit::password::is_outdated(&stored), "{stored}");
        let mut browser = w.anonymous_browser();
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.redirects_to("/");
    }

    async fn service_responds_during_many_sign_ins(w: &World) {
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
            let started = Instant::now();
            client.get("/healthz").await.ok();
            times.push(started.elapsed());
            while tasks.try_join_next().is_some_and(|status| {
                assert!([303, 422, 503].contains(&status.unwrap()));
                true
            }) {}
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        times.sort();
        let p95 = times[times.len() * 95 / 100];
        // If passwords were hashed on the request threads, each response would wait for many of
        // them.
        assert!(times.len() >= 20, "too few samples: {times:?}");
        assert!(p95 < Duration::from_millis(100), "{p95:?} of {}", times.len());
        // Rejected users can sign in afterwards.
        let mut browser = w.anonymous_browser();
        sign_in(&mut browser, "p1@example.org", PASSWORD).await.redirects_to("/");
    }
}

/// Asserts the status of an error page.
pub(crate) trait RefusedPage {
    fn refused_page(self, status: u16) -> Self;
}

impl RefusedPage for TestResponse {
    #[track_caller]
    fn refused_page(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }
}
