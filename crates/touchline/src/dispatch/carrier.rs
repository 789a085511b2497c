//! The carrier of one webhook: looks what is due, sends it, writes down what came of it, until nothing is due.
//!
//! What happened stands in the account's log, numbered without a gap, and a webhook has come so far in it. What
//! was sent and how far the webhook has come are written down together, afterwards: a process that dies in
//! between sends the same again, under the same id. Nothing is skipped.
//!
//! What takes long is written down as begun and goes on beside what comes after it. If the process dies, it is tried
//! again once it would have ended for certain.

use std::collections::HashSet;
use std::sync::Arc;

use kit::Timestamp;
use store::Scope;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::looking::look;
use super::places::MOMENT;
use super::plan::{BATCH, LARGE_BATCH, Load, Look, Plan, Rest};
use super::road::{Road, STRETCH, Sent};
use super::writing::Writing;
use super::{Dispatcher, LOOK_SELDOM};
use crate::error::Result;
use crate::ids::{AccountId, NotificationId, WebhookId};
use crate::webhooks::outcome::{Outcome, Report};
use crate::webhooks::replay;
use crate::webhooks::webhook::Reason;

/// Who delivers.
pub(super) const ACTOR: &str = "dispatch";

/// One webhook of one account, and how far it was looked through the log for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errand {
    pub account: AccountId,
    pub webhook: WebhookId,
    pub slot: i64,
    pub seen: i64,
}

impl Errand {
    pub(super) fn scope(&self) -> Scope {
        Scope::account(self.account, ACTOR).beside("webhooks")
    }
}

/// The carrier of one webhook.
pub(super) struct Carrier {
    post: Arc<Dispatcher>,
    errand: Errand,
    /// Rings when there may be more to do.
    called: Arc<Notify>,
    road: Road,
    writing: Writing,
    /// What was looked up while something was sent.
    ahead: Option<Plan>,
    /// How far the log was looked at.
    seen: i64,
    /// How many notifications are looked at together.
    many: i64,
}

impl Carrier {
    pub(super) fn new(post: Arc<Dispatcher>, errand: Errand, called: Arc<Notify>) -> Self {
        let road = Road::new(post.clone(), errand);
        let (writing, ahead, seen) = (Writing::default(), None, errand.seen);
        Self { post, errand, called, road, writing, ahead, seen, many: BATCH }
    }

    /// Carries until nothing is due and nothing under way. Says when to come again and how far the log was looked at.
    pub(super) async fn carry(mut self) -> Result<Rest> {
        let rest = self.go_on().await;
        // Whatever went wrong, what is under way is not cut off.
        let left = self.finish().await;
        let until = rest?;
        left?;
        Ok(Rest { until, seen: self.seen })
    }

