//! Tests of webhook delivery: completeness, order and isolation between receivers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use store::{Scope, bind, sql};
use testkit::{Engine, Node, Receiver, Reply, Value, World, both, json, seconds};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use touchline::dispatch::Dispatcher;
use touchline::ids::{AccountId, WebhookId};
use touchline::if_match::IfMatch;
use touchline::rights::TeamAccess;
use touchline::signals::{Publish, Subject};
use touchline::webhooks::access::Manager;
use touchline::webhooks::actions;
use touchline::webhooks::delivery::{Attempts, Delivery, Status};
use touchline::webhooks::edit::{self, EditContext, NewWebhook, WebhookChange};
use touchline::webhooks::signature::Secret;
use touchline::webhooks::webhook::{self, Ordering, Webhook};

/// The context for creating webhooks on this node.
pub(crate) fn edit_context(node: &Node) -> EditContext {
    EditContext::new(&node.app, None, TeamAccess::AllTeams)
}

/// Creates one webhook per URL that receives every event of a club.
pub(crate) async fn subscribe_all(
    w: &World,
    club: AccountId,
    urls: Vec<String>,
    ordering: Ordering,
) -> Vec<(WebhookId, Secret)> {
    let context = edit_context(&w.node);
    let create = move |tx: &store::Tx<'_>| {
        let created = urls.iter().map(|url| {
            let new = NewWebhook {
                url: url.clone(),
                events: vec!["*".to_owned()],
                description: None,
                team_ids: None,
                ordering: Some(ordering),
            };
            edit::create(tx, &context, new).map(|(webhook, secret)| (webhook.id, secret))
        });
        created.collect::<touchline::error::Result<_>>()
    };
    w.db().write(Scope::account(club, "test"), create).await.unwrap()
}

/// Creates a webhook of Harbour that receives every event.
pub(crate) async fn subscribe(w: &World, url: String, ordering: Ordering) -> WebhookId {
    subscribe_all(w, w.harbour, vec![url], ordering).await[0].0
}

pub(crate) async fn team(w: &World, name: &str) {
    w.owner.post("/teams", json!({ "name": name })).await.created();
}

/// The object of a test event.
#[derive(Serialize)]
pub(crate) struct TestEvent {
    pub id: String,
    pub what: Value,
}

impl Subject for TestEvent {
    fn subject(&self) -> String {
        self.id.clone()
    }
}

/// Publishes `count` events of a club in one transaction.
pub(crate) async fn publish_events(w: &World, club: AccountId, count: usize) {
    publish_objects(w, club, vec![json!("news"); count]).await;
}

/// Publishes one event per value in one transaction.
pub(crate) async fn publish_objects(w: &World, club: AccountId, values: Vec<Value>) {
    let happen = move |tx: &store::Tx<'_>| {
        let objects = values.into_iter().map(|what| TestEvent { id: "team".to_owned(), what });
        let objects: Vec<_> = objects.collect();
        let objects: Vec<_> = objects.iter().map(|object| (None, object)).collect();
        tx.publish_all("team.updated", &objects)
    };
    w.db().write(Scope::account(club, "test"), happen).await.unwrap();
}

pub(crate) async fn get_webhook(w: &World, id: WebhookId) -> Webhook {
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| webhook::find(db, id)).await.unwrap()
}

/// The deliveries of a webhook of Harbour, in log order.
pub(crate) async fn deliveries(w: &World, id: WebhookId) -> Vec<Delivery> {
    let read = move |db: &store::Reader<'_>| {
        let text = sql!(
            Delivery::SELECT,
            " where account_id = :account and webhook_id = :id order by sequence, id"
        );
        db.all::<Delivery>(text, bind! { id })
    };
    w.db().read(Scope::account(w.harbour, "test"), read).await.unwrap()
}

pub(crate) async fn enable(w: &World, id: WebhookId, replay_missed: bool) {
    let context = edit_context(&w.node);
    let enable = move |tx: &store::Tx<'_>| {
        actions::enable(tx, &context, id, &IfMatch::Absent, replay_missed)
    };
    w.db().write(Scope::account(w.harbour, "test"), enable).await.unwrap();
}

