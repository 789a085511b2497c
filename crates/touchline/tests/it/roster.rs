//! Stories about the roster of a team.

use futures_util::future::join_all;
use store::{Scope, sql};
use testkit::world::new_key;
use testkit::{Answer, Client, Value, World, both, json, seconds};
use touchline::accounts::api_key::NewKey;
use touchline::signals::{self, AuditEntry};

/// A team with this name.
pub(crate) async fn team(w: &World, name: &str) -> Answer {
    w.owner.post("/teams", json!({ "name": name })).await.created()
}

/// Somebody new on the team.
pub(crate) async fn add(w: &World, team: &Answer, body: Value) -> Answer {
    w.owner.post(&team.path("/roster"), body).await.created()
}

/// The address of a member.
pub(crate) fn at(member: &Answer) -> String {
    let (team, id) = (member.data()["team_id"].as_str(), member.data()["id"].as_str());
    format!("/teams/{}/roster/{}", team.unwrap(), id.unwrap())
}

/// The address of the person a member is.
pub(crate) fn person(member: &Answer) -> String {
    format!("/people/{}", member.data()["person_id"].as_str().unwrap())
}

/// The first names in a list.
pub(crate) fn first_names(list: &Answer) -> Vec<&str> {
    let rows = list.data().as_array().unwrap();
    rows.iter().map(|row| row["first_name"].as_str().unwrap()).collect()
}

/// What is wrong, fault by fault: where and what.
pub(crate) fn faults(refused: &Answer) -> Vec<(&str, &str)> {
    let faults = refused.body["errors"].as_array().unwrap();
    faults.iter().map(|f| (f["pointer"].as_str().unwrap(), f["code"].as_str().unwrap())).collect()
}

/// The kinds of news from a place on.
pub(crate) async fn kinds(w: &World, from: usize) -> Vec<String> {
    let news = w.news().await;
    news[from..].iter().map(|news| news["type"].as_str().unwrap().to_owned()).collect()
}

/// Everything the audit log holds.
pub(crate) async fn audit(w: &World) -> Vec<AuditEntry> {
    let scope = Scope::account(w.harbour, "test");
    let text = sql!(AuditEntry::SELECT, " where account_id = :account order by position");
    w.db().read(scope, |db| db.all(text, &[])).await.unwrap()
}

/// A caller whose key is narrowed to one team.
pub(crate) async fn narrowed(w: &World, team: &Answer) -> Client {
    let team_ids = Some(vec![team.id().parse().unwrap()]);
    let scopes = "teams:read roster:read roster:write";
    w.caller(NewKey { team_ids, ..new_key(scopes) }).await.1
}

async fn verifies(w: &World) {
    let scope = Scope::account(w.harbour, "test");
    assert_eq!(w.db().read(scope, signals::verify).await.unwrap(), None);
}

async fn roster_count(w: &World, team: &Answer) -> (i64, i64) {
    let team = w.owner.get(&team.path("")).await.ok();
    let number = |name: &str| team.data()[name].as_i64().unwrap();
    (number("roster_count"), number("version"))
}

const PRIVATE: [&str; 11] = [
    "address",
    "birth_date",
    "email",
    "emergency_contact",
    "guardians",
    "medical_note",
    "phone",
    "phone_normalized",
    "is_minor",
    "adult_confirmed_at",
    "email_confirmed_at",
];

