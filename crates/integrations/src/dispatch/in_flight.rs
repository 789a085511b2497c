//! The attempts in flight to one webhook. Several are sent at once, and one that takes long does not delay the next.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use http::{HeaderMap, HeaderName};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::Dispatcher;
use super::client::ReceiverResponse;
use super::concurrency_limiter::{Permit, WebhookLimiter};
use super::delivery_worker::DeliveryJob;
use super::plan::SendBatch;
use crate::prelude::*;
use crate::webhooks::delivery::Attempt;
use crate::webhooks::health::Health;
use crate::webhooks::outcome::{AttemptVerdict, Outcome, OutgoingMessage, RunningAttempt};
use crate::webhooks::signature::{Secret, Signer};

/// After this time no more of a batch is started. The outcomes are recorded and the webhook is read again: it may have
/// been deleted or turned off, or have another URL.
pub(super) const MAX_SEND_TIME: Duration = Duration::from_millis(500);

/// The attempts in flight to one webhook.
pub(super) struct InFlight {
    dispatcher: Arc<Dispatcher>,
    job: DeliveryJob,
    pub(super) limiter: Arc<WebhookLimiter>,
    /// A permit for the next attempt.
    spare_permit: Option<Permit>,
    /// Waits for such a permit.
    permit_wait: Option<BoxFuture<'static, Permit>>,
    /// The attempts of the current batch.
    current: FuturesUnordered<BoxFuture<'static, FinishedAttempt>>,
    /// Long-running attempts of earlier batches. They are tasks of their own, so they continue whatever the worker
    /// does.
    detached: JoinSet<FinishedAttempt>,
    /// Attempts that take long report that here, with the time when they started.
    slow_tx: mpsc::UnboundedSender<(NotificationId, Timestamp)>,
    slow_rx: mpsc::UnboundedReceiver<(NotificationId, Timestamp)>,
    /// The long-running attempts of the current batch, and when they started.
    slow: HashMap<NotificationId, Timestamp>,
    /// The deliveries of the detached attempts, which are recorded as running.
    detached_deliveries: HashMap<NotificationId, DeliveryId>,
}

/// An attempt that has ended.
struct FinishedAttempt {
    id: NotificationId,
    /// `None` if it was not sent because this node has lost the webhook's slot.
    outcome: Option<Outcome>,
    /// Its permit, if the next attempt may reuse it.
    permit: Option<Permit>,
}

/// The result of sending a batch.
#[derive(Default)]
pub(super) struct SendResult {
    /// The attempts that ended meanwhile, in this order, including detached ones of earlier batches.
    pub outcomes: Vec<Outcome>,
    /// The long-running attempts of the batch, which are still in flight.
    pub running: Vec<RunningAttempt>,
    /// Whether this node has lost the webhook's slot.
    pub lease_lost: bool,
}

impl SendResult {
    pub(super) fn is_empty(&self) -> bool {
        self.outcomes.is_empty() && self.running.is_empty()
    }

    /// The notifications that were sent, whether or not their attempts have ended.
    pub(super) fn ids(&self) -> HashSet<NotificationId> {
        let ended = self.outcomes.iter().map(|outcome| outcome.message.notification_id);
        ended.chain(self.running.iter().map(|running| running.message.notification_id)).collect()
    }

    /// Whether the whole batch was sent for the first time and accepted, so that nothing in it can need a retry.
    pub(super) fn is_all_accepted(&self, batch: &SendBatch) -> bool {
        // Outcomes of earlier batches have a delivery id, so they make this false.
        self.outcomes.len() == batch.messages.len()
            && batch.is_first_attempt()
            && self.outcomes.iter().all(|outcome| {
                outcome.verdict == AttemptVerdict::Accepted && outcome.message.delivery.is_none()
            })
    }
}

/// What all requests to a webhook have in common: the URL and the signing keys.
struct RequestTemplate {
    url: Arc<str>,
    signers: Vec<Signer>,
}

