//! Stories about webhooks: what is delivered, when it is tried again, and what becomes of a receiver that fails.

use store::Scope;
use testkit::{Receiver, World, both, json, seconds};
use touchline::ids::WebhookId;
use touchline::webhooks::edit::{self, Means, NewWebhook};
use touchline::webhooks::webhook::Ordering;

/// A webhook of Harbour that is told everything.
pub(crate) async fn subscribe(w: &World, receiver: &Receiver, ordering: Ordering) -> WebhookId {
    let (means, url) = (Means::of(&w.node.app, None), receiver.url());
    let new = NewWebhook {
        url,
        events: vec!["*".to_owned()],
        description: None,
        team_ids: None,
        ordering: Some(ordering),
    };
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| edit::create(tx, &means, new)).await.unwrap().0.id
}

pub(crate) async fn team(w: &World, name: &str) {
    w.owner.post("/teams", json!({ "name": name })).await.created();
}

both! {
    async fn what_happens_is_delivered_once_and_in_order(w: &World) {
        team(w, "Before").await;
        let receiver = Receiver::start().await;
        subscribe(w, &receiver, Ordering::Strict).await;
        for n in 0..5 {
            team(w, &format!("Team {n}")).await;
        }
        w.deliver().await;
        w.deliver().await;
        let told: Vec<_> = receiver.received().iter().map(|one| one.sequence()).collect();
        assert_eq!(told, [2, 3, 4, 5, 6]);
        let first = &receiver.received()[0];
        assert_eq!(first.header("webhook-id"), first.json()["id"]);
        assert_eq!(first.json(), w.news().await[1]);
        assert!(first.header("webhook-signature").starts_with("v1,"));
    }

    async fn what_fails_is_tried_again(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, &receiver, Ordering::Parallel).await;
        receiver.next([500, 302, 200]);
        team(w, "Hawks").await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        w.pass(seconds(3));
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        w.pass(seconds(4));
        w.deliver().await;
        w.pass(seconds(400));
        w.deliver().await;
        w.pass(seconds(400_000));
        w.deliver().await;
        let received = receiver.received();
        assert_eq!(received.len(), 3);
        assert!(received.iter().all(|one| one.body == received[0].body));
        let ids: Vec<_> = received.iter().map(|one| one.header("webhook-id").to_owned()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]));
        assert_ne!(received[0].header("webhook-signature"), received[1].header("webhook-signature"));
    }
}
