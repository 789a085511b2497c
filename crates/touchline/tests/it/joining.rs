//! Stories about joining a club: invitations for one person, links for a team, and who says yes.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Answer, Browser, World, both, json, seconds};
use touchline::accounts::user::{self, NewUser, Role, User};
use touchline::error::Code;
use touchline::ids::{PersonId, TeamId, UserId};
use touchline::roster::{guardian, linking, standing};

/// A team with a coach who signs in and a player.
pub(crate) struct Team {
    pub(crate) id: TeamId,
    pub(crate) coach: User,
    pub(crate) player: PersonId,
}

pub(crate) async fn on_roster(w: &World, team: &str, body: testkit::Value) -> PersonId {
    let made = w.owner.post(&format!("/teams/{team}/roster"), body).await.created();
    made.data()["person_id"].as_str().unwrap().parse().unwrap()
}

pub(crate) async fn link(w: &World, person: PersonId, user: UserId) {
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| linking::link(tx, person, user)).await.unwrap();
}

pub(crate) async fn team(w: &World, name: &str) -> Team {
    let made = w.owner.post("/teams", json!({ "name": name })).await.created();
    let id = made.id().to_owned();
    let lead = json!({ "first_name": "Cora", "last_name": "Lead", "role": "coach" });
    let person = on_roster(w, &id, lead).await;
    let coach = w.user(Role::Member, &format!("coach-{}@example.org", name.to_lowercase())).await;
    link(w, person, coach.id).await;
    let player = json!({ "first_name": "Inês", "last_name": "Duarte", "birth_date": "2014-02-27",
        "allow_duplicate": true });
    let player = on_roster(w, &id, player).await;
    Team { id: id.parse().unwrap(), coach, player }
}

/// The path of the link that a page shows.
pub(crate) fn link_in(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let rest = answer.text.split("/join/").nth(1).expect("a link");
    let token: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    format!("/join/{token}")
}

/// Makes a team's link as its coach would.
pub(crate) async fn team_link(w: &World, team: &Team) -> String {
    let mut coach = w.browser(team.coach.id).await;
    link_in(&coach.post("/account/claims/link", &[("team", &team.id.to_string())]).await)
}

/// Makes an account by a link, and signs in with it.
pub(crate) async fn sign_up(w: &World, link: &str, email: &str, more: &[(&str, &str)]) -> Browser {
    let mut browser = w.newcomer();
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

/// Follows the page that comes after making an account: signs in there, unless they are signed in already,
/// and goes on.
pub(crate) async fn sign_in_after(browser: &mut Browser, made: Answer, email: &str) -> Answer {
    assert_eq!(made.status, 303, "{}", made.text);
    let path = made.next().unwrap().to_owned();
    if !path.contains("made=1") {
        browser.get(&path).await.shows("You are signed in as");
        return made;
    }
    let page = browser.get(&path).await.shows("Sign in with the address");
    let next = page.text.split("name=\"next\" value=\"").nth(1).expect("where to go on");
    let next = next.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    let fields = [("email", email), ("password", PASSWORD), ("next", next.as_str())];
    let came = browser.post("/sign-in", &fields).await.leads_to(&next);
    browser.get(&next).await;
    came
}

pub(crate) async fn find_user(w: &World, email: &'static str) -> Option<User> {
    let look = w.db().read(Scope::system("test"), move |db| user::find_by_email(db, email));
    look.await.unwrap()
}

pub(crate) async fn role(w: &World, user: UserId) -> Option<Role> {
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| user::role_of(db, user)).await.unwrap()
}

/// The id of the only claim that waits, as a page shows it.
pub(crate) fn claim_in(answer: &Answer) -> String {
    let rest = answer.text.split("claims/clm_").nth(1).expect("a claim");
    format!("clm_{}", rest.split('/').next().unwrap())
}

