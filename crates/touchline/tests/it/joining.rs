//! Tests of joining a club: invitations for one person, links of a team, and approvals.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Browser, TestResponse, World, both, json, seconds};
use touchline::accounts::user::{self, NewUser, Role, User};
use touchline::error::Code;
use touchline::ids::{PersonId, TeamId, UserId};
use touchline::roster::{access, guardian, linking};

/// A team with a player and a coach who can sign in.
pub(crate) struct Team {
    pub(crate) id: TeamId,
    pub(crate) coach: User,
    pub(crate) player: PersonId,
}

pub(crate) async fn add_to_roster(w: &World, team: &str, body: testkit::Value) -> PersonId {
    let created = w.owner.post(&format!("/teams/{team}/roster"), body).await.created();
    created.data()["person_id"].as_str().unwrap().parse().unwrap()
}

pub(crate) async fn link_user(w: &World, person: PersonId, user: UserId) {
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| linking::link(tx, person, user)).await.unwrap();
}

pub(crate) async fn team(w: &World, name: &str) -> Team {
    let created = w.owner.post("/teams", json!({ "name": name })).await.created();
    let id = created.id().to_owned();
    let lead = json!({ "first_name": "Cora", "last_name": "Lead", "role": "coach" });
    let person = add_to_roster(w, &id, lead).await;
    let coach = w.user(Role::Member, &format!("coach-{}@example.org", name.to_lowercase())).await;
    link_user(w, person, coach.id).await;
    let player = json!({ "first_name": "Inês", "last_name": "Duarte", "birth_date": "2014-02-27",
        "allow_duplicate": true });
    let player = add_to_roster(w, &id, player).await;
    Team { id: id.parse().unwrap(), coach, player }
}

/// The path of the link that a page shows.
pub(crate) fn link_in(answer: &TestResponse) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let rest = answer.text.split("/join/").nth(1).expect("a link");
    let token: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    format!("/join/{token}")
}

/// Creates a join link of a team as its coach.
pub(crate) async fn team_link(w: &World, team: &Team) -> String {
    let mut coach = w.browser(team.coach.id).await;
    link_in(&coach.post("/account/claims/link", &[("team", &team.id.to_string())]).await)
}

/// Creates an account through a join link and signs in.
pub(crate) async fn sign_up(w: &World, link: &str, email: &str, more: &[(&str, &str)]) -> Browser {
    let mut browser = w.anonymous_browser();
    browser.get(link).await;
    let mut fields = vec![("name", "Ana Duarte"), ("email", email), ("password", PASSWORD)];
    fields.extend(more);
    let before = browser.cookie.clone();
    let mut page = browser.get(&format!("{link}?as=guardian")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    page = browser.post(&format!("{link}/account"), &fields).await;
    sign_in_after(&mut browser, page, email).await;
    assert!(browser.cookie.is_some() && browser.cookie != before, "the cookie is replaced");
    browser
}

/// Follows the redirect after an account was created. Signs in, unless the browser is signed in already, and
/// continues.
pub(crate) async fn sign_in_after(
    browser: &mut Browser,
    created: TestResponse,
    email: &str,
) -> TestResponse {
    assert_eq!(created.status, 303, "{}", created.text);
    let path = created.local_redirect().unwrap().to_owned();
    if !path.contains("made=1") {
        browser.get(&path).await.shows("You are signed in as");
        return created;
    }
    let page = browser.get(&path).await.shows("Sign in with your email address");
    let next = page.text.split("name=\"next\" value=\"").nth(1).expect("where to go on");
    let next = next.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    let fields = [("email", email), ("password", PASSWORD), ("next", next.as_str())];
    let signed_in = browser.post("/sign-in", &fields).await.redirects_to(&next);
    browser.get(&next).await;
    signed_in
}

pub(crate) async fn find_user(w: &World, email: &'static str) -> Option<User> {
    let query = w.db().read(Scope::system("test"), move |db| user::find_by_email(db, email));
    query.await.unwrap()
}

pub(crate) async fn role(w: &World, user: UserId) -> Option<Role> {
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| user::role_of(db, user)).await.unwrap()
}

