//! Tests of private roster data: notifications, audit and erasure.

use store::Scope;
use testkit::{TestResponse, Value, World, both, json};
use touchline::ids::PersonId;
use touchline::roster::{guardian, member, person as people};

use crate::roster::{
    add_member, audit_entries, create_team, event_types_from, first_names, member_path, person_path,
};

/// A member with a searchable mark in every private field.
fn marked_body(name: &str) -> Value {
    json!({ "first_name": name, "birth_date": "1987-06-05", "email": "MARKER@example.org", "phone": "MARKER 1",
        "address": "MARKER 2", "emergency_contact": "MARKER 3", "medical_note": "MARKER 4",
        "guardians": [{ "first_name": "MARKERgf", "last_name": "MARKERgl", "relationship": "MARKER 5",
            "email": "MARKER6@example.org", "phone": "MARKER 7" }] })
}

/// Audit entries for reads of medical notes: subject and the ids read.
async fn medical_reads(w: &World) -> Vec<(String, Value)> {
    let entries =
        audit_entries(w).await.into_iter().filter(|entry| entry.action == "roster.medical_read");
    let details = |text: Option<String>| serde_json::from_str(&text.unwrap()).unwrap();
    entries.map(|entry| (entry.subject, details(entry.details))).collect()
}

fn person_id(member: &TestResponse) -> PersonId {
    member.data()["person_id"].as_str().unwrap().parse().unwrap()
}

async fn erase(w: &World, member: &TestResponse) -> touchline::error::Result<()> {
    let id = person_id(member);
    let erased = w.db().write(Scope::account(w.harbour, "test"), move |tx| people::erase(tx, id));
    erased.await.map(drop)
}

