//! Records the outcomes of attempts in one transaction: the deliveries, the webhook's position in the log, and the
//! health of its receiver.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kit::Rng;

use super::delivery::{self, Attempt, Attempts, Delivery, Status, delivery_id};
use super::health::{Health, with_jitter};
use super::webhook::Reason;
use crate::accounts::usage::truncate_to_hour;
use crate::prelude::*;

/// The most attempts stored for one delivery. Older ones are dropped.
const MAX_STORED_ATTEMPTS: usize = 20;
/// The longest delay of one delivery that a receiver can ask for with `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(86_400);

/// A message to send. Webhooks that get the same notification share its kind and body.
#[derive(Debug, Clone)]
pub struct OutgoingMessage {
    /// The delivery, if it was sent before.
    pub delivery: Option<DeliveryId>,
    /// Sequence number in the log. Only a ping has none, but a ping always has a delivery.
    pub sequence: Option<i64>,
    pub notification_id: NotificationId,
    pub kind: Arc<str>,
    pub body: Bytes,
    /// Why the message must not be sent, if so.
    pub skip_reason: Option<&'static str>,
}

impl OutgoingMessage {
    /// The id of its delivery, whether or not it was sent before.
    pub fn delivery_for(&self, webhook: WebhookId) -> DeliveryId {
        let derived =
            || delivery_id(webhook, self.notification_id, self.sequence.unwrap_or_default());
        self.delivery.unwrap_or_else(derived)
    }
}

/// What an attempt means for its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// The receiver accepted it.
    Accepted,
    /// It failed and is retried, at the earliest after the delay that the receiver asked for.
    Retry(Option<Duration>),
    /// It failed, but the webhook has another URL now. It is retried there, and says nothing about the new receiver.
    UrlChanged,
    /// It is not retried: the receiver asked for that, or it must not be sent.
    Abort,
    /// The receiver is permanently gone (status 410).
    Gone,
}

/// An attempt and what it means.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub message: OutgoingMessage,
    /// The URL it was sent to.
    pub to: Arc<str>,
    pub attempt: Attempt,
    pub verdict: AttemptVerdict,
}

impl Outcome {
    /// Updates the receiver's health.
    pub fn update_health(&self, health: &mut Health, rng: &Rng) {
        match self.verdict {
            AttemptVerdict::Accepted => health.record_success(self.attempt.ended_at()),
            AttemptVerdict::Retry(retry_after) => {
                health.record_failure(self.attempt.ended_at(), retry_after, rng);
            }
            AttemptVerdict::UrlChanged | AttemptVerdict::Abort | AttemptVerdict::Gone => {}
        }
    }
}

/// A long-running attempt that is still in flight. Later notifications do not wait for it.
#[derive(Debug, Clone)]
pub struct RunningAttempt {
    pub delivery: DeliveryId,
    pub message: OutgoingMessage,
    pub since: Timestamp,
    /// If no outcome was recorded by then, the process that ran it has died, and it is retried.
    pub presumed_lost_at: Timestamp,
}

/// What a delivery worker did for one webhook since its last report.
#[derive(Debug, Clone)]
pub struct Report {
    pub webhook_id: WebhookId,
    /// In the order in which the attempts ended.
    pub outcomes: Vec<Outcome>,
    /// The attempts that are still in flight.
    pub running: Vec<RunningAttempt>,
    /// The webhook's new position in the log.
    pub position: i64,
}

/// When failed deliveries are retried, and when a webhook is turned off.
#[derive(Debug, Clone)]
pub struct RetryPolicy {
    /// The delay before each retry.
    pub retry_delays: Vec<Duration>,
    /// A webhook is turned off after it has failed for this long.
    pub disable_after: Duration,
}

/// What to do if the delivery of a first attempt already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Fail and record nothing. This is the usual case, because no other node delivers for the webhook.
    Fail,
    /// Keep the existing delivery. Another node may have sent it while this one was unreachable for a while.
    Ignore,
}

