//! Plans what to do next for webhooks of an account, in one read transaction.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;

use super::log_window::LogWindow;
use crate::notification_kinds;
use crate::prelude::*;
use crate::signals::{self, Notification};
use crate::webhooks::delivery::{self, Due};
use crate::webhooks::health::Health;
use crate::webhooks::outcome::OutgoingMessage;
use crate::webhooks::visibility::EventVisibility;
use crate::webhooks::webhook::{self, Ordering, Reason, Status, Webhook};

/// How many notifications are read at once, at first.
pub(super) const BATCH: i64 = 64;
/// How many are read at once while a receiver accepts everything and the log has more. Fewer reads and writes make the
/// webhook catch up sooner.
pub(super) const LARGE_BATCH: i64 = 512;
/// A webhook's position is stored at the latest after this many notifications that it does not receive.
const MAX_UNSAVED_SKIP: i64 = 1_000;

/// What a plan is made for.
#[derive(Debug, Clone)]
pub(super) struct PlanQuery {
    /// The last sequence number of the log that was scanned.
    pub scanned_to: i64,
    /// How many notifications to read at once.
    pub batch_size: i64,
    /// Notifications in flight, which must not be sent again meanwhile.
    pub in_flight: Vec<NotificationId>,
}

/// Nothing is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    /// When the next delivery is due; `None` if none is pending.
    pub until: Option<Timestamp>,
    /// The last sequence number of the log that was scanned.
    pub scanned_to: i64,
}

/// What to do next for a webhook.
pub(super) enum Plan {
    /// Nothing is due now.
    Wait(Idle),
    /// Continue a replay first.
    Replay,
    /// Turn the webhook off.
    TurnOff(Reason),
    /// Send these messages.
    Send(Box<SendBatch>),
}

/// Messages to send to a webhook.
pub(super) struct SendBatch {
    pub webhook: Webhook,
    pub messages: Vec<OutgoingMessage>,
    /// The webhook's position in the log after all of them are recorded.
    pub position: i64,
    /// Set if the log has no more entries for now: the worker becomes idle with this if all messages are accepted.
    pub then_idle: Option<Idle>,
}

impl SendBatch {
    /// Whether all messages are sent for the first time.
    pub(super) fn is_first_attempt(&self) -> bool {
        self.messages.iter().all(|message| message.delivery.is_none())
    }

    /// Whether messages are sent one after the other.
    pub(super) fn is_strict(&self) -> bool {
        self.webhook.ordering == Ordering::Strict
    }
}

/// Plans what to do next for some webhooks of an account. The outer result fails only if planning fails for all.
pub(super) fn plan_all(
    db: &Reader<'_>,
    queries: &[(WebhookId, PlanQuery)],
) -> Result<Vec<Result<Plan>>> {
    let ids: Vec<_> = queries.iter().map(|(id, _)| *id).collect();
    // In the usual case, healthy webhooks without retries, these prefetched queries are all that is needed.
    delivery::prefetch_next_due(db, &ids)?;
    // The webhooks that are furthest behind come first: the part of the log that is read for them serves the others
    // too.
    let mut order: Vec<_> = (0..queries.len()).collect();
    order.sort_by_key(|index| queries[*index].1.scanned_to);
    if let Some(first) = order.first() {
        let PlanQuery { scanned_to, batch_size, .. } = queries[*first].1;
        signals::prefetch_notifications(db, scanned_to, batch_size)?;
    }
    signals::prefetch_sequence(db)?;
    webhook::prefetch_many(db, &ids)?;
    // Read before the webhooks: newer notifications are left for the next plan, because the webhooks may have other
    // subscriptions by then.
    let until = signals::sequence(db)?;
    let webhooks = webhook::find_many(db, &ids)?;
    let mut planner = Planner {
        db,
        next_due: delivery::next_due(db, &ids)?,
        visibility: HashMap::new(),
        log: LogWindow::new(until),
    };
    let mut plans: Vec<_> =
        queries.iter().map(|(_, query)| Ok(nothing_due(query.scanned_to))).collect();
    for index in order {
        let (id, query) = &queries[index];
        if let Some(webhook) = webhooks.get(id) {
            plans[index] = planner.plan(webhook.clone(), query);
        }
    }
    Ok(plans)
}

/// The plan for a webhook for which nothing is due.
fn nothing_due(scanned_to: i64) -> Plan {
    Plan::Wait(Idle { until: None, scanned_to })
}

/// Makes plans, and reads what the webhooks of an account have in common only once.
struct Planner<'a> {
    db: &'a Reader<'a>,
    next_due: HashMap<WebhookId, Timestamp>,
    /// What each creator of a webhook can see, directly or through an app. `None` if they can no longer have webhooks.
    visibility: HashMap<(String, Option<String>), Option<EventVisibility>>,
    log: LogWindow,
}

