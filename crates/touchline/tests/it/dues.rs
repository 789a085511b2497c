//! Tests of dues: charges, due dates and who sees them. Also helpers for the other tests of dues.

use store::{Scope, bind};
use testkit::{Client, TestResponse, Value, World, both, json, seconds};

use crate::mail::DAY;
use crate::roster_access::{client_with_all_scopes, field_values};

/// A request body that charges every player of a team 100.00. The fields of `more` are added or replace others;
/// null removes a field.
pub(crate) fn fee(team: &str, more: Value) -> Value {
    let mut body = json!({ "team_id": team, "all": true, "title": "Season fee", "amount": 10000, "due_on": "2026-10-01" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    body
}

/// A request body that charges one member.
pub(crate) fn fee_of(team: &str, member: &str, more: Value) -> Value {
    let mut body = fee(team, json!({ "all": null, "member_id": member }));
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// Charges one member and returns the due.
pub(crate) async fn charge_member(w: &World, team: &str, member: &str, more: Value) -> Value {
    let created = w.owner.post("/dues", fee_of(team, member, more)).await.created();
    created.data()[0].clone()
}

pub(crate) fn due_path(due: &Value, below: &str) -> String {
    format!("/dues/{}{below}", due["id"].as_str().unwrap())
}

pub(crate) async fn get_due(w: &World, due: &Value) -> Value {
    w.owner.get(&due_path(due, "")).await.ok().data().clone()
}

pub(crate) async fn pay(w: &World, due: &Value, amount: i64) -> TestResponse {
    w.owner.post(&due_path(due, "/payments"), json!({ "amount": amount, "method": "cash" })).await
}

/// The number of published notifications of a type.
pub(crate) async fn notification_count(w: &World, kind: &str) -> usize {
    w.notifications().await.iter().filter(|notification| notification["type"] == kind).count()
}

/// Asserts that every ledger movement sums to zero, and that the book `receivable` equals the balance of all dues.
pub(crate) async fn assert_ledger_balanced(w: &World) {
    let query = w.db().read(Scope::account(w.harbour, "test"), |db| {
        let unbalanced: Vec<(i64,)> = db.all(
            "select cast(sum(amount) as bigint) as amount from ledger_entry
             where account_id = :account group by movement_id, currency having sum(amount) <> 0",
            bind! {},
        )?;
        let owed: (Option<i64>,) = db.one(
            "select cast(sum(amount) as bigint) as amount from ledger_entry
             where account_id = :account and book = 'receivable'",
            bind! {},
        )?;
        let balance: (Option<i64>,) = db.one(
            "select cast(sum(amount - discount + late_fee - paid - waived) as bigint) as amount
             from due where account_id = :account",
            bind! {},
        )?;
        Ok::<_, store::Error>((unbalanced, owed.0.unwrap_or(0), balance.0.unwrap_or(0)))
    });
    let (unbalanced, owed, balance) = query.await.unwrap();
    assert!(unbalanced.is_empty(), "{unbalanced:?}");
    assert_eq!(owed, balance);
}

async fn list(client: &Client, query: &str) -> TestResponse {
    client.get(&format!("/dues?{query}")).await.ok()
}

both! {
    async fn charges_a_team_in_installments(w: &World) {
        let club = w.club().await;
        let body = fee(&club.hawks, json!({ "installment_count": 3, "due_on": "2026-10-31", "note": "By transfer", "late_fee": { "amount": 500 }, "metadata": { "a": "b" } }));
        let created = w.owner.post("/dues", body).await.created();
        let dues = created.data().as_array().unwrap();
        // Only players are charged. The payer is the first guardian, or the player.
        let due_of = |person: &str| dues.iter().find(|due| due["person_id"] == person).unwrap();
        assert_eq!(dues.len(), 3);
        assert_eq!((&due_of(&club.max.person)["payer_id"], &due_of(&club.lia.person)["payer_id"]), (&json!(club.pat), &json!(club.lia.person)));
        let max = due_of(&club.max.person);
        assert_eq!((&max["status"], &max["balance"], &max["overdue"], &max["category"], &max["currency"]), (&json!("open"), &json!(10000), &json!(false), &json!("dues"), &json!("EUR")));
        assert_eq!((&max["due_on"], &max["next_due_on"], &max["late_fee"]), (&json!("2026-10-31"), &json!("2026-10-31"), &json!({ "amount": 500, "percent_bps": null })));
        let parts: Vec<_> = max["installments"].as_array().unwrap().iter().map(|part| (part["due_on"].as_str().unwrap(), part["amount"].as_i64().unwrap(), part["paid"].as_i64().unwrap())).collect();
        assert_eq!(parts, [("2026-10-31", 3334, 0), ("2026-11-30", 3333, 0), ("2026-12-31", 3333, 0)]);
        assert_eq!(notification_count(w, "dues.charged").await, 3);
        let notifications = w.notifications().await;
        let charge = notifications.iter().rfind(|notification| notification["type"] == "dues.charged").unwrap();
        assert_eq!((&charge["data"]["object"]["object"], &charge["data"]["object"]["note"], &charge["data"]["object"]["team_id"]), (&json!("due"), &Value::Null, &json!(club.hawks)));
        assert_eq!(get_due(w, max).await, *max);
        assert_ledger_balanced(w).await;
        // Newest first, and with every filter.
        let other = charge_member(w, &club.otters, &club.ole.member, json!({ "category": "travel" })).await;
        let all = list(&w.owner, "").await;
        assert_eq!((all.data().as_array().unwrap().len(), &all.data()[0]["id"]), (4, &other["id"]));
        for (query, count) in [(format!("team_id={}", club.hawks), 3), (format!("member_id={}", club.max.member), 1), (format!("payer_id={}", club.pat), 1),
            (format!("charge_id={}", max["charge_id"].as_str().unwrap()), 3), ("status=open".to_owned(), 4), ("status=paid".to_owned(), 0), ("overdue=true".to_owned(), 0),
            ("overdue=false".to_owned(), 4), (format!("team_id={}&member_id={}", club.otters, club.max.member), 0)] {
            assert_eq!(list(&w.owner, &query).await.data().as_array().unwrap().len(), count, "{query}");
        }
        let first = w.owner.get("/dues?limit=3").await.ok();
        let cursor = first.body["next_cursor"].as_str().unwrap();
        assert_eq!(w.owner.get(&format!("/dues?limit=3&cursor={cursor}")).await.ok().data().as_array().unwrap().len(), 1);
    }

    async fn applies_discounts_and_sibling_discounts(w: &World) {
        let club = w.club().await;
        let kid = w.add_member(&club.hawks, json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] })).await;
        let parts = json!([{ "due_on": "2026-10-01", "amount": 3000 }, { "due_on": "2026-11-01", "amount": 6000 }]);
        let body = fee(&club.hawks, json!({ "due_on": null, "installments": parts, "discount": { "percent_bps": 1000, "reason": "Early" }, "sibling_discount_bps": 3333 }));
        let created = w.owner.post("/dues", body).await.created();
        let due_of = |person: &str| created.data().as_array().unwrap().iter().find(|due| due["person_id"] == person).unwrap().clone();
        let (max, ben) = (due_of(&club.max.person), due_of(&kid.person));
        assert_eq!((&max["discount"], &max["balance"], &max["discount_reason"]), (&json!(1000), &json!(9000), &json!("Early")));
        assert_eq!((&ben["discount"], &ben["balance"], &ben["discount_reason"]), (&json!(4000), &json!(6000), &json!("Early; Sibling discount")));
        let amounts: Vec<_> = ben["installments"].as_array().unwrap().iter().map(|part| part["amount"].as_i64().unwrap()).collect();
        assert_eq!(amounts, [2000, 4000]);
        let fixed = charge_member(w, &club.hawks, &club.zoe.member, json!({ "discount": { "amount": 9999 }, "currency": "JPY" })).await;
        assert_eq!((&fixed["balance"], &fixed["currency"]), (&json!(1), &json!("JPY")));
        let payer = charge_member(w, &club.hawks, &club.max.member, json!({ "payer": club.max.person, "currency": "KWD" })).await;
        assert_eq!(payer["payer_id"], json!(club.max.person));
        assert_ledger_balanced(w).await;
    }

    async fn rejects_invalid_charges_with_pointers(w: &World) {
        let club = w.club().await;
        let (hawks, max) = (club.hawks.as_str(), club.max.member.as_str());
        let other = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created().id().to_owned();
        let part = |day: &str, amount: i64| json!({ "due_on": day, "amount": amount });
        for (more, pointer) in [
            (json!({ "amount": 0 }), "/amount"), (json!({ "amount": -1 }), "/amount"), (json!({ "amount": 10.5 }), "/amount"), (json!({ "amount": "100" }), "/amount"),
            (json!({ "amount": 1_000_000_000_001_i64 }), "/amount"), (json!({ "amount": 18_446_744_073_709_551_615_u64 }), "/amount"), (json!({ "currency": "XTS" }), "/currency"),
            (json!({ "currency": "eur" }), "/currency"), (json!({ "member_ids": [max], "member_id": max }), "/member_ids"), (json!({ "member_id": null }), "/member_ids"),
            (json!({ "member_id": club.ole.member }), "/member_id"), (json!({ "member_id": null, "member_ids": [max, club.ole.member] }), "/member_ids/1"),
            (json!({ "member_id": null, "member_ids": [max, max] }), "/member_ids/1"), (json!({ "payer": club.kim.person }), "/payer"), (json!({ "due_on": "2026-02-30" }), "/due_on"),
            (json!({ "due_on": "2199-12-15", "installment_count": 2 }), "/installment_count"),
            (json!({ "due_on": "1999-12-31" }), "/due_on"), (json!({ "due_on": null }), "/due_on"), (json!({ "installment_count": 0 }), "/installment_count"), (json!({ "installment_count": 61 }), "/installment_count"),
            (json!({ "amount": 5, "installment_count": 6 }), "/installment_count"), (json!({ "installments": [] }), "/installments"), (json!({ "installments": [part("2026-10-01", 9999)] }), "/installments"),
            (json!({ "installments": [part("2026-10-01", 10001)] }), "/installments"), (json!({ "installments": [part("2026-10-01", 0)] }), "/installments/0/amount"),
            (json!({ "installments": [part("2026-10-01", 5000), part("2026-10-01", 5000)] }), "/installments/1/due_on"), (json!({ "installments": [part("2026-10-02", 10000)] }), "/due_on"),
            (json!({ "installments": [part("2026-10-01", 10000)], "installment_count": 1 }), "/installment_count"), (json!({ "discount": { "amount": 10000 } }), "/discount"),
            (json!({ "discount": { "amount": 1, "percent_bps": 1 } }), "/discount/amount"), (json!({ "discount": {} }), "/discount/amount"), (json!({ "discount": { "percent_bps": 10000 } }), "/discount/percent_bps"),
            (json!({ "amount": 1, "sibling_discount_bps": 5000 }), "/sibling_discount_bps"), (json!({ "late_fee": { "amount": 0 } }), "/late_fee/amount"), (json!({ "late_fee": { "percent_bps": 10001 } }), "/late_fee/percent_bps"),
            (json!({ "title": "" }), "/title"), (json!({ "category": "gift" }), "/category"), (json!({ "note": "x".repeat(1001) }), "/note"),
        ] {
            let refused = w.owner.post("/dues", fee_of(hawks, max, more.clone())).await;
            assert_eq!(refused.status, 422, "{more}: {}", refused.text);
            assert_eq!(refused.pointers(), [pointer], "{more}: {}", refused.text);
        }
        let empty = w.owner.post("/teams", json!({ "name": "Empty" })).await.created().id().to_owned();
        assert_eq!(w.owner.post("/dues", fee(&empty, json!({}))).await.assert_problem(422, "validation_failed").pointers(), ["/all"]);
        w.owner.delete(&format!("/teams/{empty}")).await.ok();
        w.owner.post("/dues", fee(&empty, json!({}))).await.assert_problem(409, "invalid_state");
        w.owner.post("/dues", fee(&other, json!({}))).await.assert_problem(422, "validation_failed");
        w.owner.post("/dues", fee_of(hawks, max, json!({ "status": "paid" }))).await.assert_problem(400, "invalid_parameter");
        let removed = w.add_member(hawks, json!({ "first_name": "Gus" })).await.member;
        w.owner.delete(&format!("/teams/{hawks}/roster/{removed}")).await.ok();
        w.owner.post("/dues", fee_of(hawks, &removed, json!({}))).await.assert_problem(422, "validation_failed");
        assert_eq!((notification_count(w, "dues.charged").await, w.count("due").await, w.count("ledger_entry").await), (0, 0, 0));
    }

    async fn families_see_only_their_own_dues(w: &World) {
        let club = w.club().await;
        let created = w.owner.post("/dues", fee(&club.hawks, json!({}))).await.created();
        charge_member(w, &club.otters, &club.ole.member, json!({})).await;
        let due_of = |person: &str| created.data().as_array().unwrap().iter().find(|due| due["person_id"] == person).unwrap().clone();
        let (max, zoe, lia) = (due_of(&club.max.person), due_of(&club.zoe.person), due_of(&club.lia.person));
        let (parent, player, coach) = (client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.player.id).await, client_with_all_scopes(w, club.coach.id).await);
        assert_eq!(field_values(&list(&parent, "").await, "id"), [&max["id"]]);
        assert_eq!(field_values(&list(&player, "").await, "id"), [&lia["id"]]);
        assert_eq!(field_values(&list(&coach, "").await, "id").len(), 3);
        assert!(field_values(&list(&parent, &format!("team_id={}", club.hawks)).await, "id").len() == 1);
        parent.get(&due_path(&max, "")).await.ok();
        parent.get(&due_path(&max, "/payments")).await.ok();
        for (client, due) in [(&parent, &zoe), (&parent, &lia), (&player, &max)] {
            for below in ["", "/payments"] {
                client.get(&due_path(due, below)).await.assert_problem(404, "not_found");
            }
            client.post(&due_path(due, "/payments"), json!({ "method": "credit" })).await.assert_problem(404, "not_found");
        }
        // Zoe's guardian is her payer.
        let zoe_profile = w.owner.get(&format!("/people/{}", club.zoe.person)).await.ok();
        let mia = zoe_profile.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(zoe["payer_id"], json!(mia));
        // A member who leaves keeps their dues.
        w.owner.delete(&format!("/teams/{}/roster/{}", club.hawks, club.max.member)).await.ok();
        assert_eq!(get_due(w, &max).await["balance"], 10000);
        // Their family still sees them, although it is on no team anymore.
        parent.get("/teams").await.assert_problem(403, "forbidden");
        assert_eq!(field_values(&list(&parent, "").await, "id"), [&max["id"]]);
        parent.get(&due_path(&max, "/payments")).await.ok();
        parent.get(&due_path(&lia, "")).await.assert_problem(404, "not_found");
        parent.post(&due_path(&max, "/payments"), json!({ "method": "cash" })).await.assert_problem(403, "forbidden");
        client_with_all_scopes(w, club.outsider.id).await.get("/dues").await.assert_problem(403, "forbidden");
        pay(w, &max, 10000).await.created();
        assert_eq!(get_due(w, &max).await["status"], "paid");
    }

    async fn a_due_that_becomes_overdue_is_sent_despite_an_unchanged_version(w: &World) {
        let club = w.club().await;
        let parts = json!([{ "due_on": "2026-09-10", "amount": 4000 }, { "due_on": "2026-09-20", "amount": 6000 }]);
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "installments": parts, "due_on": null })).await;
        let cached = w.owner.with_header("If-None-Match", "\"1\"");
        assert_eq!(cached.get(&due_path(&due, "")).await.status, 304);
        w.advance_clock(seconds(86_400 * 10));
        // The version is the same, but `overdue` has changed.
        let late = cached.get(&due_path(&due, "")).await.ok();
        assert_eq!((&late.data()["overdue"], &late.data()["version"]), (&json!(true), &json!(1)));
        pay(w, &due, 4000).await.created();
        let newer = w.owner.with_header("If-None-Match", "\"2\"");
        assert_eq!(newer.get(&due_path(&due, "")).await.status, 304);
        w.advance_clock(seconds(86_400 * 10));
        assert_eq!(newer.get(&due_path(&due, "")).await.ok().data()["overdue"], true);
    }

    async fn a_due_can_be_changed_until_something_is_paid(w: &World) {
        let club = w.club().await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "installment_count": 2, "discount": { "amount": 1000 } })).await;
        let change = async |change: Value| w.owner.patch(&due_path(&due, ""), change).await;
        let after = change(json!({ "amount": 4000, "title": "Half a season", "category": "fee", "note": "x" })).await.ok();
        let amounts: Vec<_> = after.data()["installments"].as_array().unwrap().iter().map(|part| part["amount"].as_i64().unwrap()).collect();
        assert_eq!((&after.data()["balance"], amounts), (&json!(3000), vec![1500, 1500]));
        assert_eq!(change(json!({ "due_on": "2026-12-01" })).await.assert_problem(422, "validation_failed").pointers(), ["/installments"]);
        assert_eq!(change(json!({ "amount": 1000 })).await.assert_problem(422, "validation_failed").pointers(), ["/amount"]);
        assert_eq!(change(json!({ "payer": club.kim.person })).await.assert_problem(422, "validation_failed").pointers(), ["/payer"]);
        let parts = json!([{ "due_on": "2026-12-01", "amount": 3000 }]);
        let after = change(json!({ "installments": parts, "payer": club.max.person, "late_fee": { "percent_bps": 500 } })).await.ok();
        assert_eq!((&after.data()["due_on"], &after.data()["next_due_on"], &after.data()["payer_id"]), (&json!("2026-12-01"), &json!("2026-12-01"), &json!(club.max.person)));
        let after = change(json!({ "due_on": "2026-12-24", "late_fee": null })).await.ok();
        assert_eq!((&after.data()["due_on"], &after.data()["late_fee"]), (&json!("2026-12-24"), &Value::Null));
        assert_ledger_balanced(w).await;
        for (person, open) in [(&club.pat, 0), (&club.max.person, 3000)] {
            let statement = w.owner.get(&format!("/people/{person}/statement")).await.ok();
            let total = &statement.data()["totals"][0];
            assert_eq!((&total["outstanding"], &total["charged"]), (&json!(open), &json!(if open > 0 { 4000 } else { 0 })));
        }
        let same = change(json!({ "title": "Half a season" })).await.ok();
        assert_eq!(same.data()["version"], after.data()["version"]);
        let stale = w.owner.with_header("If-Match", "\"1\"");
        stale.patch(&due_path(&due, ""), json!({ "title": "x" })).await.assert_problem(412, "precondition_failed");
        stale.post(&due_path(&due, "/payments"), json!({ "method": "cash", "amount": 1 })).await.assert_problem(412, "precondition_failed");
        stale.post(&due_path(&due, "/remind"), json!({})).await.assert_problem(412, "precondition_failed");
        let payment = pay(w, &due, 1).await.created();
        change(json!({ "title": "x" })).await.assert_problem(409, "invalid_state");
        w.owner.post(&due_path(&due, &format!("/payments/{}/refund", payment.id())), json!({})).await.ok();
        change(json!({ "title": "x" })).await.ok();
        assert_ledger_balanced(w).await;
    }

    async fn waives_the_open_amount_once(w: &World) {
        let club = w.club().await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        let waive = async || w.owner.post(&due_path(&due, "/waive"), json!({ "reason": "Moved away" })).await;
        assert_eq!(w.owner.post(&due_path(&due, "/waive"), json!({})).await.assert_problem(422, "validation_failed").pointers(), ["/reason"]);
        let payment = pay(w, &due, 4000).await.created();
        let waived = waive().await.ok();
        assert_eq!((&waived.data()["status"], &waived.data()["waived"], &waived.data()["paid"], &waived.data()["balance"]), (&json!("waived"), &json!(6000), &json!(4000), &json!(0)));
        assert_eq!((&waived.data()["next_due_on"], &waived.data()["waive_reason"]), (&Value::Null, &json!("Moved away")));
        waive().await.assert_problem(409, "invalid_state");
        w.owner.patch(&due_path(&due, ""), json!({ "title": "x" })).await.assert_problem(409, "invalid_state");
        // A refunded amount is not owed again.
        w.owner.post(&due_path(&due, &format!("/payments/{}/refund", payment.id())), json!({ "amount": 1000 })).await.ok();
        let after = get_due(w, &due).await;
        assert_eq!((&after["status"], &after["waived"], &after["paid"]), (&json!("waived"), &json!(7000), &json!(3000)));
        let paid = charge_member(w, &club.hawks, &club.zoe.member, json!({})).await;
        pay(w, &paid, 10000).await.created();
        w.owner.post(&due_path(&paid, "/waive"), json!({ "reason": "x" })).await.assert_problem(409, "invalid_state");
        assert_eq!((notification_count(w, "dues.waived").await, notification_count(w, "dues.paid").await), (1, 1));
        assert_ledger_balanced(w).await;
    }

    async fn a_due_date_ends_in_the_time_zone_of_the_team(w: &World) {
        let team = async |name: &str, zone: &str| {
            let team = w.owner.post("/teams", json!({ "name": name, "timezone": zone })).await.created().id().to_owned();
            let member = w.add_member(&team, json!({ "first_name": "Ana", "allow_duplicate": true })).await.member;
            (charge_member(w, &team, &member, json!({ "due_on": "2026-09-05", "installment_count": 2 })).await, team)
        };
        let (east, _) = team("East", "Pacific/Auckland").await;
        let (west, team) = team("West", "America/Los_Angeles").await;
        let overdue = async |due: &Value| get_due(w, due).await["overdue"] == json!(true);
        // It is 10:00 UTC: in Auckland, the day ends at 12:00 UTC.
        assert!(!overdue(&east).await && !overdue(&west).await);
        w.advance_clock(seconds(2 * 3600));
        assert!(overdue(&east).await && !overdue(&west).await);
        assert_eq!(field_values(&list(&w.owner, "overdue=true").await, "id"), [&east["id"]]);
        w.owner.patch(&format!("/teams/{team}"), json!({ "timezone": "Pacific/Auckland" })).await.ok();
        assert!(overdue(&west).await);
        pay(w, &west, 5000).await.created();
        let after = get_due(w, &west).await;
        assert_eq!((&after["overdue"], &after["next_due_on"], &after["status"]), (&json!(false), &json!("2026-10-05"), &json!("partially_paid")));
        assert_eq!((&after["installments"][0]["overdue"], &after["installments"][0]["paid"]), (&json!(false), &json!(5000)));
        w.advance_clock(seconds(31 * DAY));
        assert!(overdue(&west).await);
    }

    async fn charges_300_members_in_one_request(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Crowd" })).await.created().id().to_owned();
        for batch in 0..3 {
            let members: Vec<_> = (0..100).map(|n| json!({ "team_id": team, "first_name": format!("Kid {batch} {n}"), "allow_duplicate": true })).collect();
            w.owner.post("/roster/batch", json!({ "members": members })).await.created();
        }
        let body = fee(&team, json!({ "installment_count": 3 }));
        let created = w.owner.with_header("Idempotency-Key", "once").post("/dues", body.clone()).await.created();
        assert_eq!(created.data().as_array().unwrap().len(), 300);
        let again = w.owner.with_header("Idempotency-Key", "once").post("/dues", body).await.created();
        assert_eq!(again.data()[299]["id"], created.data()[299]["id"]);
        assert_eq!((notification_count(w, "dues.charged").await, w.count("installment").await), (300, 900));
        assert_ledger_balanced(w).await;
    }
}
