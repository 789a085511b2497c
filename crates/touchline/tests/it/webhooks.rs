//! Stories about webhooks: what is delivered, in which order, and that nobody waits for anybody else.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use store::{Scope, bind, sql};
use testkit::{Engine, Node, Receiver, Reply, Value, World, both, json, seconds};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use touchline::accounts::rights::Reach;
use touchline::dispatch::Dispatcher;
use touchline::expected::Expected;
use touchline::ids::{AccountId, WebhookId};
use touchline::signals::{Subject, Tell};
use touchline::webhooks::access::Manager;
use touchline::webhooks::asking;
use touchline::webhooks::delivery::{Attempts, Delivery, Status};
use touchline::webhooks::edit::{self, Means, NewWebhook, WebhookChange};
use touchline::webhooks::signature::Secret;
use touchline::webhooks::webhook::{self, Ordering, Webhook};

/// What is needed to make webhooks in this world.
pub(crate) fn means(node: &Node) -> Means {
    Means::of(&node.app, None, Reach::Everywhere)
}

/// Webhooks of a club that are told everything, one for each address.
pub(crate) async fn subscribe_all(
    w: &World,
    club: AccountId,
    urls: Vec<String>,
    ordering: Ordering,
) -> Vec<(WebhookId, Secret)> {
    let means = means(&w.node);
    let create = move |tx: &store::Tx<'_>| {
        let made = urls.iter().map(|url| {
            let new = NewWebhook {
                url: url.clone(),
                events: vec!["*".to_owned()],
                description: None,
                team_ids: None,
                ordering: Some(ordering),
            };
            edit::create(tx, &means, new).map(|(webhook, secret)| (webhook.id, secret))
        });
        made.collect::<touchline::error::Result<_>>()
    };
    w.db().write(Scope::account(club, "test"), create).await.unwrap()
}

/// A webhook of Harbour that is told everything.
pub(crate) async fn subscribe(w: &World, url: String, ordering: Ordering) -> WebhookId {
    subscribe_all(w, w.harbour, vec![url], ordering).await[0].0
}

pub(crate) async fn team(w: &World, name: &str) {
    w.owner.post("/teams", json!({ "name": name })).await.created();
}

/// Something that happened.
#[derive(Serialize)]
pub(crate) struct Happening {
    pub id: String,
    pub what: Value,
}

impl Subject for Happening {
    fn subject(&self) -> String {
        self.id.clone()
    }
}

/// So much happens at a club, all at once.
pub(crate) async fn happen(w: &World, club: AccountId, count: usize) {
    happen_as(w, club, vec![json!("news"); count]).await;
}

/// This happens at a club, all at once.
pub(crate) async fn happen_as(w: &World, club: AccountId, what: Vec<Value>) {
    let happen = move |tx: &store::Tx<'_>| {
        let news = what.into_iter().map(|what| Happening { id: "team".to_owned(), what });
        let news: Vec<_> = news.collect();
        let news: Vec<_> = news.iter().map(|one| (None, one)).collect();
        tx.tell_all("team.updated", &news)
    };
    w.db().write(Scope::account(club, "test"), happen).await.unwrap();
}

pub(crate) async fn shown(w: &World, id: WebhookId) -> Webhook {
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| webhook::find(db, id)).await.unwrap()
}

/// The deliveries of a webhook of Harbour, in the order of the log.
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
    let means = means(&w.node);
    let enable = move |tx: &store::Tx<'_>| {
        asking::enable(tx, &means, id, &Expected::Anything, replay_missed)
    };
    w.db().write(Scope::account(w.harbour, "test"), enable).await.unwrap();
}

async fn disable(w: &World, id: WebhookId) {
    let disable = move |tx: &store::Tx<'_>| {
        asking::disable(tx, &Manager::everywhere(), id, &Expected::Anything)
    };
    w.db().write(Scope::account(w.harbour, "test"), disable).await.unwrap();
}

/// The numbers a receiver was sent, in the order in which they came.
pub(crate) fn numbers(receiver: &Receiver) -> Vec<i64> {
    receiver.received().iter().map(testkit::receiver::Received::sequence).collect()
}

/// Delivers beside a story, until it is dropped.
pub(crate) struct Running(
    JoinHandle<()>,
    #[expect(dead_code, reason = "dropped, it says stop")] watch::Sender<bool>,
);

