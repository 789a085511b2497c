//! Changing what was planned: one event, the following ones of its series, or all of them.

use kit::{Change, Zone, words};
use store::{Tx, bind};
use utoipa::ToSchema;

use super::conflicts;
use super::duty::NewDuty;
use super::event::{self, Event, HomeAway, Kind, Shown, Status};
use super::moving::{NewPlan, Times};
use super::rsvp;
use super::schedule;
use super::when::When;
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::{EventId, LocationId};
use crate::metadata::Metadata;
use crate::signals::Tell;
use crate::teams::team;

words! {
    /// Which events of a series are meant.
    pub enum ApplyTo {
        /// Only this one.
        This = "this",
        /// This one and those after it.
        Following = "following",
        /// The whole series.
        All = "all",
    }
}

/// What is to be changed: members that are left out stay, `null` clears.
#[derive(Debug, ToSchema)]
pub struct EventChange {
    #[schema(value_type = Option<Kind>, rename = "type")]
    pub kind: Option<Kind>,
    /// `null` makes one from the type and the opponent.
    #[schema(value_type = Option<String>, max_length = 120)]
    pub title: Change<String>,
    /// Moves the event; it keeps its length unless `ends_at` is given too.
    #[schema(value_type = Option<When>)]
    pub starts_at: Option<When>,
    #[schema(value_type = Option<When>)]
    pub ends_at: Option<When>,
    /// Keeps what the clocks show; `null` is the team's zone.
    #[schema(value_type = Option<Zone>)]
    pub timezone: Change<Zone>,
    pub all_day: Option<bool>,
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 600)]
    pub arrival_minutes: Change<i64>,
    #[schema(value_type = Option<LocationId>)]
    pub location_id: Change<LocationId>,
    #[schema(value_type = Option<String>, max_length = 120)]
    pub opponent: Change<String>,
    #[schema(value_type = Option<HomeAway>)]
    pub home_away: Change<HomeAway>,
    #[schema(value_type = Option<String>, max_length = 120)]
    pub uniform: Change<String>,
    #[schema(value_type = Option<String>, max_length = 10000)]
    pub notes: Change<String>,
    pub asks_rsvp: Option<bool>,
    /// Moves along with the event if left out.
    #[schema(value_type = Option<When>)]
    pub rsvp_deadline: Change<When>,
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 100_000)]
    pub capacity: Change<i64>,
    /// Replaces all duties.
    #[schema(max_items = 50)]
    pub duties: Option<Vec<NewDuty>>,
    /// Only for one event.
    #[schema(value_type = Option<String>, max_length = 120)]
    pub external_id: Change<String>,
    /// Replaces all pairs; `null` clears them.
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Change<Metadata>,
    /// Which events of its series; `this` if left out.
    #[schema(value_type = Option<ApplyTo>)]
    pub apply_to: ApplyTo,
    /// Whether events that were changed by themselves follow too, in what this change names; `false` if
    /// left out.
    #[schema(required = false)]
    pub overwrite_edits: bool,
}

/// An event that the caller reaches and expects, of a team that plays.
fn open(tx: &Tx<'_>, reach: &Reach, id: EventId, expected: &Expected) -> Result<Event> {
    let event = expected.check(event::find(tx, reach, id))?;
    team::playing(tx, event.team_id)?;
    Ok(event)
}

/// Changes an event, and those of its series that are meant; answers with the event.
pub fn change(
    tx: &Tx<'_>,
    reach: &Reach,
    id: EventId,
    expected: &Expected,
    change: EventChange,
) -> Result<Shown> {
    let before = open(tx, reach, id, expected)?;
    if before.status == Status::Cancelled {
        return Err(Error::invalid_state("A cancelled event cannot be changed."));
    }
    let plan = NewPlan::read(tx, reach, &before, &change)?;
    let alone = change.apply_to == ApplyTo::This && before.series_id.is_some();
    let overwrites = change.apply_to != ApplyTo::This && change.overwrite_edits;
    let mut changed = Vec::new();
    for target in targets(tx, &before, change.apply_to)? {
        let times = plan.times(&target)?;
        let (occurrence, edited) = (times.occurrence, target.edited && !overwrites);
        let keeps = edited && target.id != id;
        let after = if target.status == Status::Cancelled || keeps {
            target.clone()
        } else {
            applied(tx, &target, times, &before, &change)?
        };
        if after == target {
            event::place(tx, &target, occurrence, edited)?;
        } else {
            changed.push((target, Event { occurrence, edited: edited || alone, ..after }));
        }
    }
    let moved: Vec<_> = changed
        .iter()
        .filter(|(was, is)| was.span() != is.span() || was.location_id != is.location_id)
        .map(|(_, is)| is.clone())
        .collect();
    let warnings = conflicts::of(tx, reach, &moved)?;
    save(tx, "event.updated", changed)?;
    let event = event::show_one(tx, event::find(tx, reach, id)?)?;
    Ok(Shown { warnings, ..event })
}