/// Records reports, at most one for each webhook. Returns why each webhook is to be turned off, if it is.
pub fn record(
    tx: &Tx<'_>,
    reports: &[Report],
    policy: &RetryPolicy,
    on_conflict: OnConflict,
) -> Result<Vec<Option<Reason>>> {
    let reports = &*mark_changed_urls(tx, reports)?;
    // The webhooks are written first, which locks them, so that none can be deleted before the deliveries are written.
    let healths = update_webhooks(tx, reports)?;
    let (mut new, mut counts, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    for (report, health) in reports.iter().zip(healths) {
        let Some(health) = health else {
            reasons.push(None);
            continue;
        };
        new.extend(apply_outcomes(tx, report.webhook_id, &report.outcomes, policy)?);
        new.extend(defer_running(tx, report.webhook_id, &report.running)?);
        counts.push((report.webhook_id, report.count_attempts()));
        reasons.push(report.disable_reason(&health, policy, tx.now()));
    }
    insert(tx, &new, on_conflict)?;
    add_hourly_counts(tx, tx.now(), &counts)?;
    Ok(reasons)
}

/// Marks failures at a URL that the webhook no longer has, because it was changed while the attempts were in flight.
/// They are retried at the new URL and do not count against its receiver.
fn mark_changed_urls<'a>(tx: &Tx<'_>, reports: &'a [Report]) -> Result<Cow<'a, [Report]>> {
    let ids: Vec<_> =
        reports.iter().filter(|one| !one.all_accepted()).map(|one| one.webhook_id).collect();
    if ids.is_empty() {
        return Ok(Cow::Borrowed(reports));
    }
    lock_webhooks(tx, &ids)?;
    let text = "select id, url from webhook where account_id = :account and id in (:ids)";
    let urls: HashMap<WebhookId, String> = tx.all(text, bind! { ids })?.into_iter().collect();
    let mut reports = reports.to_vec();
    for report in &mut reports {
        let Some(url) = urls.get(&report.webhook_id) else { continue };
        for outcome in report.outcomes.iter_mut().filter(|outcome| *outcome.to != **url) {
            if matches!(outcome.verdict, AttemptVerdict::Gone | AttemptVerdict::Retry(_)) {
                outcome.verdict = AttemptVerdict::UrlChanged;
            }
        }
    }
    Ok(Cow::Owned(reports))
}

/// Locks these webhooks until the end of the transaction. Returns how many of them exist.
fn lock_webhooks(tx: &Tx<'_>, ids: &[WebhookId]) -> Result<u64> {
    Ok(tx.execute(
        "update webhook set position = position where account_id = :account and id in (:ids)",
        bind! { ids: ids.to_vec() },
    )?)
}

impl Report {
    fn all_accepted(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.verdict == AttemptVerdict::Accepted)
    }

    /// How many attempts succeeded and how many failed.
    fn count_attempts(&self) -> (i64, i64) {
        let is_accepted = |outcome: &&Outcome| outcome.verdict == AttemptVerdict::Accepted;
        let accepted = self.outcomes.iter().filter(is_accepted).count();
        let count = |attempts: usize| i64::try_from(attempts).unwrap_or(i64::MAX);
        (count(accepted), count(self.outcomes.len() - accepted))
    }

    /// Why the webhook is to be turned off, if it is.
    fn disable_reason(
        &self,
        health: &Health,
        policy: &RetryPolicy,
        now: Timestamp,
    ) -> Option<Reason> {
        let verdicts = || self.outcomes.iter().map(|outcome| outcome.verdict);
        if verdicts().any(|verdict| verdict == AttemptVerdict::Gone) {
            return Some(Reason::Gone);
        }
        // Only a new failure shows that the receiver is still failing.
        let has_failed = verdicts().any(|verdict| matches!(verdict, AttemptVerdict::Retry(_)));
        let is_too_long = |since: Timestamp| since.plus(policy.disable_after) <= now;
        let turn_off = has_failed && health.failing_since.is_some_and(is_too_long);
        turn_off.then_some(Reason::Failing)
    }
}

/// Stores the new positions of webhooks and the health of their receivers. `None` for a webhook that was deleted
/// meanwhile.
fn update_webhooks(tx: &Tx<'_>, reports: &[Report]) -> Result<Vec<Option<Health>>> {
    let mut by_position: BTreeMap<i64, Vec<WebhookId>> = BTreeMap::new();
    for report in reports.iter().filter(|report| report.all_accepted()) {
        by_position.entry(report.position).or_default().push(report.webhook_id);
    }
    let mut advanced = HashSet::new();
    for (position, ids) in by_position {
        // Receivers that were healthy and still are: in most cases the position is all there is to store.
        let updated = tx.execute(
            "update webhook set
                 position = case when position < :position then :position else position end
             where account_id = :account and id in (:ids)
               and failures = 0 and failing_since is null and paused_until is null",
            bind! { ids: ids.clone(), position },
        )?;
        if updated == ids.len() as u64 {
            advanced.extend(ids);
        }
    }
    let health = |report: &Report| {
        let is_advanced = advanced.contains(&report.webhook_id);
        if is_advanced { Ok(Some(Health::default())) } else { update_webhook(tx, report) }
    };
    reports.iter().map(health).collect()
}

