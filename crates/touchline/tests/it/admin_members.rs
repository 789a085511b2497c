//! Tests of members and roles: invitations, role changes and removal.

use store::Scope;
use testkit::{World, both, json, seconds};
use touchline::accounts::user::{self, Role};
use touchline::ids::UserId;
use touchline::roster::linking;

use crate::joining::{add_to_roster, link_in, link_user, team};

async fn role(w: &World, user: UserId) -> Option<Role> {
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| user::role_of(db, user)).await.unwrap()
}

/// Every page of this part of the admin area.
fn pages(user: UserId) -> Vec<String> {
    vec![
        "/admin".to_owned(),
        "/admin/events".to_owned(),
        "/admin/failed-emails".to_owned(),
        "/admin/members".to_owned(),
        "/admin/members/invite".to_owned(),
        "/admin/members/invitations".to_owned(),
        "/admin/members/claims".to_owned(),
        format!("/admin/members/{user}"),
        format!("/admin/members/{user}/remove"),
        "/admin/settings".to_owned(),
    ]
}

/// Every form of this part, with valid fields.
fn forms(user: UserId) -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    vec![
        ("/admin/members/invite".to_owned(), vec![("email", "x@example.org"), ("role", "admin")]),
        ("/admin/members/link".to_owned(), vec![("team", "team_01kbm2x5q8f7vr0n3hd9tzc4wy")]),
        (format!("/admin/members/{user}/role"), vec![("role", "admin")]),
        (format!("/admin/members/{user}/reset"), vec![]),
        (format!("/admin/members/{user}/remove"), vec![]),
        ("/admin/settings".to_owned(), vec![("name", "Mine"), ("timezone", "UTC")]),
        ("/admin/settings/demo".to_owned(), vec![]),
    ]
}

