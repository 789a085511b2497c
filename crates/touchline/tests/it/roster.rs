//! Tests of team rosters.

use futures_util::future::join_all;
use store::{Scope, sql};
use testkit::world::new_key;
use testkit::{Client, TestResponse, Value, World, both, json, seconds};
use touchline::accounts::api_key::NewKey;
use touchline::signals::{self, AuditEntry};

/// Creates a team.
pub(crate) async fn create_team(w: &World, name: &str) -> TestResponse {
    w.owner.post("/teams", json!({ "name": name })).await.created()
}

/// Adds a member to the team.
pub(crate) async fn add_member(w: &World, team: &TestResponse, body: Value) -> TestResponse {
    w.owner.post(&team.path("/roster"), body).await.created()
}

/// The API path of a member.
pub(crate) fn member_path(member: &TestResponse) -> String {
    let (team, id) = (member.data()["team_id"].as_str(), member.data()["id"].as_str());
    format!("/teams/{}/roster/{}", team.unwrap(), id.unwrap())
}

/// The API path of a member's person.
pub(crate) fn person_path(member: &TestResponse) -> String {
    format!("/people/{}", member.data()["person_id"].as_str().unwrap())
}

/// The first names in a list.
pub(crate) fn first_names(list: &TestResponse) -> Vec<&str> {
    let rows = list.data().as_array().unwrap();
    rows.iter().map(|row| row["first_name"].as_str().unwrap()).collect()
}

/// Pointer and code of each error.
pub(crate) fn field_errors(refused: &TestResponse) -> Vec<(&str, &str)> {
    let faults = refused.body["errors"].as_array().unwrap();
    faults.iter().map(|f| (f["pointer"].as_str().unwrap(), f["code"].as_str().unwrap())).collect()
}

/// The types of the notifications after the first `from`.
pub(crate) async fn event_types_from(w: &World, from: usize) -> Vec<String> {
    let notifications = w.notifications().await;
    notifications[from..].iter().map(|row| row["type"].as_str().unwrap().to_owned()).collect()
}

/// All entries of the audit log.
pub(crate) async fn audit_entries(w: &World) -> Vec<AuditEntry> {
    let scope = Scope::account(w.harbour, "test");
    let text = sql!(AuditEntry::SELECT, " where account_id = :account order by position");
    w.db().read(scope, |db| db.all(text, &[])).await.unwrap()
}

/// A client with a key for one team only.
pub(crate) async fn client_for_team(w: &World, team: &TestResponse) -> Client {
    let team_ids = Some(vec![team.id().parse().unwrap()]);
    let scopes = "teams:read roster:read roster:write";
    w.client_with_key(NewKey { team_ids, ..new_key(scopes) }).await.1
}

async fn assert_log_verifies(w: &World) {
    let scope = Scope::account(w.harbour, "test");
    assert_eq!(w.db().read(scope, signals::verify).await.unwrap(), None);
}

async fn roster_count(w: &World, team: &TestResponse) -> (i64, i64) {
    let team = w.owner.get(&team.path("")).await.ok();
    let number = |name: &str| team.data()[name].as_i64().unwrap();
    (number("roster_count"), number("version"))
}

const PRIVATE: [&str; 12] = [
    "address",
    "birth_date",
    "email",
    "emergency_contact",
    "guardians",
    "medical_note",
    "phone",
    "phone_normalized",
    "photo_file_id",
    "is_minor",
    "adult_confirmed_at",
    "email_confirmed_at",
];

