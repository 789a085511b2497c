//! Tests of reminders, which are sent once, in the morning, to payers with an open balance; and of late fees.

use testkit::{Value, World, both, json, seconds};
use touchline::jobs;

use crate::dues::{
    assert_ledger_balanced, charge_member, due_path, get_due, notification_count, pay,
};
use crate::mail::DAY;

const HOUR: u64 = 3600;

/// The emails about a due, oldest first.
async fn emails(w: &World, due: &Value) -> Vec<Value> {
    let id = due["id"].as_str().unwrap();
    w.owner
        .get(&format!("/emails?related_id={id}&order=asc"))
        .await
        .ok()
        .data()
        .as_array()
        .unwrap()
        .clone()
}

async fn statuses(w: &World, due: &Value) -> Vec<String> {
    emails(w, due).await.iter().map(|email| email["status"].as_str().unwrap().to_owned()).collect()
}

async fn schedule(w: &World, days: &[i64]) {
    w.owner.patch("/payment_settings", json!({ "reminder_days": days })).await.ok();
}

both! {
    async fn sends_scheduled_reminders_once(w: &World) {
        let club = w.club().await;
        w.owner.patch(&format!("/teams/{}", club.hawks), json!({ "timezone": "Europe/Lisbon" })).await.ok();
        schedule(w, &[-7, 1]).await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "due_on": "2026-09-15", "installment_count": 2, "note": "IBAN PT50" })).await;
        let other = w.node(|_| {}).await;
        let remind_on_both_nodes = async || {
            tokio::join!(jobs::send_dues_reminders(&w.node.app), jobs::send_dues_reminders(&other.app));
        };
        remind_on_both_nodes().await;
        assert!(emails(w, &due).await.is_empty());
        // Reminders are sent on September 8 at 8:00 in Lisbon (7:00 UTC), not before.
        w.advance_clock(seconds(2 * DAY + 20 * HOUR + 3540));
        remind_on_both_nodes().await;
        assert!(emails(w, &due).await.is_empty());
        w.advance_clock(seconds(60));
        remind_on_both_nodes().await;
        remind_on_both_nodes().await;
        let sent = emails(w, &due).await;
        assert_eq!(sent.len(), 1);
        assert_eq!((&sent[0]["to_address"], &sent[0]["person_id"]), (&json!("pat@example.org"), &json!(club.pat)));
        let text = sent[0]["body_text"].as_str().unwrap();
        for part in ["Hello Pat", "Max", "Season fee", "€50.00 is due on 15 Sep 2026", "Open balance: €100.00", "IBAN PT50"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(sent[0]["subject"].as_str().unwrap().starts_with("[Hawks] Season fee: €100.00"));
        // A payment cancels the queued email; the second installment is not due yet.
        pay(w, &due, 5000).await.created();
        assert_eq!(statuses(w, &due).await, ["cancelled"]);
        w.advance_clock(seconds(8 * DAY));
        remind_on_both_nodes().await;
        assert_eq!(emails(w, &due).await.len(), 1, "the first part is paid");
        w.advance_clock(seconds(22 * DAY));
        remind_on_both_nodes().await;
        assert_eq!(statuses(w, &due).await, ["cancelled", "pending"]);
        w.owner.post(&due_path(&due, "/waive"), json!({ "reason": "x" })).await.ok();
        assert_eq!(statuses(w, &due).await, ["cancelled", "cancelled"]);
        w.advance_clock(seconds(8 * DAY));
        remind_on_both_nodes().await;
        assert_eq!(emails(w, &due).await.len(), 2);
        other.stop().await;
    }

    async fn reminds_a_paying_minor_together_with_their_guardians(w: &World) {
        let club = w.club().await;
        let guardians = json!([{ "first_name": "Gil", "email": "gil@example.org" },
            { "first_name": "Gus", "email": "gus@example.org", "receives_messages": false }]);
        let body = json!({ "first_name": "Tom", "birth_date": "2012-01-01", "email": "tom@example.org", "guardians": guardians });
        let tom = w.owner.post(&format!("/teams/{}/roster", club.hawks), body).await.created();
        let payer = json!({ "payer": tom.data()["person_id"] });
        let due = charge_member(w, &club.hawks, tom.id(), payer).await;
        w.owner.post(&due_path(&due, "/remind"), json!({})).await;
        let sent = emails(w, &due).await;
        let mut recipients: Vec<_> = sent.iter().map(|email| email["to_address"].as_str().unwrap()).collect();
        recipients.sort_unstable();
        assert_eq!(recipients, ["gil@example.org", "tom@example.org"]);
    }

    async fn changing_a_due_replaces_its_queued_reminder(w: &World) {
        let club = w.club().await;
        schedule(w, &[-7]).await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "due_on": "2026-09-15" })).await;
        w.advance_clock(seconds(4 * DAY));
        jobs::send_dues_reminders(&w.node.app).await;
        assert_eq!(statuses(w, &due).await, ["pending"]);
        w.owner.patch(&due_path(&due, ""), json!({ "note": "IBAN PT50" })).await.ok();
        assert_eq!(statuses(w, &due).await, ["cancelled"]);
        jobs::send_dues_reminders(&w.node.app).await;
        jobs::send_dues_reminders(&w.node.app).await;
        assert_eq!(statuses(w, &due).await, ["cancelled", "pending"]);
        assert!(emails(w, &due).await[1]["body_text"].as_str().unwrap().contains("IBAN PT50"));
    }

    async fn after_a_partial_payment_only_manual_reminders_are_sent(w: &World) {
        let club = w.club().await;
        schedule(w, &[-7]).await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "due_on": "2026-09-15" })).await;
        w.advance_clock(seconds(4 * DAY));
        jobs::send_dues_reminders(&w.node.app).await;
        pay(w, &due, 1).await.created();
        jobs::send_dues_reminders(&w.node.app).await;
        assert_eq!(statuses(w, &due).await, ["cancelled"], "not to somebody who paid a minute ago");
        for payment in [2, 3] {
            // The previous email was never sent, so it does not count toward one reminder per hour.
            let reminded = w.owner.post(&due_path(&due, "/remind"), json!({})).await;
            assert_eq!((reminded.status, &reminded.data()["emails"]), (202, &json!(1)));
            w.advance_clock(seconds(1));
            pay(w, &due, payment).await.created();
        }
        assert_eq!(statuses(w, &due).await, ["cancelled", "cancelled", "cancelled"]);
    }

    async fn skips_payers_without_an_email_address(w: &World) {
        let club = w.club().await;
        schedule(w, &[0]).await;
        let guardians = json!([{ "first_name": "Una" }, { "first_name": "Eva", "email": "eva@example.org" }, { "first_name": "Ivo", "email": "ivo@example.org", "receives_messages": false }]);
        let kid = w.add_member(&club.hawks, json!({ "first_name": "Kid", "guardians": guardians })).await;
        let loner = w.add_member(&club.hawks, json!({ "first_name": "Loner" })).await;
        let (first, second) = (charge_member(w, &club.hawks, &kid.member, json!({ "due_on": "2026-09-06" })).await, charge_member(w, &club.hawks, &loner.member, json!({ "due_on": "2026-09-06" })).await);
        // Nobody is reminded on the day they were charged, nor of dates long past.
        let (today, past) = (charge_member(w, &club.hawks, &kid.member, json!({ "due_on": "2026-09-05" })).await, charge_member(w, &club.hawks, &kid.member, json!({ "due_on": "2026-08-05" })).await);
        jobs::send_dues_reminders(&w.node.app).await;
        w.advance_clock(seconds(DAY));
        jobs::send_dues_reminders(&w.node.app).await;
        let sent = emails(w, &first).await;
        assert_eq!(sent.iter().map(|email| &email["to_address"]).collect::<Vec<_>>(), ["eva@example.org"]);
        for due in [&second, &today, &past] {
            assert!(emails(w, due).await.is_empty());
        }
        let reminded = w.owner.post(&due_path(&second, "/remind"), json!({})).await;
        assert_eq!((reminded.status, &reminded.data()["emails"]), (202, &json!(0)));
        // A reminder that reached nobody does not count: it is sent as soon as there is an address.
        w.advance_clock(seconds(1));
        w.owner.patch(&format!("/people/{}", loner.person), json!({ "email": "loner@example.org" })).await.ok();
        let reminded = w.owner.post(&due_path(&second, "/remind"), json!({})).await;
        assert_eq!((reminded.status, &reminded.data()["emails"]), (202, &json!(1)));
        assert_eq!(emails(w, &second).await.len(), 1);
    }

    async fn manual_reminders_are_limited_to_one_per_hour(w: &World) {
        let club = w.club().await;
        let soon = charge_member(w, &club.hawks, &club.max.member, json!({ "due_on": "2026-09-10" })).await;
        let later = charge_member(w, &club.hawks, &club.zoe.member, json!({})).await;
        let paid = charge_member(w, &club.hawks, &club.lia.member, json!({ "due_on": "2026-09-10" })).await;
        pay(w, &paid, 10000).await.created();
        let remind_team = async || w.owner.post("/dues/remind", json!({ "team_id": club.hawks })).await;
        let reminded = remind_team().await;
        assert_eq!((reminded.status, reminded.data()), (202, &json!({ "object": "reminders", "team_id": club.hawks, "due_ids": [soon["id"]], "emails": 1 })));
        assert_eq!(remind_team().await.data()["due_ids"], json!([]));
        w.owner.post(&due_path(&soon, "/remind"), json!({})).await.assert_problem(409, "invalid_state");
        w.owner.post(&due_path(&paid, "/remind"), json!({})).await.assert_problem(409, "invalid_state");
        assert_eq!(w.owner.post(&due_path(&later, "/remind"), json!({})).await.data()["emails"], 1);
        w.advance_clock(seconds(HOUR - 1));
        w.owner.post(&due_path(&soon, "/remind"), json!({})).await.assert_problem(409, "invalid_state");
        w.advance_clock(seconds(1));
        assert_eq!(w.owner.post(&due_path(&soon, "/remind"), json!({})).await.status, 202);
        assert_eq!(emails(w, &soon).await.len(), 2);
        // After a manual reminder at night, the schedule sends none in the morning.
        schedule(w, &[0]).await;
        w.advance_clock(seconds(5 * DAY - 14 * HOUR));
        w.owner.post(&due_path(&soon, "/remind"), json!({})).await;
        w.advance_clock(seconds(11 * HOUR));
        jobs::send_dues_reminders(&w.node.app).await;
        assert_eq!(emails(w, &soon).await.len(), 3);
        w.owner.post("/dues/remind", json!({})).await.assert_problem(422, "validation_failed");
    }

    async fn a_late_fee_is_added_once(w: &World) {
        let club = w.club().await;
        let fixed = charge_member(w, &club.hawks, &club.max.member, json!({ "due_on": "2026-09-10", "late_fee": { "amount": 700 } })).await;
        let part = charge_member(w, &club.hawks, &club.zoe.member, json!({ "due_on": "2026-09-10", "installment_count": 2, "late_fee": { "percent_bps": 1000 } })).await;
        let none = charge_member(w, &club.hawks, &club.zoe.member, json!({ "due_on": "2026-09-10" })).await;
        let paid = charge_member(w, &club.hawks, &club.lia.member, json!({ "due_on": "2026-09-10", "late_fee": { "amount": 700 } })).await;
        pay(w, &paid, 10000).await.created();
        pay(w, &part, 1000).await.created();
        let other = w.node(|_| {}).await;
        let add_on_both_nodes = async || {
            tokio::join!(jobs::add_late_fees(&w.node.app), jobs::add_late_fees(&other.app));
        };
        w.advance_clock(seconds(5 * DAY + 14 * HOUR - 1));
        add_on_both_nodes().await;
        assert_eq!(get_due(w, &fixed).await["late_fee_charged"], 0);
        w.advance_clock(seconds(1));
        add_on_both_nodes().await;
        add_on_both_nodes().await;
        let after = get_due(w, &fixed).await;
        assert_eq!((&after["late_fee_charged"], &after["balance"], &after["overdue"]), (&json!(700), &json!(10700), &json!(true)));
        // 10% of the overdue 40.00.
        assert_eq!(get_due(w, &part).await["late_fee_charged"], 400);
        for one in [&none, &paid] {
            assert_eq!(get_due(w, one).await["late_fee_charged"], 0);
        }
        assert_eq!(notification_count(w, "dues.updated").await, 2);
        w.owner.patch(&due_path(&fixed, ""), json!({ "late_fee": { "amount": 1 } })).await.assert_problem(409, "invalid_state");
        assert_ledger_balanced(w).await;
        let statement = w.owner.get(&format!("/teams/{}/dues/statement", club.hawks)).await.ok();
        let total = &statement.data()["totals"][0];
        assert_eq!((&total["late_fees"], &total["overdue"], &total["outstanding"]), (&json!(1100), &json!(10700 + 4000 + 10000), &json!(10700 + 9400 + 10000)));
        // Payments cover the installments first and the late fee last.
        pay(w, &fixed, 10000).await.created();
        let after = get_due(w, &fixed).await;
        assert_eq!((&after["balance"], &after["overdue"], &after["installments"][0]["paid"]), (&json!(700), &json!(true), &json!(10000)));
        pay(w, &fixed, 700).await.created();
        assert_eq!(get_due(w, &fixed).await["status"], "paid");
        w.advance_clock(seconds(60 * DAY));
        add_on_both_nodes().await;
        assert_eq!(get_due(w, &part).await["late_fee_charged"], 400);
        other.stop().await;
    }
}
