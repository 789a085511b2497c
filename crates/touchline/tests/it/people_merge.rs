//! Tests of merging two records of a person: nothing refers to the old record afterwards, and nobody's protection drops.

use std::collections::BTreeSet;

use store::Scope;
use testkit::{TestResponse, Value, World, both, json};
use touchline::MODULES;
use touchline::accounts::user::Role;
use touchline::ids::{MemberId, PersonId};

use crate::dues::{assert_ledger_balanced, charge_member, pay};
use crate::events::event_path;
use crate::roster::{audit_entries, create_team, event_types_from};
use crate::safeguarding::is_minor;
use crate::schema::tables;

/// A person on a team. Similar people are allowed.
async fn add(w: &World, team: &TestResponse, mut body: Value) -> (String, String) {
    if body["person_id"].is_null() {
        body["allow_duplicate"] = json!(true);
    }
    let added = w.add_member(team.id(), body).await;
    (added.person, added.member)
}

async fn merge(w: &World, from: &str, into: &str, birth_date: Option<&str>) -> TestResponse {
    let mut body = json!({ "into_person_id": into });
    if let Some(day) = birth_date {
        body["birth_date"] = json!(day);
    }
    w.owner.post(&format!("/people/{from}/merge"), body).await
}

async fn person(w: &World, id: &str) -> Value {
    w.owner.get(&format!("/people/{id}")).await.ok().data().clone()
}

/// The rows outside of the logs that contain one of these ids, as text or as bytes.
async fn rows_with(w: &World, ids: &[String]) -> Vec<String> {
    let logs = ["notification", "audit_entry", "idempotency", "merged_person"];
    let bits = ids.iter().map(|id| match id.parse::<PersonId>() {
        Ok(id) => id.bits(),
        Err(_) => id.parse::<MemberId>().expect("a person or a member").bits(),
    });
    let bytes: Vec<_> = bits.map(|bits| bits.to_be_bytes().to_vec()).collect();
    let mut found = Vec::new();
    for table in
        tables(w.db()).await.into_iter().filter(|table| !logs.contains(&table.name.as_str()))
    {
        let (bytes, ids) = (bytes.clone(), ids.to_vec());
        let read = w.db().read(Scope::system("test"), move |db| {
            let mut rows = Vec::new();
            db.rows(&table, |row| {
                let is_match = row.iter().any(|value| match value {
                    store::Value::Bytes(value) => bytes.iter().any(|id| value[..] == id[..]),
                    store::Value::Text(value) => ids.iter().any(|id| value.contains(id)),
                    _ => false,
                });
                if is_match {
                    rows.push(format!("{}: {row:?}", table.name));
                }
                Ok(())
            })?;
            Ok::<_, store::Error>(rows)
        });
        found.extend(read.await.unwrap());
    }
    found
}

/// Two records of a child, and what refers to the first.
struct TwoRecords {
    hawks: TestResponse,
    from: String,
    from_member: String,
    /// The membership of the first record on a team that the second is not on.
    from_owls: String,
    into: String,
    into_member: String,
    sister: String,
    event: TestResponse,
    due: Value,
    order: TestResponse,
}

