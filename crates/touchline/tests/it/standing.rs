//! Stories about what users may do over the API: an app's scopes and the user's place on the rosters.

use testkit::{Answer, Cast, Client, Value, World, both, json};
use touchline::accounts::rights::Scopes;
use touchline::accounts::user::{self, Role};
use touchline::ids::UserId;

use crate::roster::audit;

/// A caller with every scope an app can be given.
pub(crate) async fn acting(w: &World, user: UserId) -> Client {
    w.acting_for(user, &Scopes::all_named().to_string()).await
}

/// One member of every row of a list.
pub(crate) fn values<'a>(list: &'a Answer, member: &str) -> Vec<&'a Value> {
    list.data().as_array().unwrap().iter().map(|row| &row[member]).collect()
}

fn roster(team: &str, below: &str) -> String {
    format!("/teams/{team}/roster{below}")
}

/// An event of the Hawks with a duty, and its address.
async fn training(w: &World, team: &str) -> (String, String) {
    let body = json!({ "team_id": team, "type": "practice", "starts_at": "2026-09-10T18:00",
        "duties": [{ "name": "Oranges", "needed": 5 }] });
    let made = w.owner.post("/events", body).await.created();
    let duty = made.data()["duties"][0]["id"].as_str().unwrap().to_owned();
    (format!("/events/{}", made.id()), duty)
}

async fn removes(w: &World, team: &str, member: &str) {
    w.owner.delete(&roster(team, &format!("/{member}"))).await.ok();
}