both! {
    async fn notifications_and_audit_contain_nothing_private(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let ana = add_member(w, &kraken, marked_body("Ana")).await;
        add_member(w, &hydra, json!({ "person_id": ana.data()["person_id"], "role": "coach" })).await;
        let mut other = marked_body("Bea");
        other["team_id"] = json!(kraken.id());
        other["email"] = json!("MARKER8@example.org");
        w.owner.post("/roster/batch", json!({ "members": [other] })).await.created();
        let change = json!({ "birth_date": "1987-06-06", "phone": "MARKER 9", "medical_note": "MARKER 10",
            "guardians": [{ "first_name": "MARKERx", "email": "MARKER11@example.org" }] });
        w.owner.patch(&member_path(&ana), change).await.ok();
        w.owner.patch(&person_path(&ana), json!({ "address": "MARKER 12", "first_name": "Anna" })).await.ok();
        w.owner.get(&member_path(&ana)).await.ok();
        w.owner.get(&kraken.path("/roster?include=private")).await.ok();
        w.owner.get("/people?include=private").await.ok();
        w.owner.delete(&member_path(&ana)).await.ok();
        let notifications = serde_json::to_string(&w.notifications().await).unwrap();
        let entries: Vec<_> = audit_entries(w).await.into_iter().map(|entry| format!("{entry:?}")).collect();
        assert!(notifications.contains("\"Anna\"") && entries.iter().any(|entry| entry.contains("Anna")));
        for secret in ["MARKER", "marker", "1987-06-0", "medical_note", "guardians", "phone", "birth_date"] {
            assert!(!notifications.contains(secret), "{secret}");
            assert!(entries.iter().all(|entry| !entry.contains(secret)), "{secret}");
        }
    }

    async fn audits_every_read_of_a_medical_note_once(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let ana = add_member(w, &kraken, json!({ "first_name": "Ana", "medical_note": "nuts" })).await;
        let bea = add_member(w, &kraken, json!({ "first_name": "Bea" })).await;
        w.owner.patch(&member_path(&ana), json!({ "medical_note": "bees" })).await.ok();
        w.owner.get(&member_path(&bea)).await.ok();
        w.owner.get(&person_path(&bea)).await.ok();
        w.owner.get(&kraken.path("/roster")).await.ok();
        w.owner.get("/people").await.ok();
        w.owner.get(&kraken.path("/roster?include=private&q=bea")).await.ok();
        assert!(medical_reads(w).await.is_empty());

        let (id, person_id) = (ana.id().to_owned(), ana.data()["person_id"].as_str().unwrap().to_owned());
        // Cached responses are audited too: every read counts, by every caller.
        for _ in 0..3 {
            assert_eq!(w.owner.get(&member_path(&ana)).await.ok().data()["medical_note"], "bees");
        }
        w.owner.get(&person_path(&ana)).await.ok();
        for _ in 0..2 {
            w.owner.get(&kraken.path("/roster?include=private")).await.ok();
        }
        w.owner.get("/people?include=private").await.ok();
        let member = (id.clone(), json!({ "member_ids": [id] }));
        let list = (kraken.id().to_owned(), json!({ "member_ids": [id] }));
        let all = (w.harbour.to_string(), json!({ "person_ids": [person_id] }));
        let one = (person_id.clone(), json!({ "person_ids": [person_id] }));
        assert_eq!(medical_reads(w).await, [member.clone(), member.clone(), member, one, list.clone(), list, all]);
        let entries = audit_entries(w).await;
        let last = entries.last().unwrap();
        assert!(last.actor.starts_with("key_") && last.request.as_deref().unwrap().starts_with("req_"));
    }

    async fn does_not_audit_notes_beyond_the_page(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        add_member(w, &kraken, json!({ "first_name": "Ana" })).await;
        let bea = add_member(w, &kraken, json!({ "first_name": "Bea", "medical_note": "nuts" })).await;
        let page = w.owner.get(&kraken.path("/roster?include=private&limit=1")).await.ok();
        assert_eq!((first_names(&page), &page.body["has_more"]), (vec!["Ana"], &json!(true)));
        assert!(medical_reads(w).await.is_empty());
        let cursor = page.body["next_cursor"].as_str().unwrap();
        w.owner.get(&kraken.path(&format!("/roster?include=private&limit=1&cursor={cursor}"))).await.ok();
        assert_eq!(medical_reads(w).await, [(kraken.id().to_owned(), json!({ "member_ids": [bea.id()] }))]);
    }

    async fn erasing_a_person_removes_their_name(w: &World) {
        let (kraken, hydra) = (create_team(w, "Kraken").await, create_team(w, "Hydra").await);
        let mut body = marked_body("MARKERana");
        body["jersey_number"] = json!("7");
        body["external_id"] = json!("MARKER-fed");
        body["metadata"] = json!({ "a": "MARKER" });
        let ana = add_member(w, &kraken, body).await;
        let old = add_member(w, &hydra, json!({ "person_id": ana.data()["person_id"] })).await;
        w.owner.delete(&member_path(&old)).await.ok();
        let from = w.notifications().await.len();
        erase(w, &ana).await.unwrap();

        let erased_member = w.owner.get(&member_path(&ana)).await.ok();
        assert_eq!((&erased_member.data()["first_name"], &erased_member.data()["last_name"]), (&json!("Erased"), &json!("person")));
        assert_eq!((&erased_member.data()["status"], &erased_member.data()["left_on"]), (&json!("removed"), &json!("2026-09-05")));
        assert_eq!(erased_member.data()["version"], 2);
        let erased_person = w.owner.get(&person_path(&ana)).await.ok();
        assert_eq!(erased_person.data()["erased_at"], "2026-09-05T10:00:00.000000Z");
        assert_eq!((&erased_person.data()["email_opt_in"], &erased_person.data()["guardians"]), (&json!(false), &json!([])));
        // Her guardian has no other child.
        let people = w.owner.get("/people?include=private").await.ok();
        assert_eq!(first_names(&people), ["Erased", "Erased"]);
        for answer in [erased_member, erased_person, people] {
            assert!(!answer.text.contains("MARKER"), "{}", answer.text);
        }
        assert_eq!(event_types_from(w, from).await,
            ["roster.member_removed", "roster.member_updated", "roster.person_updated"]);
        let notifications = w.notifications().await;
        assert!(!serde_json::to_string(&notifications[from..]).unwrap().contains("MARKER"));
        let team = w.owner.get(&kraken.path("")).await.ok();
        assert_eq!(team.data()["roster_count"], 0);
        assert_eq!(w.count("guardianship").await, 0);

        let again = erase(w, &ana).await.unwrap_err();
        assert_eq!(again.code, touchline::error::Code::InvalidState);
        w.owner.patch(&person_path(&ana), json!({ "first_name": "Ana" })).await.assert_problem(409, "invalid_state");
        let existing = json!({ "person_id": ana.data()["person_id"] });
        let refused = w.owner.post(&kraken.path("/roster"), existing).await.assert_problem(409, "invalid_state");
        assert_eq!(refused.pointers(), ["/person_id"]);
        // An erased person is not a duplicate, and their external id is free again.
        let mut again = marked_body("MARKERana");
        again["external_id"] = json!("MARKER-fed");
        add_member(w, &kraken, again).await;
    }

    async fn erasing_a_child_keeps_guardians_of_siblings(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let rita = json!({ "first_name": "Rita", "email": "rita@x.org" });
        let rui = json!({ "first_name": "Rui", "email": "rui@x.org" });
        let ines = add_member(w, &kraken, json!({ "first_name": "Inês", "guardians": [rita, rui] })).await;
        let tomas = add_member(w, &kraken, json!({ "first_name": "Tomás", "guardians": [rita] })).await;
        let mother = tomas.data()["guardians"][0]["id"].clone();
        let coach = add_member(w, &kraken, json!({ "person_id": mother, "role": "coach" })).await;
        erase(w, &ines).await.unwrap();
        let list = w.owner.get("/people").await.ok();
        assert_eq!(first_names(&list), ["Erased", "Rita", "Erased", "Tomás"]);
        assert_eq!(list.data()[1]["dependent_ids"], json!([tomas.data()["person_id"]]));
        // When the guardian is erased, the child's team is notified that the child changed.
        let from = w.notifications().await.len();
        erase(w, &coach).await.unwrap();
        let child = w.owner.get(&member_path(&tomas)).await.ok();
        assert_eq!((&child.data()["guardians"], &child.data()["version"]), (&json!([]), &json!(2)));
        assert_eq!(event_types_from(w, from).await, ["roster.member_removed", "roster.member_updated"]);
    }

    async fn person_export_contains_private_data_memberships_and_dependents(w: &World) {
        let kraken = create_team(w, "Kraken").await;
        let mut body = marked_body("Ana");
        body["last_name"] = json!("Silva");
        body["preferred_name"] = json!("Nini");
        let ana = add_member(w, &kraken, body).await;
        let (id, member_id) = (person_id(&ana), ana.id().parse().unwrap());
        let scope = Scope::account(w.harbour, "test");
        let reading = w.db().read(scope, move |db| {
            let export = people::export_person(db, id)?;
            let name = people::display_name(&people::find(db, id)?);
            let member = member::find(db, member_id)?;
            Ok::<_, touchline::error::Error>((export, name, member, guardian::list_for(db, &[id])?))
        });
        let (export, name, member, links) = reading.await.unwrap();
        assert_eq!(name, "Nini Silva");
        assert_eq!((member.person_id, member.private.is_none()), (id, true));
        assert_eq!(links[0].guardian.email.as_deref(), Some("MARKER6@example.org"));
        assert_eq!(export["person"]["medical_note"], "MARKER 4");
        assert_eq!(export["memberships"][0]["id"], ana.id());
        let guardian = links[0].guardian.id;
        let scope = Scope::account(w.harbour, "test");
        let export = w.db().read(scope, move |db| people::export_person(db, guardian)).await.unwrap();
        assert_eq!(export["dependents"][0]["person_id"], ana.data()["person_id"]);
    }
}
