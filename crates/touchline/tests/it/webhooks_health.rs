//! Tests of failing receivers: retries, pauses, and disabling and enabling webhooks.

use std::time::{Duration, Instant};

use kit::Timestamp;
use testkit::{MailServer, Receiver, Reply, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::ids::WebhookId;
use touchline::if_match::IfMatch;
use touchline::webhooks::access::Manager;
use touchline::webhooks::actions::{self, ReplayRange};
use touchline::webhooks::delivery::{Delivery, Status};
use touchline::webhooks::edit::{self, WebhookChange};
use touchline::webhooks::webhook::{Ordering, Reason};

use crate::mail::node_with_mail;
use crate::webhooks::{
    RunningDispatcher, deliveries, enable, get_webhook, publish_events, publish_objects, sequences,
    subscribe, subscribe_all, team,
};
use crate::webhooks_api::create_webhook;

const HOUR: u64 = 3_600;
/// Seconds before each retry.
const WAITS: [u64; 9] =
    [5, 300, 1_800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];

fn now(w: &World) -> Timestamp {
    w.clock.clock().now()
}

/// Seconds from now until then.
fn seconds_until(w: &World, at: Option<Timestamp>) -> f64 {
    (at.unwrap().micros() - now(w).micros()) as f64 / 1e6
}

/// Advances the clock until then.
fn pass_until(w: &World, at: Timestamp) {
    let micros = at.micros() - now(w).micros();
    w.advance_clock(Duration::from_micros(u64::try_from(micros).unwrap_or(0)));
}

/// When the last attempt ended. The test clock stands still, but an attempt takes real time.
fn last_attempt_end(delivery: &Delivery) -> Timestamp {
    let last = delivery.attempts.0.last().unwrap();
    last.at.plus(Duration::from_millis(last.duration_ms.unsigned_abs()))
}

/// Seconds between a delivery's last attempt and the next.
fn retry_delay(delivery: &Delivery) -> f64 {
    (delivery.next_attempt_at.unwrap().micros() - last_attempt_end(delivery).micros()) as f64 / 1e6
}

async fn only_delivery(w: &World, id: WebhookId) -> Delivery {
    let mut stored = deliveries(w, id).await;
    assert_eq!(stored.len(), 1);
    stored.remove(0)
}

/// The number of notifications of this type in the log.
async fn event_count(w: &World, kind: &str) -> usize {
    w.notifications().await.iter().filter(|row| row["type"] == kind).count()
}

both! {
    async fn limits_concurrent_deliveries_per_receiver(w: &World) {
        let (parallel, strict) = (Receiver::start().await, Receiver::start().await);
        subscribe(w, parallel.url(), Ordering::Parallel).await;
        subscribe(w, strict.url(), Ordering::Strict).await;
        parallel.set_reply(Reply::from(200).after(Duration::from_millis(100)));
        strict.set_reply(Reply::from(200).after(Duration::from_millis(10)));
        // A receiver that has not answered yet gets one delivery at a time.
        publish_events(w, w.harbour, 1).await;
        w.deliver().await;
        let holds = (parallel.hold_replies(), strict.hold_replies());
        publish_events(w, w.harbour, 39).await;
        tokio::join!(w.deliver(), async {
            tokio::join!(parallel.wait_for(9), strict.wait_for(2));
            drop(holds);
        });
        assert_eq!((parallel.max_in_flight(), strict.max_in_flight()), (8, 1));
        assert_eq!(sequences(&strict), (1..=40).collect::<Vec<_>>());
        let mut numbers = sequences(&parallel);
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    }

    async fn records_batched_deliveries_per_webhook(w: &World) {
        let (healthy, failing) = (Receiver::start().await, Receiver::start().await);
        let urls = (0..20).map(|n| if n == 7 { failing.url() } else { healthy.url() });
        let all = subscribe_all(w, w.harbour, urls.collect(), Ordering::Parallel).await;
        failing.queue_replies([500]);
        publish_events(w, w.harbour, 1).await;
        w.deliver().await;
        assert!(get_webhook(w, all[7].0).await.failing_since.is_some());
        publish_events(w, w.harbour, 1).await;
        w.advance_clock(seconds(10));
        w.deliver().await;
        for (id, _) in all {
            let webhook = get_webhook(w, id).await;
            assert_eq!((webhook.position, webhook.failing_since, webhook.failures), (2, None, 0));
            assert!(deliveries(w, id).await.iter().all(|delivery| delivery.status == Status::Succeeded));
        }
        assert_eq!((healthy.received().len(), failing.received().len()), (38, 3));
    }

    async fn webhooks_at_different_positions_miss_nothing(w: &World) {
        let (filtered, mut all) = (Receiver::start().await, Vec::new());
        create_webhook(&w.owner, &filtered, &["team.created"]).await.created();
        for _ in 0..12 {
            let receiver = Receiver::start().await;
            subscribe(w, receiver.url(), Ordering::Strict).await;
            let from = w.notifications().await.len();
            all.push((receiver, from));
            let body = |n: usize| if n.is_multiple_of(3) { "x".repeat(12_000) } else { "news".to_owned() };
            publish_objects(w, w.harbour, (0..60).map(|n| json!(body(n))).collect()).await;
        }
        team(w, "Last").await;
        w.deliver().await;
        let last = i64::try_from(w.notifications().await.len()).unwrap();
        assert_eq!(sequences(&filtered), [last]);
        for (receiver, from) in all {
            let from = i64::try_from(from).unwrap();
            assert_eq!(sequences(&receiver), (from + 1..=last).collect::<Vec<_>>());
        }
    }

    async fn tries_ten_times_in_three_days(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.set_reply(503);
        publish_events(w, w.harbour, 1).await;
        for wait in WAITS {
            w.deliver().await;
            let delivery = only_delivery(w, id).await;
            assert_eq!(delivery.status, Status::Pending);
            let delay = retry_delay(&delivery);
            let expected = wait as f64 * 0.8 - 0.001..=wait as f64 * 1.2 + 0.001;
            assert!(expected.contains(&delay), "{delay} for {wait}");
            pass_until(w, delivery.next_attempt_at.unwrap());
        }
        w.deliver().await;
        let delivery = only_delivery(w, id).await;
        assert_eq!((delivery.status, delivery.next_attempt_at), (Status::Failed, None));
        assert_eq!(delivery.attempts.0.len(), 10);
        w.advance_clock(seconds(48 * HOUR));
        w.deliver().await;
        let received = receiver.received();
        assert_eq!(received.len(), 10);
        for (name, distinct) in [("webhook-id", 1), ("webhook-timestamp", 10), ("webhook-signature", 10)] {
            let mut values: Vec<_> = received.iter().map(|delivery| delivery.header(name)).collect();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), distinct, "{name}");
        }
        assert!(received.iter().all(|delivery| delivery.body == received[0].body));
    }

    async fn respects_retry_after_within_limits(w: &World) {
        let date = |ahead: i64| {
            let at = std::time::UNIX_EPOCH + Duration::from_secs((now(w).seconds() + ahead).unsigned_abs());
            httpdate::fmt_http_date(at)
        };
        let day = 24.0 * HOUR as f64;
        for (status, retry_after, min, max) in [
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
            receiver.queue_replies([Reply::from(status).with_header("retry-after", &retry_after)]);
            publish_events(w, w.harbour, 1).await;
            w.deliver().await;
            let delivery = only_delivery(w, id).await;
            let delay = retry_delay(&delivery);
            assert!((min..=max).contains(&delay), "{retry_after}: {delay}");
            // The webhook is paused, but not for long.
            let paused = get_webhook(w, id).await.paused_until;
            assert!(paused <= Some(last_attempt_end(&delivery).plus(seconds(HOUR))), "{retry_after}");
            delete_webhook(w, id).await;
        }
    }

    async fn status_410_disables_the_webhook(w: &World) {
        let (gone, observer) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, gone.url(), Ordering::Strict).await;
        subscribe(w, observer.url(), Ordering::Strict).await;
        gone.set_reply(410);
        publish_events(w, w.harbour, 3).await;
        w.deliver().await;
        w.advance_clock(seconds(HOUR));
        w.deliver().await;
        assert_eq!(gone.received().len(), 1);
        // If disabling had failed, the delivery would be retried and disable it then.
        assert_eq!(only_delivery(w, id).await.status, Status::Pending);
        assert_eq!(get_webhook(w, id).await.disabled_reason, Some(Reason::Gone));
        assert_eq!(event_count(w, "webhook.disabled").await, 1);
        let last = observer.received().pop().unwrap().json();
        assert_eq!((&last["type"], &last["data"]["object"]["id"]), (&"webhook.disabled".into(), &id.to_string().into()));
        gone.set_reply(200);
        enable(w, id, true).await;
        w.deliver().await;
        assert_eq!(sequences(&gone), [1, 1, 2, 3, 4]);
    }

    async fn five_days_of_failures_disable_the_webhook(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        w.user(Role::Owner, "olga@example.org").await;
        w.user(Role::Admin, "adam@example.org").await;
        w.user(Role::Member, "max@example.org").await;
        let node = node_with_mail(w, &server.url()).await;
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.set_reply(500);
        let before = i64::try_from(w.notifications().await.len()).unwrap();
        let mut events = 0;
        for half_day in 0..12 {
            let is_enabled = get_webhook(w, id).await.disabled_reason.is_none();
            assert_eq!(is_enabled, half_day <= 10, "after {half_day} half days");
            publish_events(w, w.harbour, 1).await;
            events += 1;
            node.dispatcher.deliver().await.unwrap();
            w.advance_clock(seconds(12 * HOUR + 60));
        }
        let disabled = get_webhook(w, id).await;
        assert_eq!(disabled.disabled_reason, Some(Reason::Failing));
        assert_eq!(event_count(w, "webhook.disabled").await, 1);
        // The emails are in the outbox, so they are sent even if this node stops.
        let queued = w.owner.get(&format!("/emails?related_id={id}")).await.ok();
        let queued = queued.data().as_array().unwrap();
        assert!(queued.len() == 2 && queued.iter().all(|queued_email| queued_email["status"] == "pending" && queued_email["person_id"].is_null()), "{queued:?}");
        crate::mail::mailer(&node).send_due().await;
        let mut to: Vec<_> = server.emails(2).iter().map(|email| {
            let text = email["text"].as_str().unwrap_or_default().to_owned() + &email.to_string();
            assert!(text.contains("/admin/webhooks/whk_") && !text.contains("/hook"), "{text}");
            email["to"].to_string()
        }).collect();
        to.sort();
        assert!(to[0].contains("adam@") && to[1].contains("olga@"), "{to:?}");
        assert!(server.is_empty());

        // Missed events are delivered once, in order, after it is enabled, even to another URL.
        let new_receiver = Receiver::start().await;
        change(w, id, WebhookChange { url: Some(new_receiver.url()), ..WebhookChange::default() }).await;
        enable(w, id, true).await;
        node.dispatcher.deliver().await.unwrap();
        assert_eq!(sequences(&new_receiver), (before + 1..=before + events + 1).collect::<Vec<_>>());
        let stored = deliveries(w, id).await;
        assert!(stored.iter().all(|queued_email| queued_email.status == Status::Succeeded));
        assert_eq!((get_webhook(w, id).await.failing_since, get_webhook(w, id).await.replay_after), (None, None));
        node.stop().await;
    }

    async fn receiver_can_refuse_one_notification(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.queue_replies([Reply::from(400).with_header("webhook-delivery", "abort-message"), 200.into()]);
        publish_events(w, w.harbour, 2).await;
        w.deliver().await;
        w.advance_clock(seconds(HOUR));
        w.deliver().await;
        assert_eq!(sequences(&receiver), [1, 2]);
        let stored: Vec<_> = deliveries(w, id).await.iter().map(|delivery| delivery.status).collect();
        assert_eq!(stored, [Status::Failed, Status::Succeeded]);
        assert_eq!(get_webhook(w, id).await.disabled_reason, None);
    }

    async fn unhealthy_receiver_is_probed_occasionally(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.set_reply(500);
        publish_events(w, w.harbour, 200).await;
        w.deliver().await;
        let tried = receiver.received().len();
        assert!((5..=12).contains(&tried), "{tried}");
        // The rest waits in the log, without using up attempts.
        assert_eq!(deliveries(w, id).await.len(), tried);
        for probe in 1..=6 {
            w.deliver().await;
            let pause = seconds_until(w, get_webhook(w, id).await.paused_until);
            assert!((4.0..=400.0).contains(&pause), "{pause}");
            pass_until(w, get_webhook(w, id).await.paused_until.unwrap());
            w.deliver().await;
            assert_eq!(receiver.received().len(), tried + probe);
        }
        // Deliveries that fail together are not retried together.
        let pending = deliveries(w, id).await;
        let mut pauses: Vec<_> = pending.iter().map(retry_delay).collect();
        pauses.sort_by(f64::total_cmp);
        pauses.dedup();
        // There are 400 possible delays; a few may coincide by chance.
        assert!(pauses.len() * 2 > pending.len(), "{pauses:?}");
    }

    async fn pings_and_events_do_not_wait_for_each_other(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.queue_replies([400]);
        send_ping(w, id).await;
        w.deliver().await;
        publish_events(w, w.harbour, 2).await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 3, "events do not wait for a failed ping");
        receiver.set_reply(500);
        publish_events(w, w.harbour, 1).await;
        w.deliver().await;
        send_ping(w, id).await;
        w.deliver().await;
        let last = receiver.received().pop().unwrap();
        assert_eq!(last.json()["type"], "ping", "a ping does not wait for a failed event");
    }

    async fn ping_probes_an_unhealthy_receiver_immediately(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.set_reply(500);
        publish_events(w, w.harbour, 40).await;
        w.deliver().await;
        let before = receiver.received().len();
        assert!(get_webhook(w, id).await.paused_until.unwrap() > now(w));
        send_ping(w, id).await;
        w.deliver().await;
        let received = receiver.received();
        assert_eq!((received.len(), received[before].json()["type"].as_str()), (before + 1, Some("ping")));
        // The first pause was at most six seconds, this one at least eight.
        let pause = seconds_until(w, get_webhook(w, id).await.paused_until);
        assert!(pause >= 8.0, "the next pause is longer: {pause}");
    }

    async fn new_url_resets_the_health(w: &World) {
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, old.url(), Ordering::Parallel).await;
        old.set_reply(500);
        publish_events(w, w.harbour, 20).await;
        w.deliver().await;
        assert!(get_webhook(w, id).await.paused_until.is_some());
        let url = Some(new.url());
        change(w, id, WebhookChange { url, ..WebhookChange::default() }).await;
        assert_eq!(get_webhook(w, id).await.failing_since, None);
        w.deliver().await;
        assert!(!new.received().is_empty());
    }

    async fn wider_subscription_covers_only_later_events(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let archived_only = Some(vec!["team.archived".to_owned()]);
        change(w, id, WebhookChange { events: archived_only, ..WebhookChange::default() }).await;
        publish_events(w, w.harbour, 5).await;
        w.deliver().await;
        let all = Some(vec!["*".to_owned()]);
        change(w, id, WebhookChange { events: all, ..WebhookChange::default() }).await;
        // A new dispatcher knows only what is stored.
        w.deliver().await;
        assert_eq!(receiver.received().len(), 0);
        publish_events(w, w.harbour, 1).await;
        w.deliver().await;
        assert_eq!(receiver.received().len(), 1);
    }

    async fn refused_notifications_are_not_replayed(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receiver.queue_replies([Reply::from(400).with_header("webhook-delivery", "abort-message")]);
        publish_events(w, w.harbour, 1).await;
        w.deliver().await;
        disable(w, id).await;
        publish_events(w, w.harbour, 2).await;
        enable(w, id, true).await;
        w.deliver().await;
        let received = sequences(&receiver);
        let mut deduplicated = received.clone();
        deduplicated.dedup();
        assert_eq!(received, deduplicated, "an event that the receiver refused is not sent again");
        assert_eq!(failed_count(w, id).await, 1);
    }

    async fn replay_continues_after_enabling(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        publish_events(w, w.harbour, 2).await;
        w.deliver().await;
        for replay_missed in [true, false] {
            let replay = move |tx: &store::Tx<'_>| actions::replay(tx, &Manager::unrestricted(), id, ReplayRange::Sequences(1, 2), false);
            w.db().write(store::Scope::account(w.harbour, "test"), replay).await.unwrap();
            // Disabling is the third event.
            disable(w, id).await;
            enable(w, id, replay_missed).await;
            w.deliver().await;
            assert_eq!(sequences(&receiver), [1, 2, 1, 2, 3], "replay_missed: {replay_missed}");
        }
    }

    async fn ramps_up_slowly_after_an_outage(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe_all(w, w.harbour, vec![receiver.url()], Ordering::Parallel).await[0].0;
        receiver.set_reply(500);
        for _ in 0..10 {
            publish_events(w, w.harbour, 100).await;
            w.deliver().await;
            w.advance_clock(seconds(HOUR / 10));
        }
        w.advance_clock(seconds(HOUR));
        let failed = receiver.received().len();
        assert!(failed < 60, "{failed}");
        receiver.set_reply(200);
        let began = Instant::now();
        let _running = RunningDispatcher::start(&w.node.dispatcher);
        // At most ten per second, however busy this machine is; this many take 1.5 seconds.
        let arrived_early = receiver.wait_for(failed + 16).await.len() - failed;
        let limit = 1.0 + 10.5 * began.elapsed().as_secs_f64();
        assert!((arrived_early as f64) < limit, "{arrived_early} of {limit}");
        assert!(receiver.max_in_flight() <= 8);
        w.advance_clock(seconds(35));
        // The node must report at the new time first. Then the rate is 80 per second.
        let before = receiver.wait_for(receiver.received().len() + 20).await.len();
        let began = Instant::now();
        receiver.wait_for(before + 300).await;
        // At ten per second it would take 28 seconds; a busy machine may be slow at 80.
        assert!(began.elapsed() < seconds(25), "the rate did not increase");
        w.advance_clock(seconds(120));
        receiver.wait_for(failed + 1_000).await;
        let mut arrived = sequences(&receiver).split_off(failed);
        arrived.sort_unstable();
        arrived.dedup();
        assert_eq!(arrived.len(), 1_000);
        assert_eq!(get_webhook(w, id).await.failing_since, None);
    }
}

