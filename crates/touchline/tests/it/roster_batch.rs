//! Stories about many newcomers at once.

use testkit::{Answer, Value, World, both, json};

use crate::roster::{add, at, faults, first_names, kinds, team};

/// So many people for a team, each with a number of their own.
fn crowd(team: &Answer, count: usize) -> Vec<Value> {
    let one = |n: usize| {
        json!({ "team_id": team.id(), "first_name": format!("P{n}"), "last_name": "Crowd",
            "email": format!("p{n}@example.org"), "jersey_number": n.to_string(),
            "external_id": format!("fed-{n}"), "birth_date": "2014-02-27" })
    };
    (0..count).map(one).collect()
}

async fn send(w: &World, members: Vec<Value>) -> Answer {
    w.owner.post("/roster/batch", json!({ "members": members })).await
}

async fn unique_team(w: &World, name: &str) -> Answer {
    let body = json!({ "name": name, "unique_jerseys": true });
    w.owner.post("/teams", body).await.created()
}

both! {
    async fn a_hundred_join_two_teams_in_the_order_they_are_sent(w: &World) {
        let (kraken, hydra) = (unique_team(w, "Kraken").await, unique_team(w, "Hydra").await);
        let mut all = crowd(&kraken, 100);
        for one in all.iter_mut().skip(1).step_by(2) {
            one["team_id"] = json!(hydra.id());
        }
        let once = w.owner.with("Idempotency-Key", "all");
        let made = once.post("/roster/batch", json!({ "members": all })).await.created();
        let names: Vec<_> = (0..100).map(|n| format!("P{n}")).collect();
        assert_eq!(first_names(&made), names);
        assert!(made.data().as_array().unwrap().iter().all(|one| one.get("email").is_none()));
        let again = once.post("/roster/batch", json!({ "members": all })).await.created();
        assert_eq!((again.data(), again.header("idempotent-replayed")), (made.data(), Some("true")));
        for team in [&kraken, &hydra] {
            let team = w.owner.get(&team.path("")).await.ok();
            assert_eq!((&team.data()["roster_count"], &team.data()["version"]), (&json!(50), &json!(2)));
        }
        assert_eq!(kinds(w, 2).await, vec!["roster.member_added"; 100]);
        let one = w.owner.get(&format!("/teams/{}/roster/{}", hydra.id(), made.data()[1]["id"].as_str().unwrap())).await.ok();
        assert_eq!(one.data()["email"], "p1@example.org");
    }

    async fn three_faults_among_a_hundred_leave_nothing(w: &World) {
        let kraken = unique_team(w, "Kraken").await;
        add(w, &kraken, json!({ "first_name": "Ana", "external_id": "fed-17" })).await;
        let (news, people) = (w.news().await.len(), w.count("person").await);
        let mut all = crowd(&kraken, 100);
        all[42]["jersey_number"] = json!("3");
        all[99]["team_id"] = json!("team_01kbm2x5q8f7vr0n3hd9tzc4wy");
        let refused = send(w, all).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/members/17/external_id", "taken"),
            ("/members/42/jersey_number", "taken"), ("/members/99/team_id", "not_found")]);
        assert_eq!((w.news().await.len(), w.count("person").await), (news, people));
        assert_eq!((w.count("member").await, w.count("guardianship").await), (1, 0));
        let team = w.owner.get(&kraken.path("")).await.ok();
        assert_eq!(team.data()["roster_count"], 1);
    }

    async fn faults_of_one_kind_keep_their_code(w: &World) {
        let kraken = unique_team(w, "Kraken").await;
        let mut all = crowd(&kraken, 4);
        all[2]["jersey_number"] = json!("0");
        all[3]["external_id"] = json!("fed-0");
        let refused = send(w, all).await.refused(409, "taken");
        assert_eq!(refused.pointers(), ["/members/2/jersey_number", "/members/3/external_id"]);
        let mut all = crowd(&kraken, 3);
        all[0]["email"] = json!("nobody");
        all[2]["first_name"] = Value::Null;
        all[2]["team_id"] = json!("mem_1");
        let refused = send(w, all).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/members/0/email", "invalid_email"),
            ("/members/2/team_id", "invalid_id"), ("/members/2/first_name", "required")]);
    }

    async fn people_in_one_body_are_held_against_each_other(w: &World) {
        let kraken = unique_team(w, "Kraken").await;
        let mut all = crowd(&kraken, 5);
        // The third has a fault of its own and is compared with all the same.
        all[2]["birth_date"] = json!("2030-01-01");
        all[3]["email"] = json!("P2@example.org");
        all[4]["first_name"] = json!("p0");
        let refused = send(w, all.clone()).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/members/2/birth_date", "in_the_future"),
            ("/members/3/person_id", "duplicate"), ("/members/4/person_id", "duplicate")]);
        assert!(refused.body["errors"][1]["detail"].as_str().unwrap().contains("/members/2"));
        // Who was never made has no id to offer.
        assert!(refused.body.get("candidates").is_none());
        all[2]["birth_date"] = json!("2014-01-01");
        all[3]["allow_duplicate"] = json!(true);
        all[4]["allow_duplicate"] = json!(true);
        send(w, all).await.created();
        assert_eq!(w.count("person").await, 5);
    }

    async fn somebody_known_joins_a_team_once(w: &World) {
        let (kraken, hydra) = (team(w, "Kraken").await, team(w, "Hydra").await);
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        let known = |team: &Answer| json!({ "team_id": team.id(), "person_id": ana.data()["person_id"] });
        let all = vec![known(&hydra), known(&hydra), known(&kraken)];
        let refused = send(w, all).await.refused(409, "taken");
        assert_eq!(refused.pointers(), ["/members/1/person_id", "/members/2/person_id"]);
        send(w, vec![known(&hydra)]).await.created();
        assert_eq!(w.count("person").await, 1);
    }

    async fn siblings_in_one_body_share_their_guardian(w: &World) {
        let kraken = team(w, "Kraken").await;
        let child = |name: &str, phone: Value| {
            json!({ "team_id": kraken.id(), "first_name": name, "last_name": "Duarte", "email": "rita@example.org",
                "guardians": [{ "first_name": "Rita", "last_name": "Duarte", "email": "rita@example.org", "phone": phone }] })
        };
        let made = send(w, vec![child("Inês", Value::Null), child("Tomás", json!("912 345 678"))]).await.created();
        assert_eq!(w.count("person").await, 3);
        let show = async |n: usize| {
            w.owner.get(&kraken.path(&format!("/roster/{}", made.data()[n]["id"].as_str().unwrap()))).await.ok()
        };
        let (ines, tomas) = (show(0).await, show(1).await);
        assert_eq!(ines.data()["guardians"], tomas.data()["guardians"]);
        assert_eq!(ines.data()["guardians"][0]["phone"], "912 345 678");
        assert_eq!((&ines.data()["version"], &made.data()[0]["version"]), (&json!(1), &json!(1)));
        assert_eq!(kinds(w, 1).await, ["roster.member_added", "roster.member_added"]);
    }

    async fn a_batch_has_one_to_a_hundred_people(w: &World) {
        let kraken = team(w, "Kraken").await;
        for (body, code) in [(json!({ "members": [] }), "empty"), (json!({}), "required"),
            (json!({ "members": crowd(&kraken, 101) }), "too_many"), (json!({ "members": 5 }), "wrong_type")] {
            let refused = w.owner.post("/roster/batch", body).await.refused(422, "validation_failed");
            assert_eq!(faults(&refused), [("/members", code)]);
        }
        let unknown = json!({ "members": [{ "team_id": kraken.id(), "first_name": "A", "team": 1 }] });
        let refused = w.owner.post("/roster/batch", unknown).await.refused(400, "invalid_parameter");
        assert_eq!(refused.pointers(), ["/members/0/team"]);
        // A batch may be larger than other bodies.
        let mut all = crowd(&kraken, 100);
        for one in &mut all {
            one["medical_note"] = json!("🩺".repeat(10_000));
        }
        assert!(json!({ "members": all }).to_string().len() > 4_000_000);
        let made = send(w, all).await.created();
        let first = w.owner.get(&kraken.path(&format!("/roster/{}", made.data()[0]["id"].as_str().unwrap()))).await.ok();
        assert!(at(&first).ends_with(first.id()));
    }

    async fn another_clubs_people_and_teams_are_not_there(w: &World) {
        let kraken = team(w, "Kraken").await;
        let foreign = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let path = foreign.path("/roster");
        let theirs = w.stranger.post(&path, json!({ "first_name": "Zed", "email": "z@x.org", "external_id": "1" })).await.created();
        let person = &theirs.data()["person_id"];
        let all = vec![
            json!({ "team_id": foreign.id(), "first_name": "A" }),
            json!({ "team_id": kraken.id(), "person_id": person }),
            json!({ "team_id": kraken.id(), "first_name": "B", "guardians": [{ "id": person }] }),
        ];
        let refused = send(w, all).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/members/0/team_id", "not_found"),
            ("/members/1/person_id", "not_found"), ("/members/2/guardians/0/id", "not_found")]);
        // What they have is nobody's duplicate here.
        add(w, &kraken, json!({ "first_name": "Zed", "email": "z@x.org", "external_id": "1" })).await;
    }
}
