//! Tests of personal data: complete export and erasure everywhere.

use store::Scope;
use testkit::{TestResponse, Value, World, both, json};

use crate::roster::{add_member, audit_entries, create_team};

/// A child with every field set, under names that can be searched for.
fn child_body() -> Value {
    json!({ "first_name": "Zorblax", "last_name": "Quimby", "preferred_name": "Zorbie", "birth_date": "2015-06-05",
        "email": "zorblax@example.org", "phone": "555 0199", "address": "7 Zorblax Street",
        "emergency_contact": "Aunt Zorblaxa", "medical_note": "Zorblax is allergic to bees", "jersey_number": "77",
        "external_id": "zorblax-1", "metadata": { "nick": "Zorblax" },
        "guardians": [{ "first_name": "Grizelda", "last_name": "Quimby", "email": "grizelda@example.org" }] })
}

const MARKS: [&str; 6] = ["orblax", "ORBLAX", "Quimby", "quimby", "rizelda", "Zorbie"];

fn person(member: &TestResponse, below: &str) -> String {
    format!("/people/{}{below}", member.data()["person_id"].as_str().expect("a person"))
}

/// Every row in the database that contains one of the marks.
async fn mentions(w: &World) -> Vec<String> {
    let db = w.db();
    db.read(Scope::system("test"), |db| {
        let mut matches = Vec::new();
        for table in db.tables()? {
            db.rows(&table, |row| {
                let text = format!("{row:?}");
                if MARKS.iter().any(|mark| text.contains(mark)) {
                    matches.push(format!("{}: {text}", table.name));
                }
                Ok(())
            })?;
        }
        Ok::<_, store::Error>(matches)
    })
    .await
    .expect("the tables can be read")
}

/// Creates a child with an RSVP, a message, a calendar feed and an idempotent request.
async fn child_with_history(w: &World) -> (TestResponse, TestResponse) {
    let hawks = create_team(w, "Hawks").await;
    let with_key = w.owner.with_header("Idempotency-Key", "once");
    let child = with_key.post(&hawks.path("/roster"), child_body()).await.created();
    add_member(
        w,
        &hawks,
        json!({ "first_name": "Bo", "role": "coach", "birth_date": "1980-01-01" }),
    )
    .await;
    w.owner
        .patch(
            &format!("/teams/{}/roster/{}", hawks.id(), child.id()),
            json!({ "last_name": "Quimby-Zorblax" }),
        )
        .await
        .ok();
    let event = w
        .owner
        .post(
            "/events",
            json!({ "team_id": hawks.id(), "type": "practice", "starts_at": "2026-10-01T18:00" }),
        )
        .await
        .created();
    let answer = json!({ "answer": "no", "note": "Zorblax has a fever" });
    w.owner.put(&format!("/events/{}/rsvps/{}", event.id(), child.id()), answer).await.ok();
    w.confirm_guardians(child.data()["person_id"].as_str().expect("a person")).await;
    w.owner.post("/messages", json!({ "team_id": hawks.id(), "kind": "announcement", "subject": "Hello", "body": "All" })).await.created();
    let feed = json!({ "person_id": child.data()["person_id"], "name": "Zorblax" });
    w.owner.post("/calendar_feeds", feed).await.created();
    (hawks, child)
}