both! {
    async fn cached_access_ends_with_the_role(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let mut browser = w.browser(owner.id).await;
        for (email, end, fields) in [
            ("ana@example.org", "role", &[("role", "member")][..]),
            ("bo@example.org", "remove", &[]),
        ] {
            let admin = w.user(Role::Admin, email).await;
            let app = w.client_for_user(admin.id, "events:read events:write").await;
            let feed = app.post("/calendar_feeds", json!({ "team_id": team.id() })).await.created();
            let url = feed.data()["url"].as_str().unwrap();
            let path = url[url.find("/calendar/").unwrap()..].to_owned();
            let feed_status = async || w.nobody.page("GET", &path, None).await.status;
            assert_eq!((feed_status().await, feed_status().await), (200, 200));
            browser.get("/admin/members").await.ok();
            let form = format!("/admin/members/{}/{end}", admin.id);
            assert_eq!(browser.post(&form, fields).await.status, 303);
            assert_eq!(feed_status().await, 404, "{end}");
        }
    }

    async fn publishes_when_users_join_change_roles_or_leave(w: &World) {
        let before = w.notifications().await.len();
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let member = w.user(Role::Member, "member@example.org").await;
        let mut browser = w.browser(owner.id).await;
        let page = format!("/admin/members/{}", member.id);
        browser.post(&format!("{page}/role"), &[("role", "admin")]).await;
        browser.post(&format!("{page}/role"), &[("role", "admin")]).await;
        browser.post(&format!("{page}/remove"), &[]).await;
        let notifications = w.notifications().await.split_off(before);
        let published: Vec<_> = notifications.iter().map(|notification| (notification["type"].clone(), notification["data"].clone())).collect();
        let user = |id: UserId, role: &str| json!({ "object": "user", "id": id, "role": role });
        let expected = [
            ("user.joined", json!({ "object": user(owner.id, "owner"), "previous": null })),
            ("user.joined", json!({ "object": user(member.id, "member"), "previous": null })),
            ("user.role_changed", json!({ "object": user(member.id, "admin"), "previous": { "role": "member" } })),
            ("user.removed", json!({ "object": user(member.id, "admin"), "previous": null })),
        ];
        assert_eq!(published, expected.map(|(kind, data)| (json!(kind), data)));
    }

    async fn only_admins_can_manage_members(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let hawks = team(w, "Hawks").await;
        let parent = w.user(Role::Member, "parent@example.org").await;
        for user in [hawks.coach.id, parent.id] {
            let mut browser = w.browser(user).await;
            for path in pages(owner.id) {
                let answer = browser.get(&path).await;
                assert_eq!(answer.status, 403, "{path}");
                answer.shows("Only admins of the club can do this");
            }
            for (path, fields) in forms(owner.id) {
                assert_eq!(browser.post(&path, &fields).await.status, 403, "{path}");
            }
        }
        let mut nobody = w.anonymous_browser();
        for path in pages(owner.id) {
            let answer = nobody.get(&path).await;
            assert!(answer.local_redirect().is_some_and(|next| next.starts_with("/sign-in")), "{path}");
        }
        let mut owner_browser = w.browser(owner.id).await;
        for path in pages(owner.id) {
            let answer = owner_browser.get(&path).await;
            assert_eq!(answer.status, 200, "{path}");
            assert!(answer.text.len() < 60_000, "{path} has {} bytes", answer.text.len());
        }
        // A form with a forged CSRF token is rejected.
        for (path, fields) in forms(parent.id) {
            // The page that offers to send the form again has the right token.
            owner_browser.csrf = Some("forged".to_owned());
            assert_eq!(owner_browser.post(&path, &fields).await.status, 403, "{path}");
        }
        assert_eq!(role(w, parent.id).await, Some(Role::Member));
        assert_eq!(w.count("invitation").await, 0);
        // An owner of another club does not find these members.
        let other = w.stranger.get("/me").await.ok();
        let other = other.data()["account"]["id"].as_str().unwrap().parse().unwrap();
        let foreign = w.user_of(other, Role::Owner, "owner@hilltop.example").await;
        let mut foreign = w.browser_at(foreign.id, Some(other)).await;
        for path in [format!("/admin/members/{}", owner.id), format!("/admin/members/{}/remove", owner.id)] {
            assert_eq!(foreign.get(&path).await.status, 404, "{path}");
        }
        for action in ["role", "remove"] {
            let path = format!("/admin/members/{}/{action}", parent.id);
            assert_eq!(foreign.post(&path, &[("role", "owner")]).await.status, 404, "{path}");
        }
        let list = foreign.get("/admin/members").await;
        assert!(!list.text.contains("owner@example.org"));
    }

    async fn an_admin_cannot_appoint_or_demote_owners(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let member = w.user(Role::Member, "member@example.org").await;
        let mut browser = w.browser(admin.id).await;
        let form = browser.get("/admin/members/invite").await;
        assert!(!form.text.contains("value=\"owner\""));
        let forged = [("email", "x@example.org"), ("role", "owner")];
        assert_eq!(browser.post("/admin/members/invite", &forged).await.status, 403);
        for (user, role) in [(member.id, "owner"), (admin.id, "owner"), (owner.id, "member")] {
            let path = format!("/admin/members/{user}/role");
            assert_eq!(browser.post(&path, &[("role", role)]).await.status, 403);
        }
        let path = format!("/admin/members/{}/remove", owner.id);
        assert_eq!(browser.post(&path, &[]).await.status, 403);
        browser.get(&format!("/admin/members/{}", owner.id)).await.shows("Only owners can change");
        assert_eq!(role(w, owner.id).await, Some(Role::Owner));
        assert_eq!((role(w, member.id).await, role(w, admin.id).await), (Some(Role::Member), Some(Role::Admin)));
        let path = format!("/admin/members/{}/role", member.id);
        browser.post(&path, &[("role", "admin")]).await
            .redirects_to(&format!("/admin/members/{}?done=role", member.id));
        assert_eq!(role(w, member.id).await, Some(Role::Admin));
    }

    async fn the_last_owner_cannot_leave_or_step_down(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut browser = w.browser(owner.id).await;
        let page = format!("/admin/members/{}", owner.id);
        let answer = browser.post(&format!("{page}/role"), &[("role", "member")]).await;
        assert_eq!(answer.status, 409);
        answer.shows("The last owner cannot");
        browser.get(&format!("{page}/remove")).await.shows("What happens next");
        let answer = browser.post(&format!("{page}/remove"), &[]).await;
        assert_eq!(answer.status, 409);
        answer.shows("The last owner cannot leave");
        assert_eq!(role(w, owner.id).await, Some(Role::Owner));
        w.user(Role::Owner, "second@example.org").await;
        browser.post(&format!("{page}/remove"), &[]).await.redirects_to("/account");
        assert_eq!(role(w, owner.id).await, None);
    }

    async fn a_removed_member_loses_access_immediately(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let hawks = team(w, "Hawks").await;
        let other = w.stranger.get("/me").await.ok();
        let other = other.data()["account"]["id"].as_str().unwrap().parse().unwrap();
        let coach = hawks.coach.id;
        w.user_of(other, Role::Member, &hawks.coach.email).await;
        let mut here = w.browser(coach).await;
        let mut there = w.browser_at(coach, Some(other)).await;
        let app = w.client_for_user(coach, "teams:read").await;
        app.get("/teams").await.ok();
        assert_eq!(here.get("/account/claims").await.status, 200);

        let mut browser = w.browser(owner.id).await;
        let path = format!("/admin/members/{coach}/remove");
        browser.get(&path).await.shows("signed out of this club at once");
        browser.post(&path, &[]).await.redirects_to("/admin/members?done=removed");
        assert_eq!(app.get("/teams").await.status, 401);
        let gone = here.get("/account/claims").await;
        assert!(gone.local_redirect().is_some_and(|next| next.starts_with("/sign-in")));
        assert_eq!(there.get("/account/claims").await.status, 200, "another club goes on");
        let scope = Scope::account(w.harbour, "test");
        let person = w.db().read(scope, move |db| linking::find_person(db, coach)).await.unwrap();
        assert!(person.is_none());
        assert_eq!(browser.post(&path, &[]).await.status, 404);
    }

    async fn sensitive_changes_require_the_password_again(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let member = w.user(Role::Member, "member@example.org").await;
        let mut browser = w.browser(owner.id).await;
        w.advance_clock(seconds(11 * 60));
        let confirm = |answer: testkit::TestResponse| {
            assert!(answer.local_redirect().is_some_and(|next| next.starts_with("/confirm?next=")));
        };
        confirm(browser.get(&format!("/admin/members/{}/remove", member.id)).await);
        for (path, fields) in forms(member.id).iter().filter(|(path, _)| !path.ends_with("demo")) {
            confirm(browser.post(path, fields).await);
        }
        assert_eq!(role(w, member.id).await, Some(Role::Member));
        assert_eq!(browser.get("/admin/members").await.status, 200);
    }

    async fn lists_members_with_their_roles_page_by_page(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let hawks = team(w, "Hawks").await;
        let mut browser = w.browser(owner.id).await;
        let page = browser.get("/admin/members").await.shows("Hawks (coach)");
        assert!(page.text.contains("coach-hawks@example.org"));
        for number in 0..3 {
            w.user(Role::Member, &format!("p{number}@example.org")).await;
        }
        let (mut next, mut seen) = (Some("/admin/members?limit=2".to_owned()), 0);
        for _ in 0..5 {
            let Some(path) = next.take() else { break };
            let page = browser.get(&path).await;
            assert_eq!(page.status, 200, "{}", page.text);
            seen += page.text.matches("@example.org</bdi>").count();
            let rest = page.text.split("href=\"/admin/members?limit=2").nth(1);
            next = rest.map(|rest| {
                let rest = rest.split('"').next().unwrap().replace("&#38;", "&");
                format!("/admin/members?limit=2{rest}")
            });
        }
        assert_eq!(seen, 5);
        let forged = browser.get("/admin/members?cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await;
        assert_eq!(forged.status, 400);
        assert_eq!(hawks.id.to_string().len(), 31);
    }

    async fn escapes_names_in_pages(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let scope = Scope::account(w.harbour, "test");
        let evil = "<script>alert(1)</script>\"><img src=x>";
        let new = user::NewUser {
            email: "evil@example.org".to_owned(),
            name: evil.to_owned(),
            role: Role::Admin,
            password_hash: None,
        };
        let created = w.db().write(scope, move |tx| user::create(tx, new)).await.unwrap().0;
        let team = w.owner.post("/teams", testkit::json!({ "name": evil })).await.created();
        let body = testkit::json!({ "first_name": evil, "role": "coach" });
        let person = add_to_roster(w, team.id(), body).await;
        link_user(w, person, created.id).await;
        let mut browser = w.browser(owner.id).await;
        let mut evil_browser = w.browser(created.id).await;
        let team_id = team.id().to_owned();
        let link = link_in(&evil_browser.post("/admin/members/link", &[("team", &team_id)]).await);
        for path in pages(created.id).iter().chain([&link]) {
            let page = browser.get(path).await;
            assert_eq!(page.status, 200, "{path}");
            assert!(!page.text.contains("<script>alert") && !page.text.contains("<img src=x"), "{path}");
        }
        browser.get("/admin/members/invitations").await.shows("Team link");
    }

    async fn an_invitation_can_be_revoked(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut browser = w.browser(owner.id).await;
        let invite = [("email", "new@example.org"), ("role", "member")];
        let link = link_in(&browser.post("/admin/members/invite", &invite).await);
        let list = browser.get("/admin/members/invitations").await.shows("new@example.org");
        assert!(!list.text.contains(&link), "a link is shown once");
        let rest = list.text.split("invitations/inv_").nth(1).unwrap();
        let path = format!("/admin/members/invitations/inv_{}/revoke", rest.split('/').next().unwrap());
        let member = w.user(Role::Member, "member@example.org").await;
        assert_eq!(w.browser(member.id).await.post(&path, &[]).await.status, 403);
        browser.post(&path, &[]).await.redirects_to("/admin/members/invitations?done=revoked");
        assert_eq!(w.anonymous_browser().get(&link).await.status, 410);
        browser.get("/admin/members/invitations").await.shows("No open invitations");
        let known = [("email", "MEMBER@example.org"), ("role", "member")];
        assert_eq!(browser.post("/admin/members/invite", &known).await.status, 422);
        let wrong = [("email", "nobody"), ("role", "member")];
        let answer = browser.post("/admin/members/invite", &wrong).await;
        assert_eq!(answer.status, 422);
        answer.shows("Enter an email address");
    }
}