/// Disables a webhook.
async fn disable(w: &World, id: WebhookId) {
    let work = move |tx: &store::Tx<'_>| {
        actions::disable(tx, &Manager::unrestricted(), id, &IfMatch::Absent)
    };
    w.db().write(store::Scope::account(w.harbour, "test"), work).await.unwrap();
}

async fn failed_count(w: &World, id: WebhookId) -> usize {
    deliveries(w, id).await.iter().filter(|delivery| delivery.status == Status::Failed).count()
}

/// Sends a ping.
async fn send_ping(w: &World, id: WebhookId) {
    let ping = move |tx: &store::Tx<'_>| actions::test(tx, &Manager::unrestricted(), id);
    w.db().write(store::Scope::account(w.harbour, "test"), ping).await.unwrap();
}

/// Changes a webhook.
async fn change(w: &World, id: WebhookId, change: WebhookChange) {
    let context = crate::webhooks::edit_context(&w.node);
    let work = move |tx: &store::Tx<'_>| edit::change(tx, &context, id, &IfMatch::Absent, change);
    w.db().write(store::Scope::account(w.harbour, "test"), work).await.unwrap();
}

/// Deletes a webhook.
async fn delete_webhook(w: &World, id: WebhookId) {
    let delete = move |tx: &store::Tx<'_>| {
        touchline::webhooks::edit::delete(tx, &Manager::unrestricted(), id, &IfMatch::Absent)
    };
    w.db().write(store::Scope::account(w.harbour, "test"), delete).await.unwrap();
}
