//! What became of attempts, written down together: the deliveries, how far the webhook has come in the log,
//! and how its receiver is doing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kit::{Dice, Timestamp};
use store::{Tx, bind, record, sql};

use super::delivery::{Attempt, Attempts, Delivery, Status, id_of};
use super::health::{Health, spread};
use super::webhook::Reason;
use crate::accounts::usage::hour_of;
use crate::error::{Error, Result};
use crate::ids::{AccountId, DeliveryId, NotificationId, WebhookId};

/// As many attempts as are kept of a delivery that is asked for again and again.
const REMEMBERED: usize = 20;
/// As long as a receiver can put off one delivery.
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

/// What is sent. Many are sent the same: kind and body are there once for all of them.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// The delivery it belongs to, if it was tried before.
    pub delivery: Option<DeliveryId>,
    /// Its number in the log; only a ping has none, and that has a delivery from the beginning.
    pub sequence: Option<i64>,
    pub notification_id: NotificationId,
    pub kind: Arc<str>,
    pub body: Bytes,
    /// Why it is not to be sent after all.
    pub barred: Option<&'static str>,
}

impl Parcel {
    /// The delivery to which it belongs, tried before or not.
    pub fn delivery_for(&self, webhook: WebhookId) -> DeliveryId {
        let of_log = || id_of(webhook, self.notification_id, self.sequence.unwrap_or_default());
        self.delivery.unwrap_or_else(of_log)
    }
}

/// What an attempt means for its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The receiver took it.
    Taken,
    /// It may go better later; the receiver may have said when.
    Later(Option<Duration>),
    /// The webhook has another address by now. It is tried there, and nothing is known of who is there.
    Moved,
    /// The receiver wants this one no more.
    Unwanted,
    /// The receiver is gone for good.
    Gone,
}

/// An attempt and what it means.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub parcel: Parcel,
    /// The address it was sent to.
    pub to: Arc<str>,
    pub attempt: Attempt,
    pub verdict: Verdict,
}

impl Outcome {
    /// When the attempt had ended.
    pub fn ended(&self) -> Timestamp {
        self.attempt.at.plus(Duration::from_millis(self.attempt.duration_ms.unsigned_abs()))
    }

    /// What it says of the receiver's health.
    pub fn tell(&self, health: &mut Health, dice: &Dice) {
        match self.verdict {
            Verdict::Taken => health.succeeded(self.ended()),
            Verdict::Later(asked) => health.failed(self.ended(), asked, dice),
            Verdict::Moved | Verdict::Unwanted | Verdict::Gone => {}
        }
    }
}

/// An attempt that takes long and goes on: what comes after it in the log does not wait for it.
#[derive(Debug, Clone)]
pub struct Begun {
    pub delivery: DeliveryId,
    pub parcel: Parcel,
    pub since: Timestamp,
    /// If nothing was heard of it by then, whoever was at it is gone, and it is tried again.
    pub given_up_at: Timestamp,
}

/// What happened to one webhook in a while.
#[derive(Debug, Clone)]
pub struct Report {
    pub webhook_id: WebhookId,
    /// In the order in which the attempts ended.
    pub outcomes: Vec<Outcome>,
    /// What is still under way.
    pub begun: Vec<Begun>,
    /// How far the webhook has come in the log.
    pub position: i64,
}

/// The rules by which it is tried again.
#[derive(Debug, Clone)]
pub struct Rules {
    pub retries: Vec<Duration>,
    pub patience: Duration,
}

/// Whether what is tried for the first time can have a delivery all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Nobody else has delivered it. If somebody has, nothing is written down.
    Not,
    /// Another node may have delivered some of it when this one could not be heard of for a while.
    Perhaps,
}

