//! Updating, cancelling, postponing and deleting events: a single one, the following ones of its series, or all.

use std::time::Duration;

use kit::{LocalTime, string_enum};
use macros::input;

use super::conflicts::{self, Warning};
use super::duty::NewDuty;
use super::event::{self, Event, EventView, HomeAway, Kind, Status};
use super::event_time::{self, EventTime, NOT_A_TIME};
use super::history;
use super::rescheduling::{Rescheduling, Times};
use super::result;
use super::rsvp;
use super::schedule;
use crate::hook::Hook;
use crate::prelude::*;
use crate::teams::team;

type BeforeDelete = fn(&Reader<'_>, Vec<EventId>) -> Result<()>;
type OnChanged = fn(&Tx<'_>, &[(Option<&EventView>, &EventView)]) -> Result<()>;

/// Runs before events are deleted. Fails if they have data that would be lost.
pub static BEFORE_DELETE: Hook<BeforeDelete> = Hook::new("edit::BEFORE_DELETE");

string_enum! {
    /// Which events of a series a change applies to.
    pub enum ApplyTo {
        /// Only this event.
        This = "this",
        /// This event and the later ones.
        Following = "following",
        /// All events of the series.
        All = "all",
    }
}

/// Changes to an event. Omitted fields stay unchanged; `null` clears a field.
#[input(as = UpdateEventRequest, faults(if_rejected))]
pub struct EventChange {
    /// Type of the event.
    #[input(name = "type", non_null)]
    pub kind: Option<Kind>,
    /// Title of the event; `null` generates one from the type and the opponent.
    #[input(line(120))]
    pub title: Change<String>,
    /// New start. The event keeps its length unless `ends_at` is also set.
    #[input(parsed("invalid_time", NOT_A_TIME), non_null)]
    pub starts_at: Option<EventTime>,
    /// New end. Must be after the start.
    #[input(parsed("invalid_time", NOT_A_TIME), non_null)]
    pub ends_at: Option<EventTime>,
    /// New time zone. The local times stay unchanged. `null` sets the team's time zone.
    pub timezone: Change<Zone>,
    /// Whether the event lasts whole days.
    #[input(non_null)]
    pub all_day: Option<bool>,
    /// How many minutes before the start members should arrive.
    #[input(number(0, 600))]
    pub arrival_minutes: Change<i64>,
    pub location_id: Change<LocationId>,
    /// Name of the opponent; `null` if there is none.
    #[input(line(120))]
    pub opponent: Change<String>,
    /// Whether the game is at home, away or on neutral ground; `null` if it does not apply.
    pub home_away: Change<HomeAway>,
    /// What to wear; `null` if it does not matter.
    #[input(line(120))]
    pub uniform: Change<String>,
    /// Notes for members.
    #[input(block(10_000))]
    pub notes: Change<String>,
    /// Whether members are asked for an RSVP.
    #[input(non_null)]
    pub rsvp_enabled: Option<bool>,
    /// New RSVP deadline. If left out, it moves together with the start.
    #[input(parsed("invalid_time", NOT_A_TIME))]
    pub rsvp_deadline: Change<EventTime>,
    /// Maximum number of members who can attend; `null` for no limit. Members who answer yes after that are waitlisted.
    #[input(number(1, 100_000))]
    pub capacity: Change<i64>,
    /// Replaces all duties. Duties with the `id` or name of an existing one keep their volunteers.
    #[input(objects(50))]
    pub duties: Change<Vec<NewDuty>>,
    /// ID of the event in another system; unique in the account. Not allowed if `apply_to` selects several events.
    #[input(line(120))]
    pub external_id: Change<String>,
    /// Replaces all metadata; `null` clears it.
    pub metadata: Change<Metadata>,
    /// Which events of the series to change. Default: `this`.
    #[schema(value_type = Option<ApplyTo>)]
    #[input(default = ApplyTo::This)]
    pub apply_to: ApplyTo,
    /// Whether events of the series that were changed individually are changed too, in the fields of this request.
    /// Default: `false`.
    #[input(default)]
    pub override_exceptions: bool,
}

impl EventChange {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        event_time::order_fault(self.starts_at, self.ends_at).into_iter().collect()
    }
}

/// Called with events before and after they were changed or cancelled, to notify people.
pub static ON_CHANGED: Hook<OnChanged> = Hook::new("edit::ON_CHANGED");
type FindNames = fn(&Reader<'_>, TeamId) -> Result<Vec<String>>;
/// The names of the people whom [`ON_CHANGED`] notifies if events of a team are changed now.
pub static FIND_NOTIFIED: Hook<FindNames> = Hook::new("edit::FIND_NOTIFIED");
/// People are notified only of events that start within this time.
pub const NOTICE_PERIOD: Duration = Duration::from_secs(14 * 86_400);

/// An event that the caller can access, in the expected version, of an active team.
pub(super) fn find_editable(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
) -> Result<Event> {
    let event = expected.check(event::find(tx, access, id))?;
    team::find_active(tx, event.team_id)?;
    Ok(event)
}

/// Updates an event and the selected events of its series. Returns the event.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
    change: EventChange,
) -> Result<EventView> {
    let before = find_editable(tx, access, id, expected)?;
    Error::invalid_state("A cancelled event cannot be changed.")
        .fail_if(before.status == Status::Cancelled)?;
    let planned = plan(tx, access, &before, &change)?;
    planned.changed.iter().try_for_each(|changed| check_result_fits(changed, tx.now()))?;
    for (target, occurrence, edited) in planned.unchanged {
        event::set_occurrence(tx, &target, occurrence, edited)?;
    }
    let warnings = overlaps(tx, access, &planned.changed)?;
    save(tx, "event.updated", planned.changed)?;
    let event = event::view(tx, event::find(tx, access, id)?)?;
    Ok(EventView { warnings, ..event })
}

/// Fails if a change would contradict the result of a game: it must stay a game, and must not take place later.
fn check_result_fits((before, after): &(Event, Event), now: Timestamp) -> Result<()> {
    let detail = if after.kind != Kind::Game {
        "The result of the game was recorded. Delete it before you change the type."
    } else if after.starts_at != before.starts_at && after.starts_at > now.plus(result::EARLIEST) {
        "The result of the game was recorded. Delete it before you move the game."
    } else {
        return Ok(());
    };
    Error::invalid_state(detail).fail_if(after.result.is_some())
}

/// Events before and after a change.
pub type ChangedEvents = Vec<(Event, Event)>;

/// The events that [`change`] would change, before and after it, and warnings about other events that those with a new
/// time or place overlap with.
pub fn preview(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    change: &EventChange,
) -> Result<(ChangedEvents, Vec<Warning>)> {
    let before = find_editable(tx, access, id, &IfMatch::Absent)?;
    let planned = plan(tx, access, &before, change)?;
    let warnings = overlaps(tx, access, &planned.changed)?;
    Ok((planned.changed, warnings))
}

/// What a change does to the events that it applies to.
struct ChangePlan {
    /// Each changed event before and after the change.
    changed: Vec<(Event, Event)>,
    /// The others, with their position in the series and whether they are exceptions to it.
    unchanged: Vec<(Event, Option<LocalTime>, bool)>,
}

fn plan(
    tx: &Tx<'_>,
    access: &TeamAccess,
    before: &Event,
    change: &EventChange,
) -> Result<ChangePlan> {
    let plan = Rescheduling::read(tx, access, before, change)?;
    let becomes_exception = change.apply_to == ApplyTo::This && before.series_id.is_some();
    let overwrites = change.apply_to != ApplyTo::This && change.override_exceptions;
    let mut planned = ChangePlan { changed: Vec::new(), unchanged: Vec::new() };
    for target in targets(tx, before, change.apply_to)? {
        let times = plan.times(&target)?;
        let (occurrence, edited) = (times.occurrence, target.edited && !overwrites);
        let is_exception = edited && target.id != before.id;
        let after = if target.status == Status::Cancelled || is_exception {
            target.clone()
        } else {
            apply_change(tx, &target, times, before, change)?
        };
        if after == target {
            planned.unchanged.push((target, occurrence, edited));
        } else {
            let edited = edited || becomes_exception;
            planned.changed.push((target, Event { occurrence, edited, ..after }));
        }
    }
    Ok(planned)
}

/// Warnings about events that the changed ones with a new time or place overlap with.
fn overlaps(tx: &Tx<'_>, access: &TeamAccess, changed: &[(Event, Event)]) -> Result<Vec<Warning>> {
    let is_moved = |(before, after): &&(Event, Event)| {
        before.span() != after.span() || before.location_id != after.location_id
    };
    let moved: Vec<_> = changed.iter().filter(is_moved).map(|(_, after)| after.clone()).collect();
    conflicts::find_overlaps(tx, access, &moved)
}

/// The fault if `apply_to` selects other events although the event has no series.
pub(super) fn series_fault(event: &Event, apply_to: ApplyTo) -> Option<Fault> {
    let no_series = event.series_id.is_none() && apply_to != ApplyTo::This;
    let detail = "This event is not part of a series. Leave out `apply_to` or set it to `this`.";
    no_series.then(|| Fault::new("/apply_to", "no_series", detail))
}

/// The events to cancel or delete together with this one. Events that are over are skipped, unless this event is over
/// itself.
fn cancellation_targets(tx: &Tx<'_>, event: &Event, apply_to: ApplyTo) -> Result<Vec<Event>> {
    let now = tx.now();
    let mut targets = targets(tx, event, apply_to)?;
    targets.retain(|other| event.is_over(now) || !other.is_over(now));
    Ok(targets)
}

/// The events that a change applies to, including the given one, in order.
fn targets(tx: &Tx<'_>, event: &Event, apply_to: ApplyTo) -> Result<Vec<Event>> {
    if let Some(fault) = series_fault(event, apply_to) {
        return Err(Error::invalid(vec![fault]));
    }
    let series = match (apply_to, event.series_id) {
        (ApplyTo::This, _) | (_, None) => return Ok(vec![event.clone()]),
        (_, Some(series)) => event::of_series(tx, series)?,
    };
    let is_selected =
        |other: &Event| apply_to == ApplyTo::All || other.occurrence >= event.occurrence;
    Ok(series.into_iter().filter(is_selected).collect())
}

/// A target event after the change that was sent to `origin`.
fn apply_change(
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
        Change::Clear => schedule::default_title(kind, opponent.as_deref(), home_away),
        Change::Set(title) => title.clone(),
        Change::Keep => target.title.clone(),
    };
    let duties = match &change.duties {
        Change::Set(new) if target.id != origin.id => {
            target.duties.replace(tx, &origin.duties.for_other_event(&target.duties, new))?
        }
        Change::Set(new) => target.duties.replace(tx, new)?,
        Change::Clear => target.duties.replace(tx, &[])?,
        Change::Keep => target.duties.clone(),
    };
    // A new start ends the postponement, also if it is the former one.
    let has_start = target.id == origin.id && change.starts_at.is_some();
    let rescheduled =
        target.status == Status::Postponed && (has_start || span.starts_at != target.starts_at);
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
        rsvp_enabled: change.rsvp_enabled.unwrap_or(target.rsvp_enabled),
        rsvp_deadline: deadline,
        capacity: change.capacity.clone().apply(target.capacity),
        duties,
        status: if rescheduled { Status::Scheduled } else { target.status },
        external_id: change.external_id.clone().apply(target.external_id.clone()),
        metadata: change.metadata.clone().apply_or(target.metadata.clone(), Metadata::default()),
        ..target.clone()
    })
}

