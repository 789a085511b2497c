//! What is to be done next for a webhook: looked up in one read.

use kit::Timestamp;
use store::Reader;

use crate::error::{Code, Result};
use crate::ids::{NotificationId, WebhookId};
use crate::signals;
use crate::webhooks::delivery::{self, Due};
use crate::webhooks::ears::Ears;
use crate::webhooks::health::Health;
use crate::webhooks::kinds;
use crate::webhooks::outcome::Parcel;
use crate::webhooks::webhook::{self, Ordering, Reason, Status, Webhook};

/// How many notifications are looked at together, at first.
pub(super) const BATCH: i64 = 64;
/// And how many once a receiver takes everything and there is more: the fewer looks and the fewer entries in the
/// books, the sooner it has caught up.
pub(super) const LARGE_BATCH: i64 = 512;
/// As much as is held in memory for one webhook, unless a single notification is larger.
const HEAVY: usize = 256 * 1024;
/// A webhook's place in the log is written down at least every so many numbers that it was not told of.
const SKIPPED: i64 = 1_000;

/// From where on it is looked what is to be done.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// How far the log was looked at.
    pub seen: i64,
    /// How many notifications are looked at together.
    pub many: i64,
    /// What is under way, and must not be sent again meanwhile.
    pub under_way: Vec<NotificationId>,
}

/// Nothing is to be done until then, if ever; the log was looked at up to this number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    pub until: Option<Timestamp>,
    pub seen: i64,
}

/// What is to be done next for a webhook.
pub(super) enum Plan {
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
pub(super) struct Load {
    pub webhook: Webhook,
    pub parcels: Vec<Parcel>,
    /// How far the webhook has come once all of them are written down.
    pub position: i64,
    /// Whether this is the end: what is to be done then, if all goes well and nobody calls meanwhile.
    pub last: Option<Rest>,
}

impl Load {
    /// Whether everything is sent for the first time.
    pub(super) fn is_new(&self) -> bool {
        self.parcels.iter().all(|parcel| parcel.delivery.is_none())
    }

    /// Whether one thing is sent after the other.
    pub(super) fn is_strict(&self) -> bool {
        self.webhook.ordering == Ordering::Strict
    }
}

/// Looks what is to be done next.
pub(super) fn plan(db: &Reader<'_>, id: WebhookId, look: &Look) -> Result<Plan> {
    let Look { seen, many, .. } = *look;
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
    let due = match next_due.map_or(Ok(Again::Not), |next| again(db, &webhook, next, look))? {
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
fn again(db: &Reader<'_>, webhook: &Webhook, next: Timestamp, look: &Look) -> Result<Again> {
    // Somebody waits for the answer to a ping.
    let mut pings = if next <= db.now() { delivery::pings(db, webhook.id)? } else { Vec::new() };
    // Somebody may ask for it once more while it is under way: what becomes of that answers both.
    let idle = |due: &Due| !look.under_way.contains(&due.notification_id);
    pings.retain(idle);
    if !pings.is_empty() {
        return Ok(Again::Now(pings));
    }
    // What is told again is told in its order: what lies ahead of it waits until it has come so far.
    let ahead = |due: &Due| webhook.replay_after.is_some_and(|after| due.sequence > Some(after));
    if webhook.ordering == Ordering::Strict {
        return Ok(match delivery::first(db, webhook.id)? {
            Some((due, _)) if ahead(&due) => Again::Not,
            Some((due, at)) if at <= db.now() => Again::Now(vec![due]),
            // What comes after it in the log may be long due.
            Some((_, at)) => Again::Held(if next > db.now() { next } else { at }),
            None => Again::Not,
        });
    }
    if next > db.now() {
        return Ok(Again::Not);
    }
    let mut due = delivery::due(db, webhook.id, BATCH)?;
    due.retain(|due| idle(due) && !ahead(due));
    Ok(if due.is_empty() { Again::Not } else { Again::Now(due) })
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
    pub(super) fn health(&self) -> Health {
        Health {
            failures: self.failures,
            failing_since: self.failing_since,
            resting_until: self.resting_until,
            recovered_at: self.recovered_at,
        }
    }
}