impl InFlight {
    pub(super) fn new(dispatcher: Arc<Dispatcher>, job: DeliveryJob) -> Self {
        let (slow_tx, slow_rx) = mpsc::unbounded_channel();
        Self {
            limiter: dispatcher.limiter.for_webhook(job.account, job.webhook),
            dispatcher,
            job,
            spare_permit: None,
            permit_wait: None,
            current: FuturesUnordered::new(),
            detached: JoinSet::new(),
            slow_tx,
            slow_rx,
            slow: HashMap::new(),
            detached_deliveries: HashMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many attempts are in flight.
    fn len(&self) -> usize {
        self.current.len() + self.detached.len()
    }

    /// The notifications of the detached attempts.
    pub(super) fn detached_ids(&self) -> Vec<NotificationId> {
        self.detached_deliveries.keys().copied().collect()
    }

    /// Whether a message of this batch can be sent now.
    pub(super) fn has_room(&self, batch: &SendBatch) -> bool {
        self.len() < self.max_concurrency(batch, &batch.webhook.health())
    }

    /// How many attempts may be in flight at once.
    fn max_concurrency(&self, batch: &SendBatch, health: &Health) -> usize {
        // One at a time until the receiver's speed is known, so that hanging receivers do not use up all permits.
        let one_at_a_time = batch.is_strict() || !self.limiter.is_speed_known();
        if one_at_a_time { 1 } else { health.max_concurrency(self.dispatcher.app.clock.now()) }
    }

    /// Sends messages in their order, several at once, until all attempts have ended except the long-running ones.
    /// Starts nothing more when the receiver becomes unhealthy or this node loses the webhook's slot.
    pub(super) async fn send(&mut self, batch: &SendBatch) -> Result<SendResult> {
        let template = self.request_template(batch)?;
        let mut sent = SendResult::default();
        let mut health = batch.webhook.health();
        let mut waiting = batch.messages.iter();
        let (started, mut next_start) = (Instant::now(), Instant::now());
        let mut stopped = false;
        loop {
            let now = self.dispatcher.app.clock.now();
            let any_started = waiting.len() < batch.messages.len();
            stopped |= self.dispatcher.app.is_stopping()
                || (any_started && started.elapsed() > MAX_SEND_TIME)
                || health.paused_until.is_some_and(|until| until > now);
            while !stopped && waiting.len() > 0 && self.len() < self.max_concurrency(batch, &health)
            {
                let Some(permit) = self.next_permit(&mut next_start, health.min_interval(now))
                else {
                    break;
                };
                let Some(message) = waiting.next() else { break };
                self.start(permit, template.clone(), message.clone());
            }
            // Permits that are not needed are released for others.
            self.spare_permit = None;
            self.permit_wait = self.permit_wait.take().filter(|_| !stopped && waiting.len() > 0);
            let running = self.current.len();
            let only_slow = running == self.slow.len() && !batch.is_strict();
            // Nothing more can be started, and only long-running attempts are left to wait for.
            if self.permit_wait.is_none() && (running == 0 || only_slow) {
                break;
            }
            // While the receiver recovers, attempts are spaced out, so permits are not passed on directly.
            let reuse_permit = health.min_interval(now).is_zero();
            let Some(ended) = self.next_event(reuse_permit).await else { continue };
            let Some(outcome) = ended else {
                (stopped, sent.lease_lost) = (true, true);
                continue;
            };
            outcome.update_health(&mut health, &self.dispatcher.app.rng);
            let failed = matches!(outcome.verdict, AttemptVerdict::Retry(_));
            stopped |= outcome.verdict == AttemptVerdict::Gone || (batch.is_strict() && failed);
            sent.outcomes.push(outcome);
        }
        sent.running = self.detach_slow(batch);
        Ok(sent)
    }

    /// A permit for the next message, at least `interval` after the one before: one that can be reused, or one that is
    /// free. If there is none, `None`, and `permit_wait` waits for one.
    fn next_permit(&mut self, next_start: &mut Instant, interval: Duration) -> Option<Permit> {
        if let Some(spare) = self.spare_permit.take() {
            return Some(spare);
        }
        if self.permit_wait.is_some() {
            return None;
        }
        let now = Instant::now();
        *next_start = now.max(*next_start + interval);
        let (limiter, start_at) = (self.limiter.clone(), *next_start);
        if start_at == now
            && let Some(permit) = limiter.try_acquire()
        {
            return Some(permit);
        }
        let permit = async move {
            // A timer takes a millisecond even if its time has passed.
            if start_at > now {
                tokio::time::sleep_until(start_at).await;
            }
            limiter.acquire().await
        };
        self.permit_wait = Some(permit.boxed());
        None
    }

    fn request_template(&self, batch: &SendBatch) -> Result<Arc<RequestTemplate>> {
        let key = self.dispatcher.app.secrets.key("webhook");
        let secrets = batch.webhook.secrets(&key, self.dispatcher.app.clock.now());
        if secrets.is_empty() {
            // The receiver would reject messages without a signature, and after all retries they would be lost.
            return Err(Error::internal("the secret of a webhook cannot be decrypted"));
        }
        let signers = secrets.iter().map(Secret::signer).collect();
        Ok(Arc::new(RequestTemplate { url: batch.webhook.url.as_str().into(), signers }))
    }

    /// Starts an attempt to send a message.
    fn start(&self, permit: Permit, template: Arc<RequestTemplate>, message: OutgoingMessage) {
        let (dispatcher, slot) = (self.dispatcher.clone(), self.job.slot);
        let (limiter, slow_tx) = (self.limiter.clone(), self.slow_tx.clone());
        let id = message.notification_id;
        let running = async move {
            let started_at = OnceLock::new();
            // Pinned here, because passing the large future by value would copy it.
            let attempt = pin!(async {
                // While waiting, this node may have lost the slot, and another node may be sending the message.
                if !dispatcher.holds_lease(slot) {
                    return None;
                }
                let at = *started_at.get_or_init(|| dispatcher.app.clock.now());
                Some(send_message(&dispatcher, &template, message, at).await)
            });
            let on_long_running = || {
                if let Some(at) = started_at.get() {
                    // The receiving end is gone if the worker was stopped.
                    let _ = slow_tx.send((id, *at));
                }
            };
            let (outcome, permit) = limiter.run(permit, attempt, on_long_running).await;
            FinishedAttempt { id, outcome, permit }
        };
        self.current.push(running.boxed());
    }

    /// Waits until an attempt has ended. `None` if instead an attempt turned out to take long, or there is a permit.
    async fn next_event(&mut self, reuse_permit: bool) -> Option<Option<Outcome>> {
        let permit_wait = OptionFuture::from(self.permit_wait.as_mut());
        let mut ended = tokio::select! {
            biased;
            Some(ended) = self.current.next() => ended,
            Some(ended) = self.detached.join_next() => join_result(ended),
            Some((id, since)) = self.slow_rx.recv() => {
                self.slow.insert(id, since);
                return None;
            }
            Some(permit) = permit_wait => {
                (self.permit_wait, self.spare_permit) = (None, Some(permit));
                return None;
            }
        };
        self.spare_permit = ended.permit.take().filter(|_| reuse_permit);
        Some(self.finish(ended))
    }

    /// Waits until a detached attempt has ended. Returns the outcomes of all that have.
    pub(super) async fn wait_finished(&mut self) -> Vec<Outcome> {
        let mut joined: Vec<_> = self.detached.join_next().await.into_iter().collect();
        while let Some(another) = self.detached.try_join_next() {
            joined.push(another);
        }
        joined.into_iter().filter_map(|attempt| self.finish(join_result(attempt))).collect()
    }

    fn finish(&mut self, FinishedAttempt { id, outcome, .. }: FinishedAttempt) -> Option<Outcome> {
        // An attempt may have reported that it takes long just before it ended.
        while let Ok((id, since)) = self.slow_rx.try_recv() {
            self.slow.insert(id, since);
        }
        self.slow.remove(&id);
        let delivery = self.detached_deliveries.remove(&id);
        let mut outcome = outcome?;
        outcome.message.delivery = delivery.or(outcome.message.delivery);
        Some(outcome)
    }

    /// Detaches the long-running attempts of a batch, so that they continue while the next batch is sent.
    fn detach_slow(&mut self, batch: &SendBatch) -> Vec<RunningAttempt> {
        let slow = std::mem::take(&mut self.slow);
        let running = |message: &OutgoingMessage| {
            let since = *slow.get(&message.notification_id)?;
            let delivery = message.delivery_for(batch.webhook.id);
            let presumed_lost_at = self.dispatcher.attempt_deadline();
            Some(RunningAttempt { delivery, message: message.clone(), since, presumed_lost_at })
        };
        let running: Vec<_> = batch.messages.iter().filter_map(running).collect();
        self.detached_deliveries
            .extend(running.iter().map(|one| (one.message.notification_id, one.delivery)));
        for attempt in std::mem::take(&mut self.current) {
            self.detached.spawn(attempt);
        }
        running
    }
}

/// The result of a detached attempt. If the attempt panicked, this panics too.
fn join_result(joined: std::result::Result<FinishedAttempt, JoinError>) -> FinishedAttempt {
    joined.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => panic!("detached attempts are never aborted: {error}"),
    })
}