/// Whether everybody should hear about a change: it is about when, where or whether the event takes place.
fn is_notable(before: &Event, after: &Event) -> bool {
    before.span() != after.span()
        || before.location_id != after.location_id
        || before.status != after.status
}

/// Saves and publishes changed events, and promotes members from the waiting list where the capacity has grown.
fn save(tx: &Tx<'_>, notification: &'static str, changed: Vec<(Event, Event)>) -> Result<()> {
    let revised = |(before, event): (Event, Event)| {
        let changed_at =
            if is_notable(&before, &event) { Some(tx.now()) } else { event.changed_at };
        let after = Event {
            revision: event.revision + 1,
            revised_at: tx.now(),
            changed_at,
            updated_at: tx.now(),
            version: event.version + 1,
            ..event
        };
        (before, after)
    };
    let (before, after): (Vec<_>, Vec<_>) = changed.into_iter().map(revised).unzip();
    after.iter().try_for_each(|event| event::update(tx, event))?;
    let (before, after) = (event::views(tx, before)?, event::views(tx, after)?);
    let pairs: Vec<_> =
        before.iter().zip(&after).map(|(before, after)| (Some(before), after)).collect();
    tx.publish_all(notification, &pairs)?;
    ON_CHANGED.get()?(tx, &pairs)?;
    for (before, after) in before.iter().zip(&after) {
        if before.event.capacity != after.event.capacity {
            // Reactions to the notification may have changed the counts.
            let event = event::find(tx, &TeamAccess::AllTeams, after.event.id)?;
            rsvp::promote_waitlisted(tx, event)?;
        }
        if before.event.ends_at <= tx.now() && after.event.ends_at > tx.now() {
            rsvp::sync_with_roster(tx, &after.event)?;
        }
    }
    Ok(())
}