async fn two_records(w: &World) -> TwoRecords {
    let (hawks, owls) = (create_team(w, "Hawks").await, create_team(w, "Owls").await);
    let mother =
        json!([{ "first_name": "Rita", "email": "rita@example.org", "relationship": "mother" }]);
    let ines = json!({ "first_name": "Inés", "last_name": "Duarte", "jersey_number": "7",
        "email": "ines@example.org", "phone": "912 345 678", "medical_note": "Bees", "guardians": mother });
    let (from, from_member) = add(w, &hawks, ines).await;
    let (_, from_owls) = add(w, &owls, json!({ "person_id": from })).await;
    let ines = json!({ "first_name": "Ines", "birth_date": "2014-02-27", "medical_note": "Asthma",
        "guardians": [{ "first_name": "Paulo", "email": "paulo@example.org" }] });
    let (into, into_member) = add(w, &hawks, ines).await;
    let mila = json!({ "first_name": "Mila", "guardians": [{ "first_name": "Rosa", "email": "rosa@example.org" }] });
    let (sister, _) = add(w, &hawks, mila).await;
    w.owner.patch(&format!("/people/{from}"), json!({ "preferred_name": "Nini" })).await.ok();
    for person in [&from, &into, &sister] {
        w.confirm_guardians(person).await;
    }
    let event = add_answers(w, &hawks, [&from, &from_member, &into_member]).await;
    for audience in [
        json!({ "to": "all" }),
        json!({ "to": "members", "member_ids": [from_member, into_member] }),
    ] {
        let body = json!({ "team_id": hawks.id(), "kind": "announcement", "subject": "Hi", "body": "All", "audience": audience });
        w.owner.post("/messages", body).await.created();
    }
    let mail = w.owner.get(&format!("/emails?person_id={from}")).await.ok();
    assert!(!mail.data().as_array().unwrap().is_empty());

    let due = charge_member(w, hawks.id(), &from_member, json!({ "payer": from })).await;
    pay(w, &due, 12_000).await.created();
    let product =
        w.owner.post("/products", json!({ "name": "Kit", "price": 2499 })).await.created();
    let line = json!({ "product_id": product.id(), "quantity": 1 });
    let order = json!({ "lines": [line], "buyer": { "member_id": from_member } });
    let order = w.owner.post("/orders", order).await.created();
    TwoRecords { hawks, from, from_member, from_owls, into, into_member, sister, event, due, order }
}

/// Creates an event that both records answer, and a duty and a calendar of the first.
async fn add_answers(
    w: &World,
    hawks: &TestResponse,
    [from, from_member, into_member]: [&str; 3],
) -> TestResponse {
    let event = json!({ "team_id": hawks.id(), "type": "game", "opponent": "Rams", "starts_at": "2026-10-01T18:00",
        "capacity": 1, "duties": [{ "name": "Oranges" }] });
    let event = w.owner.post("/events", event).await.created();
    let rsvp = |member: &str| event_path(&event, &format!("/rsvps/{member}"));
    w.owner.put(&rsvp(into_member), json!({ "answer": "no" })).await.ok();
    w.advance_clock(testkit::seconds(60));
    let yes = json!({ "answer": "yes", "note": "Late", "on_behalf_of": from });
    w.owner.put(&rsvp(from_member), yes).await.ok();
    let duty = event.data()["duties"][0]["id"].as_str().unwrap();
    w.owner
        .send("PUT", &event_path(&event, &format!("/duties/{duty}/assignees/{from}")), None)
        .await
        .ok();
    w.owner.post("/calendar_feeds", json!({ "person_id": from, "name": "Nini" })).await.created();
    event
}

async fn assert_person_merged(w: &World, r: &TwoRecords, merged: &Value) {
    assert_eq!(
        (merged["id"].as_str(), merged["first_name"].as_str()),
        (Some(r.into.as_str()), Some("Ines"))
    );
    assert_eq!(
        (&merged["last_name"], &merged["preferred_name"]),
        (&json!("Duarte"), &json!("Nini"))
    );
    assert_eq!(
        (&merged["email"], &merged["medical_note"]),
        (&json!("ines@example.org"), &json!("Asthma\n\nBees"))
    );
    let texts = |list: &Value, field: &str| -> BTreeSet<String> {
        list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        texts(&merged["guardians"], "first_name"),
        BTreeSet::from(["Paulo".to_owned(), "Rita".to_owned()])
    );
    let members = BTreeSet::from([r.into_member.clone(), r.from_owls.clone()]);
    assert_eq!(texts(&merged["memberships"], "member_id"), members);
    let member = w.owner.get(&r.hawks.path(&format!("/roster/{}", r.into_member))).await.ok();
    assert_eq!(member.data()["jersey_number"], "7");
    assert_eq!(w.owner.get(&r.hawks.path("")).await.ok().data()["roster_count"], 2);
}