/// Sends one message.
async fn send_message(
    dispatcher: &Dispatcher,
    template: &RequestTemplate,
    message: OutgoingMessage,
    at: Timestamp,
) -> Outcome {
    if let Some(reason) = message.skip_reason {
        let error = Some(reason.to_owned());
        let attempt =
            Attempt { at, duration_ms: 0, status_code: None, error, response_excerpt: None };
        let (to, verdict) = (template.url.clone(), AttemptVerdict::Abort);
        return Outcome { message, to, attempt, verdict };
    }
    let headers = headers(&template.signers, &message, at);
    let response = dispatcher.client.post(&template.url, headers, message.body.clone()).await;
    let verdict = verdict(&response, at);
    let error = match response.result {
        Err(class) => Some(class),
        Ok(status) if (300..400).contains(&status) => Some("redirected"),
        Ok(_) if verdict != AttemptVerdict::Accepted => Some("unsuccessful_status"),
        Ok(_) => None,
    };
    dispatcher.app.metrics.count_delivery(verdict == AttemptVerdict::Accepted);
    let attempt = Attempt {
        at,
        duration_ms: i64::try_from(response.elapsed.as_millis()).unwrap_or(i64::MAX),
        status_code: response.result.ok(),
        error: error.map(str::to_owned),
        response_excerpt: response.excerpt,
    };
    Outcome { message, to: template.url.clone(), attempt, verdict }
}

