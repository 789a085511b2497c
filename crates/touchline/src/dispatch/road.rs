//! The road to one receiver: parcels go out, some at once, and one that takes long does not hold up what comes after it.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue};
use kit::Timestamp;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::Dispatcher;
use super::carrier::Errand;
use super::places::{Seat, Taken};
use super::plan::Load;
use crate::error::{Error, Result};
use crate::ids::{DeliveryId, NotificationId};
use crate::webhooks::delivery::Attempt;
use crate::webhooks::health::Health;
use crate::webhooks::outcome::{Begun, Outcome, Parcel, Verdict};
use crate::webhooks::signature::{Secret, Signer};

/// After so long nothing more is begun: what was done is written down, and looked anew whether the webhook is
/// still there, still on, and still where it was.
pub(super) const STRETCH: Duration = Duration::from_millis(500);

/// What is under way to one webhook.
pub(super) struct Road {
    post: Arc<Dispatcher>,
    errand: Errand,
    seat: Arc<Seat>,
    /// A place for the next that goes out.
    spare: Option<Taken>,
    /// Waits for such a place.
    turn: Option<BoxFuture<'static, Taken>>,
    /// What of the present load is under way.
    under_way: FuturesUnordered<BoxFuture<'static, Ended>>,
    /// What was left under way by the load it came with. It goes on by itself, whatever the carrier is at.
    behind: JoinSet<Ended>,
    /// What takes long tells so, and since when.
    tells: mpsc::UnboundedSender<(NotificationId, Timestamp)>,
    told: mpsc::UnboundedReceiver<(NotificationId, Timestamp)>,
    /// What was found to take long since the last load went out.
    slow: HashMap<NotificationId, Timestamp>,
    /// The deliveries of what was left behind, which has been written down as begun.
    left: HashMap<NotificationId, DeliveryId>,
}

/// What came of a parcel.
struct Ended {
    id: NotificationId,
    /// Nothing, if the webhook was no longer this node's.
    outcome: Option<Outcome>,
    /// Its place, if that is kept.
    place: Option<Taken>,
}

/// What became of a load.
#[derive(Default)]
pub(super) struct Sent {
    /// What has ended, in this order: of this load, and what earlier ones had left.
    pub outcomes: Vec<Outcome>,
    /// What takes long, and is left under way.
    pub begun: Vec<Begun>,
    /// Whether the webhook is another node's by now.
    pub lost: bool,
}

impl Sent {
    pub(super) fn is_empty(&self) -> bool {
        self.outcomes.is_empty() && self.begun.is_empty()
    }

    /// What was sent of a load, whether or not it has ended.
    pub(super) fn ids(&self) -> HashSet<NotificationId> {
        let ended = self.outcomes.iter().map(|outcome| outcome.parcel.notification_id);
        ended.chain(self.begun.iter().map(|begun| begun.parcel.notification_id)).collect()
    }

    /// Whether all of a load was sent for the first time and taken: then nothing of it can be due again.
    pub(super) fn is_all_taken(&self, load: &Load) -> bool {
        // Of earlier loads there is nothing in it, or what is new would not be all there is.
        self.outcomes.len() == load.parcels.len()
            && load.is_new()
            && self
                .outcomes
                .iter()
                .all(|one| one.verdict == Verdict::Taken && one.parcel.delivery.is_none())
    }
}

/// Where parcels go and what signs them.
struct Letterhead {
    url: Arc<str>,
    signers: Vec<Signer>,
}