/// The later answer remains, and the history has both.
async fn assert_answers_merged(w: &World, r: &TwoRecords) {
    let rsvps = w.owner.get(&event_path(&r.event, "/rsvps")).await.ok();
    assert_eq!(rsvps.data().as_array().unwrap().len(), 1);
    assert_eq!(
        (&rsvps.data()[0]["answer"], &rsvps.data()[0]["answered_by"]),
        (&json!("yes"), &json!(r.into))
    );
    let history =
        w.owner.get(&event_path(&r.event, &format!("/rsvps/{}/history", r.into_member))).await.ok();
    let answers: Vec<_> = history
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["answer"].as_str().unwrap())
        .collect();
    assert_eq!(answers, ["no", "yes"]);
    let shown = w.owner.get(&event_path(&r.event, "")).await.ok();
    assert_eq!(
        shown.data()["rsvp_counts"],
        json!({ "yes": 1, "no": 0, "maybe": 0, "waitlisted": 0, "unanswered": 1 })
    );
    assert_eq!(shown.data()["duties"][0]["assignees"], json!([r.into]));
}

async fn assert_money_merged(w: &World, r: &TwoRecords) {
    let due = w.owner.get(&format!("/dues/{}", r.due["id"].as_str().unwrap())).await.ok();
    assert_eq!(
        (&due.data()["person_id"], &due.data()["payer_id"]),
        (&json!(r.into), &json!(r.into))
    );
    let statement = w.owner.get(&format!("/people/{}/statement", r.into)).await.ok();
    assert_eq!(statement.data()["totals"][0]["credit"], 2_000);
    assert_ledger_balanced(w).await;
    let order = w.owner.get(&format!("/orders/{}", r.order.id())).await.ok();
    assert_eq!(order.data()["buyer"]["person_id"], json!(r.into));
}