/// Writes reports down, each of another webhook. Says why each is to be turned off, if it is.
pub fn record(
    tx: &Tx<'_>,
    reports: &[Report],
    rules: &Rules,
    known: Known,
) -> Result<Vec<Option<Reason>>> {
    let reports = &*without_the_left(tx, reports)?;
    // First of all, so that nobody can delete one before the rest is written.
    let healths = advance(tx, reports)?;
    let (mut first, mut counted, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    for (report, health) in reports.iter().zip(healths) {
        let Some(health) = health else {
            reasons.push(None);
            continue;
        };
        first.extend(enter(tx, report.webhook_id, &report.outcomes, rules)?);
        first.extend(put_off(tx, report.webhook_id, &report.begun)?);
        counted.push((report.webhook_id, report.tally()));
        reasons.push(report.reason(&health, rules, tx.now()));
    }
    insert(tx, &first, known)?;
    count(tx, tx.now(), &counted)?;
    Ok(reasons)
}

/// Somebody may have given a webhook another address while something was under way: what the old one says of itself
/// does not count for the new one, which is tried like any that failed.
fn without_the_left<'a>(tx: &Tx<'_>, reports: &'a [Report]) -> Result<Cow<'a, [Report]>> {
    let ids: Vec<_> =
        reports.iter().filter(|one| !one.all_taken()).map(|one| one.webhook_id).collect();
    if ids.is_empty() {
        return Ok(Cow::Borrowed(reports));
    }
    hold(tx, &ids)?;
    let urls: Vec<(WebhookId, String)> = tx.all(
        "select id, url from webhook where account_id = :account and id in (:ids)",
        bind! { ids },
    )?;
    let urls: HashMap<_, _> = urls.into_iter().collect();
    let mut reports = reports.to_vec();
    for report in &mut reports {
        let Some(url) = urls.get(&report.webhook_id) else { continue };
        for outcome in report.outcomes.iter_mut().filter(|outcome| *outcome.to != **url) {
            if matches!(outcome.verdict, Verdict::Gone | Verdict::Later(_)) {
                outcome.verdict = Verdict::Moved;
            }
        }
    }
    Ok(Cow::Owned(reports))
}

/// Nobody else changes these webhooks until this is written down. Says how many of them there are.
fn hold(tx: &Tx<'_>, ids: &[WebhookId]) -> Result<u64> {
    Ok(tx.run(
        "update webhook set position = position where account_id = :account and id in (:ids)",
        bind! { ids: ids.to_vec() },
    )?)
}

impl Report {
    fn all_taken(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.verdict == Verdict::Taken)
    }

    /// How many attempts went well and how many failed.
    fn tally(&self) -> (i64, i64) {
        let sum = |taken: bool| {
            let verdicts = self.outcomes.iter().map(|outcome| outcome.verdict);
            verdicts.map(|verdict| i64::from((verdict == Verdict::Taken) == taken)).sum()
        };
        (sum(true), sum(false))
    }

    /// Why the webhook is to be turned off, if it is.
    fn reason(&self, health: &Health, rules: &Rules, now: Timestamp) -> Option<Reason> {
        let verdicts = || self.outcomes.iter().map(|outcome| outcome.verdict);
        if verdicts().any(|verdict| verdict == Verdict::Gone) {
            return Some(Reason::Gone);
        }
        // Whether it still fails is known only where it was tried.
        let tried = verdicts().any(|verdict| matches!(verdict, Verdict::Later(_)));
        let hopeless = |since: Timestamp| since.plus(rules.patience) <= now;
        let failing = tried && health.failing_since.is_some_and(hopeless);
        failing.then_some(Reason::Failing)
    }
}

/// Keeps how far webhooks have come and how their receivers are doing now. `None` where the webhook was deleted while
/// this was under way: there is nobody to remember it for.
fn advance(tx: &Tx<'_>, reports: &[Report]) -> Result<Vec<Option<Health>>> {
    let mut well: BTreeMap<i64, Vec<WebhookId>> = BTreeMap::new();
    for report in reports.iter().filter(|report| report.all_taken()) {
        well.entry(report.position).or_default().push(report.webhook_id);
    }
    let mut gone_on = HashSet::new();
    for (position, ids) in well {
        if go_on(tx, &ids, position)? {
            gone_on.extend(ids);
        }
    }
    let one = |report: &Report| {
        let well = gone_on.contains(&report.webhook_id);
        if well { Ok(Some(Health::default())) } else { advance_one(tx, report) }
    };
    reports.iter().map(one).collect()
}

fn advance_one(tx: &Tx<'_>, report: &Report) -> Result<Option<Health>> {
    let id = report.webhook_id;
    if hold(tx, &[id])? == 0 {
        return Ok(None);
    }
    let before: Health = tx.one(
        "select failures, failing_since, resting_until, recovered_at from webhook
         where account_id = :account and id = :id",
        bind! { id },
    )?;
    let mut health = before;
    for outcome in &report.outcomes {
        outcome.tell(&mut health, tx.dice());
    }
    Ok(keep(tx, id, &before, &health, report.position)?.then_some(health))
}

