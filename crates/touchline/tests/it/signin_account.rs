//! Tests of the account pages: password, name, email and sessions.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{World, both, seconds};
use touchline::accounts::user::{self, Role};
use touchline::ids::AccountId;

use crate::signin::{RefusedPage, audit_entries_of, sign_in};

const NEW: &str = "seven quiet otters fold paper";

both! {
    async fn new_password_ends_other_sessions_and_apps(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = w.client_for_user(ana.id, "teams:read").await;
        app.get("/teams").await.ok();
        let mut phone = w.browser(ana.id).await;
        let mut browser = w.browser(ana.id).await;
        browser.get("/account/password").await.ok();
        browser.post("/account/password", &[("current", "wrong"), ("password", NEW)]).await.refused_page(422).shows("not your current");
        browser.post("/account/password", &[("current", PASSWORD), ("password", "short")]).await.refused_page(422).shows("at least 12");
        browser.post("/account/password", &[("current", PASSWORD), ("password", "ana@example.org1")]).await.refused_page(422).shows("easy to guess");
        phone.get("/account").await.ok();
        let before = browser.cookie.clone();
        let done = browser.post("/account/password", &[("current", PASSWORD), ("password", NEW)]).await;
        done.redirects_to("/account/password?done=password");
        assert_ne!(browser.cookie, before);
        browser.get("/account/password?done=password").await.ok().shows("Your password was changed");
        phone.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        app.get("/teams").await.assert_problem(401, "invalid_credentials");
        let mut other = w.anonymous_browser();
        sign_in(&mut other, "ana@example.org", PASSWORD).await.refused_page(422);
        sign_in(&mut other, "ana@example.org", NEW).await.redirects_to("/");
        assert_eq!(audit_entries_of(w, "user.password_changed").await.len(), 1);
    }

    async fn lists_and_ends_sessions(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let eve = w.user(Role::Member, "eve@example.org").await;
        let (mut one, mut two, mut three) = (w.browser(ana.id).await, w.browser(ana.id).await, w.browser(ana.id).await);
        let mut eve_browser = w.browser(eve.id).await;
        let page = one.get("/account/sessions").await.ok();
        let mut ids: Vec<_> = page.text.split("/account/sessions/ses_").skip(1).map(|part| format!("ses_{}", part.split('/').next().unwrap())).collect();
        assert_eq!(ids.len(), 3);
        let own_position = page.text.find("This browser").unwrap();
        let first = page.text.find(&ids[2]).unwrap();
        assert!(own_position < first && own_position > page.text.find(&ids[1]).unwrap(), "the oldest session is the current one");

        // Sessions of others and unknown ones cannot be ended.
        eve_browser.post(&format!("/account/sessions/{}/end", ids[0]), &[]).await.refused_page(404);
        three.get("/account").await.ok();
        one.post(&format!("/account/sessions/{}/end", ids[0]), &[]).await.redirects_to("/account/sessions?done=ended");
        three.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        one.post(&format!("/account/sessions/{}/end", ids[0]), &[]).await.refused_page(404);
        two.get("/account").await.ok();
        one.post("/account/sessions/end-others", &[]).await.redirects_to("/account/sessions?done=others");
        two.get("/account").await.redirects_to("/sign-in?next=%2Faccount");
        one.post(&format!("/account/sessions/{}/end", ids.pop().unwrap()), &[]).await.redirects_to("/sign-in?done=signed-out");
        assert_eq!(one.cookie, None);
        eve_browser.get("/account").await.ok();
        assert_eq!(audit_entries_of(w, "user.session_ended").await.len(), 2);
    }

    async fn expired_sessions_are_not_listed(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let eve = w.user(Role::Member, "eve@example.org").await;
        let session_count = async |user| {
            let page = w.browser(user).await.get("/account/sessions").await.ok();
            page.text.matches("/account/sessions/ses_").count()
        };
        assert_eq!((session_count(ana.id).await, session_count(eve.id).await), (1, 1));
        assert_eq!((session_count(ana.id).await, session_count(eve.id).await), (2, 2));
        // Admins are signed out sooner, and the list reflects that.
        w.advance_clock(seconds(2 * 3600));
        assert_eq!((session_count(ana.id).await, session_count(eve.id).await), (1, 3));
        w.advance_clock(seconds(7 * 86_400));
        assert_eq!((session_count(ana.id).await, session_count(eve.id).await), (1, 1));
    }

    async fn changes_name_and_email(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        w.user(Role::Member, "bo@example.org").await;
        let mut browser = w.browser(ana.id).await;
        browser.post("/account", &[("name", "Ana <script>alert(1)</script>")]).await.redirects_to("/account?done=saved");
        let page = browser.get("/account").await.ok();
        assert!(!page.text.contains("<script>alert") && page.text.contains("&#60;script&#62;"), "{}", page.text);
        browser.post("/account", &[("name", "")]).await.refused_page(422);

        w.advance_clock(seconds(601));
        browser.get("/account/email").await.redirects_to("/confirm?next=%2Faccount%2Femail");
        browser.post("/account/email", &[("email", "new@example.org")]).await.redirects_to("/confirm?next=%2Faccount%2Femail");
        browser.get("/confirm").await.ok();
        browser.post("/confirm", &[("password", PASSWORD), ("next", "/account/email")]).await.redirects_to("/account/email");
        browser.get("/account/email").await.ok().shows("takes effect immediately");
        browser.post("/account/email", &[("email", "new")]).await.refused_page(422);
        browser.post("/account/email", &[("email", "BO@example.org")]).await.refused_page(422);
        browser.post("/account/email", &[("email", "new@example.org")]).await.redirects_to("/account?done=email");
        let mut other = w.anonymous_browser();
        sign_in(&mut other, "new@example.org", PASSWORD).await.redirects_to("/");
    }

    async fn user_of_two_clubs_switches_between_them(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        let second_club: AccountId = w.stranger.get("/me").await.ok().data()["account"]["id"].as_str().unwrap().parse().unwrap();
        w.advance_clock(seconds(1));
        w.user_of(second_club, Role::Member, "ana@example.org").await;
        let mut browser = w.anonymous_browser();
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.redirects_to("/");
        browser.get("/").await.ok().shows("Harbour");
        browser.get("/accounts").await.ok().shows("Harbour").shows("Hilltop");
        browser.post("/accounts", &[("club", &second_club.to_string())]).await.redirects_to("/");
        browser.get("/").await.ok().shows("Hilltop");
        browser.get("/account").await.ok().shows("Hilltop");
        // The last club is opened first at the next sign-in.
        w.advance_clock(seconds(1));
        let mut second_browser = w.anonymous_browser();
        sign_in(&mut second_browser, "ana@example.org", PASSWORD).await.redirects_to("/");
        second_browser.get("/account").await.ok().shows("Hilltop");

        let eve = w.user(Role::Member, "eve@example.org").await;
        let mut eve_browser = w.browser(eve.id).await;
        eve_browser.post("/accounts", &[("club", &second_club.to_string())]).await.refused_page(404);
        eve_browser.post("/accounts", &[("club", "nonsense")]).await.refused_page(404);
        eve_browser.get("/account").await.ok().shows("Harbour");
    }

    async fn deletes_old_sessions_links_and_failures(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        w.browser(ana.id).await;
        sign_in(&mut w.anonymous_browser(), "nobody@example.org", "wrong").await.refused_page(422);
        w.db().write(Scope::system("test"), |tx| touchline::signin::authentication::create_reset_link(tx, "ana@example.org")).await.unwrap();
        assert_eq!((w.count("session").await, w.count("once_link").await, w.count("sign_in_failure").await), (1, 1, 2));
        touchline::jobs::delete_expired_records(&w.node.app).await;
        assert_eq!((w.count("session").await, w.count("once_link").await, w.count("sign_in_failure").await), (1, 1, 2));
        w.advance_clock(seconds(31 * 86_400));
        touchline::jobs::delete_expired_records(&w.node.app).await;
        assert_eq!((w.count("session").await, w.count("once_link").await, w.count("sign_in_failure").await), (0, 0, 0));
        let id = ana.id;
        w.db().read(Scope::system("test"), move |db| user::find(db, id)).await.unwrap();
    }
}
