//! Stories about receivers that fail: when they are tried again, how they are spared, and when a webhook is
//! turned off and on.

use std::time::{Duration, Instant};

use kit::Timestamp;
use testkit::{MailServer, Receiver, Reply, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::expected::Expected;
use touchline::ids::WebhookId;
use touchline::webhooks::access::Manager;
use touchline::webhooks::asking::{self, Part};
use touchline::webhooks::delivery::{Delivery, Status};
use touchline::webhooks::edit::{self, WebhookChange};
use touchline::webhooks::webhook::{Ordering, Reason};

use crate::mail::node_with_mail;
use crate::webhooks::{
    Running, deliveries, enable, happen, happen_as, numbers, shown, subscribe, subscribe_all, team,
};
use crate::webhooks_api::hook;

const HOUR: u64 = 3_600;
/// How long it is waited before each new attempt.
const WAITS: [u64; 9] =
    [5, 300, 1_800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];

fn now(w: &World) -> Timestamp {
    w.clock.clock().now()
}

/// Seconds from now on.
fn ahead(w: &World, at: Option<Timestamp>) -> f64 {
    (at.unwrap().micros() - now(w).micros()) as f64 / 1e6
}

/// Lets time pass until then.
fn pass_until(w: &World, at: Timestamp) {
    let micros = at.micros() - now(w).micros();
    w.pass(Duration::from_micros(u64::try_from(micros).unwrap_or(0)));
}

/// When the last attempt had ended. The world's clock stands still meanwhile, but an attempt takes its time.
fn ended(delivery: &Delivery) -> Timestamp {
    let last = delivery.attempts.0.last().unwrap();
    last.at.plus(Duration::from_millis(last.duration_ms.unsigned_abs()))
}

/// For how many seconds a delivery waits after its last attempt.
fn pause(delivery: &Delivery) -> f64 {
    (delivery.next_attempt_at.unwrap().micros() - ended(delivery).micros()) as f64 / 1e6
}

async fn only(w: &World, id: WebhookId) -> Delivery {
    let mut found = deliveries(w, id).await;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// How many notifications of this kind are in the log.
async fn told(w: &World, kind: &str) -> usize {
    w.news().await.iter().filter(|news| news["type"] == kind).count()
}

both! {
    async fn a_receiver_gets_only_so_many_at_once(w: &World) {
        let (many, one) = (Receiver::start().await, Receiver::start().await);
        subscribe(w, many.url(), Ordering::Parallel).await;
        subscribe(w, one.url(), Ordering::Strict).await;
        many.always(Reply::from(200).after(Duration::from_millis(100)));
        one.always(Reply::from(200).after(Duration::from_millis(10)));
        // Whoever has not answered yet is tried with one.
        happen(w, w.harbour, 1).await;
        w.deliver().await;
        let held = (many.hold(), one.hold());
        happen(w, w.harbour, 39).await;
        tokio::join!(w.deliver(), async {
            tokio::join!(many.wait_for(9), one.wait_for(2));
            drop(held);
        });
        assert_eq!((many.most_at_once(), one.most_at_once()), (8, 1));
        assert_eq!(numbers(&one), (1..=40).collect::<Vec<_>>());
        let mut numbers = numbers(&many);
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    }

    async fn what_is_told_together_is_written_down_for_each(w: &World) {
        let (well, ill) = (Receiver::start().await, Receiver::start().await);
        let urls = (0..20).map(|n| if n == 7 { ill.url() } else { well.url() });
        let all = subscribe_all(w, w.harbour, urls.collect(), Ordering::Parallel).await;
        ill.next([500]);
        happen(w, w.harbour, 1).await;
        w.deliver().await;
        assert!(shown(w, all[7].0).await.failing_since.is_some());
        happen(w, w.harbour, 1).await;
        w.pass(seconds(10));
        w.deliver().await;
        for (id, _) in all {
            let webhook = shown(w, id).await;
            assert_eq!((webhook.position, webhook.failing_since, webhook.failures), (2, None, 0));
            assert!(deliveries(w, id).await.iter().all(|one| one.status == Status::Succeeded));
        }
        assert_eq!((well.received().len(), ill.received().len()), (38, 3));
    }

    async fn whoever_has_come_less_far_in_the_log_misses_nothing(w: &World) {
        let (picky, mut all) = (Receiver::start().await, Vec::new());
        hook(&w.owner, &picky, &["team.created"]).await.created();
        for _ in 0..12 {
            let receiver = Receiver::start().await;
            subscribe(w, receiver.url(), Ordering::Strict).await;
            let from = w.news().await.len();
            all.push((receiver, from));
            let body = |n: usize| if n.is_multiple_of(3) { "x".repeat(12_000) } else { "news".to_owned() };
            happen_as(w, w.harbour, (0..60).map(|n| json!(body(n))).collect()).await;
        }
        team(w, "Last").await;
        w.deliver().await;
        let last = i64::try_from(w.news().await.len()).unwrap();
        assert_eq!(numbers(&picky), [last]);
        for (receiver, from) in all {
            let from = i64::try_from(from).unwrap();
            assert_eq!(numbers(&receiver), (from + 1..=last).collect::<Vec<_>>());
        }
    }

    async fn a_delivery_is_tried_ten_times_in_three_days(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.always(503);
        happen(w, w.harbour, 1).await;
        for wait in WAITS {
            w.deliver().await;
            let delivery = only(w, id).await;
            assert_eq!(delivery.status, Status::Pending);
            let pause = pause(&delivery);
            let fair = wait as f64 * 0.8 - 0.001..=wait as f64 * 1.2 + 0.001;
            assert!(fair.contains(&pause), "{pause} for {wait}");
            pass_until(w, delivery.next_attempt_at.unwrap());
        }
        w.deliver().await;
        let delivery = only(w, id).await;
        assert_eq!((delivery.status, delivery.next_attempt_at), (Status::Failed, None));
        assert_eq!(delivery.attempts.0.len(), 10);
        w.pass(seconds(48 * HOUR));
        w.deliver().await;
        let received = receiver.received();
        assert_eq!(received.len(), 10);
        for (name, many) in [("webhook-id", 1), ("webhook-timestamp", 10), ("webhook-signature", 10)] {
            let mut values: Vec<_> = received.iter().map(|one| one.header(name)).collect();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), many, "{name}");
        }
        assert!(received.iter().all(|one| one.body == received[0].body));
    }

    async fn a_receiver_may_say_when_within_bounds(w: &World) {
        let date = |ahead: i64| {
            let at = std::time::UNIX_EPOCH + Duration::from_secs((now(w).seconds() + ahead).unsigned_abs());
            httpdate::fmt_http_date(at)
        };
        let day = 24.0 * HOUR as f64;
        for (status, wish, least, most) in [
            (429, "999999999".to_owned(), day, day),
            (429, "18446744073709551615".to_owned(), day, day),
            (429, "99999999999999999999999".to_owned(), day, day),
            (503, "120".to_owned(), 120.0, 120.0),
            (429, "0".to_owned(), 4.0, 6.0),
            (429, "-1".to_owned(), 4.0, 6.0),
            (429, "soon".to_owned(), 4.0, 6.0),
            (429, date(-3600), 4.0, 6.0),
            (503, date(600), 599.0, 600.0),
            (503, date(9_000_000), day, day),
            (500, "600".to_owned(), 4.0, 6.0),
        ] {
            let receiver = Receiver::start().await;
            let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
            receiver.next([Reply::from(status).with("retry-after", &wish)]);
            happen(w, w.harbour, 1).await;
            w.deliver().await;
            let delivery = only(w, id).await;
            let pause = pause(&delivery);
            assert!((least..=most).contains(&pause), "{wish}: {pause}");
            // All it gets is put off, but not for long.
            let resting = shown(w, id).await.resting_until;
            assert!(resting <= Some(ended(&delivery).plus(seconds(HOUR))), "{wish}");
            forget(w, id).await;
        }
    }

    async fn a_receiver_that_is_gone_for_good_is_told_no_more(w: &World) {
        let (gone, watcher) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, gone.url(), Ordering::Strict).await;
        subscribe(w, watcher.url(), Ordering::Strict).await;
        gone.always(410);
        happen(w, w.harbour, 3).await;
        w.deliver().await;
        w.pass(seconds(HOUR));
        w.deliver().await;
        assert_eq!(gone.received().len(), 1);
        // Had turning it off failed, it would be tried again, and be gone again.
        assert_eq!(only(w, id).await.status, Status::Pending);
        assert_eq!(shown(w, id).await.disabled_reason, Some(Reason::Gone));
        assert_eq!(told(w, "webhook.disabled").await, 1);
        let last = watcher.received().pop().unwrap().json();
        assert_eq!((&last["type"], &last["data"]["object"]["id"]), (&"webhook.disabled".into(), &id.to_string().into()));
        gone.always(200);
        enable(w, id, true).await;
        w.deliver().await;
        assert_eq!(numbers(&gone), [1, 1, 2, 3, 4]);
    }

    async fn five_days_of_nothing_but_failures_turn_a_webhook_off(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        w.user(Role::Owner, "olga@example.org").await;
        w.user(Role::Admin, "adam@example.org").await;
        w.user(Role::Member, "max@example.org").await;
        let node = node_with_mail(w, &server.url()).await;
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.always(500);
        let before = i64::try_from(w.news().await.len()).unwrap();
        let mut events = 0;
        for half_day in 0..12 {
            let on = shown(w, id).await.disabled_reason.is_none();
            assert_eq!(on, half_day <= 10, "after {half_day} half days");
            happen(w, w.harbour, 1).await;
            events += 1;
            node.dispatcher.deliver().await.unwrap();
            w.pass(seconds(12 * HOUR + 60));
        }
        let off = shown(w, id).await;
        assert_eq!(off.disabled_reason, Some(Reason::Failing));
        assert_eq!(told(w, "webhook.disabled").await, 1);
        // They lie in the outbox, so they are sent even if this node never gets to it.
        let waiting = w.owner.get(&format!("/outbox?about={id}")).await.ok();
        let waiting = waiting.data().as_array().unwrap();
        assert!(waiting.len() == 2 && waiting.iter().all(|one| one["status"] == "pending" && one["person_id"].is_null()), "{waiting:?}");
        crate::mail::post(&node).carry().await;
        let mut to: Vec<_> = server.letters(2).iter().map(|letter| {
            let text = letter["text"].as_str().unwrap_or_default().to_owned() + &letter.to_string();
            assert!(text.contains("/admin/webhooks/whk_") && !text.contains("/hook"), "{text}");
            letter["to"].to_string()
        }).collect();
        to.sort();
        assert!(to[0].contains("adam@") && to[1].contains("olga@"), "{to:?}");
        assert!(server.is_empty());

        // What was missed comes once, in order, when it is on again, be it somewhere else.
        let moved = Receiver::start().await;
        change(w, id, WebhookChange { url: Some(moved.url()), ..WebhookChange::default() }).await;
        enable(w, id, true).await;
        node.dispatcher.deliver().await.unwrap();
        assert_eq!(numbers(&moved), (before + 1..=before + events + 1).collect::<Vec<_>>());
        let found = deliveries(w, id).await;
        assert!(found.iter().all(|one| one.status == Status::Succeeded));
        assert_eq!((shown(w, id).await.failing_since, shown(w, id).await.replay_after), (None, None));
        node.stop().await;
    }

    async fn a_receiver_may_refuse_one_notification_for_good(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.next([Reply::from(400).with("webhook-delivery", "abort-message"), 200.into()]);
        happen(w, w.harbour, 2).await;
        w.deliver().await;
        w.pass(seconds(HOUR));
        w.deliver().await;
        assert_eq!(numbers(&receiver), [1, 2]);
        let found: Vec<_> = deliveries(w, id).await.iter().map(|one| one.status).collect();
        assert_eq!(found, [Status::Failed, Status::Succeeded]);
        assert_eq!(shown(w, id).await.disabled_reason, None);
    }

    async fn an_ill_receiver_is_tried_once_in_a_while(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.always(500);
        happen(w, w.harbour, 200).await;
        w.deliver().await;
        let first = receiver.received().len();
        assert!((5..=12).contains(&first), "{first}");
        // The rest waits in the log: it is not tried, so it is not used up.
        assert_eq!(deliveries(w, id).await.len(), first);
        for probe in 1..=6 {
            w.deliver().await;
            let rest = ahead(w, shown(w, id).await.resting_until);
            assert!((4.0..=400.0).contains(&rest), "{rest}");
            pass_until(w, shown(w, id).await.resting_until.unwrap());
            w.deliver().await;
            assert_eq!(receiver.received().len(), first + probe);
        }
        // What fails together does not come back together.
        let pending = deliveries(w, id).await;
        let mut pauses: Vec<_> = pending.iter().map(pause).collect();
        pauses.sort_by(f64::total_cmp);
        pauses.dedup();
        // There are four hundred for each wait; by chance a few may be the same.
        assert!(pauses.len() * 2 > pending.len(), "{pauses:?}");
    }

    async fn a_ping_waits_for_nothing_and_nothing_for_it(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.next([400]);
        test(w, id).await;
        w.deliver().await;
        happen(w, w.harbour, 2).await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 3, "news do not wait for a ping that failed");
        receiver.always(500);
        happen(w, w.harbour, 1).await;
        w.deliver().await;
        test(w, id).await;
        w.deliver().await;
        let last = receiver.received().pop().unwrap();
        assert_eq!(last.json()["type"], "ping", "a ping does not wait for news that failed");
    }

    async fn a_ping_finds_out_at_once_whether_an_ill_receiver_still_is(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.always(500);
        happen(w, w.harbour, 40).await;
        w.deliver().await;
        let before = receiver.received().len();
        assert!(shown(w, id).await.resting_until.unwrap() > now(w));
        test(w, id).await;
        w.deliver().await;
        let received = receiver.received();
        assert_eq!((received.len(), received[before].json()["type"].as_str()), (before + 1, Some("ping")));
        // The first rest was six seconds at most, this one is eight at least.
        let rest = ahead(w, shown(w, id).await.resting_until);
        assert!(rest >= 8.0, "it is left in peace again, and longer: {rest}");
    }

    async fn a_new_address_is_not_ill_because_the_old_one_was(w: &World) {
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, old.url(), Ordering::Parallel).await;
        old.always(500);
        happen(w, w.harbour, 20).await;
        w.deliver().await;
        assert!(shown(w, id).await.resting_until.is_some());
        let url = Some(new.url());
        change(w, id, WebhookChange { url, ..WebhookChange::default() }).await;
        assert_eq!(shown(w, id).await.failing_since, None);
        w.deliver().await;
        assert!(!new.received().is_empty());
    }

    async fn whoever_asks_for_more_is_told_of_it_from_then_on(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let only = Some(vec!["team.archived".to_owned()]);
        change(w, id, WebhookChange { events: only, ..WebhookChange::default() }).await;
        happen(w, w.harbour, 5).await;
        w.deliver().await;
        let all = Some(vec!["*".to_owned()]);
        change(w, id, WebhookChange { events: all, ..WebhookChange::default() }).await;
        // A dispatcher that begins anew knows only what was written down.
        w.deliver().await;
        assert_eq!(receiver.received().len(), 0);
        happen(w, w.harbour, 1).await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
    }

    async fn what_was_given_up_stays_so(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.next([Reply::from(400).with("webhook-delivery", "abort-message")]);
        happen(w, w.harbour, 1).await;
        w.deliver().await;
        disable(w, id).await;
        happen(w, w.harbour, 2).await;
        enable(w, id, true).await;
        w.deliver().await;
        let told = numbers(&receiver);
        let mut once = told.clone();
        once.dedup();
        assert_eq!(told, once, "what the receiver never wanted is not told again");
        assert_eq!(only_failed(w, id).await, 1);
    }

    async fn what_is_being_told_again_goes_on_when_it_is_turned_on(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        happen(w, w.harbour, 2).await;
        w.deliver().await;
        for replay_missed in [true, false] {
            let again = move |tx: &store::Tx<'_>| asking::replay(tx, &Manager::everywhere(), id, Part::Numbers(1, 2), false);
            w.db().write(store::Scope::account(w.harbour, "test"), again).await.unwrap();
            // Which is the third thing that happens.
            disable(w, id).await;
            enable(w, id, replay_missed).await;
            w.deliver().await;
            assert_eq!(numbers(&receiver), [1, 2, 1, 2, 3], "with what was missed: {replay_missed}");
        }
    }

    async fn after_an_outage_it_comes_slowly_at_first(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe_all(w, w.harbour, vec![receiver.url()], Ordering::Parallel).await[0].0;
        receiver.always(500);
        for _ in 0..10 {
            happen(w, w.harbour, 100).await;
            w.deliver().await;
            w.pass(seconds(HOUR / 10));
        }
        w.pass(seconds(HOUR));
        let failed = receiver.received().len();
        assert!(failed < 60, "{failed}");
        receiver.always(200);
        let began = Instant::now();
        let _running = Running::start(&w.node.dispatcher);
        // Ten a second at most, however busy this machine is; so many take a second and a half.
        let slow = receiver.wait_for(failed + 16).await.len() - failed;
        let fair = 1.0 + 10.5 * began.elapsed().as_secs_f64();
        assert!((slow as f64) < fair, "{slow} of {fair}");
        assert!(receiver.most_at_once() <= 8);
        w.pass(seconds(35));
        // The node has to say by the new time that it is alive. Then it is eighty a second.
        let before = receiver.wait_for(receiver.received().len() + 20).await.len();
        let began = Instant::now();
        receiver.wait_for(before + 300).await;
        // By ten a second it would take 28 seconds; a busy machine may take long for eighty.
        assert!(began.elapsed() < seconds(25), "no quicker than at first");
        w.pass(seconds(120));
        receiver.wait_for(failed + 1_000).await;
        let mut arrived = numbers(&receiver).split_off(failed);
        arrived.sort_unstable();
        arrived.dedup();
        assert_eq!(arrived.len(), 1_000);
        assert_eq!(shown(w, id).await.failing_since, None);
    }
}

