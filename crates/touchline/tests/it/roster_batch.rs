//! Tests of adding many members at once.

use testkit::{TestResponse, Value, World, both, json};

use crate::roster::{
    add_member, create_team, event_types_from, field_errors, first_names, member_path,
};

/// Request bodies for `count` people of a team, each with distinct values.
fn people_for(team: &TestResponse, count: usize) -> Vec<Value> {
    let body = |n: usize| {
        json!({ "team_id": team.id(), "first_name": format!("P{n}"), "last_name": "Crowd",
            "email": format!("p{n}@example.org"), "jersey_number": n.to_string(),
            "external_id": format!("fed-{n}"), "birth_date": "2014-02-27" })
    };
    (0..count).map(body).collect()
}

async fn send(w: &World, members: Vec<Value>) -> TestResponse {
    w.owner.post("/roster/batch", json!({ "members": members })).await
}

async fn unique_team(w: &World, name: &str) -> TestResponse {
    let body = json!({ "name": name, "unique_jerseys": true });
    w.owner.post("/teams", body).await.created()
}

both! {
    async fn adds_a_hundred_members_in_order(w: &World) {
        let (kraken, hydra) = (unique_team(w, "Kraken").await, unique_team(w, "Hydra").await);
        let mut members = people_for(&kraken, 100);
        for member in members.iter_mut().skip(1).step_by(2) {
            member["team_id"] = json!(hydra.id());
        }
        let with_key = w.owner.with_header("Idempotency-Key", "all");
        let created = with_key.post("/roster/batch", json!({ "members": members })).await.created();
        let names: Vec<_> = (0..100).map(|n| format!("P{n}")).collect();
        assert_eq!(first_names(&created), names);
        assert!(created.data().as_array().unwrap().iter().all(|member| member.get("email").is_none()));
        let replayed = with_key.post("/roster/batch", json!({ "members": members })).await.created();
        assert_eq!((replayed.data(), replayed.header("idempotent-replayed")), (created.data(), Some("true")));
        for team in [&kraken, &hydra] {
            let team = w.owner.get(&team.path("")).await.ok();
            assert_eq!((&team.data()["roster_count"], &team.data()["version"]), (&json!(50), &json!(2)));
        }
        assert_eq!(event_types_from(w, 2).await, vec!["roster.member_added"; 100]);
        let member = w.owner.get(&format!("/teams/{}/roster/{}", hydra.id(), created.data()[1]["id"].as_str().unwrap())).await.ok();
        assert_eq!(member.data()["email"], "p1@example.org");
    }

    async fn one_invalid_member_rejects_the_whole_batch(w: &World) {
        let kraken = unique_team(w, "Kraken").await;
        add_member(w, &kraken, json!({ "first_name": "Ana", "external_id": "fed-17" })).await;
        let (notification_count, person_count) = (w.notifications().await.len(), w.count("person").await);
        let mut members = people_for(&kraken, 100);
        members[42]["jersey_number"] = json!("3");
        members[99]["team_id"] = json!("team_01kbm2x5q8f7vr0n3hd9tzc4wy");
        let refused = send(w, members).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/members/17/external_id", "taken"),
            ("/members/42/jersey_number", "taken"), ("/members/99/team_id", "not_found")]);
        assert_eq!((w.notifications().await.len(), w.count("person").await), (notification_count, person_count));
        assert_eq!((w.count("member").await, w.count("guardianship").await), (1, 0));
        let team = w.owner.get(&kraken.path("")).await.ok();
        assert_eq!(team.data()["roster_count"], 1);
    }

    async fn errors_of_one_kind_keep_their_code(w: &World) {
        let kraken = unique_team(w, "Kraken").await;
        let mut members = people_for(&kraken, 4);
        members[2]["jersey_number"] = json!("0");
        members[3]["external_id"] = json!("fed-0");
        let refused = send(w, members).await.assert_problem(409, "taken");
        assert_eq!(refused.pointers(), ["/members/2/jersey_number", "/members/3/external_id"]);
        let mut members = people_for(&kraken, 3);
        members[0]["email"] = json!("nobody");
        members[2]["first_name"] = Value::Null;
        members[2]["team_id"] = json!("mem_1");
        let refused = send(w, members).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/members/0/email", "invalid_email"),
            ("/members/2/team_id", "invalid_id"), ("/members/2/first_name", "required")]);
    }

    async fn detects_duplicates_within_a_batch(w: &World) {
        let kraken = unique_team(w, "Kraken").await;
        let mut members = people_for(&kraken, 5);
        // The third is invalid itself, but the others are still compared with it.
        members[2]["birth_date"] = json!("2030-01-01");
        members[3]["email"] = json!("P2@example.org");
        members[4]["first_name"] = json!("p0");
        let refused = send(w, members.clone()).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/members/2/birth_date", "in_the_future"),
            ("/members/3/person_id", "duplicate"), ("/members/4/person_id", "duplicate")]);
        assert!(refused.body["errors"][1]["detail"].as_str().unwrap().contains("/members/2"));
        // A person who was not created has no id to offer.
        assert!(refused.body.get("candidates").is_none());
        members[2]["birth_date"] = json!("2014-01-01");
        members[3]["allow_duplicate"] = json!(true);
        members[4]["allow_duplicate"] = json!(true);
        send(w, members).await.created();
        assert_eq!(w.count("person").await, 5);
    }

    async fn existing_person_joins_a_team_once(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let existing = |team: &TestResponse| json!({ "team_id": team.id(), "person_id": ana.data()["person_id"] });
        let members = vec![existing(&hydra), existing(&hydra), existing(&kraken)];
        let refused = send(w, members).await.assert_problem(409, "taken");
        assert_eq!(refused.pointers(), ["/members/1/person_id", "/members/2/person_id"]);
        send(w, vec![existing(&hydra)]).await.created();
        assert_eq!(w.count("person").await, 1);
    }

    async fn siblings_in_one_batch_share_their_guardian(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let child = |name: &str, phone: Value| {
            json!({ "team_id": kraken.id(), "first_name": name, "last_name": "Duarte", "email": "rita@example.org",
                "guardians": [{ "first_name": "Rita", "last_name": "Duarte", "email": "rita@example.org", "phone": phone }] })
        };
        let created = send(w, vec![child("Inês", Value::Null), child("Tomás", json!("912 345 678"))]).await.created();
        assert_eq!(w.count("person").await, 3);
        let get_member = async |n: usize| {
            w.owner.get(&kraken.path(&format!("/roster/{}", created.data()[n]["id"].as_str().unwrap()))).await.ok()
        };
        let (ines, tomas) = (get_member(0).await, get_member(1).await);
        assert_eq!(ines.data()["guardians"], tomas.data()["guardians"]);
        assert_eq!(ines.data()["guardians"][0]["phone"], "912 345 678");
        assert_eq!((&ines.data()["version"], &created.data()[0]["version"]), (&json!(1), &json!(1)));
        assert_eq!(event_types_from(w, 1).await, ["roster.member_added", "roster.member_added"]);
    }

    async fn batch_has_one_to_a_hundred_members(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        for (body, code) in [(json!({ "members": [] }), "empty"), (json!({}), "required"),
            (json!({ "members": people_for(&kraken, 101) }), "too_many"), (json!({ "members": 5 }), "wrong_type")] {
            let refused = w.owner.post("/roster/batch", body).await.assert_problem(422, "validation_failed");
            assert_eq!(field_errors(&refused), [("/members", code)]);
        }
        let unknown = json!({ "members": [{ "team_id": kraken.id(), "first_name": "A", "team": 1 }] });
        let refused = w.owner.post("/roster/batch", unknown).await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.pointers(), ["/members/0/team"]);
        // A batch may be larger than other bodies.
        let mut members = people_for(&kraken, 100);
        for member in &mut members {
            member["medical_note"] = json!("🩺".repeat(10_000));
        }
        assert!(json!({ "members": members }).to_string().len() > 4_000_000);
        let created = send(w, members).await.created();
        let first = w.owner.get(&kraken.path(&format!("/roster/{}", created.data()[0]["id"].as_str().unwrap()))).await.ok();
        assert!(member_path(&first).ends_with(first.id()));
    }

    async fn cannot_reference_people_and_teams_of_another_club(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let other_team = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let path = other_team.path("/roster");
        let theirs = w.stranger.post(&path, json!({ "first_name": "Zed", "email": "z@x.org", "external_id": "1" })).await.created();
        let person = &theirs.data()["person_id"];
        let members = vec![
            json!({ "team_id": other_team.id(), "first_name": "A" }),
            json!({ "team_id": kraken.id(), "person_id": person }),
            json!({ "team_id": kraken.id(), "first_name": "B", "guardians": [{ "id": person }] }),
        ];
        let refused = send(w, members).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/members/0/team_id", "not_found"),
            ("/members/1/person_id", "not_found"), ("/members/2/guardians/0/id", "not_found")]);
        // People of another club are not duplicates here.
        add_member(w, &kraken, json!({ "first_name": "Zed", "email": "z@x.org", "external_id": "1" })).await;
    }
}
