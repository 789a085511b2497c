//! Creating a single event, or a series by a recurrence rule.

use std::borrow::Cow;

use kit::LocalTime;
use kit::recurrence::Rule;
use macros::input;

use super::conflicts::{self, Warning};
use super::duty::{Duties, NewDuty};
use super::event::{self, Event, EventView, HomeAway, Kind, Status};
use super::event_time::{self, EventTime, NOT_A_TIME, Span};
use super::location;
use crate::prelude::*;
use crate::teams::team::{self, Team};

/// A new event.
#[input(as = CreateEventRequest, faults(if_rejected))]
pub struct NewEvent {
    pub team_id: TeamId,
    /// Type of the event.
    #[input(name = "type")]
    pub kind: Kind,
    /// Title of the event. Default: generated from the type and the opponent.
    #[schema(examples("vs Breakwater"))]
    #[input(line(120))]
    pub title: Option<String>,
    #[input(parsed("invalid_time", NOT_A_TIME), placeholder = EventTime::Moment(Timestamp::from_micros(i64::MIN)))]
    pub starts_at: EventTime,
    /// End of the event. Default: one hour after the start, or the same day for all-day events. A date is inclusive.
    #[input(parsed("invalid_time", NOT_A_TIME))]
    pub ends_at: Option<EventTime>,
    /// Time zone of the event. Default: the team's time zone.
    pub timezone: Option<Zone>,
    /// Whether the event lasts whole days. Default: `false`.
    #[input(default)]
    pub all_day: bool,
    /// How many minutes before the start members should arrive.
    #[input(number(0, 600))]
    pub arrival_minutes: Option<i64>,
    pub location_id: Option<LocationId>,
    /// Name of the opponent; `null` if there is none.
    #[input(line(120))]
    pub opponent: Option<String>,
    /// Whether the game is at home, away or on neutral ground; `null` if it does not apply.
    pub home_away: Option<HomeAway>,
    /// What to wear; `null` if it does not matter.
    #[input(line(120))]
    pub uniform: Option<String>,
    /// Notes for members.
    #[input(block(10_000))]
    pub notes: Option<String>,
    /// Whether members are asked for an RSVP. Default: `true`.
    #[input(default = true)]
    pub rsvp_enabled: bool,
    /// Time until which members can answer; `null` for no deadline.
    #[input(parsed("invalid_time", NOT_A_TIME))]
    pub rsvp_deadline: Option<EventTime>,
    /// Maximum number of members who can attend; further answers are waitlisted.
    #[input(number(1, 100_000))]
    pub capacity: Option<i64>,
    /// Duties that members can take on.
    #[input(objects(50), default)]
    pub duties: Vec<NewDuty>,
    /// Recurrence rule (RFC 5545) with an end, and optional `EXDATE` lines for excluded dates. At most 400 events. All
    /// events have the same local time, across clock changes.
    #[schema(examples("FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20"))]
    #[input(block(10_000))]
    pub recurrence: Option<String>,
    #[input(line(120))]
    pub external_id: Option<String>,
    #[input(default)]
    pub metadata: Metadata,
}

impl NewEvent {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        let rule = self.recurrence.as_deref().map(str::parse::<Rule>);
        let rule = rule.and_then(std::result::Result::err);
        let rule = rule.map(|e| Fault::new("/recurrence", "invalid_recurrence", e.to_string()));
        event_time::order_fault(Some(self.starts_at), self.ends_at)
            .into_iter()
            .chain(rule)
            .collect()
    }
}

/// Creates an event or all events of a series. Returns the first one.
pub fn create(tx: &Tx<'_>, access: &TeamAccess, new: NewEvent) -> Result<EventView> {
    let (events, warnings) = preview(tx, access, new)?;
    match &events[..] {
        [single] => drop(event::map_unique_violation(tx.execute(Event::INSERT, &single.bind()))?),
        all => {
            let rows: Vec<_> = all.iter().map(Event::bind).collect();
            tx.execute_deferred_all(Event::INSERT, &rows)?;
        }
    }
    let created = event::views(tx, events)?;
    let notifications: Vec<_> = created.iter().map(|event| (None, event)).collect();
    tx.publish_all("event.created", &notifications)?;
    let first = created.first().ok_or_else(|| Error::internal("a series without events"))?;
    // Publishing has recorded answers for people with away dates, so read the event again.
    let first = event::view(tx, event::find(tx, access, first.event.id)?)?;
    Ok(EventView { warnings, ..first })
}