/// Turns a webhook off.
async fn disable(w: &World, id: WebhookId) {
    let work = move |tx: &store::Tx<'_>| {
        asking::disable(tx, &Manager::everywhere(), id, &Expected::Anything)
    };
    w.db().write(store::Scope::account(w.harbour, "test"), work).await.unwrap();
}

async fn only_failed(w: &World, id: WebhookId) -> usize {
    deliveries(w, id).await.iter().filter(|one| one.status == Status::Failed).count()
}

/// Sends a ping.
async fn test(w: &World, id: WebhookId) {
    let test = move |tx: &store::Tx<'_>| asking::test(tx, &Manager::everywhere(), id);
    w.db().write(store::Scope::account(w.harbour, "test"), test).await.unwrap();
}

/// Changes a webhook.
async fn change(w: &World, id: WebhookId, change: WebhookChange) {
    let means = crate::webhooks::means(&w.node);
    let work = move |tx: &store::Tx<'_>| edit::change(tx, &means, id, &Expected::Anything, change);
    w.db().write(store::Scope::account(w.harbour, "test"), work).await.unwrap();
}

/// Takes a webhook out of the story.
async fn forget(w: &World, id: WebhookId) {
    let delete = move |tx: &store::Tx<'_>| {
        touchline::webhooks::edit::delete(tx, &Manager::everywhere(), id, &Expected::Anything)
    };
    w.db().write(store::Scope::account(w.harbour, "test"), delete).await.unwrap();
}