/// Stores the position of a webhook and the health of its receiver. The position never goes back: somebody may have
/// turned the webhook off and on again without a replay meanwhile. `failing_since` is visible in the API, so when it is
/// set or cleared, the version rises.
fn update_webhook(tx: &Tx<'_>, report: &Report) -> Result<Option<Health>> {
    let id = report.webhook_id;
    if lock_webhooks(tx, &[id])? == 0 {
        return Ok(None);
    }
    let before: Health = tx.one(
        "select failures, failing_since, paused_until, recovered_at from webhook
         where account_id = :account and id = :id",
        bind! { id },
    )?;
    let mut health = before;
    for outcome in &report.outcomes {
        outcome.update_health(&mut health, tx.rng());
    }
    let became_visible = before.failing_since.is_some() != health.failing_since.is_some();
    let Health { failures, failing_since, paused_until, recovered_at } = health;
    let updated = tx.execute(
        "update webhook set
             position = case when position < :position then :position else position end,
             failures = :failures, failing_since = :failing_since,
             paused_until = :paused_until, recovered_at = :recovered_at,
             version = version + :seen
         where account_id = :account and id = :id",
        bind! { id, position: report.position, failures, failing_since, paused_until, recovered_at,
        seen: i64::from(became_visible) },
    )?;
    Ok((updated > 0).then_some(health))
}

/// Adds attempts to their deliveries. Returns the new deliveries, which are not inserted yet.
fn apply_outcomes(
    tx: &Tx<'_>,
    webhook_id: WebhookId,
    outcomes: &[Outcome],
    policy: &RetryPolicy,
) -> Result<Vec<Delivery>> {
    let bodies = current_bodies(tx, outcomes)?;
    let mut new_deliveries = Vec::new();
    for outcome in outcomes {
        let outcome = redact_erased(outcome, &bodies);
        let Some(id) = outcome.message.delivery else {
            let new = new_delivery(tx, webhook_id, &outcome.message, outcome.attempt.at);
            new_deliveries.push(with_attempt(new, &outcome, policy, tx.rng()));
            continue;
        };
        let before = match delivery::find_for_webhook(tx, webhook_id, id) {
            Err(error) if error.code == Code::NotFound => continue,
            result => result?,
        };
        update(tx, &with_attempt(before, &outcome, policy, tx.rng()))?;
    }
    Ok(new_deliveries)
}

/// Inserts new deliveries. `on conflict` is left out in the usual case, because that check costs a database server as
/// much as the insert.
fn insert(tx: &Tx<'_>, new: &[Delivery], on_conflict: OnConflict) -> Result<()> {
    let rows: Vec<_> = new.iter().map(Delivery::bind).collect();
    let statement = match on_conflict {
        OnConflict::Fail => Delivery::INSERT,
        OnConflict::Ignore => sql!(Delivery::INSERT, " on conflict do nothing"),
    };
    Ok(tx.execute_deferred_all(statement, &rows)?)
}

/// Sets the next attempt of deliveries in flight to a time when the current attempt must have ended, so that no node
/// retries them before. Returns the new deliveries, which are not inserted yet.
fn defer_running(
    tx: &Tx<'_>,
    webhook_id: WebhookId,
    running: &[RunningAttempt],
) -> Result<Vec<Delivery>> {
    let mut new_deliveries = Vec::new();
    for RunningAttempt { delivery: id, message, since, presumed_lost_at: given_up_at } in running {
        if message.delivery.is_none() {
            let new = new_delivery(tx, webhook_id, message, *since);
            let next_attempt_at = Some(*given_up_at);
            new_deliveries.push(Delivery { next_attempt_at, version: 1, ..new });
            continue;
        }
        tx.execute_deferred(
            "update delivery set next_attempt_at = :given_up_at, updated_at = :now, version = version + 1
             where account_id = :account and webhook_id = :webhook_id and id = :id and status = 'pending'",
            bind! { webhook_id, id: *id, given_up_at: *given_up_at },
        )?;
    }
    Ok(new_deliveries)
}

/// A new delivery without attempts.
fn new_delivery(
    tx: &Tx<'_>,
    webhook_id: WebhookId,
    message: &OutgoingMessage,
    created_at: Timestamp,
) -> Delivery {
    let (id, notification) =
        (message.delivery_for(webhook_id), (message.notification_id, message.sequence));
    let due = Delivery::new(tx, webhook_id, id, notification, &message.kind);
    Delivery { next_attempt_at: None, created_at, updated_at: created_at, version: 0, ..due }
}

/// The current bodies in the log of the notifications that have a response excerpt, by sequence number.
fn current_bodies(tx: &Tx<'_>, outcomes: &[Outcome]) -> Result<HashMap<i64, String>> {
    let with_excerpt = outcomes.iter().filter(|outcome| outcome.attempt.response_excerpt.is_some());
    let sequences: Vec<i64> = with_excerpt.filter_map(|outcome| outcome.message.sequence).collect();
    if sequences.is_empty() {
        return Ok(HashMap::new());
    }
    let bodies: Vec<(i64, String)> = tx.all(
        "select sequence, body from notification
         where account_id = :account and sequence in (:sequences)",
        bind! { sequences },
    )?;
    Ok(bodies.into_iter().collect())
}

