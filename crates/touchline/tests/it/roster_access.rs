//! Tests of what users may do over the API: the scopes of the app and the user's roles on rosters.

use testkit::{Client, TestClub, TestResponse, Value, World, both, json};
use touchline::accounts::user::{self, Role};
use touchline::ids::UserId;
use touchline::rights::Scopes;

use crate::roster::audit_entries;

/// A client of an app with every scope, acting for this user.
pub(crate) async fn client_with_all_scopes(w: &World, user: UserId) -> Client {
    w.client_for_user(user, &Scopes::all_named().to_string()).await
}

/// One field of every row of a list.
pub(crate) fn field_values<'a>(list: &'a TestResponse, field: &str) -> Vec<&'a Value> {
    list.data().as_array().unwrap().iter().map(|row| &row[field]).collect()
}

fn roster(team: &str, below: &str) -> String {
    format!("/teams/{team}/roster{below}")
}

/// Creates a practice with a duty; returns its path and the duty's id.
async fn training(w: &World, team: &str) -> (String, String) {
    let body = json!({ "team_id": team, "type": "practice", "starts_at": "2026-09-10T18:00",
        "duties": [{ "name": "Oranges", "slots": 5 }] });
    let event = w.owner.post("/events", body).await.created();
    let duty = event.data()["duties"][0]["id"].as_str().unwrap().to_owned();
    (format!("/events/{}", event.id()), duty)
}

async fn remove_member(w: &World, team: &str, member: &str) {
    w.owner.delete(&roster(team, &format!("/{member}"))).await.ok();
}