async fn disable(w: &World, id: WebhookId) {
    let disable = move |tx: &store::Tx<'_>| {
        actions::disable(tx, &Manager::unrestricted(), id, &IfMatch::Absent)
    };
    w.db().write(Scope::account(w.harbour, "test"), disable).await.unwrap();
}

/// The sequence numbers that a receiver got, in order of arrival.
pub(crate) fn sequences(receiver: &Receiver) -> Vec<i64> {
    receiver.received().iter().map(testkit::receiver::ReceivedRequest::sequence).collect()
}

/// A dispatcher that runs in the background until dropped.
pub(crate) struct RunningDispatcher(
    JoinHandle<()>,
    #[expect(dead_code, reason = "dropping it stops the dispatcher")] watch::Sender<bool>,
);

impl RunningDispatcher {
    pub(crate) fn start(dispatcher: &Dispatcher) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self(tokio::task::spawn(dispatcher.clone().run(stopped)), stop)
    }
}

impl Drop for RunningDispatcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

both! {
    async fn delivers_each_event_once_and_in_order(w: &World) {
        team(w, "Before").await;
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Strict).await;
        for n in 0..5 {
            team(w, &format!("Team {n}")).await;
        }
        w.deliver().await;
        w.deliver().await;
        assert_eq!(sequences(&receiver), [2, 3, 4, 5, 6]);
        let first = &receiver.received()[0];
        assert_eq!(first.header("webhook-id"), first.json()["id"]);
        assert_eq!(first.json(), w.notifications().await[1]);
        assert!(first.header("webhook-signature").starts_with("v1,"));
    }

    async fn retries_until_the_receiver_answers(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.queue_replies([500, 302, 200]);
        team(w, "Hawks").await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        w.advance_clock(seconds(3));
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        w.advance_clock(seconds(30));
        w.deliver().await;
        w.advance_clock(seconds(400));
        w.deliver().await;
        w.advance_clock(seconds(400_000));
        w.deliver().await;
        let received = receiver.received();
        assert_eq!(received.len(), 3);
        assert!(received.iter().all(|delivery| delivery.body == received[0].body));
        let ids: Vec<_> = received.iter().map(|delivery| delivery.header("webhook-id").to_owned()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]));
        assert_ne!(received[0].header("webhook-signature"), received[1].header("webhook-signature"));
    }

    async fn strict_order_waits_for_a_failing_delivery(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.queue_replies([200; 4]);
        receiver.set_reply(500);
        publish_events(w, w.harbour, 8).await;
        // Each pause exceeds the longest delay and the duration of an attempt on a busy machine.
        for pause in [0, 30, 400, 2_400] {
            w.advance_clock(seconds(pause));
            w.deliver().await;
            publish_events(w, w.harbour, 1).await;
        }
        assert_eq!(sequences(&receiver), [1, 2, 3, 4, 5, 5, 5, 5]);
        receiver.set_reply(200);
        w.advance_clock(seconds(9_000));
        w.deliver().await;
        assert_eq!(sequences(&receiver)[8..], [5, 6, 7, 8, 9, 10, 11, 12]);
        assert!(deliveries(w, id).await.iter().all(|delivery| delivery.status == Status::Succeeded));
    }

    async fn parallel_order_does_not_wait_for_a_failing_delivery(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.queue_replies([500]);
        publish_events(w, w.harbour, 6).await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 6);
        let failed = sequences(&receiver)[0];
        w.advance_clock(seconds(30));
        w.deliver().await;
        assert_eq!(sequences(&receiver)[6..], [failed]);
    }

    async fn delivers_at_most_eight_at_once(w: &World) {
        let receiver = Receiver::start().await;
        receiver.set_reply(Reply::from(200).after(Duration::from_millis(100)));
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        // The first is delivered alone, and the others in parallel.
        let hold = receiver.hold_replies();
        publish_events(w, w.harbour, 40).await;
        tokio::join!(w.deliver(), async {
            receiver.wait_for(1).await;
            let second_hold = receiver.hold_replies();
            drop(hold);
            receiver.wait_for(9).await;
            drop(second_hold);
        });
        assert_eq!((receiver.received().len(), receiver.max_in_flight()), (40, 8));
    }

    async fn delivers_one_event_to_five_hundred_webhooks(w: &World) {
        let receiver = Receiver::start().await;
        let urls = (0..500).map(|n| format!("{}/{n}", receiver.url())).collect();
        subscribe_all(w, w.harbour, urls, Ordering::Parallel).await;
        publish_events(w, w.harbour, 1).await;
        w.deliver().await;
        let mut paths: Vec<_> = receiver.received().into_iter().map(|delivery| delivery.path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!((paths.len(), receiver.received().len()), (500, 500));
        let counts = |db: &store::Reader<'_>| -> store::Result<(i64, i64)> {
            db.one(
                "select count(*), (select cast(sum(succeeded) as bigint) from webhook_hour where account_id = :account)
                 from delivery where account_id = :account and status = 'succeeded'",
                bind! {},
            )
        };
        let counts = w.db().read(Scope::account(w.harbour, "test"), counts).await.unwrap();
        assert_eq!(counts, (500, 500));
    }

    async fn new_webhook_gets_its_first_event_promptly(w: &World) {
        let first = Receiver::start().await;
        subscribe(w, first.url(), Ordering::Parallel).await;
        let _running = RunningDispatcher::start(&w.node.dispatcher);
        publish_events(w, w.harbour, 1).await;
        first.wait_for(1).await;
        let (mut receivers, mut fastest) = (vec![first], Duration::MAX);
        for _ in 0..5 {
            let next = Receiver::start().await;
            subscribe(w, next.url(), Ordering::Parallel).await;
            let began = Instant::now();
            publish_events(w, w.harbour, 1).await;
            next.wait_for(1).await;
            fastest = fastest.min(began.elapsed());
            receivers.push(next);
        }
        // The regular scan takes five seconds; at least one must be faster, even on a busy machine.
        assert!(fastest < seconds(3), "they were found only by the regular scan: {fastest:?}");
    }

    async fn deleted_or_disabled_webhook_gets_nothing_more(w: &World) {
        let (deleted, disabled) = (Receiver::start().await, Receiver::start().await);
        let deleted_id = subscribe(w, deleted.url(), Ordering::Strict).await;
        let disabled_id = subscribe(w, disabled.url(), Ordering::Strict).await;
        for receiver in [&deleted, &disabled] {
            receiver.set_reply(500);
        }
        let holds = (deleted.hold_replies(), disabled.hold_replies());
        publish_events(w, w.harbour, 3).await;
        let (delivered, ()) = tokio::join!(w.node.dispatcher.deliver(), async {
            tokio::join!(deleted.wait_for(1), disabled.wait_for(1));
            let delete = move |tx: &store::Tx<'_>| edit::delete(tx, &Manager::unrestricted(), deleted_id, &IfMatch::Absent);
            w.db().write(Scope::account(w.harbour, "test"), delete).await.unwrap();
            disable(w, disabled_id).await;
            drop(holds);
        });
        delivered.unwrap();
        w.advance_clock(seconds(60));
        w.deliver().await;
        assert_eq!((deleted.received().len(), disabled.received().len()), (1, 1));
        // The attempt in progress is recorded, and everything is delivered after it is enabled
        // again.
        let stored = deliveries(w, disabled_id).await;
        assert_eq!((stored.len(), stored[0].status), (1, Status::Pending));
        disabled.set_reply(200);
        enable(w, disabled_id, true).await;
        w.deliver().await;
        assert_eq!(sequences(&disabled), [1, 1, 2, 3, 4]);
    }

    async fn position_of_a_webhook_never_moves_back(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        // Longer than prefetched events stay valid.
        receiver.set_reply(Reply::from(200).after(Duration::from_millis(60)));
        let hold = receiver.hold_replies();
        publish_events(w, w.harbour, 70).await;
        let (delivered, ()) = tokio::join!(w.node.dispatcher.deliver(), async {
            receiver.wait_for(1).await;
            disable(w, id).await;
            enable(w, id, false).await;
            drop(hold);
        });
        delivered.unwrap();
        w.deliver().await;
        // The prefetched batch may have been in flight; the rest must not be delivered.
        let highest = sequences(&receiver).into_iter().max();
        assert!(highest <= Some(64), "{highest:?}");
        publish_events(w, w.harbour, 1).await;
        w.deliver().await;
        assert_eq!(sequences(&receiver).into_iter().max(), Some(72));
    }

    async fn retries_go_to_the_new_url(w: &World) {
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, old.url(), Ordering::Parallel).await;
        old.set_reply(500);
        publish_events(w, w.harbour, 2).await;
        w.deliver().await;
        let (context, url) = (edit_context(&w.node), Some(new.url()));
        let change = move |tx: &store::Tx<'_>| {
            let change = WebhookChange { url, ..WebhookChange::default() };
            edit::change(tx, &context, id, &IfMatch::Absent, change)
        };
        w.db().write(Scope::account(w.harbour, "test"), change).await.unwrap();
        w.advance_clock(seconds(30));
        w.deliver().await;
        assert_eq!(old.received().len(), 2);
        let mut arrived = sequences(&new);
        arrived.sort_unstable();
        assert_eq!(arrived, [1, 2]);
    }

    async fn rolled_back_changes_are_not_delivered(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Strict).await;
        team(w, "Hawks").await;
        w.owner.post("/teams", json!({ "name": "hawks" })).await.assert_problem(409, "taken");
        let with_key = w.owner.with_header("Idempotency-Key", "otters");
        with_key.post("/teams", json!({ "name": "Otters" })).await.created();
        with_key.post("/teams", json!({ "name": "Otters" })).await.created();
        with_key.post("/teams", json!({ "name": "Herons" })).await.assert_problem(422, "idempotency_key_reused");
        let rolled_back = |tx: &store::Tx<'_>| {
            let event = TestEvent { id: "team".to_owned(), what: json!("rolled back") };
            tx.publish("team.updated", &event)?;
            Err::<(), _>(touchline::error::Error::not_found())
        };
        w.db().write(Scope::account(w.harbour, "test"), rolled_back).await.unwrap_err();
        w.deliver().await;
        let names: Vec<_> = receiver.received().iter().map(|delivery| delivery.json()["data"]["object"]["name"].clone()).collect();
        assert_eq!(names, ["Hawks", "Otters"]);
        assert_eq!(sequences(&receiver), [1, 2]);
    }

    async fn sends_exactly_the_stored_bytes(w: &World) {
        let receiver = Receiver::start().await;
        let (_, secret) = subscribe_all(w, w.harbour, vec![receiver.url()], Ordering::Strict).await.remove(0);
        let long = "Zoë 🏉 ".repeat(2_000);
        let values = vec![json!("🏉\u{2028}\u{1b}\u{7f}\"\\/"), json!({ "n": 1e21, "m": -0.0, "k": 1.5e-9 }), json!(long)];
        publish_objects(w, w.harbour, values).await;
        w.deliver().await;
        let read = |db: &store::Reader<'_>| touchline::signals::notifications(db, 0, 10);
        let stored = w.db().read(Scope::account(w.harbour, "test"), read).await.unwrap();
        let received = receiver.received();
        assert_eq!((received.len(), stored.len()), (3, 3));
        let now = w.clock.clock().now();
        for (received, stored) in received.iter().zip(&stored) {
            assert_eq!(received.body, stored.body.as_bytes());
            let signature = secret.sign(&stored.id.to_string(), now, &received.body);
            assert_eq!(received.header("webhook-signature"), signature);
        }
        assert!(received[2].body.len() > 20_000);
        assert!(std::str::from_utf8(&received[0].body).unwrap().contains("\\u001b"));
    }

    async fn node_starts_nothing_after_its_lease_expired(w: &World) {
        let node = w.node(|config| config.webhook_deliveries = 1.try_into().unwrap()).await;
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let hold = receiver.hold_replies();
        publish_events(w, w.harbour, 8).await;
        // While the first is in flight and the others wait, the node's lease expires.
        let (delivered, ()) = tokio::join!(node.dispatcher.deliver(), async {
            receiver.wait_for(1).await;
            w.advance_clock(seconds(50));
            drop(hold);
        });
        delivered.unwrap();
        assert_eq!(sequences(&receiver), [1]);
        assert_eq!(get_webhook(w, id).await.position, 1);
        node.dispatcher.deliver().await.unwrap();
        let mut arrived = sequences(&receiver);
        arrived.sort_unstable();
        assert_eq!(arrived, (1..=8).collect::<Vec<_>>());
        node.stop().await;
    }

    async fn stopping_node_finishes_deliveries_in_flight(w: &World) {
        let node = w.node(|_| ()).await;
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        let hold = receiver.hold_replies();
        publish_events(w, w.harbour, 3).await;
        let (stop, stopped) = watch::channel(false);
        let running = tokio::task::spawn(node.dispatcher.clone().run(stopped));
        receiver.wait_for(1).await;
        node.app.stop();
        stop.send(true).unwrap();
        drop(hold);
        running.await.unwrap();
        assert_eq!((sequences(&receiver), get_webhook(w, id).await.position), (vec![1], 1));
        // The next node does not have to wait for the lease of the stopped one.
        w.deliver().await;
        assert_eq!(sequences(&receiver), [1, 2, 3]);
        node.stop().await;
    }

    async fn undecryptable_secret_sends_and_loses_nothing(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        publish_events(w, w.harbour, 1).await;
        let corrupt = move |tx: &store::Tx<'_>| {
            let text = "update webhook set secret = :secret where account_id = :account and id = :id";
            tx.execute(text, bind! { id, secret: vec![0_u8; 60] })
        };
        w.db().write(Scope::account(w.harbour, "test"), corrupt).await.unwrap();
        assert!(w.node.dispatcher.deliver().await.is_err());
        assert!(receiver.received().is_empty());
        assert_eq!(get_webhook(w, id).await.position, 0);
    }
}