/// The events that [`create`] would create, and warnings about other events that they overlap with.
pub fn preview(
    tx: &Tx<'_>,
    access: &TeamAccess,
    new: NewEvent,
) -> Result<(Vec<Event>, Vec<Warning>)> {
    let mut violations = Violations::default();
    let team = team::find_referenced(tx, access, new.team_id, &mut violations)?;
    // Without a team, the other fields are still checked, to report all violations.
    let team_zone = team.as_ref().map(|team| team.timezone.clone());
    let zone = new.timezone.clone().or(team_zone).unwrap_or_else(Zone::utc);
    let plan = violations.collect(Plan::read(tx, access, &new, &zone))?;
    let duties = violations.collect(Duties::default().replace(tx, &new.duties))?;
    violations.finish()?;
    let (Some(team), Some(plan), Some(duties)) = (team, plan, duties) else {
        return Err(Error::internal("an event without a violation could not be read"));
    };
    let first = build_event(tx, &team, new, &plan, duties);
    let events = match &plan.occurrences {
        None => vec![first],
        Some(starts) => build_series(tx, &plan, &first, starts)?,
    };
    let warnings = conflicts::find_overlaps(tx, access, &events)?;
    Ok((events, warnings))
}

/// The validated times of a new event or series.
struct Plan {
    span: Span,
    deadline: Option<Timestamp>,
    rule: Option<Rule>,
    occurrences: Option<Vec<LocalTime>>,
}

impl Plan {
    fn read(tx: &Tx<'_>, access: &TeamAccess, new: &NewEvent, zone: &Zone) -> Result<Self> {
        let mut faults = Vec::new();
        let span = Span::read(zone.clone(), new.all_day, new.starts_at, new.ends_at);
        let span = span.map_err(|errors| faults.extend(errors)).ok();
        let deadline = new.rsvp_deadline.map(|when| resolve_deadline(zone, when, span.as_ref()));
        let deadline = deadline.transpose().map_err(|error| faults.push(error)).ok().flatten();
        faults.extend(location_fault(tx, access, new.location_id)?);
        let rule = new.recurrence.as_deref().map(str::parse::<Rule>);
        let rule_fault = |fault: kit::recurrence::RuleFault| {
            Fault::new("/recurrence", "invalid_recurrence", fault.to_string())
        };
        let rule = rule.transpose().map_err(|fault| faults.push(rule_fault(fault))).ok().flatten();
        let occurrences = match (&rule, &span) {
            (Some(rule), Some(span)) => rule
                .occurrences(span.starts_local(), zone)
                .map_err(|fault| faults.push(rule_fault(fault)))
                .ok(),
            _ => None,
        };
        if rule.is_some() && new.external_id.is_some() {
            let detail = "`external_id` can only be set for a single event. Leave out `recurrence` or `external_id`.";
            faults.push(Fault::new("/external_id", "not_for_series", detail));
        }
        match span {
            Some(span) if faults.is_empty() => Ok(Self { span, deadline, rule, occurrences }),
            _ => Err(Error::invalid(faults)),
        }
    }
}

/// Resolves the RSVP deadline of a request.
pub(super) fn resolve_deadline(
    zone: &Zone,
    when: EventTime,
    span: Option<&Span>,
) -> Result<Timestamp, Fault> {
    let fault = |(code, detail)| Fault::new("/rsvp_deadline", code, detail);
    let deadline = event_time::moment(zone, when).map_err(fault)?;
    if span.is_some_and(|span| deadline > span.ends_at) {
        let detail = message!("The answer deadline must not be after the end of the event.");
        return Err(fault(("after_end", detail)));
    }
    Ok(deadline)
}

/// The fault if a location cannot be used. A location that the caller may not see is treated as unknown, since an event
/// there would reveal its address.
pub(super) fn location_fault(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: Option<LocationId>,
) -> Result<Option<Fault>> {
    let Some(id) = id else { return Ok(None) };
    let (code, detail) = match location::find(tx, access, id).or_none()? {
        Some(location) if location.status == location::Status::Active => return Ok(None),
        Some(_) => ("archived", "This location is archived. Choose an active one."),
        None => ("not_found", "There is no location with this ID."),
    };
    Ok(Some(Fault::new("/location_id", code, detail)))
}

