//! Stories about people who want to be more than they are by way of joining: by somebody else's address, by
//! a friend who coaches, by an invitation from better days, by asking who has an account.

use store::{Scope, bind};
use testkit::people::PASSWORD;
use testkit::{Answer, Browser, World, both, json};
use touchline::accounts::user::{self, Role};
use touchline::error::Error;
use touchline::ids::{PersonId, UserId};
use touchline::joining::invitation::{self, NewInvitation};
use touchline::roster::standing::Standing;
use touchline::roster::{guardian, standing};

use crate::joining::{
    claim_in, find_user, link, link_in, on_roster, role, sign_in_after, sign_up, team, team_link,
};
use crate::standing::acting;

const MOTHER: &str = "rita@example.org";

/// Two siblings on two teams, and the mother both have.
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
    let one = on_roster(w, &hawks.id.to_string(), child("Kidone")).await;
    let two = on_roster(w, &owls.id.to_string(), child("Kidtwo")).await;
    let known = guardians(w, one).await;
    assert_eq!(known, guardians(w, two).await, "siblings share their mother");
    Family { hawks, owls, one, two, mother: known[0] }
}

async fn guardians(w: &World, child: PersonId) -> Vec<PersonId> {
    let look = move |db: &store::Reader<'_>| guardian::of(db, &[child]);
    let links = w.db().read(Scope::account(w.harbour, "test"), look).await.unwrap();
    links.into_iter().map(|link| link.guardian.id).collect()
}

async fn stands(w: &World, user: UserId) -> Standing {
    let look = move |db: &store::Reader<'_>| standing::of(db, user);
    w.db().read(Scope::account(w.harbour, "test"), look).await.unwrap()
}

async fn confirm(w: &World, user: UserId) {
    let work = move |tx: &store::Tx<'_>| user::verify_email(tx, user);
    w.db().write(Scope::system("test"), work).await.unwrap();
}

/// Asks by a team's link to be let in, as somebody new with this address.
async fn ask(w: &World, link: &str, email: &str, (relation, person): (&str, PersonId)) -> Browser {
    let mut browser = sign_up(w, link, email, &[("as", relation)]).await;
    let person = person.to_string();
    let fields = [("as", relation), ("person", person.as_str())];
    browser.post(&format!("{link}/claim"), &fields).await.leads_to("/account/claims?done=asked");
    browser
}

async fn invite(admin: &mut Browser, fields: &[(&str, &str)]) -> String {
    link_in(&admin.post("/admin/members/invite", fields).await)
}

/// What a page says, without what differs each time.
fn told(answer: &Answer) -> (u16, Option<String>, String) {
    let text = answer.text.split("Request <code>").next().unwrap().to_owned();
    (answer.status, answer.next().map(str::to_owned), text)
}

