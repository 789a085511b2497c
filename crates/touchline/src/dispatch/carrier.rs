//! The carrier of one webhook: looks what is due, sends it, writes down what came of it, until nothing is due.
//!
//! What happened stands in the account's log, numbered without a gap, and a webhook has come so far in it. What
//! was sent and how far the webhook has come are written down together, afterwards: a process that dies in
//! between sends the same again, under the same id. Nothing is skipped.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, HeaderName, HeaderValue};
use kit::Timestamp;
use store::{Reader, Scope};
use tokio::time::Instant;

use super::Dispatcher;
use super::places::Seat;
use super::writing::Writing;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, WebhookId};
use crate::signals;
use crate::webhooks::delivery::{self, Attempt, Due};
use crate::webhooks::ears::Ears;
use crate::webhooks::health::Health;
use crate::webhooks::kinds;
use crate::webhooks::outcome::{Outcome, Parcel, Report, Verdict};
use crate::webhooks::replay;
use crate::webhooks::signature::Secret;
use crate::webhooks::webhook::{self, Ordering, Reason, Status, Webhook};

/// How many notifications are looked at together, at first.
const BATCH: i64 = 64;
/// And how many once a receiver takes everything and there is more: the fewer looks and the fewer entries in the
/// books, the sooner it has caught up.
const LARGE_BATCH: i64 = 512;
/// As much as is held in memory for one webhook, unless a single notification is larger.
const HEAVY: usize = 256 * 1024;
/// A webhook's place in the log is written down at least every so many numbers that it was not told of.
const SKIPPED: i64 = 1_000;
/// After so long nothing more is begun: what was done is written down, and looked anew whether the webhook is
/// still there, still on, and still where it was.
const STRETCH: Duration = Duration::from_millis(500);
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

/// Nothing is to be done until then, if ever; the log was looked at up to this number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    pub until: Option<Timestamp>,
    pub seen: i64,
}

/// What is to be done next for a webhook.
enum Plan {
    /// Nothing for now.
    Wait(Rest),
    /// Telling again comes first.
    Replay,
    /// The webhook is to be turned off.
    TurnOff(Reason),
    /// These are to be sent.
    Send(Box<Load>),
}

/// What is to be sent to a webhook.
struct Load {
    webhook: Webhook,
    parcels: Vec<Parcel>,
    /// How far the webhook has come once all of them are written down.
    position: i64,
    /// Whether this is the end: what is to be done then, if all goes well and nobody calls meanwhile.
    last: Option<Rest>,
}

impl Load {
    /// Whether everything is sent for the first time.
    fn is_new(&self) -> bool {
        self.parcels.iter().all(|parcel| parcel.delivery.is_none())
    }

    /// Whether everything was sent for the first time and taken: then nothing of it can be due again.
    fn all_taken(&self, outcomes: &[Outcome]) -> bool {
        outcomes.len() == self.parcels.len()
            && self.is_new()
            && outcomes.iter().all(|outcome| outcome.verdict == Verdict::Taken)
    }
}

