//! Tests of payments for dues: partial, concurrent and excess payments, and refunds.

use testkit::{TestResponse, Value, World, both, json};

use crate::dues::{
    assert_ledger_balanced, charge_member, due_path, get_due, notification_count, pay,
};
use crate::roster_access::client_with_all_scopes;

async fn refund(w: &World, due: &Value, payment: &TestResponse, body: Value) -> TestResponse {
    w.owner.post(&due_path(due, &format!("/payments/{}/refund", payment.id())), body).await
}

/// The credit of a person.
async fn credit(w: &World, person: &str) -> i64 {
    let statement = w.owner.get(&format!("/people/{person}/statement")).await.ok();
    statement.data()["totals"][0]["credit"].as_i64().unwrap_or(0)
}

fn due_state(due: &Value) -> (String, i64, i64) {
    let number = |name: &str| due[name].as_i64().unwrap();
    (due["status"].as_str().unwrap().to_owned(), number("paid"), number("balance"))
}

fn expected_state(status: &str, paid: i64, balance: i64) -> (String, i64, i64) {
    (status.to_owned(), paid, balance)
}

both! {
    async fn a_due_paid_in_parts_is_published_as_paid_once(w: &World) {
        let club = w.club().await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "installment_count": 2 })).await;
        let body = json!({ "amount": 6000, "method": "bank_transfer", "reference": "Statement 12", "paid_at": "2026-09-01T12:00:00Z", "currency": "EUR" });
        let first = w.owner.post(&due_path(&due, "/payments"), body).await.created();
        assert_eq!((&first.data()["amount"], &first.data()["overpaid"], &first.data()["payer_id"], &first.data()["reference"]), (&json!(6000), &json!(0), &json!(club.pat), &json!("Statement 12")));
        assert_eq!(first.header("location").unwrap(), format!("/api/public/v1{}", due_path(&due, &format!("/payments/{}", first.id()))));
        let after = get_due(w, &due).await;
        assert_eq!(due_state(&after), expected_state("partially_paid", 6000, 4000));
        assert_eq!((&after["installments"][0]["paid"], &after["installments"][1]["paid"]), (&json!(5000), &json!(1000)));
        assert_eq!(notification_count(w, "dues.paid").await, 0);
        // Without an amount, the payment is for the open balance.
        let rest = w.owner.post(&due_path(&due, "/payments"), json!({ "method": "cash" })).await.created();
        assert_eq!(rest.data()["amount"], 4000);
        assert_eq!(due_state(&get_due(w, &due).await), expected_state("paid", 10000, 0));
        w.owner.post(&due_path(&due, "/payments"), json!({ "method": "cash" })).await.assert_problem(409, "invalid_state");
        assert_eq!((notification_count(w, "dues.paid").await, notification_count(w, "dues.payment_recorded").await), (1, 2));
        let all = w.owner.get(&due_path(&due, "/payments")).await.ok();
        assert_eq!(all.data().as_array().unwrap().iter().map(|payment| &payment["id"]).collect::<Vec<_>>(), [&first.data()["id"], &rest.data()["id"]]);
        w.owner.get(&due_path(&due, &format!("/payments/{}", rest.id()))).await.ok();
        // A due that is owed and paid again is published again.
        refund(w, &due, &rest, json!({ "amount": 1500, "reason": "Too much" })).await.ok();
        assert_eq!(due_state(&get_due(w, &due).await), expected_state("partially_paid", 8500, 1500));
        pay(w, &due, 1500).await.created();
        assert_eq!((notification_count(w, "dues.paid").await, notification_count(w, "dues.refunded").await), (2, 1));
        assert_ledger_balanced(w).await;
    }

    async fn credit_pays_later_dues_and_is_used_once(w: &World) {
        let club = w.club().await;
        let first = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        let overpayment = pay(w, &first, 25000).await.created();
        assert_eq!((overpayment.data()["overpaid"].clone(), credit(w, &club.pat).await), (json!(15000), 15000));
        // The next charge uses the credit, unless `use_credit` is false.
        let second = charge_member(w, &club.hawks, &club.max.member, json!({ "use_credit": false })).await;
        assert_eq!(due_state(&second), expected_state("open", 0, 10000));
        let third = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        assert_eq!((due_state(&third), credit(w, &club.pat).await), (expected_state("paid", 10000, 0), 5000));
        assert_eq!(notification_count(w, "dues.paid").await, 2);
        // Credit does not pay dues in another currency.
        let yen = charge_member(w, &club.hawks, &club.max.member, json!({ "currency": "JPY" })).await;
        assert_eq!(due_state(&yen), expected_state("open", 0, 10000));
        // A family can pay its own dues with credit, but cannot record other payments.
        let parent = client_with_all_scopes(w, club.parent.id).await;
        parent.post(&due_path(&second, "/payments"), json!({ "method": "cash" })).await.assert_problem(403, "forbidden");
        parent.post(&due_path(&second, "/payments"), json!({ "method": "credit", "amount": 5001 })).await.assert_problem(409, "invalid_state");
        let used = parent.post(&due_path(&second, "/payments"), json!({ "method": "credit" })).await.created();
        assert_eq!((used.data()["amount"].clone(), credit(w, &club.pat).await), (json!(5000), 0));
        parent.post(&due_path(&second, "/payments"), json!({ "method": "credit" })).await.assert_problem(409, "invalid_state");
        // Only the part of the first payment that paid the first due is refundable: the rest is spent.
        let refused = refund(w, &first, &overpayment, json!({ "amount": 10001 })).await.assert_problem(409, "invalid_state");
        assert!(refused.body["detail"].as_str().unwrap().contains("10000"));
        // A refunded credit payment becomes credit again.
        refund(w, &second, &used, json!({})).await.ok();
        assert_eq!(credit(w, &club.pat).await, 5000);
        let refunded = refund(w, &first, &overpayment, json!({})).await.ok();
        assert_eq!((&refunded.data()["refunded"], due_state(&get_due(w, &first).await), credit(w, &club.pat).await), (&json!(15000), expected_state("open", 0, 10000), 0));
        refund(w, &first, &overpayment, json!({})).await.assert_problem(409, "invalid_state");
        assert_ledger_balanced(w).await;
        let team = w.owner.get(&format!("/teams/{}/dues/statement", club.hawks)).await.ok();
        let total = team.data()["totals"].as_array().unwrap().iter().find(|total| total["currency"] == "EUR").unwrap();
        assert_eq!(total, &json!({ "currency": "EUR", "charged": 30000, "discounted": 0, "late_fees": 0, "waived": 0, "paid": 25000, "overpaid": 15000,
            "credit_applied": 10000, "refunded": 15000, "outstanding": 20000, "overdue": 0, "credit": 0 }));
    }

    async fn rejects_invalid_payments_and_refunds(w: &World) {
        let club = w.club().await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        let other = charge_member(w, &club.hawks, &club.zoe.member, json!({})).await;
        for (body, pointer) in [
            (json!({ "amount": 0, "method": "cash" }), "/amount"), (json!({ "amount": -1, "method": "cash" }), "/amount"), (json!({ "amount": 1.5, "method": "cash" }), "/amount"),
            (json!({ "amount": 1_000_000_000_001_i64, "method": "cash" }), "/amount"), (json!({ "amount": 1 }), "/method"), (json!({ "amount": 1, "method": "iou" }), "/method"),
            (json!({ "amount": 1, "method": "cash", "currency": "USD" }), "/currency"), (json!({ "amount": 1, "method": "cash", "paid_at": "2026-09-06T10:00:01Z" }), "/paid_at"),
            (json!({ "amount": 1, "method": "cash", "paid_at": "yesterday" }), "/paid_at"),
            (json!({ "amount": 1, "method": "cash", "paid_at": "1999-12-31T23:59:59Z" }), "/paid_at"),
        ] {
            let refused = w.owner.post(&due_path(&due, "/payments"), body.clone()).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{body}");
        }
        w.owner.post(&due_path(&due, "/payments"), json!({ "method": "credit" })).await.assert_problem(409, "invalid_state");
        let payment = pay(w, &due, 5000).await.created();
        for wrong in [json!({ "amount": 0 }), json!({ "amount": -5 }), json!({ "amount": 0.5 })] {
            assert_eq!(refund(w, &due, &payment, wrong).await.assert_problem(422, "validation_failed").pointers(), ["/amount"]);
        }
        refund(w, &due, &payment, json!({ "amount": 5001 })).await.assert_problem(409, "invalid_state");
        refund(w, &other, &payment, json!({})).await.assert_problem(404, "not_found");
        // A time less than a day ahead is accepted, because dates differ between time zones.
        w.owner.post(&due_path(&due, "/payments"), json!({ "amount": 1, "method": "cash", "paid_at": "2026-09-06T09:59:59Z" })).await.created();
        assert_ledger_balanced(w).await;
    }

    async fn two_concurrent_payments_create_credit(w: &World) {
        let club = w.club().await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        let other = w.node(|_| {}).await;
        let other_owner = w.owner.at(other.address);
        let body = json!({ "amount": 10000, "method": "cash" });
        let path = due_path(&due, "/payments");
        let (one, two) = tokio::join!(w.owner.post(&path, body.clone()), other_owner.post(&path, body.clone()));
        let mut overpaid = [one.created().data()["overpaid"].as_i64().unwrap(), two.created().data()["overpaid"].as_i64().unwrap()];
        overpaid.sort_unstable();
        assert_eq!((overpaid, credit(w, &club.pat).await, notification_count(w, "dues.paid").await), ([0, 10000], 10000, 1));
        assert_ledger_balanced(w).await;
        // The same request sent twice is one payment.
        let keyed = w.owner.with_header("Idempotency-Key", "pay-once");
        let (one, two) = (keyed.post(&path, body.clone()).await.created(), keyed.post(&path, body).await.created());
        assert_eq!((one.id(), credit(w, &club.pat).await), (two.id(), 20000));
        other.stop().await;
    }

    async fn concurrent_requests_refund_a_payment_once(w: &World) {
        let club = w.club().await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        let payment = pay(w, &due, 15000).await.created();
        let other = w.node(|_| {}).await;
        let other_owner = w.owner.at(other.address);
        let path = due_path(&due, &format!("/payments/{}/refund", payment.id()));
        let body = json!({ "amount": 15000 });
        let (one, two) = tokio::join!(w.owner.post(&path, body.clone()), other_owner.post(&path, body.clone()));
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        assert_eq!((due_state(&get_due(w, &due).await), credit(w, &club.pat).await, w.count("refund").await), (expected_state("open", 0, 10000), 0, 1));
        // Two concurrent charges spend the credit once.
        pay(w, &due, 15000).await.created();
        let fee = crate::dues::fee_of(&club.hawks, &club.max.member, json!({ "amount": 5000 }));
        let (one, two) = tokio::join!(w.owner.post("/dues", fee.clone()), other_owner.post("/dues", fee.clone()));
        let mut paid = [one.created().data()[0]["paid"].as_i64().unwrap(), two.created().data()[0]["paid"].as_i64().unwrap()];
        paid.sort_unstable();
        assert_eq!((paid, credit(w, &club.pat).await), ([0, 5000], 0));
        assert_ledger_balanced(w).await;
        other.stop().await;
    }
}
