//! Stories about the page on which somebody is asked: it says what is so, and only who was asked answers.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Browser, World, both, seconds};
use touchline::accounts::rights::Scopes;
use touchline::accounts::user::{self, Role};
use touchline::expected::Expected;
use touchline::ids::{AccountId, UserId};
use touchline::oauth::app::{self, AppChange, Kind, NewApp};

use crate::oauth_flow::{
    CALLBACK, Registered, answered, audited, bearer, parameter, refused, registered,
};
use crate::signin::sign_in;

/// Where the question is asked.
async fn question(browser: &mut Browser, app: &Registered) -> String {
    let sent = browser.get(&app.asks(&[])).await;
    sent.header("location").unwrap().to_owned()
}

/// From now on the app is registered for these addresses.
async fn leads_to(w: &World, app: &Registered, uris: &[&str]) {
    let (scope, id) = (Scope::account(w.harbour, "test"), app.app.id);
    let uris = uris.iter().map(|uri| (*uri).to_owned()).collect();
    let change = AppChange { redirect_uris: Some(uris), ..AppChange::default() };
    let changed = w.db().write(scope, move |tx| app::change(tx, id, change, &Expected::Anything));
    changed.await.unwrap();
}

/// Another club where this user is a plain member.
async fn hilltop(w: &World, email: &str) -> AccountId {
    let club = w.stranger.get("/me").await.ok().data()["account"]["id"].clone();
    let club = club.as_str().unwrap().parse().unwrap();
    w.user_of(club, Role::Member, email).await;
    club
}

/// The browsers of a user were used just now.
async fn in_use(w: &World, user: UserId) {
    let text = "update session set last_seen_at = :now where user_id = :user /* any account */";
    w.db()
        .write(Scope::system("test"), move |tx| tx.run(text, store::bind! { user }))
        .await
        .unwrap();
}