impl Road {
    pub(super) fn new(post: Arc<Dispatcher>, errand: Errand) -> Self {
        let (tells, told) = mpsc::unbounded_channel();
        Self {
            seat: post.places.seat(errand.account, errand.webhook),
            post,
            errand,
            spare: None,
            turn: None,
            under_way: FuturesUnordered::new(),
            behind: JoinSet::new(),
            tells,
            told,
            slow: HashMap::new(),
            left: HashMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.many() == 0
    }

    /// How many are under way.
    fn many(&self) -> usize {
        self.under_way.len() + self.behind.len()
    }

    /// Whether it is known how long the receiver takes.
    pub(super) fn is_known(&self) -> bool {
        self.seat.is_known()
    }

    /// What was left under way.
    pub(super) fn left(&self) -> Vec<NotificationId> {
        self.left.keys().copied().collect()
    }

    /// Whether something of a load can go out now.
    pub(super) fn has_room(&self, load: &Load) -> bool {
        self.many() < self.width(load, &load.webhook.health())
    }

    /// How many may be under way at once.
    fn width(&self, load: &Load, health: &Health) -> usize {
        // Whoever has not answered yet is tried with one, so that many who hang do not fill all places at once.
        let one = load.is_strict() || !self.seat.is_known();
        if one { 1 } else { health.at_once(self.post.app.clock.now()) }
    }

    /// Sends parcels, some at once, in their order, until all have ended but those that take long. An ill receiver is
    /// not sent more, and nothing is begun for a webhook that is another node's by now.
    pub(super) async fn send(&mut self, load: &Load) -> Result<Sent> {
        let head = self.letterhead(load)?;
        let mut sent = Sent::default();
        let mut health = load.webhook.health();
        let mut waiting = load.parcels.iter();
        let (began, mut begins) = (Instant::now(), Instant::now());
        let mut stopped = false;
        loop {
            let now = self.post.app.clock.now();
            let some_went = waiting.len() < load.parcels.len();
            stopped |= self.post.app.is_stopping()
                || (some_went && began.elapsed() > STRETCH)
                || health.resting_until.is_some_and(|until| until > now);
            while !stopped && waiting.len() > 0 && self.many() < self.width(load, &health) {
                let Some(place) = self.place(&mut begins, health.pause(now)) else { break };
                let Some(parcel) = waiting.next() else { break };
                self.begin(place, head.clone(), parcel.clone());
            }
            // Nobody is kept from a place that is not needed.
            self.spare = None;
            self.turn = self.turn.take().filter(|_| !stopped && waiting.len() > 0);
            let own = self.under_way.len();
            let only_slow = own == self.slow.len() && !load.is_strict();
            // What could begin has begun: nothing but what takes long would be waited for.
            if self.turn.is_none() && (own == 0 || only_slow) {
                break;
            }
            // While the receiver is spared, each waits for its time.
            let keeps = health.pause(now).is_zero();
            let Some(ended) = self.next(keeps).await else { continue };
            let Some(outcome) = ended else {
                (stopped, sent.lost) = (true, true);
                continue;
            };
            outcome.tell(&mut health, &self.post.app.dice);
            let failed = matches!(outcome.verdict, Verdict::Later(_));
            stopped |= outcome.verdict == Verdict::Gone || (load.is_strict() && failed);
            sent.outcomes.push(outcome);
        }
        sent.begun = self.leave(load);
        Ok(sent)
    }

    /// A place for the next parcel, so long after the one before: that of one that has ended, or one that is free.
    /// Otherwise one is waited for.
    fn place(&mut self, begins: &mut Instant, pause: Duration) -> Option<Taken> {
        if let Some(spare) = self.spare.take() {
            return Some(spare);
        }
        if self.turn.is_some() {
            return None;
        }
        let now = Instant::now();
        *begins = now.max(*begins + pause);
        let (seat, begins) = (self.seat.clone(), *begins);
        if begins == now
            && let Some(place) = seat.place_now()
        {
            return Some(place);
        }
        let turn = async move {
            // A timer takes a millisecond even where there is nothing to wait for.
            if begins > now {
                tokio::time::sleep_until(begins).await;
            }
            seat.place().await
        };
        self.turn = Some(turn.boxed());
        None
    }

    fn letterhead(&self, load: &Load) -> Result<Arc<Letterhead>> {
        let key = self.post.app.secrets.key("webhook");
        let secrets = load.webhook.secrets(&key, self.post.app.clock.now());
        if secrets.is_empty() {
            // Sent without a signature it would be refused, and lost in the end.
            return Err(Error::internal("the secret of a webhook cannot be opened"));
        }
        let signers = secrets.iter().map(Secret::signer).collect();
        Ok(Arc::new(Letterhead { url: load.webhook.url.as_str().into(), signers }))
    }

    /// Puts a parcel on its way.
    fn begin(&self, place: Taken, head: Arc<Letterhead>, parcel: Parcel) {
        let (post, slot) = (self.post.clone(), self.errand.slot);
        let (seat, tells) = (self.seat.clone(), self.tells.clone());
        let id = parcel.notification_id;
        let under_way = async move {
            let began = OnceLock::new();
            // Pinned here: handed on by value, all of it would be copied.
            let attempt = pin!(async {
                // By now the webhook may be no longer this node's, so that another may be sending it.
                if !post.holds(slot) {
                    return None;
                }
                let at = *began.get_or_init(|| post.app.clock.now());
                Some(attempt(&post, &head, parcel, at).await)
            });
            let takes_long = || {
                if let Some(at) = began.get() {
                    // Nobody listens any more where the carrier was stopped.
                    let _ = tells.send((id, *at));
                }
            };
            let (outcome, place) = seat.attempt(place, attempt, takes_long).await;
            Ended { id, outcome, place }
        };
        self.under_way.push(under_way.boxed());
    }

    /// Waits until something has ended; `None` if meanwhile something was found to take long, or there is a place.
    async fn next(&mut self, keeps: bool) -> Option<Option<Outcome>> {
        let turn = OptionFuture::from(self.turn.as_mut());
        let mut ended = tokio::select! {
            biased;
            Some(ended) = self.under_way.next() => ended,
            Some(ended) = self.behind.join_next() => whole(ended),
            Some((id, since)) = self.told.recv() => {
                self.slow.insert(id, since);
                return None;
            }
            Some(place) = turn => {
                (self.turn, self.spare) = (None, Some(place));
                return None;
            }
        };
        self.spare = ended.place.take().filter(|_| keeps);
        Some(self.end(ended))
    }

    /// Waits until something that was left under way has ended. Says what has.
    pub(super) async fn ended(&mut self) -> Vec<Outcome> {
        let mut ended: Vec<_> = self.behind.join_next().await.into_iter().collect();
        while let Some(more) = self.behind.try_join_next() {
            ended.push(more);
        }
        ended.into_iter().filter_map(|ended| self.end(whole(ended))).collect()
    }

    fn end(&mut self, Ended { id, outcome, .. }: Ended) -> Option<Outcome> {
        // It may have told just before it ended.
        while let Ok((id, since)) = self.told.try_recv() {
            self.slow.insert(id, since);
        }
        self.slow.remove(&id);
        let delivery = self.left.remove(&id);
        let mut outcome = outcome?;
        outcome.parcel.delivery = delivery.or(outcome.parcel.delivery);
        Some(outcome)
    }

    /// Leaves under way what of a load takes long.
    fn leave(&mut self, load: &Load) -> Vec<Begun> {
        let slow = std::mem::take(&mut self.slow);
        let of_load = load.parcels.iter().filter_map(|parcel| {
            let since = *slow.get(&parcel.notification_id)?;
            let delivery = parcel.delivery_for(load.webhook.id);
            let parcel = parcel.clone();
            Some(Begun { delivery, parcel, since, given_up_at: self.post.ends() })
        });
        let begun: Vec<_> = of_load.collect();
        self.left.extend(begun.iter().map(|one| (one.parcel.notification_id, one.delivery)));
        for attempt in std::mem::take(&mut self.under_way) {
            self.behind.spawn(attempt);
        }
        begun
    }
}

/// What an attempt by itself came to. Whoever waits for one that panicked does too.
fn whole(ended: std::result::Result<Ended, JoinError>) -> Ended {
    ended.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => panic!("only the road stops what is behind: {error}"),
    })
}

