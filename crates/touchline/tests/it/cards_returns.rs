//! Stories about money that did not go back, went back without us, or is asked for by the payer's bank.

use kit::word::Word;
use store::{Scope, bind};
use testkit::stripe::Fault;
use testkit::{Value, World, both, json, seconds};
use touchline::ids::PersonId;
use touchline::jobs;
use touchline::money::{ledger, payment};

use crate::cards::{Till, due, order, told};
use crate::cards_refunds::paid_order;
use crate::roster::audit;
use crate::shop_pages::{fill, keeper};

/// How an order or due stands: its state, what is paid and what was given back.
async fn state(w: &World, of: &str) -> (String, i64, Value) {
    let shown = w.owner.get(of).await.ok();
    let data = shown.data();
    let status = data["status"].as_str().unwrap().to_owned();
    (status, data["paid"].as_i64().unwrap(), data["refunded"].clone())
}

fn is(status: &str, paid: i64, refunded: i64) -> (String, i64, Value) {
    (status.to_owned(), paid, json!(refunded))
}

/// What was given back for an order: how much, how, and what became of it.
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
    let look = move |db: &store::Reader<'_>| payment::refunds_of(db, &subject);
    let all = w.db().read(Scope::account(w.harbour, "test"), look).await.unwrap();
    all.iter().map(|one| refund(one.amount, one.method.word(), one.status.word())).collect()
}

fn refund(amount: i64, method: &str, status: &str) -> (i64, String, String) {
    (amount, method.to_owned(), status.to_owned())
}

/// What lies in a book, after a look that every movement sums to nothing.
async fn lies_in(w: &World, book: &'static str) -> i64 {
    let look = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        let off: Vec<(i64,)> = db.all(
            "select cast(sum(amount) as bigint) from ledger_entry where account_id = :account
             group by movement_id having sum(amount) <> 0",
            bind! {},
        )?;
        assert_eq!(off, []);
        let (sum,): (Option<i64>,) = db.one(
            "select cast(sum(amount) as bigint) from ledger_entry
             where account_id = :account and book = :book",
            bind! { book },
        )?;
        Ok::<_, store::Error>(sum.unwrap_or(0))
    });
    look.await.unwrap()
}

async fn credit(w: &World, payer: PersonId) -> i64 {
    let look = move |db: &store::Reader<'_>| ledger::credit(db, payer, "EUR".parse().unwrap());
    w.db().read(Scope::account(w.harbour, "test"), look).await.unwrap()
}