/// What is wrong with where a change reaches, if anything: only a series has others that can be meant.
pub(super) fn series_fault(event: &Event, apply_to: ApplyTo) -> Option<Fault> {
    let alone = event.series_id.is_none() && apply_to != ApplyTo::This;
    alone.then(|| Fault::new("/apply_to", "no_series", "The event is not part of a series."))
}

/// The events that are called off with this one. What is over was held, and stays, unless the event that
/// is called off is over itself.
fn called_off(tx: &Tx<'_>, event: &Event, apply_to: ApplyTo) -> Result<Vec<Event>> {
    let now = tx.now();
    let mut meant = targets(tx, event, apply_to)?;
    meant.retain(|other| event.is_over(now) || !other.is_over(now));
    Ok(meant)
}

/// The events that are meant, the given one included, in order.
fn targets(tx: &Tx<'_>, event: &Event, apply_to: ApplyTo) -> Result<Vec<Event>> {
    if let Some(fault) = series_fault(event, apply_to) {
        return Err(Error::invalid(vec![fault]));
    }
    let series = match (apply_to, event.series_id) {
        (ApplyTo::This, _) | (_, None) => return Ok(vec![event.clone()]),
        (_, Some(series)) => event::of_series(tx, series)?,
    };
    let meant = |other: &Event| apply_to == ApplyTo::All || other.occurrence >= event.occurrence;
    Ok(series.into_iter().filter(meant).collect())
}

/// One of the meant events after the change that was sent to `origin`.
fn applied(
    tx: &Tx<'_>,
    target: &Event,
    times: Times,
    origin: &Event,
    change: &EventChange,
) -> Result<Event> {
    let Times { span, deadline, .. } = times;
    let kind = change.kind.unwrap_or(target.kind);
    let opponent = change.opponent.clone().apply(target.opponent.clone());
    let home_away = change.home_away.clone().apply(target.home_away);
    let title = match &change.title {
        Change::Clear => schedule::title(kind, opponent.as_deref(), home_away),
        Change::Set(title) => title.clone(),
        Change::Keep => target.title.clone(),
    };
    let duties = match &change.duties {
        Some(new) if target.id != origin.id => {
            target.duties.renewed(tx, &origin.duties.elsewhere(&target.duties, new))?
        }
        Some(new) => target.duties.renewed(tx, new)?,
        None => target.duties.clone(),
    };
    let again = target.status == Status::Postponed && span.starts_at != target.starts_at;
    Ok(Event {
        kind,
        title,
        starts_at: span.starts_at,
        ends_at: span.ends_at,
        timezone: span.zone,
        all_day: span.all_day,
        arrival_minutes: change.arrival_minutes.clone().apply(target.arrival_minutes),
        location_id: change.location_id.clone().apply(target.location_id),
        opponent,
        home_away,
        uniform: change.uniform.clone().apply(target.uniform.clone()),
        notes: change.notes.clone().apply(target.notes.clone()),
        asks_rsvp: change.asks_rsvp.unwrap_or(target.asks_rsvp),
        rsvp_deadline: deadline,
        capacity: change.capacity.clone().apply(target.capacity),
        duties,
        status: if again { Status::Scheduled } else { target.status },
        external_id: change.external_id.clone().apply(target.external_id.clone()),
        metadata: change.metadata.clone().apply_or(target.metadata.clone(), Metadata::default()),
        ..target.clone()
    })
}

