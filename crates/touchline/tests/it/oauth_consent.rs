//! Tests of the consent page: what it shows, and who may answer it.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Browser, World, both, seconds};
use touchline::accounts::user::{self, Role};
use touchline::ids::{AccountId, UserId};
use touchline::if_match::IfMatch;
use touchline::oauth::app::{self, AppChange, Kind, NewApp};
use touchline::rights::Scopes;

use crate::oauth_flow::{
    CALLBACK, TestApp, answer_consent, assert_oauth_error, audit_actions, bearer, query_parameter,
    register_app,
};
use crate::signin::sign_in;

/// Starts an authorization and returns the path of its consent page.
async fn start_consent(browser: &mut Browser, app: &TestApp) -> String {
    let sent = browser.get(&app.authorize_url(&[])).await;
    sent.header("location").unwrap().to_owned()
}

/// Replaces the registered redirect URIs of the app.
async fn set_redirect_uris(w: &World, app: &TestApp, uris: &[&str]) {
    let (scope, id) = (Scope::account(w.harbour, "test"), app.app.id);
    let uris = uris.iter().map(|uri| (*uri).to_owned()).collect();
    let change = AppChange { redirect_uris: Some(uris), ..AppChange::default() };
    let changed = w.db().write(scope, move |tx| app::change(tx, id, change, &IfMatch::Absent));
    changed.await.unwrap();
}

/// Another club, where this user is a plain member.
async fn second_club(w: &World, email: &str) -> AccountId {
    let club = w.stranger.get("/me").await.ok().data()["account"]["id"].clone();
    let club = club.as_str().unwrap().parse().unwrap();
    w.user_of(club, Role::Member, email).await;
    club
}

/// Marks all sessions of a user as just used.
async fn touch_sessions(w: &World, user: UserId) {
    let text = "update session set last_seen_at = :now where user_id = :user /* any account */";
    w.db()
        .write(Scope::system("test"), move |tx| tx.execute(text, store::bind! { user }))
        .await
        .unwrap();
}

