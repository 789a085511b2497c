//! Stories about deliveries that take long: what comes after them does not wait, and they are neither lost nor doubled.

use std::time::Duration;

use store::Scope;
use testkit::receiver::Held;
use testkit::{Receiver, World, both, seconds};
use touchline::dispatch::Dispatcher;
use touchline::expected::Expected;
use touchline::ids::{DeliveryId, WebhookId};
use touchline::webhooks::access::Manager;
use touchline::webhooks::asking::{self, Part};
use touchline::webhooks::delivery::{Delivery, Status};
use touchline::webhooks::edit::{self, WebhookChange};
use touchline::webhooks::webhook::{Ordering, Reason};

use crate::webhooks::{Running, deliveries, enable, happen, means, numbers, shown, subscribe};

/// A dispatcher that waits for an answer as long as a story takes.
fn patient(w: &World) -> Dispatcher {
    w.node.dispatcher.clone().patience(seconds(3_600))
}

/// Waits until the deliveries of a webhook are so, at most thirty seconds.
async fn until(w: &World, id: WebhookId, so: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
    for _ in 0..1_500 {
        let found = deliveries(w, id).await;
        if so(&found) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it does not come to pass: {:?}", deliveries(w, id).await);
}

fn with(status: Status, deliveries: &[Delivery]) -> usize {
    deliveries.iter().filter(|one| one.status == status).count()
}

/// Waits until a webhook is turned off because its receiver is gone, at most thirty seconds.
async fn until_off(w: &World, id: WebhookId) {
    for _ in 0..1_500 {
        if shown(w, id).await.disabled_reason == Some(Reason::Gone) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it is still on");
}

async fn ping(w: &World, id: WebhookId) {
    let test = move |tx: &store::Tx<'_>| asking::test(tx, &Manager::everywhere(), id);
    w.db().write(Scope::account(w.harbour, "test"), test).await.unwrap();
}

async fn redeliver(w: &World, id: DeliveryId) {
    let again = move |tx: &store::Tx<'_>| asking::redeliver(tx, &Manager::everywhere(), id);
    w.db().write(Scope::account(w.harbour, "test"), again).await.unwrap();
}

/// A webhook whose receiver has taken the first thing at once, and hangs on the second until told otherwise.
async fn hangs_on_the_second(w: &World) -> (Receiver, WebhookId, Running, Held) {
    let receiver = Receiver::start().await;
    let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
    let running = Running::start(&patient(w));
    happen(w, w.harbour, 1).await;
    until(w, id, |all| with(Status::Succeeded, all) == 1).await;
    let held = receiver.hold();
    happen(w, w.harbour, 1).await;
    receiver.wait_for(2).await;
    receiver.answer_others();
    (receiver, id, running, held)
}

both! {
    async fn what_takes_long_holds_up_nothing_that_comes_after_it(w: &World) {
        let (receiver, id, _running, held) = hangs_on_the_second(w).await;
        happen(w, w.harbour, 20).await;
        // Written down as well as told.
        let found = until(w, id, |all| with(Status::Succeeded, all) == 21).await;
        let slow = &found[1];
        assert_eq!((slow.sequence, slow.status, slow.attempts.0.len()), (Some(2), Status::Pending, 0));
        assert!(slow.next_attempt_at > Some(slow.created_at));
        assert_eq!(shown(w, id).await.position, 22);

        ping(w, id).await;
        until(w, id, |all| with(Status::Succeeded, all) == 22).await;
        redeliver(w, found[0].id).await;
        until(w, id, |all| all.iter().any(|one| one.attempts.0.len() == 2)).await;

        drop(held);
        let found = until(w, id, |all| with(Status::Pending, all) == 0).await;
        let slow = found.iter().find(|one| one.sequence == Some(2)).unwrap();
        assert_eq!((slow.status, slow.attempts.0.len(), slow.next_attempt_at), (Status::Succeeded, 1, None));
        assert_eq!((receiver.received().len(), receiver.doubles()), (24, 0));
    }

    async fn what_takes_long_from_the_first_on_holds_up_nothing_either(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let _running = Running::start(&patient(w));
        let _held = receiver.hold();
        happen(w, w.harbour, 1).await;
        receiver.wait_for(1).await;
        receiver.answer_others();
        happen(w, w.harbour, 20).await;
        until(w, id, |all| with(Status::Succeeded, all) == 20).await;
    }

    async fn never_more_than_eight_take_long_at_once(w: &World) {
        let (receiver, id, _running, held) = hangs_on_the_second(w).await;
        let all_held = receiver.hold();
        happen(w, w.harbour, 40).await;
        let found = until(w, id, |all| with(Status::Pending, all) == 8).await;
        assert_eq!(found.len(), 9);
        // Whatever comes now waits until there is room again.
        let other = Receiver::start().await;
        subscribe(w, other.url(), Ordering::Parallel).await;
        happen(w, w.harbour, 3).await;
        ping(w, id).await;
        other.wait_for(3).await;
        assert_eq!((receiver.received().len(), receiver.most_at_once()), (9, 8));
        receiver.answer_others();
        drop(held);
        let done = 1 + 1 + 40 + 3 + 1 - 7;
        until(w, id, |all| with(Status::Succeeded, all) == done).await;
        drop(all_held);
        until(w, id, |all| with(Status::Succeeded, all) == done + 7).await;
        assert_eq!((receiver.received().len(), receiver.most_at_once()), (done + 7, 8));
    }

    async fn what_took_long_when_the_service_died_is_told_again(w: &World) {
        let (receiver, id, running, _held) = hangs_on_the_second(w).await;
        happen(w, w.harbour, 3).await;
        until(w, id, |all| with(Status::Succeeded, all) == 4).await;
        drop(running);
        // As long as it could still be answered, nobody else tries it.
        w.deliver().await;
        assert_eq!(receiver.received().len(), 5);
        w.pass(seconds(60));
        w.deliver().await;
        assert_eq!(numbers(&receiver).iter().filter(|number| **number == 2).count(), 2);
        assert_eq!(receiver.received().len(), 6);
        until(w, id, |all| with(Status::Succeeded, all) == 5).await;
    }

    async fn whoever_asks_for_what_is_under_way_gets_it_once(w: &World) {
        let (receiver, id, _running, held) = hangs_on_the_second(w).await;
        let found = until(w, id, |all| with(Status::Pending, all) == 1).await;
        redeliver(w, found[1].id).await;
        happen(w, w.harbour, 1).await;
        until(w, id, |all| with(Status::Succeeded, all) == 2).await;
        drop(held);
        until(w, id, |all| with(Status::Succeeded, all) == 3).await;
        assert_eq!((receiver.received().len(), receiver.doubles()), (3, 0));
    }

    async fn what_took_long_and_failed_is_tried_again(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let held = receiver.hold();
        receiver.next([503]);
        let _running = Running::start(&patient(w));
        happen(w, w.harbour, 1).await;
        let found = until(w, id, |all| with(Status::Pending, all) == 1).await;
        let given_up_at = found[0].next_attempt_at.unwrap();
        receiver.answer_others();
        drop(held);
        let found = until(w, id, |all| all[0].attempts.0.len() == 1).await;
        assert_eq!(found[0].status, Status::Pending);
        assert!(found[0].next_attempt_at.unwrap() < given_up_at);
        assert!(shown(w, id).await.failing_since.is_some());
        w.pass(seconds(10));
        until(w, id, |all| with(Status::Succeeded, all) == 1).await;
        assert_eq!(numbers(&receiver), [1, 1]);
    }

    async fn a_webhook_whose_receiver_says_late_that_it_is_gone_is_turned_off(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let held = receiver.hold();
        receiver.next([410]);
        let _running = Running::start(&patient(w));
        happen(w, w.harbour, 1).await;
        until(w, id, |all| with(Status::Pending, all) == 1).await;
        drop(held);
        until_off(w, id).await;
        let told = deliveries(w, id).await;
        assert_eq!((told[0].status, told[0].attempts.0[0].status_code), (Status::Pending, Some(410)));
    }

    async fn what_failed_after_the_last_words_does_not_hide_them(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let _running = Running::start(&patient(w));
        happen(w, w.harbour, 1).await;
        until(w, id, |all| with(Status::Succeeded, all) == 1).await;
        receiver.next([410, 500]);
        let gone = receiver.hold();
        happen(w, w.harbour, 1).await;
        receiver.wait_for(2).await;
        let failing = receiver.hold();
        happen(w, w.harbour, 1).await;
        receiver.wait_for(3).await;
        receiver.answer_others();
        until(w, id, |all| with(Status::Pending, all) == 2).await;
        drop(gone);
        until(w, id, |all| all[1].attempts.0.len() == 1).await;
        until_off(w, id).await;
        drop(failing);
        until(w, id, |all| all.iter().filter(|one| one.attempts.0.len() == 1).count() == 3).await;
        enable(w, id, true).await;
        until(w, id, |all| with(Status::Succeeded, all) == 3).await;
        assert_eq!(numbers(&receiver).iter().filter(|number| **number == 2).count(), 2);
    }

    async fn what_an_address_says_late_does_not_count_for_the_next_one(w: &World) {
        let (old, new) = (Receiver::start().await, Receiver::start().await);
        let id = subscribe(w, old.url(), Ordering::Parallel).await;
        let held = old.hold();
        old.next([410]);
        let _running = Running::start(&patient(w));
        happen(w, w.harbour, 1).await;
        until(w, id, |all| with(Status::Pending, all) == 1).await;
        let (means, url) = (means(&w.node), Some(new.url()));
        let change = move |tx: &store::Tx<'_>| {
            let change = WebhookChange { url, ..WebhookChange::default() };
            edit::change(tx, &means, id, &Expected::Anything, change)
        };
        w.db().write(Scope::account(w.harbour, "test"), change).await.unwrap();
        drop(held);
        let found = until(w, id, |all| all[0].attempts.0.len() == 1).await;
        assert_eq!(found[0].status, Status::Pending);
        assert_eq!((shown(w, id).await.failures, shown(w, id).await.failing_since), (0, None));
        w.pass(seconds(10));
        until(w, id, |all| with(Status::Succeeded, all) == 1).await;
        assert_eq!((numbers(&old), numbers(&new)), (vec![1], vec![1]));
        assert_eq!(shown(w, id).await.disabled_reason, None);
    }

    async fn in_strict_order_nobody_looks_without_end_for_what_waits(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        happen(w, w.harbour, 3).await;
        w.deliver().await;
        receiver.next([500]);
        let again = move |tx: &store::Tx<'_>| asking::replay(tx, &Manager::everywhere(), id, Part::Numbers(1, 3), false);
        w.db().write(Scope::account(w.harbour, "test"), again).await.unwrap();
        // The first failed, and the others are due but come after it.
        let delivered = tokio::time::timeout(seconds(60), w.deliver());
        delivered.await.expect("it rests until the first is due");
        assert_eq!(numbers(&receiver), [1, 2, 3, 1]);
        w.pass(seconds(10));
        w.deliver().await;
        assert_eq!(numbers(&receiver)[4..], [1, 2, 3]);
    }

    async fn in_strict_order_what_takes_long_is_waited_for(w: &World) {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Strict).await;
        let other = Receiver::start().await;
        subscribe(w, other.url(), Ordering::Parallel).await;
        let _running = Running::start(&patient(w));
        let (held, slow) = (receiver.hold(), other.hold());
        happen(w, w.harbour, 2).await;
        tokio::join!(receiver.wait_for(1), other.wait_for(1));
        // The other has gone on by now, so this one would have.
        other.answer_others();
        other.wait_for(2).await;
        assert_eq!((receiver.received().len(), deliveries(w, id).await.len()), (1, 0));
        drop((held, slow));
        until(w, id, |all| with(Status::Succeeded, all) == 2).await;
        assert_eq!((numbers(&receiver), receiver.most_at_once()), (vec![1, 2], 1));
    }
}
