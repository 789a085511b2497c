//! The delivery worker of one webhook: finds what is due, sends it and records the outcomes, until nothing is due.
//!
//! Notifications are numbered without gaps in the account's log, and a webhook stores its position in the log. The
//! outcomes and the new position are recorded together, after sending. If the process dies in between, the same
//! notifications are sent again with the same ids. None is skipped.
//!
//! An attempt that takes long is recorded as running, and the worker continues with the next notifications. If the
//! process dies, that attempt is retried at a time when it must have ended.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::concurrency_limiter::SLOW_AFTER;
use super::in_flight::{InFlight, MAX_SEND_TIME, SendResult};
use super::plan::{BATCH, Idle, LARGE_BATCH, Plan, PlanQuery, SendBatch};
use super::plan_batcher::fetch_plan;
use super::report_writer::PendingWrite;
use super::{Dispatcher, SLOW_POLL_INTERVAL};
use crate::prelude::*;
use crate::webhooks::outcome::{Outcome, Report};
use crate::webhooks::replay;
use crate::webhooks::webhook::Reason;

/// The actor in whose name the dispatcher reads and writes.
pub(super) const ACTOR: &str = "dispatch";

/// One webhook of one account, and the last sequence number of the log that was scanned for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliveryJob {
    pub account: AccountId,
    pub webhook: WebhookId,
    pub slot: i64,
    pub scanned_to: i64,
}

impl DeliveryJob {
    pub(super) fn scope(&self) -> Scope {
        Scope::account(self.account, ACTOR).in_own_lane("webhooks")
    }
}

/// The delivery worker of one webhook.
pub(super) struct DeliveryWorker {
    dispatcher: Arc<Dispatcher>,
    job: DeliveryJob,
    /// Notified when there may be more to send.
    wake: Arc<Notify>,
    in_flight: InFlight,
    pending_write: PendingWrite,
    /// The next plan, if it was read while the current one was being sent.
    prefetched_plan: Option<Plan>,
    /// The last sequence number of the log that was scanned.
    scanned_to: i64,
    /// How many notifications to read at once.
    batch_size: i64,
}

impl DeliveryWorker {
    pub(super) fn new(dispatcher: Arc<Dispatcher>, job: DeliveryJob, wake: Arc<Notify>) -> Self {
        Self {
            in_flight: InFlight::new(dispatcher.clone(), job),
            dispatcher,
            job,
            wake,
            pending_write: PendingWrite::default(),
            prefetched_plan: None,
            scanned_to: job.scanned_to,
            batch_size: BATCH,
        }
    }

    /// Delivers until nothing is due and nothing is in flight. Returns when to run again, and the last sequence number
    /// that was scanned.
    pub(super) async fn run(mut self) -> Result<Idle> {
        let until = self.run_until_idle().await;
        // Attempts in flight are not cancelled, even after an error.
        let drained = self.drain().await;
        let until = until?;
        drained?;
        Ok(Idle { until, scanned_to: self.scanned_to })
    }

