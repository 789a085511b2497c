//! Tests of password resets and email changes, with a real mail server.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, World, both, seconds};
use touchline::accounts::profile;
use touchline::accounts::user::Role;
use touchline::signin::{authentication, passkey};

use crate::mail::{node_with, node_with_mail};
use crate::signin::{RefusedPage, audit_entries_of, sign_in};
use crate::signin_two_step;

const NEW: &str = "seven quiet otters fold paper";

/// A link as `touchline user reset` creates it.
async fn link(w: &World, email: &str) -> String {
    let email = email.to_owned();
    let created = w
        .db()
        .write(Scope::system("test"), move |tx| authentication::create_reset_link(tx, &email))
        .await;
    format!("/reset/{}", created.unwrap().1.reveal())
}

/// The path of the link in an email.
fn link_path(text: &str) -> String {
    let (_, after) =
        text.split_once("https://club.example.org").expect("a link to our own address");
    after.split_whitespace().next().unwrap().to_owned()
}

both! {
    async fn emailed_link_works_once(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = w.client_for_user(ana.id, "teams:read").await;
        let mut signed_in = w.browser(ana.id).await;
        let node = node_with_mail(w, &server.url()).await;
        // The link uses our own base URL, whatever host a request names.
        let mut browser = Browser::new(node.address).with_header("X-Forwarded-Host", "evil.example").with_header("Forwarded", "host=evil.example");
        browser.get("/forgot").await.ok();
        let known = browser.post("/forgot", &[("email", "ANA@example.org")]).await.ok();
        let email = &server.emails(1)[0];
        assert_eq!(email["to"], testkit::json!(["ana@example.org"]));
        let text = email["text"].as_str().unwrap();
        assert!(!email.to_string().contains("evil.example"));
        let path = link_path(text);
        let unknown = browser.post("/forgot", &[("email", "nobody@example.org")]).await.ok();
        assert_eq!(known.text, unknown.text);
        assert!(server.is_empty(), "no email is sent");
        assert_eq!(w.count("mail").await, 0, "the email is not stored");

        // Opening the page does not use the link.
        browser.get(&path).await.ok().shows("ana@example.org");
        browser.get(&path).await.ok();
        browser.post(&path, &[("password", "short")]).await.refused_page(422).shows("at least 12");
        signed_in.get("/account").await.ok();
        browser.post(&path, &[("password", NEW)]).await.redirects_to("/sign-in?done=reset");
        browser.get("/sign-in?done=reset").await.ok().shows("Your password was changed");
        browser.post(&path, &[("password", NEW)]).await.refused_page(410);
        browser.get(&path).await.refused_page(410);
        signed_in.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        app.get("/teams").await.assert_problem(401, "invalid_credentials");
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.refused_page(422);
        sign_in(&mut browser, "ana@example.org", NEW).await.redirects_to("/");
        assert!(server.emails(1)[0]["text"].as_str().unwrap().contains("password was changed"));
        assert_eq!(audit_entries_of(w, "user.password_reset").await.len(), 1);
        node.stop().await;
    }

    async fn limits_reset_emails(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        w.user(Role::Owner, "ana@example.org").await;
        let node = node_with_mail(w, &server.url()).await;
        let mut browser = Browser::new(node.address);
        browser.get("/forgot").await.ok();
        for _ in 0..3 {
            browser.post("/forgot", &[("email", "ana@example.org")]).await.ok();
        }
        let refused = browser.post("/forgot", &[("email", "bo@example.org")]).await.refused_page(429);
        assert_eq!(refused.header("retry-after"), Some("1200"));
        assert_eq!(server.emails(3).len(), 3);
        w.advance_clock(seconds(3 * 1200));
        for expected in [1, 0, 0] {
            browser.post("/forgot", &[("email", "ana@example.org")]).await.ok().shows("we have sent a link");
            assert_eq!(server.emails(expected).len(), expected);
        }
        assert!(server.is_empty());
        node.stop().await;
    }

    async fn stranger_does_not_use_up_the_email_limit(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        w.user(Role::Owner, "ana@example.org").await;
        let node = node_with(w, &[("smtp_url", &server.url()), ("trusted_proxies", "127.0.0.0/8")]).await;
        let browser_at = |address: &str| Browser::new(node.address).with_header("X-Forwarded-For", address);
        let mut stranger = browser_at("203.0.113.9");
        stranger.get("/forgot").await.ok();
        for _ in 0..12 {
            stranger.post("/forgot", &[("email", "ana@example.org")]).await;
            w.advance_clock(seconds(1200));
        }
        // Three immediately, then one per hour.
        assert!(server.emails(6).len() >= 6);
        let mut owner = browser_at("198.51.100.7");
        owner.get("/forgot").await.ok();
        owner.post("/forgot", &[("email", "ana@example.org")]).await.ok();
        assert_eq!(server.emails(1).len(), 1);
        node.stop().await;
    }

    async fn owner_of_an_address_can_reclaim_it(w: &World) {
        let squatter = w.user(Role::Member, "ana@example.org").await;
        let (_, _) = signin_two_step::set_up(w, &squatter).await;
        let id = squatter.id;
        let take_address = move |tx: &store::Tx<'_>| {
            let new = passkey::VerifiedCredential { credential_id: vec![1], static_state: vec![2], dynamic_state: vec![3], metadata: "{}".to_owned() };
            passkey::add(tx, id, "Mine", new)?;
            profile::set_email(tx, id, "ana@example.org", false)
        };
        w.db().write(Scope::system("test"), take_address).await.unwrap();
        let path = link(w, "ana@example.org").await;
        let mut owner = w.anonymous_browser();
        owner.get(&path).await.ok();
        owner.post(&path, &[("password", NEW)]).await.redirects_to("/sign-in?done=reset-all");
        owner.get("/sign-in?done=reset-all").await.ok().shows("two-step sign-in were removed");
        for table in ["passkey", "totp", "recovery_code", "session"] {
            assert_eq!(w.count(table).await, 0, "{table}");
        }
        sign_in(&mut owner, "ana@example.org", NEW).await.redirects_to("/");
        for action in ["user.password_reset", "user.email_verified", "user.two_step_off", "passkey.removed"] {
            assert_eq!(audit_entries_of(w, action).await.len(), 1, "{action}");
        }
        // From now on the address is confirmed, and a reset keeps the second step.
        signin_two_step::set_up(w, &squatter).await;
        let path = link(w, "ana@example.org").await;
        owner.get(&path).await.ok();
        owner.post(&path, &[("password", NEW)]).await.redirects_to("/sign-in?done=reset");
        assert_eq!(w.count("totp").await, 1);
        // Unless the operator creates a full reset link.
        let created = w.db().write(Scope::system("test"), |tx| authentication::create_full_reset_link(tx, "ana@example.org")).await;
        let path = format!("/reset/{}", created.unwrap().1.reveal());
        owner.get(&path).await.ok();
        assert_eq!(w.count("totp").await, 1, "nothing changes before the link is used");
        owner.post(&path, &[("password", NEW)]).await.redirects_to("/sign-in?done=reset-all");
        owner.get(&path).await.refused_page(410);
        assert_eq!((w.count("totp").await, w.count("recovery_code").await), (0, 0));
    }

    async fn second_step_requires_a_confirmed_address(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let id = w.user(Role::Owner, "ana@example.org").await.id;
        let unconfirm = move |tx: &store::Tx<'_>| profile::set_email(tx, id, "ana@example.org", false);
        w.db().write(Scope::system("test"), unconfirm).await.unwrap();
        // Without a mail server the confirmation is not required.
        w.browser(id).await.get("/account/two-step/set-up").await.ok();
        let node = node_with_mail(w, &server.url()).await;
        let mut browser = Browser::new(node.address).with_cookie(w.browser(id).await.cookie);
        browser.get("/account/passkeys").await.ok().shows("Confirm your email address first");
        browser.get("/account/two-step").await.ok().shows("Confirm your email address first");
        browser.get("/account/two-step/set-up").await.redirects_to("/account/two-step");
        browser.get("/account/two-step").await.ok();
        browser.post("/account/two-step/set-up", &[("code", "123456")]).await.redirects_to("/account/two-step");
        for form in ["/account/passkeys/begin", "/account/passkeys/finish"] {
            let refused = browser.post(form, &[]).await;
            assert!(refused.status == 409 && refused.text.contains("Confirm your email address first"), "{} {}", refused.status, refused.text);
        }
        browser.post("/account/email", &[("email", "ana@example.org")]).await.redirects_to("/account?done=email-sent");
        let path = link_path(server.emails(1)[0]["text"].as_str().unwrap());
        browser.get(&path).await.ok();
        browser.post(&path, &[]).await.redirects_to("/account?done=verified");
        assert_eq!(audit_entries_of(w, "user.email_verified").await.len(), 1);
        browser.get("/account/two-step/set-up").await.ok().shows("<svg class=\"qr\"");
        node.stop().await;
    }

    async fn page_says_when_there_is_no_mail_server(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.anonymous_browser();
        browser.get("/forgot").await.ok().shows("does not send email").shows("touchline user reset");
        browser.get("/sign-in").await.ok();
        browser.post("/forgot", &[("email", "ana@example.org")]).await.ok().shows("does not send email");
        assert_eq!(w.count("once_link").await, 0);
    }

    async fn link_expires_and_keeps_the_second_step(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = signin_two_step::set_up(w, &ana).await;
        let (second_link, path) = (link(w, "ana@example.org").await, link(w, "ana@example.org").await);
        let mut browser = w.anonymous_browser();
        browser.get(&path).await.ok();
        w.advance_clock(seconds(1799));
        browser.get(&second_link).await.ok();
        browser.post(&path, &[("password", NEW)]).await.redirects_to("/sign-in?done=reset");
        browser.get(&second_link).await.refused_page(410);
        sign_in(&mut browser, "ana@example.org", NEW).await.redirects_to("/sign-in/code?next=%2F");
        browser.get("/account").await.redirects_to("/sign-in/code?next=%2Faccount");
        browser.get("/sign-in/code").await.ok();
        browser.post("/sign-in/code", &[("code", &signin_two_step::totp_code(w, &seed))]).await.redirects_to("/");
        let expired = link(w, "ana@example.org").await;
        w.advance_clock(seconds(1800));
        w.anonymous_browser().get(&expired).await.refused_page(410);
        w.anonymous_browser().get("/reset/tlln_nonsense").await.refused_page(410);
    }

    async fn concurrent_uses_of_a_link_succeed_once(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        let path = link(w, "ana@example.org").await;
        let mut browsers = Vec::new();
        for _ in 0..6 {
            // All browsers open the page before one submits it.
            let mut browser = w.anonymous_browser();
            browser.get(&path).await.ok();
            browsers.push(browser);
        }
        let mut tasks = tokio::task::JoinSet::new();
        for (number, mut browser) in browsers.into_iter().enumerate() {
            let path = path.clone();
            tasks.spawn(async move {
                let new = format!("{NEW} {number}");
                browser.post(&path, &[("password", &new)]).await.status
            });
        }
        let mut statuses = tasks.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 410, 410, 410, 410, 410]);
    }

    async fn new_address_takes_effect_when_confirmed(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let node = node_with_mail(w, &server.url()).await;
        let mut browser = Browser::new(node.address).with_cookie(w.browser(ana.id).await.cookie);
        browser.get("/account/email").await.ok().shows("We will send a link");
        browser.post("/account/email", &[("email", "new@example.org")]).await.redirects_to("/account?done=email-sent");
        let email = &server.emails(1)[0];
        assert_eq!(email["to"], testkit::json!(["new@example.org"]));
        let path = link_path(email["text"].as_str().unwrap());
        browser.get("/account").await.ok().shows("ana@example.org");
        let mut phone = Browser::new(node.address);
        phone.get(&path).await.ok().shows("new@example.org");
        phone.post(&path, &[]).await.redirects_to("/sign-in?done=email");
        phone.post(&path, &[]).await.refused_page(410);
        browser.get("/account").await.ok().shows("new@example.org");
        assert_eq!(server.emails(1)[0]["to"], testkit::json!(["ana@example.org"]), "the old address is notified");
        node.stop().await;
    }
}