/// Fails if one of these games has a result, also if it is still being played.
fn check_no_result(events: &[Event]) -> Result<()> {
    Error::invalid_state("The result of the game was recorded. Delete it first.")
        .fail_if(events.iter().any(|event| event.result.is_some()))
}

/// Reason and scope of a cancellation.
#[input(as = CancelEventRequest)]
pub struct Cancellation {
    /// Why the event is cancelled; shown to members.
    #[schema(examples("Pitch under water"))]
    #[input(block(500))]
    pub reason: Option<String>,
    /// Which events of the series to cancel. Default: `this`.
    #[schema(value_type = Option<ApplyTo>)]
    #[input(default = ApplyTo::This)]
    pub apply_to: ApplyTo,
}

/// Cancels an event and the selected events of its series. They stay visible.
pub fn cancel(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
    cancellation: Cancellation,
) -> Result<EventView> {
    let before = find_editable(tx, access, id, expected)?;
    Error::invalid_state("The event is already cancelled.")
        .fail_if(before.status == Status::Cancelled)?;
    Error::invalid_state("A completed event cannot be cancelled.")
        .fail_if(before.status == Status::Completed)?;
    check_no_result(std::slice::from_ref(&before))?;
    let targets = cancellation_targets(tx, &before, cancellation.apply_to)?;
    let open = |event: &Event| {
        matches!(event.status, Status::Scheduled | Status::Postponed) && event.result.is_none()
    };
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
    event::view(tx, event::find(tx, access, id)?)
}