/// Keeps what has changed, tells it, and lets people move up where there is room now.
fn save(tx: &Tx<'_>, news: &'static str, changed: Vec<(Event, Event)>) -> Result<()> {
    let (before, after): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
    let revised = |event: Event| Event {
        revision: event.revision + 1,
        revised_at: tx.now(),
        updated_at: tx.now(),
        version: event.version + 1,
        ..event
    };
    let after: Vec<_> = after.into_iter().map(revised).collect();
    after.iter().try_for_each(|event| event::store(tx, event))?;
    let (was, is) = (event::show(tx, before)?, event::show(tx, after)?);
    let pairs: Vec<_> = was.iter().zip(&is).map(|(was, is)| (Some(was), is)).collect();
    tx.tell_all(news, &pairs)?;
    for (was, is) in was.iter().zip(&is) {
        if was.event.capacity != is.event.capacity {
            rsvp::promote(tx, is.event.clone())?;
        }
        if was.event.ends_at <= tx.now() && is.event.ends_at > tx.now() {
            rsvp::catch_up(tx, &is.event)?;
        }
    }
    Ok(())
}

/// Why and what to cancel.
#[derive(Debug, ToSchema)]
pub struct Cancellation {
    #[schema(examples("Pitch under water"), max_length = 500)]
    pub reason: Option<String>,
    /// Which events of its series; `this` if left out.
    #[schema(value_type = Option<ApplyTo>)]
    pub apply_to: ApplyTo,
}

/// Cancels an event, and those of its series that are meant. They stay visible.
pub fn cancel(
    tx: &Tx<'_>,
    reach: &Reach,
    id: EventId,
    expected: &Expected,
    cancellation: Cancellation,
) -> Result<Shown> {
    let before = open(tx, reach, id, expected)?;
    match before.status {
        Status::Cancelled => return Err(Error::invalid_state("The event is already cancelled.")),
        Status::Completed => return Err(Error::invalid_state("The event is completed.")),
        Status::Scheduled | Status::Postponed => {}
    }
    let targets = called_off(tx, &before, cancellation.apply_to)?;
    let open = |event: &Event| matches!(event.status, Status::Scheduled | Status::Postponed);
    let cancelled = |event: Event| {
        let after = Event {
            status: Status::Cancelled,
            cancel_reason: cancellation.reason.clone(),
            cancelled_at: Some(tx.now()),
            ..event.clone()
        };
        (event, after)
    };
    save(tx, "event.cancelled", targets.into_iter().filter(open).map(cancelled).collect())?;
    event::show_one(tx, event::find(tx, reach, id)?)
}

/// Says that an event is held at another time, not yet known. Giving it a new start schedules it again.
pub fn postpone(tx: &Tx<'_>, reach: &Reach, id: EventId, expected: &Expected) -> Result<Shown> {
    let before = open(tx, reach, id, expected)?;
    if before.status != Status::Scheduled {
        let detail = format!("The event is {}; only a scheduled one is postponed.", before.status);
        return Err(Error::invalid_state(detail));
    }
    let edited = before.series_id.is_some();
    let after = Event { status: Status::Postponed, edited, ..before.clone() };
    save(tx, "event.updated", vec![(before, after)])?;
    event::show_one(tx, event::find(tx, reach, id)?)
}

/// Removes events as if they had never been planned, as long as nobody has answered. Those that are
/// cancelled stay.
pub fn delete(
    tx: &Tx<'_>,
    reach: &Reach,
    id: EventId,
    expected: &Expected,
    apply_to: ApplyTo,
) -> Result<Shown> {
    let before = open(tx, reach, id, expected)?;
    if before.status == Status::Cancelled {
        return Err(Error::invalid_state("A cancelled event stays visible."));
    }
    let mut targets = called_off(tx, &before, apply_to)?;
    targets.retain(|event| event.status != Status::Cancelled);
    let ids: Vec<_> = targets.iter().map(|event| event.id).collect();
    if rsvp::any_answered(tx, ids.clone())? {
        let detail = "Somebody has answered; cancel the event instead of deleting it.";
        return Err(Error::invalid_state(detail));
    }
    let shown = event::show(tx, targets)?;
    tx.run("delete from event where account_id = :account and id in (:ids)", bind! { ids })?;
    let news: Vec<_> = shown.iter().map(|event| (None, event)).collect();
    tx.tell_all("event.deleted", &news)?;
    shown.into_iter().find(|shown| shown.event.id == id).ok_or_else(Error::not_found)
}