fn members(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

both! {
    async fn a_member_is_added_read_changed_and_removed(w: &World) {
        let kraken = team(w, "Kraken").await;
        let body = json!({ "first_name": "Ana", "last_name": "Silva", "jersey_number": "7" });
        let ana = add(w, &kraken, body).await;
        assert_eq!(ana.data()["object"], "member");
        assert_eq!(ana.data()["team_id"], kraken.id());
        assert_eq!((&ana.data()["role"], &ana.data()["status"]), (&json!("player"), &json!("active")));
        assert_eq!(ana.header("etag"), Some("\"1\""));
        assert_eq!(ana.header("location"), Some(format!("/api/public/v1{}", at(&ana)).as_str()));
        assert!(ana.id().starts_with("mem_"));
        assert!(ana.data()["person_id"].as_str().unwrap().starts_with("per_"));
        assert_eq!(w.owner.get(&at(&ana)).await.ok().data(), ana.data());

        let change = json!({ "role": "coach", "jersey_number": null, "positions": ["left wing"],
            "preferred_name": "Nini", "email": "Ana@Example.org", "metadata": { "a": "b" } });
        let changed = w.owner.patch(&at(&ana), change).await.ok();
        assert_eq!(changed.data()["role"], "coach");
        assert_eq!(changed.data()["jersey_number"], Value::Null);
        assert_eq!(changed.data()["positions"], json!(["left wing"]));
        assert_eq!(changed.data()["preferred_name"], "Nini");
        assert_eq!(changed.data()["email"], "Ana@Example.org");
        assert_eq!((&changed.data()["version"], changed.header("etag")), (&json!(2), Some("\"2\"")));

        let removed = w.owner.delete(&at(&ana)).await.ok();
        assert_eq!(removed.data()["status"], "removed");
        assert_eq!(removed.data()["left_on"], "2026-09-05");
        assert_eq!(removed.data()["version"], 3);
        w.owner.delete(&at(&ana)).await.refused(409, "invalid_state");
        w.owner.patch(&at(&ana), json!({ "role": "staff" })).await.refused(409, "invalid_state");
        assert_eq!(w.owner.get(&at(&ana)).await.ok().data(), removed.data());

        let kinds = kinds(w, 1).await;
        assert_eq!(kinds, ["roster.member_added", "roster.member_updated", "roster.member_removed"]);
        verifies(w).await;
    }

    async fn an_object_has_all_its_members_and_a_list_only_what_is_not_private(w: &World) {
        let kraken = team(w, "Kraken").await;
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        let open = ["created_at", "external_id", "first_name", "id", "jersey_number", "joined_on",
            "last_name", "left_on", "metadata", "object", "person_id", "positions",
            "preferred_name", "role", "status", "team_id", "updated_at", "user_id", "version"];
        let mut all: Vec<_> = open.iter().chain(&PRIVATE).copied().collect();
        all.sort_unstable();
        assert_eq!(members(ana.data()), all);
        let list = w.owner.get(&kraken.path("/roster")).await.ok();
        assert_eq!(members(&list.data()[0]), open);
        let list = w.owner.get(&kraken.path("/roster?include=private")).await.ok();
        assert_eq!(list.data()[0], *ana.data());
        let refused = w.owner.get(&kraken.path("/roster?include=everything")).await;
        assert_eq!(refused.refused(400, "invalid_parameter").pointers(), ["?include"]);
    }

    async fn people_are_who_they_say_they_are(w: &World) {
        let kraken = team(w, "Kraken").await;
        let names = [("🏉", "Ω̃"), ("محمد", "الأمين"), ("Zoë", "O'Neil-Šimić"), ("李", "小龙"),
            ("\u{202e}Anna", "x"), ("Robert'); drop table person;--", "Tables")];
        for (first, last) in names {
            let body = json!({ "first_name": first, "last_name": last, "preferred_name": first });
            let made = add(w, &kraken, body).await;
            let first: String = first.to_owned();
            assert_eq!(made.data()["first_name"], first);
            assert_eq!(w.owner.get(&at(&made)).await.ok().data(), made.data());
        }
        let found = w.owner.get(&kraken.path("/roster?q=%D9%85%D8%AD%D9%85%D8%AF")).await.ok();
        assert_eq!(first_names(&found), ["محمد"]);
        // A team may wear 0, 00 and letters; they are told apart as they are written.
        for (number, name) in [("0", "A"), ("00", "B"), ("7b", "C")] {
            let made = add(w, &kraken, json!({ "first_name": name, "jersey_number": number })).await;
            assert_eq!(made.data()["jersey_number"], number);
        }
    }

    async fn private_members_are_kept_as_they_are_given(w: &World) {
        let kraken = team(w, "Kraken").await;
        let note = "🩺 é\n".repeat(2_500).trim().to_owned() + "!";
        let body = json!({ "first_name": "Ana", "birth_date": "2012-02-29", "medical_note": note,
            "address": "Rua 1\n4000 Porto", "emergency_contact": "Vó Té\t912" });
        let ana = add(w, &kraken, body).await;
        assert_eq!(ana.data()["birth_date"], "2012-02-29");
        assert_eq!(ana.data()["medical_note"], note);
        assert_eq!(ana.data()["address"], "Rua 1\n4000 Porto");
        let long = json!({ "medical_note": "x".repeat(10_000) });
        w.owner.patch(&at(&ana), long).await.ok();
        for (phone, normalized) in [("+351 912-345-678", json!("+351912345678")),
            ("(0351) 912", json!("0351912")), ("ask grandma", Value::Null), ("00351 91", json!("+35191"))] {
            let changed = w.owner.patch(&at(&ana), json!({ "phone": phone })).await.ok();
            assert_eq!(changed.data()["phone"], phone);
            assert_eq!(changed.data()["phone_normalized"], normalized, "{phone}");
        }
    }

    async fn every_fault_is_told_at_once(w: &World) {
        let kraken = team(w, "Kraken").await;
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        let wrong = json!({
            "first_name": "", "last_name": "x".repeat(121), "preferred_name": 7,
            "birth_date": "2023-02-29", "email": "ana", "phone": "1".repeat(41),
            "address": "x".repeat(501), "emergency_contact": [], "medical_note": "x".repeat(10_001),
            "role": "captain", "jersey_number": "x".repeat(11), "positions": ["", "x".repeat(61)],
            "status": "removed", "joined_on": "tomorrow", "left_on": 3, "external_id": "\u{7}",
            "metadata": { "a": 1 },
            "guardians": [{ "last_name": "x", "relationship": "x".repeat(61), "may_pick_up": 1 }, 5],
        });
        let told = [("/first_name", "empty"), ("/last_name", "too_long"), ("/preferred_name", "wrong_type"),
            ("/birth_date", "invalid_date"), ("/email", "invalid_email"), ("/phone", "too_long"),
            ("/address", "too_long"), ("/emergency_contact", "wrong_type"), ("/medical_note", "too_long"),
            ("/role", "unknown_value"), ("/jersey_number", "too_long"), ("/positions/0", "empty"),
            ("/positions/1", "too_long"), ("/status", "unknown_value"), ("/joined_on", "invalid_date"),
            ("/left_on", "wrong_type"), ("/external_id", "control_character"), ("/metadata/a", "wrong_type"),
            ("/guardians/0/first_name", "required"), ("/guardians/0/relationship", "too_long"),
            ("/guardians/0/may_pick_up", "wrong_type"), ("/guardians/1", "wrong_type")];
        let made = w.owner.post(&kraken.path("/roster"), wrong.clone()).await;
        let changed = w.owner.patch(&at(&ana), wrong).await;
        for refused in [made, changed] {
            assert_eq!(faults(&refused.refused(422, "validation_failed")), told);
        }
        let post = async |body: Value| w.owner.post(&kraken.path("/roster"), body).await;
        let refused = post(json!({})).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/first_name", "required")]);
        for (day, code) in [("1899-12-31", "out_of_range"), ("2026-09-06", "in_the_future")] {
            let refused = post(json!({ "first_name": "A", "birth_date": day })).await;
            assert_eq!(faults(&refused.refused(422, "validation_failed")), [("/birth_date", code)]);
        }
        for day in ["1900-01-01", "2026-09-05"] {
            post(json!({ "first_name": "A", "birth_date": day })).await.created();
        }
        let dates = json!({ "first_name": "A", "joined_on": "2026-02-01", "left_on": "2026-01-31" });
        let refused = post(dates).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/left_on", "before_joined_on")]);
        let many = json!({ "first_name": "A", "positions": vec!["x"; 11],
            "guardians": vec![json!({ "first_name": "G" }); 11] });
        let refused = post(many).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/positions", "too_many"), ("/guardians", "too_many")]);
        let unknown = post(json!({ "first_name": "A", "team_id": kraken.id() })).await;
        assert_eq!(unknown.refused(400, "invalid_parameter").pointers(), ["/team_id"]);
        w.owner.patch(&at(&ana), json!({ "person_id": ana.data()["person_id"] })).await
            .refused(400, "invalid_parameter");
    }

    async fn a_list_shows_what_its_filters_say(w: &World) {
        let kraken = team(w, "Kraken").await;
        let hydra = team(w, "Hydra").await;
        let body = |name: &str, role: &str, status: &str, id: &str| {
            json!({ "first_name": name, "last_name": "Éxample", "role": role, "status": status, "external_id": id })
        };
        add(w, &kraken, body("Ana", "player", "active", "a")).await;
        add(w, &kraken, body("Bea", "player", "injured", "b")).await;
        add(w, &kraken, body("Cy", "coach", "inactive", "c")).await;
        let dora = add(w, &kraken, body("Dora", "player", "active", "d")).await;
        add(w, &hydra, json!({ "first_name": "Else", "preferred_name": "Nini" })).await;
        w.owner.delete(&at(&dora)).await.ok();
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
            refused.refused(400, "invalid_parameter");
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
        w.owner.get("/teams/team_01kbm2x5q8f7vr0n3hd9tzc4wy/roster").await.refused(404, "not_found");
    }

    async fn a_member_is_found_on_their_own_team_only(w: &World) {
        let kraken = team(w, "Kraken").await;
        let hydra = team(w, "Hydra").await;
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        let elsewhere = hydra.path(&format!("/roster/{}", ana.id()));
        w.owner.get(&elsewhere).await.refused(404, "not_found");
        w.owner.patch(&elsewhere, json!({ "role": "coach" })).await.refused(404, "not_found");
        w.owner.delete(&elsewhere).await.refused(404, "not_found");
        w.stranger.get(&at(&ana)).await.refused(404, "not_found");
        w.stranger.patch(&at(&ana), json!({ "role": "coach" })).await.refused(404, "not_found");
        w.stranger.get(&person(&ana)).await.refused(404, "not_found");
        assert_eq!(w.owner.get(&at(&ana)).await.ok().data()["version"], 1);
    }

    async fn nobody_joins_leaves_or_changes_on_an_archived_team(w: &World) {
        let kraken = team(w, "Kraken").await;
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        w.owner.delete(&kraken.path("")).await.ok();
        let post = w.owner.post(&kraken.path("/roster"), json!({ "first_name": "Bea" })).await;
        post.refused(409, "invalid_state");
        w.owner.patch(&at(&ana), json!({ "role": "coach" })).await.refused(409, "invalid_state");
        w.owner.delete(&at(&ana)).await.refused(409, "invalid_state");
        let batch = json!({ "members": [{ "team_id": kraken.id(), "first_name": "Bea" }] });
        let refused = w.owner.post("/roster/batch", batch).await.refused(409, "invalid_state");
        assert_eq!(refused.pointers(), ["/members/0/team_id"]);
        assert_eq!(first_names(&w.owner.get(&kraken.path("/roster")).await.ok()), ["Ana"]);
        w.owner.get(&at(&ana)).await.ok();
    }

    async fn the_team_knows_how_many_are_on_its_roster(w: &World) {
        let kraken = team(w, "Kraken").await;
        assert_eq!(roster_count(w, &kraken).await, (0, 1));
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        add(w, &kraken, json!({ "first_name": "Bea", "status": "inactive" })).await;
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        w.owner.patch(&at(&ana), json!({ "status": "injured" })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        w.owner.patch(&at(&ana), json!({ "status": "inactive" })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (0, 3));
        w.owner.patch(&at(&ana), json!({ "status": null })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (1, 4));
        w.owner.delete(&at(&ana)).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (0, 5));
        // Renaming the team leaves the count alone.
        w.owner.patch(&kraken.path(""), json!({ "name": "Krakens" })).await.ok();
        assert_eq!(roster_count(w, &kraken).await, (0, 6));
    }

    async fn two_active_players_never_wear_one_number_where_the_team_says_so(w: &World) {
        let body = json!({ "name": "Kraken", "unique_jerseys": true });
        let kraken = w.owner.post("/teams", body).await.created();
        let wears = |name: &str, number: &str| json!({ "first_name": name, "jersey_number": number });
        let ana = add(w, &kraken, wears("Ana", "7")).await;
        let refused = w.owner.post(&kraken.path("/roster"), wears("Bea", "7")).await;
        assert_eq!(faults(&refused.refused(409, "taken")), [("/jersey_number", "taken")]);
        add(w, &kraken, wears("Cy", "07")).await;
        let coach = json!({ "first_name": "Dora", "jersey_number": "7", "role": "coach" });
        let dora = add(w, &kraken, coach).await;
        let hurt = json!({ "first_name": "Else", "jersey_number": "7", "status": "injured" });
        let hurt = add(w, &kraken, hurt).await;
        // Whatever would bring two together is refused; whatever else is changed is not.
        w.owner.patch(&at(&dora), json!({ "role": "player" })).await.refused(409, "taken");
        w.owner.patch(&at(&hurt), json!({ "status": "active" })).await.refused(409, "taken");
        w.owner.patch(&at(&hurt), json!({ "last_name": "x" })).await.ok();
        w.owner.patch(&at(&ana), json!({ "jersey_number": "7", "last_name": "y" })).await.ok();
        w.owner.delete(&at(&ana)).await.ok();
        w.owner.patch(&at(&hurt), json!({ "status": "active" })).await.ok();
    }

    async fn a_clash_from_before_the_rule_blocks_nothing_else(w: &World) {
        let kraken = team(w, "Kraken").await;
        let wears = |name: &str| json!({ "first_name": name, "jersey_number": "7" });
        let ana = add(w, &kraken, wears("Ana")).await;
        let bea = add(w, &kraken, wears("Bea")).await;
        w.owner.patch(&kraken.path(""), json!({ "unique_jerseys": true })).await.ok();
        w.owner.patch(&at(&ana), json!({ "positions": ["wing"], "jersey_number": "7" })).await.ok();
        w.owner.patch(&at(&bea), json!({ "status": "injured" })).await.ok();
        w.owner.patch(&at(&bea), json!({ "status": "active" })).await.refused(409, "taken");
        w.owner.patch(&at(&bea), json!({ "status": "active", "jersey_number": "8" })).await.ok();
    }

    async fn of_fifty_who_want_one_number_one_gets_it(w: &World) {
        let body = json!({ "name": "Kraken", "unique_jerseys": true });
        let kraken = w.owner.post("/teams", body).await.created();
        let path = kraken.path("/roster");
        let crowd = (0..50).map(|n| {
            w.owner.post(&path, json!({ "first_name": format!("P{n}"), "jersey_number": "10" }))
        });
        let answers = join_all(crowd).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        for refused in answers.into_iter().filter(|answer| answer.status != 201) {
            assert_eq!(refused.refused(409, "taken").pointers(), ["/jersey_number"]);
        }
        assert_eq!((w.count("member").await, w.count("person").await), (1, 1));
        assert_eq!(roster_count(w, &kraken).await, (1, 2));
        verifies(w).await;
    }

    async fn an_external_id_is_used_once_in_an_account(w: &World) {
        let kraken = team(w, "Kraken").await;
        let hydra = team(w, "Hydra").await;
        let ana = add(w, &kraken, json!({ "first_name": "Ana", "external_id": "fed-1" })).await;
        let again = json!({ "first_name": "Bea", "external_id": "fed-1" });
        let refused = w.owner.post(&hydra.path("/roster"), again).await;
        assert_eq!(faults(&refused.refused(409, "taken")), [("/external_id", "taken")]);
        let bea = add(w, &hydra, json!({ "first_name": "Bea", "external_id": "fed-2" })).await;
        let refused = w.owner.patch(&at(&bea), json!({ "external_id": "fed-1" })).await;
        assert_eq!(refused.refused(409, "taken").pointers(), ["/external_id"]);
        w.owner.patch(&at(&ana), json!({ "external_id": "fed-1", "role": "coach" })).await.ok();
    }

    async fn tags_are_versions_and_retries_change_nothing(w: &World) {
        let kraken = team(w, "Kraken").await;
        let once = w.owner.with("Idempotency-Key", "ana");
        let body = json!({ "first_name": "Ana", "medical_note": "nuts" });
        let ana = once.post(&kraken.path("/roster"), body.clone()).await.created();
        let again = once.post(&kraken.path("/roster"), body).await.created();
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.data(), ana.data());
        assert_eq!(w.count("member").await, 1);
        let change = json!({ "role": "coach" });
        let stale = w.owner.with("If-Match", "\"7\"");
        stale.patch(&at(&ana), change.clone()).await.refused(412, "precondition_failed");
        stale.delete(&at(&ana)).await.refused(412, "precondition_failed");
        w.owner.with("If-Match", "\"1\"").patch(&at(&ana), change).await.ok();
        let known = w.owner.with("If-None-Match", "\"2\"").get(&at(&ana)).await;
        assert_eq!((known.status, known.text.as_str()), (304, ""));
    }

    async fn a_change_that_changes_nothing_tells_nobody(w: &World) {
        let kraken = team(w, "Kraken").await;
        let body = json!({ "first_name": "Ana", "email": "a@x.org", "jersey_number": "7",
            "guardians": [{ "first_name": "Rita", "relationship": "mother", "email": "r@x.org" }] });
        let ana = add(w, &kraken, body.clone()).await;
        w.pass(seconds(5));
        let before = w.news().await.len();
        let same = w.owner.patch(&at(&ana), body).await.ok();
        assert_eq!(same.data(), ana.data());
        let guardians = ana.data()["guardians"].clone();
        let same = w.owner.patch(&at(&ana), json!({ "guardians": guardians })).await.ok();
        assert_eq!(same.data(), ana.data());
        assert_eq!(w.owner.patch(&at(&ana), json!({})).await.ok().data(), ana.data());
        let person = w.owner.get(&person(&ana)).await.ok();
        assert_eq!(person.data()["version"], 1);
        w.owner.patch(&format!("/people/{}", person.id()), json!({ "first_name": "Ana", "wants_email": true })).await.ok();
        assert_eq!(w.news().await.len(), before);
        assert_eq!(w.count("person").await, 2);
    }

    async fn a_key_narrowed_to_a_team_sees_no_other(w: &World) {
        let kraken = team(w, "Kraken").await;
        let hydra = team(w, "Hydra").await;
        let ana = add(w, &kraken, json!({ "first_name": "Ana" })).await;
        let bea = add(w, &hydra, json!({ "first_name": "Bea" })).await;
        let caller = narrowed(w, &kraken).await;
        caller.get(&at(&ana)).await.ok();
        caller.patch(&at(&ana), json!({ "role": "coach" })).await.ok();
        caller.get(&hydra.path("/roster")).await.refused(404, "not_found");
        caller.get(&at(&bea)).await.refused(404, "not_found");
        caller.patch(&at(&bea), json!({ "role": "coach" })).await.refused(404, "not_found");
        caller.delete(&at(&bea)).await.refused(404, "not_found");
        caller.post(&hydra.path("/roster"), json!({ "first_name": "C" })).await.refused(404, "not_found");
        let batch = json!({ "members": [{ "team_id": hydra.id(), "first_name": "C" }] });
        let refused = caller.post("/roster/batch", batch).await.refused(422, "validation_failed");
        assert_eq!(faults(&refused), [("/members/0/team_id", "not_found")]);
    }
}