both! {
    async fn a_parent_with_every_scope_still_cannot_remove_a_player(w: &World) {
        let cast = w.cast().await;
        let before = w.news().await;
        for user in [&cast.parent, &cast.player, &cast.outsider] {
            let app = acting(w, user.id).await;
            for member in [&cast.max, &cast.zoe, &cast.lia] {
                let place = roster(&cast.hawks, &format!("/{}", member.member));
                app.delete(&place).await.refused(403, "forbidden");
                app.patch(&place, json!({ "jersey_number": "1" })).await.refused(403, "forbidden");
            }
            app.post(&roster(&cast.hawks, ""), json!({ "first_name": "X" })).await.refused(403, "forbidden");
            app.get("/people").await.refused(403, "forbidden");
        }
        assert_eq!(w.news().await, before);
        // The scope comes first: what an app was not given, nobody can do through it.
        let app = w.acting_for(cast.owner.id, "roster:read").await;
        app.delete(&roster(&cast.hawks, &format!("/{}", cast.max.member))).await.refused(403, "insufficient_scope");
        acting(w, cast.coach.id).await.delete(&roster(&cast.hawks, &format!("/{}", cast.max.member))).await.ok();
    }

    async fn a_coach_leads_their_team_and_sees_no_other(w: &World) {
        let cast = w.cast().await;
        let kim = acting(w, cast.coach.id).await;
        assert_eq!(kim.get("/teams").await.ok().names(), ["Hawks"]);
        kim.get(&format!("/teams/{}", cast.otters)).await.refused(404, "not_found");
        kim.patch(&format!("/teams/{}", cast.hawks), json!({ "season": "2027" })).await.ok();
        kim.patch(&format!("/teams/{}", cast.otters), json!({ "season": "2027" })).await.refused(404, "not_found");
        kim.post("/teams", json!({ "name": "Own" })).await.refused(403, "forbidden");
        kim.delete(&format!("/teams/{}", cast.hawks)).await.refused(403, "forbidden");
        let people = kim.get("/people?include=private").await.ok();
        assert!(values(&people, "first_name").contains(&&json!("Max")), "{}", people.text);
        assert!(!values(&people, "first_name").contains(&&json!("Ole")), "{}", people.text);
        kim.get(&format!("/people/{}", cast.ole.person)).await.refused(404, "not_found");
        let batch = json!({ "members": [{ "team_id": cast.otters, "first_name": "Eva" }] });
        kim.post("/roster/batch", batch).await.refused(422, "validation_failed");
        let event = json!({ "team_id": cast.otters, "type": "game", "starts_at": "2026-09-10T18:00" });
        kim.post("/events", event).await.refused(422, "validation_failed");
        let csv = kim.get("/exports/roster.csv").await.ok();
        assert!(csv.text.contains("Max") && !csv.text.contains("Ole"), "{}", csv.text);
        kim.get(&format!("/exports/roster.csv?team_id={}", cast.otters)).await.refused(404, "not_found");
        // Who is more than a parent on one team is no more than that on another.
        let own = json!({ "first_name": "Kit", "birth_date": "2014-05-05" });
        let kit = w.joins(&cast.otters, own).await;
        let guardians = json!({ "guardians": [{ "id": cast.kim.person }] });
        w.owner.patch(&roster(&cast.otters, &format!("/{}", kit.member)), guardians).await.ok();
        assert_eq!(kim.get("/teams").await.ok().names(), ["Hawks", "Otters"]);
        kim.patch(&format!("/teams/{}", cast.otters), json!({ "season": "2027" })).await.refused(403, "forbidden");
        kim.delete(&roster(&cast.otters, &format!("/{}", cast.ole.member))).await.refused(403, "forbidden");
        kim.get(&format!("/exports/roster.csv?team_id={}", cast.otters)).await.refused(403, "forbidden");
        let event = json!({ "team_id": cast.otters, "type": "game", "starts_at": "2026-09-10T18:00" });
        kim.post("/events", event).await.refused(403, "forbidden");
        let shown = kim.get(&roster(&cast.otters, "?include=private")).await.ok();
        assert_eq!(values(&shown, "medical_note"), [&Value::Null, &Value::Null]);
        assert!(!shown.text.contains("wasps") && shown.text.contains("2014-05-05"), "{}", shown.text);
    }

    async fn a_coach_does_not_make_themselves_a_guardian(w: &World) {
        let cast = w.cast().await;
        let kim = acting(w, cast.coach.id).await;
        let place = roster(&cast.hawks, &format!("/{}", cast.zoe.member));
        for guardian in [json!({ "id": cast.kim.person }), json!({ "first_name": "Kim", "email": "kim@example.org" })] {
            // Zoe has a guardian already, so an admin or that guardian decides.
            let refused = kim.patch(&place, json!({ "guardians": [guardian] })).await.refused(403, "forbidden");
            assert_eq!(refused.body["errors"][0]["code"], "protected_minor");
        }
        let new = json!({ "first_name": "Eva", "guardians": [{ "id": cast.kim.person }] });
        kim.post(&roster(&cast.hawks, ""), new).await.refused(422, "validation_failed");
        assert_eq!(kim.get("/me").await.ok().data()["standing"]["ward_ids"], json!([]));
    }

    async fn a_family_sees_what_is_private_of_its_own_people_only(w: &World) {
        let cast = w.cast().await;
        let pat = acting(w, cast.parent.id).await;
        let list = pat.get(&roster(&cast.hawks, "?include=private")).await.ok();
        assert_eq!(values(&list, "first_name"), ["Max", "Kim", "Lia", "Zoe"]);
        assert!(list.text.contains("bees") && list.text.contains("pat@example.org"), "{}", list.text);
        // In quotes, as four letters may stand in an id by chance.
        for hidden in ["nuts", "asthma", "\"knee\"", "mia@example.org", "kim@example.org", "2014-02-02"] {
            assert!(!list.text.contains(hidden), "{hidden} in {}", list.text);
        }
        let one = async |who: &str| pat.get(&roster(&cast.hawks, &format!("/{who}"))).await.ok();
        assert_eq!(one(&cast.max.member).await.data()["medical_note"], "bees");
        assert!(one(&cast.zoe.member).await.data().get("medical_note").is_none());
        let max = pat.get(&format!("/people/{}", cast.max.person)).await.ok();
        assert_eq!(max.data()["guardians"][0]["id"], cast.pat.as_str());
        let own = pat.get(&format!("/people/{}", cast.pat)).await.ok();
        assert_eq!(own.data()["children"], json!([cast.max.person]));
        for other in [&cast.zoe.person, &cast.kim.person, &cast.ole.person] {
            pat.get(&format!("/people/{other}")).await.refused(404, "not_found");
        }
        pat.patch(&format!("/people/{}", cast.pat), json!({ "phone": "1" })).await.refused(403, "forbidden");
        pat.get(&format!("/people/{}/export", cast.max.person)).await.refused(403, "forbidden");
        // Lia looks after nobody; the coach sees the whole team.
        let lia = acting(w, cast.player.id).await;
        let list = lia.get(&roster(&cast.hawks, "?include=private")).await.ok();
        assert!(list.text.contains("asthma") && !list.text.contains("\"bees\""), "{}", list.text);
        let kim = acting(w, cast.coach.id).await;
        let list = kim.get(&roster(&cast.hawks, "?include=private")).await.ok();
        assert!(["asthma", "bees", "nuts", "knee"].iter().all(|note| list.text.contains(note)));
        // Each look at a note is entered with who looked, and through which app.
        let log = audit(w).await;
        let looks = log.iter().filter(|entry| entry.action == "roster.medical_read");
        let last = looks.into_iter().next_back().unwrap();
        assert!(last.actor.starts_with(&format!("{} via app_", cast.coach.id)), "{}", last.actor);
    }

    async fn a_family_answers_for_its_own_people_only(w: &World) {
        let cast = w.cast().await;
        let (event, duty) = training(w, &cast.hawks).await;
        let (foreign, _) = training(w, &cast.otters).await;
        let pat = acting(w, cast.parent.id).await;
        let yes = json!({ "answer": "yes", "note": "hungry" });
        let rsvp = |member: &str| format!("{event}/rsvps/{member}");
        let answered = pat.put(&rsvp(&cast.max.member), yes.clone()).await.ok();
        assert_eq!(answered.data()["answered_by"], cast.parent.id.to_string());
        pat.put(&rsvp(&cast.zoe.member), yes.clone()).await.refused(403, "forbidden");
        pat.put(&format!("{foreign}/rsvps/{}", cast.ole.member), yes.clone()).await.refused(404, "not_found");
        // Nobody answers in the name of somebody else.
        let forged = json!({ "answer": "no", "on_behalf_of": cast.kim.person });
        pat.put(&rsvp(&cast.max.member), forged.clone()).await.refused(403, "forbidden");
        acting(w, cast.admin.id).await.put(&rsvp(&cast.max.member), forged).await.refused(403, "forbidden");
        let own = json!({ "answer": "no", "on_behalf_of": cast.pat });
        assert_eq!(pat.put(&rsvp(&cast.max.member), own).await.ok().data()["answered_by"], cast.parent.id.to_string());
        let kim = acting(w, cast.coach.id).await;
        kim.put(&rsvp(&cast.zoe.member), json!({ "answer": "no", "note": "fever" })).await.ok();
        // Everybody sees the answers, but not each other's notes.
        let list = pat.get(&format!("{event}/rsvps")).await.ok();
        assert_eq!(values(&list, "answer").len(), 2);
        assert!(!list.text.contains("fever"), "{}", list.text);
        assert_eq!(pat.get(&rsvp(&cast.zoe.member)).await.ok().data()["note"], Value::Null);
        assert!(kim.get(&format!("{event}/rsvps")).await.ok().text.contains("fever"));
        pat.get(&format!("{event}/unanswered")).await.refused(403, "forbidden");
        pat.get(&format!("{}/history", rsvp(&cast.max.member))).await.refused(403, "forbidden");
        kim.get(&format!("{}/history", rsvp(&cast.max.member))).await.ok();
        let takes = |person: &str| format!("{event}/duties/{duty}/takers/{person}");
        pat.send("PUT", &takes(&cast.pat), None).await.ok();
        pat.send("PUT", &takes(&cast.kim.person), None).await.refused(403, "forbidden");
        kim.send("PUT", &takes(&cast.lia.person), None).await.ok();
        pat.delete(&takes(&cast.lia.person)).await.refused(403, "forbidden");
        pat.delete(&takes(&cast.pat)).await.ok();
    }

    async fn calendars_are_for_what_one_sees(w: &World) {
        let cast = w.cast().await;
        let (pat, kim, lia) =
            (acting(w, cast.parent.id).await, acting(w, cast.coach.id).await, acting(w, cast.player.id).await);
        let own = pat.post("/calendar_feeds", json!({ "team_id": cast.hawks })).await.created();
        pat.post("/calendar_feeds", json!({ "person_id": cast.max.person })).await.created();
        pat.post("/calendar_feeds", json!({ "person_id": cast.zoe.person })).await.refused(403, "forbidden");
        pat.post("/calendar_feeds", json!({ "team_id": cast.otters })).await.refused(422, "validation_failed");
        w.owner.post("/calendar_feeds", json!({ "team_id": cast.hawks })).await.created();
        assert_eq!(pat.get("/calendar_feeds").await.ok().data().as_array().unwrap().len(), 2);
        // Whoever leads the team sees its calendars, but not those of people.
        assert_eq!(kim.get("/calendar_feeds").await.ok().data().as_array().unwrap().len(), 2);
        assert_eq!(lia.get("/calendar_feeds").await.ok().data(), &json!([]));
        let place = format!("/calendar_feeds/{}", own.id());
        lia.get(&place).await.refused(404, "not_found");
        lia.delete(&place).await.refused(404, "not_found");
        // A calendar ends with its maker's sight of the team.
        let url = own.data()["url"].as_str().unwrap();
        let url = url[url.find("/calendar/").unwrap()..].to_owned();
        w.nobody.get(&url).await.ok();
        removes(w, &cast.hawks, &cast.max.member).await;
        assert_eq!(w.nobody.get(&url).await.status, 404);
    }

    async fn what_changes_on_the_roster_holds_at_once(w: &World) {
        let cast = w.cast().await;
        let (kim, pat) = (acting(w, cast.coach.id).await, acting(w, cast.parent.id).await);
        let place = format!("/teams/{}", cast.hawks);
        kim.get(&place).await.ok();
        pat.get(&place).await.ok();
        let member = roster(&cast.hawks, &format!("/{}", cast.kim.member));
        w.owner.patch(&member, json!({ "role": "staff" })).await.ok();
        kim.patch(&place, json!({ "season": "1" })).await.refused(403, "forbidden");
        kim.get(&place).await.ok();
        w.owner.patch(&member, json!({ "role": "manager" })).await.ok();
        kim.patch(&place, json!({ "season": "1" })).await.ok();
        w.owner.patch(&member, json!({ "status": "inactive" })).await.ok();
        kim.patch(&place, json!({ "season": "2" })).await.refused(403, "forbidden");
        removes(w, &cast.hawks, &cast.kim.member).await;
        kim.get(&place).await.refused(403, "forbidden");
        w.owner.delete(&place).await.ok();
        pat.get(&place).await.refused(403, "forbidden");
        w.owner.post(&format!("{place}/restore"), json!({})).await.ok();
        pat.get(&place).await.ok();
        w.owner.patch(&roster(&cast.hawks, &format!("/{}", cast.max.member)), json!({ "guardians": [] })).await.ok();
        pat.get(&place).await.refused(403, "forbidden");
        // Also who one is: the parent becomes nobody, and somebody else again.
        w.unlink(&cast.pat).await;
        w.link(&cast.zoe.person, cast.parent.id).await;
        pat.get(&place).await.ok();
        w.unlink(&cast.zoe.person).await;
        pat.get(&place).await.refused(403, "forbidden");
        w.link(&cast.pat, cast.parent.id).await;
        pat.get(&place).await.refused(403, "forbidden");
        let guardians = json!({ "guardians": [{ "id": cast.pat }] });
        w.owner.patch(&roster(&cast.hawks, &format!("/{}", cast.zoe.member)), guardians).await.ok();
        pat.get(&place).await.ok();
        // The role in the club too, which no roster tells.
        let uwe = acting(w, cast.outsider.id).await;
        uwe.get(&place).await.refused(403, "forbidden");
        give(w, cast.outsider.id, Role::Admin).await;
        uwe.get(&place).await.ok();
        uwe.get("/outbox").await.ok();
        give(w, cast.outsider.id, Role::Member).await;
        uwe.get(&place).await.refused(403, "forbidden");
        uwe.get("/outbox").await.refused(403, "forbidden");
    }

    async fn who_am_i_says_where_one_stands(w: &World) {
        let cast = w.cast().await;
        let me = acting(w, cast.coach.id).await.get("/me").await.ok();
        let standing = json!({ "person_ids": [cast.kim.person], "ward_ids": [], "leads": [cast.hawks], "sees": [cast.hawks] });
        assert_eq!(me.data()["standing"], standing);
        let me = acting(w, cast.parent.id).await.get("/me").await.ok();
        let standing = json!({ "person_ids": [cast.pat], "ward_ids": [cast.max.person], "leads": [], "sees": [cast.hawks] });
        assert_eq!(me.data()["standing"], standing);
        assert_eq!(w.owner.get("/me").await.ok().data()["standing"], Value::Null);
    }

    async fn two_users_never_share_an_answer(w: &World) {
        let cast = w.cast().await;
        let (kim, pat, lia) =
            (acting(w, cast.coach.id).await, acting(w, cast.parent.id).await, acting(w, cast.player.id).await);
        let olga = acting(w, cast.owner.id).await;
        let list = roster(&cast.hawks, "?include=private&q=zo");
        let one = roster(&cast.hawks, &format!("/{}", cast.zoe.member));
        for place in [&list, &one] {
            // Twice: the second time from memory.
            for _ in 0..2 {
                for (client, sees) in [(&kim, true), (&pat, false), (&olga, true), (&lia, false), (&w.owner, true)] {
                    let shown = client.get(place).await.ok();
                    assert_eq!(shown.text.contains("nuts"), sees, "{}", shown.text);
                }
            }
        }
        // An entity tag tells nobody what they may not see.
        let tag = kim.get(&one).await.ok().header("etag").unwrap().to_owned();
        let hidden = format!("/teams/{}/roster/{}", cast.otters, cast.ole.member);
        let theirs = w.owner.get(&hidden).await.ok().header("etag").unwrap().to_owned();
        pat.with("If-None-Match", &theirs).get(&hidden).await.refused(404, "not_found");
        pat.with("If-None-Match", "*").get(&hidden).await.refused(404, "not_found");
        assert_eq!(pat.with("If-None-Match", &tag).get(&one).await.status, 304);
        pat.with("If-Match", &theirs).patch(&hidden, json!({})).await.refused(403, "forbidden");
        kim.with("If-Match", "\"999\"").patch(&hidden, json!({})).await.refused(404, "not_found");
    }

    async fn a_cursor_of_another_user_shows_nothing_more(w: &World) {
        let cast = w.cast().await;
        let pat = acting(w, cast.parent.id).await;
        let page = w.owner.get("/teams?limit=1").await.ok();
        let cursor = page.body["next_cursor"].as_str().unwrap();
        let next = pat.get(&format!("/teams?limit=1&cursor={cursor}")).await.ok();
        assert_eq!(next.names(), Vec::<&str>::new());
        let page = w.owner.get(&roster(&cast.hawks, "?limit=1&include=private")).await.ok();
        let cursor = page.body["next_cursor"].as_str().unwrap();
        let next = pat.get(&roster(&cast.hawks, &format!("?limit=3&include=private&cursor={cursor}"))).await.ok();
        assert!(!next.text.contains("nuts") && !next.text.contains("\"knee\""), "{}", next.text);
        pat.get(&roster(&cast.otters, &format!("?cursor={cursor}"))).await.refused(404, "not_found");
    }

    async fn two_users_never_share_a_replay(w: &World) {
        let cast = w.cast().await;
        let (kim, olga) = (acting(w, cast.coach.id).await, acting(w, cast.owner.id).await);
        let adam = acting(w, cast.admin.id).await;
        let place = roster(&cast.hawks, &format!("/{}", cast.zoe.member));
        let change = json!({ "jersey_number": "4" });
        let keyed = |client: &Client| client.with("Idempotency-Key", "one");
        let first = keyed(&kim).patch(&place, change.clone()).await.ok();
        assert!(first.text.contains("nuts"));
        let again = keyed(&kim).patch(&place, change.clone()).await.ok();
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        for other in [&olga, &adam, &w.owner] {
            keyed(other).patch(&place, change.clone()).await.refused(422, "idempotency_key_reused");
        }
        acting(w, cast.parent.id).await.with("Idempotency-Key", "one").patch(&place, change.clone()).await.refused(403, "forbidden");
        // What is remembered is not for somebody who has lost the right since.
        w.owner.patch(&roster(&cast.hawks, &format!("/{}", cast.kim.member)), json!({ "role": "player" })).await.ok();
        keyed(&kim).patch(&place, change.clone()).await.refused(403, "forbidden");
        let (event, _) = training(w, &cast.hawks).await;
        let rsvp = format!("{event}/rsvps/{}", cast.max.member);
        let answer = json!({ "answer": "yes", "note": "late" });
        let two = |client: &Client| client.with("Idempotency-Key", "two");
        two(&acting(w, cast.parent.id).await).put(&rsvp, answer.clone()).await.ok();
        two(&olga).put(&rsvp, answer.clone()).await.refused(422, "idempotency_key_reused");
        two(&kim).put(&rsvp, answer).await.refused(422, "idempotency_key_reused");
    }

    async fn the_audit_log_says_which_app_acted(w: &World) {
        let cast = w.cast().await;
        let kim = acting(w, cast.coach.id).await;
        let app = kim.get("/me").await.ok().data()["app_id"].as_str().unwrap().to_owned();
        kim.patch(&format!("/teams/{}", cast.hawks), json!({ "season": "9" })).await.ok();
        let last = audit(w).await.into_iter().last().unwrap();
        assert_eq!(last.actor, format!("{} via {app}", cast.coach.id));
        assert_eq!(last.action, "team.updated");
        let feed = kim.post("/calendar_feeds", json!({ "team_id": cast.hawks })).await.created();
        assert_eq!(feed.data()["created_by"], cast.coach.id.to_string());
    }
}

async fn give(w: &World, user: UserId, role: Role) {
    let scope = store::Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| user::set_role(tx, user, role)).await.unwrap();
}

/// The cast with callers for everybody in it.
pub(crate) async fn callers(w: &World, cast: &Cast) -> Vec<(&'static str, Client)> {
    let mut callers = Vec::new();
    for (what, user) in cast.users() {
        callers.push((what, acting(w, user.id).await));
    }
    callers
}
