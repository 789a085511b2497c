//! Stories about time: reminders that go out once, in the morning, to those who still owe; and late fees.

use testkit::{Value, World, both, json, seconds};
use touchline::jobs;

use crate::dues::{at, balanced, charged, look, pay, told};
use crate::mail::DAY;

const HOUR: u64 = 3600;

/// The letters about a due, the oldest first.
async fn letters(w: &World, due: &Value) -> Vec<Value> {
    let id = due["id"].as_str().unwrap();
    w.owner
        .get(&format!("/outbox?about={id}&order=asc"))
        .await
        .ok()
        .data()
        .as_array()
        .unwrap()
        .clone()
}

async fn statuses(w: &World, due: &Value) -> Vec<String> {
    letters(w, due)
        .await
        .iter()
        .map(|letter| letter["status"].as_str().unwrap().to_owned())
        .collect()
}

async fn schedule(w: &World, days: &[i64]) {
    w.owner.patch("/money_settings", json!({ "reminder_days": days })).await.ok();
}

both! {
    async fn families_are_reminded_by_the_schedule_once(w: &World) {
        let cast = w.cast().await;
        w.owner.patch(&format!("/teams/{}", cast.hawks), json!({ "timezone": "Europe/Lisbon" })).await.ok();
        schedule(w, &[-7, 1]).await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({ "due_on": "2026-09-15", "instalment_count": 2, "note": "IBAN PT50" })).await;
        let other = w.node(|_| {}).await;
        let both = async || {
            tokio::join!(jobs::remind(&w.node.app), jobs::remind(&other.app));
        };
        both().await;
        assert!(letters(w, &due).await.is_empty());
        // On the eighth at eight in Lisbon, which is seven in UTC, and not before.
        w.pass(seconds(2 * DAY + 20 * HOUR + 3540));
        both().await;
        assert!(letters(w, &due).await.is_empty());
        w.pass(seconds(60));
        both().await;
        both().await;
        let sent = letters(w, &due).await;
        assert_eq!(sent.len(), 1);
        assert_eq!((&sent[0]["to_address"], &sent[0]["person_id"]), (&json!("pat@example.org"), &json!(cast.pat)));
        let text = sent[0]["text_body"].as_str().unwrap();
        for part in ["Hello Pat", "Max", "Season fee", "50.00 EUR is due by 2026-09-15", "Open in all: 100.00 EUR", "IBAN PT50"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(sent[0]["subject"].as_str().unwrap().starts_with("[Hawks] Season fee: 100.00 EUR"));
        // What is paid calls the letter back; the second part is still to come.
        pay(w, &due, 5000).await.created();
        assert_eq!(statuses(w, &due).await, ["cancelled"]);
        w.pass(seconds(8 * DAY));
        both().await;
        assert_eq!(letters(w, &due).await.len(), 1, "the first part is paid");
        w.pass(seconds(22 * DAY));
        both().await;
        assert_eq!(statuses(w, &due).await, ["cancelled", "pending"]);
        w.owner.post(&at(&due, "/waive"), json!({ "reason": "x" })).await.ok();
        assert_eq!(statuses(w, &due).await, ["cancelled", "cancelled"]);
        w.pass(seconds(8 * DAY));
        both().await;
        assert_eq!(letters(w, &due).await.len(), 2);
        other.stop().await;
    }

    async fn a_minor_who_pays_is_reminded_together_with_their_guardians(w: &World) {
        let cast = w.cast().await;
        let guardians = json!([{ "first_name": "Gil", "email": "gil@example.org" },
            { "first_name": "Gus", "email": "gus@example.org", "receives_messages": false }]);
        let body = json!({ "first_name": "Tom", "birth_date": "2012-01-01", "email": "tom@example.org", "guardians": guardians });
        let tom = w.owner.post(&format!("/teams/{}/roster", cast.hawks), body).await.created();
        let payer = json!({ "payer": tom.data()["person_id"] });
        let due = charged(w, &cast.hawks, tom.id(), payer).await;
        w.owner.post(&at(&due, "/remind"), json!({})).await;
        let sent = letters(w, &due).await;
        let mut readers: Vec<_> = sent.iter().map(|letter| letter["to_address"].as_str().unwrap()).collect();
        readers.sort_unstable();
        assert_eq!(readers, ["gil@example.org", "tom@example.org"]);
    }

    async fn what_was_changed_before_the_letter_went_is_reminded_of_as_it_is(w: &World) {
        let cast = w.cast().await;
        schedule(w, &[-7]).await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({ "due_on": "2026-09-15" })).await;
        w.pass(seconds(4 * DAY));
        jobs::remind(&w.node.app).await;
        assert_eq!(statuses(w, &due).await, ["pending"]);
        w.owner.patch(&at(&due, ""), json!({ "note": "IBAN PT50" })).await.ok();
        assert_eq!(statuses(w, &due).await, ["cancelled"]);
        jobs::remind(&w.node.app).await;
        jobs::remind(&w.node.app).await;
        assert_eq!(statuses(w, &due).await, ["cancelled", "pending"]);
        assert!(letters(w, &due).await[1]["text_body"].as_str().unwrap().contains("IBAN PT50"));
    }

    async fn whoever_pays_a_part_is_reminded_of_the_rest_by_hand_alone(w: &World) {
        let cast = w.cast().await;
        schedule(w, &[-7]).await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({ "due_on": "2026-09-15" })).await;
        w.pass(seconds(4 * DAY));
        jobs::remind(&w.node.app).await;
        pay(w, &due, 1).await.created();
        jobs::remind(&w.node.app).await;
        assert_eq!(statuses(w, &due).await, ["cancelled"], "not to somebody who paid a minute ago");
        for payment in [2, 3] {
            // The letter before never went, so they were not reminded within the hour.
            let reminded = w.owner.post(&at(&due, "/remind"), json!({})).await;
            assert_eq!((reminded.status, &reminded.data()["letters"]), (202, &json!(1)));
            w.pass(seconds(1));
            pay(w, &due, payment).await.created();
        }
        assert_eq!(statuses(w, &due).await, ["cancelled", "cancelled", "cancelled"]);
    }

    async fn who_has_no_address_is_passed_by(w: &World) {
        let cast = w.cast().await;
        schedule(w, &[0]).await;
        let guardians = json!([{ "first_name": "Una" }, { "first_name": "Eva", "email": "eva@example.org" }, { "first_name": "Ivo", "email": "ivo@example.org", "receives_messages": false }]);
        let kid = w.joins(&cast.hawks, json!({ "first_name": "Kid", "guardians": guardians })).await;
        let alone = w.joins(&cast.hawks, json!({ "first_name": "Loner" })).await;
        let (first, second) = (charged(w, &cast.hawks, &kid.member, json!({ "due_on": "2026-09-06" })).await, charged(w, &cast.hawks, &alone.member, json!({ "due_on": "2026-09-06" })).await);
        // Nobody is reminded on the day they were charged, nor of what is long past.
        let (today, past) = (charged(w, &cast.hawks, &kid.member, json!({ "due_on": "2026-09-05" })).await, charged(w, &cast.hawks, &kid.member, json!({ "due_on": "2026-08-05" })).await);
        jobs::remind(&w.node.app).await;
        w.pass(seconds(DAY));
        jobs::remind(&w.node.app).await;
        let sent = letters(w, &first).await;
        assert_eq!(sent.iter().map(|letter| &letter["to_address"]).collect::<Vec<_>>(), ["eva@example.org"]);
        for quiet in [&second, &today, &past] {
            assert!(letters(w, quiet).await.is_empty());
        }
        let reminded = w.owner.post(&at(&second, "/remind"), json!({})).await;
        assert_eq!((reminded.status, &reminded.data()["letters"]), (202, &json!(0)));
        // That nobody was written to does not count as reminding: as soon as there is an address, it goes out.
        w.pass(seconds(1));
        w.owner.patch(&format!("/people/{}", alone.person), json!({ "email": "loner@example.org" })).await.ok();
        let reminded = w.owner.post(&at(&second, "/remind"), json!({})).await;
        assert_eq!((reminded.status, &reminded.data()["letters"]), (202, &json!(1)));
        assert_eq!(letters(w, &second).await.len(), 1);
    }

    async fn a_treasurer_reminds_by_hand_at_most_once_an_hour(w: &World) {
        let cast = w.cast().await;
        let soon = charged(w, &cast.hawks, &cast.max.member, json!({ "due_on": "2026-09-10" })).await;
        let later = charged(w, &cast.hawks, &cast.zoe.member, json!({})).await;
        let paid = charged(w, &cast.hawks, &cast.lia.member, json!({ "due_on": "2026-09-10" })).await;
        pay(w, &paid, 10000).await.created();
        let team = async || w.owner.post("/dues/remind", json!({ "team_id": cast.hawks })).await;
        let reminded = team().await;
        assert_eq!((reminded.status, reminded.data()), (202, &json!({ "object": "reminders", "team_id": cast.hawks, "due_ids": [soon["id"]], "letters": 1 })));
        assert_eq!(team().await.data()["due_ids"], json!([]));
        w.owner.post(&at(&soon, "/remind"), json!({})).await.refused(409, "invalid_state");
        w.owner.post(&at(&paid, "/remind"), json!({})).await.refused(409, "invalid_state");
        assert_eq!(w.owner.post(&at(&later, "/remind"), json!({})).await.data()["letters"], 1);
        w.pass(seconds(HOUR - 1));
        w.owner.post(&at(&soon, "/remind"), json!({})).await.refused(409, "invalid_state");
        w.pass(seconds(1));
        assert_eq!(w.owner.post(&at(&soon, "/remind"), json!({})).await.status, 202);
        assert_eq!(letters(w, &soon).await.len(), 2);
        // By hand in the night, so not again by the schedule in the morning.
        schedule(w, &[0]).await;
        w.pass(seconds(5 * DAY - 14 * HOUR));
        w.owner.post(&at(&soon, "/remind"), json!({})).await;
        w.pass(seconds(11 * HOUR));
        jobs::remind(&w.node.app).await;
        assert_eq!(letters(w, &soon).await.len(), 3);
        w.owner.post("/dues/remind", json!({})).await.refused(422, "validation_failed");
    }

    async fn a_late_fee_is_added_once(w: &World) {
        let cast = w.cast().await;
        let fixed = charged(w, &cast.hawks, &cast.max.member, json!({ "due_on": "2026-09-10", "late_fee": { "amount": 700 } })).await;
        let part = charged(w, &cast.hawks, &cast.zoe.member, json!({ "due_on": "2026-09-10", "instalment_count": 2, "late_fee": { "percent_bp": 1000 } })).await;
        let none = charged(w, &cast.hawks, &cast.zoe.member, json!({ "due_on": "2026-09-10" })).await;
        let paid = charged(w, &cast.hawks, &cast.lia.member, json!({ "due_on": "2026-09-10", "late_fee": { "amount": 700 } })).await;
        pay(w, &paid, 10000).await.created();
        pay(w, &part, 1000).await.created();
        let other = w.node(|_| {}).await;
        let both = async || {
            tokio::join!(jobs::add_late_fees(&w.node.app), jobs::add_late_fees(&other.app));
        };
        w.pass(seconds(5 * DAY + 14 * HOUR - 1));
        both().await;
        assert_eq!(look(w, &fixed).await["late_fee_charged"], 0);
        w.pass(seconds(1));
        both().await;
        both().await;
        let after = look(w, &fixed).await;
        assert_eq!((&after["late_fee_charged"], &after["balance"], &after["overdue"]), (&json!(700), &json!(10700), &json!(true)));
        // A tenth of the 40.00 that should have been paid by now.
        assert_eq!(look(w, &part).await["late_fee_charged"], 400);
        for one in [&none, &paid] {
            assert_eq!(look(w, one).await["late_fee_charged"], 0);
        }
        assert_eq!(told(w, "dues.updated").await, 2);
        w.owner.patch(&at(&fixed, ""), json!({ "late_fee": { "amount": 1 } })).await.refused(409, "invalid_state");
        balanced(w).await;
        let statement = w.owner.get(&format!("/teams/{}/dues/statement", cast.hawks)).await.ok();
        let total = &statement.data()["totals"][0];
        assert_eq!((&total["late_fees"], &total["overdue"], &total["open"]), (&json!(1100), &json!(10700 + 4000 + 10000), &json!(10700 + 9400 + 10000)));
        // What is paid covers the days first and the fee last.
        pay(w, &fixed, 10000).await.created();
        let after = look(w, &fixed).await;
        assert_eq!((&after["balance"], &after["overdue"], &after["instalments"][0]["paid"]), (&json!(700), &json!(true), &json!(10000)));
        pay(w, &fixed, 700).await.created();
        assert_eq!(look(w, &fixed).await["status"], "paid");
        w.pass(seconds(60 * DAY));
        both().await;
        assert_eq!(look(w, &part).await["late_fee_charged"], 400);
        other.stop().await;
    }
}