both! {
    async fn parent_with_every_scope_cannot_remove_a_player(w: &World) {
        let club = w.club().await;
        let before = w.notifications().await;
        for user in [&club.parent, &club.player, &club.outsider] {
            let app = client_with_all_scopes(w, user.id).await;
            for member in [&club.max, &club.zoe, &club.lia] {
                let path = roster(&club.hawks, &format!("/{}", member.member));
                app.delete(&path).await.assert_problem(403, "forbidden");
                app.patch(&path, json!({ "jersey_number": "1" })).await.assert_problem(403, "forbidden");
            }
            app.post(&roster(&club.hawks, ""), json!({ "first_name": "X" })).await.assert_problem(403, "forbidden");
            app.get("/people").await.assert_problem(403, "forbidden");
        }
        assert_eq!(w.notifications().await, before);
        // The scope is checked first: an app cannot exceed its scopes.
        let app = w.client_for_user(club.owner.id, "roster:read").await;
        app.delete(&roster(&club.hawks, &format!("/{}", club.max.member))).await.assert_problem(403, "insufficient_scope");
        client_with_all_scopes(w, club.coach.id).await.delete(&roster(&club.hawks, &format!("/{}", club.max.member))).await.ok();
    }

    async fn coach_manages_only_their_own_team(w: &World) {
        let club = w.club().await;
        let kim = client_with_all_scopes(w, club.coach.id).await;
        assert_eq!(kim.get("/teams").await.ok().names(), ["Hawks"]);
        kim.get(&format!("/teams/{}", club.otters)).await.assert_problem(404, "not_found");
        kim.patch(&format!("/teams/{}", club.hawks), json!({ "season": "2027" })).await.ok();
        kim.patch(&format!("/teams/{}", club.otters), json!({ "season": "2027" })).await.assert_problem(404, "not_found");
        kim.post("/teams", json!({ "name": "Own" })).await.assert_problem(403, "forbidden");
        kim.delete(&format!("/teams/{}", club.hawks)).await.assert_problem(403, "forbidden");
        let people = kim.get("/people?include=private").await.ok();
        assert!(field_values(&people, "first_name").contains(&&json!("Max")), "{}", people.text);
        assert!(!field_values(&people, "first_name").contains(&&json!("Ole")), "{}", people.text);
        kim.get(&format!("/people/{}", club.ole.person)).await.assert_problem(404, "not_found");
        let batch = json!({ "members": [{ "team_id": club.otters, "first_name": "Eva" }] });
        kim.post("/roster/batch", batch).await.assert_problem(422, "validation_failed");
        let event = json!({ "team_id": club.otters, "type": "game", "starts_at": "2026-09-10T18:00" });
        kim.post("/events", event).await.assert_problem(422, "validation_failed");
        let csv = kim.get("/exports/roster.csv").await.ok();
        assert!(csv.text.contains("Max") && !csv.text.contains("Ole"), "{}", csv.text);
        kim.get(&format!("/exports/roster.csv?team_id={}", club.otters)).await.assert_problem(404, "not_found");
        // A coach of one team is only a parent on another.
        let child = json!({ "first_name": "Kit", "birth_date": "2014-05-05" });
        let kit = w.add_member(&club.otters, child).await;
        let guardians = json!({ "guardians": [{ "id": club.kim.person }] });
        w.owner.patch(&roster(&club.otters, &format!("/{}", kit.member)), guardians).await.ok();
        assert_eq!(kim.get("/teams").await.ok().names(), ["Hawks", "Otters"]);
        kim.patch(&format!("/teams/{}", club.otters), json!({ "season": "2027" })).await.assert_problem(403, "forbidden");
        kim.delete(&roster(&club.otters, &format!("/{}", club.ole.member))).await.assert_problem(403, "forbidden");
        kim.get(&format!("/exports/roster.csv?team_id={}", club.otters)).await.assert_problem(403, "forbidden");
        let event = json!({ "team_id": club.otters, "type": "game", "starts_at": "2026-09-10T18:00" });
        kim.post("/events", event).await.assert_problem(403, "forbidden");
        let listed = kim.get(&roster(&club.otters, "?include=private")).await.ok();
        assert_eq!(field_values(&listed, "medical_note"), [&Value::Null, &Value::Null]);
        assert!(!listed.text.contains("wasps") && listed.text.contains("2014-05-05"), "{}", listed.text);
    }

    async fn coach_cannot_become_a_guardian(w: &World) {
        let club = w.club().await;
        let kim = client_with_all_scopes(w, club.coach.id).await;
        let path = roster(&club.hawks, &format!("/{}", club.zoe.member));
        for guardian in [json!({ "id": club.kim.person }), json!({ "first_name": "Kim", "email": "kim@example.org" })] {
            // Zoe has a guardian already, so an admin or that guardian decides.
            let refused = kim.patch(&path, json!({ "guardians": [guardian] })).await.assert_problem(403, "forbidden");
            assert_eq!(refused.body["errors"][0]["code"], "protected_minor");
        }
        let new = json!({ "first_name": "Eva", "guardians": [{ "id": club.kim.person }] });
        kim.post(&roster(&club.hawks, ""), new).await.assert_problem(422, "validation_failed");
        assert_eq!(kim.get("/me").await.ok().data()["access"]["dependents"], json!([]));
    }

    async fn families_see_private_fields_only_of_their_own_people(w: &World) {
        let club = w.club().await;
        let pat = client_with_all_scopes(w, club.parent.id).await;
        let list = pat.get(&roster(&club.hawks, "?include=private")).await.ok();
        assert_eq!(field_values(&list, "first_name"), ["Max", "Kim", "Lia", "Zoe"]);
        assert!(list.text.contains("bees") && list.text.contains("pat@example.org"), "{}", list.text);
        // In quotes, because four letters may appear in an id by chance.
        for hidden in ["nuts", "asthma", "\"knee\"", "mia@example.org", "kim@example.org", "2014-02-02"] {
            assert!(!list.text.contains(hidden), "{hidden} in {}", list.text);
        }
        let get_member = async |member: &str| pat.get(&roster(&club.hawks, &format!("/{member}"))).await.ok();
        assert_eq!(get_member(&club.max.member).await.data()["medical_note"], "bees");
        assert!(get_member(&club.zoe.member).await.data().get("medical_note").is_none());
        let max = pat.get(&format!("/people/{}", club.max.person)).await.ok();
        assert_eq!(max.data()["guardians"][0]["id"], club.pat.as_str());
        let own_person = pat.get(&format!("/people/{}", club.pat)).await.ok();
        assert_eq!(own_person.data()["dependent_ids"], json!([club.max.person]));
        for other in [&club.zoe.person, &club.kim.person, &club.ole.person] {
            pat.get(&format!("/people/{other}")).await.assert_problem(404, "not_found");
        }
        pat.patch(&format!("/people/{}", club.pat), json!({ "phone": "1" })).await.assert_problem(403, "forbidden");
        pat.get(&format!("/people/{}/export", club.max.person)).await.assert_problem(403, "forbidden");
        // Lia has no children; the coach sees the whole team.
        let lia = client_with_all_scopes(w, club.player.id).await;
        let list = lia.get(&roster(&club.hawks, "?include=private")).await.ok();
        assert!(list.text.contains("asthma") && !list.text.contains("\"bees\""), "{}", list.text);
        let kim = client_with_all_scopes(w, club.coach.id).await;
        let list = kim.get(&roster(&club.hawks, "?include=private")).await.ok();
        assert!(["asthma", "bees", "nuts", "knee"].iter().all(|note| list.text.contains(note)));
        // Each read of a note is audited with the user and the app.
        let log = audit_entries(w).await;
        let reads = log.iter().filter(|entry| entry.action == "roster.medical_read");
        let last = reads.into_iter().next_back().unwrap();
        assert!(last.actor.starts_with(&format!("{} via app_", club.coach.id)), "{}", last.actor);
    }

    async fn families_answer_only_for_their_own_people(w: &World) {
        let club = w.club().await;
        let (event, duty) = training(w, &club.hawks).await;
        let (otters_event, _) = training(w, &club.otters).await;
        let pat = client_with_all_scopes(w, club.parent.id).await;
        let answer = json!({ "answer": "yes", "note": "hungry" });
        let rsvp = |member: &str| format!("{event}/rsvps/{member}");
        let answered = pat.put(&rsvp(&club.max.member), answer.clone()).await.ok();
        assert_eq!(answered.data()["answered_by"], club.parent.id.to_string());
        pat.put(&rsvp(&club.zoe.member), answer.clone()).await.assert_problem(403, "forbidden");
        pat.put(&format!("{otters_event}/rsvps/{}", club.ole.member), answer.clone()).await.assert_problem(404, "not_found");
        // Users cannot answer on behalf of others.
        let forged = json!({ "answer": "no", "on_behalf_of": club.kim.person });
        pat.put(&rsvp(&club.max.member), forged.clone()).await.assert_problem(403, "forbidden");
        client_with_all_scopes(w, club.admin.id).await.put(&rsvp(&club.max.member), forged).await.assert_problem(403, "forbidden");
        let as_self = json!({ "answer": "no", "on_behalf_of": club.pat });
        assert_eq!(pat.put(&rsvp(&club.max.member), as_self).await.ok().data()["answered_by"], club.parent.id.to_string());
        let kim = client_with_all_scopes(w, club.coach.id).await;
        kim.put(&rsvp(&club.zoe.member), json!({ "answer": "no", "note": "fever" })).await.ok();
        // Everybody sees the answers, but not each other's notes.
        let list = pat.get(&format!("{event}/rsvps")).await.ok();
        assert_eq!(field_values(&list, "answer").len(), 2);
        assert!(!list.text.contains("fever"), "{}", list.text);
        assert_eq!(pat.get(&rsvp(&club.zoe.member)).await.ok().data()["note"], Value::Null);
        assert!(kim.get(&format!("{event}/rsvps")).await.ok().text.contains("fever"));
        pat.get(&format!("{event}/unanswered")).await.assert_problem(403, "forbidden");
        pat.get(&format!("{}/history", rsvp(&club.max.member))).await.assert_problem(403, "forbidden");
        kim.get(&format!("{}/history", rsvp(&club.max.member))).await.ok();
        let assignee_path = |person: &str| format!("{event}/duties/{duty}/assignees/{person}");
        pat.send("PUT", &assignee_path(&club.pat), None).await.ok();
        pat.send("PUT", &assignee_path(&club.kim.person), None).await.assert_problem(403, "forbidden");
        kim.send("PUT", &assignee_path(&club.lia.person), None).await.ok();
        pat.delete(&assignee_path(&club.lia.person)).await.assert_problem(403, "forbidden");
        pat.delete(&assignee_path(&club.pat)).await.ok();
    }

    async fn calendars_contain_only_what_the_user_can_see(w: &World) {
        let club = w.club().await;
        let (pat, kim, lia) =
            (client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.coach.id).await, client_with_all_scopes(w, club.player.id).await);
        let own_feed = pat.post("/calendar_feeds", json!({ "team_id": club.hawks })).await.created();
        pat.post("/calendar_feeds", json!({ "person_id": club.max.person })).await.created();
        pat.post("/calendar_feeds", json!({ "person_id": club.zoe.person })).await.assert_problem(403, "forbidden");
        pat.post("/calendar_feeds", json!({ "team_id": club.otters })).await.assert_problem(422, "validation_failed");
        w.owner.post("/calendar_feeds", json!({ "team_id": club.hawks })).await.created();
        assert_eq!(pat.get("/calendar_feeds").await.ok().data().as_array().unwrap().len(), 2);
        // Coaches see the calendars of the team, but not those of people.
        assert_eq!(kim.get("/calendar_feeds").await.ok().data().as_array().unwrap().len(), 2);
        assert_eq!(lia.get("/calendar_feeds").await.ok().data(), &json!([]));
        let path = format!("/calendar_feeds/{}", own_feed.id());
        lia.get(&path).await.assert_problem(404, "not_found");
        lia.delete(&path).await.assert_problem(404, "not_found");
        // A calendar ends when its creator can no longer see the team.
        let url = own_feed.data()["url"].as_str().unwrap();
        let url = url[url.find("/calendar/").unwrap()..].to_owned();
        w.nobody.get(&url).await.ok();
        remove_member(w, &club.hawks, &club.max.member).await;
        assert_eq!(w.nobody.get(&url).await.status, 404);
    }

    async fn roster_changes_take_effect_immediately(w: &World) {
        let club = w.club().await;
        let (kim, pat) = (client_with_all_scopes(w, club.coach.id).await, client_with_all_scopes(w, club.parent.id).await);
        let team_path = format!("/teams/{}", club.hawks);
        kim.get(&team_path).await.ok();
        pat.get(&team_path).await.ok();
        let member = roster(&club.hawks, &format!("/{}", club.kim.member));
        w.owner.patch(&member, json!({ "role": "staff" })).await.ok();
        kim.patch(&team_path, json!({ "season": "1" })).await.assert_problem(403, "forbidden");
        kim.get(&team_path).await.ok();
        w.owner.patch(&member, json!({ "role": "manager" })).await.ok();
        kim.patch(&team_path, json!({ "season": "1" })).await.ok();
        w.owner.patch(&member, json!({ "status": "inactive" })).await.ok();
        kim.patch(&team_path, json!({ "season": "2" })).await.assert_problem(403, "forbidden");
        remove_member(w, &club.hawks, &club.kim.member).await;
        kim.get(&team_path).await.assert_problem(403, "forbidden");
        w.owner.delete(&team_path).await.ok();
        pat.get(&team_path).await.assert_problem(403, "forbidden");
        w.owner.post(&format!("{team_path}/restore"), json!({})).await.ok();
        pat.get(&team_path).await.ok();
        w.owner.patch(&roster(&club.hawks, &format!("/{}", club.max.member)), json!({ "guardians": [] })).await.ok();
        pat.get(&team_path).await.assert_problem(403, "forbidden");
        // The same when the user is linked to another person.
        w.unlink(&club.pat).await;
        w.link(&club.zoe.person, club.parent.id).await;
        pat.get(&team_path).await.ok();
        w.unlink(&club.zoe.person).await;
        pat.get(&team_path).await.assert_problem(403, "forbidden");
        w.link(&club.pat, club.parent.id).await;
        pat.get(&team_path).await.assert_problem(403, "forbidden");
        let guardians = json!({ "guardians": [{ "id": club.pat }] });
        w.owner.patch(&roster(&club.hawks, &format!("/{}", club.zoe.member)), guardians).await.ok();
        pat.get(&team_path).await.ok();
        // The same for the role in the club.
        let uwe = client_with_all_scopes(w, club.outsider.id).await;
        uwe.get(&team_path).await.assert_problem(403, "forbidden");
        set_role(w, club.outsider.id, Role::Admin).await;
        uwe.get(&team_path).await.ok();
        uwe.get("/emails").await.ok();
        set_role(w, club.outsider.id, Role::Member).await;
        uwe.get(&team_path).await.assert_problem(403, "forbidden");
        uwe.get("/emails").await.assert_problem(403, "forbidden");
    }

    async fn me_describes_the_users_access(w: &World) {
        let club = w.club().await;
        let me = client_with_all_scopes(w, club.coach.id).await.get("/me").await.ok();
        let access = json!({ "person_id": club.kim.person, "memberships": [{ "team_id": club.hawks, "member_id": club.kim.member }],
            "dependents": [], "managed_team_ids": [club.hawks], "visible_team_ids": [club.hawks] });
        assert_eq!(me.data()["access"], access);
        let me = client_with_all_scopes(w, club.parent.id).await.get("/me").await.ok();
        let child = json!({ "person_id": club.max.person, "memberships": [{ "team_id": club.hawks, "member_id": club.max.member }] });
        let access = json!({ "person_id": club.pat, "memberships": [], "dependents": [child],
            "managed_team_ids": [], "visible_team_ids": [club.hawks] });
        assert_eq!(me.data()["access"], access);
        assert_eq!(w.owner.get("/me").await.ok().data()["access"], Value::Null);
    }

    async fn cached_responses_are_per_user(w: &World) {
        let club = w.club().await;
        let (kim, pat, lia) =
            (client_with_all_scopes(w, club.coach.id).await, client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.player.id).await);
        let olga = client_with_all_scopes(w, club.owner.id).await;
        let list = roster(&club.hawks, "?include=private&q=zo");
        let one = roster(&club.hawks, &format!("/{}", club.zoe.member));
        for path in [&list, &one] {
            // Twice: the second time from the cache.
            for _ in 0..2 {
                for (client, sees) in [(&kim, true), (&pat, false), (&olga, true), (&lia, false), (&w.owner, true)] {
                    let answer = client.get(path).await.ok();
                    assert_eq!(answer.text.contains("nuts"), sees, "{}", answer.text);
                }
            }
        }
        // An ETag reveals nothing that the user cannot see.
        let etag = kim.get(&one).await.ok().header("etag").unwrap().to_owned();
        let hidden = format!("/teams/{}/roster/{}", club.otters, club.ole.member);
        let otters_etag = w.owner.get(&hidden).await.ok().header("etag").unwrap().to_owned();
        pat.with_header("If-None-Match", &otters_etag).get(&hidden).await.assert_problem(404, "not_found");
        pat.with_header("If-None-Match", "*").get(&hidden).await.assert_problem(404, "not_found");
        assert_eq!(pat.with_header("If-None-Match", &etag).get(&one).await.status, 304);
        pat.with_header("If-Match", &otters_etag).patch(&hidden, json!({})).await.assert_problem(403, "forbidden");
        kim.with_header("If-Match", "\"999\"").patch(&hidden, json!({})).await.assert_problem(404, "not_found");
    }

    async fn cursor_of_another_user_reveals_nothing(w: &World) {
        let club = w.club().await;
        let pat = client_with_all_scopes(w, club.parent.id).await;
        let page = w.owner.get("/teams?limit=1").await.ok();
        let cursor = page.body["next_cursor"].as_str().unwrap();
        let next = pat.get(&format!("/teams?limit=1&cursor={cursor}")).await.ok();
        assert_eq!(next.names(), Vec::<&str>::new());
        let page = w.owner.get(&roster(&club.hawks, "?limit=1&include=private")).await.ok();
        let cursor = page.body["next_cursor"].as_str().unwrap();
        let next = pat.get(&roster(&club.hawks, &format!("?limit=3&include=private&cursor={cursor}"))).await.ok();
        assert!(!next.text.contains("nuts") && !next.text.contains("\"knee\""), "{}", next.text);
        pat.get(&roster(&club.otters, &format!("?cursor={cursor}"))).await.assert_problem(404, "not_found");
    }

    async fn idempotency_keys_are_per_user(w: &World) {
        let club = w.club().await;
        let (kim, olga) = (client_with_all_scopes(w, club.coach.id).await, client_with_all_scopes(w, club.owner.id).await);
        let adam = client_with_all_scopes(w, club.admin.id).await;
        let path = roster(&club.hawks, &format!("/{}", club.zoe.member));
        let change = json!({ "jersey_number": "4" });
        let with_key = |client: &Client| client.with_header("Idempotency-Key", "one");
        let first = with_key(&kim).patch(&path, change.clone()).await.ok();
        assert!(first.text.contains("nuts"));
        let replayed = with_key(&kim).patch(&path, change.clone()).await.ok();
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        for other in [&olga, &adam, &w.owner] {
            with_key(other).patch(&path, change.clone()).await.assert_problem(422, "idempotency_key_reused");
        }
        client_with_all_scopes(w, club.parent.id).await.with_header("Idempotency-Key", "one").patch(&path, change.clone()).await.assert_problem(403, "forbidden");
        // A replay is refused after the permission was lost.
        w.owner.patch(&roster(&club.hawks, &format!("/{}", club.kim.member)), json!({ "role": "player" })).await.ok();
        with_key(&kim).patch(&path, change.clone()).await.assert_problem(403, "forbidden");
        let (event, _) = training(w, &club.hawks).await;
        let rsvp = format!("{event}/rsvps/{}", club.max.member);
        let answer = json!({ "answer": "yes", "note": "late" });
        let with_second_key = |client: &Client| client.with_header("Idempotency-Key", "two");
        with_second_key(&client_with_all_scopes(w, club.parent.id).await).put(&rsvp, answer.clone()).await.ok();
        with_second_key(&olga).put(&rsvp, answer.clone()).await.assert_problem(422, "idempotency_key_reused");
        with_second_key(&kim).put(&rsvp, answer).await.assert_problem(422, "idempotency_key_reused");
    }

    async fn audit_log_names_the_app(w: &World) {
        let club = w.club().await;
        let kim = client_with_all_scopes(w, club.coach.id).await;
        let app = kim.get("/me").await.ok().data()["app_id"].as_str().unwrap().to_owned();
        kim.patch(&format!("/teams/{}", club.hawks), json!({ "season": "9" })).await.ok();
        let last = audit_entries(w).await.into_iter().last().unwrap();
        assert_eq!(last.actor, format!("{} via {app}", club.coach.id));
        assert_eq!(last.action, "team.updated");
        let feed = kim.post("/calendar_feeds", json!({ "team_id": club.hawks })).await.created();
        assert_eq!(feed.data()["created_by"], club.coach.id.to_string());
    }
}

async fn set_role(w: &World, user: UserId, role: Role) {
    let scope = store::Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| user::set_role(tx, user, role)).await.unwrap();
}

/// A client for every user of the test club.
pub(crate) async fn clients_of_cast(w: &World, club: &TestClub) -> Vec<(&'static str, Client)> {
    let mut callers = Vec::new();
    for (name, user) in club.users() {
        callers.push((name, client_with_all_scopes(w, user.id).await));
    }
    callers
}