fn build_event(tx: &Tx<'_>, team: &Team, new: NewEvent, plan: &Plan, duties: Duties) -> Event {
    let (span, requested_title) = (plan.span.clone(), new.title);
    let title = requested_title
        .unwrap_or_else(|| default_title(new.kind, new.opponent.as_deref(), new.home_away));
    copy_fields! {
        Event {
            id: tx.new_id(),
            account_id: tx.account(),
            team_id: team.id,
            series_id: None,
            recurrence: None,
            occurrence: None,
            edited: false,
            title,
            timezone: span.zone,
            rsvp_deadline: plan.deadline,
            duties,
            status: Status::Scheduled,
            cancel_reason: None,
            cancelled_at: None,
            result: None,
            asked_count: team.roster_count,
            yes_count: 0,
            no_count: 0,
            maybe_count: 0,
            waitlisted_count: 0,
            revision: 0,
            revised_at: tx.now(),
            changed_at: None,
            created_at: tx.now(),
            updated_at: tx.now(),
            version: 1,
            ..span { starts_at, ends_at, all_day }
            ..new {
                kind, arrival_minutes, location_id, opponent, home_away, uniform, notes,
                rsvp_enabled, capacity, external_id, metadata,
            }
        }
    }
}

/// Builds all events of a series: copies of the first one at each of these local times.
fn build_series(
    tx: &Tx<'_>,
    plan: &Plan,
    first: &Event,
    starts: &[LocalTime],
) -> Result<Vec<Event>> {
    let series_id = Some(tx.new_id());
    let recurrence = plan.rule.as_ref().map(ToString::to_string);
    let mut events = Vec::with_capacity(starts.len());
    for start in starts {
        let span = plan.span.moved_to(*start).ok_or_else(|| {
            let detail = "The series must end before the year 2200.";
            Error::invalid(vec![Fault::new("/recurrence", "out_of_range", detail)])
        })?;
        let mut duties = first.duties.clone();
        duties.0.iter_mut().for_each(|duty| duty.id = tx.new_id());
        events.push(Event {
            id: tx.new_id(),
            series_id,
            recurrence: recurrence.clone(),
            occurrence: Some(*start),
            starts_at: span.starts_at,
            ends_at: span.ends_at,
            rsvp_deadline: plan.deadline.map(|deadline| span.shift_timestamp(&plan.span, deadline)),
            duties,
            ..first.clone()
        });
    }
    Ok(events)
}

/// The default title of an event.
pub(super) fn default_title(
    kind: Kind,
    opponent: Option<&str>,
    home_away: Option<HomeAway>,
) -> String {
    let preposition = if home_away == Some(HomeAway::Away) { "at" } else { "vs" };
    match (kind, opponent) {
        (Kind::Game, Some(opponent)) => {
            format!("{preposition} {opponent}").chars().take(120).collect()
        }
        (Kind::Game, None) => "Game".to_owned(),
        (Kind::Practice, _) => "Practice".to_owned(),
        (Kind::Meeting, _) => "Meeting".to_owned(),
        (Kind::Tournament, _) => "Tournament".to_owned(),
        (Kind::Other, _) => "Event".to_owned(),
    }
}

impl Event {
    /// The title in the reader's language, if it is the default title. Otherwise as it was entered.
    pub fn shown_title(&self) -> Cow<'_, str> {
        let opponent = self.opponent.as_deref();
        if self.title != default_title(self.kind, opponent, self.home_away) {
            return Cow::Borrowed(&self.title);
        }
        match (self.kind, opponent) {
            (Kind::Game, Some(opponent)) if self.home_away == Some(HomeAway::Away) => {
                t!("at {opponent}", opponent).into()
            }
            (Kind::Game, Some(opponent)) => t!("vs {opponent}", opponent).into(),
            (Kind::Game, None) => t!("Game").into(),
            (Kind::Practice, _) => t!("Practice").into(),
            (Kind::Meeting, _) => t!("Meeting").into(),
            (Kind::Tournament, _) => t!("Tournament").into(),
            (Kind::Other, _) => t!("Event").into(),
        }
    }
}