both! {
    async fn escapes_hostile_app_names(w: &World) {
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
            let app = TestApp { id: app.id.to_string(), app, secret: None };
            let page = start_consent(&mut browser, &app).await;
            let page = browser.get(&page).await.ok();
            assert!(!page.text.contains("<script>alert") && !page.text.contains("<img src=x"));
            for (position, _) in page.text.match_indices('\u{202e}') {
                assert!(page.text[..position].ends_with("<bdi>"));
            }
            assert!(page.text.contains("<bdi>ana</bdi>"), "the page names who registered the app: {}", page.text);
            app.obtain_tokens(w, &mut browser).await;
        }
        let list = browser.get("/account/apps").await.ok();
        assert!(!list.text.contains("<script>alert") && !list.text.contains("<img src=x"));
        for (position, _) in list.text.match_indices('\u{202e}') {
            assert!(list.text[..position].ends_with("<bdi>"));
        }
    }

    async fn only_the_same_user_in_the_same_browser_can_answer(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let ben = w.user(Role::Owner, "ben@example.org").await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut browser = w.browser(ana.id).await;
        let page = start_consent(&mut browser, &app).await;
        let unopened = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!(unopened.status, 403, "the page was not opened yet");
        browser.get(&page).await.ok();
        for user in [ben.id, ana.id] {
            let mut other = w.browser(user).await;
            assert_eq!(other.get(&page).await.status, 403);
            let refused_answer = other.post(&page, &[("answer", "allow")]).await;
            assert_eq!((refused_answer.status, refused_answer.header("location")), (403, None));
        }
        assert_eq!(w.anonymous_browser().get(&page).await.status, 303, "to sign in");
        // Without the CSRF token, from another site, or by a link: refused.
        let origin = format!("http://{}", w.node.address);
        let same_origin = [("Sec-Fetch-Site", "same-origin"), ("Origin", origin.as_str())];
        let csrf = browser.csrf.clone().unwrap();
        for (fields, headers) in [
            (vec![("answer", "allow")], same_origin.to_vec()),
            (vec![("answer", "allow"), ("csrf", "x")], same_origin.to_vec()),
            (vec![("answer", "allow"), ("csrf", &csrf)], vec![("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")]),
            (vec![("answer", "allow"), ("csrf", &csrf)], vec![("Origin", "null")]),
            (vec![("answer", "allow"), ("csrf", &csrf)], vec![]),
        ] {
            let sent = browser.send(&page, &fields, &headers).await;
            assert_eq!((sent.status, sent.header("location")), (403, None), "{fields:?} {headers:?}");
        }
        browser.get(&format!("{page}?answer=allow")).await.ok();
        assert_eq!(w.count("oauth_code").await, 0);
        // Other form fields do not change the request.
        let fields = [("answer", "allow"), ("scope", "teams:write"), ("redirect_uri", "https://evil.example"), ("client_id", "x")];
        let sent = browser.post(&page, &fields).await;
        let redirect = sent.header("location").unwrap().to_owned();
        assert!(redirect.starts_with("https://scores.example/cb?code="));
        let tokens = app.exchange(w, &query_parameter(&redirect, "code").unwrap()).await.ok();
        assert_eq!(tokens.body["scope"], "teams:read");
        // Back button: the request was already answered.
        assert_eq!(browser.get(&page).await.status, 410);
        let repeated = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!((repeated.status, repeated.header("location")), (410, None), "the code was used");
        assert_eq!(browser.get("/oauth/consent/tlrq_nonsense").await.status, 410);
    }

    async fn consent_belongs_to_the_session_that_started_it(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let ben = w.user(Role::Owner, "ben@example.org").await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let page = start_consent(&mut w.browser(ana.id).await, &app).await;
        assert_eq!(w.browser(ben.id).await.get(&page).await.status, 403);
    }

    async fn grants_only_what_the_page_showed(w: &World) {
        let club = w.club().await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read teams:write").await;
        let mut browser = w.browser(club.parent.id).await;
        let asks = app.authorize_url(&[("scope", Some("teams:read teams:write"))]);
        let page = browser.get(&asks).await.header("location").unwrap().to_owned();
        browser.get(&page).await.ok();
        let (scope, parent) = (Scope::account(w.harbour, "test"), club.parent.id);
        w.db().write(scope, move |tx| user::set_role(tx, parent, Role::Admin)).await.unwrap();
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        let code = query_parameter(sent.header("location").unwrap(), "code").unwrap();
        assert_eq!(app.exchange(w, &code).await.body["scope"], "teams:read");
    }

    async fn asks_again_for_another_redirect_uri(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        app.obtain_tokens(w, &mut browser).await;
        let redirect = browser.get(&app.authorize_url(&[])).await.header("location").unwrap().to_owned();
        assert!(redirect.starts_with(CALLBACK), "allowed before, to the same place: {redirect}");
        let other_uri = "https://elsewhere.example/cb";
        set_redirect_uris(w, &app, &[CALLBACK, other_uri]).await;
        let redirect = browser.get(&app.authorize_url(&[("redirect_uri", Some(other_uri))])).await;
        assert!(redirect.header("location").unwrap().starts_with("/oauth/consent/"));
    }

    async fn first_answer_counts_when_submitted_twice(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let mut browser = w.browser(ana.id).await;
        let page = start_consent(&mut browser, &app).await;
        browser.get(&page).await.ok();
        let submissions: Vec<_> = (0..5).map(|_| {
            let (mut browser, page) = (browser.clone(), page.clone());
            tokio::task::spawn(async move { browser.post(&page, &[("answer", "allow")]).await })
        }).collect();
        let mut redirects = Vec::new();
        for submission in submissions {
            redirects.push(submission.await.unwrap().header("location").unwrap().to_owned());
        }
        redirects.dedup();
        assert_eq!((redirects.len(), w.count("oauth_code").await), (1, 1));
        let second = browser.post(&page, &[("answer", "deny")]).await;
        assert_eq!(second.header("location"), Some(redirects[0].as_str()), "the first answer counts");
        app.exchange(w, &query_parameter(&redirects[0], "code").unwrap()).await.ok();
        let denied = answer_consent(&mut browser, &app.authorize_url(&[]), "deny").await;
        assert_eq!(query_parameter(&denied, "error").as_deref(), Some("access_denied"));
        assert_eq!(query_parameter(&denied, "code"), None);
        let page = start_consent(&mut browser, &app).await;
        browser.get(&page).await.ok();
        browser.post(&page, &[("answer", "deny")]).await;
        let changed = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!(query_parameter(changed.header("location").unwrap(), "error").as_deref(), Some("access_denied"));
        let unanswered = start_consent(&mut browser, &app).await;
        browser.get(&unanswered).await.ok();
        let no_answer = browser.post(&unanswered, &[]).await;
        assert_eq!(query_parameter(no_answer.header("location").unwrap(), "error").as_deref(), Some("access_denied"));
        let expired = start_consent(&mut browser, &app).await;
        browser.get(&expired).await.ok();
        w.advance_clock(seconds(30 * 60));
        assert_eq!(browser.post(&expired, &[("answer", "allow")]).await.status, 410);
        assert!(audit_actions(w).await.contains(&"oauth_consent.refused".to_owned()));
    }

    async fn user_of_another_club_cannot_allow(w: &World) {
        let other = testkit::world::make_account(w.db(), "Elsewhere", w.node.app.clock.now()).await;
        let eve = w.user_of(other, Role::Owner, "eve@example.org").await;
        let mut browser = w.browser_at(eve.id, Some(other)).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let page = start_consent(&mut browser, &app).await;
        let consent_page = browser.get(&page).await.ok().shows("do not belong to that club");
        assert!(!consent_page.text.contains("value=\"allow\""));
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        let redirect = sent.header("location").unwrap();
        assert_eq!(query_parameter(redirect, "error").as_deref(), Some("access_denied"));
        assert_eq!(w.count("oauth_code").await, 0);
    }

    async fn users_can_grant_only_their_own_permissions(w: &World) {
        let max = w.user(Role::Member, "max@example.org").await;
        let mut browser = w.browser(max.id).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read teams:write").await;
        let page = start_consent(&mut browser, &app).await;
        let consent_page = browser.get(&page).await.ok().shows("You cannot allow this");
        assert!(!consent_page.text.contains("value=\"allow\""));
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        assert_eq!(query_parameter(sent.header("location").unwrap(), "error").as_deref(), Some("access_denied"));
        // As a player they may read their team; the page lists the permissions they cannot grant.
        let team = w.owner.post("/teams", testkit::json!({ "name": "Hawks" })).await.created().id().to_owned();
        let path = format!("/teams/{team}/roster");
        let member = testkit::json!({ "first_name": "Max", "last_name": "M", "birth_date": "2000-01-01" });
        let member = w.owner.post(&path, member).await.created();
        let person: touchline::ids::PersonId = member.data()["person_id"].as_str().unwrap().parse().unwrap();
        let user = max.id;
        let link = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            let text = "update person set user_id = :user where account_id = :account and id = :person";
            tx.execute(text, store::bind! { user, person })
        });
        assert_eq!(link.await.unwrap(), 1);
        let wide_scope = [("scope", Some("teams:read teams:write"))];
        let sent = browser.get(&app.authorize_url(&wide_scope)).await;
        let page = sent.header("location").unwrap().to_owned();
        browser.get(&page).await.ok().shows("permissions that you do not have in this club").shows("Change your teams");
        let sent = browser.post(&page, &[("answer", "allow")]).await;
        let tokens = app.exchange(w, &query_parameter(sent.header("location").unwrap(), "code").unwrap()).await.ok();
        assert_eq!(tokens.body["scope"], "teams:read");
    }

    async fn code_is_invalid_after_the_session_ends_or_the_user_leaves_or_is_disabled(w: &World) {
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let ben = w.user(Role::Admin, "ben@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let code = app.obtain_code(&mut browser, &[]).await;
        let user = ana.id;
        let ended = w.db().write(Scope::system("test"), move |tx| {
            touchline::accounts::session::end_others(tx, user, None)
        });
        assert_eq!(ended.await.unwrap(), 1);
        assert_oauth_error(&app.exchange(w, &code).await, 400, "invalid_grant");
        let mut browser = w.browser(ben.id).await;
        let (access, refresh) = app.obtain_tokens(w, &mut browser).await;
        let code = app.obtain_code(&mut browser, &[]).await;
        let user = ben.id;
        let text = "delete from account_user where account_id = :account and user_id = :user";
        let left = w.db().write(Scope::account(w.harbour, "test"), move |tx| tx.execute(text, store::bind! { user }));
        left.await.unwrap();
        assert_oauth_error(&app.exchange(w, &code).await, 400, "invalid_grant");
        assert_oauth_error(&app.refresh(w, &refresh).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
        // A disabled user: the same.
        let cid = w.user(Role::Admin, "cid@example.org").await;
        let mut browser = w.browser(cid.id).await;
        let (_, refresh) = app.obtain_tokens(w, &mut browser).await;
        let code = app.obtain_code(&mut browser, &[]).await;
        let user = cid.id;
        let text = "update app_user set disabled_at = :now where id = :user /* any account */";
        w.db().write(Scope::system("test"), move |tx| tx.execute(text, store::bind! { user })).await.unwrap();
        assert_oauth_error(&app.exchange(w, &code).await, 400, "invalid_grant");
        assert_oauth_error(&app.refresh(w, &refresh).await, 400, "invalid_grant");
    }

    async fn owner_sessions_expire_sooner_in_every_club(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await.id;
        let club = second_club(w, "ana@example.org").await;
        let in_other_club = async || w.browser_at(ana, Some(club)).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let server = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        server.obtain_tokens(w, &mut w.browser(ana).await).await;
        let codes = w.count("oauth_code").await;
        let no_prompt = [("prompt", Some("none"))];
        let (mut idle, mut confidential, mut prompt_none) = (in_other_club().await, in_other_club().await, in_other_club().await);
        w.advance_clock(seconds(2 * 3600));
        for (browser, app) in [(&mut idle, &app), (&mut confidential, &server)] {
            // A second request does not help.
            for _ in 0..2 {
                let next = browser.get(&app.authorize_url(&[])).await.header("location").unwrap().to_owned();
                assert!(next.starts_with("/sign-in?next=%2Foauth%2Fconsent%2Ftlrq_"), "{next}");
                browser.get(&next).await.ok();
            }
        }
        let redirect = prompt_none.get(&server.authorize_url(&no_prompt)).await;
        assert_eq!(query_parameter(redirect.header("location").unwrap(), "error").as_deref(), Some("login_required"));
        // After signing in again, the consent page is shown.
        let next = idle.get(&app.authorize_url(&[])).await.header("location").unwrap().to_owned();
        let consent = query_parameter(&next, "next").unwrap();
        sign_in(&mut idle, "ana@example.org", PASSWORD).await.redirects_to("/");
        idle.get(&consent).await.ok();
        // A session ends after 12 hours even if in use, also for an open consent page.
        let (mut early, mut late, mut used) = (in_other_club().await, in_other_club().await, in_other_club().await);
        w.advance_clock(seconds(12 * 3600 - 600));
        touch_sessions(w, ana).await;
        let (first, second) = (start_consent(&mut early, &app).await, start_consent(&mut late, &app).await);
        early.get(&first).await.ok();
        w.advance_clock(seconds(900));
        for sent in [early.post(&first, &[("answer", "allow")]).await, late.get(&second).await, used.get(&app.authorize_url(&[])).await] {
            let next = sent.header("location").unwrap_or_else(|| panic!("{}", sent.text));
            assert!(next.starts_with("/sign-in?next=%2Foauth%2Fconsent%2Ftlrq_"), "{next}");
        }
        assert_eq!(w.count("oauth_code").await, codes);
        // A plain member of the app's club keeps the longer session.
        w.db().write(Scope::account(w.harbour, "test"), move |tx| tx.execute(
            "update account_user set role = 'member' where account_id = :account and user_id = :ana",
            store::bind! { ana },
        )).await.unwrap();
        let mut plain = in_other_club().await;
        w.advance_clock(seconds(86_400));
        let page = start_consent(&mut plain, &app).await;
        plain.get(&page).await.ok();
    }

    async fn removed_redirect_uri_gets_no_code(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let pages = [start_consent(&mut browser, &app).await, start_consent(&mut browser, &app).await, start_consent(&mut browser, &app).await];
        for page in &pages {
            browser.get(page).await.ok();
        }
        let sent = browser.post(&pages[0], &[("answer", "allow")]).await;
        let code = query_parameter(sent.header("location").unwrap(), "code").unwrap();
        let codes = w.count("oauth_code").await;
        set_redirect_uris(w, &app, &["https://elsewhere.example/cb"]).await;
        for (page, answer) in [(&pages[0], "allow"), (&pages[1], "allow"), (&pages[2], "deny")] {
            let sent = browser.post(page, &[("answer", answer)]).await;
            assert_eq!((sent.status, sent.header("location")), (410, None), "{answer}");
            assert_eq!(browser.get(page).await.status, 410);
        }
        assert_oauth_error(&app.exchange(w, &code).await, 400, "invalid_grant");
        assert_eq!((w.count("oauth_code").await, w.count("oauth_grant").await), (codes, 0));
        // Once the URI is registered again, an unexpired code works.
        set_redirect_uris(w, &app, &[CALLBACK]).await;
        app.exchange(w, &code).await.ok();
    }
}
