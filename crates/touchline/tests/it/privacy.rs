//! Stories about what is held of a person: handed over whole, and erased everywhere.

use store::Scope;
use testkit::{Answer, Value, World, both, json};

use crate::roster::{add, audit, team};

/// A child of whom everything is known, under names that can be looked for.
fn marked() -> Value {
    json!({ "first_name": "Zorblax", "last_name": "Quimby", "preferred_name": "Zorbie", "birth_date": "2015-06-05",
        "email": "zorblax@example.org", "phone": "555 0199", "address": "7 Zorblax Street",
        "emergency_contact": "Aunt Zorblaxa", "medical_note": "Zorblax is allergic to bees", "jersey_number": "77",
        "external_id": "zorblax-1", "metadata": { "nick": "Zorblax" },
        "guardians": [{ "first_name": "Grizelda", "last_name": "Quimby", "email": "grizelda@example.org" }] })
}

const MARKS: [&str; 6] = ["orblax", "ORBLAX", "Quimby", "quimby", "rizelda", "Zorbie"];

fn person(member: &Answer, below: &str) -> String {
    format!("/people/{}{below}", member.data()["person_id"].as_str().expect("a person"))
}

/// Every row of every table in which a text stands that tells who somebody is.
async fn mentions(w: &World) -> Vec<String> {
    let db = w.db();
    db.read(Scope::system("test"), |db| {
        let mut found = Vec::new();
        for table in db.tables()? {
            db.rows(&table, |row| {
                let text = format!("{row:?}");
                if MARKS.iter().any(|mark| text.contains(mark)) {
                    found.push(format!("{}: {text}", table.name));
                }
                Ok(())
            })?;
        }
        Ok::<_, store::Error>(found)
    })
    .await
    .expect("the tables can be read")
}