    /// Carries until nothing is due. Says when to come again; something may still be under way.
    async fn go_on(&mut self) -> Result<Option<Timestamp>> {
        while !self.post.app.is_stopping() {
            let plan = match self.ahead.take() {
                Some(plan) => plan,
                None => self.look().await?,
            };
            let off = match plan {
                Plan::Send(load) if self.road.has_room(&load) => match self.send(*load).await? {
                    Next::Look => None,
                    Next::TurnOff(reason) => Some(reason),
                    Next::Rest(rest) => return Ok(self.rested(rest)),
                    Next::Leave => return Ok(None),
                },
                // As many take long as may be under way at once.
                Plan::Send(_) if self.road.is_known() => self.hear().await?,
                // One only, until it is known how long the receiver takes.
                Plan::Send(_) => match timeout(MOMENT, self.road.ended()).await {
                    Ok(outcomes) => self.note(outcomes).await?,
                    Err(_) => None,
                },
                Plan::Wait(rest) if self.road.is_empty() => return Ok(self.rested(rest)),
                Plan::Wait(rest) => self.wait(rest.until).await?,
                Plan::TurnOff(reason) => Some(reason),
                Plan::Replay => {
                    self.writing.done().await?;
                    let id = self.errand.webhook;
                    let step = move |tx: &store::Tx<'_>| replay::step(tx, id);
                    self.post.app.db.write(self.errand.scope(), step).await?;
                    None
                }
            };
            if let Some(reason) = off {
                self.turn_off(reason).await?;
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn rested(&mut self, rest: Rest) -> Option<Timestamp> {
        self.seen = rest.seen;
        rest.until
    }

    async fn turn_off(&mut self, reason: Reason) -> Result<()> {
        self.writing.done().await?;
        self.post.turn_off(self.errand.account, self.errand.webhook, reason).await
    }

    async fn look(&mut self) -> Result<Plan> {
        let (seen, many, under_way) = (self.seen, self.many, self.road.left());
        look(&self.post, self.errand, Look { seen, many, under_way }).await
    }

    /// Sends a load and writes down what became of it.
    async fn send(&mut self, load: Load) -> Result<Next> {
        let (sent, next) = self.send_and_look(&load).await?;
        self.writing.done().await?;
        let (all_taken, lost) = (sent.is_all_taken(&load), sent.lost);
        let position = if all_taken { load.position } else { reached(&load, &sent.ids()) };
        if !load.parcels.is_empty() && sent.is_empty() {
            return Ok(Next::Leave);
        }
        self.seen = self.seen.max(position);
        let Sent { outcomes, begun, .. } = sent;
        let webhook_id = self.errand.webhook;
        let report = Report { webhook_id, outcomes, begun, position };
        self.writing = Writing::begin(&self.post, self.errand, report);
        if all_taken && load.last.is_none() {
            // Nothing of this can be due again: the next can go out while it is written down.
            (self.ahead, self.many) = (next, LARGE_BATCH);
            return Ok(Next::Look);
        }
        self.many = BATCH;
        if let Some(reason) = self.writing.done().await? {
            return Ok(Next::TurnOff(reason));
        }
        Ok(match load.last {
            _ if lost => Next::Leave,
            Some(rest) if all_taken && self.road.is_empty() => Next::Rest(rest),
            _ => Next::Look,
        })
    }

    /// Sends, and looks meanwhile what comes next, if it is likely that all goes well. What was looked up is of no
    /// use once it is old: the webhook may be gone.
    async fn send_and_look(&mut self, load: &Load) -> Result<(Sent, Option<Plan>)> {
        if load.last.is_some() || !load.is_new() || !self.road.is_empty() {
            return Ok((self.road.send(load).await?, None));
        }
        let began = Instant::now();
        let ahead = Look { seen: load.position, many: LARGE_BATCH, under_way: Vec::new() };
        let next = look(&self.post, self.errand, ahead);
        let (sent, next) = tokio::join!(self.road.send(load), next);
        Ok((sent?, next.ok().filter(|_| began.elapsed() < STRETCH / 10)))
    }

    /// Waits until something that was left under way has ended, somebody calls, or it is time. Says why the webhook
    /// is to be turned off, if it is.
    async fn wait(&mut self, until: Option<Timestamp>) -> Result<Option<Reason>> {
        // What is due by now is what is under way.
        let until = until.filter(|at| *at > self.post.app.clock.now());
        let time = until.map_or(LOOK_SELDOM, |at| self.post.until(at));
        let outcomes = tokio::select! {
            outcomes = self.road.ended() => outcomes,
            () = self.called.notified() => return Ok(None),
            () = tokio::time::sleep(time) => return Ok(None),
        };
        self.note(outcomes).await
    }

    /// Waits until something that was left under way has ended.
    async fn hear(&mut self) -> Result<Option<Reason>> {
        let outcomes = self.road.ended().await;
        self.note(outcomes).await
    }

    /// Writes down what became of what was left under way.
    async fn note(&mut self, outcomes: Vec<Outcome>) -> Result<Option<Reason>> {
        self.writing.done().await?;
        let (webhook_id, begun) = (self.errand.webhook, Vec::new());
        // The webhook has come beyond it already.
        let report = Report { webhook_id, outcomes, begun, position: 0 };
        self.writing = Writing::begin(&self.post, self.errand, report);
        self.writing.done().await
    }

    /// Begins nothing more, and waits for what is under way.
    async fn finish(&mut self) -> Result<()> {
        let mut written = self.writing.done().await.map(drop);
        while !self.road.is_empty() {
            let heard = match self.hear().await {
                Ok(Some(reason)) => self.turn_off(reason).await,
                heard => heard.map(drop),
            };
            written = written.and(heard);
        }
        written
    }
}

/// What comes after a load.
enum Next {
    Look,
    TurnOff(Reason),
    /// Nothing is to be done until then.
    Rest(Rest),
    /// The webhook is another node's by now.
    Leave,
}

/// How far a webhook has come: up to the first number that was not sent.
fn reached(load: &Load, sent: &HashSet<NotificationId>) -> i64 {
    let fresh = load.parcels.iter().filter(|parcel| parcel.delivery.is_none());
    let mut come = load.webhook.position;
    for parcel in fresh {
        if !sent.contains(&parcel.notification_id) {
            return come;
        }
        come = parcel.sequence.unwrap_or(come);
    }
    load.position
}
