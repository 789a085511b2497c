//! Stories about paying dues: in parts, ahead, twice at once; and about giving back.

use testkit::{Answer, Value, World, both, json};

use crate::dues::{at, balanced, charged, look, pay, told};
use crate::standing::acting;

async fn refund(w: &World, due: &Value, payment: &Answer, body: Value) -> Answer {
    w.owner.post(&at(due, &format!("/payments/{}/refund", payment.id())), body).await
}

/// What somebody has paid ahead.
async fn credit(w: &World, person: &str) -> i64 {
    let statement = w.owner.get(&format!("/people/{person}/statement")).await.ok();
    statement.data()["totals"][0]["credit"].as_i64().unwrap_or(0)
}

fn sums(due: &Value) -> (String, i64, i64) {
    let number = |name: &str| due[name].as_i64().unwrap();
    (due["status"].as_str().unwrap().to_owned(), number("paid"), number("balance"))
}

fn state(status: &str, paid: i64, balance: i64) -> (String, i64, i64) {
    (status.to_owned(), paid, balance)
}

both! {
    async fn a_due_is_paid_in_parts_and_told_once(w: &World) {
        let cast = w.cast().await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({ "instalment_count": 2 })).await;
        let body = json!({ "amount": 6000, "method": "transfer", "reference": "Statement 12", "paid_at": "2026-09-01T12:00:00Z", "currency": "EUR" });
        let first = w.owner.post(&at(&due, "/payments"), body).await.created();
        assert_eq!((&first.data()["amount"], &first.data()["credited"], &first.data()["payer_id"], &first.data()["reference"]), (&json!(6000), &json!(0), &json!(cast.pat), &json!("Statement 12")));
        assert_eq!(first.header("location").unwrap(), format!("/api/public/v1{}", at(&due, &format!("/payments/{}", first.id()))));
        let after = look(w, &due).await;
        assert_eq!(sums(&after), state("partially_paid", 6000, 4000));
        assert_eq!((&after["instalments"][0]["paid"], &after["instalments"][1]["paid"]), (&json!(5000), &json!(1000)));
        assert_eq!(told(w, "dues.paid").await, 0);
        // The rest, if nobody says how much.
        let rest = w.owner.post(&at(&due, "/payments"), json!({ "method": "cash" })).await.created();
        assert_eq!(rest.data()["amount"], 4000);
        assert_eq!(sums(&look(w, &due).await), state("paid", 10000, 0));
        w.owner.post(&at(&due, "/payments"), json!({ "method": "cash" })).await.refused(409, "invalid_state");
        assert_eq!((told(w, "dues.paid").await, told(w, "dues.payment_recorded").await), (1, 2));
        let all = w.owner.get(&at(&due, "/payments")).await.ok();
        assert_eq!(all.data().as_array().unwrap().iter().map(|payment| &payment["id"]).collect::<Vec<_>>(), [&first.data()["id"], &rest.data()["id"]]);
        w.owner.get(&at(&due, &format!("/payments/{}", rest.id()))).await.ok();
        // Owed again, and paid again: told again.
        refund(w, &due, &rest, json!({ "amount": 1500, "reason": "Too much" })).await.ok();
        assert_eq!(sums(&look(w, &due).await), state("partially_paid", 8500, 1500));
        pay(w, &due, 1500).await.created();
        assert_eq!((told(w, "dues.paid").await, told(w, "dues.refunded").await), (2, 1));
        balanced(w).await;
    }

    async fn what_is_paid_ahead_is_used_and_never_twice(w: &World) {
        let cast = w.cast().await;
        let first = charged(w, &cast.hawks, &cast.max.member, json!({})).await;
        let over = pay(w, &first, 25000).await.created();
        assert_eq!((over.data()["credited"].clone(), credit(w, &cast.pat).await), (json!(15000), 15000));
        // The next charge uses it, unless told not to.
        let second = charged(w, &cast.hawks, &cast.max.member, json!({ "use_credit": false })).await;
        assert_eq!(sums(&second), state("open", 0, 10000));
        let third = charged(w, &cast.hawks, &cast.max.member, json!({})).await;
        assert_eq!((sums(&third), credit(w, &cast.pat).await), (state("paid", 10000, 0), 5000));
        assert_eq!(told(w, "dues.paid").await, 2);
        // Another currency is no credit.
        let yen = charged(w, &cast.hawks, &cast.max.member, json!({ "currency": "JPY" })).await;
        assert_eq!(sums(&yen), state("open", 0, 10000));
        // The family uses it for its own, and writes down nothing else.
        let parent = acting(w, cast.parent.id).await;
        parent.post(&at(&second, "/payments"), json!({ "method": "cash" })).await.refused(403, "forbidden");
        parent.post(&at(&second, "/payments"), json!({ "method": "credit", "amount": 5001 })).await.refused(409, "invalid_state");
        let used = parent.post(&at(&second, "/payments"), json!({ "method": "credit" })).await.created();
        assert_eq!((used.data()["amount"].clone(), credit(w, &cast.pat).await), (json!(5000), 0));
        parent.post(&at(&second, "/payments"), json!({ "method": "credit" })).await.refused(409, "invalid_state");
        // Of the first payment only what paid the first due can be given back: the rest is spent.
        let refused = refund(w, &first, &over, json!({ "amount": 10001 })).await.refused(409, "invalid_state");
        assert!(refused.body["detail"].as_str().unwrap().contains("10000"));
        // What is given back of a credit is paid ahead again.
        refund(w, &second, &used, json!({})).await.ok();
        assert_eq!(credit(w, &cast.pat).await, 5000);
        let back = refund(w, &first, &over, json!({})).await.ok();
        assert_eq!((&back.data()["refunded"], sums(&look(w, &first).await), credit(w, &cast.pat).await), (&json!(15000), state("open", 0, 10000), 0));
        refund(w, &first, &over, json!({})).await.refused(409, "invalid_state");
        balanced(w).await;
        let team = w.owner.get(&format!("/teams/{}/dues/statement", cast.hawks)).await.ok();
        let total = team.data()["totals"].as_array().unwrap().iter().find(|total| total["currency"] == "EUR").unwrap();
        assert_eq!(total, &json!({ "currency": "EUR", "charged": 30000, "discounted": 0, "late_fees": 0, "waived": 0, "paid": 25000, "credited": 15000,
            "credit_used": 10000, "refunded": 15000, "open": 20000, "overdue": 0, "credit": 0 }));
    }

    async fn what_is_no_payment_is_refused(w: &World) {
        let cast = w.cast().await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({})).await;
        let other = charged(w, &cast.hawks, &cast.zoe.member, json!({})).await;
        for (body, pointer) in [
            (json!({ "amount": 0, "method": "cash" }), "/amount"), (json!({ "amount": -1, "method": "cash" }), "/amount"), (json!({ "amount": 1.5, "method": "cash" }), "/amount"),
            (json!({ "amount": 1_000_000_000_001_i64, "method": "cash" }), "/amount"), (json!({ "amount": 1 }), "/method"), (json!({ "amount": 1, "method": "iou" }), "/method"),
            (json!({ "amount": 1, "method": "cash", "currency": "USD" }), "/currency"), (json!({ "amount": 1, "method": "cash", "paid_at": "2026-09-06T10:00:01Z" }), "/paid_at"),
            (json!({ "amount": 1, "method": "cash", "paid_at": "yesterday" }), "/paid_at"),
            (json!({ "amount": 1, "method": "cash", "paid_at": "1999-12-31T23:59:59Z" }), "/paid_at"),
        ] {
            let refused = w.owner.post(&at(&due, "/payments"), body.clone()).await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{body}");
        }
        w.owner.post(&at(&due, "/payments"), json!({ "method": "credit" })).await.refused(409, "invalid_state");
        let payment = pay(w, &due, 5000).await.created();
        for wrong in [json!({ "amount": 0 }), json!({ "amount": -5 }), json!({ "amount": 0.5 })] {
            assert_eq!(refund(w, &due, &payment, wrong).await.refused(422, "validation_failed").pointers(), ["/amount"]);
        }
        refund(w, &due, &payment, json!({ "amount": 5001 })).await.refused(409, "invalid_state");
        refund(w, &other, &payment, json!({})).await.refused(404, "not_found");
        // Tomorrow where the club is not may be today where it is.
        w.owner.post(&at(&due, "/payments"), json!({ "amount": 1, "method": "cash", "paid_at": "2026-09-06T09:59:59Z" })).await.created();
        balanced(w).await;
    }

    async fn who_pays_twice_at_once_has_paid_ahead(w: &World) {
        let cast = w.cast().await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({})).await;
        let other = w.node(|_| {}).await;
        let there = w.owner.at(other.address);
        let body = json!({ "amount": 10000, "method": "cash" });
        let place = at(&due, "/payments");
        let (one, two) = tokio::join!(w.owner.post(&place, body.clone()), there.post(&place, body.clone()));
        let mut credited = [one.created().data()["credited"].as_i64().unwrap(), two.created().data()["credited"].as_i64().unwrap()];
        credited.sort_unstable();
        assert_eq!((credited, credit(w, &cast.pat).await, told(w, "dues.paid").await), ([0, 10000], 10000, 1));
        balanced(w).await;
        // The same request sent twice is one payment.
        let key = w.owner.with("Idempotency-Key", "pay-once");
        let (one, two) = (key.post(&place, body.clone()).await.created(), key.post(&place, body).await.created());
        assert_eq!((one.id(), credit(w, &cast.pat).await), (two.id(), 20000));
        other.stop().await;
    }

    async fn a_payment_is_given_back_once_however_many_ask(w: &World) {
        let cast = w.cast().await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({})).await;
        let payment = pay(w, &due, 15000).await.created();
        let other = w.node(|_| {}).await;
        let there = w.owner.at(other.address);
        let place = at(&due, &format!("/payments/{}/refund", payment.id()));
        let whole = json!({ "amount": 15000 });
        let (one, two) = tokio::join!(w.owner.post(&place, whole.clone()), there.post(&place, whole.clone()));
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        assert_eq!((sums(&look(w, &due).await), credit(w, &cast.pat).await, w.count("refund").await), (state("open", 0, 10000), 0, 1));
        // Credit that two charges want at once is spent once.
        pay(w, &due, 15000).await.created();
        let fee = crate::dues::fee_of(&cast.hawks, &cast.max.member, json!({ "amount": 5000 }));
        let (one, two) = tokio::join!(w.owner.post("/dues", fee.clone()), there.post("/dues", fee.clone()));
        let mut paid = [one.created().data()[0]["paid"].as_i64().unwrap(), two.created().data()[0]["paid"].as_i64().unwrap()];
        paid.sort_unstable();
        assert_eq!((paid, credit(w, &cast.pat).await), ([0, 5000], 0));
        balanced(w).await;
        other.stop().await;
    }
}