/// The id of the first claim on a page.
pub(crate) fn claim_in(answer: &TestResponse) -> String {
    let rest = answer.text.split("claims/clm_").nth(1).expect("a claim");
    format!("clm_{}", rest.split('/').next().unwrap())
}

both! {
    async fn a_parent_joins_through_a_team_link_and_a_coach_approves(w: &World) {
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let mut stranger = w.anonymous_browser();
        let first = stranger.get(&link).await.shows("Harbour").shows("Hawks").shows("Who are you");
        assert!(!first.text.contains("Inês") && !first.text.contains("password"));
        let pick = stranger.get(&format!("{link}?as=guardian")).await.shows("Create account");
        assert!(!pick.text.contains("Inês"), "names are for those who signed in");

        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        let pick = ana.get(&format!("{link}?as=guardian")).await.shows("Inês D.");
        assert!(!pick.text.contains("Duarte</b>") && !pick.text.contains("2014-") && !pick.text.contains(" 2014"));
        let person = hawks.player.to_string();
        let fields = [("as", "guardian"), ("person", person.as_str()), ("note", "Hi <b>coach</b>")];
        ana.post(&format!("{link}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
        ana.post(&format!("{link}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
        assert_eq!(w.count("claim").await, 1, "a repeated request to join creates no second claim");
        let user = find_user(w, "ana@example.org").await.unwrap();
        assert_eq!((user.email_verified_at, role(w, user.id).await), (None, None));
        ana.get("/account/claims").await.shows("Waiting");
        assert_eq!(ana.get("/admin").await.status, 403);

        let mut coach = w.browser(hawks.coach.id).await;
        let page = coach.get("/account/claims").await.shows("Inês Duarte").shows("Ana Duarte");
        assert!(page.text.contains("Hi &#60;b&#62;coach"), "{}", page.text);
        let id = claim_in(&page);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.redirects_to("/account/claims?done=approved");
        assert_eq!(role(w, user.id).await, Some(Role::Member));
        // The parent is in the club without signing in again.
        ana.get("/").await.ok();
        ana.get("/store").await.ok();
        let (child, team_id, user_id) = (hawks.player, hawks.id, user.id);
        let scope = Scope::account(w.harbour, "test");
        let query = w.db().read(scope, move |db| {
            Ok::<_, touchline::error::Error>((guardian::list_for(db, &[child])?, access::for_user(db, user_id)?))
        });
        let (guardians, roster_access) = query.await.unwrap();
        assert_eq!(guardians.len(), 1);
        assert_eq!(guardians[0].guardian.user_id, Some(user.id));
        assert_eq!(roster_access.dependent_ids, [child]);
        assert_eq!(roster_access.visible_team_ids, [team_id]);
        ana.get("/account/claims").await.shows("Approved");
        let again = coach.post(&format!("/account/claims/{id}/refuse"), &[]).await;
        assert_eq!(again.status, 409);
    }

    async fn only_coaches_of_the_team_and_admins_decide_claims(w: &World) {
        let (hawks, owls) = (team(w, "Hawks").await, team(w, "Owls").await);
        let link = team_link(w, &hawks).await;
        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        let person = hawks.player.to_string();
        ana.post(&format!("{link}/claim"), &[("as", "guardian"), ("person", &person)]).await;
        let mut coach = w.browser(hawks.coach.id).await;
        let id = claim_in(&coach.get("/account/claims").await);
        let paths = [
            (format!("/account/claims/{id}/approve"), 404),
            (format!("/account/claims/{id}/refuse"), 404),
            (format!("/admin/members/claims/{id}/approve"), 403),
        ];
        let parent = w.user(Role::Member, "parent@example.org").await;
        for user in [owls.coach.id, parent.id] {
            let mut other = w.browser(user).await;
            let seen = other.get("/account/claims").await;
            assert!(!seen.text.contains("Ana Duarte"));
            for (path, status) in &paths {
                assert_eq!(other.post(path, &[]).await.status, *status, "{path}");
            }
        }
        for (path, _) in &paths {
            assert!(matches!(ana.post(path, &[]).await.status, 403 | 404), "{path}");
        }
        // An admin of another club does not find the claim.
        let other_club = w.stranger.get("/me").await.ok();
        let other_club = other_club.data()["account"]["id"].as_str().unwrap().parse().unwrap();
        let admin = w.user_of(other_club, Role::Admin, "admin@hilltop.example").await;
        let mut admin = w.browser_at(admin.id, Some(other_club)).await;
        for (path, _) in &paths {
            assert_eq!(admin.post(path, &[]).await.status, 404, "{path}");
        }
        assert!(!admin.get("/admin/members/claims").await.text_without_csrf().contains("Ana"));
        // A decision needs a valid CSRF token and must come from our own pages.
        let mut forged = coach.clone();
        forged.csrf = Some("forged".to_owned());
        assert_eq!(forged.post(&paths[0].0, &[]).await.status, 403);
        let mut foreign = coach.clone();
        let csrf = foreign.csrf.clone().unwrap();
        let headers = [("Sec-Fetch-Environment", "cross-site"), ("Origin", "https://evil.example")];
        let sent = foreign.send(&paths[0].0, &[("csrf", &csrf)], &headers).await;
        assert_eq!(sent.status, 403);
        assert_eq!(w.count("guardianship").await, 0);
    }

    async fn only_an_admin_approves_a_coach(w: &World) {
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let mut bo = sign_up(w, &link, "bo@example.org", &[("as", "coach")]).await;
        bo.get(&format!("{link}?as=coach")).await.shows("Not on the list");
        bo.post(&format!("{link}/claim"), &[("as", "coach")]).await.redirects_to("/account/claims?done=asked");
        let mut coach = w.browser(hawks.coach.id).await;
        let seen = coach.get("/account/claims").await;
        assert!(!seen.text.contains("bo@example.org"));
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let id = claim_in(&admin.get("/admin/members/claims").await.shows("Wants to join as a coach"));
        let tried = coach.post(&format!("/account/claims/{id}/approve"), &[]).await;
        assert_eq!(tried.status, 403);
        let done = admin.post(&format!("/admin/members/claims/{id}/approve"), &[]).await;
        done.redirects_to("/admin/members/claims?done=approved");
        let user = find_user(w, "bo@example.org").await.unwrap().id;
        let scope = Scope::account(w.harbour, "test");
        let roster_access = w.db().read(scope, move |db| access::for_user(db, user)).await.unwrap();
        assert_eq!(roster_access.managed_team_ids, [hawks.id]);
    }

    async fn a_child_joins_only_after_a_parent_and_a_player_has_one_user(w: &World) {
        let hawks = team(w, "Hawks").await;
        let teen = json!({ "first_name": "Tom", "last_name": "Reis", "birth_date": "2011-01-05" });
        let teen = add_to_roster(w, &hawks.id.to_string(), teen).await;
        let link = team_link(w, &hawks).await;
        let mut kid = sign_up(w, &link, "kid@example.org", &[("as", "self")]).await;
        let claim = format!("{link}/claim");
        let player = hawks.player.to_string();
        let own_claim = [("as", "self"), ("person", player.as_str())];
        let refused = kid.post(&claim, &own_claim).await;
        assert_eq!(refused.status, 422);
        refused.shows("Players under 13 need a parent who has already joined");
        // Once a parent has joined, the child can.
        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        ana.post(&claim, &[("as", "guardian"), ("person", &player)]).await.redirects_to("/account/claims?done=asked");
        let mut coach = w.browser(hawks.coach.id).await;
        let id = claim_in(&coach.get("/account/claims").await);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.redirects_to("/account/claims?done=approved");
        kid.post(&claim, &own_claim).await.redirects_to("/account/claims?done=asked");
        let page = coach.get("/account/claims").await.shows("12 years old");
        let id = claim_in(&page);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.redirects_to("/account/claims?done=approved");
        let mut other = sign_up(w, &link, "other@example.org", &[("as", "self")]).await;
        let list = other.get(&format!("{link}?as=self")).await.shows("Tom R.");
        assert!(!list.text.contains("Inês"), "a person who is already linked to a user is not listed");
        let taken = other.post(&claim, &own_claim).await;
        assert_eq!(taken.status, 422, "{}", taken.text);
        other.post(&claim, &[("as", "self"), ("person", &teen.to_string())]).await
            .redirects_to("/account/claims?done=asked");
        let note = coach.get("/account/claims").await.shows("15 years old");
        let id = claim_in(&note);
        coach.post(&format!("/account/claims/{id}/refuse"), &[]).await.redirects_to("/account/claims?done=refused");
        other.get("/account/claims").await.shows("Refused");
        let user = find_user(w, "other@example.org").await.unwrap();
        assert_eq!(role(w, user.id).await, None);
    }

    async fn rejects_claims_for_people_of_another_team_or_club(w: &World) {
        let (hawks, owls) = (team(w, "Hawks").await, team(w, "Owls").await);
        let link = team_link(w, &hawks).await;
        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        let other = w.stranger.post("/teams", json!({ "name": "Foxes" })).await.created();
        let path = format!("/teams/{}/roster", other.id());
        let fox = w.stranger.post(&path, json!({ "first_name": "Fox" })).await.created();
        let foreign = fox.data()["person_id"].as_str().unwrap().to_owned();
        for person in [owls.player.to_string(), foreign, "per_nonsense".to_owned()] {
            let fields = [("as", "guardian"), ("person", person.as_str())];
            assert_eq!(ana.post(&format!("{link}/claim"), &fields).await.status, 404, "{person}");
        }
        let fields = [("as", "guardian")];
        assert_eq!(ana.post(&format!("{link}/claim"), &fields).await.status, 422);
        assert_eq!(w.count("claim").await, 0);
        // A team link grants no role, whatever the form says.
        let tried = ana.post(&format!("{link}/accept"), &[("role", "owner")]).await;
        assert_eq!(tried.status, 410);
        let user = find_user(w, "ana@example.org").await.unwrap();
        assert_eq!(role(w, user.id).await, None);
    }

    async fn expired_replaced_and_unknown_links_look_the_same(w: &World) {
        let hawks = team(w, "Hawks").await;
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        let invite = [("email", "gone@example.org"), ("role", "member")];
        let expired = link_in(&owner.post("/admin/members/invite", &invite).await);
        w.advance_clock(seconds(72 * 3600 + 1));
        let replaced = team_link(w, &hawks).await;
        let fresh = team_link(w, &hawks).await;
        let unknown = format!("{}0000000", &fresh[..fresh.len() - 7]);
        let mut guest = w.anonymous_browser();
        guest.get(&format!("{fresh}?as=guardian")).await.shows("Create account");
        let mut texts = Vec::new();
        for link in [&expired, &replaced, &unknown, &"/join/x".to_owned()] {
            let answer = guest.get(link).await;
            assert_eq!(answer.status, 410, "{link}");
            let text = answer.text.split("Request ID <code>").next().unwrap().to_owned();
            texts.push(text);
            for below in ["account", "accept", "claim"] {
                assert_eq!(guest.post(&format!("{link}/{below}"), &[]).await.status, 410);
            }
        }
        assert!(texts.windows(2).all(|pair| pair[0] == pair[1]));
        w.advance_clock(seconds(7 * 86_400 + 1));
        assert_eq!(guest.get(&fresh).await.status, 410);
    }

    async fn an_invitation_works_for_one_person(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        let invite = [("email", "new@example.org"), ("role", "member")];
        let page = owner.post("/admin/members/invite", &invite).await.shows("It works once");
        let link = link_in(&page);
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for (name, list) in [("one@example.org", &mut one), ("two@example.org", &mut two)] {
            let mut browser = w.anonymous_browser();
            browser.get(&link).await.shows("You are invited to").shows("new@example.org");
            let fields = [("name", "New One"), ("email", name), ("password", PASSWORD)];
            let created = browser.post(&format!("{link}/account"), &fields).await;
            sign_in_after(&mut browser, created, name).await.redirects_to(&link);
            browser.get(&link).await.shows("a member").shows(name).shows("was sent to another address");
            list.push(browser);
        }
        let accept = format!("{link}/accept");
        let (a, b) = tokio::join!(one[0].post(&accept, &[]), two[0].post(&accept, &[]));
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 410]);
        let (won, mut winner) = if a.status == 303 { (a, one.remove(0)) } else { (b, two.remove(0)) };
        won.redirects_to("/account?done=joined");
        winner.get("/account?done=joined").await.shows("You have joined the club");
        assert_eq!(winner.get(&link).await.status, 410);
        // The inviter gets an email that another address accepted it.
        let emails = w.owner.get("/emails").await.ok();
        assert_eq!(emails.data()[0]["to_address"], "owner@example.org");
        assert!(emails.data()[0]["body_text"].as_str().unwrap().contains("You invited new@example.org"));
        for email in ["one@example.org", "two@example.org"] {
            let user = find_user(w, email).await.unwrap();
            assert_eq!(user.email_verified_at, None, "another address proves nothing");
        }
    }

    async fn only_the_invited_and_confirmed_address_becomes_an_admin(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        for invited_role in ["admin", "owner"] {
            let invited = format!("{invited_role}-to-be@example.org");
            let link = link_in(&owner.post("/admin/members/invite", &[("email", &invited), ("role", invited_role)]).await);
            // A stranger who got hold of the link, with a confirmed address of their own.
            let stranger = w.user(Role::Member, &format!("stranger-{invited_role}@example.org")).await;
            let mut browser = w.browser(stranger.id).await;
            browser.get(&link).await.shows("is for another email address");
            let tried = browser.post(&format!("{link}/accept"), &[]).await;
            assert_eq!(tried.status, 422);
            tried.shows("is for another email address");
            assert_eq!(role(w, stranger.id).await, Some(Role::Member));
            // The stranger creates an account with the invited address.
            let mut impostor = w.anonymous_browser();
            impostor.get(&link).await;
            let fields = [("name", "Liar"), ("email", invited.as_str()), ("password", PASSWORD)];
            impostor.post(&format!("{link}/account"), &fields).await.redirects_to(&link);
            impostor.get(&link).await.shows("Confirm your email address before");
            assert_eq!(impostor.post(&format!("{link}/accept"), &[]).await.status, 422);
            let user = crate::joining::find_user(w, Box::leak(invited.clone().into_boxed_str())).await.unwrap();
            assert_eq!(role(w, user.id).await, None);
            // The invitation is still open and can be accepted once the address is confirmed.
            let id = user.id;
            let verify = move |tx: &store::Tx<'_>| user::verify_email(tx, id);
            w.db().write(Scope::system("test"), verify).await.unwrap();
            let page = impostor.get("/account/claims").await.shows("You have an invitation");
            let path = page.text.split("action=\"/account/invitations/").nth(1).unwrap().split('"').next().unwrap();
            let joined = impostor.post(&format!("/account/invitations/{path}"), &[]).await;
            joined.redirects_to("/admin?done=joined");
            impostor.get("/admin?done=joined").await.shows("You can now manage the club");
        }
    }

    async fn an_invitation_can_be_accepted_in_a_later_session(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        let link = link_in(&owner.post("/admin/members/invite", &[("email", "new@example.org"), ("role", "member")]).await);
        let mut new = w.anonymous_browser();
        new.get(&link).await;
        let fields = [("name", "New One"), ("email", "new@example.org"), ("password", PASSWORD)];
        // Creating the account signs them in.
        new.post(&format!("{link}/account"), &fields).await.redirects_to(&link);
        new.get(&link).await.shows("You are signed in as");
        // Later, they sign in again without the link.
        let mut later_session = w.anonymous_browser();
        later_session.get("/sign-in").await;
        later_session.post("/sign-in", &[("email", "new@example.org"), ("password", PASSWORD)]).await;
        later_session.get("/").await.redirects_to("/account/claims");
        let page = later_session.get("/account/claims").await.shows("You have an invitation").shows("Harbour");
        assert!(!page.text.contains("No open requests"));
        let path = page.text.split("action=\"/account/invitations/").nth(1).unwrap().split('"').next().unwrap().to_owned();
        // Nobody else sees it or can accept it by its id.
        let other = w.user(Role::Member, "other@example.org").await;
        let mut other = w.browser(other.id).await;
        assert!(!other.get("/account/claims").await.text.contains("You have an invitation"));
        assert_eq!(other.post(&format!("/account/invitations/{path}"), &[]).await.status, 410);
        later_session.post(&format!("/account/invitations/{path}"), &[]).await.redirects_to("/account?done=joined");
        later_session.get("/account?done=joined").await.shows("You have joined the club");
        assert!(!later_session.get("/account/claims").await.text.contains("You have an invitation"));
        // After signing up through a team link, the page explains how to continue.
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        ana.get("/account/claims").await.shows("Open the link again");
        ana.post(&format!("{link}/claim"), &[("as", "guardian"), ("person", &hawks.player.to_string())]).await;
        let page = ana.get("/account/claims?done=asked").await.shows("Your request was sent");
        assert!(!page.text.contains("Open the link again"));
    }

    async fn an_invitation_can_make_somebody_a_guardian(w: &World) {
        let hawks = team(w, "Hawks").await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let player = hawks.player.to_string();
        let as_player = [("email", "x@example.org"), ("role", "member"), ("relation", "self"), ("person", &player)];
        let refused = admin.post("/admin/members/invite", &as_player).await;
        assert_eq!(refused.status, 422);
        refused.shows("Players under 13");
        let invite =
            [("email", "Ana@example.org"), ("role", "member"), ("relation", "guardian"), ("person", &player)];
        let link = link_in(&admin.post("/admin/members/invite", &invite).await);
        let mut ana = w.anonymous_browser();
        ana.get(&link).await;
        let fields = [("name", "Ana"), ("email", "ana@example.org"), ("password", PASSWORD)];
        let created = ana.post(&format!("{link}/account"), &fields).await;
        sign_in_after(&mut ana, created, "ana@example.org").await.redirects_to(&link);
        ana.get(&link).await.shows("the parent or guardian of a player");
        ana.post(&format!("{link}/accept"), &[]).await.redirects_to("/account?done=joined");
        let user = find_user(w, "ana@example.org").await.unwrap();
        assert_eq!(user.email_verified_at, None, "a link that was copied proves no address");
        let user_id = user.id;
        let scope = Scope::account(w.harbour, "test");
        let roster_access = w.db().read(scope, move |db| access::for_user(db, user_id)).await.unwrap();
        assert_eq!(roster_access.dependent_ids, [hawks.player]);
    }

    async fn an_unconfirmed_account_gets_no_role_from_the_command_line(w: &World) {
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        sign_up(w, &link, "victim@example.org", &[("as", "guardian")]).await;
        let new = NewUser {
            email: "Victim@example.org".to_owned(),
            name: "Victim".to_owned(),
            role: Role::Owner,
            password_hash: None,
        };
        let scope = Scope::account(w.harbour, "cli");
        let created = w.db().write(scope, move |tx| user::create(tx, new)).await;
        assert_eq!(created.unwrap_err().code, Code::InvalidState);
        // An address that already has an account cannot be taken.
        let mut browser = w.anonymous_browser();
        browser.get(&format!("{link}?as=guardian")).await;
        let fields = [("name", "Eve"), ("email", "VICTIM@example.org"), ("password", PASSWORD), ("as", "guardian")];
        browser.post(&format!("{link}/account"), &fields).await
            .redirects_to(&format!("{link}?as=guardian&made=1"));
        let existing = find_user(w, "victim@example.org").await.unwrap();
        assert_eq!(existing.name, "Ana Duarte");
        let weak = [("name", "Eve"), ("email", "eve@example.org"), ("password", "password1234")];
        let refused = browser.post(&format!("{link}/account"), &weak).await;
        assert_eq!(refused.status, 422);
        assert!(!refused.text.contains("password1234"));
    }

    async fn tokens_are_not_stored_in_any_table(w: &World) {
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let token = link.strip_prefix("/join/").unwrap().to_owned();
        sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        let tables = w.db().read(Scope::system("test"), move |db| {
            let mut tables = Vec::new();
            for table in db.tables()? {
                db.rows(&table, |row| {
                    if format!("{row:?}").contains(&token) {
                        tables.push(table.name.clone());
                    }
                    Ok(())
                })?;
            }
            Ok::<_, store::Error>(tables)
        });
        assert_eq!(tables.await.unwrap(), Vec::<String>::new());
    }
}