/// Sends one parcel.
async fn attempt(post: &Dispatcher, head: &Letterhead, parcel: Parcel, at: Timestamp) -> Outcome {
    if let Some(why) = parcel.barred {
        let error = Some(why.to_owned());
        let attempt =
            Attempt { at, duration_ms: 0, status_code: None, error, response_excerpt: None };
        let (to, verdict) = (head.url.clone(), Verdict::Unwanted);
        return Outcome { parcel, to, attempt, verdict };
    }
    let headers = headers(&head.signers, &parcel, at);
    let answer = post.client.post(&head.url, headers, parcel.body.clone()).await;
    let verdict = verdict(&answer, at);
    let error = match answer.result {
        Err(class) => Some(class),
        Ok(status) if (300..400).contains(&status) => Some("redirected"),
        Ok(_) if verdict != Verdict::Taken => Some("refused"),
        Ok(_) => None,
    };
    post.app.metrics.delivered(verdict == Verdict::Taken);
    let attempt = Attempt {
        at,
        duration_ms: i64::try_from(answer.took.as_millis()).unwrap_or(i64::MAX),
        status_code: answer.result.ok(),
        error: error.map(str::to_owned),
        response_excerpt: answer.excerpt,
    };
    Outcome { parcel, to: head.url.clone(), attempt, verdict }
}

/// The headers of Standard Webhooks.
fn headers(signers: &[Signer], parcel: &Parcel, at: Timestamp) -> HeaderMap {
    let id = parcel.notification_id.to_string();
    let signed: Vec<_> = signers.iter().map(|signer| signer.sign(&id, at, &parcel.body)).collect();
    // With those that the client adds.
    let mut headers = HeaderMap::with_capacity(8);
    for (name, value) in [
        ("webhook-id", id),
        ("webhook-timestamp", at.seconds().to_string()),
        ("webhook-signature", signed.join(" ")),
    ] {
        let value = HeaderValue::try_from(value).expect("ids, numbers and base64 are plain");
        headers.insert(HeaderName::from_static(name), value);
    }
    headers
}

/// What an answer means.
fn verdict(answer: &super::client::Answer, now: Timestamp) -> Verdict {
    match answer.result {
        Ok(200..300) => Verdict::Taken,
        Ok(410) => Verdict::Gone,
        _ if answer.unwanted => Verdict::Unwanted,
        Ok(429 | 503) => {
            Verdict::Later(answer.retry_after.as_deref().and_then(|text| wish(text, now)))
        }
        _ => Verdict::Later(None),
    }
}

/// How long a receiver asks to be left in peace: seconds, or a date.
fn wish(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than can be counted is as long as it gets.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let at = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    at.checked_sub(Duration::from_micros(now.micros().unsigned_abs()))
}