impl Running {
    pub(crate) fn start(dispatcher: &Dispatcher) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self(tokio::task::spawn(dispatcher.clone().run(stopped)), stop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

both! {
    async fn what_happens_is_delivered_once_and_in_order(w: &World) {
        team(w, "Before").await;
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Strict).await;
        for n in 0..5 {
            team(w, &format!("Team {n}")).await;
        }
        w.deliver().await;
        w.deliver().await;
        assert_eq!(numbers(&receiver), [2, 3, 4, 5, 6]);
        let first = &receiver.received()[0];
        assert_eq!(first.header("webhook-id"), first.json()["id"]);
        assert_eq!(first.json(), w.news().await[1]);
        assert!(first.header("webhook-signature").starts_with("v1,"));
    }

    async fn what_fails_is_tried_again(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.next([500, 302, 200]);
        team(w, "Hawks").await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        w.pass(seconds(3));
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
        w.pass(seconds(30));
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

    async fn in_strict_order_everything_waits_for_the_one_that_fails(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.next([200; 4]);
        receiver.always(500);
        happen(w, w.harbour, 8).await;
        // Each longer than the longest wait, and than an attempt takes on a busy machine.
        for pause in [0, 30, 400, 2_400] {
            w.pass(seconds(pause));
            w.deliver().await;
            happen(w, w.harbour, 1).await;
        }
        assert_eq!(numbers(&receiver), [1, 2, 3, 4, 5, 5, 5, 5]);
        receiver.always(200);
        w.pass(seconds(9_000));
        w.deliver().await;
        assert_eq!(numbers(&receiver)[8..], [5, 6, 7, 8, 9, 10, 11, 12]);
        assert!(deliveries(w, id).await.iter().all(|one| one.status == Status::Succeeded));
    }

    async fn in_parallel_nothing_waits_for_the_one_that_fails(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.next([500]);
        happen(w, w.harbour, 6).await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 6);
        let failed = numbers(&receiver)[0];
        w.pass(seconds(30));
        w.deliver().await;
        assert_eq!(numbers(&receiver)[6..], [failed]);
    }

    async fn a_webhook_is_told_eight_things_at_once(w: &World) {
        let receiver = Receiver::start().await;
        receiver.always(Reply::from(200).after(Duration::from_millis(100)));
        subscribe(w, receiver.url(), Ordering::Parallel).await;
        // The first is told alone, and everything after that together.
        let held = receiver.hold();
        happen(w, w.harbour, 40).await;
        tokio::join!(w.deliver(), async {
            receiver.wait_for(1).await;
            let more = receiver.hold();
            drop(held);
            receiver.wait_for(9).await;
            drop(more);
        });
        assert_eq!((receiver.received().len(), receiver.most_at_once()), (40, 8));
    }

    async fn five_hundred_webhooks_are_told_of_one_event(w: &World) {
        let receiver = Receiver::start().await;
        let urls = (0..500).map(|n| format!("{}/{n}", receiver.url())).collect();
        subscribe_all(w, w.harbour, urls, Ordering::Parallel).await;
        happen(w, w.harbour, 1).await;
        w.deliver().await;
        let mut paths: Vec<_> = receiver.received().into_iter().map(|one| one.path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!((paths.len(), receiver.received().len()), (500, 500));
        let counted = |db: &store::Reader<'_>| -> store::Result<(i64, i64)> {
            db.one(
                "select count(*), (select cast(sum(succeeded) as bigint) from webhook_hour where account_id = :account)
                 from delivery where account_id = :account and status = 'succeeded'",
                bind! {},
            )
        };
        let counted = w.db().read(Scope::account(w.harbour, "test"), counted).await.unwrap();
        assert_eq!(counted, (500, 500));
    }

    async fn a_webhook_made_just_before_the_news_is_told_soon(w: &World) {
        let first = Receiver::start().await;
        subscribe(w, first.url(), Ordering::Parallel).await;
        let _running = Running::start(&w.node.dispatcher);
        happen(w, w.harbour, 1).await;
        first.wait_for(1).await;
        let (mut receivers, mut soonest) = (vec![first], Duration::MAX);
        for _ in 0..5 {
            let next = Receiver::start().await;
            subscribe(w, next.url(), Ordering::Parallel).await;
            let began = Instant::now();
            happen(w, w.harbour, 1).await;
            next.wait_for(1).await;
            soonest = soonest.min(began.elapsed());
            receivers.push(next);
        }
        // Looking around takes five seconds from one found to the next; a busy machine is not busy all the time.
        assert!(soonest < seconds(3), "they were found only by looking around: {soonest:?}");
    }

    async fn a_webhook_that_is_deleted_or_turned_off_under_way_is_told_no_more(w: &World) {
        let (gone, off) = (Receiver::start().await, Receiver::start().await);
        let to_go = subscribe(w, gone.url(), Ordering::Strict).await;
        let to_turn_off = subscribe(w, off.url(), Ordering::Strict).await;
        for receiver in [&gone, &off] {
            receiver.always(500);
        }
        let held = (gone.hold(), off.hold());
        happen(w, w.harbour, 3).await;
        let (delivered, ()) = tokio::join!(w.node.dispatcher.deliver(), async {
            tokio::join!(gone.wait_for(1), off.wait_for(1));
            let delete = move |tx: &store::Tx<'_>| edit::delete(tx, &Manager::everywhere(), to_go, &Expected::Anything);
            w.db().write(Scope::account(w.harbour, "test"), delete).await.unwrap();
            disable(w, to_turn_off).await;
            drop(held);
        });
        delivered.unwrap();
        w.pass(seconds(60));
        w.deliver().await;
        assert_eq!((gone.received().len(), off.received().len()), (1, 1));
        // What was under way is written down, and everything comes once it is on again.
        let kept = deliveries(w, to_turn_off).await;
        assert_eq!((kept.len(), kept[0].status), (1, Status::Pending));
        off.always(200);
        enable(w, to_turn_off, true).await;
        w.deliver().await;
        assert_eq!(numbers(&off), [1, 1, 2, 3, 4]);
    }

    async fn a_webhook_never_goes_back_behind_where_it_was_put(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        // Longer than what was looked up ahead is of use.
        receiver.always(Reply::from(200).after(Duration::from_millis(60)));
        let held = receiver.hold();
        happen(w, w.harbour, 70).await;
        let (delivered, ()) = tokio::join!(w.node.dispatcher.deliver(), async {
            receiver.wait_for(1).await;
            disable(w, id).await;
            enable(w, id, false).await;
            drop(held);
        });
        delivered.unwrap();
        w.deliver().await;
        // The numbers that were looked at together were under way; the rest was not to be told.
        let most = numbers(&receiver).into_iter().max();
        assert!(most <= Some(64), "{most:?}");
        happen(w, w.harbour, 1).await;
        w.deliver().await;
        assert_eq!(numbers(&receiver).into_iter().max(), Some(72));
    }

    async fn what_is_tried_again_goes_to_the_new_address(w: &World) {
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, old.url(), Ordering::Parallel).await;
        old.always(500);
        happen(w, w.harbour, 2).await;
        w.deliver().await;
        let (means, url) = (means(&w.node), Some(new.url()));
        let change = move |tx: &store::Tx<'_>| {
            let change = WebhookChange { url, ..WebhookChange::default() };
            edit::change(tx, &means, id, &Expected::Anything, change)
        };
        w.db().write(Scope::account(w.harbour, "test"), change).await.unwrap();
        w.pass(seconds(30));
        w.deliver().await;
        assert_eq!(old.received().len(), 2);
        let mut arrived = numbers(&new);
        arrived.sort_unstable();
        assert_eq!(arrived, [1, 2]);
    }

    async fn what_was_undone_is_told_nobody(w: &World) {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Strict).await;
        team(w, "Hawks").await;
        w.owner.post("/teams", json!({ "name": "hawks" })).await.refused(409, "taken");
        let keyed = w.owner.with("Idempotency-Key", "otters");
        keyed.post("/teams", json!({ "name": "Otters" })).await.created();
        keyed.post("/teams", json!({ "name": "Otters" })).await.created();
        keyed.post("/teams", json!({ "name": "Herons" })).await.refused(422, "idempotency_key_reused");
        let undone = |tx: &store::Tx<'_>| {
            let what = Happening { id: "team".to_owned(), what: json!("undone") };
            tx.tell("team.updated", &what)?;
            Err::<(), _>(touchline::error::Error::not_found())
        };
        w.db().write(Scope::account(w.harbour, "test"), undone).await.unwrap_err();
        w.deliver().await;
        let told: Vec<_> = receiver.received().iter().map(|one| one.json()["data"]["object"]["name"].clone()).collect();
        assert_eq!(told, ["Hawks", "Otters"]);
        assert_eq!(numbers(&receiver), [1, 2]);
    }

    async fn the_bytes_that_are_sent_are_those_that_are_kept(w: &World) {
        let receiver = Receiver::start().await;
        let (_, secret) = subscribe_all(w, w.harbour, vec![receiver.url()], Ordering::Strict).await.remove(0);
        let long = "Zoë 🏉 ".repeat(2_000);
        let what = vec![json!("🏉\u{2028}\u{1b}\u{7f}\"\\/"), json!({ "n": 1e21, "m": -0.0, "k": 1.5e-9 }), json!(long)];
        happen_as(w, w.harbour, what).await;
        w.deliver().await;
        let read = |db: &store::Reader<'_>| touchline::signals::notifications(db, 0, 10);
        let kept = w.db().read(Scope::account(w.harbour, "test"), read).await.unwrap();
        let received = receiver.received();
        assert_eq!((received.len(), kept.len()), (3, 3));
        let at = w.clock.clock().now();
        for (received, kept) in received.iter().zip(&kept) {
            assert_eq!(received.body, kept.body.as_bytes());
            let signature = secret.sign(&kept.id.to_string(), at, &received.body);
            assert_eq!(received.header("webhook-signature"), signature);
        }
        assert!(received[2].body.len() > 20_000);
        assert!(std::str::from_utf8(&received[0].body).unwrap().contains("\\u001b"));
    }

    async fn a_node_begins_nothing_that_another_may_have_taken_over(w: &World) {
        let node = w.node(|config| config.webhook_deliveries = 1.try_into().unwrap()).await;
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let held = receiver.hold();
        happen(w, w.harbour, 8).await;
        // While the first is under way and the others wait for its place, the node's time runs out.
        let (delivered, ()) = tokio::join!(node.dispatcher.deliver(), async {
            receiver.wait_for(1).await;
            w.pass(seconds(50));
            drop(held);
        });
        delivered.unwrap();
        assert_eq!(numbers(&receiver), [1]);
        assert_eq!(shown(w, id).await.position, 1);
        node.dispatcher.deliver().await.unwrap();
        let mut arrived = numbers(&receiver);
        arrived.sort_unstable();
        assert_eq!(arrived, (1..=8).collect::<Vec<_>>());
        node.stop().await;
    }

    async fn a_node_that_stops_ends_what_is_under_way_and_hands_the_rest_on(w: &World) {
        let node = w.node(|_| ()).await;
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        let held = receiver.hold();
        happen(w, w.harbour, 3).await;
        let (stop, stopped) = watch::channel(false);
        let running = tokio::task::spawn(node.dispatcher.clone().run(stopped));
        receiver.wait_for(1).await;
        node.app.stop();
        stop.send(true).unwrap();
        drop(held);
        running.await.unwrap();
        assert_eq!((numbers(&receiver), shown(w, id).await.position), (vec![1], 1));
        // Nobody has to wait until the time of the one that stopped is up.
        w.deliver().await;
        assert_eq!(numbers(&receiver), [1, 2, 3]);
        node.stop().await;
    }

    async fn a_webhook_whose_secret_cannot_be_opened_is_sent_nothing_and_loses_nothing(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        happen(w, w.harbour, 1).await;
        let spoil = move |tx: &store::Tx<'_>| {
            let text = "update webhook set secret = :secret where account_id = :account and id = :id";
            tx.run(text, bind! { id, secret: vec![0_u8; 60] })
        };
        w.db().write(Scope::account(w.harbour, "test"), spoil).await.unwrap();
        assert!(w.node.dispatcher.deliver().await.is_err());
        assert!(receiver.received().is_empty());
        assert_eq!(shown(w, id).await.position, 0);
    }
}