fn field_names(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

both! {
    async fn adds_reads_updates_and_removes_a_member(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let body = json!({ "first_name": "Ana", "last_name": "Silva", "jersey_number": "7" });
        let ana = add_member(w, &kraken, body).await;
        assert_eq!(ana.data()["object"], "member");
        assert_eq!(ana.data()["team_id"], kraken.id());
        assert_eq!((&ana.data()["role"], &ana.data()["status"]), (&json!("player"), &json!("active")));
        assert_eq!(ana.header("etag"), Some("\"1\""));
        assert_eq!(ana.header("location"), Some(format!("/api/public/v1{}", member_path(&ana)).as_str()));
        assert!(ana.id().starts_with("mem_"));
        assert!(ana.data()["person_id"].as_str().unwrap().starts_with("per_"));
        assert_eq!(w.owner.get(&member_path(&ana)).await.ok().data(), ana.data());

        let change = json!({ "role": "coach", "jersey_number": null, "positions": ["left wing"],
            "preferred_name": "Nini", "email": "Ana@Example.org", "metadata": { "a": "b" } });
        let changed = w.owner.patch(&member_path(&ana), change).await.ok();
        assert_eq!(changed.data()["role"], "coach");
        assert_eq!(changed.data()["jersey_number"], Value::Null);
        assert_eq!(changed.data()["positions"], json!(["left wing"]));
        assert_eq!(changed.data()["preferred_name"], "Nini");
        assert_eq!(changed.data()["email"], "Ana@Example.org");
        assert_eq!((&changed.data()["version"], changed.header("etag")), (&json!(2), Some("\"2\"")));

        let removed = w.owner.delete(&member_path(&ana)).await.ok();
        assert_eq!(removed.data()["status"], "removed");
        assert_eq!(removed.data()["left_on"], "2026-09-05");
        assert_eq!(removed.data()["version"], 3);
        w.owner.delete(&member_path(&ana)).await.assert_problem(409, "invalid_state");
        w.owner.patch(&member_path(&ana), json!({ "role": "staff" })).await.assert_problem(409, "invalid_state");
        assert_eq!(w.owner.get(&member_path(&ana)).await.ok().data(), removed.data());

        let kinds = event_types_from(w, 1).await;
        assert_eq!(kinds, ["roster.member_added", "roster.member_updated", "roster.member_removed"]);
        assert_log_verifies(w).await;
    }

    async fn lists_omit_private_fields(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let public = ["created_at", "external_id", "first_name", "id", "jersey_number", "joined_on",
            "last_name", "left_on", "metadata", "object", "person_id", "positions",
            "preferred_name", "role", "status", "team_id", "updated_at", "user_id", "version"];
        let mut all_fields: Vec<_> = public.iter().chain(&PRIVATE).copied().collect();
        all_fields.sort_unstable();
        assert_eq!(field_names(ana.data()), all_fields);
        let list = w.owner.get(&kraken.path("/roster")).await.ok();
        assert_eq!(field_names(&list.data()[0]), public);
        let list = w.owner.get(&kraken.path("/roster?include=private")).await.ok();
        assert_eq!(list.data()[0], *ana.data());
        let refused = w.owner.get(&kraken.path("/roster?include=everything")).await;
        assert_eq!(refused.assert_problem(400, "invalid_parameter").parameters(), ["include"]);
    }

    async fn accepts_names_in_any_script(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let names = [("🏉", "Ω̃"), ("محمد", "الأمين"), ("Zoë", "O'Neil-Šimić"), ("李", "小龙"),
            ("\u{202e}Anna", "x"), ("Robert'); drop table person;--", "Tables")];
        for (first, last) in names {
            let body = json!({ "first_name": first, "last_name": last, "preferred_name": first });
            let member = add_member(w, &kraken, body).await;
            let first: String = first.to_owned();
            assert_eq!(member.data()["first_name"], first);
            assert_eq!(w.owner.get(&member_path(&member)).await.ok().data(), member.data());
        }
        let found = w.owner.get(&kraken.path("/roster?q=%D9%85%D8%AD%D9%85%D8%AF")).await.ok();
        assert_eq!(first_names(&found), ["محمد"]);
        // Jersey numbers may be 0, 00 or contain letters; they are compared as text.
        for (number, name) in [("0", "A"), ("00", "B"), ("7b", "C")] {
            let member = add_member(w, &kraken, json!({ "first_name": name, "jersey_number": number })).await;
            assert_eq!(member.data()["jersey_number"], number);
        }
    }

    async fn stores_private_fields_unchanged(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let note = "🩺 é\n".repeat(2_500).trim().to_owned() + "!";
        let body = json!({ "first_name": "Ana", "birth_date": "2012-02-29", "medical_note": note,
            "address": "Rua 1\n4000 Porto", "emergency_contact": "Vó Té\t912" });
        let ana = add_member(w, &kraken, body).await;
        assert_eq!(ana.data()["birth_date"], "2012-02-29");
        assert_eq!(ana.data()["medical_note"], note);
        assert_eq!(ana.data()["address"], "Rua 1\n4000 Porto");
        let long = json!({ "medical_note": "x".repeat(10_000) });
        w.owner.patch(&member_path(&ana), long).await.ok();
        for (phone, normalized) in [("+351 912-345-678", json!("+351912345678")),
            ("(0351) 912", json!("0351912")), ("ask grandma", Value::Null), ("00351 91", json!("+35191"))] {
            let changed = w.owner.patch(&member_path(&ana), json!({ "phone": phone })).await.ok();
            assert_eq!(changed.data()["phone"], phone);
            assert_eq!(changed.data()["phone_normalized"], normalized, "{phone}");
        }
    }

    async fn reports_all_errors_at_once(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let wrong = json!({
            "first_name": "", "last_name": "x".repeat(121), "preferred_name": 7,
            "birth_date": "2023-02-29", "email": "ana", "phone": "1".repeat(41),
            "address": "x".repeat(501), "emergency_contact": [], "medical_note": "x".repeat(10_001),
            "role": "captain", "jersey_number": "x".repeat(11), "positions": ["", "x".repeat(61)],
            "status": "removed", "joined_on": "tomorrow", "left_on": 3, "external_id": "\u{7}",
            "metadata": { "a": 1 },
            "guardians": [{ "last_name": "x", "relationship": "x".repeat(61), "can_pick_up": 1 }, 5],
        });
        let expected = [("/first_name", "empty"), ("/last_name", "too_long"), ("/preferred_name", "wrong_type"),
            ("/birth_date", "invalid_date"), ("/email", "invalid_email"), ("/phone", "too_long"),
            ("/address", "too_long"), ("/emergency_contact", "wrong_type"), ("/medical_note", "too_long"),
            ("/role", "unknown_value"), ("/jersey_number", "too_long"), ("/positions/0", "empty"),
            ("/positions/1", "too_long"), ("/status", "unknown_value"), ("/joined_on", "invalid_date"),
            ("/left_on", "wrong_type"), ("/external_id", "control_character"), ("/metadata/a", "wrong_type"),
            ("/guardians/0/first_name", "required"), ("/guardians/0/relationship", "too_long"),
            ("/guardians/0/can_pick_up", "wrong_type"), ("/guardians/1", "wrong_type")];
        let created = w.owner.post(&kraken.path("/roster"), wrong.clone()).await;
        let changed = w.owner.patch(&member_path(&ana), wrong).await;
        for refused in [created, changed] {
            assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), expected);
        }
        let post = async |body: Value| w.owner.post(&kraken.path("/roster"), body).await;
        let refused = post(json!({})).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/first_name", "required")]);
        for (day, code) in [("1899-12-31", "out_of_range"), ("2026-09-06", "in_the_future")] {
            let refused = post(json!({ "first_name": "A", "birth_date": day })).await;
            assert_eq!(field_errors(&refused.assert_problem(422, "validation_failed")), [("/birth_date", code)]);
        }
        for day in ["1900-01-01", "2026-09-05"] {
            post(json!({ "first_name": "A", "birth_date": day })).await.created();
        }
        let dates = json!({ "first_name": "A", "joined_on": "2026-02-01", "left_on": "2026-01-31" });
        let refused = post(dates).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/left_on", "before_joined_on")]);
        let too_many = json!({ "first_name": "A", "positions": vec!["x"; 11],
            "guardians": vec![json!({ "first_name": "G" }); 11] });
        let refused = post(too_many).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/positions", "too_many"), ("/guardians", "too_many")]);
        let unknown = post(json!({ "first_name": "A", "team_id": kraken.id() })).await;
        assert_eq!(unknown.assert_problem(400, "invalid_parameter").pointers(), ["/team_id"]);
        w.owner.patch(&member_path(&ana), json!({ "person_id": ana.data()["person_id"] })).await
            .assert_problem(400, "invalid_parameter");
    }

    async fn filters_the_list(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let hydra = create_team(w, "Hydra").await;
        let body = |name: &str, role: &str, status: &str, id: &str| {
            json!({ "first_name": name, "last_name": "Éxample", "role": role, "status": status, "external_id": id })
        };
        add_member(w, &kraken, body("Ana", "player", "active", "a")).await;
        add_member(w, &kraken, body("Bea", "player", "injured", "b")).await;
        add_member(w, &kraken, body("Cy", "coach", "inactive", "c")).await;
        let dora = add_member(w, &kraken, body("Dora", "player", "active", "d")).await;
        add_member(w, &hydra, json!({ "first_name": "Else", "preferred_name": "Nini" })).await;
        w.owner.delete(&member_path(&dora)).await.ok();
        for (query, shown) in [
            ("", &["Ana", "Bea", "Cy"][..]),
            ("status=all", &["Ana", "Bea", "Cy", "Dora"]),
            ("status=removed", &["Dora"]),
            ("status=injured", &["Bea"]),
            ("role=player", &["Ana", "Bea"]),
            ("role=coach&status=active", &[]),
            ("external_id=b", &["Bea"]),
            ("external_id=d", &[]),
            ("q=a%20%C3%89X", &["Ana", "Bea"]),
            ("q=nini", &[]),
            ("order=desc", &["Cy", "Bea", "Ana"]),
        ] {
            let list = w.owner.get(&kraken.path(&format!("/roster?{query}"))).await.ok();
            assert_eq!(first_names(&list), shown, "{query}");
        }
        let list = w.owner.get(&hydra.path("/roster?q=NIN")).await.ok();
        assert_eq!(first_names(&list), ["Else"]);
        for query in ["status=gone", "role=captain", "q=", "status=", "team=1"] {
            let refused = w.owner.get(&kraken.path(&format!("/roster?{query}"))).await;
            refused.assert_problem(400, "invalid_parameter");
        }
        let mut seen = Vec::new();
        let mut next = kraken.path("/roster?limit=1&status=all");
        loop {
            let page = w.owner.get(&next).await.ok();
            seen.extend(first_names(&page).into_iter().map(str::to_owned));
            let Some(cursor) = page.body["next_cursor"].as_str() else { break };
            next = kraken.path(&format!("/roster?limit=1&status=all&cursor={cursor}"));
        }
        assert_eq!(seen, ["Ana", "Bea", "Cy", "Dora"]);
        w.owner.get("/teams/team_01kbm2x5q8f7vr0n3hd9tzc4wy/roster").await.assert_problem(404, "not_found");
    }

    async fn member_is_found_only_on_their_own_team(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let hydra = create_team(w, "Hydra").await;
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let other_path = hydra.path(&format!("/roster/{}", ana.id()));
        w.owner.get(&other_path).await.assert_problem(404, "not_found");
        w.owner.patch(&other_path, json!({ "role": "coach" })).await.assert_problem(404, "not_found");
        w.owner.delete(&other_path).await.assert_problem(404, "not_found");
        w.stranger.get(&member_path(&ana)).await.assert_problem(404, "not_found");
        w.stranger.patch(&member_path(&ana), json!({ "role": "coach" })).await.assert_problem(404, "not_found");
        w.stranger.get(&person_path(&ana)).await.assert_problem(404, "not_found");
        assert_eq!(w.owner.get(&member_path(&ana)).await.ok().data()["version"], 1);
    }

    async fn archived_team_rejects_roster_changes(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        w.owner.delete(&kraken.path("")).await.ok();
        let post = w.owner.post(&kraken.path("/roster"), json!({ "first_name": "Bea" })).await;
        post.assert_problem(409, "invalid_state");
        w.owner.patch(&member_path(&ana), json!({ "role": "coach" })).await.assert_problem(409, "invalid_state");
        w.owner.delete(&member_path(&ana)).await.assert_problem(409, "invalid_state");
        let batch = json!({ "members": [{ "team_id": kraken.id(), "first_name": "Bea" }] });
        let refused = w.owner.post("/roster/batch", batch).await.assert_problem(409, "invalid_state");
        assert_eq!(refused.pointers(), ["/members/0/team_id"]);
        assert_eq!(first_names(&w.owner.get(&kraken.path("/roster")).await.ok()), ["Ana"]);
        w.owner.get(&member_path(&ana)).await.ok();
    }

    async fn team_counts_its_active_members(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        assert_eq!(roster_count(w, &kraken).await, (0, 1));
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        add_member(w, &kraken, json!({ "first_name": "Bea", "status": "inactive" })).await;
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        w.owner.patch(&member_path(&ana), json!({ "status": "injured" })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        w.owner.patch(&member_path(&ana), json!({ "status": "inactive" })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (0, 3));
        w.owner.patch(&member_path(&ana), json!({ "status": null })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (1, 4));
        w.owner.delete(&member_path(&ana)).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (0, 5));
        // Renaming the team does not change the count.
        w.owner.patch(&kraken.path(""), json!({ "name": "Krakens" })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (0, 6));
    }

    async fn rejects_a_duplicate_jersey_number(w: &World) {
        let body = json!({ "name": "Kraken", "unique_jerseys": true });
        let kraken = w.owner.post("/teams", body).await.created();
        let with_number = |name: &str, number: &str| json!({ "first_name": name, "jersey_number": number });
        let ana = add_member(w, &kraken, with_number("Ana", "7")).await;
        let refused = w.owner.post(&kraken.path("/roster"), with_number("Bea", "7")).await;
        assert_eq!(field_errors(&refused.assert_problem(409, "taken")), [("/jersey_number", "taken")]);
        add_member(w, &kraken, with_number("Cy", "07")).await;
        let coach = json!({ "first_name": "Dora", "jersey_number": "7", "role": "coach" });
        let dora = add_member(w, &kraken, coach).await;
        let injured = json!({ "first_name": "Else", "jersey_number": "7", "status": "injured" });
        let injured = add_member(w, &kraken, injured).await;
        // Only changes that would cause a clash are refused.
        w.owner.patch(&member_path(&dora), json!({ "role": "player" })).await.assert_problem(409, "taken");
        w.owner.patch(&member_path(&injured), json!({ "status": "active" })).await.assert_problem(409, "taken");
        w.owner.patch(&member_path(&injured), json!({ "last_name": "x" })).await.ok();
        w.owner.patch(&member_path(&ana), json!({ "jersey_number": "7", "last_name": "y" })).await.ok();
        w.owner.delete(&member_path(&ana)).await.ok();
        w.owner.patch(&member_path(&injured), json!({ "status": "active" })).await.ok();
    }

    async fn existing_number_clash_does_not_block_other_changes(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let with_number = |name: &str| json!({ "first_name": name, "jersey_number": "7" });
        let ana = add_member(w, &kraken, with_number("Ana")).await;
        let bea = add_member(w, &kraken, with_number("Bea")).await;
        w.owner.patch(&kraken.path(""), json!({ "unique_jerseys": true })).await.ok();
        w.owner.patch(&member_path(&ana), json!({ "positions": ["wing"], "jersey_number": "7" })).await.ok();
        w.owner.patch(&member_path(&bea), json!({ "status": "injured" })).await.ok();
        w.owner.patch(&member_path(&bea), json!({ "status": "active" })).await.assert_problem(409, "taken");
        w.owner.patch(&member_path(&bea), json!({ "status": "active", "jersey_number": "8" })).await.ok();
    }

    async fn only_one_of_fifty_concurrent_requests_gets_the_number(w: &World) {
        let body = json!({ "name": "Kraken", "unique_jerseys": true });
        let kraken = w.owner.post("/teams", body).await.created();
        let path = kraken.path("/roster");
        let requests = (0..50).map(|n| {
            w.owner.post(&path, json!({ "first_name": format!("P{n}"), "jersey_number": "10" }))
        });
        let answers = join_all(requests).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        for refused in answers.into_iter().filter(|answer| answer.status != 201) {
            assert_eq!(refused.assert_problem(409, "taken").pointers(), ["/jersey_number"]);
        }
        assert_eq!((w.count("member").await, w.count("person").await), (1, 1));
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        assert_log_verifies(w).await;
    }

    async fn rejects_a_duplicate_external_id(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let hydra = create_team(w, "Hydra").await;
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana", "external_id": "fed-1" })).await;
        let duplicate = json!({ "first_name": "Bea", "external_id": "fed-1" });
        let refused = w.owner.post(&hydra.path("/roster"), duplicate).await;
        assert_eq!(field_errors(&refused.assert_problem(409, "taken")), [("/external_id", "taken")]);
        let bea = add_member(w, &hydra, json!({ "first_name": "Bea", "external_id": "fed-2" })).await;
        let refused = w.owner.patch(&member_path(&bea), json!({ "external_id": "fed-1" })).await;
        assert_eq!(refused.assert_problem(409, "taken").pointers(), ["/external_id"]);
        w.owner.patch(&member_path(&ana), json!({ "external_id": "fed-1", "role": "coach" })).await.ok();
    }

    async fn etags_are_versions_and_retries_are_replayed(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let with_key = w.owner.with_header("Idempotency-Key", "ana");
        let body = json!({ "first_name": "Ana", "medical_note": "nuts" });
        let ana = with_key.post(&kraken.path("/roster"), body.clone()).await.created();
        let replayed = with_key.post(&kraken.path("/roster"), body).await.created();
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        assert_eq!(replayed.data(), ana.data());
        assert_eq!(w.count("member").await, 1);
        let change = json!({ "role": "coach" });
        let stale = w.owner.with_header("If-Match", "\"7\"");
        stale.patch(&member_path(&ana), change.clone()).await.assert_problem(412, "precondition_failed");
        stale.delete(&member_path(&ana)).await.assert_problem(412, "precondition_failed");
        w.owner.with_header("If-Match", "\"1\"").patch(&member_path(&ana), change).await.ok();
        let unchanged = w.owner.with_header("If-None-Match", "\"2\"").get(&member_path(&ana)).await;
        assert_eq!((unchanged.status, unchanged.text.as_str()), (304, ""));
    }

    async fn update_without_a_difference_publishes_nothing(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let body = json!({ "first_name": "Ana", "email": "a@x.org", "jersey_number": "7",
            "guardians": [{ "first_name": "Rita", "relationship": "mother", "email": "r@x.org" }] });
        let ana = add_member(w, &kraken, body.clone()).await;
        w.advance_clock(seconds(5));
        let notification_count = w.notifications().await.len();
        let same = w.owner.patch(&member_path(&ana), body).await.ok();
        assert_eq!(same.data(), ana.data());
        let guardians = ana.data()["guardians"].clone();
        let same = w.owner.patch(&member_path(&ana), json!({ "guardians": guardians })).await.ok();
        assert_eq!(same.data(), ana.data());
        assert_eq!(w.owner.patch(&member_path(&ana), json!({})).await.ok().data(), ana.data());
        let person = w.owner.get(&person_path(&ana)).await.ok();
        assert_eq!(person.data()["version"], 1);
        w.owner.patch(&format!("/people/{}", person.id()), json!({ "first_name": "Ana", "email_opt_in": true })).await.ok();
        assert_eq!(w.notifications().await.len(), notification_count);
        assert_eq!(w.count("person").await, 2);
    }

    async fn team_key_sees_no_other_team(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let hydra = create_team(w, "Hydra").await;
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let bea = add_member(w, &hydra, json!({ "first_name": "Bea" })).await;
        let caller = client_for_team(w, &kraken).await;
        caller.get(&member_path(&ana)).await.ok();
        caller.patch(&member_path(&ana), json!({ "role": "coach" })).await.ok();
        caller.get(&hydra.path("/roster")).await.assert_problem(404, "not_found");
        caller.get(&member_path(&bea)).await.assert_problem(404, "not_found");
        caller.patch(&member_path(&bea), json!({ "role": "coach" })).await.assert_problem(404, "not_found");
        caller.delete(&member_path(&bea)).await.assert_problem(404, "not_found");
        caller.post(&hydra.path("/roster"), json!({ "first_name": "C" })).await.assert_problem(404, "not_found");
        let batch = json!({ "members": [{ "team_id": hydra.id(), "first_name": "C" }] });
        let refused = caller.post("/roster/batch", batch).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/members/0/team_id", "not_found")]);
    }
}
