//! Stories about money that goes back to the card it was paid with.

use testkit::stripe::Fault;
use testkit::{MailServer, Stripe, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::cards::refunds;

use crate::cards::{Till, order, paid, refund_statuses, stands, told};

/// An order that was paid by card.
pub(crate) async fn paid_order(w: &World, till: &Till) -> String {
    let order = order(w).await;
    till.checkout(&order).await.created();
    let session = till.stripe.pay(&till.page());
    till.hear(w, "checkout.session.completed", &session).await.ok();
    assert_eq!(stands(w, &order).await, paid());
    order
}

both! {
    async fn what_was_paid_by_card_goes_back_to_the_card_once(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 500, "reason": "Torn" })).await.ok();
        assert_eq!(refund_statuses(w).await, [("pending".to_owned(), None)]);
        till.stripe.faults(&[Fault::HangsUp, Fault::DoesAndFails]);
        let cards = till.node.app.cards.clone().unwrap();
        // Two nodes are at it at once.
        let both = tokio::join!(refunds::send(&till.node.app, &cards), refunds::look(&till.node.app, &cards));
        assert_eq!(both, (true, true));
        assert_eq!(till.stripe.made("re").len(), 1);
        assert_eq!(refund_statuses(w).await, [("done".to_owned(), Some("re_2".to_owned()))]);
        assert_eq!(told(w, &["order.refunded", "refund.completed"]).await, ["order.refunded", "refund.completed"]);
        till.node.stop().await;
    }

    async fn a_refund_that_takes_days_is_looked_up(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        till.stripe.refunds_are("pending");
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        assert!(till.send_refunds().await && till.send_refunds().await);
        assert_eq!(refund_statuses(w).await, [("pending".to_owned(), Some("re_2".to_owned()))]);
        let sent = till.stripe.asked().len();
        assert!(till.send_refunds().await);
        assert_eq!(till.stripe.asked().len(), sent, "what was sent is not sent again");
        let refund = till.stripe.change("re_2", &json!({ "status": "succeeded" }));
        till.hear(w, "refund.updated", &refund).await.ok();
        assert_eq!(refund_statuses(w).await[0].0, "done");
        // The bank of the payer sends it back days later.
        let refund = till.stripe.change("re_2", &json!({ "status": "failed", "failure_reason": "lost_or_stolen_card" }));
        till.hear(w, "refund.failed", &refund).await.ok();
        till.hear(w, "refund.updated", &refund).await.ok();
        assert_eq!(refund_statuses(w).await[0].0, "failed");
        assert_eq!(told(w, &["refund.completed", "refund.failed"]).await, ["refund.completed", "refund.failed"]);
        till.node.stop().await;
    }

    async fn charges_tell_of_refunds_too(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        till.stripe.refunds_are("pending");
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        assert!(till.send_refunds().await);
        till.stripe.change("re_2", &json!({ "status": "succeeded" }));
        let charge = json!({ "id": "ch_1", "payment_intent": "pi_1", "metadata": { "account": w.harbour } });
        till.hear(w, "charge.refunded", &charge).await.ok();
        assert_eq!(refund_statuses(w).await[0].0, "done");
        till.node.stop().await;
    }

    async fn a_refund_that_is_refused_is_told(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await && till.send_refunds().await);
        assert_eq!(refund_statuses(w).await, [("failed".to_owned(), None)]);
        assert_eq!(till.stripe.made("re").len(), 0);
        assert_eq!(told(w, &["refund.failed"]).await, ["refund.failed"]);
        till.node.stop().await;
    }

    async fn those_in_charge_are_written_to_when_money_needs_them(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        w.user(Role::Owner, "olga@example.org").await;
        w.user(Role::Member, "uwe@example.org").await;
        let stripe = Stripe::start().await;
        let mail = crate::mail::node_with_mail(w, &server.url()).await;
        let config = mail.app.config.clone();
        mail.stop().await;
        let set_up = |own: &mut touchline::config::Config| {
            *own = config;
            stripe.set_up(own);
        };
        let node = w.node(set_up).await;
        let till = Till { owner: w.owner.at(node.address), stripe, node };
        let order = order(w).await;
        till.checkout(&order).await.created();
        w.owner.post(&format!("{order}/cancel"), json!({})).await.ok();
        let session = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        crate::mail::post(&till.node).carry().await;
        let late = server.letters(1).remove(0);
        assert_eq!(late["to"], json!(["olga@example.org"]));
        assert!(late["text"].as_str().unwrap().contains("12.50 EUR"), "{late}");
        till.stripe.faults(&[Fault::Refuses]);
        assert!(till.send_refunds().await);
        crate::mail::post(&till.node).carry().await;
        let failed = server.letters(1).remove(0);
        assert!(failed["text"].as_str().unwrap().contains("could not be given back"), "{failed}");
        assert!(server.is_empty());
        till.node.stop().await;
    }

    async fn a_refund_that_is_a_day_late_is_looked_for_first(w: &World) {
        let till = Till::open(w).await;
        let order = paid_order(w, &till).await;
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        till.stripe.faults(&[Fault::HangsUp; 4]);
        assert!(!till.send_refunds().await);
        assert_eq!(till.stripe.made("re").len(), 1);
        w.pass(seconds(86_400 * 2));
        assert!(till.send_refunds().await);
        let posts = till.stripe.asked().iter().filter(|asked| asked.path == "/v1/refunds" && asked.key.is_some()).count();
        assert_eq!((posts, till.stripe.made("re").len()), (4, 1));
        assert_eq!(refund_statuses(w).await[0].0, "done");
        till.node.stop().await;
    }

    async fn money_for_an_order_that_was_cancelled_goes_back(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        w.owner.post(&format!("{order}/cancel"), json!({ "reason": "Changed my mind" })).await.ok();
        let session = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(stands(w, &order).await, ("cancelled".to_owned(), 0, 0));
        assert_eq!(refund_statuses(w).await, [("pending".to_owned(), None)]);
        assert!(till.send_refunds().await);
        assert_eq!(refund_statuses(w).await, [("done".to_owned(), Some("re_2".to_owned()))]);
        let asked = till.stripe.asked();
        let sent = asked.iter().find(|asked| asked.path == "/v1/refunds").unwrap();
        assert_eq!((sent.form["payment_intent"].as_str(), sent.form["amount"].as_str()), ("pi_1", "1250"));
        assert!(sent.key.as_deref().unwrap().starts_with("ref_"));
        assert_eq!(told(w, &["payment.stray", "refund.completed", "order.paid"]).await, ["payment.stray", "refund.completed"]);
        till.node.stop().await;
    }

    async fn money_for_an_order_that_was_paid_in_cash_goes_back(w: &World) {
        let till = Till::open(w).await;
        let order = order(w).await;
        till.checkout(&order).await.created();
        w.owner.post(&format!("{order}/pay"), json!({ "method": "cash" })).await.ok();
        let session = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(stands(w, &order).await, paid());
        assert!(till.send_refunds().await);
        assert_eq!(till.stripe.made("re").len(), 1);
        till.node.stop().await;
    }
}