both! {
    async fn names_that_try_to_break_out_stay_names(w: &World) {
        let hostile = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "\u{202e}drahciR"];
        let email = "ana@example.org";
        let ana = w.user(Role::Owner, email).await;
        let mut browser = w.browser(ana.id).await;
        for name in hostile {
            let new = NewApp {
                name: name.to_owned(),
                kind: Kind::Spa,
                redirect_uris: vec![CALLBACK.to_owned()],
                scopes: Scopes::parse("teams:read").unwrap(),
            };
            let by = Scope::account(w.harbour, ana.id.to_string());
            let app = w.db().write(by, move |tx| app::create(tx, new)).await.unwrap();
            let app = Registered { id: app.id.to_string(), app, secret: None };
            let page = question(&mut browser, &app).await;
            let page = browser.get(&page).await.ok();
            assert!(!page.text.contains("<script>alert") && !page.text.contains("<img src=x"));
            for (place, _) in page.text.match_indices('\u{202e}') {
                assert!(page.text[..place].ends_with("<bdi>"));
            }
            assert!(page.text.contains("<bdi>ana</bdi>"), "who registered it: {}", page.text);
            app.tokens(w, &mut browser).await;
        }
        let list = browser.get("/account/apps").await.ok();
        assert!(!list.text.contains("<script>alert") && !list.text.contains("<img src=x"));
        for (place, _) in list.text.match_indices('\u{202e}') {
            assert!(list.text[..place].ends_with("<bdi>"));
        }
    }

    async fn only_who_was_asked_in_the_browser_where_they_were_asked_answers(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let ben = w.user(Role::Owner, "ben@example.org").await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut browser = w.browser(ana.id).await;
        let page = question(&mut browser, &app).await;
        let unopened = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!(unopened.status, 403, "nobody has read the question yet");
        browser.get(&page).await.ok();
        for user in [ben.id, ana.id] {
            let mut other = w.browser(user).await;
            assert_eq!(other.get(&page).await.status, 403);
            let taken = other.post(&page, &[("answer", "allow")]).await;
            assert_eq!((taken.status, taken.header("location")), (403, None));
        }
        assert_eq!(w.newcomer().get(&page).await.status, 303, "to sign in");
        // Without the token of the form, from another site, or by a link: nothing.
        let origin = format!("http://{}", w.node.address);
        let own = [("Sec-Fetch-Site", "same-origin"), ("Origin", origin.as_str())];
        let csrf = browser.csrf.clone().unwrap();
        for (fields, headers) in [
            (vec![("answer", "allow")], own.to_vec()),
            (vec![("answer", "allow"), ("csrf", "x")], own.to_vec()),
            (vec![("answer", "allow"), ("csrf", &csrf)], vec![("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")]),
            (vec![("answer", "allow"), ("csrf", &csrf)], vec![("Origin", "null")]),
            (vec![("answer", "allow"), ("csrf", &csrf)], vec![]),
        ] {
            let sent = browser.send(&page, &fields, &headers).await;
            assert_eq!((sent.status, sent.header("location")), (403, None), "{fields:?} {headers:?}");
        }
        browser.get(&format!("{page}?answer=allow")).await.ok();
        assert_eq!(w.count("oauth_code").await, 0);
        // What the form says beside the answer changes nothing of the question.
        let fields = [("answer", "allow"), ("scope", "teams:write"), ("redirect_uri", "https://evil.example"), ("client_id", "x")];
        let sent = browser.post(&page, &fields).await;
        let place = sent.header("location").unwrap().to_owned();
        assert!(place.starts_with("https://scores.example/cb?code="));
        let given = app.exchange(w, &parameter(&place, "code").unwrap()).await.ok();
        assert_eq!(given.body["scope"], "teams:read");
        // Back button: the question is answered.
        assert_eq!(browser.get(&page).await.status, 410);
        let again = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!((again.status, again.header("location")), (410, None), "the code was used");
        assert_eq!(browser.get("/oauth/consent/tlrq_nonsense").await.status, 410);
    }

    async fn a_question_belongs_to_the_browser_that_was_signed_in_when_it_was_asked(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let ben = w.user(Role::Owner, "ben@example.org").await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let page = question(&mut w.browser(ana.id).await, &app).await;
        assert_eq!(w.browser(ben.id).await.get(&page).await.status, 403);
    }

    async fn only_what_the_page_showed_is_allowed(w: &World) {
        let cast = w.cast().await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read roster:write").await;
        let mut browser = w.browser(cast.parent.id).await;
        let asks = app.asks(&[("scope", Some("teams:read roster:write"))]);
        let page = browser.get(&asks).await.header("location").unwrap().to_owned();
        browser.get(&page).await.ok();
        let (scope, parent) = (Scope::account(w.harbour, "test"), cast.parent.id);
        w.db().write(scope, move |tx| user::set_role(tx, parent, Role::Admin)).await.unwrap();
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        let code = parameter(sent.header("location").unwrap(), "code").unwrap();
        assert_eq!(app.exchange(w, &code).await.body["scope"], "teams:read");
    }

    async fn somebody_who_said_yes_is_asked_again_when_the_answer_goes_elsewhere(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        app.tokens(w, &mut browser).await;
        let place = browser.get(&app.asks(&[])).await.header("location").unwrap().to_owned();
        assert!(place.starts_with(CALLBACK), "allowed before, to the same place: {place}");
        let elsewhere = "https://elsewhere.example/cb";
        leads_to(w, &app, &[CALLBACK, elsewhere]).await;
        let place = browser.get(&app.asks(&[("redirect_uri", Some(elsewhere))])).await;
        assert!(place.header("location").unwrap().starts_with("/oauth/consent/"));
    }

    async fn pressing_twice_gives_one_code_and_no_means_no(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut browser = w.browser(ana.id).await;
        let page = question(&mut browser, &app).await;
        browser.get(&page).await.ok();
        let presses: Vec<_> = (0..5).map(|_| {
            let (mut browser, page) = (browser.clone(), page.clone());
            tokio::task::spawn(async move { browser.post(&page, &[("answer", "allow")]).await })
        }).collect();
        let mut places = Vec::new();
        for press in presses {
            places.push(press.await.unwrap().header("location").unwrap().to_owned());
        }
        places.dedup();
        assert_eq!((places.len(), w.count("oauth_code").await), (1, 1));
        let late = browser.post(&page, &[("answer", "deny")]).await;
        assert_eq!(late.header("location"), Some(places[0].as_str()), "the first answer stands");
        app.exchange(w, &parameter(&places[0], "code").unwrap()).await.ok();
        let no = answered(&mut browser, &app.asks(&[]), "deny").await;
        assert_eq!(parameter(&no, "error").as_deref(), Some("access_denied"));
        assert_eq!(parameter(&no, "code"), None);
        let page = question(&mut browser, &app).await;
        browser.get(&page).await.ok();
        browser.post(&page, &[("answer", "deny")]).await;
        let changed = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!(parameter(changed.header("location").unwrap(), "error").as_deref(), Some("access_denied"));
        let silent = question(&mut browser, &app).await;
        browser.get(&silent).await.ok();
        let nothing = browser.post(&silent, &[]).await;
        assert_eq!(parameter(nothing.header("location").unwrap(), "error").as_deref(), Some("access_denied"));
        let late = question(&mut browser, &app).await;
        browser.get(&late).await.ok();
        w.pass(seconds(30 * 60));
        assert_eq!(browser.post(&late, &[("answer", "allow")]).await.status, 410);
        assert!(audited(w).await.contains(&"oauth_consent.refused".to_owned()));
    }

    async fn somebody_of_another_club_is_told_so(w: &World) {
        let other = testkit::world::make_account(w.db(), "Elsewhere", w.node.app.clock.now()).await;
        let eve = w.user_of(other, Role::Owner, "eve@example.org").await;
        let mut browser = w.browser_at(eve.id, Some(other)).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let page = question(&mut browser, &app).await;
        let shown = browser.get(&page).await.ok().shows("do not belong to that club");
        assert!(!shown.text.contains("value=\"allow\""));
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        let place = sent.header("location").unwrap();
        assert_eq!(parameter(place, "error").as_deref(), Some("access_denied"));
        assert_eq!(w.count("oauth_code").await, 0);
    }

    async fn somebody_who_may_do_little_can_allow_little(w: &World) {
        let max = w.user(Role::Member, "max@example.org").await;
        let mut browser = w.browser(max.id).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read roster:write").await;
        let page = question(&mut browser, &app).await;
        let shown = browser.get(&page).await.ok().shows("There is nothing you could allow");
        assert!(!shown.text.contains("value=\"allow\""));
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!(parameter(sent.header("location").unwrap(), "error").as_deref(), Some("access_denied"));
        // As a player they see their team; what a coach may do is shown as left out.
        let team = w.owner.post("/teams", testkit::json!({ "name": "Hawks" })).await.created().id().to_owned();
        let path = format!("/teams/{team}/roster");
        let member = testkit::json!({ "first_name": "Max", "last_name": "M", "birth_date": "2000-01-01" });
        let member = w.owner.post(&path, member).await.created();
        let person: touchline::ids::PersonId = member.data()["person_id"].as_str().unwrap().parse().unwrap();
        let user = max.id;
        let link = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            let text = "update person set user_id = :user where account_id = :account and id = :person";
            tx.run(text, store::bind! { user, person })
        });
        assert_eq!(link.await.unwrap(), 1);
        let wide = [("scope", Some("teams:read roster:write"))];
        let sent = browser.get(&app.asks(&wide)).await;
        let page = sent.header("location").unwrap().to_owned();
        browser.get(&page).await.ok().shows("your role in the club does not include it").shows("Change who is on a team");
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        let given = app.exchange(w, &parameter(sent.header("location").unwrap(), "code").unwrap()).await.ok();
        assert_eq!(given.body["scope"], "teams:read");
    }

    async fn a_code_dies_with_the_session_the_membership_or_the_user(w: &World) {
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let ben = w.user(Role::Admin, "ben@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let code = app.code(&mut browser, &[]).await;
        let user = ana.id;
        let ended = w.db().write(Scope::system("test"), move |tx| {
            touchline::signin::session::end_others(tx, user, None)
        });
        assert_eq!(ended.await.unwrap(), 1);
        refused(&app.exchange(w, &code).await, 400, "invalid_grant");
        let mut browser = w.browser(ben.id).await;
        let (access, refresh) = app.tokens(w, &mut browser).await;
        let code = app.code(&mut browser, &[]).await;
        let user = ben.id;
        let text = "delete from account_user where account_id = :account and user_id = :user";
        let left = w.db().write(Scope::account(w.harbour, "test"), move |tx| tx.run(text, store::bind! { user }));
        left.await.unwrap();
        refused(&app.exchange(w, &code).await, 400, "invalid_grant");
        refused(&app.refresh(w, &refresh).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
        // Disabled: the same.
        let cid = w.user(Role::Admin, "cid@example.org").await;
        let mut browser = w.browser(cid.id).await;
        let (_, refresh) = app.tokens(w, &mut browser).await;
        let code = app.code(&mut browser, &[]).await;
        let user = cid.id;
        let text = "update app_user set disabled_at = :now where id = :user /* any account */";
        w.db().write(Scope::system("test"), move |tx| tx.run(text, store::bind! { user })).await.unwrap();
        refused(&app.exchange(w, &code).await, 400, "invalid_grant");
        refused(&app.refresh(w, &refresh).await, 400, "invalid_grant");
    }

    async fn whoever_owns_the_apps_club_is_asked_sooner_who_they_are_whatever_club_is_shown(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await.id;
        let club = hilltop(w, "ana@example.org").await;
        let elsewhere = async || w.browser_at(ana, Some(club)).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        server.tokens(w, &mut w.browser(ana).await).await;
        let codes = w.count("oauth_code").await;
        let none = [("prompt", Some("none"))];
        let (mut idle, mut silent, mut asked) = (elsewhere().await, elsewhere().await, elsewhere().await);
        w.pass(seconds(2 * 3600));
        for (browser, app) in [(&mut idle, &app), (&mut silent, &server)] {
            // Asking twice helps nobody.
            for _ in 0..2 {
                let next = browser.get(&app.asks(&[])).await.header("location").unwrap().to_owned();
                assert!(next.starts_with("/sign-in?next=%2Foauth%2Fconsent%2Ftlrq_"), "{next}");
                browser.get(&next).await.ok();
            }
        }
        let told = asked.get(&server.asks(&none)).await;
        assert_eq!(parameter(told.header("location").unwrap(), "error").as_deref(), Some("login_required"));
        // Signed in again, the question is there.
        let next = idle.get(&app.asks(&[])).await.header("location").unwrap().to_owned();
        let consent = parameter(&next, "next").unwrap();
        sign_in(&mut idle, "ana@example.org", PASSWORD).await.leads_to("/");
        idle.get(&consent).await.ok();
        // However often it is used, after twelve hours it is over; also for a question that is open.
        let (mut early, mut late, mut used) = (elsewhere().await, elsewhere().await, elsewhere().await);
        w.pass(seconds(12 * 3600 - 600));
        in_use(w, ana).await;
        let (first, second) = (question(&mut early, &app).await, question(&mut late, &app).await);
        early.get(&first).await.ok();
        w.pass(seconds(900));
        for sent in [early.post(&first, &[("answer", "allow")]).await, late.get(&second).await, used.get(&app.asks(&[])).await] {
            let next = sent.header("location").unwrap_or_else(|| panic!("{}", sent.text));
            assert!(next.starts_with("/sign-in?next=%2Foauth%2Fconsent%2Ftlrq_"), "{next}");
        }
        assert_eq!(w.count("oauth_code").await, codes);
        // Who is a plain member of the app's club too keeps their time.
        w.db().write(Scope::account(w.harbour, "test"), move |tx| tx.run(
            "update account_user set role = 'member' where account_id = :account and user_id = :ana",
            store::bind! { ana },
        )).await.unwrap();
        let mut plain = elsewhere().await;
        w.pass(seconds(86_400));
        let page = question(&mut plain, &app).await;
        plain.get(&page).await.ok();
    }

    async fn an_address_that_was_withdrawn_gets_nothing(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let pages = [question(&mut browser, &app).await, question(&mut browser, &app).await, question(&mut browser, &app).await];
        for page in &pages {
            browser.get(page).await.ok();
        }
        let sent = browser.post(&pages[0], &[("answer", "allow")]).await;
        let code = parameter(sent.header("location").unwrap(), "code").unwrap();
        let codes = w.count("oauth_code").await;
        leads_to(w, &app, &["https://elsewhere.example/cb"]).await;
        for (page, answer) in [(&pages[0], "allow"), (&pages[1], "allow"), (&pages[2], "deny")] {
            let sent = browser.post(page, &[("answer", answer)]).await;
            assert_eq!((sent.status, sent.header("location")), (410, None), "{answer}");
            assert_eq!(browser.get(page).await.status, 410);
        }
        refused(&app.exchange(w, &code).await, 400, "invalid_grant");
        assert_eq!((w.count("oauth_code").await, w.count("oauth_grant").await), (codes, 0));
        // Registered again before the code has ended, it is good.
        leads_to(w, &app, &[CALLBACK]).await;
        app.exchange(w, &code).await.ok();
    }
}
