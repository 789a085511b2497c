//! Tests of attempts to gain access by joining: with somebody else's address, through a friendly coach, with an
//! invitation from a former role, or by finding out who has an account.

use store::{Scope, bind};
use testkit::people::PASSWORD;
use testkit::{Browser, TestResponse, World, both, json};
use touchline::accounts::roster_access::RosterAccess;
use touchline::accounts::user::{self, Role};
use touchline::error::Error;
use touchline::ids::{PersonId, UserId};
use touchline::joining::invitation::{self, NewInvitation};
use touchline::roster::{access, guardian};

use crate::joining::{
    add_to_roster, claim_in, find_user, link_in, link_user, role, sign_in_after, sign_up, team,
    team_link,
};
use crate::roster_access::client_with_all_scopes;

const MOTHER: &str = "rita@example.org";

/// Two siblings on two teams, and their mother.
struct Family {
    hawks: crate::joining::Team,
    owls: crate::joining::Team,
    one: PersonId,
    two: PersonId,
    mother: PersonId,
}

async fn family(w: &World) -> Family {
    let (hawks, owls) = (team(w, "Hawks").await, team(w, "Owls").await);
    let mother = json!([{ "first_name": "Rita", "last_name": "Reis", "email": MOTHER }]);
    let child =
        |name: &str| json!({ "first_name": name, "last_name": "Reis", "guardians": mother });
    let one = add_to_roster(w, &hawks.id.to_string(), child("Kidone")).await;
    let two = add_to_roster(w, &owls.id.to_string(), child("Kidtwo")).await;
    let mothers = guardians(w, one).await;
    assert_eq!(mothers, guardians(w, two).await, "siblings share their mother");
    Family { hawks, owls, one, two, mother: mothers[0] }
}

async fn guardians(w: &World, child: PersonId) -> Vec<PersonId> {
    let query = move |db: &store::Reader<'_>| guardian::list_for(db, &[child]);
    let links = w.db().read(Scope::account(w.harbour, "test"), query).await.unwrap();
    links.into_iter().map(|link| link.guardian.id).collect()
}

async fn access_of(w: &World, user: UserId) -> RosterAccess {
    let query = move |db: &store::Reader<'_>| access::for_user(db, user);
    w.db().read(Scope::account(w.harbour, "test"), query).await.unwrap()
}

async fn confirm_email(w: &World, user: UserId) {
    let work = move |tx: &store::Tx<'_>| user::verify_email(tx, user);
    w.db().write(Scope::system("test"), work).await.unwrap();
}

/// Signs up with this address through a team link, and submits a claim.
async fn submit_claim(
    w: &World,
    link: &str,
    email: &str,
    (relation, person): (&str, PersonId),
) -> Browser {
    let mut browser = sign_up(w, link, email, &[("as", relation)]).await;
    let person = person.to_string();
    let fields = [("as", relation), ("person", person.as_str())];
    browser
        .post(&format!("{link}/claim"), &fields)
        .await
        .redirects_to("/account/claims?done=asked");
    browser
}

async fn invite(admin: &mut Browser, fields: &[(&str, &str)]) -> String {
    link_in(&admin.post("/admin/members/invite", fields).await)
}

/// The status, redirect and text of an answer, without the request id.
fn visible_parts(answer: &TestResponse) -> (u16, Option<String>, String) {
    let text = answer.text.split("Request ID <code>").next().unwrap().to_owned();
    (answer.status, answer.local_redirect().map(str::to_owned), text)
}

