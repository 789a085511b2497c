//! Stories about what people change about themselves, and the browsers they are signed in with.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{World, both, seconds};
use touchline::accounts::user::{self, Role};
use touchline::ids::AccountId;

use crate::signin::{RefusedPage, audited, sign_in};

const NEW: &str = "seven quiet otters fold paper";

both! {
    async fn a_new_password_ends_every_other_browser_and_every_app(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = w.acting_for(ana.id, "teams:read").await;
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
        done.leads_to("/account/password?done=password");
        assert_ne!(browser.cookie, before);
        browser.get("/account/password?done=password").await.ok().shows("Your new password is set");
        phone.get("/account").await.leads_to("/sign-in?next=%2Faccount");
        app.get("/teams").await.refused(401, "invalid_credentials");
        let mut other = w.newcomer();
        sign_in(&mut other, "ana@example.org", PASSWORD).await.refused_page(422);
        sign_in(&mut other, "ana@example.org", NEW).await.leads_to("/");
        assert_eq!(audited(w, "user.password_changed").await.len(), 1);
    }

    async fn browsers_are_listed_and_ended(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let eve = w.user(Role::Member, "eve@example.org").await;
        let (mut one, mut two, mut three) = (w.browser(ana.id).await, w.browser(ana.id).await, w.browser(ana.id).await);
        let mut hers = w.browser(eve.id).await;
        let page = one.get("/account/sessions").await.ok();
        let mut ids: Vec<_> = page.text.split("/account/sessions/ses_").skip(1).map(|part| format!("ses_{}", part.split('/').next().unwrap())).collect();
        assert_eq!(ids.len(), 3);
        let own = page.text.find("This one").unwrap();
        let first = page.text.find(&ids[2]).unwrap();
        assert!(own < first && own > page.text.find(&ids[1]).unwrap(), "the oldest is this one");

        // Nobody else's can be ended, nor one that is not there.
        hers.post(&format!("/account/sessions/{}/end", ids[0]), &[]).await.refused_page(404);
        three.get("/account").await.ok();
        one.post(&format!("/account/sessions/{}/end", ids[0]), &[]).await.leads_to("/account/sessions?done=ended");
        three.get("/account").await.leads_to("/sign-in?next=%2Faccount");
        one.post(&format!("/account/sessions/{}/end", ids[0]), &[]).await.refused_page(404);
        two.get("/account").await.ok();
        one.post("/account/sessions/end-others", &[]).await.leads_to("/account/sessions?done=others");
        two.get("/account").await.leads_to("/sign-in?next=%2Faccount");
        one.post(&format!("/account/sessions/{}/end", ids.pop().unwrap()), &[]).await.leads_to("/sign-in?done=signed-out");
        assert_eq!(one.cookie, None);
        hers.get("/account").await.ok();
        assert_eq!(audited(w, "user.session_ended").await.len(), 2);
    }

    async fn browsers_that_were_idle_too_long_are_not_listed(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let eve = w.user(Role::Member, "eve@example.org").await;
        let listed = async |user| {
            let page = w.browser(user).await.get("/account/sessions").await.ok();
            page.text.matches("/account/sessions/ses_").count()
        };
        assert_eq!((listed(ana.id).await, listed(eve.id).await), (1, 1));
        assert_eq!((listed(ana.id).await, listed(eve.id).await), (2, 2));
        // Whoever looks after the club is signed out sooner, and sees what is so.
        w.pass(seconds(2 * 3600));
        assert_eq!((listed(ana.id).await, listed(eve.id).await), (1, 3));
        w.pass(seconds(7 * 86_400));
        assert_eq!((listed(ana.id).await, listed(eve.id).await), (1, 1));
    }

    async fn a_name_and_an_address_are_changed(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        w.user(Role::Member, "bo@example.org").await;
        let mut browser = w.browser(ana.id).await;
        browser.post("/account", &[("name", "Ana <script>alert(1)</script>")]).await.leads_to("/account?done=saved");
        let page = browser.get("/account").await.ok();
        assert!(!page.text.contains("<script>alert") && page.text.contains("&#60;script&#62;"), "{}", page.text);
        browser.post("/account", &[("name", "")]).await.refused_page(422);

        w.pass(seconds(601));
        browser.get("/account/email").await.leads_to("/confirm?next=%2Faccount%2Femail");
        browser.post("/account/email", &[("email", "new@example.org")]).await.leads_to("/confirm?next=%2Faccount%2Femail");
        browser.get("/confirm").await.ok();
        browser.post("/confirm", &[("password", PASSWORD), ("next", "/account/email")]).await.leads_to("/account/email");
        browser.get("/account/email").await.ok().shows("counts at once");
        browser.post("/account/email", &[("email", "new")]).await.refused_page(422);
        browser.post("/account/email", &[("email", "BO@example.org")]).await.refused_page(422);
        browser.post("/account/email", &[("email", "new@example.org")]).await.leads_to("/account?done=email");
        let mut other = w.newcomer();
        sign_in(&mut other, "new@example.org", PASSWORD).await.leads_to("/");
    }

    async fn somebody_of_two_clubs_switches_between_them(w: &World) {
        w.user(Role::Owner, "ana@example.org").await;
        let hilltop: AccountId = w.stranger.get("/me").await.ok().data()["account"]["id"].as_str().unwrap().parse().unwrap();
        w.pass(seconds(1));
        w.user_of(hilltop, Role::Member, "ana@example.org").await;
        let mut browser = w.newcomer();
        sign_in(&mut browser, "ana@example.org", PASSWORD).await.leads_to("/");
        browser.get("/").await.leads_to("/admin");
        browser.get("/accounts").await.ok().shows("Harbour").shows("Hilltop");
        browser.post("/accounts", &[("club", &hilltop.to_string())]).await.leads_to("/");
        browser.get("/").await.leads_to("/account");
        browser.get("/account").await.ok().shows("Hilltop");
        // Where they looked last they look first next time.
        w.pass(seconds(1));
        let mut again = w.newcomer();
        sign_in(&mut again, "ana@example.org", PASSWORD).await.leads_to("/");
        again.get("/account").await.ok().shows("Hilltop");

        let eve = w.user(Role::Member, "eve@example.org").await;
        let mut hers = w.browser(eve.id).await;
        hers.post("/accounts", &[("club", &hilltop.to_string())]).await.refused_page(404);
        hers.post("/accounts", &[("club", "nonsense")]).await.refused_page(404);
        hers.get("/account").await.ok().shows("Harbour");
    }

    async fn old_sessions_links_and_failures_are_forgotten(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        w.browser(ana.id).await;
        sign_in(&mut w.newcomer(), "nobody@example.org", "wrong").await.refused_page(422);
        w.db().write(Scope::system("test"), |tx| touchline::signin::entry::reset_link(tx, "ana@example.org")).await.unwrap();
        assert_eq!((w.count("session").await, w.count("once_link").await, w.count("sign_in_failure").await), (1, 1, 2));
        touchline::jobs::forget_what_ended(&w.node.app).await;
        assert_eq!((w.count("session").await, w.count("once_link").await, w.count("sign_in_failure").await), (1, 1, 2));
        w.pass(seconds(31 * 86_400));
        touchline::jobs::forget_what_ended(&w.node.app).await;
        assert_eq!((w.count("session").await, w.count("once_link").await, w.count("sign_in_failure").await), (0, 0, 0));
        let id = ana.id;
        w.db().read(Scope::system("test"), move |db| user::find(db, id)).await.unwrap();
    }
}