both! {
    async fn every_column_with_a_person_or_member_is_merged(w: &World) {
        let is_reference = |name: &str| {
            let name = name.trim_start_matches("author_").trim_start_matches("buyer_");
            ["person_id", "member_id", "guardian_id", "payer_id"].contains(&name)
        };
        let declared: BTreeSet<_> =
            MODULES.iter().filter_map(|one| one.merge_person).flat_map(|one| one.references).copied().collect();
        let all = tables(w.db()).await;
        let columns = all.iter().flat_map(|table| table.columns.iter().map(move |column| (table, column)));
        let columns: BTreeSet<_> = columns.map(|(table, column)| format!("{}.{}", table.name, column.name)).collect();
        for column in &columns {
            let (_, name) = column.split_once('.').unwrap();
            assert!(!is_reference(name) || declared.contains(column.as_str()), "a merge does not change {column}");
        }
        for table in all.iter().filter(|table| table.parents.contains("person") || table.parents.contains("member")) {
            let prefix = format!("{}.", table.name);
            assert!(declared.iter().any(|column| column.starts_with(&prefix)), "a merge does not change {}", table.name);
        }
        for column in declared {
            assert!(columns.contains(column), "{column} does not exist");
        }
    }

    async fn everything_moves_to_the_remaining_record(w: &World) {
        let r = two_records(w).await;
        let before = w.notifications().await.len();
        let old = [r.from.clone(), r.from_member.clone()];
        assert!(rows_with(w, &old).await.len() > 10);
        let merged = merge(w, &r.from, &r.into, None).await.ok();
        assert_eq!(rows_with(w, &old).await, Vec::<String>::new());
        assert_person_merged(w, &r, merged.data()).await;
        assert_answers_merged(w, &r).await;
        assert_money_merged(w, &r).await;
        let messages = w.owner.get("/messages").await.ok();
        assert!(messages.data().as_array().unwrap().iter().all(|one| one["receipt_counts"]["delivered"] != 0));

        let kinds: BTreeSet<_> = event_types_from(w, before).await.into_iter().collect();
        for kind in ["roster.person_merged", "roster.member_removed", "roster.member_updated", "rsvp.answered", "event.updated"] {
            assert!(kinds.contains(kind), "{kind} is not in {kinds:?}");
        }
        let audited = audit_entries(w).await.into_iter().find(|one| one.action == "person.merged").unwrap();
        assert!(audited.subject == r.from && audited.details.unwrap().contains("Inés"));
    }

    async fn the_old_address_leads_to_the_new_one(w: &World) {
        let TwoRecords { from, into, sister, .. } = two_records(w).await;
        merge(w, &from, &into, None).await.ok();
        let gone = w.owner.get(&format!("/people/{from}")).await.assert_problem(410, "gone");
        assert!(gone.text.contains(&into));
        // A repeated request changes nothing.
        let count = w.notifications().await.len();
        assert_eq!(merge(w, &from, &into, None).await.ok().data()["id"], json!(into));
        assert_eq!(w.notifications().await.len(), count);
        merge(w, &from, &sister, None).await.assert_problem(410, "gone");
        merge(w, &into, &sister, None).await.ok();
        assert!(w.owner.get(&format!("/people/{from}")).await.text.contains(&sister));

        // Erasing the remaining person also removes the old names from the logs.
        w.owner.post(&format!("/people/{sister}/erase"), json!({})).await.ok();
        let logs: Vec<_> = w.notifications().await.iter().map(ToString::to_string).collect();
        assert!(!logs.iter().any(|entry| entry.contains("Inés") || entry.contains("Duarte")), "{logs:?}");
        assert!(audit_entries(w).await.iter().all(|one| !one.details.as_deref().unwrap_or_default().contains("Inés")));
    }

    async fn merging_a_guardian_keeps_children_protected(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        w.owner.patch(&hawks.path(""), json!({ "age_group": "U12" })).await.ok();
        let child = |first: &str, guardian: Value| json!({ "first_name": first, "birth_date": "2014-05-05", "guardians": [guardian] });
        let rita = json!({ "first_name": "Rita", "email": "rita@example.org", "can_pick_up": true });
        let (mia, _) = add(w, &hawks, child("Mia", rita)).await;
        let confirmed = person(w, &mia).await["guardians"][0]["id"].as_str().unwrap().to_owned();
        w.confirm_guardians(&mia).await;
        // A coach adds the second child with an unconfirmed guardian.
        let coach = w.user(Role::Member, "coach@harbour.example").await;
        let (cora, _) = add(w, &hawks, json!({ "first_name": "Cora", "role": "coach", "birth_date": "1980-01-01" })).await;
        w.link(&cora, coach.id).await;
        let cora = crate::roster_access::client_with_all_scopes(w, coach.id).await;
        let second = child("Tim", json!({ "first_name": "Rita R", "phone": "555 0101" }));
        let tim = cora.post(&hawks.path("/roster"), second).await.created();
        let tim = tim.data()["person_id"].as_str().unwrap();
        let unconfirmed = person(w, tim).await["guardians"][0]["id"].as_str().unwrap().to_owned();

        merge(w, &mia, &confirmed, None).await.assert_problem(409, "invalid_state");
        merge(w, &unconfirmed, &confirmed, None).await.ok();
        let guardian = person(w, tim).await["guardians"][0].clone();
        assert_eq!((&guardian["id"], &guardian["confirmed"]), (&json!(confirmed), &json!(false)));
        let kept = person(w, &confirmed).await;
        assert!(kept["adult_confirmed_at"].is_string());
        assert_eq!(kept["phone"], "555 0101");
        let dependents: BTreeSet<_> = kept["dependent_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(dependents, BTreeSet::from([mia.as_str(), tim]));
        let told = audit_entries(w).await.into_iter().filter(|one| one.action == "person.protection_changed");
        assert!(told.into_iter().any(|one| one.subject == tim && one.details.unwrap().contains("guardian_merged")));

        // Somebody who signs in with an unconfirmed record does not become a confirmed adult.
        let (other, _) = add(w, &hawks, json!({ "first_name": "Rita", "role": "staff" })).await;
        let stranger = w.user(Role::Member, "stranger@harbour.example").await;
        w.link(&other, stranger.id).await;
        w.db().write(Scope::account(w.harbour, "test"), {
            let other = other.parse().unwrap();
            move |tx| touchline::roster::safeguarding::withdraw_confirmation(tx, other)
        }).await.unwrap();
        let merged = merge(w, &other, &confirmed, None).await.ok();
        assert_eq!((&merged.data()["adult_confirmed_at"], &merged.data()["user_id"]), (&Value::Null, &json!(stranger.id)));
    }

    async fn a_minor_stays_a_minor_and_the_rest_is_refused(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        w.owner.patch(&hawks.path(""), json!({ "age_group": "Adults" })).await.ok();
        let (child, _) = add(w, &hawks, json!({ "first_name": "Mia", "birth_date": "2014-05-05" })).await;
        let (adult, _) = add(w, &hawks, json!({ "first_name": "Mia", "birth_date": "1980-05-05" })).await;
        w.owner.post(&format!("/people/{adult}/confirm_adult"), json!({})).await.ok();
        let refused = merge(w, &child, &adult, None).await.assert_problem(422, "validation_failed");
        assert_eq!(crate::roster::field_errors(&refused), [("/birth_date", "required")]);
        merge(w, &child, &adult, Some("1999-01-01")).await.assert_problem(422, "validation_failed");
        let merged = merge(w, &child, &adult, Some("1980-05-05")).await.ok();
        assert_eq!((&merged.data()["is_minor"], &merged.data()["adult_confirmed_at"]), (&json!(true), &Value::Null));
        assert!(is_minor(w, &adult).await);

        // Guardians learn that an address of a child is no longer used.
        let record = |email: &str| json!({ "first_name": "Tim", "birth_date": "2014-05-05", "email": email });
        let (tim, _) = add(w, &hawks, record("tim@harbour.example")).await;
        let (second, _) = add(w, &hawks, record("tim2@harbour.example")).await;
        merge(w, &second, &tim, None).await.ok();
        let changes = audit_entries(w).await.into_iter().filter(|one| one.action == "person.protection_changed" && one.subject == tim);
        assert_eq!(changes.map(|one| one.details.unwrap()).collect::<Vec<_>>(), [r#"{"change":"email","guardian":null}"#]);

        let (ana, _) = add(w, &hawks, json!({ "first_name": "Ana" })).await;
        let refused = merge(w, &ana, &ana, None).await;
        assert_eq!(crate::roster::field_errors(&refused), [("/into_person_id", "same_person")]);
        let unknown = format!("per_{}", &hawks.id()[5..]);
        assert_eq!(crate::roster::field_errors(&merge(w, &ana, &unknown, None).await), [("/into_person_id", "not_found")]);
        merge(w, &unknown, &ana, None).await.assert_problem(404, "not_found");
        w.stranger.post(&format!("/people/{ana}/merge"), json!({ "into_person_id": adult })).await.assert_problem(404, "not_found");
        w.reader.post(&format!("/people/{ana}/merge"), json!({ "into_person_id": adult })).await.assert_problem(403, "insufficient_scope");
        let stale = w.owner.with_header("If-Match", "\"77\"");
        stale.post(&format!("/people/{ana}/merge"), json!({ "into_person_id": adult })).await.assert_problem(412, "precondition_failed");
        for (id, email) in [(&ana, "ana@harbour.example"), (&adult, "mia@harbour.example")] {
            let user = w.user(Role::Member, email).await;
            w.link(id, user.id).await;
        }
        merge(w, &ana, &adult, None).await.assert_problem(409, "conflict");
        let (bo, _) = add(w, &hawks, json!({ "first_name": "Bo" })).await;
        w.owner.post(&format!("/people/{bo}/erase"), json!({})).await.ok();
        merge(w, &bo, &ana, None).await.assert_problem(409, "invalid_state");
    }
}
