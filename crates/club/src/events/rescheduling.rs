//! New times of events after a change, for the changed event and the others of its series.

use kit::LocalTime;

use super::edit::{self, ApplyTo, EventChange};
use super::event::Event;
use super::event_time::{EventTime, Span};
use super::schedule;
use crate::prelude::*;
use crate::teams::team;

/// The new times that a change requests, resolved for the event it was sent to.
pub(super) struct Rescheduling<'a> {
    origin: &'a Event,
    change: &'a EventChange,
    span: Span,
    deadline: Change<Timestamp>,
    now: Timestamp,
}

/// The times of an event after a change.
pub(super) struct Times {
    pub span: Span,
    pub deadline: Option<Timestamp>,
    /// Position of the event in its series: the local start by the recurrence rule.
    pub occurrence: Option<LocalTime>,
}

impl<'a> Rescheduling<'a> {
    /// Resolves the times of a change, or returns everything that is wrong with it.
    pub(super) fn read(
        tx: &Tx<'_>,
        access: &TeamAccess,
        before: &'a Event,
        change: &'a EventChange,
    ) -> Result<Self> {
        let mut faults = Vec::new();
        let zone = match &change.timezone {
            Change::Keep => before.timezone.clone(),
            Change::Set(zone) => zone.clone(),
            Change::Clear => team::find(tx, before.team_id)?.timezone,
        };
        let span = new_span(before, change, zone).map_err(|errors| faults.extend(errors)).ok();
        let deadline = match change.rsvp_deadline {
            Change::Keep => Change::Keep,
            Change::Clear => Change::Clear,
            Change::Set(when) => {
                let zone = span.as_ref().map_or(&before.timezone, |span| &span.zone);
                let deadline = schedule::resolve_deadline(zone, when, span.as_ref());
                let deadline = deadline.map_err(|fault| faults.push(fault));
                deadline.map_or(Change::Keep, Change::Set)
            }
        };
        if let Change::Set(location) = change.location_id
            && before.location_id != Some(location)
        {
            faults.extend(schedule::location_fault(tx, access, Some(location))?);
        }
        faults.extend(edit::series_fault(before, change.apply_to));
        if change.external_id != Change::Keep && change.apply_to != ApplyTo::This {
            let detail =
                "`external_id` can only be set for a single event. Set `apply_to` to `this`.";
            faults.push(Fault::new("/external_id", "not_for_series", detail));
        }
        match span {
            Some(span) if faults.is_empty() => {
                Ok(Self { origin: before, change, span, deadline, now: tx.now() })
            }
            _ => Err(Error::invalid(faults)),
        }
    }

    /// The times of an event of the series after the change. Events that are over keep their times, unless the change
    /// was sent to an event that is over.
    pub(super) fn times(&self, target: &Event) -> Result<Times> {
        if target.is_over(self.now) && !self.origin.is_over(self.now) {
            let (deadline, occurrence) = (target.rsvp_deadline, target.occurrence);
            return Ok(Times { span: target.span(), deadline, occurrence });
        }
        let moved = self
            .new_occurrence(target)
            .and_then(|occurrence| Some((self.span(target, occurrence)?, occurrence)));
        let (span, occurrence) = moved.ok_or_else(|| {
            let detail = "An event of the series would be after the year 2199.";
            Error::invalid(vec![Fault::new("/starts_at", "out_of_range", detail)])
        })?;
        let deadline = match self.deadline {
            Change::Set(moment) => Some(span.shift_timestamp(&self.span, moment)),
            Change::Clear => None,
            Change::Keep => {
                target.rsvp_deadline.map(|deadline| span.shift_timestamp(&target.span(), deadline))
            }
        };
        // An exception that rejoins its series without a new start keeps its time as its position.
        let keeps_start = self.overrides_exception(target) && self.change.starts_at.is_none();
        let occurrence = match self.change.apply_to {
            ApplyTo::This => target.occurrence,
            _ if keeps_start => Some(span.starts_local()),
            _ => Some(occurrence),
        };
        Ok(Times { span, deadline, occurrence })
    }

    fn overrides_exception(&self, target: &Event) -> bool {
        self.change.override_exceptions && target.edited
    }

    /// The position of an event in the series after the change: moved by as many days as the event the change was sent
    /// to, at the same new time of day. Events that were changed individually may take place at another time.
    fn new_occurrence(&self, target: &Event) -> Option<LocalTime> {
        let series = |event: &Event| event.occurrence.unwrap_or(event.span().starts_local());
        let (new, occurrence) = (self.span.starts_local(), series(target));
        let from = if self.overrides_exception(self.origin) {
            series(self.origin)
        } else {
            self.origin.span().starts_local()
        };
        if self.change.starts_at.is_none() || new == from {
            return Some(occurrence);
        }
        let midnight = |local: LocalTime| local.day().at_midnight();
        let days = midnight(new).seconds_since(midnight(from)) / 86_400;
        let time = if self.span.all_day { occurrence } else { new };
        Some(time.on(occurrence.day().plus_days(days)?))
    }

    /// The times of an event whose position in the series is `occurrence`. What the change does not set stays
    /// unchanged: without a new start the event keeps its start, without a new end it keeps its length.
    fn span(&self, target: &Event, occurrence: LocalTime) -> Option<Span> {
        let (new, old, own) = (&self.span, self.origin.span(), target.span());
        if target.id == self.origin.id {
            return Some(new.clone());
        }
        let local_changed = new.zone != old.zone || new.all_day != old.all_day;
        let follows = Some(occurrence) != target.occurrence
            || (self.change.starts_at.is_some() && self.overrides_exception(target));
        let like = if local_changed || self.change.ends_at.is_some() { new } else { &own };
        if follows {
            like.moved_to(occurrence)
        } else if local_changed {
            like.moved_to(own.starts_local())
        } else if like.all_day == own.all_day {
            own.with_length_of(like)
        } else {
            Some(own)
        }
    }
}

/// The times of the changed event. Times that the change does not set keep their local time.
fn new_span(before: &Event, change: &EventChange, zone: Zone) -> Result<Span, Vec<Fault>> {
    let old = before.span();
    let all_day = change.all_day.unwrap_or(old.all_day);
    let same = zone == old.zone && all_day == old.all_day;
    if same && change.starts_at.is_none() && change.ends_at.is_none() {
        return Ok(old);
    }
    let unchanged =
        |moment, local| if same { EventTime::Moment(moment) } else { EventTime::Local(local) };
    let start = change.starts_at.unwrap_or_else(|| unchanged(old.starts_at, old.starts_local()));
    let end = match (change.ends_at, change.starts_at) {
        (Some(end), _) => Some(end),
        (None, None) => Some(unchanged(old.ends_at, old.ends_local())),
        (None, Some(_)) => None,
    };
    let span = Span::read(zone, all_day, start, end)?;
    if end.is_some() {
        return Ok(span);
    }
    // Only the start was set, so the event keeps its length.
    let length = old.ends_at.micros() - old.starts_at.micros();
    let days =
        old.ends_local().day().at_midnight().seconds_since(old.starts_local().day().at_midnight());
    let end = if all_day && old.all_day {
        let last = span.starts_local().plus_seconds(days);
        last.map(EventTime::Local)
    } else {
        Some(EventTime::Moment(Timestamp::from_micros(span.starts_at.micros() + length)))
    };
    Span::read(span.zone.clone(), all_day, EventTime::Moment(span.starts_at), end)
}