/// Postpones an event to a time that is not known yet. Setting a new start schedules it again.
pub fn postpone(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
) -> Result<EventView> {
    let before = find_editable(tx, access, id, expected)?;
    let detail = match before.status {
        Status::Cancelled => "A cancelled event cannot be postponed.",
        Status::Completed => "A completed event cannot be postponed.",
        Status::Scheduled | Status::Postponed => "The event is already postponed.",
    };
    Error::invalid_state(detail).fail_if(before.status != Status::Scheduled)?;
    check_no_result(std::slice::from_ref(&before))?;
    let edited = before.series_id.is_some();
    let after = Event { status: Status::Postponed, edited, ..before.clone() };
    save(tx, "event.updated", vec![(before, after)])?;
    event::view(tx, event::find(tx, access, id)?)
}

/// Deletes events that have no RSVPs. Cancelled events stay.
pub fn delete(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
    apply_to: ApplyTo,
) -> Result<EventView> {
    let before = find_editable(tx, access, id, expected)?;
    Error::invalid_state("A cancelled event cannot be deleted.")
        .fail_if(before.status == Status::Cancelled)?;
    let mut targets = cancellation_targets(tx, &before, apply_to)?;
    targets.retain(|event| event.status != Status::Cancelled);
    let ids: Vec<_> = targets.iter().map(|event| event.id).collect();
    Error::invalid_state("The event has RSVPs. Cancel it instead of deleting it.")
        .fail_if(history::has_answers(tx, ids.clone())?)?;
    check_no_result(&targets)?;
    BEFORE_DELETE.get()?(tx, ids.clone())?;
    let deleted = event::views(tx, targets)?;
    tx.execute("delete from event where account_id = :account and id in (:ids)", bind! { ids })?;
    let notifications: Vec<_> = deleted.iter().map(|event| (None, event)).collect();
    tx.publish_all("event.deleted", &notifications)?;
    deleted.into_iter().find(|deleted| deleted.event.id == id).ok_or_else(Error::not_found)
}