both! {
    async fn erasing_removes_a_person_from_every_table(w: &World) {
        let (hawks, child) = child_with_history(w).await;
        assert!(mentions(w).await.len() > 5);
        let erased = w.owner.post(&person(&child, "/erase"), json!({})).await.ok();
        assert_eq!(erased.data()["first_name"], "Erased");
        assert_eq!(erased.data()["email"], Value::Null);
        assert!(erased.data()["erased_at"].is_string());
        assert_eq!(mentions(w).await, Vec::<String>::new());
        // Both logs still verify, and the history still shows that there was somebody.
        let scope = Scope::account(w.harbour, "test");
        assert_eq!(w.db().read(scope, touchline::signals::verify).await.unwrap(), None);
        let roster = w.owner.get(&hawks.path("/roster?status=all")).await.ok();
        assert_eq!(roster.data()[0]["first_name"], "Erased");
        assert_eq!(roster.data()[0]["status"], "removed");
        w.owner.post(&person(&child, "/erase"), json!({})).await.assert_problem(409, "invalid_state");
        assert!(audit_entries(w).await.iter().any(|entry| entry.action == "person.erased"));
    }

    async fn replay_does_not_reveal_an_erased_person(w: &World) {
        let (hawks, child) = child_with_history(w).await;
        let with_key = w.owner.with_header("Idempotency-Key", "once");
        let replayed = with_key.post(&hawks.path("/roster"), child_body()).await.created();
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        w.owner.post(&person(&child, "/erase"), json!({})).await.ok();
        let retried = with_key.post(&hawks.path("/roster"), child_body()).await.created();
        assert_eq!(retried.header("idempotent-replayed"), Some("true"));
        assert_eq!((retried.id(), &retried.data()["first_name"]), (child.id(), &json!("Erased")));
        assert!(MARKS.iter().all(|mark| !retried.text.contains(mark)), "{}", retried.text);
    }

    async fn export_contains_all_personal_data(w: &World) {
        let (_, child) = child_with_history(w).await;
        let export = w.owner.get(&person(&child, "/export")).await.ok();
        let text = export.text.as_str();
        for part in ["Zorbie", "zorblax@example.org", "7 Zorblax Street", "allergic to bees", "Grizelda", "has a fever", "\"77\""] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(export.data()["object"], "person_export");
        assert_eq!(export.data()["events"]["calendar_feeds"].as_array().unwrap().len(), 1);
        assert_eq!(export.data()["messages"]["receipts"].as_array().unwrap().len(), 1);
        let exports = audit_entries(w).await.into_iter().filter(|entry| entry.action == "person.exported").count();
        assert_eq!(exports, 1);
        w.owner.get(&person(&child, "/export")).await.ok();
        let exports = audit_entries(w).await.into_iter().filter(|entry| entry.action == "person.exported").count();
        assert_eq!(exports, 2);
    }

    async fn strangers_and_team_keys_cannot_export_or_erase(w: &World) {
        let (hawks, child) = child_with_history(w).await;
        w.stranger.post(&person(&child, "/erase"), json!({})).await.assert_problem(404, "not_found");
        w.stranger.get(&person(&child, "/export")).await.assert_problem(404, "not_found");
        w.reader.post(&person(&child, "/erase"), json!({})).await.assert_problem(403, "insufficient_scope");
        let mut new = testkit::world::new_key("roster:read roster:write");
        new.team_ids = Some(vec![hawks.id().parse().unwrap()]);
        let (_, team_key) = w.client_with_key(new).await;
        team_key.get(&person(&child, "/export")).await.assert_problem(403, "forbidden");
        team_key.post(&person(&child, "/erase"), json!({})).await.assert_problem(403, "forbidden");
        let shown = w.owner.get(&person(&child, "")).await.ok();
        assert_eq!(shown.data()["preferred_name"], "Zorbie");
    }

    async fn export_contains_only_what_the_scopes_allow(w: &World) {
        let (_, child) = child_with_history(w).await;
        let (_, roster_only) = w.client_with_key(testkit::world::new_key("roster:read")).await;
        let part = roster_only.get(&person(&child, "/export")).await.ok();
        assert!(part.data()["roster"].is_object());
        for section in ["events", "messages", "emails"] {
            assert_eq!(part.data()[section], Value::Null);
        }
        assert!(!part.text.contains("has a fever"));
    }

    async fn write_only_key_gets_no_private_fields_back(w: &World) {
        let (hawks, child) = child_with_history(w).await;
        let (_, writer) = w.client_with_key(testkit::world::new_key("roster:write")).await;
        let other = create_team(w, "Owls").await;
        let path = format!("/teams/{}/roster/{}", hawks.id(), child.id());
        let membership = json!({ "person_id": child.data()["person_id"] });
        let answers = [
            writer.patch(&person(&child, ""), json!({})).await.ok(),
            writer.patch(&path, json!({ "jersey_number": "9" })).await.ok(),
            writer.post(&other.path("/roster"), membership).await.created(),
            writer.delete(&path).await.ok(),
        ];
        for answer in answers {
            for private in ["allergic to bees", "zorblax@example.org", "rizelda", "555 0199", "2015-06-05", "Zorblax Street"] {
                assert!(!answer.text.contains(private), "{private}: {}", answer.text);
            }
        }
    }

    async fn medical_note_in_a_response_is_audited(w: &World) {
        let read_count = async || audit_entries(w).await.into_iter().filter(|entry| entry.action == "roster.medical_read").count();
        let (hawks, child) = child_with_history(w).await;
        let path = format!("/teams/{}/roster/{}", hawks.id(), child.id());
        let before = read_count().await;
        w.owner.patch(&path, json!({})).await.ok();
        w.owner.patch(&person(&child, ""), json!({ "phone": null })).await.ok();
        assert_eq!(read_count().await, before + 2);
        // A caller who writes the note already knows it.
        w.owner.patch(&path, json!({ "medical_note": "None" })).await.ok();
        assert_eq!(read_count().await, before + 2);
        let with_key = w.owner.with_header("Idempotency-Key", "once");
        with_key.post(&hawks.path("/roster"), child_body()).await.created();
        assert!(audit_entries(w).await.iter().any(|entry| entry.action == "request.replayed"));
    }

    async fn does_not_replay_to_a_key_with_other_permissions(w: &World) {
        let (hawks, child) = child_with_history(w).await;
        let other = create_team(w, "Owls").await;
        let mut new = testkit::world::new_key("roster:read roster:write events:write messages:write");
        new.team_ids = Some(vec![other.id().parse().unwrap()]);
        let (_, team_key) = w.client_with_key(new).await;
        let (_, writer) = w.client_with_key(testkit::world::new_key("roster:write events:write messages:write")).await;
        let requests = [
            ("POST", "/messages".to_owned(), json!({ "team_id": hawks.id(), "kind": "announcement", "subject": "S", "body": "B" })),
            ("POST", "/calendar_feeds".to_owned(), json!({ "team_id": hawks.id() })),
            ("PATCH", person(&child, ""), json!({ "phone": "555" })),
        ];
        for (number, (method, path, body)) in requests.into_iter().enumerate() {
            let key = format!("key-{number}");
            let first = w.owner.with_header("Idempotency-Key", &key).send(method, &path, Some(&body.to_string())).await;
            assert!(first.status < 300, "{}", first.text);
            for stranger in [&team_key, &writer] {
                let refused = stranger.with_header("Idempotency-Key", &key).send(method, &path, Some(&body.to_string())).await;
                refused.assert_problem(422, "idempotency_key_reused");
            }
            let again = w.owner.with_header("Idempotency-Key", &key).send(method, &path, Some(&body.to_string())).await;
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
        }
    }

    async fn team_key_sees_no_private_fields_of_former_members(w: &World) {
        let (hawks, child) = child_with_history(w).await;
        let other = create_team(w, "Owls").await;
        add_member(w, &other, json!({ "person_id": child.data()["person_id"] })).await;
        let mut new = testkit::world::new_key("roster:read roster:write");
        new.team_ids = Some(vec![hawks.id().parse().unwrap()]);
        let (_, team_key) = w.client_with_key(new).await;
        let path = format!("/teams/{}/roster/{}", hawks.id(), child.id());
        assert!(team_key.get(&path).await.ok().text.contains("allergic to bees"));
        assert!(!team_key.delete(&path).await.ok().text.contains("allergic to bees"));
        w.owner.patch(&person(&child, ""), json!({ "address": "Somewhere new" })).await.ok();
        assert!(!team_key.get(&path).await.ok().text.contains("Somewhere new"));
        let listed = team_key.get(&hawks.path("/roster?status=all&include=private")).await.ok();
        assert!(!listed.text.contains("Somewhere new") && !listed.text.contains("allergic to bees"));
        let file = team_key.get("/exports/roster.csv?include_removed=true&include=private").await.ok();
        assert!(file.text.contains("Quimby") && !file.text.contains("Somewhere new") && !file.text.contains("allergic to bees"));
        assert!(!file.text.contains("rizelda"), "{}", file.text);
        team_key.get(&person(&child, "")).await.assert_problem(404, "not_found");
        team_key.patch(&person(&child, ""), json!({ "email": null })).await.assert_problem(404, "not_found");
    }

    async fn erasing_leaves_nothing_in_sqlite_files(w: &World) {
        let Some(file) = w.database.url.strip_prefix("sqlite:") else { return };
        let marks_in_files = || {
            let files = [file.to_owned(), format!("{file}-wal")];
            let bytes = files.iter().flat_map(|file| std::fs::read(file).unwrap_or_default()).collect::<Vec<_>>();
            MARKS.iter().filter(|mark| bytes.windows(mark.len()).any(|part| part == mark.as_bytes())).count()
        };
        let (_, child) = child_with_history(w).await;
        assert!(marks_in_files() > 0);
        w.owner.post(&person(&child, "/erase"), json!({})).await.ok();
        w.db().truncate_wal().await;
        assert_eq!(marks_in_files(), 0);
    }

    async fn replay_does_not_reveal_an_erased_authors_message(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let coach = add_member(w, &hawks, json!({ "first_name": "Bo", "role": "coach", "birth_date": "1980-01-01" })).await;
        add_member(w, &hawks, json!({ "first_name": "Cy", "role": "coach", "birth_date": "1981-01-01" })).await;
        let with_key = w.owner.with_header("Idempotency-Key", "later");
        let body = json!({ "team_id": hawks.id(), "kind": "announcement", "subject": "Soon", "body": "A secret plan",
            "publish_at": "2026-10-01T12:00:00Z", "on_behalf_of": coach.data()["person_id"] });
        with_key.post("/messages", body.clone()).await.created();
        w.owner.post(&person(&coach, "/erase"), json!({})).await.ok();
        let replayed = with_key.post("/messages", body).await.created();
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        assert!(!replayed.text.contains("secret plan") && !replayed.text.contains("Soon"), "{}", replayed.text);
    }
}
