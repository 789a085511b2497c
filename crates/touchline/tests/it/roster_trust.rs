//! Stories about coaches who would reach beyond their teams by way of the roster: by a guardian for a child of
//! two teams, by a "ward" who is none, by somebody else's address, by a friend who becomes a coach.

use testkit::cast::OnRoster;
use testkit::{Answer, Cast, Client, Value, World, both, json};
use touchline::accounts::user::Role;

use crate::events::narrowed;
use crate::roster::faults;
use crate::standing::acting;

const DECIDES: &str = "An admin of the club decides this.";

/// The cast, a child on both teams with its mother, and who coaches the other team.
struct Club {
    cast: Cast,
    bo: OnRoster,
    gina: String,
    otto: OnRoster,
    /// Those who answer for the Hawks only: their coach, and a key.
    few: [Client; 2],
    /// Those who answer for the whole club: an admin, and a key.
    all: [Client; 2],
}

async fn club(w: &World) -> Club {
    let cast = w.cast().await;
    let gina = json!([{ "first_name": "Gina", "last_name": "Both", "email": "gina@example.org" }]);
    let bo = json!({ "first_name": "Bo", "birth_date": "2014-04-04", "guardians": gina });
    let bo = w.joins(&cast.hawks, bo).await;
    w.joins(&cast.otters, json!({ "person_id": bo.person })).await;
    let otto = json!({ "first_name": "Otto", "role": "coach", "email": "otto@example.org" });
    let otto = w.joins(&cast.otters, otto).await;
    let user = w.user(Role::Member, "otto@example.org").await;
    w.link(&otto.person, user.id).await;
    let gina = guardian_of(w, &bo.person).await;
    let key = narrowed(w, &cast.hawks, "roster:read roster:write").await;
    let few = [acting(w, cast.coach.id).await, key];
    let all = [acting(w, cast.admin.id).await, w.owner.clone()];
    Club { cast, bo, gina, otto, few, all }
}

impl Club {
    /// A member of the Hawks.
    fn at(&self, member: &OnRoster) -> String {
        format!("/teams/{}/roster/{}", self.cast.hawks, member.member)
    }

    /// The roster of the Hawks.
    fn roster(&self) -> String {
        format!("/teams/{}/roster", self.cast.hawks)
    }

    /// A newcomer to the Hawks as part of a batch.
    fn batch(&self, mut body: Value) -> Value {
        body["team_id"] = json!(self.cast.hawks);
        json!({ "members": [body] })
    }
}

async fn guardian_of(w: &World, person: &str) -> String {
    let shown = w.owner.get(&format!("/people/{person}")).await.ok();
    shown.data()["guardians"][0]["id"].as_str().unwrap().to_owned()
}

/// Puts somebody new on the Hawks who is not held against those who are there.
fn new(body: Value) -> Value {
    let mut body = body;
    body["allow_duplicate"] = json!(true);
    body
}

#[track_caller]
fn for_admins(answer: Answer, pointer: &str) {
    let answer = answer.refused(403, "forbidden");
    assert_eq!(answer.body["detail"], DECIDES, "{}", answer.text);
    assert_eq!(faults(&answer), [(pointer, "forbidden")], "{}", answer.text);
}