/// Keeps how far webhooks have come whose receivers were well and still are: mostly that is all there is to keep. Says
/// whether it is so with all of them.
fn go_on(tx: &Tx<'_>, ids: &[WebhookId], position: i64) -> Result<bool> {
    let kept = tx.run(
        "update webhook set
             position = case when position < :position then :position else position end
         where account_id = :account and id in (:ids)
           and failures = 0 and failing_since is null and resting_until is null",
        bind! { ids: ids.to_vec(), position },
    )?;
    Ok(kept == ids.len() as u64)
}

/// Enters attempts into their deliveries. Says which deliveries are new.
fn enter(
    tx: &Tx<'_>,
    webhook_id: WebhookId,
    outcomes: &[Outcome],
    rules: &Rules,
) -> Result<Vec<Delivery>> {
    let bodies = bodies(tx, outcomes)?;
    let mut first = Vec::new();
    for outcome in outcomes {
        let outcome = without_the_erased(outcome, &bodies);
        let Some(id) = outcome.parcel.delivery else {
            let new = new_delivery(tx, webhook_id, &outcome.parcel, outcome.attempt.at);
            first.push(after(new, &outcome, rules, tx.dice()));
            continue;
        };
        let before = match super::delivery::find_of(tx, webhook_id, id) {
            Err(error) if error.code == crate::error::Code::NotFound => continue,
            found => found?,
        };
        update(tx, &after(before, &outcome, rules, tx.dice()))?;
    }
    Ok(first)
}

/// Looking whether each of them is there costs a database server as much as writing it down.
fn insert(tx: &Tx<'_>, first: &[Delivery], known: Known) -> Result<()> {
    let rows: Vec<_> = first.iter().map(Delivery::bind).collect();
    let text = match known {
        Known::Not => Delivery::INSERT,
        Known::Perhaps => sql!(Delivery::INSERT, " on conflict do nothing"),
    };
    Ok(tx.later_all(text, &rows)?)
}

/// Puts off what is under way, so that nobody else tries it meanwhile. Says which deliveries are new.
fn put_off(tx: &Tx<'_>, webhook_id: WebhookId, begun: &[Begun]) -> Result<Vec<Delivery>> {
    let mut first = Vec::new();
    for Begun { delivery: id, parcel, since, given_up_at } in begun {
        if parcel.delivery.is_none() {
            let (next_attempt_at, version) = (Some(*given_up_at), 1);
            let new = new_delivery(tx, webhook_id, parcel, *since);
            first.push(Delivery { next_attempt_at, version, ..new });
            continue;
        }
        tx.later(
            "update delivery set next_attempt_at = :given_up_at, updated_at = :now, version = version + 1
             where account_id = :account and webhook_id = :webhook_id and id = :id and status = 'pending'",
            bind! { webhook_id, id: *id, given_up_at: *given_up_at },
        )?;
    }
    Ok(first)
}

/// The delivery of what is tried for the first time, before that.
fn new_delivery(
    tx: &Tx<'_>,
    webhook_id: WebhookId,
    parcel: &Parcel,
    created_at: Timestamp,
) -> Delivery {
    Delivery {
        id: parcel.delivery_for(webhook_id),
        account_id: tx.account(),
        webhook_id,
        sequence: parcel.sequence,
        notification_id: parcel.notification_id,
        kind: parcel.kind.to_string(),
        body: None,
        status: Status::Pending,
        tries: 0,
        attempts: Attempts::default(),
        next_attempt_at: None,
        created_at,
        finished_at: None,
        updated_at: created_at,
        version: 0,
    }
}

/// What stands in the log now of that to which receivers answered something, by its number.
fn bodies(tx: &Tx<'_>, outcomes: &[Outcome]) -> Result<HashMap<i64, String>> {
    let answered = outcomes.iter().filter(|outcome| outcome.attempt.response_excerpt.is_some());
    let sequences: Vec<i64> = answered.filter_map(|outcome| outcome.parcel.sequence).collect();
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

/// An answer may repeat what was sent: whoever was erased from the log meanwhile must not come back by it.
fn without_the_erased<'a>(outcome: &'a Outcome, bodies: &HashMap<i64, String>) -> Cow<'a, Outcome> {
    let (parcel, attempt) = (&outcome.parcel, &outcome.attempt);
    let (Some(_), Some(sequence)) = (&attempt.response_excerpt, parcel.sequence) else {
        return Cow::Borrowed(outcome);
    };
    if bodies.get(&sequence).is_some_and(|body| body.as_bytes() == parcel.body) {
        return Cow::Borrowed(outcome);
    }
    let attempt = Attempt { response_excerpt: None, ..attempt.clone() };
    Cow::Owned(Outcome { attempt, ..outcome.clone() })
}