/// Carries until nothing is due. Says when to come again and how far the log was looked at.
pub(super) async fn carry(post: &Dispatcher, errand: Errand) -> Result<Rest> {
    let Errand { account, webhook: id, mut seen, .. } = errand;
    let (mut writing, mut ahead) = (Writing::default(), None);
    let mut many = BATCH;
    loop {
        if post.app.is_stopping() {
            writing.done().await?;
            return Ok(Rest { until: None, seen });
        }
        let plan = match ahead.take() {
            Some(plan) => plan,
            None => look(post, errand, seen, many).await?,
        };
        let Plan::Send(load) = plan else {
            writing.done().await?;
            match plan {
                Plan::Wait(rest) => return Ok(rest),
                Plan::TurnOff(reason) => {
                    post.turn_off(account, id, reason).await?;
                    return Ok(Rest { until: None, seen });
                }
                _ => post.app.db.write(errand.scope(), move |tx| replay::step(tx, id)).await?,
            };
            continue;
        };
        let (outcomes, next) = send_and_look(post, errand, &load).await?;
        writing.done().await?;
        if outcomes.is_empty() && !load.parcels.is_empty() {
            return Ok(Rest { until: None, seen });
        }
        let position = reached(&load, &outcomes);
        seen = seen.max(position);
        let all_taken = load.all_taken(&outcomes);
        writing = Writing::begin(post, errand, Report { webhook_id: id, outcomes, position });
        if all_taken && load.last.is_none() {
            // Nothing of this can be due again: the next can go out while it is written down.
            ahead = next;
            many = LARGE_BATCH;
            continue;
        }
        many = BATCH;
        if let Some(reason) = writing.done().await? {
            post.turn_off(account, id, reason).await?;
            return Ok(Rest { until: None, seen });
        }
        if let Some(rest) = load.last.filter(|_| all_taken) {
            return Ok(rest);
        }
    }
}

impl Errand {
    pub(super) fn scope(&self) -> Scope {
        Scope::account(self.account, ACTOR).beside("webhooks")
    }
}

async fn look(post: &Dispatcher, errand: Errand, seen: i64, many: i64) -> Result<Plan> {
    post.app.db.read(errand.scope(), move |db| plan(db, errand.webhook, seen, many)).await
}

/// Sends, and looks meanwhile what comes next, if it is likely that all goes well. What was looked up is of no
/// use once it is old: the webhook may be gone.
async fn send_and_look(
    post: &Dispatcher,
    errand: Errand,
    load: &Load,
) -> Result<(Vec<Outcome>, Option<Plan>)> {
    if load.last.is_some() || !load.is_new() {
        return Ok((send(post, errand, load).await?, None));
    }
    let began = Instant::now();
    let (outcomes, next) =
        tokio::join!(send(post, errand, load), look(post, errand, load.position, LARGE_BATCH));
    Ok((outcomes?, next.ok().filter(|_| began.elapsed() < STRETCH / 10)))
}