both! {
    async fn an_unconfirmed_address_is_not_matched_to_a_person(w: &World) {
        let home = family(w).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let child = home.one.to_string();
        // An invitation for a guardian of a minor works only for its address.
        let fields = [("email", "eve@example.org"), ("role", "member"), ("relation", "guardian"), ("person", &child)];
        let other = invite(&mut admin, &fields).await;
        let stranger = w.user(Role::Member, "stranger@example.org").await;
        let mut stranger = w.browser(stranger.id).await;
        assert_eq!(stranger.post(&format!("{other}/accept"), &[]).await.status, 422);
        assert_eq!(guardians(w, home.one).await, [home.mother]);
        let fields = [("email", MOTHER), ("role", "member"), ("relation", "guardian"), ("person", &child)];
        let join_link = invite(&mut admin, &fields).await;
        let mut eve = w.anonymous_browser();
        eve.get(&join_link).await;
        let account = [("name", "Rita Reis"), ("email", MOTHER), ("password", PASSWORD)];
        let created = eve.post(&format!("{join_link}/account"), &account).await;
        sign_in_after(&mut eve, created, MOTHER).await;
        eve.post(&format!("{join_link}/accept"), &[]).await.redirects_to("/account?done=joined");
        let user = find_user(w, MOTHER).await.unwrap();
        let roster_access = access_of(w, user.id).await;
        assert_eq!((&roster_access.dependent_ids, &roster_access.visible_team_ids), (&vec![home.one], &vec![home.hawks.id]));
        assert!(!roster_access.own_person_ids.contains(&home.mother));
        // A sibling who is added later does not get the unconfirmed account as a guardian either.
        let sibling = json!({ "first_name": "Kidthree", "last_name": "Reis",
            "guardians": [{ "first_name": "Rita", "last_name": "Reis", "email": MOTHER }] });
        let sibling = add_to_roster(w, &home.owls.id.to_string(), sibling).await;
        assert_eq!(guardians(w, sibling).await, [home.mother]);
        assert_eq!(guardians(w, home.two).await, [home.mother]);
    }

    async fn a_coach_invitation_works_only_for_its_address(w: &World) {
        let hawks = team(w, "Hawks").await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let body = json!({ "first_name": "Fay", "role": "coach", "email": "fay@example.org" });
        let fay = add_to_roster(w, &hawks.id.to_string(), body).await.to_string();
        let body = json!({ "first_name": "Sven", "role": "staff", "email": "sven@example.org" });
        let sven = add_to_roster(w, &hawks.id.to_string(), body).await.to_string();
        let adult_and_linked = async |person: &str| {
            let answer = w.owner.get(&format!("/people/{person}")).await.ok();
            (answer.data()["adult_confirmed_at"].is_string(), answer.data()["user_id"].is_string())
        };
        assert_eq!((adult_and_linked(&fay).await, adult_and_linked(&sven).await), ((true, false), (true, false)));
        let fields = [("email", "fay@example.org"), ("role", "member"), ("relation", "self"), ("person", fay.as_str())];
        let join_link = invite(&mut admin, &fields).await;
        let stranger = w.user(Role::Member, "stranger@example.org").await;
        let mut stranger = w.browser(stranger.id).await;
        assert_eq!(stranger.post(&format!("{join_link}/accept"), &[]).await.status, 422);
        assert_eq!(adult_and_linked(&fay).await, (true, false));
        // Another address can accept the invitation of somebody who manages no team, who then no longer counts as a
        // confirmed adult.
        let fields = [("email", "sven@example.org"), ("role", "member"), ("relation", "self"), ("person", sven.as_str())];
        let join_link = invite(&mut admin, &fields).await;
        stranger.post(&format!("{join_link}/accept"), &[]).await.redirects_to("/account?done=joined");
        assert_eq!(adult_and_linked(&sven).await, (false, true));
    }

    async fn a_team_link_does_not_match_an_unconfirmed_address(w: &World) {
        let home = family(w).await;
        let join_link = team_link(w, &home.hawks).await;
        submit_claim(w, &join_link, MOTHER, ("guardian", home.one)).await;
        let user = find_user(w, MOTHER).await.unwrap().id;
        let mut coach = w.browser(home.hawks.coach.id).await;
        let page = coach.get("/account/claims").await.shows("Email address not confirmed");
        assert!(!page.text.contains("/approve"), "the child has a guardian already");
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let id = claim_in(&admin.get("/admin/members/claims").await);
        admin.post(&format!("/admin/members/claims/{id}/approve"), &[]).await
            .redirects_to("/admin/members/claims?done=approved");
        assert_eq!(access_of(w, user).await.dependent_ids, [home.one]);
        assert_eq!(guardians(w, home.one).await.len(), 2);
    }

    async fn a_confirmed_address_is_matched_if_an_admin_approves(w: &World) {
        let home = family(w).await;
        let join_link = team_link(w, &home.hawks).await;
        submit_claim(w, &join_link, MOTHER, ("guardian", home.one)).await;
        let user = find_user(w, MOTHER).await.unwrap().id;
        confirm_email(w, user).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let page = admin.get("/admin/members/claims").await;
        assert!(!page.text.contains("Email address not confirmed"));
        let id = claim_in(&page);
        // A coach could have entered any address for the mother.
        let mut coach = w.browser(home.hawks.coach.id).await;
        let seen = coach.get("/account/claims").await.shows("Only an admin of the club can");
        assert!(!seen.text.contains("/approve"));
        assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403);
        admin.post(&format!("/admin/members/claims/{id}/approve"), &[]).await
            .redirects_to("/admin/members/claims?done=approved");
        let roster_access = access_of(w, user).await;
        assert_eq!(roster_access.own_person_ids, [home.mother]);
        assert_eq!(roster_access.dependent_ids.len(), 2);
    }

    async fn a_coach_cannot_approve_access_to_another_team(w: &World) {
        let home = family(w).await;
        // A player of the Hawks who coaches the Owls, a child on both teams, and a player with a child on the Owls.
        let (hawks, owls) = (home.hawks.id.to_string(), home.owls.id.to_string());
        let on_both_teams = async |name: &str, birth_date: &str, other_role: &str| {
            let player = json!({ "first_name": name, "last_name": "Both", "birth_date": birth_date });
            let person = add_to_roster(w, &hawks, player).await;
            add_to_roster(w, &owls, json!({ "person_id": person, "role": other_role })).await;
            person
        };
        let (leader, child) = (on_both_teams("Lea", "1990-01-01", "coach").await, on_both_teams("Chi", "2012-01-01", "player").await);
        let parent = json!({ "first_name": "Pa", "last_name": "Rent", "birth_date": "1990-01-01" });
        let parent = add_to_roster(w, &hawks, parent).await;
        let ward = json!({ "first_name": "Ward", "last_name": "Rent", "guardians": [{ "id": parent }] });
        add_to_roster(w, &owls, ward).await;
        let join_link = team_link(w, &home.hawks).await;
        let mut coach = w.browser(home.hawks.coach.id).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let claims = [("self", leader), ("self", child), ("guardian", child), ("self", parent)];
        for (position, claim) in claims.into_iter().enumerate() {
            let email = format!("sock{position}@example.org");
            submit_claim(w, &join_link, &email, claim).await;
            let page = coach.get("/account/claims").await.shows("Only an admin of the club can");
            assert!(!page.text.contains("/approve"), "{claim:?}");
            let id = claim_in(&admin.get("/admin/members/claims").await);
            for decision in ["approve", "refuse"] {
                let tried = coach.post(&format!("/account/claims/{id}/{decision}"), &[]).await;
                assert_eq!(tried.status, 403, "{claim:?}");
                tried.shows("Only an admin of the club can");
            }
            let done = admin.post(&format!("/admin/members/claims/{id}/refuse"), &[]).await;
            done.redirects_to("/admin/members/claims?done=refused");
        }
        // A coach of both teams can decide.
        submit_claim(w, &join_link, "real@example.org", ("guardian", child)).await;
        let id = claim_in(&admin.get("/admin/members/claims").await);
        let head = json!({ "first_name": "Head", "last_name": "Coach", "role": "coach" });
        let head = add_to_roster(w, &hawks, head).await;
        add_to_roster(w, &owls, json!({ "person_id": head, "role": "coach" })).await;
        let user = w.user(Role::Member, "head@example.org").await.id;
        link_user(w, head, user).await;
        let mut head = w.browser(user).await;
        head.post(&format!("/account/claims/{id}/approve"), &[]).await.redirects_to("/account/claims?done=approved");
    }

    async fn a_coach_cannot_approve_coaches_or_guardians_of_adults(w: &World) {
        let (hawks, owls) = (team(w, "Hawks").await, team(w, "Owls").await);
        let own = access_of(w, hawks.coach.id).await.own_person_ids[0];
        add_to_roster(w, &owls.id.to_string(), json!({ "person_id": own, "role": "coach" })).await;
        let cora = client_with_all_scopes(w, hawks.coach.id).await;
        let add = async |team: &crate::joining::Team, body: testkit::Value| {
            let created = cora.post(&format!("/teams/{}/roster", team.id), body).await.created();
            created.data()["person_id"].as_str().unwrap().parse::<PersonId>().unwrap()
        };
        // A friend who is a coach and a parent; a player of the Hawks who is the manager of the Owls.
        let friend = add(&hawks, json!({ "first_name": "Fay", "role": "coach", "email": "fay@example.org" })).await;
        let child = add(&hawks, json!({ "first_name": "Finn", "guardians": [{ "id": friend }] })).await;
        let player = add(&hawks, json!({ "first_name": "Sam", "birth_date": "2000-01-01" })).await;
        add(&owls, json!({ "person_id": player, "role": "manager" })).await;
        let adult = add(&hawks, json!({ "first_name": "Gro", "birth_date": "1990-01-01" })).await;
        let with_account = add(&hawks, json!({ "first_name": "Sia", "birth_date": "2012-01-01" })).await;
        link_user(w, with_account, w.user(Role::Member, "sia@example.org").await.id).await;
        let join_link = team_link(w, &hawks).await;
        let mut coach = w.browser(hawks.coach.id).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let claims = [("fay@example.org", ("guardian", child)), ("sam@example.org", ("self", player)),
            ("eve@example.org", ("guardian", adult)), ("eva@example.org", ("guardian", with_account))];
        for (email, claim) in claims {
            submit_claim(w, &join_link, email, claim).await;
            confirm_email(w, find_user(w, email).await.unwrap().id).await;
            let page = coach.get("/account/claims").await.shows("Only an admin of the club can");
            assert!(!page.text.contains("/approve"), "{claim:?}");
            let id = claim_in(&admin.get("/admin/members/claims").await);
            assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403, "{claim:?}");
            let done = admin.post(&format!("/admin/members/claims/{id}/refuse"), &[]).await;
            done.redirects_to("/admin/members/claims?done=refused");
        }
        // A mother who is already listed as the guardian can be approved by a coach.
        let mother = json!([{ "first_name": "Moa", "email": "moa@example.org" }]);
        let old = json!({ "first_name": "Old", "birth_date": "1990-01-01", "guardians": mother });
        let old = add_to_roster(w, &hawks.id.to_string(), old).await;
        submit_claim(w, &join_link, "moa@example.org", ("guardian", old)).await;
        confirm_email(w, find_user(w, "moa@example.org").await.unwrap().id).await;
        let id = claim_in(&coach.get("/account/claims").await);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.redirects_to("/account/claims?done=approved");
    }

    async fn removed_and_demoted_admins_cannot_use_invitations_they_created(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner_browser = w.browser(owner.id).await;
        for (email, action) in [("gone@example.org", "remove"), ("less@example.org", "role")] {
            let former = w.user(Role::Admin, email).await;
            let mut browser = w.browser(former.id).await;
            let second_email = format!("again-{email}");
            let join_link = invite(&mut browser, &[("email", &second_email), ("role", "admin")]).await;
            let other_link = invite(&mut owner_browser, &[("email", &format!("kept-{email}")), ("role", "member")]).await;
            assert_eq!(w.anonymous_browser().get(&join_link).await.status, 200);
            let page = format!("/admin/members/{}", former.id);
            owner_browser.get(&format!("{page}/remove")).await.shows("Open invitations and team links that they created");
            let done = owner_browser.post(&format!("{page}/{action}"), &[("role", "member")]).await;
            assert_eq!(done.status, 303, "{}", done.text);
            assert_eq!(w.anonymous_browser().get(&join_link).await.status, 410, "{action}");
            assert_eq!(w.anonymous_browser().get(&other_link).await.status, 200, "{action}");
        }
    }

    async fn an_invitation_is_limited_by_the_current_role_of_its_creator(w: &World) {
        let former = w.user(Role::Admin, "former@example.org").await;
        let mut browser = w.browser(former.id).await;
        let join_link = invite(&mut browser, &[("email", "again@example.org"), ("role", "admin")]).await;
        // The role is changed directly, which does not revoke the invitation.
        let (id, member) = (former.id, Role::Member);
        let demote = move |tx: &store::Tx<'_>| user::set_role(tx, id, member);
        w.db().write(Scope::account(w.harbour, "cli"), demote).await.unwrap();
        let tried = browser.post(&format!("{join_link}/accept"), &[]).await;
        assert_eq!(tried.status, 410);
        assert_eq!(role(w, former.id).await, Some(Role::Member));
        // A team link stops working when its creator no longer manages the team.
        let hawks = team(w, "Hawks").await;
        let join_link = team_link(w, &hawks).await;
        let mut ana = sign_up(w, &join_link, "ana@example.org", &[("as", "guardian")]).await;
        let coach = hawks.coach.id;
        let unlink = move |tx: &store::Tx<'_>| {
            let text = "update person set user_id = null where account_id = :account and user_id = :coach";
            Ok::<_, Error>(tx.execute(text, bind! { coach })?)
        };
        w.db().write(Scope::account(w.harbour, "test"), unlink).await.unwrap();
        assert_eq!(ana.get(&format!("{join_link}?as=guardian")).await.status, 410);
        let fields = [("as", "guardian"), ("person", &hawks.player.to_string())];
        assert_eq!(ana.post(&format!("{join_link}/claim"), &fields).await.status, 410);
        // Invitations from the command line stay valid.
        let inviter = w.user(Role::Owner, "owner@example.org").await.id;
        let new = NewInvitation { email: "cli@example.org".to_owned(), role: Role::Admin, relation_to: None };
        let created = w.db().write(Scope::account(w.harbour, "cli"), move |tx| invitation::invite(tx, inviter, new));
        let (_, token) = created.await.unwrap();
        let join_link = format!("/join/{}", token.reveal());
        let mut cli = sign_up(w, &join_link, "cli@example.org", &[]).await;
        confirm_email(w, find_user(w, "cli@example.org").await.unwrap().id).await;
        cli.post(&format!("{join_link}/accept"), &[]).await.redirects_to("/admin?done=joined");
    }

    async fn signing_up_does_not_reveal_who_has_an_account(w: &World) {
        let hawks = team(w, "Hawks").await;
        let join_link = team_link(w, &hawks).await;
        let known = w.user(Role::Member, "known@example.org").await;
        let mut answers = Vec::new();
        for email in ["known@example.org", "unknown@example.org"] {
            let mut guest = w.anonymous_browser();
            guest.get(&format!("{join_link}?as=guardian")).await;
            let cookie = guest.cookie.clone();
            let fields = [("name", "Eve"), ("email", email), ("password", "seven purple kettles"), ("as", "guardian")];
            let created = guest.post(&format!("{join_link}/account"), &fields).await;
            assert_eq!(guest.cookie, cookie, "nobody is signed in by it");
            let next = created.local_redirect().unwrap_or_default().to_owned();
            let after = guest.get(&next).await;
            let csrf = guest.csrf.clone().unwrap();
            let (status, path, text) = visible_parts(&after);
            answers.push((visible_parts(&created), (status, path, text.replace(&csrf, ""))));
        }
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0].0.0, 303);
        let after = find_user(w, "known@example.org").await.unwrap();
        assert_eq!((after.name, after.password_hash), (known.name, known.password_hash));
        assert!(find_user(w, "unknown@example.org").await.is_some());
    }
}