/// A child who has answered, is written to, has a calendar, and whose data was sent with a key.
async fn lived(w: &World) -> (Answer, Answer) {
    let hawks = team(w, "Hawks").await;
    let once = w.owner.with("Idempotency-Key", "once");
    let child = once.post(&hawks.path("/roster"), marked()).await.created();
    add(w, &hawks, json!({ "first_name": "Bo", "role": "coach", "birth_date": "1980-01-01" }))
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
    async fn an_erased_person_is_nowhere_to_be_found(w: &World) {
        let (hawks, child) = lived(w).await;
        assert!(mentions(w).await.len() > 5);
        let erased = w.owner.post(&person(&child, "/erase"), json!({})).await.ok();
        assert_eq!(erased.data()["first_name"], "Erased");
        assert_eq!(erased.data()["email"], Value::Null);
        assert!(erased.data()["erased_at"].is_string());
        assert_eq!(mentions(w).await, Vec::<String>::new());
        // Both logs still prove that nothing is missing, and the history still says that somebody was there.
        let scope = Scope::account(w.harbour, "test");
        assert_eq!(w.db().read(scope, touchline::signals::verify).await.unwrap(), None);
        let all = w.owner.get(&hawks.path("/roster?status=all")).await.ok();
        assert_eq!(all.data()[0]["first_name"], "Erased");
        assert_eq!(all.data()[0]["status"], "removed");
        w.owner.post(&person(&child, "/erase"), json!({})).await.refused(409, "invalid_state");
        assert!(audit(w).await.iter().any(|entry| entry.action == "person.erased"));
    }

    async fn an_erased_person_comes_back_neither_as_a_replay_nor_by_a_late_retry(w: &World) {
        let (hawks, child) = lived(w).await;
        let once = w.owner.with("Idempotency-Key", "once");
        let again = once.post(&hawks.path("/roster"), marked()).await.created();
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        w.owner.post(&person(&child, "/erase"), json!({})).await.ok();
        let late = once.post(&hawks.path("/roster"), marked()).await.created();
        assert_eq!(late.header("idempotent-replayed"), Some("true"));
        assert_eq!((late.id(), &late.data()["first_name"]), (child.id(), &json!("Erased")));
        assert!(MARKS.iter().all(|mark| !late.text.contains(mark)), "{}", late.text);
    }

    async fn everything_held_is_handed_over(w: &World) {
        let (_, child) = lived(w).await;
        let dossier = w.owner.get(&person(&child, "/export")).await.ok();
        let text = dossier.text.as_str();
        for part in ["Zorbie", "zorblax@example.org", "7 Zorblax Street", "allergic to bees", "Grizelda", "has a fever", "\"77\""] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(dossier.data()["object"], "dossier");
        assert_eq!(dossier.data()["events"]["calendar_feeds"].as_array().unwrap().len(), 1);
        assert_eq!(dossier.data()["messages"]["receipts"].as_array().unwrap().len(), 1);
        let told = audit(w).await.into_iter().filter(|entry| entry.action == "person.exported").count();
        assert_eq!(told, 1);
        w.owner.get(&person(&child, "/export")).await.ok();
        let told = audit(w).await.into_iter().filter(|entry| entry.action == "person.exported").count();
        assert_eq!(told, 2);
    }

    async fn strangers_and_narrowed_keys_erase_nobody(w: &World) {
        let (hawks, child) = lived(w).await;
        w.stranger.post(&person(&child, "/erase"), json!({})).await.refused(404, "not_found");
        w.stranger.get(&person(&child, "/export")).await.refused(404, "not_found");
        w.reader.post(&person(&child, "/erase"), json!({})).await.refused(403, "insufficient_scope");
        let mut new = testkit::world::new_key("roster:read roster:write");
        new.team_ids = Some(vec![hawks.id().parse().unwrap()]);
        let (_, narrowed) = w.caller(new).await;
        narrowed.get(&person(&child, "/export")).await.refused(403, "forbidden");
        narrowed.post(&person(&child, "/erase"), json!({})).await.refused(403, "forbidden");
        let shown = w.owner.get(&person(&child, "")).await.ok();
        assert_eq!(shown.data()["preferred_name"], "Zorbie");
    }

    async fn an_export_shows_what_the_keys_scopes_read(w: &World) {
        let (_, child) = lived(w).await;
        let (_, roster_only) = w.caller(testkit::world::new_key("roster:read")).await;
        let part = roster_only.get(&person(&child, "/export")).await.ok();
        assert!(part.data()["roster"].is_object());
        for section in ["events", "messages", "mail"] {
            assert_eq!(part.data()[section], Value::Null);
        }
        assert!(!part.text.contains("has a fever"));
    }

    async fn a_change_is_no_way_to_read_what_one_may_not_read(w: &World) {
        let (hawks, child) = lived(w).await;
        let (_, writer) = w.caller(testkit::world::new_key("roster:write")).await;
        let other = team(w, "Owls").await;
        let place = format!("/teams/{}/roster/{}", hawks.id(), child.id());
        let again = json!({ "person_id": child.data()["person_id"] });
        let answers = [
            writer.patch(&person(&child, ""), json!({})).await.ok(),
            writer.patch(&place, json!({ "jersey_number": "9" })).await.ok(),
            writer.post(&other.path("/roster"), again).await.created(),
            writer.delete(&place).await.ok(),
        ];
        for answer in answers {
            for private in ["allergic to bees", "zorblax@example.org", "rizelda", "555 0199", "2015-06-05", "Zorblax Street"] {
                assert!(!answer.text.contains(private), "{private}: {}", answer.text);
            }
        }
    }

    async fn a_note_that_goes_out_with_a_change_leaves_a_trace(w: &World) {
        let looks = async || audit(w).await.into_iter().filter(|entry| entry.action == "roster.medical_read").count();
        let (hawks, child) = lived(w).await;
        let place = format!("/teams/{}/roster/{}", hawks.id(), child.id());
        let before = looks().await;
        w.owner.patch(&place, json!({})).await.ok();
        w.owner.patch(&person(&child, ""), json!({ "phone": null })).await.ok();
        assert_eq!(looks().await, before + 2);
        // Whoever writes a note knows it.
        w.owner.patch(&place, json!({ "medical_note": "None" })).await.ok();
        assert_eq!(looks().await, before + 2);
        let once = w.owner.with("Idempotency-Key", "once");
        once.post(&hawks.path("/roster"), marked()).await.created();
        assert!(audit(w).await.iter().any(|entry| entry.action == "request.replayed"));
    }

    async fn an_answer_is_not_repeated_to_a_key_with_other_rights(w: &World) {
        let (hawks, child) = lived(w).await;
        let other = team(w, "Owls").await;
        let mut new = testkit::world::new_key("roster:read roster:write events:write messages:write");
        new.team_ids = Some(vec![other.id().parse().unwrap()]);
        let (_, narrowed) = w.caller(new).await;
        let (_, writer) = w.caller(testkit::world::new_key("roster:write events:write messages:write")).await;
        let requests = [
            ("POST", "/messages".to_owned(), json!({ "team_id": hawks.id(), "kind": "announcement", "subject": "S", "body": "B" })),
            ("POST", "/calendar_feeds".to_owned(), json!({ "team_id": hawks.id() })),
            ("PATCH", person(&child, ""), json!({ "phone": "555" })),
        ];
        for (number, (method, path, body)) in requests.into_iter().enumerate() {
            let key = format!("key-{number}");
            let first = w.owner.with("Idempotency-Key", &key).send(method, &path, Some(&body.to_string())).await;
            assert!(first.status < 300, "{}", first.text);
            for stranger in [&narrowed, &writer] {
                let refused = stranger.with("Idempotency-Key", &key).send(method, &path, Some(&body.to_string())).await;
                refused.refused(422, "idempotency_key_reused");
            }
            let again = w.owner.with("Idempotency-Key", &key).send(method, &path, Some(&body.to_string())).await;
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
        }
    }

    async fn who_has_left_a_team_is_no_longer_shown_in_full_to_its_keys(w: &World) {
        let (hawks, child) = lived(w).await;
        let other = team(w, "Owls").await;
        add(w, &other, json!({ "person_id": child.data()["person_id"] })).await;
        let mut new = testkit::world::new_key("roster:read roster:write");
        new.team_ids = Some(vec![hawks.id().parse().unwrap()]);
        let (_, narrowed) = w.caller(new).await;
        let place = format!("/teams/{}/roster/{}", hawks.id(), child.id());
        assert!(narrowed.get(&place).await.ok().text.contains("allergic to bees"));
        assert!(!narrowed.delete(&place).await.ok().text.contains("allergic to bees"));
        w.owner.patch(&person(&child, ""), json!({ "address": "Somewhere new" })).await.ok();
        assert!(!narrowed.get(&place).await.ok().text.contains("Somewhere new"));
        let listed = narrowed.get(&hawks.path("/roster?status=all&include=private")).await.ok();
        assert!(!listed.text.contains("Somewhere new") && !listed.text.contains("allergic to bees"));
        let file = narrowed.get("/exports/roster.csv?removed=true&include=private").await.ok();
        assert!(file.text.contains("Quimby") && !file.text.contains("Somewhere new") && !file.text.contains("allergic to bees"));
        assert!(!file.text.contains("rizelda"), "{}", file.text);
        narrowed.get(&person(&child, "")).await.refused(404, "not_found");
        narrowed.patch(&person(&child, ""), json!({ "email": null })).await.refused(404, "not_found");
    }

    async fn nothing_of_an_erased_person_is_left_in_the_files_of_sqlite(w: &World) {
        let Some(file) = w.database.url.strip_prefix("sqlite:") else { return };
        let held = || {
            let files = [file.to_owned(), format!("{file}-wal")];
            let bytes = files.iter().flat_map(|file| std::fs::read(file).unwrap_or_default()).collect::<Vec<_>>();
            MARKS.iter().filter(|mark| bytes.windows(mark.len()).any(|part| part == mark.as_bytes())).count()
        };
        let (_, child) = lived(w).await;
        assert!(held() > 0);
        w.owner.post(&person(&child, "/erase"), json!({})).await.ok();
        w.db().scrub().await;
        assert_eq!(held(), 0);
    }

    async fn what_an_erased_author_meant_to_say_is_not_replayed(w: &World) {
        let hawks = team(w, "Hawks").await;
        let coach = add(w, &hawks, json!({ "first_name": "Bo", "role": "coach", "birth_date": "1980-01-01" })).await;
        add(w, &hawks, json!({ "first_name": "Cy", "role": "coach", "birth_date": "1981-01-01" })).await;
        let once = w.owner.with("Idempotency-Key", "later");
        let body = json!({ "team_id": hawks.id(), "kind": "announcement", "subject": "Soon", "body": "A secret plan",
            "publish_at": "2026-10-01T12:00:00Z", "on_behalf_of": coach.data()["person_id"] });
        once.post("/messages", body.clone()).await.created();
        w.owner.post(&person(&coach, "/erase"), json!({})).await.ok();
        let late = once.post("/messages", body).await.created();
        assert_eq!(late.header("idempotent-replayed"), Some("true"));
        assert!(!late.text.contains("secret plan") && !late.text.contains("Soon"), "{}", late.text);
    }
}