/// Removes the response excerpt if the notification was changed in the log meanwhile. A response may repeat what was
/// sent, and personal data that was erased from the log must not be stored again.
fn redact_erased<'a>(outcome: &'a Outcome, bodies: &HashMap<i64, String>) -> Cow<'a, Outcome> {
    let (message, attempt) = (&outcome.message, &outcome.attempt);
    let (Some(_), Some(sequence)) = (&attempt.response_excerpt, message.sequence) else {
        return Cow::Borrowed(outcome);
    };
    if bodies.get(&sequence).is_some_and(|body| body.as_bytes() == message.body) {
        return Cow::Borrowed(outcome);
    }
    let attempt = Attempt { response_excerpt: None, ..attempt.clone() };
    Cow::Owned(Outcome { attempt, ..outcome.clone() })
}

/// A delivery with another attempt added.
fn with_attempt(
    mut delivery: Delivery,
    outcome: &Outcome,
    policy: &RetryPolicy,
    rng: &Rng,
) -> Delivery {
    let delay =
        usize::try_from(delivery.tries).ok().and_then(|tries| policy.retry_delays.get(tries));
    delivery.tries += 1;
    let Attempts(attempts) = &mut delivery.attempts;
    attempts.push(outcome.attempt.clone());
    if attempts.len() > MAX_STORED_ATTEMPTS {
        attempts.remove(0);
    }
    let ended_at = outcome.attempt.ended_at();
    (delivery.status, delivery.next_attempt_at) = match (outcome.verdict, delay) {
        (AttemptVerdict::Accepted, _) => (Status::Succeeded, None),
        // Another node may have delivered it while this attempt was in flight, or the webhook was enabled without a
        // replay.
        _ if delivery.status != Status::Pending => (delivery.status, None),
        (AttemptVerdict::Abort, _) | (_, None) => (Status::Failed, None),
        // Also for `Gone`: if the webhook could not be turned off, the retry gets the same status and tries that again.
        (verdict, Some(delay)) => {
            let retry_after = match verdict {
                AttemptVerdict::Retry(Some(time)) => time.min(MAX_RETRY_AFTER),
                _ => Duration::ZERO,
            };
            (Status::Pending, Some(ended_at.plus(with_jitter(*delay, rng).max(retry_after))))
        }
    };
    delivery.finished_at = (delivery.status != Status::Pending).then_some(ended_at);
    (delivery.updated_at, delivery.version) = (ended_at, delivery.version + 1);
    delivery
}

/// Stores what an attempt or a redelivery changes of a delivery.
pub fn update(tx: &Tx<'_>, delivery: &Delivery) -> Result<()> {
    tx.execute_deferred(
        "update delivery set status = :status, tries = :tries, attempts = :attempts,
             next_attempt_at = :next_attempt_at, finished_at = :finished_at,
             updated_at = :updated_at, version = :version
         where account_id = :account and webhook_id = :webhook_id and id = :id",
        &delivery.bind(),
    )
    .map_err(Error::from)
}

record! {
    /// The number of successful and failed attempts of a webhook in one hour.
    #[derive(Debug)]
    struct HourlyCount in webhook_hour {
        account_id: AccountId,
        webhook_id: WebhookId,
        hour: Timestamp,
        succeeded: i64,
        failed: i64,
    }
}

/// Adds the successful and failed attempts of webhooks to the counts of an hour.
pub fn add_hourly_counts(
    tx: &Tx<'_>,
    at: Timestamp,
    counts: &[(WebhookId, (i64, i64))],
) -> Result<()> {
    let (account_id, hour) = (tx.account(), truncate_to_hour(at));
    let non_zero = counts.iter().filter(|(_, (succeeded, failed))| succeeded + failed > 0);
    let hourly_count = |&(webhook_id, (succeeded, failed))| HourlyCount {
        account_id,
        webhook_id,
        hour,
        succeeded,
        failed,
    };
    let hours: Vec<_> = non_zero.map(hourly_count).collect();
    let rows: Vec<_> = hours.iter().map(HourlyCount::bind).collect();
    let add = sql!(
        HourlyCount::INSERT,
        " on conflict (account_id, webhook_id, hour) do update set
             succeeded = webhook_hour.succeeded + excluded.succeeded,
             failed = webhook_hour.failed + excluded.failed"
    );
    Ok(tx.execute_deferred_all(add, &rows)?)
}