/// How often each webhook, by its path, got each sequence number.
fn count_by_path_and_sequence(receiver: &Receiver) -> BTreeMap<(String, i64), usize> {
    let mut counts = BTreeMap::new();
    for delivery in receiver.received() {
        *counts.entry((delivery.path.clone(), delivery.sequence())).or_default() += 1;
    }
    counts
}

#[test]
fn two_nodes_share_the_work_and_take_over() {
    testkit::world::run(Engine::Postgres, async |w| {
        let (first, other) = (&w.node.dispatcher, w.node(|_| ()).await);
        let receiver = Receiver::start().await;
        let urls = (0..40).map(|n| format!("{}/{n}", receiver.url())).collect();
        subscribe_all(w, w.harbour, urls, Ordering::Strict).await;
        // The first node holds every slot until it learns of the second.
        for dispatcher in [first, &other.dispatcher, first, &other.dispatcher] {
            dispatcher.deliver().await.unwrap();
        }
        publish_events(w, w.harbour, 1).await;
        first.deliver().await.unwrap();
        let first_share = receiver.received().len();
        assert!((1..40).contains(&first_share), "{first_share}");
        publish_events(w, w.harbour, 10).await;
        let (first_result, second_result) =
            tokio::join!(first.deliver(), other.dispatcher.deliver());
        first_result.and(second_result).unwrap();
        let counts = count_by_path_and_sequence(&receiver);
        assert!(counts.len() == 40 * 11 && counts.values().all(|times| *times == 1));

        // The second node no longer reports. Its slots are not taken over before its lease expires.
        publish_events(w, w.harbour, 1).await;
        w.advance_clock(seconds(30));
        first.deliver().await.unwrap();
        assert_eq!(count_by_path_and_sequence(&receiver).len(), 40 * 11 + first_share);
        w.advance_clock(seconds(31));
        first.deliver().await.unwrap();
        let counts = count_by_path_and_sequence(&receiver);
        assert!(counts.len() == 40 * 12 && counts.values().all(|times| *times == 1));
        other.stop().await;
    });
}

/// The attempts of the first delivery of a webhook.
pub(crate) async fn attempts(w: &World, id: WebhookId) -> Attempts {
    deliveries(w, id).await.remove(0).attempts
}
