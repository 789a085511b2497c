//! Tests of coaches who try to reach beyond their teams through the roster: by adding a guardian
//! for a child of two teams, by claiming an adult as a ward, by changing somebody's email, or by
//! making a friend a coach.

use testkit::club::RosterIds;
use testkit::{Client, TestClub, TestResponse, Value, World, both, json};
use touchline::accounts::user::Role;

use crate::events::team_client;
use crate::roster::field_errors;
use crate::roster_access::client_with_all_scopes;

const ADMIN_ONLY: &str = "Only an admin of the club can do this.";

/// The test club, a child on both teams with its mother, and the coach of the other team.
struct Fixture {
    club: TestClub,
    bo: RosterIds,
    gina: String,
    otto: RosterIds,
    /// Callers for the Hawks only: their coach, and a team key.
    team_callers: [Client; 2],
    /// Callers for the whole club: an admin, and a key.
    account_callers: [Client; 2],
}

async fn fixture(w: &World) -> Fixture {
    let club = w.club().await;
    let gina = json!([{ "first_name": "Gina", "last_name": "Both", "email": "gina@example.org" }]);
    let bo = json!({ "first_name": "Bo", "birth_date": "2014-04-04", "guardians": gina });
    let bo = w.add_member(&club.hawks, bo).await;
    w.add_member(&club.otters, json!({ "person_id": bo.person })).await;
    let otto = json!({ "first_name": "Otto", "role": "coach", "email": "otto@example.org" });
    let otto = w.add_member(&club.otters, otto).await;
    let user = w.user(Role::Member, "otto@example.org").await;
    w.link(&otto.person, user.id).await;
    let gina = guardian_of(w, &bo.person).await;
    let key = team_client(w, &club.hawks, "roster:read roster:write").await;
    let team_callers = [client_with_all_scopes(w, club.coach.id).await, key];
    let account_callers = [client_with_all_scopes(w, club.admin.id).await, w.owner.clone()];
    Fixture { club, bo, gina, otto, team_callers, account_callers }
}

impl Fixture {
    /// The API path of a member of the Hawks.
    fn at(&self, member: &RosterIds) -> String {
        format!("/teams/{}/roster/{}", self.club.hawks, member.member)
    }

    /// The API path of the roster of the Hawks.
    fn roster(&self) -> String {
        format!("/teams/{}/roster", self.club.hawks)
    }

    /// A batch that adds this member to the Hawks.
    fn batch(&self, mut body: Value) -> Value {
        body["team_id"] = json!(self.club.hawks);
        json!({ "members": [body] })
    }
}

async fn guardian_of(w: &World, person: &str) -> String {
    let fetched = w.owner.get(&format!("/people/{person}")).await.ok();
    fetched.data()["guardians"][0]["id"].as_str().unwrap().to_owned()
}

/// A body that skips the duplicate check.
fn new(body: Value) -> Value {
    let mut body = body;
    body["allow_duplicate"] = json!(true);
    body
}

#[track_caller]
fn requires_admin(answer: TestResponse, pointer: &str) {
    let answer = answer.assert_problem(403, "forbidden");
    assert_eq!(answer.body["detail"], ADMIN_ONLY, "{}", answer.text);
    assert_eq!(field_errors(&answer), [(pointer, "forbidden")], "{}", answer.text);
}

