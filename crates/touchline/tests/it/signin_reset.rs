//! Stories about passwords that were forgotten, told with a real mail server.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, World, both, seconds};
use touchline::accounts::own;
use touchline::accounts::user::Role;
use touchline::signin::{entry, passkey};

use crate::mail::{node_with, node_with_mail};
use crate::signin::{RefusedPage, audited, sign_in};
use crate::signin_two_step;

const NEW: &str = "seven quiet otters fold paper";

/// A link as `touchline user reset` makes one.
async fn link(w: &World, email: &str) -> String {
    let email = email.to_owned();
    let made = w.db().write(Scope::system("test"), move |tx| entry::reset_link(tx, &email)).await;
    format!("/reset/{}", made.unwrap().1.reveal())
}

/// The path of the link in a letter.
fn linked(text: &str) -> String {
    let (_, rest) = text.split_once("https://club.example.org").expect("a link to our own address");
    rest.split_whitespace().next().unwrap().to_owned()
}

both! {
    async fn a_letter_brings_a_link_that_works_once(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = w.acting_for(ana.id, "teams:read").await;
        let mut signed_in = w.browser(ana.id).await;
        let node = node_with_mail(w, &server.url()).await;
        // Whatever a request says of the host, the link leads to ours.
        let mut browser = Browser::new(node.address).with("X-Forwarded-Host", "evil.example").with("Forwarded", "host=evil.example");
        browser.get("/forgot").await.ok();
        let known = browser.post("/forgot", &[("email", "ANA@example.org")]).await.ok();
        let letter = &server.letters(1)[0];
        assert_eq!(letter["to"], testkit::json!(["ana@example.org"]));
        let text = letter["text"].as_str().unwrap();
        assert!(!letter.to_string().contains("evil.example"));
        let path = linked(text);
        let unknown = browser.post("/forgot", &[("email", "nobody@example.org")]).await.ok();
        assert_eq!(known.text, unknown.text);
        assert!(server.is_empty(), "nobody is written to");
        assert_eq!(w.count("mail").await, 0, "the letter lies nowhere");

        // Looking at the page uses nothing up.
        browser.get(&path).await.ok().shows("ana@example.org");
        browser.get(&path).await.ok();
        browser.post(&path, &[("password", "short")]).await.refused_page(422).shows("at least 12");
        signed_in.get("/account").await.ok();
        browser.post(&path, &[("password", NEW)]).await.leads_to("/sign-in?done=reset");
        browser.get("/sign-in?done=reset").await.ok().shows("Your new password is set");
        browser.post(&path, &[("password", NEW)]).await.refused_page(410);
        browser.get(&path).await.refused_page(410);
        signed_in.get("/account").await.leads_to("/sign-in?next=%2Faccount");
        app.get("/teams").await.refused(401, "invalid_credentials");
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.refused_page(422);
        sign_in(&mut browser, "ana@example.org", NEW).await.leads_to("/");
        assert!(server.letters(1)[0]["text"].as_str().unwrap().contains("was just changed"));
        assert_eq!(audited(w, "user.password_reset").await.len(), 1);
        node.stop().await;
    }

    async fn letters_are_few(w: &World) {
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
        assert_eq!(server.letters(3).len(), 3);
        w.pass(seconds(3 * 1200));
        for letters in [1, 0, 0] {
            browser.post("/forgot", &[("email", "ana@example.org")]).await.ok().shows("on its way");
            assert_eq!(server.letters(letters).len(), letters);
        }
        assert!(server.is_empty());
        node.stop().await;
    }

    async fn a_stranger_does_not_use_up_the_letters(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        w.user(Role::Owner, "ana@example.org").await;
        let node = node_with(w, &[("smtp_url", &server.url()), ("trusted_proxies", "127.0.0.0/8")]).await;
        let at = |address: &str| Browser::new(node.address).with("X-Forwarded-For", address);
        let mut stranger = at("203.0.113.9");
        stranger.get("/forgot").await.ok();
        for _ in 0..12 {
            stranger.post("/forgot", &[("email", "ana@example.org")]).await;
            w.pass(seconds(1200));
        }
        // Three at once, then one in an hour.
        assert!(server.letters(6).len() >= 6);
        let mut owner = at("198.51.100.7");
        owner.get("/forgot").await.ok();
        owner.post("/forgot", &[("email", "ana@example.org")]).await.ok();
        assert_eq!(server.letters(1).len(), 1);
        node.stop().await;
    }

    async fn whoever_takes_an_address_first_loses_it_to_its_owner(w: &World) {
        let squatter = w.user(Role::Member, "ana@example.org").await;
        let (_, _) = signin_two_step::set_up(w, &squatter).await;
        let id = squatter.id;
        let squat = move |tx: &store::Tx<'_>| {
            let new = passkey::Credential { credential_id: vec![1], static_state: vec![2], dynamic_state: vec![3], metadata: "{}".to_owned() };
            passkey::add(tx, id, "Mine", new)?;
            own::set_email(tx, id, "ana@example.org", false)
        };
        w.db().write(Scope::system("test"), squat).await.unwrap();
        let path = link(w, "ana@example.org").await;
        let mut owner = w.newcomer();
        owner.get(&path).await.ok();
        owner.post(&path, &[("password", NEW)]).await.leads_to("/sign-in?done=reset-all");
        owner.get("/sign-in?done=reset-all").await.ok().shows("set up before are gone");
        for table in ["passkey", "totp", "recovery_code", "session"] {
            assert_eq!(w.count(table).await, 0, "{table}");
        }
        sign_in(&mut owner, "ana@example.org", NEW).await.leads_to("/");
        for action in ["user.password_reset", "user.email_verified", "user.two_step_off", "passkey.removed"] {
            assert_eq!(audited(w, action).await.len(), 1, "{action}");
        }
        // From now on the address is confirmed, and a second step stays.
        signin_two_step::set_up(w, &squatter).await;
        let path = link(w, "ana@example.org").await;
        owner.get(&path).await.ok();
        owner.post(&path, &[("password", NEW)]).await.leads_to("/sign-in?done=reset");
        assert_eq!(w.count("totp").await, 1);
        // Unless whoever runs the service says otherwise.
        let made = w.db().write(Scope::system("test"), |tx| entry::reset_all_link(tx, "ana@example.org")).await;
        let path = format!("/reset/{}", made.unwrap().1.reveal());
        owner.get(&path).await.ok();
        assert_eq!(w.count("totp").await, 1, "nothing ends before the link is used");
        owner.post(&path, &[("password", NEW)]).await.leads_to("/sign-in?done=reset-all");
        owner.get(&path).await.refused_page(410);
        assert_eq!((w.count("totp").await, w.count("recovery_code").await), (0, 0));
    }

    async fn an_address_is_confirmed_before_a_second_step(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let id = w.user(Role::Owner, "ana@example.org").await.id;
        let unsure = move |tx: &store::Tx<'_>| own::set_email(tx, id, "ana@example.org", false);
        w.db().write(Scope::system("test"), unsure).await.unwrap();
        // Without mail nobody can confirm anything.
        w.browser(id).await.get("/account/two-step/set-up").await.ok();
        let node = node_with_mail(w, &server.url()).await;
        let mut browser = Browser::new(node.address).holding(w.browser(id).await.cookie);
        browser.get("/account/passkeys").await.ok().shows("Confirm your address first");
        browser.get("/account/two-step").await.ok().shows("Confirm your address first");
        browser.get("/account/two-step/set-up").await.leads_to("/account/two-step");
        browser.get("/account/two-step").await.ok();
        browser.post("/account/two-step/set-up", &[("code", "123456")]).await.leads_to("/account/two-step");
        for form in ["/account/passkeys/begin", "/account/passkeys/finish"] {
            let refused = browser.post(form, &[]).await;
            assert!(refused.status == 409 && refused.text.contains("Confirm your address first"), "{} {}", refused.status, refused.text);
        }
        browser.post("/account/email", &[("email", "ana@example.org")]).await.leads_to("/account?done=letter");
        let path = linked(server.letters(1)[0]["text"].as_str().unwrap());
        browser.get(&path).await.ok();
        browser.post(&path, &[]).await.leads_to("/account?done=verified");
        assert_eq!(audited(w, "user.email_verified").await.len(), 1);
        browser.get("/account/two-step/set-up").await.ok().shows("<svg class=\"qr\"");
        node.stop().await;
    }

    async fn without_a_mail_server_it_is_said_plainly(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.newcomer();
        browser.get("/forgot").await.ok().shows("does not send email").shows("touchline user reset");
        browser.get("/sign-in").await.ok();
        browser.post("/forgot", &[("email", "ana@example.org")]).await.ok().shows("does not send email");
        assert_eq!(w.count("once_link").await, 0);
    }

    async fn a_link_ends_and_leaves_the_second_step(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let (seed, _) = signin_two_step::set_up(w, &ana).await;
        let (late, path) = (link(w, "ana@example.org").await, link(w, "ana@example.org").await);
        let mut browser = w.newcomer();
        browser.get(&path).await.ok();
        w.pass(seconds(1799));
        browser.get(&late).await.ok();
        browser.post(&path, &[("password", NEW)]).await.leads_to("/sign-in?done=reset");
        browser.get(&late).await.refused_page(410);
        sign_in(&mut browser, "ana@example.org", NEW).await.leads_to("/sign-in/code?next=%2F");
        browser.get("/account").await.leads_to("/sign-in/code?next=%2Faccount");
        browser.get("/sign-in/code").await.ok();
        browser.post("/sign-in/code", &[("code", &signin_two_step::code(w, &seed))]).await.leads_to("/");
        let expired = link(w, "ana@example.org").await;
        w.pass(seconds(1800));
        w.newcomer().get(&expired).await.refused_page(410);
        w.newcomer().get("/reset/tlln_nonsense").await.refused_page(410);
    }

    async fn many_use_one_link_and_one_succeeds(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        let path = link(w, "ana@example.org").await;
        let mut browsers = Vec::new();
        for _ in 0..6 {
            // Everybody has the page before anybody sends it.
            let mut browser = w.newcomer();
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

    async fn a_new_address_counts_once_a_letter_reached_it(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let node = node_with_mail(w, &server.url()).await;
        let mut browser = Browser::new(node.address).holding(w.browser(ana.id).await.cookie);
        browser.get("/account/email").await.ok().shows("We send a link");
        browser.post("/account/email", &[("email", "new@example.org")]).await.leads_to("/account?done=letter");
        let letter = &server.letters(1)[0];
        assert_eq!(letter["to"], testkit::json!(["new@example.org"]));
        let path = linked(letter["text"].as_str().unwrap());
        browser.get("/account").await.ok().shows("ana@example.org");
        let mut phone = Browser::new(node.address);
        phone.get(&path).await.ok().shows("new@example.org");
        phone.post(&path, &[]).await.leads_to("/sign-in?done=email");
        phone.post(&path, &[]).await.refused_page(410);
        browser.get("/account").await.ok().shows("new@example.org");
        assert_eq!(server.letters(1)[0]["to"], testkit::json!(["ana@example.org"]), "the old address is told");
        node.stop().await;
    }
}
