//! Tests of refunds to the card that was charged.

use testkit::stripe::Fault;
use testkit::{FakeStripe, MailServer, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::cards::refunds;

use crate::cards::{
    CardFixture, notification_types, order, order_state, paid_order_state, refund_statuses,
};

/// Pays an order by card and returns its path.
pub(crate) async fn paid_order(w: &World, fixture: &CardFixture) -> String {
    let order = order(w).await;
    fixture.checkout(&order).await.created();
    let session = fixture.stripe.pay(&fixture.only_session_id());
    fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
    assert_eq!(order_state(w, &order).await, paid_order_state());
    order
}

both! {
    async fn refunds_a_card_payment_to_the_card_once(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        w.owner.post(&format!("{order}/refund"), json!({ "amount": 500, "reason": "Torn" })).await.ok();
        assert_eq!(refund_statuses(w).await, [("pending".to_owned(), None)]);
        fixture.stripe.inject_faults(&[Fault::DropConnection, Fault::ProcessThenServerError]);
        let cards = fixture.node.app.cards.clone().unwrap();
        // Two nodes send refunds at the same time.
        let both = tokio::join!(refunds::send_pending(&fixture.node.app, &cards), refunds::sync_pending(&fixture.node.app, &cards));
        assert_eq!(both, (true, true));
        assert_eq!(fixture.stripe.objects("re").len(), 1);
        assert_eq!(refund_statuses(w).await, [("succeeded".to_owned(), Some("re_2".to_owned()))]);
        assert_eq!(notification_types(w, &["order.refunded", "refund.completed"]).await, ["order.refunded", "refund.completed"]);
        fixture.node.stop().await;
    }

    async fn follows_a_refund_that_takes_days(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        fixture.stripe.set_refund_status("pending");
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        assert!(fixture.send_refunds().await && fixture.send_refunds().await);
        assert_eq!(refund_statuses(w).await, [("pending".to_owned(), Some("re_2".to_owned()))]);
        let sent = fixture.stripe.requests().len();
        assert!(fixture.send_refunds().await);
        assert_eq!(fixture.stripe.requests().len(), sent, "what was sent is not sent again");
        let refund = fixture.stripe.change("re_2", &json!({ "status": "succeeded" }));
        fixture.deliver_event(w, "refund.updated", &refund).await.ok();
        assert_eq!(refund_statuses(w).await[0].0, "succeeded");
        // Days later, the payer's bank returns the money.
        let refund = fixture.stripe.change("re_2", &json!({ "status": "failed", "failure_reason": "lost_or_stolen_card" }));
        fixture.deliver_event(w, "refund.failed", &refund).await.ok();
        fixture.deliver_event(w, "refund.updated", &refund).await.ok();
        assert_eq!(refund_statuses(w).await[0].0, "failed");
        assert_eq!(notification_types(w, &["refund.completed", "refund.failed"]).await, ["refund.completed", "refund.failed"]);
        fixture.node.stop().await;
    }

    async fn charge_events_update_refunds_too(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        fixture.stripe.set_refund_status("pending");
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        assert!(fixture.send_refunds().await);
        fixture.stripe.change("re_2", &json!({ "status": "succeeded" }));
        let charge = json!({ "id": "ch_1", "payment_intent": "pi_1", "metadata": { "account": w.harbour } });
        fixture.deliver_event(w, "charge.refunded", &charge).await.ok();
        assert_eq!(refund_statuses(w).await[0].0, "succeeded");
        fixture.node.stop().await;
    }

    async fn reports_a_refused_refund(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await && fixture.send_refunds().await);
        assert_eq!(refund_statuses(w).await, [("failed".to_owned(), None)]);
        assert_eq!(fixture.stripe.objects("re").len(), 0);
        assert_eq!(notification_types(w, &["refund.failed"]).await, ["refund.failed"]);
        fixture.node.stop().await;
    }

    async fn emails_owners_about_late_payments_and_failed_refunds(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        w.user(Role::Owner, "olga@example.org").await;
        w.user(Role::Member, "uwe@example.org").await;
        let stripe = FakeStripe::start().await;
        let mail = crate::mail::node_with_mail(w, &server.url()).await;
        let config = mail.app.config.clone();
        mail.stop().await;
        let set_up = |target: &mut touchline::config::Config| {
            *target = config;
            stripe.configure(target);
        };
        let node = w.node(set_up).await;
        let fixture = CardFixture { owner: w.owner.at(node.address), stripe, node };
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        w.owner.post(&format!("{order}/cancel"), json!({})).await.ok();
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        crate::mail::mailer(&fixture.node).send_due().await;
        let late = server.emails(1).remove(0);
        assert_eq!(late["to"], json!(["olga@example.org"]));
        assert!(late["text"].as_str().unwrap().contains("€12.50"), "{late}");
        fixture.stripe.inject_faults(&[Fault::Reject]);
        assert!(fixture.send_refunds().await);
        crate::mail::mailer(&fixture.node).send_due().await;
        let failed = server.emails(1).remove(0);
        assert!(failed["text"].as_str().unwrap().contains("to the card failed"), "{failed}");
        assert!(server.is_empty());
        fixture.node.stop().await;
    }

    async fn looks_up_an_old_refund_before_requesting_it_again(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = paid_order(w, &fixture).await;
        w.owner.post(&format!("{order}/refund"), json!({})).await.ok();
        fixture.stripe.inject_faults(&[Fault::DropConnection; 4]);
        assert!(!fixture.send_refunds().await);
        assert_eq!(fixture.stripe.objects("re").len(), 1);
        w.advance_clock(seconds(86_400 * 2));
        assert!(fixture.send_refunds().await);
        let posts = fixture.stripe.requests().iter().filter(|request| request.path == "/v1/refunds" && request.key.is_some()).count();
        assert_eq!((posts, fixture.stripe.objects("re").len()), (4, 1));
        assert_eq!(refund_statuses(w).await[0].0, "succeeded");
        fixture.node.stop().await;
    }

    async fn refunds_a_payment_for_a_cancelled_order(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        w.owner.post(&format!("{order}/cancel"), json!({ "reason": "Changed my mind" })).await.ok();
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(order_state(w, &order).await, ("cancelled".to_owned(), 0, 0));
        assert_eq!(refund_statuses(w).await, [("pending".to_owned(), None)]);
        assert!(fixture.send_refunds().await);
        assert_eq!(refund_statuses(w).await, [("succeeded".to_owned(), Some("re_2".to_owned()))]);
        let requests = fixture.stripe.requests();
        let sent = requests.iter().find(|request| request.path == "/v1/refunds").unwrap();
        assert_eq!((sent.form["payment_intent"].as_str(), sent.form["amount"].as_str()), ("pi_1", "1250"));
        assert!(sent.key.as_deref().unwrap().starts_with("ref_"));
        assert_eq!(notification_types(w, &["payment.unmatched", "refund.completed", "order.paid"]).await, ["payment.unmatched", "refund.completed"]);
        fixture.node.stop().await;
    }

    async fn refunds_a_card_payment_for_an_order_paid_in_cash(w: &World) {
        let fixture = CardFixture::start(w).await;
        let order = order(w).await;
        fixture.checkout(&order).await.created();
        w.owner.post(&format!("{order}/pay"), json!({ "method": "cash" })).await.ok();
        let session = fixture.stripe.pay(&fixture.only_session_id());
        fixture.deliver_event(w, "checkout.session.completed", &session).await.ok();
        assert_eq!(order_state(w, &order).await, paid_order_state());
        assert!(fixture.send_refunds().await);
        assert_eq!(fixture.stripe.objects("re").len(), 1);
        fixture.node.stop().await;
    }
}