/// A due of 50.00 that was paid by card, and its payment.
async fn paid_due(w: &World, till: &Till, due: &str) -> String {
    till.checkout(due).await.created();
    let session = till.stripe.pay(&till.page());
    till.hear(w, "checkout.session.completed", &session).await.ok();
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
    async fn an_order_whose_refund_is_refused_counts_as_paid_again(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        till.owner.post(&format!("{order}/refund"), json!({ "amount": 500, "reason": "Torn" })).await.ok();
        assert_eq!((state(w, &order).await, lies_in(w, "card").await), (is("partially_refunded", 1250, 500), 750));
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await && till.send_refunds().await && till.reconcile().await);
        assert_eq!((state(w, &order).await, lies_in(w, "card").await), (is("paid", 1250, 0), 1250));
        assert_eq!(refunds(w, &order).await, [refund(500, "card", "failed")]);
        assert_eq!(told(w, &KINDS).await, ["order.refunded", "refund.failed", "order.refund_failed"]);
        let actions: Vec<_> = audit(w).await.into_iter().map(|entry| entry.action).collect();
        assert_eq!(actions.iter().filter(|action| *action == "order.refund_failed").count(), 1);
        // It is given back in another way, which the provider has no part in.
        let asked = till.stripe.asked().len();
        let back = async |what: Value| till.owner.post(&format!("{order}/refund"), what).await;
        assert_eq!(back(json!({ "method": "credit" })).await.refused(422, "validation_failed").pointers(), ["/method"]);
        back(json!({ "method": "cash" })).await.ok();
        back(json!({ "method": "cash" })).await.refused(409, "invalid_state");
        assert!(till.send_refunds().await);
        assert_eq!((state(w, &order).await, till.stripe.asked().len()), (is("refunded", 1250, 1250), asked));
        assert_eq!(refunds(w, &order).await[1], refund(1250, "cash", "done"));
        assert_eq!((lies_in(w, "card").await, lies_in(w, "cash").await), (1250, -1250));
        assert_eq!((lies_in(w, "sales").await, lies_in(w, "tax").await), (0, 0));
        till.node.stop().await;
    }

    async fn lines_whose_refund_is_refused_count_as_paid_again(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        let line = w.owner.get(&order).await.ok().data()["lines"][0]["id"].clone();
        let one = json!({ "lines": [{ "line_id": line, "quantity": 1 }] });
        let back = till.owner.post(&format!("{order}/refund"), one).await.ok();
        assert_eq!((&back.data()["status"], &back.data()["lines"][0]["refunded"]), (&json!("refunded"), &json!(1250)));
        let listed = w.owner.get(&format!("{order}/refunds")).await.ok();
        assert_eq!(listed.data()[0]["lines"], json!([{ "line_id": line, "amount": 1250 }]));
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await && till.send_refunds().await);
        let shown = w.owner.get(&order).await.ok();
        assert_eq!((&shown.data()["lines"][0]["refunded"], &shown.data()["lines"][0]["returned"]), (&json!(0), &json!(1)));
        assert_eq!(state(w, &order).await, is("paid", 1250, 0));
        till.node.stop().await;
    }

    async fn what_goes_back_before_we_hear_that_it_was_paid_goes_back_too(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        till.stripe.pay(&till.page());
        // The call that tells so is lost.
        let dispute = till.stripe.dispute("pi_1");
        till.hear(w, "charge.dispute.created", &dispute).await.ok();
        assert_eq!(state(w, &order).await, is("paid", 1250, 0));
        assert_eq!(told(w, &["payment.disputed"]).await.len(), 1);
        let back = till.stripe.give_back("pi_1", 1250, "succeeded");
        till.hear(w, "refund.created", &back).await.ok();
        assert!(till.reconcile().await);
        assert_eq!((state(w, &order).await, lies_in(w, "card").await), (is("refunded", 1250, 1250), 0));
        till.node.stop().await;
    }

    async fn a_refund_told_before_the_payment_is_entered_with_it(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        let session = till.stripe.pay(&till.page());
        let back = till.stripe.give_back("pi_1", 500, "succeeded");
        till.hear(w, "refund.created", &back).await.ok();
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!((state(w, &order).await, lies_in(w, "card").await), (is("partially_refunded", 1250, 500), 750));
        assert_eq!(refunds(w, &order).await, [refund(500, "card", "done")]);
        till.node.stop().await;
    }

    async fn one_page_that_cannot_be_looked_up_holds_up_nobody(w: &World) {
        let till = Till::open(w).await;
        let (first, second) = (order(w).await, order(w).await);
        for order in [&first, &second] {
            till.checkout(order).await.created();
        }
        for page in till.stripe.made("cs") {
            till.stripe.pay(page["id"].as_str().unwrap());
        }
        // Each is asked for four times.
        till.stripe.faults(&[Fault::Fails; 4]);
        assert!(!till.reconcile().await);
        assert_eq!((state(w, &first).await.0, state(w, &second).await.0), ("placed".to_owned(), "paid".to_owned()));
        assert!(till.reconcile().await);
        assert_eq!(state(w, &first).await.0, "paid");
        till.node.stop().await;
    }

    async fn pages_ask_how_what_was_paid_by_card_goes_back(w: &World) {
        let (till, cast, mut ana) = (Till::open(w).await, w.cast().await, keeper(w).await);
        let due = due(w, &cast).await;
        let payment = paid_due(w, &till, &due).await;
        let page = format!("/admin{payment}/refund");
        ana.get(&page).await.ok().shows("How does it go back?").shows("value=\"card\" selected");
        let wrong = fill(&mut ana, &page, &[("amount", "20"), ("method", "iou")]).await;
        assert_eq!(wrong.status, 422);
        wrong.shows("Choose how it goes back.");
        fill(&mut ana, &page, &[("amount", "20"), ("method", "card")]).await.leads_to(&format!("/admin{due}?done=refunded"));
        assert_eq!(refunds_of(w, &due).await, [refund(2000, "card", "pending")]);
        // Where the card has refused it, it is not sent there again unless somebody says so.
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await && till.send_refunds().await);
        let asked = till.stripe.asked().len();
        ana.get(&page).await.ok().shows("value=\"transfer\" selected");
        fill(&mut ana, &page, &[("amount", "50"), ("method", "transfer")]).await.leads_to(&format!("/admin{due}?done=refunded"));
        assert!(till.send_refunds().await);
        assert_eq!(refunds_of(w, &due).await[1], refund(5000, "transfer", "done"));
        assert_eq!((till.stripe.asked().len(), lies_in(w, "bank").await), (asked, -5000));
        till.node.stop().await;
    }

    async fn the_page_of_an_order_asks_so_too(w: &World) {
        let (till, mut ana) = (Till::open(w).await, keeper(w).await);
        let order = paid_order(w, &till).await;
        let page = format!("/admin{order}/refund");
        ana.get(&page).await.ok().shows("value=\"card\" selected");
        let wrong = fill(&mut ana, &page, &[("left", "1250"), ("how", "all"), ("method", "credit")]).await;
        assert_eq!(wrong.status, 422);
        let done = format!("/admin{order}?done=refunded");
        fill(&mut ana, &page, &[("how", "amount"), ("amount", "5"), ("method", "cash")]).await.leads_to(&done);
        fill(&mut ana, &page, &[("left", "750"), ("how", "all"), ("method", "card")]).await.leads_to(&done);
        assert_eq!(refunds(w, &order).await, [refund(500, "cash", "done"), refund(750, "card", "pending")]);
        till.node.stop().await;
    }

    async fn a_refund_that_comes_back_days_later_is_undone_once(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        w.owner.post(&format!("{order}/fulfil"), json!({})).await.ok();
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 200 })).await.ok();
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 300 })).await.ok();
        assert!(till.send_refunds().await);
        let made = till.stripe.made("re");
        assert_eq!(made.len(), 2);
        for (one, left) in made.iter().zip([is("partially_refunded", 1250, 300), is("fulfilled", 1250, 0)]) {
            let failed = till.stripe.change(one["id"].as_str().unwrap(), &json!({ "status": "failed" }));
            for kind in ["refund.failed", "charge.refund.updated", "refund.updated"] {
                till.hear(w, kind, &failed).await.ok();
            }
            assert_eq!(state(w, &order).await, left);
        }
        assert_eq!(lies_in(w, "card").await, 1250);
        assert_eq!(told(w, &["refund.failed", "order.refund_failed"]).await.len(), 4);
        let payments = w.owner.get(&format!("{order}/payments")).await.ok();
        assert_eq!((&payments.data()[0]["refunded"], payments.data().as_array().unwrap().len()), (&json!(0), 1));
        till.node.stop().await;
    }

    async fn a_due_whose_refund_fails_is_paid_again_or_becomes_credit(w: &World) {
        let (till, cast) = (Till::open(w).await, w.cast().await);
        let due = due(w, &cast).await;
        let payment = paid_due(w, &till, &due).await;
        let payer = w.owner.get(&payment).await.ok().data()["payer_id"].as_str().unwrap().parse().unwrap();
        let back = async |amount: i64| till.owner.post(&format!("{payment}/refund"), json!({ "amount": amount })).await;
        back(2000).await.ok();
        assert_eq!(state(w, &due).await.1, 3000);
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await && till.send_refunds().await);
        assert_eq!((state(w, &due).await, credit(w, payer).await), (("paid".to_owned(), 5000, Value::Null), 0));
        // Meanwhile the family has paid what was open again: then the money is theirs to use.
        back(1500).await.ok();
        w.owner.post(&format!("{due}/payments"), json!({ "method": "cash", "amount": 1000 })).await.created();
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await);
        assert_eq!((state(w, &due).await.1, credit(w, payer).await), (5000, 1000));
        assert_eq!(told(w, &["refund.failed", "dues.refund_failed"]).await.len(), 4);
        assert_eq!(w.owner.get(&payment).await.ok().data()["refunded"], 0);
        // All of it can be given back, in another way.
        back(5001).await.refused(409, "invalid_state");
        till.owner.post(&format!("{payment}/refund"), json!({ "method": "transfer" })).await.ok();
        assert_eq!((state(w, &due).await.1, credit(w, payer).await), (1000, 0));
        assert_eq!((lies_in(w, "card").await, lies_in(w, "bank").await, lies_in(w, "cash").await), (5000, -5000, 1000));
        assert_eq!(lies_in(w, "owed").await, 4000);
        till.node.stop().await;
    }

    async fn whoever_paid_in_time_is_not_late_while_a_refund_may_still_fail(w: &World) {
        let (till, cast) = (Till::open(w).await, w.cast().await);
        let due = due(w, &cast).await;
        w.owner.patch(&due, json!({ "due_on": "2026-09-10", "late_fee": { "amount": 500 } })).await.ok();
        let payment = paid_due(w, &till, &due).await;
        w.pass(seconds(30 * 86_400));
        let fee = async || w.owner.get(&due).await.ok().data()["late_fee_charged"].clone();
        for end in ["failed", "done"] {
            till.owner.post(&format!("{payment}/refund"), json!({})).await.ok();
            jobs::add_late_fees(&w.node.app).await;
            assert_eq!((state(w, &due).await.0, fee().await), ("open".to_owned(), json!(0)));
            if end == "failed" {
                till.stripe.faults(&[Fault::Refuses]);
            }
            assert!(till.send_refunds().await);
            jobs::add_late_fees(&w.node.app).await;
        }
        assert_eq!((state(w, &due).await.0, fee().await), ("open".to_owned(), json!(500)));
        // It became fully paid twice: by the payment, and when that could not be given back.
        assert_eq!(told(w, &["dues.paid", "dues.refund_failed"]).await, ["dues.paid", "dues.refund_failed", "dues.paid"]);
        till.node.stop().await;
    }

    async fn money_that_could_not_go_back_is_its_payers_whoever_owes_the_due_by_now(w: &World) {
        let (till, cast) = (Till::open(w).await, w.cast().await);
        let due = due(w, &cast).await;
        let payment = paid_due(w, &till, &due).await;
        let payer = w.owner.get(&payment).await.ok().data()["payer_id"].as_str().unwrap().parse().unwrap();
        till.owner.post(&format!("{payment}/refund"), json!({})).await.ok();
        w.owner.patch(&due, json!({ "payer": cast.max.person })).await.ok();
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await);
        assert_eq!((state(w, &due).await.0, credit(w, payer).await), ("open".to_owned(), 5000));
        let open = async |who: &str| {
            let statement = w.owner.get(&format!("/people/{who}/statement")).await.ok();
            statement.data()["totals"][0]["open"].as_i64().unwrap_or(0)
        };
        assert_eq!((open(&cast.max.person).await, lies_in(w, "owed").await), (5000, 5000));
        // It can still be given back, in another way.
        till.owner.post(&format!("{payment}/refund"), json!({ "method": "cash" })).await.ok();
        assert_eq!((credit(w, payer).await, lies_in(w, "owed").await, lies_in(w, "cash").await), (0, 5000, -5000));
        till.node.stop().await;
    }

    async fn money_that_came_too_late_and_cannot_go_back_stays_in_the_books(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        w.owner.post(&format!("{order}/cancel"), json!({})).await.ok();
        let session = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(lies_in(w, "card").await, 0);
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await && till.send_refunds().await);
        assert_eq!((lies_in(w, "card").await, lies_in(w, "credit").await), (1250, -1250));
        // Somebody gives it back at the provider.
        let back = till.stripe.give_back("pi_1", 1250, "succeeded");
        till.hear(w, "refund.created", &back).await.ok();
        assert_eq!((lies_in(w, "card").await, lies_in(w, "credit").await), (0, 0));
        assert_eq!(state(w, &order).await, is("cancelled", 0, 0));
        till.node.stop().await;
    }

    async fn what_is_given_back_at_the_provider_is_entered_once(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        let back = till.stripe.give_back("pi_1", 500, "succeeded");
        let charge = json!({ "id": "ch_1", "payment_intent": "pi_1", "metadata": { "account": w.harbour } });
        for (kind, object) in [("refund.created", &back), ("charge.refunded", &charge), ("refund.created", &back)] {
            till.hear(w, kind, object).await.ok();
        }
        assert_eq!((state(w, &order).await, lies_in(w, "card").await), (is("partially_refunded", 1250, 500), 750));
        assert_eq!(refunds(w, &order).await, [refund(500, "card", "done")]);
        let listed = w.owner.get(&format!("{order}/refunds")).await.ok();
        assert_eq!(listed.data()[0]["reason"], "Made at the card provider.");
        assert_eq!(told(w, &KINDS).await, ["order.refunded", "refund.completed"]);
        // Ours and theirs stand side by side, and theirs can fail too.
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 250 })).await.ok();
        assert!(till.send_refunds().await);
        let slow = till.stripe.give_back("pi_1", 500, "pending");
        till.hear(w, "charge.refunded", &charge).await.ok();
        assert_eq!(state(w, &order).await, is("refunded", 1250, 1250));
        let failed = till.stripe.change(slow["id"].as_str().unwrap(), &json!({ "status": "failed" }));
        till.hear(w, "refund.failed", &failed).await.ok();
        till.hear(w, "charge.refund.updated", &failed).await.ok();
        assert_eq!((state(w, &order).await, lies_in(w, "card").await), (is("partially_refunded", 1250, 750), 500));
        // What is about payments that are nobody's here changes nothing.
        let foreign = till.stripe.give_back("pi_99", 500, "succeeded");
        till.hear(w, "refund.created", &foreign).await.ok();
        assert_eq!(refunds(w, &order).await.len(), 3);
        till.node.stop().await;
    }

    async fn what_goes_back_at_the_provider_while_we_are_about_to_goes_back_once(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        till.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        let back = till.stripe.give_back("pi_1", 1250, "succeeded");
        // Ours is refused, as nothing is left there.
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await);
        till.hear(w, "refund.created", &back).await.ok();
        assert_eq!(state(w, &order).await, is("refunded", 1250, 1250));
        assert_eq!(refunds(w, &order).await, [refund(1250, "card", "failed"), refund(1250, "card", "done")]);
        assert_eq!(lies_in(w, "card").await, 0);
        till.node.stop().await;
    }

    async fn a_due_that_is_given_back_at_the_provider_is_owed_again(w: &World) {
        let (till, cast) = (Till::open(w).await, w.cast().await);
        let due = due(w, &cast).await;
        paid_due(w, &till, &due).await;
        let back = till.stripe.give_back("pi_1", 2000, "succeeded");
        till.hear(w, "refund.created", &back).await.ok();
        till.hear(w, "refund.updated", &back).await.ok();
        assert_eq!(state(w, &due).await, ("partially_paid".to_owned(), 3000, Value::Null));
        assert_eq!((lies_in(w, "card").await, lies_in(w, "owed").await), (3000, 2000));
        till.node.stop().await;
    }

    async fn a_dispute_is_noted_and_told_at_every_turn_once(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        let shown = async || w.owner.get(&format!("{order}/payments")).await.ok().data()[0]["dispute"].clone();
        assert_eq!(shown().await, Value::Null);
        let dispute = till.stripe.dispute("pi_1");
        for (status, kind, expected) in [
            ("needs_response", "charge.dispute.created", "open"),
            ("under_review", "charge.dispute.updated", "open"),
            ("won", "charge.dispute.closed", "won"),
            ("lost", "charge.dispute.closed", "lost"),
        ] {
            let object = till.stripe.change(dispute["id"].as_str().unwrap(), &json!({ "status": status }));
            till.hear(w, kind, &object).await.ok();
            till.hear(w, kind, &object).await.ok();
            assert_eq!(shown().await, expected, "{status}");
        }
        assert_eq!(told(w, &["payment.disputed"]).await.len(), 3);
        let actions = audit(w).await.into_iter().filter(|entry| entry.action == "payment.disputed");
        assert_eq!(actions.count(), 3);
        // Nothing moves by itself; what the bank took is written down by hand.
        assert_eq!((state(w, &order).await, lies_in(w, "card").await), (is("paid", 1250, 0), 1250));
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 1250, "method": "other" })).await.ok();
        assert_eq!(state(w, &order).await, is("refunded", 1250, 1250));
        let foreign = till.stripe.dispute("pi_99");
        till.hear(w, "charge.dispute.created", &foreign).await.ok();
        till.hear(w, "charge.dispute.created", &json!({ "id": "dp_77", "payment_intent": "pi_1" })).await.ok();
        till.node.stop().await;
    }

    async fn payments_and_refunds_of_an_order_are_listed_page_by_page(w: &World) {
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
        let amounts = |answer: &testkit::Answer| answer.data().as_array().unwrap().iter().map(|one| one["amount"].as_i64().unwrap()).collect::<Vec<_>>();
        assert_eq!(amounts(&first), [300, 200]);
        let next = first.body["next_cursor"].as_str().unwrap();
        let second = w.owner.get(&format!("{refunds}?limit=2&order=desc&cursor={next}")).await.ok();
        assert_eq!((amounts(&second), &second.body["has_more"]), (vec![100], &json!(false)));
        for list in [payments, refunds] {
            w.stranger.get(&list).await.refused(404, "not_found");
            w.owner.get(&format!("{list}?status=done")).await.refused(400, "invalid_parameter");
        }
    }
}
