//! Stories about money that goes back through a provider that nobody here wrote: localstripe. It knows no Checkout,
//! so what is given back was paid with it directly, and our side is told of it by the room that takes payments.

use std::sync::Arc;

use store::{Scope, Tx};
use testkit::{LocalStripe, Node, World, both, json, seconds};
use touchline::cards::provider::{NewReturn, Outcome, Provider};
use touchline::cards::refunds;
use touchline::ids::OrderId;
use touchline::money::payment::{self, Method, Paid};
use touchline::shop::settle;

use crate::cards::{order, refund_statuses, stands, told};

/// A service that gives money back through localstripe, and an order that was paid there.
struct Till {
    stripe: LocalStripe,
    node: Node,
    order: String,
    intent: String,
}

impl Till {
    /// `None` where there is no localstripe and nobody insists.
    async fn open(w: &World, card: &str) -> Option<Self> {
        let stripe = LocalStripe::start()?;
        let node = w.node(|config| testkit::stripe::set_up(config, &stripe.url)).await;
        let order = order(w).await;
        let intent = stripe.intend(1250, card).await;
        Some(Self { stripe, node, order, intent })
    }

    /// The order is paid with the payment of localstripe's.
    async fn paid(&self, w: &World) {
        let id: OrderId = self.order.rsplit('/').next().unwrap().parse().unwrap();
        let name = Some(self.intent.clone());
        let (method, amount) = (Method::Card, Some(1250));
        let paid = Paid { amount, method, reference: None, paid_at: None, provider_id: name };
        let work = move |tx: &Tx<'_>| settle::settle(tx, id, paid);
        w.db().write(Scope::account(w.harbour, "cards"), work).await.unwrap();
        assert_eq!(stands(w, &self.order).await, ("paid".to_owned(), 1250, 1));
    }

    async fn give_back(&self, w: &World, what: testkit::Value) -> testkit::Answer {
        w.owner.post(&format!("{}/refund", self.order), what).await
    }

    async fn send(&self) -> bool {
        refunds::look(&self.node.app, &self.node.app.cards.clone().unwrap()).await
    }

    fn provider(&self) -> Arc<dyn Provider> {
        self.node.app.cards.clone().unwrap().provider
    }

    /// How much went back, piece by piece, the smallest first: localstripe sorts by whole seconds.
    async fn went_back(&self) -> Vec<i64> {
        let all = self.stripe.refunds(&self.intent).await;
        let mut all: Vec<_> = all.iter().map(|one| one["amount"].as_i64().unwrap()).collect();
        all.sort_unstable();
        all
    }
}

both! {
    async fn money_goes_back_through_localstripe_and_never_more_than_was_paid(w: &World) {
        let Some(till) = Till::open(w, "pm_card_visa").await else { return };
        assert_eq!(till.stripe.confirm(&till.intent).await.1["status"], "succeeded");
        till.paid(w).await;
        till.give_back(w, json!({ "amount": 500, "reason": "Torn" })).await.ok();
        assert!(till.send().await && till.send().await);
        let gone = till.stripe.refunds(&till.intent).await;
        assert_eq!(gone.len(), 1);
        assert_eq!((&gone[0]["amount"], &gone[0]["currency"]), (&json!(500), &json!("eur")));
        assert_eq!(gone[0]["metadata"]["account"], w.harbour.to_string());
        let name = gone[0]["id"].as_str().map(str::to_owned);
        assert_eq!(refund_statuses(w).await, [("done".to_owned(), name)]);
        // localstripe would give back more than was paid; we do not ask it to.
        till.give_back(w, json!({ "amount": 751 })).await.refused(409, "invalid_state");
        till.give_back(w, json!({})).await.ok();
        till.give_back(w, json!({})).await.refused(409, "invalid_state");
        assert!(till.send().await && till.send().await);
        assert_eq!(till.went_back().await, [500, 750]);
        assert_eq!(told(w, &["refund.completed", "refund.failed"]).await, ["refund.completed"; 2]);
        till.node.stop().await;
    }

    async fn what_localstripe_gave_back_and_never_told_is_found_by_our_name_for_it(w: &World) {
        let Some(till) = Till::open(w, "pm_card_visa").await else { return };
        assert_eq!(till.stripe.confirm(&till.intent).await.0, 200);
        till.paid(w).await;
        till.give_back(w, json!({ "amount": 300 })).await.ok();
        let look = |db: &store::Reader<'_>| payment::waiting(db, (touchline::ids::AccountId::LEAST, touchline::ids::RefundId::LEAST), 9);
        let waiting = w.db().read(Scope::system("test"), look).await.unwrap().remove(0);
        let money = NewReturn { account: w.harbour, refund: waiting.id, payment: till.intent.clone(), currency: waiting.currency, amount: 300 };
        let made = till.provider().give_back(&money).await.unwrap();
        assert_eq!(made.outcome, Outcome::Done);
        assert_eq!(till.provider().look_at_return(&made.id).await.unwrap(), made);
        // We were gone before we heard it, for longer than anybody remembers a key.
        w.pass(seconds(86_400 * 2));
        assert!(till.send().await);
        assert_eq!(refund_statuses(w).await, [("done".to_owned(), Some(made.id))]);
        assert_eq!(till.went_back().await, [300]);
        till.node.stop().await;
    }

    async fn a_card_that_localstripe_declines_pays_nothing_and_gets_nothing_back(w: &World) {
        let Some(till) = Till::open(w, "pm_card_chargeCustomerFail").await else { return };
        let (status, declined) = till.stripe.confirm(&till.intent).await;
        assert_eq!((status, &declined["error"]["code"]), (402, &json!("card_declined")));
        assert_eq!(stands(w, &till.order).await, ("placed".to_owned(), 0, 0));
        // Should somebody take it for paid all the same, what comes of it is told.
        till.paid(w).await;
        till.give_back(w, json!({})).await.ok();
        assert!(till.send().await && till.send().await);
        assert_eq!(refund_statuses(w).await, [("failed".to_owned(), None)]);
        assert_eq!(told(w, &["refund.completed", "refund.failed"]).await, ["refund.failed"]);
        assert_eq!(stands(w, &till.order).await, ("paid".to_owned(), 1250, 1));
        till.node.stop().await;
    }
}
