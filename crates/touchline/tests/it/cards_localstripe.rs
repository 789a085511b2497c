//! Tests of refunds through localstripe, a fake provider written by others. It has no Checkout, so the tests pay with
//! it directly and record the payment through the shop module.

use std::sync::Arc;

use store::{Scope, Tx};
use testkit::{LocalStripe, Node, World, both, json, seconds};
use touchline::card_provider::provider::{NewProviderRefund, Provider, RefundOutcome};
use touchline::cards::refunds;
use touchline::ids::OrderId;
use touchline::money::payment::{self, Method, PaymentDetails};
use touchline::shop::settle;

use crate::cards::{notification_types, order, order_state, refund_statuses};

/// A service that refunds through localstripe, and an order to pay there.
struct LocalStripeFixture {
    stripe: LocalStripe,
    node: Node,
    order: String,
    intent: String,
}

impl LocalStripeFixture {
    /// `None` where localstripe is not installed and not required.
    async fn start(w: &World, card: &str) -> Option<Self> {
        let stripe = LocalStripe::start()?;
        let node = w.node(|config| testkit::stripe::configure(config, &stripe.url)).await;
        let order = order(w).await;
        let intent = stripe.create_intent(1250, card).await;
        Some(Self { stripe, node, order, intent })
    }

    /// Records localstripe's payment for the order.
    async fn record_payment(&self, w: &World) {
        let id: OrderId = self.order.rsplit('/').next().unwrap().parse().unwrap();
        let provider_id = Some(self.intent.clone());
        let (method, amount) = (Method::Card, Some(1250));
        let paid = PaymentDetails { amount, method, reference: None, paid_at: None, provider_id };
        let work = move |tx: &Tx<'_>| settle::pay_by_id(tx, id, paid);
        w.db().write(Scope::account(w.harbour, "cards"), work).await.unwrap();
        assert_eq!(order_state(w, &self.order).await, ("paid".to_owned(), 1250, 1));
    }

    async fn refund(&self, w: &World, body: testkit::Value) -> testkit::TestResponse {
        w.owner.post(&format!("{}/refund", self.order), body).await
    }

    async fn send(&self) -> bool {
        refunds::sync_pending(&self.node.app, &self.node.app.cards.clone().unwrap()).await
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.node.app.cards.clone().unwrap().provider
    }

    /// The refunded amounts, the smallest first, because localstripe sorts by whole seconds.
    async fn refunded_amounts(&self) -> Vec<i64> {
        let all = self.stripe.refunds(&self.intent).await;
        let mut all: Vec<_> = all.iter().map(|one| one["amount"].as_i64().unwrap()).collect();
        all.sort_unstable();
        all
    }
}

both! {
    async fn refunds_through_localstripe_never_exceed_the_payment(w: &World) {
        let Some(fixture) = LocalStripeFixture::start(w, "pm_card_visa").await else { return };
        assert_eq!(fixture.stripe.confirm(&fixture.intent).await.1["status"], "succeeded");
        fixture.record_payment(w).await;
        fixture.refund(w, json!({ "amount": 500, "reason": "Torn" })).await.ok();
        assert!(fixture.send().await && fixture.send().await);
        let refunds = fixture.stripe.refunds(&fixture.intent).await;
        assert_eq!(refunds.len(), 1);
        assert_eq!((&refunds[0]["amount"], &refunds[0]["currency"]), (&json!(500), &json!("eur")));
        assert_eq!(refunds[0]["metadata"]["account"], w.harbour.to_string());
        let provider_id = refunds[0]["id"].as_str().map(str::to_owned);
        assert_eq!(refund_statuses(w).await, [("succeeded".to_owned(), provider_id)]);
        // localstripe would refund more than was paid, so we must not ask it to.
        fixture.refund(w, json!({ "amount": 751 })).await.assert_problem(409, "invalid_state");
        fixture.refund(w, json!({})).await.ok();
        fixture.refund(w, json!({})).await.assert_problem(409, "invalid_state");
        assert!(fixture.send().await && fixture.send().await);
        assert_eq!(fixture.refunded_amounts().await, [500, 750]);
        assert_eq!(notification_types(w, &["refund.completed", "refund.failed"]).await, ["refund.completed"; 2]);
        fixture.node.stop().await;
    }

    async fn finds_a_localstripe_refund_by_our_id_when_its_answer_was_lost(w: &World) {
        let Some(fixture) = LocalStripeFixture::start(w, "pm_card_visa").await else { return };
        assert_eq!(fixture.stripe.confirm(&fixture.intent).await.0, 200);
        fixture.record_payment(w).await;
        fixture.refund(w, json!({ "amount": 300 })).await.ok();
        let query = |db: &store::Reader<'_>| payment::list_pending_refunds(db, (touchline::ids::AccountId::MIN, touchline::ids::RefundId::MIN), 9);
        let pending = w.db().read(Scope::system("test"), query).await.unwrap().remove(0);
        let new_refund = NewProviderRefund { account: w.harbour, refund: pending.id, payment: fixture.intent.clone(), currency: pending.currency, amount: 300 };
        let created = fixture.provider().create_refund(&new_refund).await.unwrap();
        assert_eq!(created.outcome, RefundOutcome::Succeeded);
        assert_eq!(fixture.provider().get_refund(&created.id).await.unwrap(), created);
        // The service missed the answer and was down for longer than idempotency keys are kept.
        w.advance_clock(seconds(86_400 * 2));
        assert!(fixture.send().await);
        assert_eq!(refund_statuses(w).await, [("succeeded".to_owned(), Some(created.id))]);
        assert_eq!(fixture.refunded_amounts().await, [300]);
        fixture.node.stop().await;
    }

    async fn a_card_declined_by_localstripe_gets_no_refund(w: &World) {
        let Some(fixture) = LocalStripeFixture::start(w, "pm_card_chargeCustomerFail").await else { return };
        let (status, declined) = fixture.stripe.confirm(&fixture.intent).await;
        assert_eq!((status, &declined["error"]["code"]), (402, &json!("card_declined")));
        assert_eq!(order_state(w, &fixture.order).await, ("placed".to_owned(), 0, 0));
        // If it is recorded as paid anyway, the failed refund is reported.
        fixture.record_payment(w).await;
        fixture.refund(w, json!({})).await.ok();
        assert!(fixture.send().await && fixture.send().await);
        assert_eq!(refund_statuses(w).await, [("failed".to_owned(), None)]);
        assert_eq!(notification_types(w, &["refund.completed", "refund.failed"]).await, ["refund.failed"]);
        assert_eq!(order_state(w, &fixture.order).await, ("paid".to_owned(), 1250, 1));
        fixture.node.stop().await;
    }
}
