//! What is to be done next for webhooks of an account: looked up in one read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;
use kit::Timestamp;
use store::Reader;

use super::excerpt::Excerpt;
use crate::error::Result;
use crate::ids::{NotificationId, WebhookId};
use crate::signals::{self, Notification};
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

/// Looks what is to be done next for some webhooks of an account. Fails only where it fails for all of them.
pub(super) fn plans(db: &Reader<'_>, looks: &[(WebhookId, Look)]) -> Result<Vec<Result<Plan>>> {
    let ids: Vec<_> = looks.iter().map(|(id, _)| *id).collect();
    // Mostly they are well, nothing is to be tried again, and these are what is wanted.
    delivery::next_due_ahead(db, &ids)?;
    // Those who have not come so far first: what is read of the log for them is what the others want.
    let mut order: Vec<_> = (0..looks.len()).collect();
    order.sort_by_key(|place| looks[*place].1.seen);
    if let Some(first) = order.first() {
        let Look { seen, many, .. } = looks[*first].1;
        signals::notifications_ahead(db, seen, many)?;
    }
    signals::sequence_ahead(db)?;
    webhook::some_ahead(db, &ids)?;
    // First of all: what happens later is looked at the next time, as the webhooks may want other things by then.
    let until = signals::sequence(db)?;
    let webhooks = webhook::some(db, &ids)?;
    let mut sight = Sight {
        db,
        next_due: delivery::next_due(db, &ids)?,
        ears: HashMap::new(),
        log: Excerpt::new(until),
    };
    let mut plans: Vec<_> = looks.iter().map(|(_, look)| Ok(nothing(look.seen))).collect();
    for place in order {
        let (id, look) = &looks[place];
        if let Some(webhook) = webhooks.get(id) {
            plans[place] = sight.plan(webhook.clone(), look);
        }
    }
    Ok(plans)
}

/// Nothing will be due for a webhook that has come so far.
fn nothing(seen: i64) -> Plan {
    Plan::Wait(Rest { until: None, seen })
}

/// What webhooks of an account have in common is looked up once.
struct Sight<'a> {
    db: &'a Reader<'a>,
    next_due: HashMap<WebhookId, Timestamp>,
    /// What creators of webhooks may be told, alone or through an app.
    ears: HashMap<(String, Option<String>), Option<Ears>>,
    log: Excerpt,
}

impl Sight<'_> {
    fn plan(&mut self, webhook: Webhook, look: &Look) -> Result<Plan> {
        let now = self.db.now();
        let seen = look.seen.max(webhook.position);
        if webhook.status == Status::Disabled {
            return Ok(nothing(seen));
        }
        if let Some(until) = webhook.resting_until.filter(|until| *until > now) {
            return Ok(Plan::Wait(Rest { until: Some(until), seen }));
        }
        let Some(ears) = self.ears_of(&webhook)? else {
            return Ok(Plan::TurnOff(Reason::CreatorGone));
        };
        let next = self.next_due.get(&webhook.id).copied();
        match next.map_or(Ok(Again::Not), |next| again(self.db, &webhook, next, look))? {
            Again::Now(due) => {
                let position = webhook.position;
                let parcels = due.into_iter().map(|due| checked(due, &ears)).collect();
                Ok(Plan::Send(Box::new(Load { webhook, parcels, position, last: None })))
            }
            Again::Not if webhook.replay_after.is_some() => Ok(Plan::Replay),
            Again::Not => self.news_for(webhook, &ears, (seen, look.many), next),
            Again::Held(until) => Ok(Plan::Wait(Rest { until: Some(until), seen })),
        }
    }

    /// What the webhook wants of what is new.
    fn news_for(
        &mut self,
        webhook: Webhook,
        ears: &Ears,
        (mut seen, many): (i64, i64),
        next_due: Option<Timestamp>,
    ) -> Result<Plan> {
        loop {
            let (news, more) = self.log.after(self.db, seen, many)?;
            let Some((last, _)) = news.last() else { break };
            let wanted = news.iter().filter(|(news, _)| webhook.wants(ears, news));
            let parcels: Vec<_> = wanted.map(|(_, parcel)| parcel.clone()).collect();
            seen = last.sequence;
            if !parcels.is_empty() || seen - webhook.position > SKIPPED {
                let last = (!more).then_some(Rest { until: next_due, seen });
                return Ok(Plan::Send(Box::new(Load { webhook, parcels, position: seen, last })));
            }
        }
        Ok(Plan::Wait(Rest { until: next_due, seen }))
    }

    /// What whoever made the webhook may be told of the teams it is for; `None` if they may have no webhooks any more.
    fn ears_of(&mut self, webhook: &Webhook) -> Result<Option<Ears>> {
        let creator = (webhook.creator.clone(), webhook.creator_app.clone());
        let ears = match self.ears.entry(creator) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(webhook.creators_ears(self.db)?),
        };
        Ok(ears.clone().map(|ears| webhook.narrow(ears)))
    }
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
    let (kind, body) = (kind.into(), body.unwrap_or_default().into());
    Parcel { delivery: Some(id), sequence, notification_id, kind, body, barred }
}

impl From<&Notification> for Parcel {
    fn from(news: &Notification) -> Self {
        Self {
            delivery: None,
            sequence: Some(news.sequence),
            notification_id: news.id,
            kind: news.kind.as_str().into(),
            body: Bytes::copy_from_slice(news.body.as_bytes()),
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