both! {
    async fn a_child_of_two_teams_gets_no_guardian_from_the_coach_of_one(w: &World) {
        let club = club(w).await;
        let pat = acting(w, club.cast.parent.id).await;
        let otters = format!("/teams/{}/roster", club.cast.otters);
        let before = w.news().await;
        for caller in &club.few {
            // Whether they sign in or not, known or new, found by id or by address.
            for other in [json!({ "id": club.cast.pat }), json!({ "first_name": "Pat", "email": "pat@example.org" }),
                json!({ "first_name": "Nia" }), json!({ "first_name": "Nia", "email": "nia@example.org" })] {
                let two = json!({ "guardians": [{ "id": club.gina }, other] });
                for_admins(caller.patch(&club.at(&club.bo), two).await, "/guardians/1");
                let instead = json!({ "guardians": [other] });
                let refused = caller.patch(&club.at(&club.bo), instead).await.refused(403, "forbidden");
                assert_eq!(faults(&refused), [("/guardians/0", "forbidden"), ("/guardians", "protected_minor")]);
            }
        }
        assert_eq!(w.news().await, before);
        pat.get(&otters).await.refused(404, "not_found");
        pat.get(&format!("/people/{}", club.bo.person)).await.refused(404, "not_found");
        // What is there stays, and can be said again.
        for caller in &club.few {
            let mother = json!({ "guardians": [{ "id": club.gina, "relationship": "mother" }] });
            caller.patch(&club.at(&club.bo), mother).await.ok();
            // A child who has a guardian gets no further ones from them; one who has none does.
            let both = json!({ "guardians": [{ "id": club.cast.pat }, { "id": club.gina }, { "first_name": "Nia" }] });
            let refused = caller.patch(&club.at(&club.cast.max), both).await.refused(403, "forbidden");
            assert_eq!(faults(&refused), [("/guardians/1", "protected_minor"), ("/guardians/2", "protected_minor")]);
            let child = new(json!({ "first_name": "Eva", "guardians": [{ "id": club.cast.pat }, { "first_name": "Una" }] }));
            caller.post(&club.roster(), child.clone()).await.created();
            caller.post("/roster/batch", club.batch(child)).await.created();
        }
        // Somebody who is on the other team but not playing is still on it; who has left it is not.
        let place = w.owner.get(&otters).await.ok();
        let there = place.data().as_array().unwrap().iter().find(|m| m["first_name"] == "Bo").unwrap();
        let there = format!("{otters}/{}", there["id"].as_str().unwrap());
        w.owner.patch(&there, json!({ "status": "inactive" })).await.ok();
        let two = json!({ "guardians": [{ "id": club.gina }, { "id": club.cast.pat }] });
        for_admins(club.few[0].patch(&club.at(&club.bo), two.clone()).await, "/guardians/1");
        w.owner.delete(&there).await.ok();
        let refused = club.few[0].patch(&club.at(&club.bo), two).await.refused(403, "forbidden");
        assert_eq!(faults(&refused), [("/guardians/1", "protected_minor")]);
    }

    async fn whoever_leads_every_team_of_a_child_or_the_club_says_who_looks_after_it(w: &World) {
        let club = club(w).await;
        let two = json!({ "guardians": [{ "id": club.gina }, { "id": club.cast.pat }] });
        let one = json!({ "guardians": [{ "id": club.gina }] });
        for caller in &club.all {
            caller.patch(&club.at(&club.bo), two.clone()).await.ok();
            caller.patch(&club.at(&club.bo), one.clone()).await.ok();
        }
        for_admins(club.few[0].patch(&club.at(&club.bo), two.clone()).await, "/guardians/1");
        w.joins(&club.cast.otters, json!({ "person_id": club.cast.kim.person, "role": "coach" })).await;
        // Whoever leads all her teams names her first guardian, but no further one.
        let refused = club.few[0].patch(&club.at(&club.bo), two.clone()).await.refused(403, "forbidden");
        assert_eq!(faults(&refused), [("/guardians/1", "protected_minor")]);
        w.owner.patch(&club.at(&club.bo), json!({ "guardians": [] })).await.ok();
        club.few[0].patch(&club.at(&club.bo), json!({ "guardians": [{ "id": club.cast.pat }] })).await.ok();
        acting(w, club.cast.parent.id).await.get(&format!("/people/{}", club.bo.person)).await.ok();
    }

    async fn nobody_who_looks_after_themselves_becomes_a_ward(w: &World) {
        let club = club(w).await;
        let pat = acting(w, club.cast.parent.id).await;
        // Otto coaches the Otters; as a parent on the Hawks their coach can put him on the team.
        w.joins(&club.cast.hawks, json!({ "first_name": "Ona", "guardians": [{ "id": club.otto.person }] })).await;
        let put = club.few[0].post(&club.roster(), json!({ "person_id": club.otto.person })).await.created();
        let otto = OnRoster { member: put.id().to_owned(), person: club.otto.person.clone() };
        // Each of these is reason enough.
        let mia = guardian_of(w, &club.cast.zoe.person).await;
        let grown = w.joins(&club.cast.hawks, json!({ "first_name": "Gro", "birth_date": "2008-09-05" })).await;
        let helper = w.joins(&club.cast.hawks, json!({ "first_name": "Hal", "role": "staff" })).await;
        let parent = w.joins(&club.cast.hawks, json!({ "person_id": mia })).await;
        let signed = w.joins(&club.cast.hawks, json!({ "first_name": "Sia", "birth_date": "2012-01-01" })).await;
        w.link(&signed.person, club.cast.outsider.id).await;
        let nearly = w.joins(&club.cast.hawks, json!({ "first_name": "Nea", "birth_date": "2008-09-06" })).await;
        let ward = json!({ "guardians": [{ "id": club.cast.pat }] });
        let with = |name: &str, value: Value| {
            let mut body = ward.clone();
            body[name] = value;
            body
        };
        for caller in &club.few {
            for who in [&otto, &grown, &helper, &parent, &signed] {
                for_admins(caller.patch(&club.at(who), ward.clone()).await, "/guardians/0");
            }
            // Nor by what the same change says.
            for_admins(caller.patch(&club.at(&grown), with("birth_date", json!("2014-01-01"))).await, "/guardians/0");
            for_admins(caller.patch(&club.at(&grown), with("birth_date", Value::Null)).await, "/guardians/0");
            let refused = caller.patch(&club.at(&nearly), with("birth_date", json!("1990-01-01"))).await;
            let refused = refused.refused(403, "forbidden");
            assert_eq!(faults(&refused), [("/birth_date", "protected_minor"), ("/guardians/0", "forbidden")]);
            for_admins(caller.patch(&club.at(&helper), with("role", json!("player"))).await, "/guardians/0");
            for_admins(caller.patch(&club.at(&nearly), with("role", json!("coach"))).await, "/guardians/0");
            for body in [with("birth_date", json!("1990-01-01")), with("role", json!("manager"))] {
                let mut body = new(body);
                body["first_name"] = json!("Noa");
                for_admins(caller.post(&club.roster(), body.clone()).await, "/guardians/0");
                for_admins(caller.post("/roster/batch", club.batch(body)).await, "/members/0/guardians/0");
            }
        }
        pat.get(&format!("/people/{}", otto.person)).await.refused(404, "not_found");
        pat.get(&format!("/teams/{}/roster", club.cast.otters)).await.refused(404, "not_found");
        // A child is one until the day; who had a guardian before keeps them.
        club.few[0].patch(&club.at(&nearly), ward.clone()).await.ok();
        w.owner.patch(&club.at(&grown), ward).await.ok();
        let kept = json!({ "guardians": [{ "id": club.cast.pat, "relationship": "father" }] });
        club.few[0].patch(&club.at(&grown), kept).await.ok();
        for caller in &club.all {
            let spouse = new(json!({ "first_name": "Noa", "birth_date": "1990-01-01", "guardians": [{ "first_name": "Ned" }] }));
            caller.post(&club.roster(), spouse).await.created();
        }
    }

    async fn where_letters_go_is_not_changed_by_the_coach_of_one_team(w: &World) {
        let club = club(w).await;
        let person = |id: &str| format!("/people/{id}");
        let said = [("email", "x@example.org"), ("phone", "1"), ("address", "Elsewhere 1")];
        let (gina, pat, lia) = (person(&club.gina), person(&club.cast.pat), person(&club.cast.lia.person));
        let before = w.news().await;
        for caller in &club.few {
            for (member, value) in said {
                let change = json!({ member: value });
                let pointer = format!("/{member}");
                // On another team themselves, guardian of somebody there, or with an account of their own.
                for place in [&person(&club.bo.person), &club.at(&club.bo), &gina, &pat, &lia, &club.at(&club.cast.lia)] {
                    for_admins(caller.patch(place, change.clone()).await, &pointer);
                }
            }
            for_admins(caller.patch(&gina, json!({ "email": null })).await, "/email");
            for (member, value) in &said[..2] {
                let change = json!({ "guardians": [{ "id": club.gina, *member: value }] });
                for_admins(caller.patch(&club.at(&club.bo), change.clone()).await, &format!("/guardians/0/{member}"));
                let child = new(json!({ "first_name": "Eva", "guardians": change["guardians"] }));
                for_admins(caller.post(&club.roster(), child.clone()).await, &format!("/guardians/0/{member}"));
                let pointer = format!("/members/0/guardians/0/{member}");
                for_admins(caller.post("/roster/batch", club.batch(child)).await, &pointer);
            }
            // Nor is it completed for somebody who is found by their address.
            let known = json!([{ "first_name": "Pat", "email": "pat@example.org", "phone": "1" }]);
            let child = new(json!({ "first_name": "Eva", "guardians": known }));
            for_admins(caller.post(&club.roster(), child).await, "/guardians/0/phone");
            let again = json!({ "guardians": known });
            for_admins(caller.patch(&club.at(&club.cast.max), again).await, "/guardians/0/phone");
        }
        assert_eq!(w.news().await, before);
        assert_eq!(w.owner.get(&gina).await.ok().data()["email"], "gina@example.org");
        // Saying what is so is no change, and names are no contact data.
        let mia = person(&guardian_of(w, &club.cast.zoe.person).await);
        for (number, caller) in club.few.iter().enumerate() {
            caller.patch(&gina, json!({ "email": "gina@example.org", "last_name": format!("B{number}") })).await.ok();
            // Whoever is known on the caller's team only, and does not sign in.
            let phone = json!({ "phone": format!("12{number}") });
            caller.patch(&mia, phone.clone()).await.ok();
            caller.patch(&club.at(&club.cast.zoe), phone.clone()).await.ok();
            caller.patch(&club.at(&club.cast.zoe), json!({ "guardians": [{ "first_name": "Mia", "email": "mia@example.org" }] })).await.ok();
        }
        // Themselves.
        club.few[0].patch(&person(&club.cast.kim.person), json!({ "email": "kim2@example.org" })).await.ok();
        club.few[0].patch(&club.at(&club.cast.kim), json!({ "phone": "7" })).await.ok();
        for_admins(club.few[1].patch(&club.at(&club.cast.kim), json!({ "phone": "8" })).await, "/phone");
        for (number, caller) in club.all.iter().enumerate() {
            for place in [&gina, &pat, &lia] {
                caller.patch(place, json!({ "phone": format!("34{number}") })).await.ok();
            }
        }
    }

    async fn a_coach_makes_nobody_a_coach_who_signs_in(w: &World) {
        let club = club(w).await;
        let hawks = club.at(&club.cast.lia);
        let before = w.news().await;
        for caller in &club.few {
            for role in ["coach", "manager"] {
                let parent = json!({ "person_id": club.cast.pat, "role": role });
                for_admins(caller.post(&club.roster(), parent.clone()).await, "/role");
                for_admins(caller.post("/roster/batch", club.batch(parent)).await, "/members/0/role");
                for_admins(caller.patch(&hawks, json!({ "role": role })).await, "/role");
                for_admins(caller.patch(&hawks, json!({ "role": role, "status": "inactive" })).await, "/role");
            }
        }
        assert_eq!(w.news().await, before);
        let pat = acting(w, club.cast.parent.id).await;
        let private = pat.get(&format!("{}?include=private", club.roster())).await.ok();
        assert!(!private.text.contains("nuts"), "{}", private.text);
        // As anything else, and whoever does not sign in.
        for caller in &club.few {
            caller.patch(&hawks, json!({ "role": "staff" })).await.ok();
            caller.patch(&hawks, json!({ "role": "player" })).await.ok();
            caller.post(&club.roster(), new(json!({ "first_name": "Cai", "role": "coach" }))).await.created();
        }
        // Whom an admin has let in stays what they are; who was given a rest is let in again by an admin.
        for caller in &club.all {
            caller.patch(&hawks, json!({ "role": "coach" })).await.ok();
            club.few[0].patch(&hawks, json!({ "jersey_number": "9", "status": "injured" })).await.ok();
            club.few[0].patch(&hawks, json!({ "status": "inactive" })).await.ok();
            for_admins(club.few[0].patch(&hawks, json!({ "status": "active" })).await, "/role");
            caller.patch(&hawks, json!({ "status": "active" })).await.ok();
            club.few[0].patch(&hawks, json!({ "role": "player" })).await.ok();
        }
    }

    async fn one_refusal_of_an_admin_is_told_before_everything_else(w: &World) {
        let club = club(w).await;
        let fine = json!({ "team_id": club.cast.hawks, "first_name": "Fay", "guardians": [{ "id": "per_00000000000000000000000001" }] });
        let coach = json!({ "team_id": club.cast.hawks, "person_id": club.cast.pat, "role": "coach" });
        let people = w.count("person").await;
        for_admins(club.few[0].post("/roster/batch", json!({ "members": [fine, coach] })).await, "/members/1/role");
        assert_eq!(w.count("person").await, people);
    }
}