    /// Delivers until nothing is due. Returns when to run again; attempts may still be in flight.
    async fn run_until_idle(&mut self) -> Result<Option<Timestamp>> {
        while !self.dispatcher.app.is_stopping() {
            let plan = match self.prefetched_plan.take() {
                Some(plan) => plan,
                None => self.fetch_plan().await?,
            };
            let turn_off = match plan {
                Plan::Send(batch) if self.in_flight.has_room(&batch) => {
                    match self.send(*batch).await? {
                        AfterSend::Continue => None,
                        AfterSend::TurnOff(reason) => Some(reason),
                        AfterSend::Idle(idle) => return Ok(self.go_idle(idle)),
                        AfterSend::Stop => return Ok(None),
                    }
                }
                // The concurrency limit is used up by long-running attempts.
                Plan::Send(_) if self.in_flight.limiter.is_speed_known() => {
                    self.wait_and_record().await?
                }
                // Only one attempt at a time until the receiver's speed is known.
                Plan::Send(_) => match timeout(SLOW_AFTER, self.in_flight.wait_finished()).await {
                    Ok(outcomes) => self.record_outcomes(outcomes).await?,
                    Err(_) => None,
                },
                Plan::Wait(idle) if self.in_flight.is_empty() => return Ok(self.go_idle(idle)),
                Plan::Wait(idle) => self.wait(idle.until).await?,
                Plan::TurnOff(reason) => Some(reason),
                Plan::Replay => {
                    self.pending_write.wait().await?;
                    let id = self.job.webhook;
                    let step = move |tx: &store::Tx<'_>| replay::step(tx, id);
                    self.dispatcher.app.db.write(self.job.scope(), step).await?;
                    None
                }
            };
            if let Some(reason) = turn_off {
                self.turn_off(reason).await?;
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn go_idle(&mut self, idle: Idle) -> Option<Timestamp> {
        self.scanned_to = idle.scanned_to;
        idle.until
    }

    async fn turn_off(&mut self, reason: Reason) -> Result<()> {
        self.pending_write.wait().await?;
        self.dispatcher.turn_off(self.job.account, self.job.webhook, reason).await
    }

    async fn fetch_plan(&mut self) -> Result<Plan> {
        let query = PlanQuery {
            scanned_to: self.scanned_to,
            batch_size: self.batch_size,
            in_flight: self.in_flight.detached_ids(),
        };
        fetch_plan(&self.dispatcher, self.job, query).await
    }

    /// Sends a batch and records the outcomes.
    async fn send(&mut self, batch: SendBatch) -> Result<AfterSend> {
        let (sent, next) = self.send_and_prefetch(&batch).await?;
        self.pending_write.wait().await?;
        let (all_accepted, lease_lost) = (sent.is_all_accepted(&batch), sent.lease_lost);
        let position =
            if all_accepted { batch.position } else { reached_position(&batch, &sent.ids()) };
        if !batch.messages.is_empty() && sent.is_empty() {
            return Ok(AfterSend::Stop);
        }
        self.scanned_to = self.scanned_to.max(position);
        let SendResult { outcomes, running, .. } = sent;
        let webhook_id = self.job.webhook;
        let report = Report { webhook_id, outcomes, running, position };
        self.pending_write = PendingWrite::start(&self.dispatcher, self.job, report);
        if all_accepted && batch.then_idle.is_none() {
            // Nothing in this batch can need a retry, so the next batch is sent while this one is being recorded.
            (self.prefetched_plan, self.batch_size) = (next, LARGE_BATCH);
            return Ok(AfterSend::Continue);
        }
        self.batch_size = BATCH;
        if let Some(reason) = self.pending_write.wait().await? {
            return Ok(AfterSend::TurnOff(reason));
        }
        Ok(match batch.then_idle {
            _ if lease_lost => AfterSend::Stop,
            Some(idle) if all_accepted && self.in_flight.is_empty() => AfterSend::Idle(idle),
            _ => AfterSend::Continue,
        })
    }

    /// Sends a batch and meanwhile reads the next plan, if this batch is likely to succeed. A plan that was read too
    /// long ago is dropped: the webhook may have been changed or deleted since.
    async fn send_and_prefetch(&mut self, batch: &SendBatch) -> Result<(SendResult, Option<Plan>)> {
        if batch.then_idle.is_some() || !batch.is_first_attempt() || !self.in_flight.is_empty() {
            return Ok((self.in_flight.send(batch).await?, None));
        }
        let started = Instant::now();
        let query = PlanQuery {
            scanned_to: batch.position,
            batch_size: LARGE_BATCH,
            in_flight: Vec::new(),
        };
        let next = fetch_plan(&self.dispatcher, self.job, query);
        let (sent, next) = tokio::join!(self.in_flight.send(batch), next);
        Ok((sent?, next.ok().filter(|_| started.elapsed() < MAX_SEND_TIME / 10)))
    }

    /// Waits until a detached attempt has ended, the worker is woken, or the time has come. Returns why the webhook is
    /// to be turned off, if it is.
    async fn wait(&mut self, until: Option<Timestamp>) -> Result<Option<Reason>> {
        // Whatever is already due is in flight.
        let until = until.filter(|at| *at > self.dispatcher.app.clock.now());
        let time = until.map_or(SLOW_POLL_INTERVAL, |at| self.dispatcher.time_until(at));
        let outcomes = tokio::select! {
            outcomes = self.in_flight.wait_finished() => outcomes,
            () = self.wake.notified() => return Ok(None),
            () = tokio::time::sleep(time) => return Ok(None),
        };
        self.record_outcomes(outcomes).await
    }

    /// Waits until a detached attempt has ended, and records its outcome.
    async fn wait_and_record(&mut self) -> Result<Option<Reason>> {
        let outcomes = self.in_flight.wait_finished().await;
        self.record_outcomes(outcomes).await
    }

    /// Records the outcomes of detached attempts.
    async fn record_outcomes(&mut self, outcomes: Vec<Outcome>) -> Result<Option<Reason>> {
        self.pending_write.wait().await?;
        let (webhook_id, running) = (self.job.webhook, Vec::new());
        // The webhook's position is already past these.
        let report = Report { webhook_id, outcomes, running, position: 0 };
        self.pending_write = PendingWrite::start(&self.dispatcher, self.job, report);
        self.pending_write.wait().await
    }

    /// Waits for everything in flight, without starting anything new.
    async fn drain(&mut self) -> Result<()> {
        let mut result = self.pending_write.wait().await.map(drop);
        while !self.in_flight.is_empty() {
            let recorded = match self.wait_and_record().await {
                Ok(Some(reason)) => self.turn_off(reason).await,
                other => other.map(drop),
            };
            result = result.and(recorded);
        }
        result
    }
}

/// What to do after a batch.
enum AfterSend {
    /// Read the next plan.
    Continue,
    TurnOff(Reason),
    /// Nothing is due until then.
    Idle(Idle),
    /// Stop: the service is shutting down, or another node serves the webhook now.
    Stop,
}

/// The webhook's new position in the log: just before the first notification that was not sent.
fn reached_position(batch: &SendBatch, sent: &HashSet<NotificationId>) -> i64 {
    let first_attempts = batch.messages.iter().filter(|message| message.delivery.is_none());
    let mut position = batch.webhook.position;
    for message in first_attempts {
        if !sent.contains(&message.notification_id) {
            return position;
        }
        position = message.sequence.unwrap_or(position);
    }
    batch.position
}