both! {
    async fn coach_cannot_add_a_guardian_to_a_child_of_two_teams(w: &World) {
        let club = fixture(w).await;
        let pat = client_with_all_scopes(w, club.club.parent.id).await;
        let otters = format!("/teams/{}/roster", club.club.otters);
        let before = w.notifications().await;
        for caller in &club.team_callers {
            // With or without a login, existing or new, matched by id or by email.
            for other in [json!({ "id": club.club.pat }), json!({ "first_name": "Pat", "email": "pat@example.org" }),
                json!({ "first_name": "Nia" }), json!({ "first_name": "Nia", "email": "nia@example.org" })] {
                let two = json!({ "guardians": [{ "id": club.gina }, other] });
                requires_admin(caller.patch(&club.at(&club.bo), two).await, "/guardians/1");
                let instead = json!({ "guardians": [other] });
                let refused = caller.patch(&club.at(&club.bo), instead).await.assert_problem(403, "forbidden");
                assert_eq!(field_errors(&refused), [("/guardians/0", "forbidden"), ("/guardians", "protected_minor")]);
            }
        }
        assert_eq!(w.notifications().await, before);
        pat.get(&otters).await.assert_problem(404, "not_found");
        pat.get(&format!("/people/{}", club.bo.person)).await.assert_problem(404, "not_found");
        // Existing guardians stay and may be repeated.
        for caller in &club.team_callers {
            let mother = json!({ "guardians": [{ "id": club.gina, "relationship": "mother" }] });
            caller.patch(&club.at(&club.bo), mother).await.ok();
            // They can add guardians only for a child without any.
            let both = json!({ "guardians": [{ "id": club.club.pat }, { "id": club.gina }, { "first_name": "Nia" }] });
            let refused = caller.patch(&club.at(&club.club.max), both).await.assert_problem(403, "forbidden");
            assert_eq!(field_errors(&refused), [("/guardians/1", "protected_minor"), ("/guardians/2", "protected_minor")]);
            let child = new(json!({ "first_name": "Eva", "guardians": [{ "id": club.club.pat }, { "first_name": "Una" }] }));
            caller.post(&club.roster(), child.clone()).await.created();
            caller.post("/roster/batch", club.batch(child)).await.created();
        }
        // An inactive member still belongs to the other team; a removed one does not.
        let roster = w.owner.get(&otters).await.ok();
        let otters_member = roster.data().as_array().unwrap().iter().find(|m| m["first_name"] == "Bo").unwrap();
        let otters_member = format!("{otters}/{}", otters_member["id"].as_str().unwrap());
        w.owner.patch(&otters_member, json!({ "status": "inactive" })).await.ok();
        let two = json!({ "guardians": [{ "id": club.gina }, { "id": club.club.pat }] });
        requires_admin(club.team_callers[0].patch(&club.at(&club.bo), two.clone()).await, "/guardians/1");
        w.owner.delete(&otters_member).await.ok();
        let refused = club.team_callers[0].patch(&club.at(&club.bo), two).await.assert_problem(403, "forbidden");
        assert_eq!(field_errors(&refused), [("/guardians/1", "protected_minor")]);
    }

    async fn admins_or_coaches_of_all_teams_choose_the_first_guardian(w: &World) {
        let club = fixture(w).await;
        let two = json!({ "guardians": [{ "id": club.gina }, { "id": club.club.pat }] });
        let one = json!({ "guardians": [{ "id": club.gina }] });
        for caller in &club.account_callers {
            caller.patch(&club.at(&club.bo), two.clone()).await.ok();
            caller.patch(&club.at(&club.bo), one.clone()).await.ok();
        }
        requires_admin(club.team_callers[0].patch(&club.at(&club.bo), two.clone()).await, "/guardians/1");
        w.add_member(&club.club.otters, json!({ "person_id": club.club.kim.person, "role": "coach" })).await;
        // The coach of all her teams can name the first guardian, but no further one.
        let refused = club.team_callers[0].patch(&club.at(&club.bo), two.clone()).await.assert_problem(403, "forbidden");
        assert_eq!(field_errors(&refused), [("/guardians/1", "protected_minor")]);
        w.owner.patch(&club.at(&club.bo), json!({ "guardians": [] })).await.ok();
        club.team_callers[0].patch(&club.at(&club.bo), json!({ "guardians": [{ "id": club.club.pat }] })).await.ok();
        client_with_all_scopes(w, club.club.parent.id).await.get(&format!("/people/{}", club.bo.person)).await.ok();
    }

    async fn coach_cannot_make_an_adult_a_ward(w: &World) {
        let club = fixture(w).await;
        let pat = client_with_all_scopes(w, club.club.parent.id).await;
        // Otto coaches the Otters; because his child is on the Hawks, their coach can add him to
        // the team.
        w.add_member(&club.club.hawks, json!({ "first_name": "Ona", "guardians": [{ "id": club.otto.person }] })).await;
        let added = club.team_callers[0].post(&club.roster(), json!({ "person_id": club.otto.person })).await.created();
        let otto = RosterIds { member: added.id().to_owned(), person: club.otto.person.clone() };
        // Each of these people must be refused as a ward.
        let mia = guardian_of(w, &club.club.zoe.person).await;
        let adult = w.add_member(&club.club.hawks, json!({ "first_name": "Gro", "birth_date": "2008-09-05" })).await;
        let helper = w.add_member(&club.club.hawks, json!({ "first_name": "Hal", "role": "staff" })).await;
        let parent = w.add_member(&club.club.hawks, json!({ "person_id": mia })).await;
        let with_login = w.add_member(&club.club.hawks, json!({ "first_name": "Sia", "birth_date": "2012-01-01" })).await;
        w.link(&with_login.person, club.club.outsider.id).await;
        let almost_adult = w.add_member(&club.club.hawks, json!({ "first_name": "Nea", "birth_date": "2008-09-06" })).await;
        let ward = json!({ "guardians": [{ "id": club.club.pat }] });
        let ward_with = |name: &str, value: Value| {
            let mut body = ward.clone();
            body[name] = value;
            body
        };
        for caller in &club.team_callers {
            for person in [&otto, &adult, &helper, &parent, &with_login] {
                requires_admin(caller.patch(&club.at(person), ward.clone()).await, "/guardians/0");
            }
            // Nor by other fields of the same change.
            requires_admin(caller.patch(&club.at(&adult), ward_with("birth_date", json!("2014-01-01"))).await, "/guardians/0");
            requires_admin(caller.patch(&club.at(&adult), ward_with("birth_date", Value::Null)).await, "/guardians/0");
            let refused = caller.patch(&club.at(&almost_adult), ward_with("birth_date", json!("1990-01-01"))).await;
            let refused = refused.assert_problem(403, "forbidden");
            assert_eq!(field_errors(&refused), [("/birth_date", "protected_minor"), ("/guardians/0", "forbidden")]);
            requires_admin(caller.patch(&club.at(&helper), ward_with("role", json!("player"))).await, "/guardians/0");
            requires_admin(caller.patch(&club.at(&almost_adult), ward_with("role", json!("coach"))).await, "/guardians/0");
            for body in [ward_with("birth_date", json!("1990-01-01")), ward_with("role", json!("manager"))] {
                let mut body = new(body);
                body["first_name"] = json!("Noa");
                requires_admin(caller.post(&club.roster(), body.clone()).await, "/guardians/0");
                requires_admin(caller.post("/roster/batch", club.batch(body)).await, "/members/0/guardians/0");
            }
        }
        pat.get(&format!("/people/{}", otto.person)).await.assert_problem(404, "not_found");
        pat.get(&format!("/teams/{}/roster", club.club.otters)).await.assert_problem(404, "not_found");
        // A person is a child until the day they come of age; existing guardians stay.
        club.team_callers[0].patch(&club.at(&almost_adult), ward.clone()).await.ok();
        w.owner.patch(&club.at(&adult), ward).await.ok();
        let same_guardian = json!({ "guardians": [{ "id": club.club.pat, "relationship": "father" }] });
        club.team_callers[0].patch(&club.at(&adult), same_guardian).await.ok();
        for caller in &club.account_callers {
            let spouse = new(json!({ "first_name": "Noa", "birth_date": "1990-01-01", "guardians": [{ "first_name": "Ned" }] }));
            caller.post(&club.roster(), spouse).await.created();
        }
    }

    async fn coach_cannot_change_contact_data_beyond_their_team(w: &World) {
        let club = fixture(w).await;
        let person = |id: &str| format!("/people/{id}");
        let contact = [("email", "x@example.org"), ("phone", "1"), ("address", "Elsewhere 1")];
        let (gina, pat, lia) = (person(&club.gina), person(&club.club.pat), person(&club.club.lia.person));
        let before = w.notifications().await;
        for caller in &club.team_callers {
            for (field, value) in contact {
                let change = json!({ field: value });
                let pointer = format!("/{field}");
                // People on another team, guardians of somebody there, or people with a login.
                for path in [&person(&club.bo.person), &club.at(&club.bo), &gina, &pat, &lia, &club.at(&club.club.lia)] {
                    requires_admin(caller.patch(path, change.clone()).await, &pointer);
                }
            }
            requires_admin(caller.patch(&gina, json!({ "email": null })).await, "/email");
            for (field, value) in &contact[..2] {
                let change = json!({ "guardians": [{ "id": club.gina, *field: value }] });
                requires_admin(caller.patch(&club.at(&club.bo), change.clone()).await, &format!("/guardians/0/{field}"));
                let child = new(json!({ "first_name": "Eva", "guardians": change["guardians"] }));
                requires_admin(caller.post(&club.roster(), child.clone()).await, &format!("/guardians/0/{field}"));
                let pointer = format!("/members/0/guardians/0/{field}");
                requires_admin(caller.post("/roster/batch", club.batch(child)).await, &pointer);
            }
            // Nor is it filled in for a person matched by email.
            let known = json!([{ "first_name": "Pat", "email": "pat@example.org", "phone": "1" }]);
            let child = new(json!({ "first_name": "Eva", "guardians": known }));
            requires_admin(caller.post(&club.roster(), child).await, "/guardians/0/phone");
            let again = json!({ "guardians": known });
            requires_admin(caller.patch(&club.at(&club.club.max), again).await, "/guardians/0/phone");
        }
        assert_eq!(w.notifications().await, before);
        assert_eq!(w.owner.get(&gina).await.ok().data()["email"], "gina@example.org");
        // Repeating the current value is no change, and names are no contact data.
        let mia = person(&guardian_of(w, &club.club.zoe.person).await);
        for (number, caller) in club.team_callers.iter().enumerate() {
            caller.patch(&gina, json!({ "email": "gina@example.org", "last_name": format!("B{number}") })).await.ok();
            // People on the caller's team only, without a login.
            let phone = json!({ "phone": format!("12{number}") });
            caller.patch(&mia, phone.clone()).await.ok();
            caller.patch(&club.at(&club.club.zoe), phone.clone()).await.ok();
            caller.patch(&club.at(&club.club.zoe), json!({ "guardians": [{ "first_name": "Mia", "email": "mia@example.org" }] })).await.ok();
        }
        // The coach themselves.
        club.team_callers[0].patch(&person(&club.club.kim.person), json!({ "email": "kim2@example.org" })).await.ok();
        club.team_callers[0].patch(&club.at(&club.club.kim), json!({ "phone": "7" })).await.ok();
        requires_admin(club.team_callers[1].patch(&club.at(&club.club.kim), json!({ "phone": "8" })).await, "/phone");
        for (number, caller) in club.account_callers.iter().enumerate() {
            for path in [&gina, &pat, &lia] {
                caller.patch(path, json!({ "phone": format!("34{number}") })).await.ok();
            }
        }
    }

    async fn coach_cannot_make_a_user_a_coach(w: &World) {
        let club = fixture(w).await;
        let hawks = club.at(&club.club.lia);
        let before = w.notifications().await;
        for caller in &club.team_callers {
            for role in ["coach", "manager"] {
                let parent = json!({ "person_id": club.club.pat, "role": role });
                requires_admin(caller.post(&club.roster(), parent.clone()).await, "/role");
                requires_admin(caller.post("/roster/batch", club.batch(parent)).await, "/members/0/role");
                requires_admin(caller.patch(&hawks, json!({ "role": role })).await, "/role");
                requires_admin(caller.patch(&hawks, json!({ "role": role, "status": "inactive" })).await, "/role");
            }
        }
        assert_eq!(w.notifications().await, before);
        let pat = client_with_all_scopes(w, club.club.parent.id).await;
        let private = pat.get(&format!("{}?include=private", club.roster())).await.ok();
        assert!(!private.text.contains("nuts"), "{}", private.text);
        // Other roles, and people without a login, are allowed.
        for caller in &club.team_callers {
            caller.patch(&hawks, json!({ "role": "staff" })).await.ok();
            caller.patch(&hawks, json!({ "role": "player" })).await.ok();
            caller.post(&club.roster(), new(json!({ "first_name": "Cai", "role": "coach" }))).await.created();
        }
        // A coach appointed by an admin stays one; after being inactive, an admin must activate
        // them again.
        for caller in &club.account_callers {
            caller.patch(&hawks, json!({ "role": "coach" })).await.ok();
            club.team_callers[0].patch(&hawks, json!({ "jersey_number": "9", "status": "injured" })).await.ok();
            club.team_callers[0].patch(&hawks, json!({ "status": "inactive" })).await.ok();
            requires_admin(club.team_callers[0].patch(&hawks, json!({ "status": "active" })).await, "/role");
            caller.patch(&hawks, json!({ "status": "active" })).await.ok();
            club.team_callers[0].patch(&hawks, json!({ "role": "player" })).await.ok();
        }
    }

    async fn reports_a_missing_permission_before_other_errors(w: &World) {
        let club = fixture(w).await;
        let unknown_guardian = json!({ "team_id": club.club.hawks, "first_name": "Fay", "guardians": [{ "id": "per_00000000000000000000000001" }] });
        let coach = json!({ "team_id": club.club.hawks, "person_id": club.club.pat, "role": "coach" });
        let person_count = w.count("person").await;
        requires_admin(club.team_callers[0].post("/roster/batch", json!({ "members": [unknown_guardian, coach] })).await, "/members/1/role");
        assert_eq!(w.count("person").await, person_count);
    }
}