both! {
    async fn an_address_that_nobody_confirmed_is_nobody(w: &World) {
        let home = family(w).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let child = home.one.to_string();
        // An invitation for a minor's guardian is for its address alone.
        let fields = [("email", "eve@example.org"), ("role", "member"), ("relation", "guardian"), ("person", &child)];
        let other = invite(&mut admin, &fields).await;
        let stranger = w.user(Role::Member, "stranger@example.org").await;
        let mut stranger = w.browser(stranger.id).await;
        assert_eq!(stranger.post(&format!("{other}/accept"), &[]).await.status, 422);
        assert_eq!(guardians(w, home.one).await, [home.mother]);
        let fields = [("email", MOTHER), ("role", "member"), ("relation", "guardian"), ("person", &child)];
        let way = invite(&mut admin, &fields).await;
        let mut eve = w.newcomer();
        eve.get(&way).await;
        let account = [("name", "Rita Reis"), ("email", MOTHER), ("password", PASSWORD)];
        let made = eve.post(&format!("{way}/account"), &account).await;
        sign_in_after(&mut eve, made, MOTHER).await;
        eve.post(&format!("{way}/accept"), &[]).await.leads_to("/account?done=joined");
        let user = find_user(w, MOTHER).await.unwrap();
        let standing = stands(w, user.id).await;
        assert_eq!((&standing.wards, &standing.sees), (&vec![home.one], &vec![home.hawks.id]));
        assert!(!standing.own.contains(&home.mother));
        // Nor does a sibling who comes later get them for a mother.
        let later = json!({ "first_name": "Kidthree", "last_name": "Reis",
            "guardians": [{ "first_name": "Rita", "last_name": "Reis", "email": MOTHER }] });
        let later = on_roster(w, &home.owls.id.to_string(), later).await;
        assert_eq!(guardians(w, later).await, [home.mother]);
        assert_eq!(guardians(w, home.two).await, [home.mother]);
    }

    async fn an_invitation_of_a_coach_is_for_its_address_alone(w: &World) {
        let hawks = team(w, "Hawks").await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let body = json!({ "first_name": "Fay", "role": "coach", "email": "fay@example.org" });
        let fay = on_roster(w, &hawks.id.to_string(), body).await.to_string();
        let body = json!({ "first_name": "Sven", "role": "staff", "email": "sven@example.org" });
        let sven = on_roster(w, &hawks.id.to_string(), body).await.to_string();
        let confirmed = async |person: &str| {
            let shown = w.owner.get(&format!("/people/{person}")).await.ok();
            (shown.data()["adult_confirmed_at"].is_string(), shown.data()["user_id"].is_string())
        };
        assert_eq!((confirmed(&fay).await, confirmed(&sven).await), ((true, false), (true, false)));
        let fields = [("email", "fay@example.org"), ("role", "member"), ("relation", "self"), ("person", fay.as_str())];
        let way = invite(&mut admin, &fields).await;
        let stranger = w.user(Role::Member, "stranger@example.org").await;
        let mut stranger = w.browser(stranger.id).await;
        assert_eq!(stranger.post(&format!("{way}/accept"), &[]).await.status, 422);
        assert_eq!(confirmed(&fay).await, (true, false));
        // Somebody who leads nothing may be a stranger, but then counts as no adult whom the club knows.
        let fields = [("email", "sven@example.org"), ("role", "member"), ("relation", "self"), ("person", sven.as_str())];
        let way = invite(&mut admin, &fields).await;
        stranger.post(&format!("{way}/accept"), &[]).await.leads_to("/account?done=joined");
        assert_eq!(confirmed(&sven).await, (false, true));
    }

    async fn nor_by_the_link_of_a_team_until_it_is_confirmed(w: &World) {
        let home = family(w).await;
        let way = team_link(w, &home.hawks).await;
        ask(w, &way, MOTHER, ("guardian", home.one)).await;
        let user = find_user(w, MOTHER).await.unwrap().id;
        let mut coach = w.browser(home.hawks.coach.id).await;
        let page = coach.get("/account/claims").await.shows("Address not confirmed");
        assert!(!page.text.contains("/approve"), "the child has a guardian already");
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let id = claim_in(&admin.get("/admin/members/claims").await);
        admin.post(&format!("/admin/members/claims/{id}/approve"), &[]).await
            .leads_to("/admin/members/claims?done=approved");
        assert_eq!(stands(w, user).await.wards, [home.one]);
        assert_eq!(guardians(w, home.one).await.len(), 2);
    }

    async fn whoever_confirmed_the_address_is_the_mother_if_an_admin_agrees(w: &World) {
        let home = family(w).await;
        let way = team_link(w, &home.hawks).await;
        ask(w, &way, MOTHER, ("guardian", home.one)).await;
        let user = find_user(w, MOTHER).await.unwrap().id;
        confirm(w, user).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let page = admin.get("/admin/members/claims").await;
        assert!(!page.text.contains("Address not confirmed"));
        let id = claim_in(&page);
        // A coach could have written any address on the mother's card.
        let mut coach = w.browser(home.hawks.coach.id).await;
        let seen = coach.get("/account/claims").await.shows("An admin of the club decides this");
        assert!(!seen.text.contains("/approve"));
        assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403);
        admin.post(&format!("/admin/members/claims/{id}/approve"), &[]).await
            .leads_to("/admin/members/claims?done=approved");
        let standing = stands(w, user).await;
        assert_eq!(standing.own, [home.mother]);
        assert_eq!(standing.wards.len(), 2);
    }

    async fn a_coach_lets_nobody_see_another_team(w: &World) {
        let home = family(w).await;
        // A player of the Hawks who coaches the Owls, a child on both teams, a player who is a parent there.
        let (hawks, owls) = (home.hawks.id.to_string(), home.owls.id.to_string());
        let both = async |name: &str, born: &str, place: &str| {
            let player = json!({ "first_name": name, "last_name": "Both", "birth_date": born });
            let person = on_roster(w, &hawks, player).await;
            on_roster(w, &owls, json!({ "person_id": person, "role": place })).await;
            person
        };
        let (leader, child) = (both("Lea", "1990-01-01", "coach").await, both("Chi", "2012-01-01", "player").await);
        let parent = json!({ "first_name": "Pa", "last_name": "Rent", "birth_date": "1990-01-01" });
        let parent = on_roster(w, &hawks, parent).await;
        let ward = json!({ "first_name": "Ward", "last_name": "Rent", "guardians": [{ "id": parent }] });
        on_roster(w, &owls, ward).await;
        let way = team_link(w, &home.hawks).await;
        let mut coach = w.browser(home.hawks.coach.id).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let wishes = [("self", leader), ("self", child), ("guardian", child), ("self", parent)];
        for (position, wish) in wishes.into_iter().enumerate() {
            let email = format!("sock{position}@example.org");
            ask(w, &way, &email, wish).await;
            let page = coach.get("/account/claims").await.shows("An admin of the club decides this");
            assert!(!page.text.contains("/approve"), "{wish:?}");
            let id = claim_in(&admin.get("/admin/members/claims").await);
            for verb in ["approve", "refuse"] {
                let tried = coach.post(&format!("/account/claims/{id}/{verb}"), &[]).await;
                assert_eq!(tried.status, 403, "{wish:?}");
                tried.shows("An admin of the club decides this");
            }
            let done = admin.post(&format!("/admin/members/claims/{id}/refuse"), &[]).await;
            done.leads_to("/admin/members/claims?done=refused");
        }
        // Whoever leads both teams decides.
        ask(w, &way, "real@example.org", ("guardian", child)).await;
        let id = claim_in(&admin.get("/admin/members/claims").await);
        let head = json!({ "first_name": "Head", "last_name": "Coach", "role": "coach" });
        let head = on_roster(w, &hawks, head).await;
        on_roster(w, &owls, json!({ "person_id": head, "role": "coach" })).await;
        let user = w.user(Role::Member, "head@example.org").await.id;
        link(w, head, user).await;
        let mut head = w.browser(user).await;
        head.post(&format!("/account/claims/{id}/approve"), &[]).await.leads_to("/account/claims?done=approved");
    }

    async fn a_coach_lets_nobody_in_as_a_coach_or_as_the_guardian_of_an_adult(w: &World) {
        let (hawks, owls) = (team(w, "Hawks").await, team(w, "Owls").await);
        let own = stands(w, hawks.coach.id).await.own[0];
        on_roster(w, &owls.id.to_string(), json!({ "person_id": own, "role": "coach" })).await;
        let cora = acting(w, hawks.coach.id).await;
        let add = async |team: &crate::joining::Team, body: testkit::Value| {
            let made = cora.post(&format!("/teams/{}/roster", team.id), body).await.created();
            made.data()["person_id"].as_str().unwrap().parse::<PersonId>().unwrap()
        };
        // A card for a friend who coaches, and is a parent too; a player here who is the manager there.
        let friend = add(&hawks, json!({ "first_name": "Fay", "role": "coach", "email": "fay@example.org" })).await;
        let child = add(&hawks, json!({ "first_name": "Finn", "guardians": [{ "id": friend }] })).await;
        let player = add(&hawks, json!({ "first_name": "Sam", "birth_date": "2000-01-01" })).await;
        add(&owls, json!({ "person_id": player, "role": "manager" })).await;
        let grown = add(&hawks, json!({ "first_name": "Gro", "birth_date": "1990-01-01" })).await;
        let signed = add(&hawks, json!({ "first_name": "Sia", "birth_date": "2012-01-01" })).await;
        link(w, signed, w.user(Role::Member, "sia@example.org").await.id).await;
        let way = team_link(w, &hawks).await;
        let mut coach = w.browser(hawks.coach.id).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let wishes = [("fay@example.org", ("guardian", child)), ("sam@example.org", ("self", player)),
            ("eve@example.org", ("guardian", grown)), ("eva@example.org", ("guardian", signed))];
        for (email, wish) in wishes {
            ask(w, &way, email, wish).await;
            confirm(w, find_user(w, email).await.unwrap().id).await;
            let page = coach.get("/account/claims").await.shows("An admin of the club decides this");
            assert!(!page.text.contains("/approve"), "{wish:?}");
            let id = claim_in(&admin.get("/admin/members/claims").await);
            assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403, "{wish:?}");
            let done = admin.post(&format!("/admin/members/claims/{id}/refuse"), &[]).await;
            done.leads_to("/admin/members/claims?done=refused");
        }
        // Whose mother stands on the roster already is not made anybody's ward.
        let mother = json!([{ "first_name": "Moa", "email": "moa@example.org" }]);
        let old = json!({ "first_name": "Old", "birth_date": "1990-01-01", "guardians": mother });
        let old = on_roster(w, &hawks.id.to_string(), old).await;
        ask(w, &way, "moa@example.org", ("guardian", old)).await;
        confirm(w, find_user(w, "moa@example.org").await.unwrap().id).await;
        let id = claim_in(&coach.get("/account/claims").await);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.leads_to("/account/claims?done=approved");
    }

    async fn nobody_comes_back_by_an_invitation_they_made(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut boss = w.browser(owner.id).await;
        for (email, verb) in [("gone@example.org", "remove"), ("less@example.org", "role")] {
            let former = w.user(Role::Admin, email).await;
            let mut browser = w.browser(former.id).await;
            let own = format!("again-{email}");
            let way = invite(&mut browser, &[("email", &own), ("role", "admin")]).await;
            let kept = invite(&mut boss, &[("email", &format!("kept-{email}")), ("role", "member")]).await;
            assert_eq!(w.newcomer().get(&way).await.status, 200);
            let page = format!("/admin/members/{}", former.id);
            boss.get(&format!("{page}/remove")).await.shows("Open invitations and team links that they made");
            let done = boss.post(&format!("{page}/{verb}"), &[("role", "member")]).await;
            assert_eq!(done.status, 303, "{}", done.text);
            assert_eq!(w.newcomer().get(&way).await.status, 410, "{verb}");
            assert_eq!(w.newcomer().get(&kept).await.status, 200, "{verb}");
        }
    }

    async fn an_invitation_is_worth_what_its_maker_may_give_now(w: &World) {
        let former = w.user(Role::Admin, "former@example.org").await;
        let mut browser = w.browser(former.id).await;
        let way = invite(&mut browser, &[("email", "again@example.org"), ("role", "admin")]).await;
        // However they lost it: nothing took their invitations back.
        let (id, member) = (former.id, Role::Member);
        let less = move |tx: &store::Tx<'_>| user::set_role(tx, id, member);
        w.db().write(Scope::account(w.harbour, "cli"), less).await.unwrap();
        let tried = browser.post(&format!("{way}/accept"), &[]).await;
        assert_eq!(tried.status, 410);
        assert_eq!(role(w, former.id).await, Some(Role::Member));
        // The link of a team goes with whoever leads it.
        let hawks = team(w, "Hawks").await;
        let way = team_link(w, &hawks).await;
        let mut ana = sign_up(w, &way, "ana@example.org", &[("as", "guardian")]).await;
        let coach = hawks.coach.id;
        let unlink = move |tx: &store::Tx<'_>| {
            let text = "update person set user_id = null where account_id = :account and user_id = :coach";
            Ok::<_, Error>(tx.run(text, bind! { coach })?)
        };
        w.db().write(Scope::account(w.harbour, "test"), unlink).await.unwrap();
        assert_eq!(ana.get(&format!("{way}?as=guardian")).await.status, 410);
        let fields = [("as", "guardian"), ("person", &hawks.player.to_string())];
        assert_eq!(ana.post(&format!("{way}/claim"), &fields).await.status, 410);
        // What the command line made stays good.
        let by = w.user(Role::Owner, "owner@example.org").await.id;
        let new = NewInvitation { email: "cli@example.org".to_owned(), role: Role::Admin, tie: None };
        let made = w.db().write(Scope::account(w.harbour, "cli"), move |tx| invitation::invite(tx, by, new));
        let (_, token) = made.await.unwrap();
        let way = format!("/join/{}", token.reveal());
        let mut cli = sign_up(w, &way, "cli@example.org", &[]).await;
        confirm(w, find_user(w, "cli@example.org").await.unwrap().id).await;
        cli.post(&format!("{way}/accept"), &[]).await.leads_to("/admin?done=joined");
    }

    async fn making_an_account_does_not_tell_who_has_one(w: &World) {
        let hawks = team(w, "Hawks").await;
        let way = team_link(w, &hawks).await;
        let known = w.user(Role::Member, "known@example.org").await;
        let mut answers = Vec::new();
        for email in ["known@example.org", "unknown@example.org"] {
            let mut guest = w.newcomer();
            guest.get(&format!("{way}?as=guardian")).await;
            let cookie = guest.cookie.clone();
            let fields = [("name", "Eve"), ("email", email), ("password", "seven purple kettles"), ("as", "guardian")];
            let made = guest.post(&format!("{way}/account"), &fields).await;
            assert_eq!(guest.cookie, cookie, "nobody is signed in by it");
            let next = made.next().unwrap_or_default().to_owned();
            let after = guest.get(&next).await;
            let csrf = guest.csrf.clone().unwrap();
            let (status, path, text) = told(&after);
            answers.push((told(&made), (status, path, text.replace(&csrf, ""))));
        }
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0].0.0, 303);
        let after = find_user(w, "known@example.org").await.unwrap();
        assert_eq!((after.name, after.password_hash), (known.name, known.password_hash));
        assert!(find_user(w, "unknown@example.org").await.is_some());
    }
}