/// How far a webhook has come: up to the first number that was not sent.
fn reached(load: &Load, outcomes: &[Outcome]) -> i64 {
    let sent: HashSet<_> = outcomes.iter().map(|outcome| outcome.parcel.notification_id).collect();
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

/// Looks what is to be done next.
fn plan(db: &Reader<'_>, id: WebhookId, seen: i64, many: i64) -> Result<Plan> {
    // Mostly it is well, nothing is to be tried again, and these are what is wanted.
    delivery::next_due_ahead(db, id)?;
    signals::notifications_ahead(db, seen, many)?;
    let webhook = match webhook::find(db, id) {
        Err(error) if error.code == Code::NotFound => {
            return Ok(Plan::Wait(Rest { until: None, seen }));
        }
        found => found?,
    };
    let health = webhook.health();
    let seen = seen.max(webhook.position);
    if webhook.status == Status::Disabled {
        return Ok(Plan::Wait(Rest { until: None, seen }));
    }
    if let Some(until) = health.resting_until.filter(|until| *until > db.now()) {
        return Ok(Plan::Wait(Rest { until: Some(until), seen }));
    }
    let ears = match webhook.ears(db) {
        Err(error) if error.code == Code::NotFound => None,
        found => found?,
    };
    let Some(ears) = ears else { return Ok(Plan::TurnOff(Reason::CreatorGone)) };
    let next_due = delivery::next_due(db, id)?;
    let due = match next_due.map_or(Ok(Again::Not), |next| again(db, &webhook, next))? {
        Again::Now(due) => due,
        Again::Not if webhook.replay_after.is_some() => return Ok(Plan::Replay),
        Again::Not => Vec::new(),
        Again::Held(until) => return Ok(Plan::Wait(Rest { until: Some(until), seen })),
    };
    if !due.is_empty() {
        let position = webhook.position;
        let parcels = due.into_iter().map(|due| checked(due, &ears)).collect();
        return Ok(Plan::Send(Box::new(Load { webhook, parcels, position, last: None })));
    }
    let mut seen = seen;
    loop {
        let mut news = signals::notifications(db, seen, many)?;
        let found = news.len();
        lighten(&mut news);
        let Some(last) = news.last().map(|news| news.sequence) else { break };
        let more = news.len() < found || i64::try_from(found).is_ok_and(|found| found >= many);
        let wanted: Vec<_> = news.into_iter().filter(|news| webhook.wants(&ears, news)).collect();
        seen = last;
        if !wanted.is_empty() || seen - webhook.position > SKIPPED {
            let parcels = wanted.into_iter().map(Parcel::from).collect();
            let last = (!more).then_some(Rest { until: next_due, seen });
            return Ok(Plan::Send(Box::new(Load { webhook, parcels, position: seen, last })));
        }
    }
    Ok(Plan::Wait(Rest { until: next_due, seen }))
}

/// Leaves out what is too much to be held at once.
fn lighten(news: &mut Vec<signals::Notification>) {
    let mut weight = 0;
    let held = news.iter().take_while(|news| {
        let fits = weight < HEAVY;
        weight += news.body.len();
        fits
    });
    let held = held.count();
    news.truncate(held);
}

/// What of a webhook's deliveries is to be tried again.
enum Again {
    Now(Vec<Due>),
    /// Nothing is due.
    Not,
    /// In strict order, one that is not due yet holds up everything.
    Held(Timestamp),
}

/// Looks what is to be tried again, the first of it at `next`.
fn again(db: &Reader<'_>, webhook: &Webhook, next: Timestamp) -> Result<Again> {
    // Somebody waits for the answer to a ping.
    let pings = if next <= db.now() { delivery::pings(db, webhook.id)? } else { Vec::new() };
    if !pings.is_empty() {
        return Ok(Again::Now(pings));
    }
    // What is told again is told in its order: what lies ahead of it waits until it has come so far.
    let ahead = |due: &Due| webhook.replay_after.is_some_and(|after| due.sequence > Some(after));
    if webhook.ordering == Ordering::Strict {
        return Ok(match delivery::first(db, webhook.id)? {
            Some((due, _)) if ahead(&due) => Again::Not,
            Some((due, at)) if at <= db.now() => Again::Now(vec![due]),
            Some(_) => Again::Held(next),
            None => Again::Not,
        });
    }
    if next > db.now() {
        return Ok(Again::Not);
    }
    let mut due = delivery::due(db, webhook.id, BATCH)?;
    due.retain(|due| !ahead(due));
    Ok(if due.is_empty() { Again::Not } else { Again::Now(due) })
}

/// Sends parcels, some at once, in their order. Says what came of those that were sent: an ill receiver is not
/// sent more, and nothing is begun for a webhook that is another node's by now.
async fn send(post: &Dispatcher, errand: Errand, load: &Load) -> Result<Vec<Outcome>> {
    let key = post.app.secrets.key("webhook");
    let secrets = load.webhook.secrets(&key, post.app.clock.now());
    if secrets.is_empty() {
        // Sent without a signature it would be refused, and lost in the end.
        return Err(Error::internal("the secret of a webhook cannot be opened"));
    }
    let strict = load.webhook.ordering == Ordering::Strict;
    let seat = post.places.seat(errand.account, errand.webhook);
    let (mut under_way, mut outcomes) = (FuturesUnordered::new(), Vec::new());
    let mut health = load.webhook.health();
    let mut waiting = load.parcels.iter();
    let (began, mut begins) = (Instant::now(), Instant::now());
    let mut stopped = false;
    loop {
        let now = post.app.clock.now();
        // Whoever has not answered yet is tried with one, so that many who hang do not fill all places at once.
        let one = strict || !seat.is_known();
        let many = if one { 1 } else { health.at_once(now) };
        let some_went = waiting.len() < load.parcels.len();
        stopped |= post.app.is_stopping()
            || (some_went && began.elapsed() > STRETCH)
            || health.resting_until.is_some_and(|until| until > now);
        while !stopped && under_way.len() < many {
            let Some(parcel) = waiting.next() else { break };
            begins = Instant::now().max(begins + health.pause(now));
            let start = Start { slot: errand.slot, begins, secrets: &secrets };
            let url = &load.webhook.url;
            under_way.push(once_there_is_room(post, &seat, url, start, parcel.clone()));
        }
        let Some(ended) = under_way.next().await else { break };
        let Some(outcome) = ended else {
            stopped = true;
            continue;
        };
        outcome.tell(&mut health, &post.app.dice);
        let failed = matches!(outcome.verdict, Verdict::Later(_));
        stopped |= outcome.verdict == Verdict::Gone || (strict && failed);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// In which share and when an attempt begins, and what signs it.
struct Start<'a> {
    slot: i64,
    begins: Instant,
    secrets: &'a [Secret],
}

/// Sends one parcel, once it is time and there is a place for it.
async fn once_there_is_room(
    post: &Dispatcher,
    seat: &Seat,
    url: &str,
    start: Start<'_>,
    parcel: Parcel,
) -> Option<Outcome> {
    // A timer takes a millisecond even where there is nothing to wait for.
    if start.begins > Instant::now() {
        tokio::time::sleep_until(start.begins).await;
    }
    seat.within(attempt(post, url, start, parcel)).await
}

/// Sends one parcel. `None` if by now the webhook is no longer this node's, so that another may be sending it.
async fn attempt(
    post: &Dispatcher,
    url: &str,
    start: Start<'_>,
    parcel: Parcel,
) -> Option<Outcome> {
    if !post.holds(start.slot) {
        return None;
    }
    let at = post.app.clock.now();
    if let Some(why) = parcel.barred {
        let error = Some(why.to_owned());
        let attempt =
            Attempt { at, duration_ms: 0, status_code: None, error, response_excerpt: None };
        return Some(Outcome { parcel, attempt, verdict: Verdict::Unwanted });
    }
    let headers = headers(start.secrets, &parcel, at);
    let answer = post.client.post(url, headers, parcel.body.clone()).await;
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
    Some(Outcome { parcel, attempt, verdict })
}

/// The headers of Standard Webhooks.
fn headers(secrets: &[Secret], parcel: &Parcel, at: Timestamp) -> HeaderMap {
    let id = parcel.notification_id.to_string();
    let signed: Vec<_> = secrets.iter().map(|secret| secret.sign(&id, at, &parcel.body)).collect();
    let mut headers = HeaderMap::new();
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

/// A delivery as it is tried again, unless it is no longer kept or may not be told any more.
fn checked(due: Due, ears: &Ears) -> Parcel {
    let Due { id, sequence, notification_id, kind, body } = due;
    let barred = match &body {
        None => Some("not_kept"),
        Some(body) if kind != kinds::PING && !ears.hear(&kind, body) => Some("not_allowed"),
        Some(_) => None,
    };
    let body = body.unwrap_or_default().into();
    Parcel { delivery: Some(id), sequence, notification_id, kind, body, barred }
}

impl From<signals::Notification> for Parcel {
    fn from(news: signals::Notification) -> Self {
        Self {
            delivery: None,
            sequence: Some(news.sequence),
            notification_id: news.id,
            kind: news.kind,
            body: news.body.into(),
            barred: None,
        }
    }
}

impl Webhook {
    /// How its receiver has been doing.
    fn health(&self) -> Health {
        Health {
            failures: self.failures,
            failing_since: self.failing_since,
            resting_until: self.resting_until,
            recovered_at: self.recovered_at,
        }
    }
}