both! {
    async fn a_parent_comes_by_the_link_of_a_team_and_a_coach_agrees(w: &World) {
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let mut stranger = w.newcomer();
        let first = stranger.get(&link).await.shows("Harbour").shows("Hawks").shows("Who are you");
        assert!(!first.text.contains("Inês") && !first.text.contains("password"));
        let pick = stranger.get(&format!("{link}?as=guardian")).await.shows("Make an account");
        assert!(!pick.text.contains("Inês"), "names are for those who signed in");

        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        let pick = ana.get(&format!("{link}?as=guardian")).await.shows("Inês D.");
        assert!(!pick.text.contains("Duarte</b>") && !pick.text.contains("2014-") && !pick.text.contains(" 2014"));
        let person = hawks.player.to_string();
        let fields = [("as", "guardian"), ("person", person.as_str()), ("note", "Hi <b>coach</b>")];
        ana.post(&format!("{link}/claim"), &fields).await.leads_to("/account/claims?done=asked");
        ana.post(&format!("{link}/claim"), &fields).await.leads_to("/account/claims?done=asked");
        assert_eq!(w.count("claim").await, 1, "saying it twice is saying it once");
        let user = find_user(w, "ana@example.org").await.unwrap();
        assert_eq!((user.email_verified_at, role(w, user.id).await), (None, None));
        ana.get("/account/claims").await.shows("Waiting");
        assert_eq!(ana.get("/admin").await.status, 403);

        let mut coach = w.browser(hawks.coach.id).await;
        let page = coach.get("/account/claims").await.shows("Inês Duarte").shows("Ana Duarte");
        assert!(page.text.contains("Hi &#60;b&#62;coach"), "{}", page.text);
        let id = claim_in(&page);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.leads_to("/account/claims?done=approved");
        assert_eq!(role(w, user.id).await, Some(Role::Member));
        // Whoever waited with the page open is in the club without signing in again.
        ana.get("/").await.leads_to("/account");
        ana.get("/store").await.ok();
        let (child, team_id, who) = (hawks.player, hawks.id, user.id);
        let scope = Scope::account(w.harbour, "test");
        let look = w.db().read(scope, move |db| {
            Ok::<_, touchline::error::Error>((guardian::of(db, &[child])?, standing::of(db, who)?))
        });
        let (guardians, standing) = look.await.unwrap();
        assert_eq!(guardians.len(), 1);
        assert_eq!(guardians[0].guardian.user_id, Some(user.id));
        assert_eq!(standing.wards, [child]);
        assert_eq!(standing.sees, [team_id]);
        ana.get("/account/claims").await.shows("Approved");
        let again = coach.post(&format!("/account/claims/{id}/refuse"), &[]).await;
        assert_eq!(again.status, 409);
    }

    async fn only_those_who_lead_the_team_or_the_club_decide(w: &World) {
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
        // The admin of another club does not even find it.
        let elsewhere = w.stranger.get("/me").await.ok();
        let elsewhere = elsewhere.data()["account"]["id"].as_str().unwrap().parse().unwrap();
        let admin = w.user_of(elsewhere, Role::Admin, "admin@hilltop.example").await;
        let mut admin = w.browser_at(admin.id, Some(elsewhere)).await;
        for (path, _) in &paths {
            assert_eq!(admin.post(path, &[]).await.status, 404, "{path}");
        }
        assert!(!admin.get("/admin/members/claims").await.words().contains("Ana"));
        // Without what our own page gives along, nobody decides anything.
        let mut forged = coach.clone();
        forged.csrf = Some("forged".to_owned());
        assert_eq!(forged.post(&paths[0].0, &[]).await.status, 403);
        let mut foreign = coach.clone();
        let csrf = foreign.csrf.clone().unwrap();
        let headers = [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")];
        let sent = foreign.send(&paths[0].0, &[("csrf", &csrf)], &headers).await;
        assert_eq!(sent.status, 403);
        assert_eq!(w.count("guardianship").await, 0);
    }

    async fn a_coach_is_let_in_by_an_admin_alone(w: &World) {
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let mut bo = sign_up(w, &link, "bo@example.org", &[("as", "coach")]).await;
        bo.get(&format!("{link}?as=coach")).await.shows("Not on the list");
        bo.post(&format!("{link}/claim"), &[("as", "coach")]).await.leads_to("/account/claims?done=asked");
        let mut coach = w.browser(hawks.coach.id).await;
        let seen = coach.get("/account/claims").await;
        assert!(!seen.text.contains("bo@example.org"));
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let id = claim_in(&admin.get("/admin/members/claims").await.shows("says to be a coach"));
        let tried = coach.post(&format!("/account/claims/{id}/approve"), &[]).await;
        assert_eq!(tried.status, 403);
        let done = admin.post(&format!("/admin/members/claims/{id}/approve"), &[]).await;
        done.leads_to("/admin/members/claims?done=approved");
        let user = find_user(w, "bo@example.org").await.unwrap().id;
        let scope = Scope::account(w.harbour, "test");
        let standing = w.db().read(scope, move |db| standing::of(db, user)).await.unwrap();
        assert_eq!(standing.leads, [hawks.id]);
    }

    async fn a_child_comes_after_a_parent_and_no_player_twice(w: &World) {
        let hawks = team(w, "Hawks").await;
        let teen = json!({ "first_name": "Tom", "last_name": "Reis", "birth_date": "2011-01-05" });
        let teen = on_roster(w, &hawks.id.to_string(), teen).await;
        let link = team_link(w, &hawks).await;
        let mut kid = sign_up(w, &link, "kid@example.org", &[("as", "self")]).await;
        let claim = format!("{link}/claim");
        let player = hawks.player.to_string();
        let own = [("as", "self"), ("person", player.as_str())];
        let told = kid.post(&claim, &own).await;
        assert_eq!(told.status, 422);
        told.shows("Players under 13 join together with a parent");
        // Once a parent has joined, the child can.
        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        ana.post(&claim, &[("as", "guardian"), ("person", &player)]).await.leads_to("/account/claims?done=asked");
        let mut coach = w.browser(hawks.coach.id).await;
        let id = claim_in(&coach.get("/account/claims").await);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.leads_to("/account/claims?done=approved");
        kid.post(&claim, &own).await.leads_to("/account/claims?done=asked");
        let page = coach.get("/account/claims").await.shows("12 years old");
        let id = claim_in(&page);
        coach.post(&format!("/account/claims/{id}/approve"), &[]).await.leads_to("/account/claims?done=approved");
        let mut other = sign_up(w, &link, "other@example.org", &[("as", "self")]).await;
        let list = other.get(&format!("{link}?as=self")).await.shows("Tom R.");
        assert!(!list.text.contains("Inês"), "nobody picks who is somebody's account already");
        let taken = other.post(&claim, &own).await;
        assert_eq!(taken.status, 422, "{}", taken.text);
        other.post(&claim, &[("as", "self"), ("person", &teen.to_string())]).await
            .leads_to("/account/claims?done=asked");
        let note = coach.get("/account/claims").await.shows("15 years old");
        let id = claim_in(&note);
        coach.post(&format!("/account/claims/{id}/refuse"), &[]).await.leads_to("/account/claims?done=refused");
        other.get("/account/claims").await.shows("Refused");
        let user = find_user(w, "other@example.org").await.unwrap();
        assert_eq!(role(w, user.id).await, None);
    }

    async fn nobody_claims_somebody_of_another_team_or_club(w: &World) {
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
        // A team's link gives no role by itself, whatever the form says.
        let tried = ana.post(&format!("{link}/accept"), &[("role", "owner")]).await;
        assert_eq!(tried.status, 410);
        let user = find_user(w, "ana@example.org").await.unwrap();
        assert_eq!(role(w, user.id).await, None);
    }

    async fn links_that_do_not_work_are_all_the_same(w: &World) {
        let hawks = team(w, "Hawks").await;
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        let invite = [("email", "gone@example.org"), ("role", "member")];
        let expired = link_in(&owner.post("/admin/members/invite", &invite).await);
        w.pass(seconds(72 * 3600 + 1));
        let replaced = team_link(w, &hawks).await;
        let fresh = team_link(w, &hawks).await;
        let unknown = format!("{}0000000", &fresh[..fresh.len() - 7]);
        let mut guest = w.newcomer();
        guest.get(&format!("{fresh}?as=guardian")).await.shows("Make an account");
        let mut texts = Vec::new();
        for link in [&expired, &replaced, &unknown, &"/join/x".to_owned()] {
            let answer = guest.get(link).await;
            assert_eq!(answer.status, 410, "{link}");
            let text = answer.text.split("Request <code>").next().unwrap().to_owned();
            texts.push(text);
            for below in ["account", "accept", "claim"] {
                assert_eq!(guest.post(&format!("{link}/{below}"), &[]).await.status, 410);
            }
        }
        assert!(texts.windows(2).all(|pair| pair[0] == pair[1]));
        w.pass(seconds(7 * 86_400 + 1));
        assert_eq!(guest.get(&fresh).await.status, 410);
    }

    async fn an_invitation_lets_one_person_in(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        let invite = [("email", "new@example.org"), ("role", "member")];
        let page = owner.post("/admin/members/invite", &invite).await.shows("It works once");
        let link = link_in(&page);
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for (name, list) in [("one@example.org", &mut one), ("two@example.org", &mut two)] {
            let mut browser = w.newcomer();
            browser.get(&link).await.shows("You are invited to").shows("new@example.org");
            let fields = [("name", "New One"), ("email", name), ("password", PASSWORD)];
            let made = browser.post(&format!("{link}/account"), &fields).await;
            sign_in_after(&mut browser, made, name).await.leads_to(&link);
            browser.get(&link).await.shows("a member").shows(name).shows("was sent to another address");
            list.push(browser);
        }
        let accept = format!("{link}/accept");
        let (a, b) = tokio::join!(one[0].post(&accept, &[]), two[0].post(&accept, &[]));
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 410]);
        let (won, mut winner) = if a.status == 303 { (a, one.remove(0)) } else { (b, two.remove(0)) };
        won.leads_to("/account?done=joined");
        winner.get("/account?done=joined").await.shows("You belong to the club now");
        assert_eq!(winner.get(&link).await.status, 410);
        // Whoever sent it is told that another address accepted it.
        let told = w.owner.get("/outbox").await.ok();
        assert_eq!(told.data()[0]["to_address"], "owner@example.org");
        assert!(told.data()[0]["text_body"].as_str().unwrap().contains("You invited new@example.org"));
        for email in ["one@example.org", "two@example.org"] {
            let user = find_user(w, email).await.unwrap();
            assert_eq!(user.email_verified_at, None, "another address proves nothing");
        }
    }

    async fn only_the_confirmed_address_that_was_invited_becomes_an_admin(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        for given in ["admin", "owner"] {
            let invited = format!("{given}-to-be@example.org");
            let link = link_in(&owner.post("/admin/members/invite", &[("email", &invited), ("role", given)]).await);
            // A stranger who got hold of the link, with a confirmed address of their own.
            let stranger = w.user(Role::Member, &format!("stranger-{given}@example.org")).await;
            let mut browser = w.browser(stranger.id).await;
            browser.get(&link).await.shows("is for another email address");
            let tried = browser.post(&format!("{link}/accept"), &[]).await;
            assert_eq!(tried.status, 422);
            tried.shows("is for another email address");
            assert_eq!(role(w, stranger.id).await, Some(Role::Member));
            // The same stranger types the address that was invited.
            let mut liar = w.newcomer();
            liar.get(&link).await;
            let fields = [("name", "Liar"), ("email", invited.as_str()), ("password", PASSWORD)];
            liar.post(&format!("{link}/account"), &fields).await.leads_to(&link);
            liar.get(&link).await.shows("confirm your email address before");
            assert_eq!(liar.post(&format!("{link}/accept"), &[]).await.status, 422);
            let user = crate::joining::find_user(w, Box::leak(invited.clone().into_boxed_str())).await.unwrap();
            assert_eq!(role(w, user.id).await, None);
            // Nothing was used up: whoever confirms the address finds the invitation waiting.
            let id = user.id;
            let verify = move |tx: &store::Tx<'_>| user::verify_email(tx, id);
            w.db().write(Scope::system("test"), verify).await.unwrap();
            let page = liar.get("/account/claims").await.shows("You have an invitation");
            let path = page.text.split("action=\"/account/invitations/").nth(1).unwrap().split('"').next().unwrap();
            let joined = liar.post(&format!("/account/invitations/{path}"), &[]).await;
            joined.leads_to("/admin?done=joined");
            liar.get("/admin?done=joined").await.shows("You help to run the club now");
        }
    }

    async fn an_invitation_waits_for_whoever_made_an_account_and_left(w: &World) {
        let owner = w.user(Role::Owner, "owner@example.org").await;
        let mut owner = w.browser(owner.id).await;
        let link = link_in(&owner.post("/admin/members/invite", &[("email", "new@example.org"), ("role", "member")]).await);
        let mut new = w.newcomer();
        new.get(&link).await;
        let fields = [("name", "New One"), ("email", "new@example.org"), ("password", PASSWORD)];
        // They are signed in at once.
        new.post(&format!("{link}/account"), &fields).await.leads_to(&link);
        new.get(&link).await.shows("You are signed in as");
        // They leave, and sign in days later without the link.
        let mut later = w.newcomer();
        later.get("/sign-in").await;
        later.post("/sign-in", &[("email", "new@example.org"), ("password", PASSWORD)]).await;
        later.get("/").await.leads_to("/account/claims");
        let page = later.get("/account/claims").await.shows("You have an invitation").shows("Harbour");
        assert!(!page.text.contains("No open requests"));
        let path = page.text.split("action=\"/account/invitations/").nth(1).unwrap().split('"').next().unwrap().to_owned();
        // Nobody else finds it, nor accepts it by its id.
        let other = w.user(Role::Member, "other@example.org").await;
        let mut other = w.browser(other.id).await;
        assert!(!other.get("/account/claims").await.text.contains("You have an invitation"));
        assert_eq!(other.post(&format!("/account/invitations/{path}"), &[]).await.status, 410);
        later.post(&format!("/account/invitations/{path}"), &[]).await.leads_to("/account?done=joined");
        later.get("/account?done=joined").await.shows("You belong to the club now");
        assert!(!later.get("/account/claims").await.text.contains("You have an invitation"));
        // Whoever came by a team's link is told how to go on.
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let mut ana = sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        ana.get("/account/claims").await.shows("Open the link again");
        ana.post(&format!("{link}/claim"), &[("as", "guardian"), ("person", &hawks.player.to_string())]).await;
        let page = ana.get("/account/claims?done=asked").await.shows("Your request was sent");
        assert!(!page.text.contains("Open the link again"));
    }

    async fn an_invitation_can_say_whom_somebody_looks_after(w: &World) {
        let hawks = team(w, "Hawks").await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let player = hawks.player.to_string();
        let alone = [("email", "x@example.org"), ("role", "member"), ("relation", "self"), ("person", &player)];
        let told = admin.post("/admin/members/invite", &alone).await;
        assert_eq!(told.status, 422);
        told.shows("Players under 13");
        let invite =
            [("email", "Ana@example.org"), ("role", "member"), ("relation", "guardian"), ("person", &player)];
        let link = link_in(&admin.post("/admin/members/invite", &invite).await);
        let mut ana = w.newcomer();
        ana.get(&link).await;
        let fields = [("name", "Ana"), ("email", "ana@example.org"), ("password", PASSWORD)];
        let made = ana.post(&format!("{link}/account"), &fields).await;
        sign_in_after(&mut ana, made, "ana@example.org").await.leads_to(&link);
        ana.get(&link).await.shows("a parent of a player");
        ana.post(&format!("{link}/accept"), &[]).await.leads_to("/account?done=joined");
        let user = find_user(w, "ana@example.org").await.unwrap();
        assert_eq!(user.email_verified_at, None, "a link that was copied proves no address");
        let who = user.id;
        let scope = Scope::account(w.harbour, "test");
        let standing = w.db().read(scope, move |db| standing::of(db, who)).await.unwrap();
        assert_eq!(standing.wards, [hawks.player]);
    }

    async fn whoever_took_an_address_first_is_not_given_a_role_by_it(w: &World) {
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
        let made = w.db().write(scope, move |tx| user::create(tx, new)).await;
        assert_eq!(made.unwrap_err().code, Code::InvalidState);
        // And nobody takes an address that somebody has.
        let mut browser = w.newcomer();
        browser.get(&format!("{link}?as=guardian")).await;
        let fields = [("name", "Eve"), ("email", "VICTIM@example.org"), ("password", PASSWORD), ("as", "guardian")];
        browser.post(&format!("{link}/account"), &fields).await
            .leads_to(&format!("{link}?as=guardian&made=1"));
        let kept = find_user(w, "victim@example.org").await.unwrap();
        assert_eq!(kept.name, "Ana Duarte");
        let weak = [("name", "Eve"), ("email", "eve@example.org"), ("password", "password1234")];
        let told = browser.post(&format!("{link}/account"), &weak).await;
        assert_eq!(told.status, 422);
        assert!(!told.text.contains("password1234"));
    }

    async fn tokens_are_in_no_log(w: &World) {
        let hawks = team(w, "Hawks").await;
        let link = team_link(w, &hawks).await;
        let token = link.strip_prefix("/join/").unwrap().to_owned();
        sign_up(w, &link, "ana@example.org", &[("as", "guardian")]).await;
        let found = w.db().read(Scope::system("test"), move |db| {
            let mut found = Vec::new();
            for table in db.tables()? {
                db.rows(&table, |row| {
                    if format!("{row:?}").contains(&token) {
                        found.push(table.name.clone());
                    }
                    Ok(())
                })?;
            }
            Ok::<_, store::Error>(found)
        });
        assert_eq!(found.await.unwrap(), Vec::<String>::new());
    }
}