/// How often each webhook, by its path, was told each number.
fn tally(receiver: &Receiver) -> BTreeMap<(String, i64), usize> {
    let mut tally = BTreeMap::new();
    for one in receiver.received() {
        *tally.entry((one.path.clone(), one.sequence())).or_default() += 1;
    }
    tally
}

#[test]
fn two_nodes_share_the_work_and_one_takes_over_when_the_other_dies() {
    testkit::world::run(Engine::Postgres, async |w| {
        let (one, other) = (&w.node.dispatcher, w.node(|_| ()).await);
        let receiver = Receiver::start().await;
        let urls = (0..40).map(|n| format!("{}/{n}", receiver.url())).collect();
        subscribe_all(w, w.harbour, urls, Ordering::Strict).await;
        // The first holds everything until it hears of the second.
        for dispatcher in [one, &other.dispatcher, one, &other.dispatcher] {
            dispatcher.deliver().await.unwrap();
        }
        happen(w, w.harbour, 1).await;
        one.deliver().await.unwrap();
        let own = receiver.received().len();
        assert!((1..40).contains(&own), "{own}");
        happen(w, w.harbour, 10).await;
        let (here, there) = tokio::join!(one.deliver(), other.dispatcher.deliver());
        here.and(there).unwrap();
        let told = tally(&receiver);
        assert!(told.len() == 40 * 11 && told.values().all(|times| *times == 1));

        // The second is heard of no more. What it held is not touched before its time is up.
        happen(w, w.harbour, 1).await;
        w.pass(seconds(30));
        one.deliver().await.unwrap();
        assert_eq!(tally(&receiver).len(), 40 * 11 + own);
        w.pass(seconds(31));
        one.deliver().await.unwrap();
        let told = tally(&receiver);
        assert!(told.len() == 40 * 12 && told.values().all(|times| *times == 1));
        other.stop().await;
    });
}

/// The attempts of the first delivery of a webhook.
pub(crate) async fn attempts(w: &World, id: WebhookId) -> Attempts {
    deliveries(w, id).await.remove(0).attempts
}