impl Planner<'_> {
    fn plan(&mut self, webhook: Webhook, query: &PlanQuery) -> Result<Plan> {
        let now = self.db.now();
        let scanned_to = query.scanned_to.max(webhook.position);
        if webhook.status == Status::Disabled {
            return Ok(nothing_due(scanned_to));
        }
        if let Some(until) = webhook.paused_until.filter(|until| *until > now) {
            return Ok(Plan::Wait(Idle { until: Some(until), scanned_to }));
        }
        let Some(visibility) = self.visibility_of(&webhook)? else {
            return Ok(Plan::TurnOff(Reason::CreatorRemoved));
        };
        let next = self.next_due.get(&webhook.id).copied();
        let retries = match next {
            Some(next) => check_retries(self.db, &webhook, next, query)?,
            None => RetryState::NothingDue,
        };
        match retries {
            RetryState::Due(due) => {
                let position = webhook.position;
                let messages = due.into_iter().map(|due| retry_message(due, &visibility)).collect();
                Ok(Plan::Send(Box::new(SendBatch { webhook, messages, position, then_idle: None })))
            }
            RetryState::NothingDue if webhook.replay_after.is_some() => Ok(Plan::Replay),
            RetryState::NothingDue => {
                self.plan_new(webhook, &visibility, (scanned_to, query.batch_size), next)
            }
            RetryState::Blocked(until) => Ok(Plan::Wait(Idle { until: Some(until), scanned_to })),
        }
    }

    /// Plans the new notifications that the webhook should receive.
    fn plan_new(
        &mut self,
        webhook: Webhook,
        visibility: &EventVisibility,
        (mut scanned_to, batch_size): (i64, i64),
        next_due: Option<Timestamp>,
    ) -> Result<Plan> {
        loop {
            let (entries, has_more) = self.log.entries_after(self.db, scanned_to, batch_size)?;
            let Some((last, _)) = entries.last() else { break };
            let wanted =
                entries.iter().filter(|(entry, _)| webhook.should_receive(visibility, entry));
            let messages: Vec<_> = wanted.map(|(_, message)| message.clone()).collect();
            scanned_to = last.sequence;
            if !messages.is_empty() || scanned_to - webhook.position > MAX_UNSAVED_SKIP {
                let idle = Idle { until: next_due, scanned_to };
                let (position, then_idle) = (scanned_to, (!has_more).then_some(idle));
                let batch = SendBatch { webhook, messages, position, then_idle };
                return Ok(Plan::Send(Box::new(batch)));
            }
        }
        Ok(Plan::Wait(Idle { until: next_due, scanned_to }))
    }

    /// What the webhook's creator can see of the webhook's teams; `None` if they can no longer have webhooks.
    fn visibility_of(&mut self, webhook: &Webhook) -> Result<Option<EventVisibility>> {
        let creator = (webhook.creator.clone(), webhook.creator_app.clone());
        let visibility = match self.visibility.entry(creator) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(webhook.creator_visibility(self.db)?),
        };
        Ok(visibility.clone().map(|visibility| webhook.limit_to_teams(visibility)))
    }
}

/// Whether deliveries of a webhook have to be retried.
enum RetryState {
    /// These are due.
    Due(Vec<Due>),
    /// Nothing is due.
    NothingDue,
    /// With strict ordering: a delivery that is not due yet blocks everything after it until then.
    Blocked(Timestamp),
}

/// Finds the deliveries to retry. The first one is due at `next`.
fn check_retries(
    db: &Reader<'_>,
    webhook: &Webhook,
    next: Timestamp,
    query: &PlanQuery,
) -> Result<RetryState> {
    // Pings come first, because somebody is waiting for the result.
    let mut pings =
        if next <= db.now() { delivery::due_pings(db, webhook.id)? } else { Vec::new() };
    // A redelivery can be requested while an attempt is in flight. That attempt then counts for both.
    let is_not_in_flight = |due: &Due| !query.in_flight.contains(&due.notification_id);
    pings.retain(is_not_in_flight);
    if !pings.is_empty() {
        return Ok(RetryState::Due(pings));
    }
    // A replay sends in the order of the log, so later deliveries wait until the replay has reached them.
    let is_after_replay =
        |due: &Due| webhook.replay_after.is_some_and(|after| due.sequence > Some(after));
    if webhook.ordering == Ordering::Strict {
        return Ok(match delivery::first_pending(db, webhook.id)? {
            Some((due, _)) if is_after_replay(&due) => RetryState::NothingDue,
            Some((due, at)) if at <= db.now() => RetryState::Due(vec![due]),
            // If `next` is past, it belongs to a later delivery, which is blocked by this one.
            Some((_, at)) => RetryState::Blocked(if next > db.now() { next } else { at }),
            None => RetryState::NothingDue,
        });
    }
    if next > db.now() {
        return Ok(RetryState::NothingDue);
    }
    let mut due = delivery::due(db, webhook.id, BATCH)?;
    due.retain(|due| is_not_in_flight(due) && !is_after_replay(due));
    Ok(if due.is_empty() { RetryState::NothingDue } else { RetryState::Due(due) })
}

/// The message of a delivery to retry. It is skipped if its body is no longer stored, or if the webhook's creator can
/// no longer see it.
fn retry_message(due: Due, visibility: &EventVisibility) -> OutgoingMessage {
    let Due { id, sequence, notification_id, kind, body } = due;
    let skip_reason = match &body {
        None => Some("notification_expired"),
        Some(body) if kind != notification_kinds::PING && !visibility.can_see(&kind, body) => {
            Some("not_allowed")
        }
        Some(_) => None,
    };
    let (kind, body) = (kind.into(), body.unwrap_or_default().into());
    OutgoingMessage { delivery: Some(id), sequence, notification_id, kind, body, skip_reason }
}

impl From<&Notification> for OutgoingMessage {
    fn from(notification: &Notification) -> Self {
        Self {
            delivery: None,
            sequence: Some(notification.sequence),
            notification_id: notification.id,
            kind: notification.kind.as_str().into(),
            body: Bytes::copy_from_slice(notification.body.as_bytes()),
            skip_reason: None,
        }
    }
}

impl Webhook {
    /// The health of its receiver.
    pub(super) fn health(&self) -> Health {
        let Self { failures, failing_since, paused_until, recovered_at, .. } = *self;
        Health { failures, failing_since, paused_until, recovered_at }
    }
}
