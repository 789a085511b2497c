//! Tests of failed refunds, refunds made at the provider, and disputes.

use kit::string_enum::StringEnum;
use store::{Scope, bind};
use testkit::stripe::Fault;
use testkit::{Value, World, both, json, seconds};
use touchline::ids::PersonId;
use touchline::jobs;
use touchline::money::{ledger, payment};

use crate::cards::{CardFixture, due, notification_types, order};
use crate::cards_refunds::paid_order;
use crate::roster::audit_entries;
use crate::shop_pages::{store_admin, submit_form};

/// The status of an order or due, the amount paid and the amount refunded.
async fn state(w: &World, path: &str) -> (String, i64, Value) {
    let answer = w.owner.get(path).await.ok();
    let data = answer.data();
    let status = data["status"].as_str().unwrap().to_owned();
    (status, data["paid"].as_i64().unwrap(), data["refunded"].clone())
}

fn expected_state(status: &str, paid: i64, refunded: i64) -> (String, i64, Value) {
    (status.to_owned(), paid, json!(refunded))
}

/// The refunds of an order: amount, method and status.
async fn refunds(w: &World, order: &str) -> Vec<(i64, String, String)> {
    let listed = w.owner.get(&format!("{order}/refunds")).await.ok();
    let text = |refund: &Value, name: &str| refund[name].as_str().unwrap().to_owned();
    let all = listed.data().as_array().unwrap().iter();
    all.map(|one| (one["amount"].as_i64().unwrap(), text(one, "method"), text(one, "status")))
        .collect()
}

/// The same for a due.
async fn refunds_of(w: &World, due: &str) -> Vec<(i64, String, String)> {
    let subject = due.trim_start_matches("/dues/").to_owned();
    let query = move |db: &store::Reader<'_>| payment::find_refunds_by_subject(db, &subject);
    let all = w.db().read(Scope::account(w.harbour, "test"), query).await.unwrap();
    all.iter().map(|one| refund(one.amount, one.method.as_str(), one.status.as_str())).collect()
}

fn refund(amount: i64, method: &str, status: &str) -> (i64, String, String) {
    (amount, method.to_owned(), status.to_owned())
}

/// The balance of a ledger book. Also asserts that every movement sums to zero.
async fn book_balance(w: &World, book: &'static str) -> i64 {
    let query = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        let unbalanced: Vec<(i64,)> = db.all(
            "select cast(sum(amount) as bigint) from ledger_entry where account_id = :account
             group by movement_id having sum(amount) <> 0",
            bind! {},
        )?;
        assert_eq!(unbalanced, []);
        let (sum,): (Option<i64>,) = db.one(
            "select cast(sum(amount) as bigint) from ledger_entry
             where account_id = :account and book = :book",
            bind! { book },
        )?;
        Ok::<_, store::Error>(sum.unwrap_or(0))
    });
    query.await.unwrap()
}

async fn credit(w: &World, payer: PersonId) -> i64 {
    let query =
        move |db: &store::Reader<'_>| ledger::credit_balance(db, payer, "EUR".parse().unwrap());
    w.db().read(Scope::account(w.harbour, "test"), query).await.unwrap()
}

/// Pays a due of €50.00 by card and returns the path of the payment.
async fn paid_due(w: &World, fixture: &CardFixture, due: &str) -> String {
    fixture.checkout(due).await.created();
    let session = fixture.stripe.pay(&fixture.only_session_id());
    fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
    assert_eq!(state(w, due).await.0, "paid");
    let payments = w.owner.get(&format!("{due}/payments")).await.ok();
    format!("{due}/payments/{}", payments.data()[0]["id"].as_str().unwrap())
}

const KINDS: [&str; 5] = [
    "order.refunded",
    "refund.completed",
    "refund.failed",
    "order.refund_failed",
    "dues.refund_failed",
];

