//! Stories about people: kept once, looked after, and not made twice.

use testkit::{Answer, Value, World, both, json};

use crate::roster::{add, at, faults, first_names, kinds, narrowed, person, team};

/// A person by the address of their own.
async fn show(w: &World, path: &str) -> Answer {
    w.owner.get(path).await.ok()
}

/// The guardians of a member.
fn guardians(member: &Answer) -> &Vec<Value> {
    member.data()["guardians"].as_array().unwrap()
}

fn rita() -> Value {
    json!({ "first_name": "Rita", "last_name": "Duarte", "email": "rita@example.org", "phone": "+351 912",
        "relationship": "mother" })
}

fn child(name: &str, guardians: Value) -> Value {
    json!({ "first_name": name, "last_name": "Duarte", "guardians": guardians })
}

/// Who is offered instead of somebody new, with what matched.
fn candidates(refused: &Answer) -> Vec<(&str, &str)> {
    let list = refused.body["candidates"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|c| (c["first_name"].as_str().unwrap(), c["matched_on"].as_str().unwrap()))
        .collect()
}

both! {
    async fn a_person_is_kept_once_whatever_teams_they_are_on(w: &World) {
        let (kraken, hydra) = (team(w, "Kraken").await, team(w, "Hydra").await);
        let ana = add(w, &kraken, json!({ "first_name": "Ana", "email": "ana@example.org" })).await;
        let id = &ana.data()["person_id"];
        let body = json!({ "person_id": id, "role": "coach", "jersey_number": "1" });
        let coach = add(w, &hydra, body.clone()).await;
        assert_eq!((&coach.data()["person_id"], &coach.data()["email"]), (id, &json!("ana@example.org")));
        let refused = w.owner.post(&hydra.path("/roster"), body).await.refused(409, "taken");
        assert_eq!(refused.pointers(), ["/person_id"]);

        let one = show(w, &person(&ana)).await;
        assert_eq!(one.data()["object"], "person");
        assert_eq!(one.data()["teams"], json!([
            { "member_id": ana.id(), "team_id": kraken.id(), "role": "player", "status": "active" },
            { "member_id": coach.id(), "team_id": hydra.id(), "role": "coach", "status": "active" }]));
        assert_eq!((&one.data()["children"], &one.data()["wants_email"]), (&json!([]), &json!(true)));
        assert_eq!((&one.data()["erased_at"], &one.data()["version"]), (&Value::Null, &json!(2)));
        assert_eq!(w.count("person").await, 1);

        // Who comes back gets a new membership; the old one stays as it was.
        w.owner.delete(&at(&coach)).await.ok();
        let again = add(w, &hydra, json!({ "person_id": id })).await;
        assert_ne!(again.id(), coach.id());
        assert_eq!(show(w, &at(&coach)).await.data()["status"], "removed");
        let all = w.owner.get(&hydra.path("/roster?status=all&include=private")).await.ok();
        assert_eq!(first_names(&all), ["Ana", "Ana"]);
        assert!(all.data().as_array().unwrap().iter().all(|one| one["email"] == "ana@example.org"));
    }

    async fn with_a_person_only_the_membership_may_be_said(w: &World) {
        let (kraken, hydra) = (team(w, "Kraken").await, team(w, "Hydra").await);
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        let body = json!({ "person_id": ana.data()["person_id"], "first_name": "Anna", "email": null,
            "birth_date": "2014-01-01", "medical_note": "x", "guardians": [{ "first_name": "G" }], "role": "coach" });
        let refused = w.owner.post(&hydra.path("/roster"), body).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), ["/first_name", "/birth_date", "/email", "/medical_note", "/guardians"]
            .map(|place| (place, "not_with_person_id")));
        let wrong = json!({ "person_id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" });
        let refused = w.owner.post(&hydra.path("/roster"), wrong).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/person_id", "not_found")]);
    }

    async fn a_change_of_a_person_is_told_to_every_team_they_are_on(w: &World) {
        let (kraken, hydra) = (team(w, "Kraken").await, team(w, "Hydra").await);
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        let coach = add(w, &hydra, json!({ "person_id": ana.data()["person_id"], "role": "coach" })).await;
        let from = w.news().await.len();
        let changed = w.owner.patch(&at(&ana), json!({ "first_name": "Anna", "jersey_number": "9" })).await.ok();
        assert_eq!(changed.data()["version"], 2);
        let other = show(w, &at(&coach)).await;
        assert_eq!((&other.data()["first_name"], &other.data()["version"]), (&json!("Anna"), &json!(2)));
        assert_eq!(show(w, &person(&ana)).await.data()["version"], 3);
        let news = w.news().await;
        let told: Vec<_> = news[from..].iter().map(|n| (&n["data"]["object"]["id"], &n["data"]["previous"])).collect();
        assert_eq!(told, [(&json!(ana.id()), &json!({ "first_name": "Ana", "jersey_number": null })),
            (&json!(coach.id()), &json!({ "first_name": "Ana" }))]);
        assert_eq!(news[from]["data"]["object"]["first_name"], "Anna");

        // What only the membership says stays with its team.
        w.owner.patch(&at(&ana), json!({ "positions": ["wing"] })).await.ok();
        assert_eq!(show(w, &at(&coach)).await.data()["version"], 2);
        // By their own address it is the same change.
        let from = w.news().await.len();
        let path = person(&ana);
        let stale = w.owner.with("If-Match", "\"1\"");
        stale.patch(&path, json!({ "phone": "1" })).await.refused(412, "precondition_failed");
        let change = json!({ "last_name": "Silva", "wants_email": false });
        let changed = w.owner.with("If-Match", "\"3\"").patch(&path, change).await.ok();
        assert_eq!((&changed.data()["last_name"], &changed.data()["wants_email"]), (&json!("Silva"), &json!(false)));
        assert_eq!(kinds(w, from).await, ["roster.member_updated"; 2]);
        assert_eq!(show(w, &at(&coach)).await.data()["last_name"], "Silva");
        w.owner.patch(&path, json!({ "role": "coach" })).await.refused(400, "invalid_parameter");
        let refused = w.owner.patch(&path, json!({ "birth_date": "2027-01-01", "first_name": null })).await;
        assert_eq!(refused.refused(422, "validation_failed").pointers(), ["/first_name"]);
    }

    async fn siblings_share_a_guardian_who_may_be_a_coach_too(w: &World) {
        let kraken = team(w, "Kraken").await;
        let ines = add(w, &kraken, child("Inês", json!([rita()]))).await;
        let mother = guardians(&ines)[0].clone();
        assert_eq!(mother, json!({ "id": mother["id"], "first_name": "Rita", "last_name": "Duarte",
            "relationship": "mother", "email": "rita@example.org", "phone": "+351 912",
            "may_pick_up": true, "receives_messages": true, "confirmed": true }));
        // The same name and address, and no other telephone: the same person.
        let again = json!({ "first_name": "RITA", "last_name": "duarte", "email": "Rita@Example.org",
            "relationship": "mum", "may_pick_up": false });
        let tomas = add(w, &kraken, child("Tomás", json!([again]))).await;
        assert_eq!(guardians(&tomas)[0]["id"], mother["id"]);
        assert_eq!(guardians(&tomas)[0]["first_name"], "Rita");
        assert_eq!(guardians(&tomas)[0]["relationship"], "mum");
        assert_eq!(guardians(&tomas)[0]["may_pick_up"], false);
        // Another telephone, another name or another address: somebody else.
        for (n, change) in [json!({ "phone": "+351 999" }), json!({ "first_name": "Rui" }), json!({ "email": "r@x.org" })]
            .into_iter().enumerate()
        {
            let mut other = rita();
            other.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let one = add(w, &kraken, child(&format!("Child {n}"), json!([other]))).await;
            assert_ne!(guardians(&one)[0]["id"], mother["id"]);
        }
        let coach = add(w, &kraken, json!({ "person_id": mother["id"], "role": "coach" })).await;
        let rita = show(w, &person(&coach)).await;
        assert_eq!(rita.data()["children"], json!([ines.data()["person_id"], tomas.data()["person_id"]]));
        assert_eq!(rita.data()["teams"][0]["role"], "coach");

        // What changes of her is shown with every child, so all of them have a new version.
        let from = w.news().await.len();
        w.owner.patch(&at(&coach), json!({ "phone": "+351 913" })).await.ok();
        for child in [&ines, &tomas] {
            let child = show(w, &at(child)).await;
            assert_eq!((&guardians(&child)[0]["phone"], &child.data()["version"]), (&json!("+351 913"), &json!(2)));
        }
        assert_eq!(kinds(w, from).await, ["roster.member_updated"; 3]);
        assert!(w.news().await[from..].iter().all(|news| news["data"]["previous"] == json!({})));
    }

    async fn guardians_are_replaced_as_a_whole_or_not_at_all(w: &World) {
        let kraken = team(w, "Kraken").await;
        let ines = add(w, &kraken, child("Inês", json!([rita(), { "first_name": "Rui" }]))).await;
        let (mother, father) = (guardians(&ines)[0]["id"].clone(), guardians(&ines)[1]["id"].clone());
        let kept = w.owner.patch(&at(&ines), json!({ "jersey_number": "1" })).await.ok();
        assert_eq!(guardians(&kept), guardians(&ines));
        // With an id only what is said changes; without one, who is there already is found by name.
        let list = json!([{ "first_name": "rui" }, { "id": mother, "phone": null, "receives_messages": false }]);
        let changed = w.owner.patch(&at(&ines), json!({ "guardians": list })).await.ok();
        let shown = guardians(&changed);
        assert_eq!((&shown[0]["id"], &shown[0]["first_name"]), (&father, &json!("Rui")));
        assert_eq!((&shown[1]["id"], &shown[1]["email"]), (&mother, &json!("rita@example.org")));
        assert_eq!((&shown[1]["phone"], &shown[1]["relationship"]), (&Value::Null, &json!("mother")));
        assert_eq!((&shown[1]["receives_messages"], &shown[1]["may_pick_up"]), (&json!(false), &json!(true)));
        assert_eq!(w.count("person").await, 3);
        let path = format!("/people/{}", father.as_str().unwrap());
        assert_eq!(show(w, &path).await.data()["children"].as_array().unwrap().len(), 1);
        let changed = w.owner.patch(&at(&ines), json!({ "guardians": [{ "id": mother }] })).await.ok();
        assert_eq!(guardians(&changed).len(), 1);
        assert_eq!(guardians(&changed)[0]["receives_messages"], false);
        let father = show(w, &path).await;
        assert_eq!((&father.data()["children"], &father.data()["version"]), (&json!([]), &json!(2)));
        for none in [json!(null), json!([])] {
            let changed = w.owner.patch(&at(&ines), json!({ "guardians": none })).await.ok();
            assert!(guardians(&changed).is_empty());
        }
    }

    async fn nobody_is_their_own_guardian_or_anybodys_twice(w: &World) {
        let kraken = team(w, "Kraken").await;
        let ines = add(w, &kraken, child("Inês", json!([rita()]))).await;
        let (own, mother) = (ines.data()["person_id"].clone(), guardians(&ines)[0]["id"].clone());
        let patch = async |list: Value| w.owner.patch(&at(&ines), json!({ "guardians": list })).await;
        let refused = patch(json!([{ "id": own }])).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/guardians/0", "own_guardian")]);
        let refused = patch(json!([{ "id": mother }, rita()])).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/guardians/1", "repeated")]);
        let refused = patch(json!([{ "id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" }, { "id": "x" }])).await;
        assert_eq!(refused.refused(422, "validation_failed").pointers(), ["/guardians/1/id", "/guardians/1/first_name"]);
        let refused = patch(json!([{ "id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" }])).await;
        assert_eq!(faults(&refused.refused(422, "validation_failed")), [("/guardians/0/id", "not_found")]);
        // A father and a son may have one name and one address.
        let junior = json!({ "first_name": "João", "email": "joao@x.org",
            "guardians": [{ "first_name": "João", "email": "joao@x.org" }] });
        let junior = add(w, &kraken, junior).await;
        assert_ne!(guardians(&junior)[0]["id"], junior.data()["person_id"]);
    }

    async fn who_looks_like_somebody_known_is_not_made_twice(w: &World) {
        let (kraken, hydra) = (team(w, "Kraken").await, team(w, "Hydra").await);
        let ana = json!({ "first_name": "Ana", "last_name": "Silva", "birth_date": "2014-02-27",
            "email": "Ana@Example.org", "phone": "912", "medical_note": "nuts" });
        let ana = add(w, &kraken, ana).await;
        let post = async |body: Value| w.owner.post(&hydra.path("/roster"), body).await;
        let by_name = json!({ "first_name": "ANA", "last_name": "  silva ", "birth_date": "2014-02-27" });
        let refused = post(by_name.clone()).await.refused(409, "conflict");
        assert_eq!(faults(&refused), [("/person_id", "duplicate")]);
        assert_eq!(refused.body["candidates"], json!([{ "pointer": "/person_id", "person_id": ana.data()["person_id"],
            "first_name": "Ana", "last_name": "Silva", "teams": [kraken.id()], "matched_on": "name_and_birth_date" }]));
        let by_email = json!({ "first_name": "A.", "email": "ana@example.ORG" });
        let refused = post(by_email.clone()).await.refused(409, "conflict");
        assert_eq!(candidates(&refused), [("Ana", "email")]);
        assert_eq!(w.count("person").await, 1);
        // Half of it is not enough.
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
        let refused = post(json!({ "first_name": "x", "email": "ana@example.org" })).await.refused(409, "conflict");
        assert_eq!(candidates(&refused), [("Ana", "email"), ("A.", "email")]);
        // A change makes nobody new.
        let x = post(json!({ "first_name": "x" })).await.created();
        w.owner.patch(&at(&x), json!({ "email": "ana@example.org" })).await.ok();
    }

    async fn a_guardians_address_never_makes_one_child_of_two(w: &World) {
        let kraken = team(w, "Kraken").await;
        let post = async |body: Value| w.owner.post(&kraken.path("/roster"), body).await;
        let family = |name: &str, guardians: Value| {
            json!({ "first_name": name, "last_name": "Duarte", "email": "rita@example.org", "guardians": guardians })
        };
        post(family("Inês", json!([rita()]))).await.created();
        // Rita is a guardian now, whether or not the body says so.
        post(family("Tomás", json!([]))).await.created();
        post(family("Vera", json!([rita()]))).await.created();
        let refused = post(family("Inês", json!([rita()]))).await.refused(409, "conflict");
        assert_eq!(candidates(&refused), [("Inês", "email")]);
        let refused = post(family("Rita", json!([]))).await.refused(409, "conflict");
        assert_eq!(candidates(&refused), [("Rita", "email")]);
        // Two children with one address and no guardian yet: the first body that names her decides.
        let alone = |name: &str, guardians: Value| {
            json!({ "first_name": name, "email": "zoe@x.org", "guardians": guardians })
        };
        post(alone("Mia", json!([]))).await.created();
        post(alone("Leo", json!([]))).await.refused(409, "conflict");
        post(alone("Leo", json!([{ "first_name": "Zoe", "email": "ZOE@x.org" }]))).await.created();
    }

    async fn people_are_listed_with_what_is_asked_for(w: &World) {
        let kraken = team(w, "Kraken").await;
        add(w, &kraken, child("Inês", json!([rita()]))).await;
        add(w, &kraken, json!({ "first_name": "Ana", "preferred_name": "Nini", "email": "ana@x.org" })).await;
        for (query, shown) in [("", &["Inês", "Rita", "Ana"][..]), ("order=desc", &["Ana", "Rita", "Inês"]),
            ("q=duarte", &["Inês", "Rita"]), ("q=s%20D", &["Inês"]), ("q=NINI", &["Ana"]), ("email=RITA@example.org", &["Rita"]),
            ("email=rita", &[]), ("q=ana&email=ana@x.org", &["Ana"])] {
            assert_eq!(first_names(&show(w, &format!("/people?{query}")).await), shown, "{query}");
        }
        let page = show(w, "/people?limit=2").await;
        let cursor = page.body["next_cursor"].as_str().unwrap();
        assert_eq!(first_names(&show(w, &format!("/people?limit=2&cursor={cursor}")).await), ["Ana"]);
        let plain = show(w, "/people").await;
        assert!(["email", "guardians", "medical_note"].iter().all(|name| plain.data()[0].get(name).is_none()));
        assert_eq!(plain.data()[1]["children"][0], plain.data()[0]["id"]);
        let full = show(w, "/people?include=private").await;
        assert_eq!(full.data()[0]["guardians"][0]["email"], "rita@example.org");
        let one = show(w, &format!("/people/{}", full.data()[0]["id"].as_str().unwrap())).await;
        assert_eq!(one.data(), &full.data()[0]);
        for query in ["email=", "q=%00", "include=all", "team_id=x"] {
            w.owner.get(&format!("/people?{query}")).await.refused(400, "invalid_parameter");
        }
    }

    async fn a_change_is_told_where_it_can_be_seen_and_shown_at_once(w: &World) {
        let kraken = team(w, "Kraken").await;
        let ines = add(w, &kraken, child("Inês", json!([rita()]))).await;
        let mother = format!("/people/{}", guardians(&ines)[0]["id"].as_str().unwrap());
        let from = w.news().await.len();
        // What the child's team does not see of the guardian is told of the guardian alone.
        for change in [json!({ "address": "Rua 1" }), json!({ "wants_email": false })] {
            show(w, &mother).await;
            let changed = w.owner.patch(&mother, change).await.ok();
            assert_eq!(show(w, &mother).await.data(), changed.data());
        }
        assert_eq!(kinds(w, from).await, ["roster.person_updated"; 2]);
        let news = w.news().await;
        assert_eq!(news[from]["data"]["previous"], json!({}));
        assert_eq!(news[from + 1]["data"]["previous"], json!({ "wants_email": true }));
        assert!(!news[from].to_string().contains("Rua"));
        assert_eq!(show(w, &at(&ines)).await.data()["version"], 1);
        w.owner.patch(&person(&ines), json!({ "wants_email": false })).await.ok();
        assert_eq!(show(w, &at(&ines)).await.data()["version"], 1);
        // Somebody whom nobody needs any more can still be changed and seen.
        w.owner.patch(&at(&ines), json!({ "guardians": [] })).await.ok();
        show(w, &mother).await;
        let changed = w.owner.patch(&mother, json!({ "phone": "1" })).await.ok();
        assert_eq!(show(w, &mother).await.data(), changed.data());
    }

    async fn a_narrowed_key_knows_only_people_of_its_teams(w: &World) {
        let (kraken, hydra) = (team(w, "Kraken").await, team(w, "Hydra").await);
        let ines = add(w, &kraken, child("Inês", json!([rita()]))).await;
        let mother = guardians(&ines)[0]["id"].clone();
        let tomas = add(w, &hydra, child("Tomás", json!([{ "id": mother }, { "first_name": "Rui", "email": "rui@x.org" }]))).await;
        let father = guardians(&tomas)[1]["id"].clone();
        let caller = narrowed(w, &kraken).await;
        assert_eq!(first_names(&caller.get("/people").await.ok()), ["Inês", "Rita"]);
        assert_eq!(first_names(&caller.get("/people?order=desc&q=a").await.ok()), ["Rita", "Inês"]);
        let rita = caller.get(&format!("/people/{}", mother.as_str().unwrap())).await.ok();
        assert_eq!(rita.data()["children"], json!([ines.data()["person_id"]]));
        caller.get(&person(&tomas)).await.refused(404, "not_found");
        caller.patch(&person(&tomas), json!({ "phone": "1" })).await.refused(404, "not_found");
        let post = async |body: Value| caller.post(&kraken.path("/roster"), body).await;
        let refused = post(json!({ "person_id": tomas.data()["person_id"] })).await;
        assert_eq!(faults(&refused.refused(422, "validation_failed")), [("/person_id", "not_found")]);
        let refused = post(json!({ "first_name": "x", "guardians": [{ "id": father }] })).await;
        assert_eq!(faults(&refused.refused(422, "validation_failed")), [("/guardians/0/id", "not_found")]);
        post(json!({ "first_name": "Vera", "guardians": [{ "id": mother }] })).await.created();
        // Somebody out of reach is not linked by a guess at name and address.
        let guess = json!([{ "first_name": "Rui", "email": "rui@x.org" }]);
        let guessed = post(json!({ "first_name": "Leo", "guardians": guess })).await.created();
        assert_ne!(guardians(&guessed)[0]["id"], father);
        // A team out of reach is not shown with who is within.
        let both = json!({ "person_id": ines.data()["person_id"] });
        w.owner.post(&hydra.path("/roster"), both).await.created();
        assert_eq!(caller.get(&person(&ines)).await.ok().data()["teams"].as_array().unwrap().len(), 1);
    }

    async fn a_narrowed_key_is_told_of_a_duplicate_but_not_who_it_is(w: &World) {
        let (kraken, hydra) = (team(w, "Kraken").await, team(w, "Hydra").await);
        add(w, &hydra, json!({ "first_name": "Ana", "email": "ana@x.org" })).await;
        let caller = narrowed(w, &kraken).await;
        let body = json!({ "first_name": "Anna", "email": "ana@x.org" });
        let refused = caller.post(&kraken.path("/roster"), body.clone()).await.refused(409, "conflict");
        assert_eq!(faults(&refused), [("/person_id", "duplicate")]);
        assert!(refused.body.get("candidates").is_none() && !refused.text.contains("Ana\""));
        let mut body = body;
        body["allow_duplicate"] = json!(true);
        caller.post(&kraken.path("/roster"), body).await.created();
    }
}