/// The headers of Standard Webhooks.
fn headers(signers: &[Signer], message: &OutgoingMessage, at: Timestamp) -> HeaderMap {
    let id = message.notification_id.to_string();
    let signatures: Vec<_> =
        signers.iter().map(|signer| signer.sign(&id, at, &message.body)).collect();
    // Room for the headers that the client adds.
    let mut headers = HeaderMap::with_capacity(8);
    for (name, value) in [
        ("webhook-id", id),
        ("webhook-timestamp", at.seconds().to_string()),
        ("webhook-signature", signatures.join(" ")),
    ] {
        let value = value.try_into().expect("ids, numbers and base64 are valid headers");
        headers.insert(HeaderName::from_static(name), value);
    }
    headers
}

/// What a response means for the delivery.
fn verdict(response: &ReceiverResponse, now: Timestamp) -> AttemptVerdict {
    let retry_after = || parse_retry_after(response.retry_after.as_deref()?, now);
    match response.result {
        Ok(200..300) => AttemptVerdict::Accepted,
        Ok(410) => AttemptVerdict::Gone,
        _ if response.abort => AttemptVerdict::Abort,
        Ok(429 | 503) => AttemptVerdict::Retry(retry_after()),
        _ => AttemptVerdict::Retry(None),
    }
}

/// The delay in a `Retry-After` header, which is a number of seconds or a date.
fn parse_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit means the longest delay.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let at = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    at.checked_sub(Duration::from_micros(now.micros().unsigned_abs()))
}
