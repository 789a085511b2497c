//! Tests of slow deliveries: they do not block later ones, and are neither lost nor duplicated.

use std::time::Duration;

use store::Scope;
use testkit::receiver::HoldGuard;
use testkit::{Receiver, World, both, seconds};
use touchline::dispatch::Dispatcher;
use touchline::ids::{DeliveryId, WebhookId};
use touchline::if_match::IfMatch;
use touchline::webhooks::access::Manager;
use touchline::webhooks::actions::{self, ReplayRange};
use touchline::webhooks::delivery::{Delivery, Status};
use touchline::webhooks::edit::{self, WebhookChange};
use touchline::webhooks::webhook::{Ordering, Reason};

use crate::webhooks::{
    RunningDispatcher, deliveries, edit_context, enable, get_webhook, publish_events, sequences,
    subscribe,
};

/// A dispatcher with a timeout longer than any test.
fn patient_dispatcher(w: &World) -> Dispatcher {
    w.node.dispatcher.clone().with_timeout(seconds(3_600))
}

/// Waits at most 30 seconds until the deliveries of a webhook satisfy a condition.
async fn wait_for_deliveries(
    w: &World,
    id: WebhookId,
    condition: impl Fn(&[Delivery]) -> bool,
) -> Vec<Delivery> {
    for _ in 0..1_500 {
        let stored = deliveries(w, id).await;
        if condition(&stored) {
            return stored;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("timed out: {:?}", deliveries(w, id).await);
}

fn count_with(status: Status, deliveries: &[Delivery]) -> usize {
    deliveries.iter().filter(|delivery| delivery.status == status).count()
}

/// Waits at most 30 seconds until a webhook is disabled because its receiver is gone.
async fn wait_until_disabled(w: &World, id: WebhookId) {
    for _ in 0..1_500 {
        if get_webhook(w, id).await.disabled_reason == Some(Reason::Gone) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the webhook is still enabled");
}

async fn ping(w: &World, id: WebhookId) {
    let test = move |tx: &store::Tx<'_>| actions::test(tx, &Manager::unrestricted(), id);
    w.db().write(Scope::account(w.harbour, "test"), test).await.unwrap();
}

async fn redeliver(w: &World, id: DeliveryId) {
    let redeliver = move |tx: &store::Tx<'_>| actions::redeliver(tx, &Manager::unrestricted(), id);
    w.db().write(Scope::account(w.harbour, "test"), redeliver).await.unwrap();
}

/// A webhook whose receiver accepts the first event, and hangs on the second until released.
async fn receiver_hanging_on_second(
    w: &World,
) -> (Receiver, WebhookId, RunningDispatcher, HoldGuard) {
    let receiver = Receiver::start().await;
    let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
    let running = RunningDispatcher::start(&patient_dispatcher(w));
    publish_events(w, w.harbour, 1).await;
    wait_for_deliveries(w, id, |deliveries| count_with(Status::Succeeded, deliveries) == 1).await;
    let hold = receiver.hold_replies();
    publish_events(w, w.harbour, 1).await;
    receiver.wait_for(2).await;
    receiver.stop_holding();
    (receiver, id, running, hold)
}

both! {
    async fn slow_delivery_does_not_block_later_ones(w: &World) {
        let (receiver, id, _running, hold) = receiver_hanging_on_second(w).await;
        publish_events(w, w.harbour, 20).await;
        // Delivered and recorded.
        let stored = wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 21).await;
        let slow = &stored[1];
        assert_eq!((slow.sequence, slow.status, slow.attempts.0.len()), (Some(2), Status::Pending, 0));
        assert!(slow.next_attempt_at > Some(slow.created_at));
        assert_eq!(get_webhook(w, id).await.position, 22);

        ping(w, id).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 22).await;
        redeliver(w, stored[0].id).await;
        wait_for_deliveries(w, id, |all| all.iter().any(|one| one.attempts.0.len() == 2)).await;

        drop(hold);
        let stored = wait_for_deliveries(w, id, |all| count_with(Status::Pending, all) == 0).await;
        let slow = stored.iter().find(|one| one.sequence == Some(2)).unwrap();
        assert_eq!((slow.status, slow.attempts.0.len(), slow.next_attempt_at), (Status::Succeeded, 1, None));
        assert_eq!((receiver.received().len(), receiver.duplicates_in_flight()), (24, 0));
    }

    async fn slow_first_delivery_does_not_block_later_ones(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let _running = RunningDispatcher::start(&patient_dispatcher(w));
        let _held = receiver.hold_replies();
        publish_events(w, w.harbour, 1).await;
        receiver.wait_for(1).await;
        receiver.stop_holding();
        publish_events(w, w.harbour, 20).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 20).await;
    }

    async fn at_most_eight_slow_deliveries_at_once(w: &World) {
        let (receiver, id, _running, hold) = receiver_hanging_on_second(w).await;
        let second_hold = receiver.hold_replies();
        publish_events(w, w.harbour, 40).await;
        let stored = wait_for_deliveries(w, id, |all| count_with(Status::Pending, all) == 8).await;
        assert_eq!(stored.len(), 9);
        // Further deliveries wait until there is room again.
        let other = Receiver::start().await;
        subscribe(w, other.url(), Ordering::Parallel).await;
        publish_events(w, w.harbour, 3).await;
        ping(w, id).await;
        other.wait_for(3).await;
        assert_eq!((receiver.received().len(), receiver.max_in_flight()), (9, 8));
        receiver.stop_holding();
        drop(hold);
        let succeeded = 1 + 1 + 40 + 3 + 1 - 7;
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == succeeded).await;
        drop(second_hold);
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == succeeded + 7).await;
        assert_eq!((receiver.received().len(), receiver.max_in_flight()), (succeeded + 7, 8));
    }

    async fn redelivers_slow_deliveries_after_a_crash(w: &World) {
        let (receiver, id, running, _held) = receiver_hanging_on_second(w).await;
        publish_events(w, w.harbour, 3).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 4).await;
        drop(running);
        // It is not retried while the first attempt could still be answered.
        w.deliver().await;
        assert_eq!(receiver.received().len(), 5);
        w.advance_clock(seconds(60));
        w.deliver().await;
        assert_eq!(sequences(&receiver).iter().filter(|number| **number == 2).count(), 2);
        assert_eq!(receiver.received().len(), 6);
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 5).await;
    }

    async fn redelivery_of_a_delivery_in_flight_sends_it_once(w: &World) {
        let (receiver, id, _running, hold) = receiver_hanging_on_second(w).await;
        let stored = wait_for_deliveries(w, id, |all| count_with(Status::Pending, all) == 1).await;
        redeliver(w, stored[1].id).await;
        publish_events(w, w.harbour, 1).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 2).await;
        drop(hold);
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 3).await;
        assert_eq!((receiver.received().len(), receiver.duplicates_in_flight()), (3, 0));
    }

    async fn retries_a_slow_delivery_that_failed(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let hold = receiver.hold_replies();
        receiver.queue_replies([503]);
        let _running = RunningDispatcher::start(&patient_dispatcher(w));
        publish_events(w, w.harbour, 1).await;
        let stored = wait_for_deliveries(w, id, |all| count_with(Status::Pending, all) == 1).await;
        let given_up_at = stored[0].next_attempt_at.unwrap();
        receiver.stop_holding();
        drop(hold);
        let stored = wait_for_deliveries(w, id, |all| all[0].attempts.0.len() == 1).await;
        assert_eq!(stored[0].status, Status::Pending);
        assert!(stored[0].next_attempt_at.unwrap() < given_up_at);
        assert!(get_webhook(w, id).await.failing_since.is_some());
        w.advance_clock(seconds(10));
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 1).await;
        assert_eq!(sequences(&receiver), [1, 1]);
    }

    async fn late_status_410_disables_the_webhook(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let hold = receiver.hold_replies();
        receiver.queue_replies([410]);
        let _running = RunningDispatcher::start(&patient_dispatcher(w));
        publish_events(w, w.harbour, 1).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Pending, all) == 1).await;
        drop(hold);
        wait_until_disabled(w, id).await;
        let stored = deliveries(w, id).await;
        assert_eq!((stored[0].status, stored[0].attempts.0[0].status_code), (Status::Pending, Some(410)));
    }

    async fn later_failure_does_not_hide_a_status_410(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let _running = RunningDispatcher::start(&patient_dispatcher(w));
        publish_events(w, w.harbour, 1).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 1).await;
        receiver.queue_replies([410, 500]);
        let first_hold = receiver.hold_replies();
        publish_events(w, w.harbour, 1).await;
        receiver.wait_for(2).await;
        let second_hold = receiver.hold_replies();
        publish_events(w, w.harbour, 1).await;
        receiver.wait_for(3).await;
        receiver.stop_holding();
        wait_for_deliveries(w, id, |all| count_with(Status::Pending, all) == 2).await;
        drop(first_hold);
        wait_for_deliveries(w, id, |all| all[1].attempts.0.len() == 1).await;
        wait_until_disabled(w, id).await;
        drop(second_hold);
        wait_for_deliveries(w, id, |all| all.iter().filter(|one| one.attempts.0.len() == 1).count() == 3).await;
        enable(w, id, true).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 3).await;
        assert_eq!(sequences(&receiver).iter().filter(|number| **number == 2).count(), 2);
    }

    async fn late_answer_of_an_old_url_is_ignored(w: &World) {
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, old.url(), Ordering::Parallel).await;
        let hold = old.hold_replies();
        old.queue_replies([410]);
        let _running = RunningDispatcher::start(&patient_dispatcher(w));
        publish_events(w, w.harbour, 1).await;
        wait_for_deliveries(w, id, |all| count_with(Status::Pending, all) == 1).await;
        let (context, url) = (edit_context(&w.node), Some(new.url()));
        let change = move |tx: &store::Tx<'_>| {
            let change = WebhookChange { url, ..WebhookChange::default() };
            edit::change(tx, &context, id, &IfMatch::Absent, change)
        };
        w.db().write(Scope::account(w.harbour, "test"), change).await.unwrap();
        drop(hold);
        let stored = wait_for_deliveries(w, id, |all| all[0].attempts.0.len() == 1).await;
        assert_eq!(stored[0].status, Status::Pending);
        assert_eq!((get_webhook(w, id).await.failures, get_webhook(w, id).await.failing_since), (0, None));
        w.advance_clock(seconds(10));
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 1).await;
        assert_eq!((sequences(&old), sequences(&new)), (vec![1], vec![1]));
        assert_eq!(get_webhook(w, id).await.disabled_reason, None);
    }

    async fn strict_order_does_not_poll_waiting_deliveries(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        publish_events(w, w.harbour, 3).await;
        w.deliver().await;
        receiver.queue_replies([500]);
        let replay = move |tx: &store::Tx<'_>| actions::replay(tx, &Manager::unrestricted(), id, ReplayRange::Sequences(1, 3), false);
        w.db().write(Scope::account(w.harbour, "test"), replay).await.unwrap();
        // The first failed, and the others are due but come after it.
        let delivered = tokio::time::timeout(seconds(60), w.deliver());
        delivered.await.expect("it waits until the first is due");
        assert_eq!(sequences(&receiver), [1, 2, 3, 1]);
        w.advance_clock(seconds(10));
        w.deliver().await;
        assert_eq!(sequences(&receiver)[4..], [1, 2, 3]);
    }

    async fn strict_order_waits_for_a_slow_delivery(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        let other = Receiver::start().await;
        subscribe(w, other.url(), Ordering::Parallel).await;
        let _running = RunningDispatcher::start(&patient_dispatcher(w));
        let (hold, other_hold) = (receiver.hold_replies(), other.hold_replies());
        publish_events(w, w.harbour, 2).await;
        tokio::join!(receiver.wait_for(1), other.wait_for(1));
        // The other has continued by now, so this one would have, too.
        other.stop_holding();
        other.wait_for(2).await;
        assert_eq!((receiver.received().len(), deliveries(w, id).await.len()), (1, 0));
        drop((hold, other_hold));
        wait_for_deliveries(w, id, |all| count_with(Status::Succeeded, all) == 2).await;
        assert_eq!((sequences(&receiver), receiver.max_in_flight()), (vec![1, 2], 1));
    }
}
