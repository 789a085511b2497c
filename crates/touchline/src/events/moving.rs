//! When events are after a change: the one it was sent to, and the others of its series.

use kit::{Change, LocalTime, Timestamp, Zone};
use store::Tx;

use super::edit::{self, ApplyTo, EventChange};
use super::event::Event;
use super::schedule;
use super::when::{Span, When};
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::teams::team;

/// What a change says about when events are, read for the event it was sent to.
pub(super) struct NewPlan<'a> {
    origin: &'a Event,
    change: &'a EventChange,
    span: Span,
    deadline: Change<Timestamp>,
    now: Timestamp,
}

/// When an event is after a change.
pub(super) struct Times {
    pub span: Span,
    pub deadline: Option<Timestamp>,
    /// Where its series has it.
    pub occurrence: Option<LocalTime>,
}

impl<'a> NewPlan<'a> {
    /// The plan, or every fault of the change.
    pub(super) fn read(
        tx: &Tx<'_>,
        reach: &Reach,
        before: &'a Event,
        change: &'a EventChange,
    ) -> Result<Self> {
        let mut faults = Vec::new();
        let zone = match &change.timezone {
            Change::Keep => before.timezone.clone(),
            Change::Set(zone) => zone.clone(),
            Change::Clear => team::find(tx, before.team_id)?.timezone,
        };
        let span = new_span(before, change, zone).map_err(|found| faults.extend(found)).ok();
        let deadline = match change.rsvp_deadline {
            Change::Keep => Change::Keep,
            Change::Clear => Change::Clear,
            Change::Set(when) => {
                let zone = span.as_ref().map_or(&before.timezone, |span| &span.zone);
                match schedule::deadline(zone, when, span.as_ref()) {
                    Ok(moment) => Change::Set(moment),
                    Err(fault) => {
                        faults.push(fault);
                        Change::Keep
                    }
                }
            }
        };
        if let Change::Set(location) = change.location_id
            && before.location_id != Some(location)
        {
            faults.extend(schedule::location_fault(tx, reach, Some(location))?);
        }
        faults.extend(edit::series_fault(before, change.apply_to));
        if change.external_id != Change::Keep && change.apply_to != ApplyTo::This {
            let detail = "Events of a series cannot share an external id.";
            faults.push(Fault::new("/external_id", "not_for_series", detail));
        }
        match span {
            Some(span) if faults.is_empty() => {
                Ok(Self { origin: before, change, span, deadline, now: tx.now() })
            }
            _ => Err(Error::invalid(faults)),
        }
    }

    /// When an event of the series is after the change. One that is over stays when it was, unless the
    /// change was sent to one that is over.
    pub(super) fn times(&self, target: &Event) -> Result<Times> {
        if target.is_over(self.now) && !self.origin.is_over(self.now) {
            let (deadline, occurrence) = (target.rsvp_deadline, target.occurrence);
            return Ok(Times { span: target.span(), deadline, occurrence });
        }
        let moved = self.place(target).and_then(|place| Some((self.span(target, place)?, place)));
        let (span, place) = moved.ok_or_else(|| {
            let detail = "An event of the series would lie beyond the year 2199.";
            Error::invalid(vec![Fault::new("/starts_at", "out_of_range", detail)])
        })?;
        let deadline = match self.deadline {
            Change::Set(moment) => Some(span.beside(&self.span, moment)),
            Change::Clear => None,
            Change::Keep => target.rsvp_deadline.map(|was| span.beside(&target.span(), was)),
        };
        // One that comes back to its series without a new start belongs where it is.
        let stays = self.overwrites(target) && self.change.starts_at.is_none();
        let occurrence = match self.change.apply_to {
            ApplyTo::This => target.occurrence,
            _ if stays => Some(span.starts_local()),
            _ => Some(place),
        };
        Ok(Times { span, deadline, occurrence })
    }

    fn overwrites(&self, target: &Event) -> bool {
        self.change.overwrite_edits && target.edited
    }

    /// Where the series has an event after the change: as many days later or earlier as the event the
    /// change was sent to, at the same new time of day. One that was changed by itself may be elsewhere.
    fn place(&self, target: &Event) -> Option<LocalTime> {
        let series = |event: &Event| event.occurrence.unwrap_or(event.span().starts_local());
        let (new, place) = (self.span.starts_local(), series(target));
        let from = if self.overwrites(self.origin) {
            series(self.origin)
        } else {
            self.origin.span().starts_local()
        };
        if self.change.starts_at.is_none() || new == from {
            return Some(place);
        }
        let midnight = |local: LocalTime| local.day().at_midnight();
        let days = midnight(new).seconds_since(midnight(from)) / 86_400;
        let time = if self.span.all_day { place } else { new };
        Some(time.on(place.day().plus_days(days)?))
    }

    /// When an event is that the series has at `place`. What the change does not speak of stays the
    /// event's own: without a new start it begins when it did, without a new end it takes as long.
    fn span(&self, target: &Event, place: LocalTime) -> Option<Span> {
        let (new, was, own) = (&self.span, self.origin.span(), target.span());
        if target.id == self.origin.id {
            return Some(new.clone());
        }
        let elsewhere = new.zone != was.zone || new.all_day != was.all_day;
        let follows = Some(place) != target.occurrence
            || (self.change.starts_at.is_some() && self.overwrites(target));
        let like = if elsewhere || self.change.ends_at.is_some() { new } else { &own };
        if follows {
            like.moved(place)
        } else if elsewhere {
            like.moved(own.starts_local())
        } else if like.all_day == own.all_day {
            own.lasting(like)
        } else {
            Some(own)
        }
    }
}

/// When the event is after the change. What is not said stays as the clocks show it.
fn new_span(before: &Event, change: &EventChange, zone: Zone) -> Result<Span, Vec<Fault>> {
    let was = before.span();
    let all_day = change.all_day.unwrap_or(was.all_day);
    let same = zone == was.zone && all_day == was.all_day;
    if same && change.starts_at.is_none() && change.ends_at.is_none() {
        return Ok(was);
    }
    let kept = |moment, local| if same { When::Moment(moment) } else { When::Local(local) };
    let start = change.starts_at.unwrap_or_else(|| kept(was.starts_at, was.starts_local()));
    let end = match (change.ends_at, change.starts_at) {
        (Some(end), _) => Some(end),
        (None, None) => Some(kept(was.ends_at, was.ends_local())),
        (None, Some(_)) => None,
    };
    let span = Span::read(zone, all_day, start, end)?;
    if end.is_some() {
        return Ok(span);
    }
    // Moved as a whole: it takes as long as before.
    let length = was.ends_at.micros() - was.starts_at.micros();
    let days =
        was.ends_local().day().at_midnight().seconds_since(was.starts_local().day().at_midnight());
    let end = if all_day && was.all_day {
        let last = span.starts_local().plus_seconds(days);
        last.map(When::Local)
    } else {
        Some(When::Moment(Timestamp::from_micros(span.starts_at.micros() + length)))
    };
    Span::read(span.zone.clone(), all_day, When::Moment(span.starts_at), end)
}