both! {
    async fn an_order_with_a_refused_refund_counts_as_paid_again(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        fixture.owner.post(&format!("{order}/refund"), json!({ "amount": 500, "reason": "Torn" })).await.ok();
        assert_eq!((state(w, &order).await, book_balance(w, "card").await), (expected_state("partially_refunded", 1250, 500), 750));
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await && fixture.send_refunds().await && fixture.reconcile().await);
        assert_eq!((state(w, &order).await, book_balance(w, "card").await), (expected_state("paid", 1250, 0), 1250));
        assert_eq!(refunds(w, &order).await, [refund(500, "card", "failed")]);
        assert_eq!(notification_types(w, &KINDS).await, ["order.refunded", "refund.failed", "order.refund_failed"]);
        let actions: Vec<_> = audit_entries(w).await.into_iter().map(|entry| entry.action).collect();
        assert_eq!(actions.iter().filter(|action| *action == "order.refund_failed").count(), 1);
        // A refund with another method does not involve the provider.
        let request_count = fixture.stripe.requests().len();
        let request_refund = async |body: Value| fixture.owner.post(&format!("{order}/refund"), body).await;
        assert_eq!(request_refund(json!({ "method": "credit" })).await.assert_problem(422, "validation_failed").pointers(), ["/method"]);
        request_refund(json!({ "method": "cash" })).await.ok();
        request_refund(json!({ "method": "cash" })).await.assert_problem(409, "invalid_state");
        assert!(fixture.send_refunds().await);
        assert_eq!((state(w, &order).await, fixture.stripe.requests().len()), (expected_state("refunded", 1250, 1250), request_count));
        assert_eq!(refunds(w, &order).await[1], refund(1250, "cash", "succeeded"));
        assert_eq!((book_balance(w, "card").await, book_balance(w, "cash").await), (1250, -1250));
        assert_eq!((book_balance(w, "sales").await, book_balance(w, "tax").await), (0, 0));
        fixture.node.stop().await;
    }

    async fn lines_with_a_refused_refund_count_as_paid_again(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        let line = w.owner.get(&order).await.ok().data()["lines"][0]["id"].clone();
        let one = json!({ "lines": [{ "line_id": line, "quantity": 1 }] });
        let refunded = fixture.owner.post(&format!("{order}/refund"), one).await.ok();
        assert_eq!((&refunded.data()["status"], &refunded.data()["lines"][0]["refunded"]), (&json!("refunded"), &json!(1250)));
        let listed = w.owner.get(&format!("{order}/refunds")).await.ok();
        assert_eq!(listed.data()[0]["lines"], json!([{ "line_id": line, "amount": 1250 }]));
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await && fixture.send_refunds().await);
        let answer = w.owner.get(&order).await.ok();
        assert_eq!((&answer.data()["lines"][0]["refunded"], &answer.data()["lines"][0]["returned"]), (&json!(0), &json!(1)));
        assert_eq!(state(w, &order).await, expected_state("paid", 1250, 0));
        fixture.node.stop().await;
    }

    async fn applies_disputes_and_refunds_although_the_payment_event_was_lost(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        fixture.stripe.pay(&fixture.only_session_id());
        // The event about the payment is lost.
        let dispute = fixture.stripe.dispute("pi_1");
        fixture.deliver_event(w, "charge.dispute.created", &dispute).await.ok();
        assert_eq!(state(w, &order).await, expected_state("paid", 1250, 0));
        assert_eq!(notification_types(w, &["payment.disputed"]).await.len(), 1);
        let provider_refund = fixture.stripe.refund("pi_1", 1250, "succeeded");
        fixture.deliver_event(w, "refund.created", &provider_refund).await.ok();
        assert!(fixture.reconcile().await);
        assert_eq!((state(w, &order).await, book_balance(w, "card").await), (expected_state("refunded", 1250, 1250), 0));
        fixture.node.stop().await;
    }

    async fn a_refund_event_before_the_payment_event_is_recorded_with_it(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        let session = fixture.stripe.pay(&fixture.only_session_id());
        let provider_refund = fixture.stripe.refund("pi_1", 500, "succeeded");
        fixture.deliver_event(w, "refund.created", &provider_refund).await.ok();
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!((state(w, &order).await, book_balance(w, "card").await), (expected_state("partially_refunded", 1250, 500), 750));
        assert_eq!(refunds(w, &order).await, [refund(500, "card", "succeeded")]);
        fixture.node.stop().await;
    }

    async fn a_failing_checkout_does_not_block_reconciliation_of_others(w: &World) {
        let fixture = CardFixture::start(w).await;
        let (first, second) = (order(w).await, order(w).await);
        for order in [&first, &second] {
            fixture.checkout(order).await.created();
        }
        for page in fixture.stripe.objects("cs") {
            fixture.stripe.pay(page["id"].as_str().unwrap());
        }
        // Each checkout is tried four times.
        fixture.stripe.inject_faults(&[Fault::ServerError; 4]);
        assert!(!fixture.reconcile().await);
        assert_eq!((state(w, &first).await.0, state(w, &second).await.0), ("placed".to_owned(), "paid".to_owned()));
        assert!(fixture.reconcile().await);
        assert_eq!(state(w, &first).await.0, "paid");
        fixture.node.stop().await;
    }

    async fn refund_page_of_a_due_asks_for_the_method(w: &World) {
        let (fixture, club, mut ana) = (CardFixture::start(w).await, w.club().await, store_admin(w).await);
        let due = due(w, &club).await;
        let payment = paid_due(w, &fixture, &due).await;
        let page = format!("/admin{payment}/refund");
        ana.get(&page).await.ok().shows("Refund method").shows("value=\"card\" selected");
        let wrong = submit_form(&mut ana, &page, &[("amount", "20"), ("method", "iou")]).await;
        assert_eq!(wrong.status, 422);
        wrong.shows("Choose a refund method.");
        submit_form(&mut ana, &page, &[("amount", "20"), ("method", "card")]).await.redirects_to(&format!("/admin{due}?done=refunded"));
        assert_eq!(refunds_of(w, &due).await, [refund(2000, "card", "pending")]);
        // After a refused card refund, the page preselects another method.
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await && fixture.send_refunds().await);
        let request_count = fixture.stripe.requests().len();
        ana.get(&page).await.ok().shows("value=\"bank_transfer\" selected");
        submit_form(&mut ana, &page, &[("amount", "50"), ("method", "bank_transfer")]).await.redirects_to(&format!("/admin{due}?done=refunded"));
        assert!(fixture.send_refunds().await);
        assert_eq!(refunds_of(w, &due).await[1], refund(5000, "bank_transfer", "succeeded"));
        assert_eq!((fixture.stripe.requests().len(), book_balance(w, "bank").await), (request_count, -5000));
        fixture.node.stop().await;
    }

    async fn refund_page_of_an_order_asks_for_the_method(w: &World) {
        let (fixture, mut ana) = (CardFixture::start(w).await, store_admin(w).await);
        let order = paid_order(w, &fixture).await;
        let page = format!("/admin{order}/refund");
        ana.get(&page).await.ok().shows("value=\"card\" selected");
        let wrong = submit_form(&mut ana, &page, &[("left", "1250"), ("how", "all"), ("method", "credit")]).await;
        assert_eq!(wrong.status, 422);
        let done = format!("/admin{order}?done=refunded");
        submit_form(&mut ana, &page, &[("how", "amount"), ("amount", "5"), ("method", "cash")]).await.redirects_to(&done);
        submit_form(&mut ana, &page, &[("left", "750"), ("how", "all"), ("method", "card")]).await.redirects_to(&done);
        assert_eq!(refunds(w, &order).await, [refund(500, "cash", "succeeded"), refund(750, "card", "pending")]);
        fixture.node.stop().await;
    }

    async fn a_refund_that_fails_days_later_is_reversed_once(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        w.owner.post(&format!("{order}/fulfill"), json!({})).await.ok();
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 200 })).await.ok();
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 300 })).await.ok();
        assert!(fixture.send_refunds().await);
        let created = fixture.stripe.objects("re");
        assert_eq!(created.len(), 2);
        for (one, left) in created.iter().zip([expected_state("partially_refunded", 1250, 300), expected_state("fulfilled", 1250, 0)]) {
            let failed = fixture.stripe.change(one["id"].as_str().unwrap(), &json!({ "status": "failed" }));
            for kind in ["refund.failed", "charge.refund.updated", "refund.updated"] {
                fixture.deliver_event(w, kind, &failed).await.ok();
            }
            assert_eq!(state(w, &order).await, left);
        }
        assert_eq!(book_balance(w, "card").await, 1250);
        assert_eq!(notification_types(w, &["refund.failed", "order.refund_failed"]).await.len(), 4);
        let payments = w.owner.get(&format!("{order}/payments")).await.ok();
        assert_eq!((&payments.data()[0]["refunded"], payments.data().as_array().unwrap().len()), (&json!(0), 1));
        fixture.node.stop().await;
    }

    async fn a_failed_refund_pays_the_due_again_or_becomes_credit(w: &World) {
        let (fixture, club) = (CardFixture::start(w).await, w.club().await);
        let due = due(w, &club).await;
        let payment = paid_due(w, &fixture, &due).await;
        let payer = w.owner.get(&payment).await.ok().data()["payer_id"].as_str().unwrap().parse().unwrap();
        let request_refund = async |amount: i64| fixture.owner.post(&format!("{payment}/refund"), json!({ "amount": amount })).await;
        request_refund(2000).await.ok();
        assert_eq!(state(w, &due).await.1, 3000);
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await && fixture.send_refunds().await);
        assert_eq!((state(w, &due).await, credit(w, payer).await), (("paid".to_owned(), 5000, Value::Null), 0));
        // If the family has paid meanwhile, the part that is no longer owed becomes credit.
        request_refund(1500).await.ok();
        w.owner.post(&format!("{due}/payments"), json!({ "method": "cash", "amount": 1000 })).await.created();
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await);
        assert_eq!((state(w, &due).await.1, credit(w, payer).await), (5000, 1000));
        assert_eq!(notification_types(w, &["refund.failed", "dues.refund_failed"]).await.len(), 4);
        assert_eq!(w.owner.get(&payment).await.ok().data()["refunded"], 0);
        // All of it can be refunded with another method.
        request_refund(5001).await.assert_problem(409, "invalid_state");
        fixture.owner.post(&format!("{payment}/refund"), json!({ "method": "bank_transfer" })).await.ok();
        assert_eq!((state(w, &due).await.1, credit(w, payer).await), (1000, 0));
        assert_eq!((book_balance(w, "card").await, book_balance(w, "bank").await, book_balance(w, "cash").await), (5000, -5000, 1000));
        assert_eq!(book_balance(w, "receivable").await, 4000);
        fixture.node.stop().await;
    }

    async fn charges_no_late_fee_while_a_refund_may_still_fail(w: &World) {
        let (fixture, club) = (CardFixture::start(w).await, w.club().await);
        let due = due(w, &club).await;
        w.owner.patch(&due, json!({ "due_on": "2026-09-10", "late_fee": { "amount": 500 } })).await.ok();
        let payment = paid_due(w, &fixture, &due).await;
        w.advance_clock(seconds(30 * 86_400));
        let fee = async || w.owner.get(&due).await.ok().data()["late_fee_charged"].clone();
        for end in ["failed", "succeeded"] {
            fixture.owner.post(&format!("{payment}/refund"), json!({})).await.ok();
            jobs::add_late_fees(&w.node.app).await;
            assert_eq!((state(w, &due).await.0, fee().await), ("open".to_owned(), json!(0)));
            if end == "failed" {
                fixture.stripe.inject_faults(&[Fault::Reject]);
            }
            assert!(fixture.send_refunds().await);
            jobs::add_late_fees(&w.node.app).await;
        }
        assert_eq!((state(w, &due).await.0, fee().await), ("open".to_owned(), json!(500)));
        // It became fully paid twice: by the payment, and when the refund failed.
        assert_eq!(notification_types(w, &["dues.paid", "dues.refund_failed"]).await, ["dues.paid", "dues.refund_failed", "dues.paid"]);
        fixture.node.stop().await;
    }

    async fn a_failed_refund_becomes_credit_of_the_payer_even_if_another_owes_the_due(w: &World) {
        let (fixture, club) = (CardFixture::start(w).await, w.club().await);
        let due = due(w, &club).await;
        let payment = paid_due(w, &fixture, &due).await;
        let payer = w.owner.get(&payment).await.ok().data()["payer_id"].as_str().unwrap().parse().unwrap();
        fixture.owner.post(&format!("{payment}/refund"), json!({})).await.ok();
        w.owner.patch(&due, json!({ "payer": club.max.person })).await.ok();
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await);
        assert_eq!((state(w, &due).await.0, credit(w, payer).await), ("open".to_owned(), 5000));
        let open = async |who: &str| {
            let statement = w.owner.get(&format!("/people/{who}/statement")).await.ok();
            statement.data()["totals"][0]["outstanding"].as_i64().unwrap_or(0)
        };
        assert_eq!((open(&club.max.person).await, book_balance(w, "receivable").await), (5000, 5000));
        // It can still be refunded with another method.
        fixture.owner.post(&format!("{payment}/refund"), json!({ "method": "cash" })).await.ok();
        assert_eq!((credit(w, payer).await, book_balance(w, "receivable").await, book_balance(w, "cash").await), (0, 5000, -5000));
        fixture.node.stop().await;
    }

    async fn a_late_payment_that_cannot_be_refunded_stays_in_the_ledger(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        w.owner.post(&format!("{order}/cancel"), json!({})).await.ok();
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(book_balance(w, "card").await, 0);
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await && fixture.send_refunds().await);
        assert_eq!((book_balance(w, "card").await, book_balance(w, "credit").await), (1250, -1250));
        // Somebody refunds it at the provider.
        let provider_refund = fixture.stripe.refund("pi_1", 1250, "succeeded");
        fixture.deliver_event(w, "refund.created", &provider_refund).await.ok();
        assert_eq!((book_balance(w, "card").await, book_balance(w, "credit").await), (0, 0));
        assert_eq!(state(w, &order).await, expected_state("cancelled", 0, 0));
        fixture.node.stop().await;
    }

    async fn a_refund_made_at_the_provider_is_recorded_once(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        let provider_refund = fixture.stripe.refund("pi_1", 500, "succeeded");
        let charge = json!({ "id": "ch_1", "payment_intent": "pi_1", "metadata": { "account": w.harbour } });
        for (kind, object) in [("refund.created", &provider_refund), ("charge.refunded", &charge), ("refund.created", &provider_refund)] {
            fixture.deliver_event(w, kind, object).await.ok();
        }
        assert_eq!((state(w, &order).await, book_balance(w, "card").await), (expected_state("partially_refunded", 1250, 500), 750));
        assert_eq!(refunds(w, &order).await, [refund(500, "card", "succeeded")]);
        let listed = w.owner.get(&format!("{order}/refunds")).await.ok();
        assert_eq!(listed.data()[0]["reason"], "Refunded at the payment provider.");
        assert_eq!(notification_types(w, &KINDS).await, ["order.refunded", "refund.completed"]);
        // Our refunds and the provider's are both recorded, and the provider's can fail too.
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 250 })).await.ok();
        assert!(fixture.send_refunds().await);
        let slow = fixture.stripe.refund("pi_1", 500, "pending");
        fixture.deliver_event(w, "charge.refunded", &charge).await.ok();
        assert_eq!(state(w, &order).await, expected_state("refunded", 1250, 1250));
        let failed = fixture.stripe.change(slow["id"].as_str().unwrap(), &json!({ "status": "failed" }));
        fixture.deliver_event(w, "refund.failed", &failed).await.ok();
        fixture.deliver_event(w, "charge.refund.updated", &failed).await.ok();
        assert_eq!((state(w, &order).await, book_balance(w, "card").await), (expected_state("partially_refunded", 1250, 750), 500));
        // Refunds of unknown payments change nothing.
        let foreign = fixture.stripe.refund("pi_99", 500, "succeeded");
        fixture.deliver_event(w, "refund.created", &foreign).await.ok();
        assert_eq!(refunds(w, &order).await.len(), 3);
        fixture.node.stop().await;
    }

    async fn a_refund_made_at_the_provider_during_ours_is_recorded_once(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        fixture.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        let provider_refund = fixture.stripe.refund("pi_1", 1250, "succeeded");
        // The provider refuses ours, because nothing is left to refund.
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await);
        fixture.deliver_event(w, "refund.created", &provider_refund).await.ok();
        assert_eq!(state(w, &order).await, expected_state("refunded", 1250, 1250));
        assert_eq!(refunds(w, &order).await, [refund(1250, "card", "failed"), refund(1250, "card", "succeeded")]);
        assert_eq!(book_balance(w, "card").await, 0);
        fixture.node.stop().await;
    }

    async fn a_due_refunded_at_the_provider_is_owed_again(w: &World) {
        let (fixture, club) = (CardFixture::start(w).await, w.club().await);
        let due = due(w, &club).await;
        paid_due(w, &fixture, &due).await;
        let provider_refund = fixture.stripe.refund("pi_1", 2000, "succeeded");
        fixture.deliver_event(w, "refund.created", &provider_refund).await.ok();
        fixture.deliver_event(w, "refund.updated", &provider_refund).await.ok();
        assert_eq!(state(w, &due).await, ("partially_paid".to_owned(), 3000, Value::Null));
        assert_eq!((book_balance(w, "card").await, book_balance(w, "receivable").await), (3000, 2000));
        fixture.node.stop().await;
    }

    async fn records_and_publishes_each_dispute_status_once(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        let dispute_status = async || w.owner.get(&format!("{order}/payments")).await.ok().data()[0]["dispute"].clone();
        assert_eq!(dispute_status().await, Value::Null);
        let dispute = fixture.stripe.dispute("pi_1");
        for (status, kind, expected) in [
            ("needs_response", "charge.dispute.created", "open"),
            ("under_review", "charge.dispute.updated", "open"),
            ("won", "charge.dispute.closed", "won"),
            ("lost", "charge.dispute.closed", "lost"),
        ] {
            let object = fixture.stripe.change(dispute["id"].as_str().unwrap(), &json!({ "status": status }));
            fixture.deliver_event(w, kind, &object).await.ok();
            fixture.deliver_event(w, kind, &object).await.ok();
            assert_eq!(dispute_status().await, expected, "{status}");
        }
        assert_eq!(notification_types(w, &["payment.disputed"]).await.len(), 3);
        let actions = audit_entries(w).await.into_iter().filter(|entry| entry.action == "payment.disputed");
        assert_eq!(actions.count(), 3);
        // A dispute moves no money; what the bank took is recorded manually.
        assert_eq!((state(w, &order).await, book_balance(w, "card").await), (expected_state("paid", 1250, 0), 1250));
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 1250, "method": "other" })).await.ok();
        assert_eq!(state(w, &order).await, expected_state("refunded", 1250, 1250));
        let foreign = fixture.stripe.dispute("pi_99");
        fixture.deliver_event(w, "charge.dispute.created", &foreign).await.ok();
        fixture.deliver_event(w, "charge.dispute.created", &json!({ "id": "dp_77", "payment_intent": "pi_1" })).await.ok();
        fixture.node.stop().await;
    }

    async fn lists_payments_and_refunds_of_an_order_page_by_page(w: &World) {
        let order = order(w).await;
        let (payments, refunds) = (format!("{order}/payments"), format!("{order}/refunds"));
        assert_eq!(w.owner.get(&payments).await.ok().data(), &json!([]));
        w.owner.post(&format!("{order}/pay"), json!({ "method": "cash", "reference": "till 2" })).await.ok();
        for amount in [100, 200, 300] {
            w.owner.post(&format!("{order}/refund"), json!({ "amount": amount, "reason": "Torn" })).await.ok();
        }
        let paid = w.owner.get(&payments).await.ok();
        assert_eq!((&paid.data()[0]["reference"], &paid.data()[0]["refunded"]), (&json!("till 2"), &json!(600)));
        let first = w.owner.get(&format!("{refunds}?limit=2&order=desc")).await.ok();
        let amounts = |answer: &testkit::TestResponse| answer.data().as_array().unwrap().iter().map(|one| one["amount"].as_i64().unwrap()).collect::<Vec<_>>();
        assert_eq!(amounts(&first), [300, 200]);
        let next = first.body["next_cursor"].as_str().unwrap();
        let second = w.owner.get(&format!("{refunds}?limit=2&order=desc&cursor={next}")).await.ok();
        assert_eq!((amounts(&second), &second.body["has_more"]), (vec![100], &json!(false)));
        for list in [payments, refunds] {
            w.stranger.get(&list).await.assert_problem(404, "not_found");
            w.owner.get(&format!("{list}?status=done")).await.assert_problem(400, "invalid_parameter");
        }
    }
}