/// A delivery after one more attempt.
fn after(mut delivery: Delivery, outcome: &Outcome, rules: &Rules, dice: &Dice) -> Delivery {
    let wait = usize::try_from(delivery.tries).ok().and_then(|tries| rules.retries.get(tries));
    delivery.tries += 1;
    let Attempts(attempts) = &mut delivery.attempts;
    attempts.push(outcome.attempt.clone());
    if attempts.len() > REMEMBERED {
        attempts.remove(0);
    }
    let ended = outcome.ended();
    (delivery.status, delivery.next_attempt_at) = match (outcome.verdict, wait) {
        (Verdict::Taken, _) => (Status::Succeeded, None),
        // Another node may have delivered it, or somebody given it up, while this was under way.
        _ if delivery.status != Status::Pending => (delivery.status, None),
        (Verdict::Unwanted, _) | (_, None) => (Status::Failed, None),
        // Where the receiver is gone for good, that comes to light once more if the webhook could not be turned off.
        (verdict, Some(wait)) => {
            let asked = match verdict {
                Verdict::Later(Some(time)) => time.min(LONGEST_WAIT),
                _ => Duration::ZERO,
            };
            (Status::Pending, Some(ended.plus(spread(*wait, dice).max(asked))))
        }
    };
    delivery.finished_at = (delivery.status != Status::Pending).then_some(ended);
    (delivery.updated_at, delivery.version) = (ended, delivery.version + 1);
    delivery
}

/// Keeps what has changed of a delivery.
pub fn update(tx: &Tx<'_>, delivery: &Delivery) -> Result<()> {
    tx.later(
        "update delivery set status = :status, tries = :tries, attempts = :attempts,
             next_attempt_at = :next_attempt_at, finished_at = :finished_at,
             updated_at = :updated_at, version = :version
         where account_id = :account and webhook_id = :webhook_id and id = :id",
        &delivery.bind(),
    )
    .map_err(Error::from)
}

record! {
    /// How attempts of a webhook went in an hour.
    #[derive(Debug)]
    struct Tally in webhook_hour {
        account_id: AccountId,
        webhook_id: WebhookId,
        hour: Timestamp,
        succeeded: i64,
        failed: i64,
    }
}

/// Counts attempts of webhooks, those that went well and those that failed, by the hour.
pub fn count(tx: &Tx<'_>, at: Timestamp, counted: &[(WebhookId, (i64, i64))]) -> Result<()> {
    let (account_id, hour) = (tx.account(), hour_of(at));
    let some = counted.iter().filter(|(_, (succeeded, failed))| succeeded + failed > 0);
    let hours: Vec<_> = some
        .map(|&(webhook_id, (succeeded, failed))| Tally {
            account_id,
            webhook_id,
            hour,
            succeeded,
            failed,
        })
        .collect();
    let rows: Vec<_> = hours.iter().map(Tally::bind).collect();
    let add = sql!(
        Tally::INSERT,
        " on conflict (account_id, webhook_id, hour) do update set
             succeeded = webhook_hour.succeeded + excluded.succeeded,
             failed = webhook_hour.failed + excluded.failed"
    );
    Ok(tx.later_all(add, &rows)?)
}

/// Keeps how far the webhook has come and how its receiver is doing. It never goes back: meanwhile somebody may
/// have turned it off and on again, to go on with what is new. That it began or ceased to fail can be seen from
/// outside, so it is a new version. Says whether there is such a webhook.
fn keep(
    tx: &Tx<'_>,
    id: WebhookId,
    before: &Health,
    health: &Health,
    position: i64,
) -> Result<bool> {
    let seen = before.failing_since.is_some() != health.failing_since.is_some();
    let Health { failures, failing_since, resting_until, recovered_at } = *health;
    let kept = tx.run(
        "update webhook set
             position = case when position < :position then :position else position end,
             failures = :failures, failing_since = :failing_since,
             resting_until = :resting_until, recovered_at = :recovered_at,
             version = version + :seen
         where account_id = :account and id = :id",
        bind! { id, position, failures, failing_since, resting_until, recovered_at, seen: i64::from(seen) },
    )?;
    Ok(kept > 0)
}
