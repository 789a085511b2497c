//! Tests of people: stored once, linked to guardians, and never duplicated.

use testkit::{TestResponse, Value, World, both, json};

use crate::roster::{
    add_member, client_for_team, create_team, event_types_from, field_errors, first_names,
    member_path, person_path,
};

/// Fetches a resource as the owner.
async fn get_ok(w: &World, path: &str) -> TestResponse {
    w.owner.get(path).await.ok()
}

/// The guardians of a member.
fn guardians(member: &TestResponse) -> &Vec<Value> {
    member.data()["guardians"].as_array().unwrap()
}

fn rita() -> Value {
    json!({ "first_name": "Rita", "last_name": "Duarte", "email": "rita@example.org", "phone": "+351 912",
        "relationship": "mother" })
}

fn child(name: &str, guardians: Value) -> Value {
    json!({ "first_name": name, "last_name": "Duarte", "guardians": guardians })
}

/// The duplicates that an error offers, with what matched.
fn candidates(refused: &TestResponse) -> Vec<(&str, &str)> {
    let list = refused.body["candidates"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|c| (c["first_name"].as_str().unwrap(), c["matched_on"].as_str().unwrap()))
        .collect()
}

both! {
    async fn person_is_stored_once_across_teams(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana", "email": "ana@example.org" })).await;
        let id = &ana.data()["person_id"];
        let body = json!({ "person_id": id, "role": "coach", "jersey_number": "1" });
        let coach = add_member(w, &hydra, body.clone()).await;
        assert_eq!((&coach.data()["person_id"], &coach.data()["email"]), (id, &json!("ana@example.org")));
        let refused = w.owner.post(&hydra.path("/roster"), body).await.assert_problem(409, "taken");
        assert_eq!(refused.pointers(), ["/person_id"]);

        let fetched = get_ok(w, &person_path(&ana)).await;
        assert_eq!(fetched.data()["object"], "person");
        assert_eq!(fetched.data()["memberships"], json!([
            { "member_id": ana.id(), "team_id": kraken.id(), "role": "player", "status": "active" },
            { "member_id": coach.id(), "team_id": hydra.id(), "role": "coach", "status": "active" }]));
        assert_eq!((&fetched.data()["dependent_ids"], &fetched.data()["email_opt_in"]), (&json!([]), &json!(true)));
        assert_eq!((&fetched.data()["erased_at"], &fetched.data()["version"]), (&Value::Null, &json!(2)));
        assert_eq!(w.count("person").await, 1);

        // A returning member gets a new membership; the old one is unchanged.
        w.owner.delete(&member_path(&coach)).await.ok();
        let returned = add_member(w, &hydra, json!({ "person_id": id })).await;
        assert_ne!(returned.id(), coach.id());
        assert_eq!(get_ok(w, &member_path(&coach)).await.data()["status"], "removed");
        let all = w.owner.get(&hydra.path("/roster?status=all&include=private")).await.ok();
        assert_eq!(first_names(&all), ["Ana", "Ana"]);
        assert!(all.data().as_array().unwrap().iter().all(|fetched| fetched["email"] == "ana@example.org"));
    }

    async fn rejects_person_id_together_with_person_fields(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let body = json!({ "person_id": ana.data()["person_id"], "first_name": "Anna", "email": null,
            "birth_date": "2014-01-01", "medical_note": "x", "guardians": [{ "first_name": "G" }], "role": "coach" });
        let refused = w.owner.post(&hydra.path("/roster"), body).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), ["/first_name", "/birth_date", "/email", "/medical_note", "/guardians"]
            .map(|pointer| (pointer, "not_with_person_id")));
        let wrong = json!({ "person_id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" });
        let refused = w.owner.post(&hydra.path("/roster"), wrong).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/person_id", "not_found")]);
    }

    async fn person_change_notifies_every_team(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let coach = add_member(w, &hydra, json!({ "person_id": ana.data()["person_id"], "role": "coach" })).await;
        let from = w.notifications().await.len();
        let changed = w.owner.patch(&member_path(&ana), json!({ "first_name": "Anna", "jersey_number": "9" })).await.ok();
        assert_eq!(changed.data()["version"], 2);
        let other = get_ok(w, &member_path(&coach)).await;
        assert_eq!((&other.data()["first_name"], &other.data()["version"]), (&json!("Anna"), &json!(2)));
        assert_eq!(get_ok(w, &person_path(&ana)).await.data()["version"], 3);
        let notifications = w.notifications().await;
        let published: Vec<_> = notifications[from..].iter().map(|n| (&n["data"]["object"]["id"], &n["data"]["previous"])).collect();
        assert_eq!(published, [(&json!(ana.id()), &json!({ "first_name": "Ana", "jersey_number": null })),
            (&json!(coach.id()), &json!({ "first_name": "Ana" }))]);
        assert_eq!(notifications[from]["data"]["object"]["first_name"], "Anna");

        // Membership fields do not affect other teams.
        w.owner.patch(&member_path(&ana), json!({ "positions": ["wing"] })).await.ok();
        assert_eq!(get_ok(w, &member_path(&coach)).await.data()["version"], 2);
        // The same through the person's own path.
        let from = w.notifications().await.len();
        let path = person_path(&ana);
        let stale = w.owner.with_header("If-Match", "\"1\"");
        stale.patch(&path, json!({ "phone": "1" })).await.assert_problem(412, "precondition_failed");
        let change = json!({ "last_name": "Silva", "email_opt_in": false });
        let changed = w.owner.with_header("If-Match", "\"3\"").patch(&path, change).await.ok();
        assert_eq!((&changed.data()["last_name"], &changed.data()["email_opt_in"]), (&json!("Silva"), &json!(false)));
        assert_eq!(event_types_from(w, from).await, ["roster.member_updated"; 2]);
        assert_eq!(get_ok(w, &member_path(&coach)).await.data()["last_name"], "Silva");
        w.owner.patch(&path, json!({ "role": "coach" })).await.assert_problem(400, "invalid_parameter");
        let refused = w.owner.patch(&path, json!({ "birth_date": "2027-01-01", "first_name": null })).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/first_name"]);
    }

    async fn siblings_share_a_guardian(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ines = add_member(w, &kraken, child("Inês", json!([rita()]))).await;
        let mother = guardians(&ines)[0].clone();
        assert_eq!(mother, json!({ "id": mother["id"], "first_name": "Rita", "last_name": "Duarte",
            "relationship": "mother", "email": "rita@example.org", "phone": "+351 912",
            "can_pick_up": true, "receives_messages": true, "confirmed": true }));
        // The same name and email, and no different phone number: the same person.
        let same_person = json!({ "first_name": "RITA", "last_name": "duarte", "email": "Rita@Example.org",
            "relationship": "mum", "can_pick_up": false });
        let tomas = add_member(w, &kraken, child("Tomás", json!([same_person]))).await;
        assert_eq!(guardians(&tomas)[0]["id"], mother["id"]);
        assert_eq!(guardians(&tomas)[0]["first_name"], "Rita");
        assert_eq!(guardians(&tomas)[0]["relationship"], "mum");
        assert_eq!(guardians(&tomas)[0]["can_pick_up"], false);
        // Another phone number, name or email: another person.
        for (n, change) in [json!({ "phone": "+351 999" }), json!({ "first_name": "Rui" }), json!({ "email": "r@x.org" })]
            .into_iter().enumerate()
        {
            let mut other = rita();
            other.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let member = add_member(w, &kraken, child(&format!("Child {n}"), json!([other]))).await;
            assert_ne!(guardians(&member)[0]["id"], mother["id"]);
        }
        let coach = add_member(w, &kraken, json!({ "person_id": mother["id"], "role": "coach" })).await;
        let rita = get_ok(w, &person_path(&coach)).await;
        assert_eq!(rita.data()["dependent_ids"], json!([ines.data()["person_id"], tomas.data()["person_id"]]));
        assert_eq!(rita.data()["memberships"][0]["role"], "coach");

        // Her changes appear with every child, so all of them get a new version.
        let from = w.notifications().await.len();
        w.owner.patch(&member_path(&coach), json!({ "phone": "+351 913" })).await.ok();
        for child in [&ines, &tomas] {
            let child = get_ok(w, &member_path(child)).await;
            assert_eq!((&guardians(&child)[0]["phone"], &child.data()["version"]), (&json!("+351 913"), &json!(2)));
        }
        assert_eq!(event_types_from(w, from).await, ["roster.member_updated"; 3]);
        assert!(w.notifications().await[from..].iter().all(|row| row["data"]["previous"] == json!({})));
    }

    async fn replaces_the_whole_guardian_list(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ines = add_member(w, &kraken, child("Inês", json!([rita(), { "first_name": "Rui" }]))).await;
        let (mother, father) = (guardians(&ines)[0]["id"].clone(), guardians(&ines)[1]["id"].clone());
        let unchanged = w.owner.patch(&member_path(&ines), json!({ "jersey_number": "1" })).await.ok();
        assert_eq!(guardians(&unchanged), guardians(&ines));
        // With an id, only the given fields change; without one, an existing guardian is matched by
        // name.
        let list = json!([{ "first_name": "rui" }, { "id": mother, "phone": null, "receives_messages": false }]);
        let changed = w.owner.patch(&member_path(&ines), json!({ "guardians": list })).await.ok();
        let listed = guardians(&changed);
        assert_eq!((&listed[0]["id"], &listed[0]["first_name"]), (&father, &json!("Rui")));
        assert_eq!((&listed[1]["id"], &listed[1]["email"]), (&mother, &json!("rita@example.org")));
        assert_eq!((&listed[1]["phone"], &listed[1]["relationship"]), (&Value::Null, &json!("mother")));
        assert_eq!((&listed[1]["receives_messages"], &listed[1]["can_pick_up"]), (&json!(false), &json!(true)));
        assert_eq!(w.count("person").await, 3);
        let path = format!("/people/{}", father.as_str().unwrap());
        assert_eq!(get_ok(w, &path).await.data()["dependent_ids"].as_array().unwrap().len(), 1);
        let changed = w.owner.patch(&member_path(&ines), json!({ "guardians": [{ "id": mother }] })).await.ok();
        assert_eq!(guardians(&changed).len(), 1);
        assert_eq!(guardians(&changed)[0]["receives_messages"], false);
        let father = get_ok(w, &path).await;
        assert_eq!((&father.data()["dependent_ids"], &father.data()["version"]), (&json!([]), &json!(2)));
        for empty in [json!(null), json!([])] {
            let changed = w.owner.patch(&member_path(&ines), json!({ "guardians": empty })).await.ok();
            assert!(guardians(&changed).is_empty());
        }
    }

    async fn rejects_self_and_repeated_guardians(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ines = add_member(w, &kraken, child("Inês", json!([rita()]))).await;
        let (own_id, mother) = (ines.data()["person_id"].clone(), guardians(&ines)[0]["id"].clone());
        let patch = async |list: Value| w.owner.patch(&member_path(&ines), json!({ "guardians": list })).await;
        let refused = patch(json!([{ "id": own_id }])).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/guardians/0", "own_guardian")]);
        let refused = patch(json!([{ "id": mother }, rita()])).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/guardians/1", "repeated")]);
        let refused = patch(json!([{ "id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" }, { "id": "x" }])).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/guardians/1/id"]);
        let refused = patch(json!([{ "id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" }])).await;
        assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), [("/guardians/0/id", "not_found")]);
        // A father and a son may share a name and an email address.
        let junior = json!({ "first_name": "João", "email": "joao@x.org",
            "guardians": [{ "first_name": "João", "email": "joao@x.org" }] });
        let junior = add_member(w, &kraken, junior).await;
        assert_ne!(guardians(&junior)[0]["id"], junior.data()["person_id"]);
    }

    async fn rejects_a_duplicate_person(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let ana = json!({ "first_name": "Ana", "last_name": "Silva", "birth_date": "2014-02-27",
            "email": "Ana@Example.org", "phone": "912", "medical_note": "nuts" });
        let ana = add_member(w, &kraken, ana).await;
        let post = async |body: Value| w.owner.post(&hydra.path("/roster"), body).await;
        let by_name = json!({ "first_name": "ANA", "last_name": "  silva ", "birth_date": "2014-02-27" });
        let refused = post(by_name.clone()).await.assert_problem(409, "conflict");
        assert_eq!(field_errors(&refused), [("/person_id", "duplicate")]);
        assert_eq!(refused.body["candidates"], json!([{ "pointer": "/person_id", "person_id": ana.data()["person_id"],
            "first_name": "Ana", "last_name": "Silva", "team_ids": [kraken.id()], "matched_on": "name_and_birth_date" }]));
        let by_email = json!({ "first_name": "A.", "email": "ana@example.ORG" });
        let refused = post(by_email.clone()).await.assert_problem(409, "conflict");
        assert_eq!(candidates(&refused), [("Ana", "email")]);
        assert_eq!(w.count("person").await, 1);
        // A partial match is not enough.
        for other in [json!({ "first_name": "Ana", "last_name": "Silva" }),
            json!({ "first_name": "Ana", "last_name": "Silva", "birth_date": "2014-02-28" }),
            json!({ "first_name": "Anabela", "birth_date": "2014-02-27" })] {
            post(other).await.created();
        }
        for body in [by_name, by_email] {
            let mut body = body;
            body["allow_duplicate"] = json!(true);
            post(body).await.created();
        }
        let refused = post(json!({ "first_name": "x", "email": "ana@example.org" })).await.assert_problem(409, "conflict");
        assert_eq!(candidates(&refused), [("Ana", "email"), ("A.", "email")]);
        // An update never creates a person.
        let x = post(json!({ "first_name": "x" })).await.created();
        w.owner.patch(&member_path(&x), json!({ "email": "ana@example.org" })).await.ok();
    }

    async fn children_may_share_a_guardians_email(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let post = async |body: Value| w.owner.post(&kraken.path("/roster"), body).await;
        let family = |name: &str, guardians: Value| {
            json!({ "first_name": name, "last_name": "Duarte", "email": "rita@example.org", "guardians": guardians })
        };
        post(family("Inês", json!([rita()]))).await.created();
        // Rita is a guardian now, even if the body does not name her.
        post(family("Tomás", json!([]))).await.created();
        post(family("Vera", json!([rita()]))).await.created();
        let refused = post(family("Inês", json!([rita()]))).await.assert_problem(409, "conflict");
        assert_eq!(candidates(&refused), [("Inês", "email")]);
        let refused = post(family("Rita", json!([]))).await.assert_problem(409, "conflict");
        assert_eq!(candidates(&refused), [("Rita", "email")]);
        // Two children with one address and no guardian yet: the first body that names her decides.
        let without_guardian = |name: &str, guardians: Value| {
            json!({ "first_name": name, "email": "zoe@x.org", "guardians": guardians })
        };
        post(without_guardian("Mia", json!([]))).await.created();
        post(without_guardian("Leo", json!([]))).await.assert_problem(409, "conflict");
        post(without_guardian("Leo", json!([{ "first_name": "Zoe", "email": "ZOE@x.org" }]))).await.created();
    }

    async fn lists_and_filters_people(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        add_member(w, &kraken, child("Inês", json!([rita()]))).await;
        add_member(w, &kraken, json!({ "first_name": "Ana", "preferred_name": "Nini", "email": "ana@x.org" })).await;
        for (query, shown) in [("", &["Inês", "Rita", "Ana"][..]), ("order=desc", &["Ana", "Rita", "Inês"]),
            ("q=duarte", &["Inês", "Rita"]), ("q=s%20D", &["Inês"]), ("q=NINI", &["Ana"]), ("email=RITA@example.org", &["Rita"]),
            ("email=rita", &[]), ("q=ana&email=ana@x.org", &["Ana"])] {
            assert_eq!(first_names(&get_ok(w, &format!("/people?{query}")).await), shown, "{query}");
        }
        let page = get_ok(w, "/people?limit=2").await;
        let cursor = page.body["next_cursor"].as_str().unwrap();
        assert_eq!(first_names(&get_ok(w, &format!("/people?limit=2&cursor={cursor}")).await), ["Ana"]);
        let public = get_ok(w, "/people").await;
        assert!(["email", "guardians", "medical_note"].iter().all(|name| public.data()[0].get(name).is_none()));
        assert_eq!(public.data()[1]["dependent_ids"][0], public.data()[0]["id"]);
        let full = get_ok(w, "/people?include=private").await;
        assert_eq!(full.data()[0]["guardians"][0]["email"], "rita@example.org");
        let fetched = get_ok(w, &format!("/people/{}", full.data()[0]["id"].as_str().unwrap())).await;
        assert_eq!(fetched.data(), &full.data()[0]);
        for query in ["email=", "q=%00", "include=all", "team_id=x"] {
            w.owner.get(&format!("/people?{query}")).await.assert_problem(400, "invalid_parameter");
        }
    }

    async fn change_notifies_only_where_it_is_visible(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ines = add_member(w, &kraken, child("Inês", json!([rita()]))).await;
        let mother = format!("/people/{}", guardians(&ines)[0]["id"].as_str().unwrap());
        let from = w.notifications().await.len();
        // Guardian fields that the child's team cannot see only notify about the guardian.
        for change in [json!({ "address": "Rua 1" }), json!({ "email_opt_in": false })] {
            get_ok(w, &mother).await;
            let changed = w.owner.patch(&mother, change).await.ok();
            assert_eq!(get_ok(w, &mother).await.data(), changed.data());
        }
        assert_eq!(event_types_from(w, from).await, ["roster.person_updated"; 2]);
        let notifications = w.notifications().await;
        assert_eq!(notifications[from]["data"]["previous"], json!({}));
        assert_eq!(notifications[from + 1]["data"]["previous"], json!({ "email_opt_in": true }));
        assert!(!notifications[from].to_string().contains("Rua"));
        assert_eq!(get_ok(w, &member_path(&ines)).await.data()["version"], 1);
        w.owner.patch(&person_path(&ines), json!({ "email_opt_in": false })).await.ok();
        assert_eq!(get_ok(w, &member_path(&ines)).await.data()["version"], 1);
        // A guardian without children can still be updated and read.
        w.owner.patch(&member_path(&ines), json!({ "guardians": [] })).await.ok();
        get_ok(w, &mother).await;
        let changed = w.owner.patch(&mother, json!({ "phone": "1" })).await.ok();
        assert_eq!(get_ok(w, &mother).await.data(), changed.data());
    }

    async fn team_key_knows_only_people_of_its_teams(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let ines = add_member(w, &kraken, child("Inês", json!([rita()]))).await;
        let mother = guardians(&ines)[0]["id"].clone();
        let tomas = add_member(w, &hydra, child("Tomás", json!([{ "id": mother }, { "first_name": "Rui", "email": "rui@x.org" }]))).await;
        let father = guardians(&tomas)[1]["id"].clone();
        let caller = client_for_team(w, &kraken).await;
        assert_eq!(first_names(&caller.get("/people").await.ok()), ["Inês", "Rita"]);
        assert_eq!(first_names(&caller.get("/people?order=desc&q=a").await.ok()), ["Rita", "Inês"]);
        let rita = caller.get(&format!("/people/{}", mother.as_str().unwrap())).await.ok();
        assert_eq!(rita.data()["dependent_ids"], json!([ines.data()["person_id"]]));
        caller.get(&person_path(&tomas)).await.assert_problem(404, "not_found");
        caller.patch(&person_path(&tomas), json!({ "phone": "1" })).await.assert_problem(404, "not_found");
        let post = async |body: Value| caller.post(&kraken.path("/roster"), body).await;
        let refused = post(json!({ "person_id": tomas.data()["person_id"] })).await;
        assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), [("/person_id", "not_found")]);
        let refused = post(json!({ "first_name": "x", "guardians": [{ "id": father }] })).await;
        assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), [("/guardians/0/id", "not_found")]);
        post(json!({ "first_name": "Vera", "guardians": [{ "id": mother }] })).await.created();
        // A person outside the key's teams is not linked by guessing name and email.
        let guess = json!([{ "first_name": "Rui", "email": "rui@x.org" }]);
        let created = post(json!({ "first_name": "Leo", "guardians": guess })).await.created();
        assert_ne!(guardians(&created)[0]["id"], father);
        // Teams outside the key's reach are not shown.
        let both = json!({ "person_id": ines.data()["person_id"] });
        w.owner.post(&hydra.path("/roster"), both).await.created();
        assert_eq!(caller.get(&person_path(&ines)).await.ok().data()["memberships"].as_array().unwrap().len(), 1);
    }

    async fn team_key_learns_of_a_duplicate_but_not_who_it_is(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        add_member(w, &hydra, json!({ "first_name": "Ana", "email": "ana@x.org" })).await;
        let caller = client_for_team(w, &kraken).await;
        let body = json!({ "first_name": "Anna", "email": "ana@x.org" });
        let refused = caller.post(&kraken.path("/roster"), body.clone()).await.assert_problem(409, "conflict");
        assert_eq!(field_errors(&refused), [("/person_id", "duplicate")]);
        assert!(refused.body.get("candidates").is_none() && !refused.text.contains("Ana\""));
        let mut body = body;
        body["allow_duplicate"] = json!(true);
        caller.post(&kraken.path("/roster"), body).await.created();
    }
}
