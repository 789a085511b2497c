//! Planning: a new event, or a series of them by a rule.

use kit::recurrence::Rule;
use kit::{LocalTime, Timestamp, Zone};
use store::Tx;
use utoipa::ToSchema;

use super::conflicts;
use super::duty::{Duties, NewDuty};
use super::event::{self, Event, HomeAway, Kind, Shown, Status};
use super::location;
use super::when::{self, Span, When};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Fault, Result};
use crate::ids::{LocationId, TeamId};
use crate::metadata::Metadata;
use crate::signals::Tell;
use crate::teams::team::{self, Team};

/// An event to be created.
#[derive(Debug, ToSchema)]
pub struct NewEvent {
    pub team_id: TeamId,
    #[schema(rename = "type")]
    pub kind: Kind,
    /// Made from the type and the opponent if left out.
    #[schema(examples("vs Breakwater"), max_length = 120)]
    pub title: Option<String>,
    pub starts_at: When,
    /// An hour after the start if left out; for whole days, the same day. A day is included.
    pub ends_at: Option<When>,
    /// The team's zone if left out.
    pub timezone: Option<Zone>,
    /// `false` if left out.
    #[schema(required = false)]
    pub all_day: bool,
    #[schema(minimum = 0, maximum = 600)]
    pub arrival_minutes: Option<i64>,
    pub location_id: Option<LocationId>,
    #[schema(max_length = 120)]
    pub opponent: Option<String>,
    pub home_away: Option<HomeAway>,
    #[schema(max_length = 120)]
    pub uniform: Option<String>,
    #[schema(max_length = 10000)]
    pub notes: Option<String>,
    /// `true` if left out.
    #[schema(required = false)]
    pub asks_rsvp: bool,
    pub rsvp_deadline: Option<When>,
    #[schema(minimum = 1, maximum = 100_000)]
    pub capacity: Option<i64>,
    #[schema(required = false, max_items = 50)]
    pub duties: Vec<NewDuty>,
    /// A rule of RFC 5545 with an end, and `EXDATE` lines if some days are left out. At most 400
    /// events; each keeps the local time across changes of the clocks.
    #[schema(examples("FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20"), max_length = 10000)]
    pub recurrence: Option<String>,
    #[schema(max_length = 120)]
    pub external_id: Option<String>,
    #[schema(required = false)]
    pub metadata: Metadata,
}

/// Creates an event, or every event of a series; answers with the first.
pub fn create(tx: &Tx<'_>, reach: &Reach, new: NewEvent) -> Result<Shown> {
    let team = team_of(tx, reach, new.team_id)?;
    let zone = new.timezone.clone().unwrap_or_else(|| team.timezone.clone());
    let plan = Plan::read(tx, reach, &new, &zone)?;
    let duties = Duties::default().renewed(tx, &new.duties)?;
    let first = first(tx, &team, new, &plan, duties);
    let events = match &plan.occurrences {
        None => vec![first],
        Some(starts) => series(tx, &plan, &first, starts)?,
    };
    match &events[..] {
        [one] => drop(event::unique(tx.run(Event::INSERT, &one.bind()))?),
        many => tx.later_all(Event::INSERT, &many.iter().map(Event::bind).collect::<Vec<_>>())?,
    }
    let warnings = conflicts::of(tx, reach, &events)?;
    let shown = event::show(tx, events)?;
    let news: Vec<_> = shown.iter().map(|event| (None, event)).collect();
    tx.tell_all("event.created", &news)?;
    let answer = shown.into_iter().next();
    answer
        .map(|first| Shown { warnings, ..first })
        .ok_or_else(|| Error::internal("a series without events"))
}

/// The team of a new event, which must be there, reached and active.
fn team_of(tx: &Tx<'_>, reach: &Reach, id: TeamId) -> Result<Team> {
    let found = reach.check(id).and_then(|()| team::playing(tx, id));
    found.map_err(|error| match error.code {
        Code::NotFound => {
            Error::invalid(vec![Fault::new("/team_id", "unknown", "There is no such team.")])
        }
        _ => error,
    })
}

/// When an event is to be, once every fault of that was told.
struct Plan {
    span: Span,
    deadline: Option<Timestamp>,
    rule: Option<Rule>,
    occurrences: Option<Vec<LocalTime>>,
}

impl Plan {
    fn read(tx: &Tx<'_>, reach: &Reach, new: &NewEvent, zone: &Zone) -> Result<Self> {
        let mut faults = Vec::new();
        let span = Span::read(zone.clone(), new.all_day, new.starts_at, new.ends_at);
        let span = span.map_err(|found| faults.extend(found)).ok();
        let deadline = new.rsvp_deadline.map(|when| deadline(zone, when, span.as_ref()));
        let deadline = deadline.transpose().map_err(|found| faults.push(found)).ok().flatten();
        faults.extend(location_fault(tx, reach, new.location_id)?);
        let rule = new.recurrence.as_deref().map(str::parse::<Rule>);
        let refused = |fault: kit::recurrence::RuleFault| {
            Fault::new("/recurrence", "invalid_recurrence", fault.to_string())
        };
        let rule = rule.transpose().map_err(|fault| faults.push(refused(fault))).ok().flatten();
        let occurrences = match (&rule, &span) {
            (Some(rule), Some(span)) => rule
                .occurrences(span.starts_local(), zone)
                .map_err(|fault| faults.push(refused(fault)))
                .ok(),
            _ => None,
        };
        if rule.is_some() && new.external_id.is_some() {
            let detail = "Events of a series cannot share an external id.";
            faults.push(Fault::new("/external_id", "not_for_series", detail));
        }
        match span {
            Some(span) if faults.is_empty() => Ok(Self { span, deadline, rule, occurrences }),
            _ => Err(Error::invalid(faults)),
        }
    }
}

/// The moment until which answers are taken.
pub(super) fn deadline(zone: &Zone, when: When, span: Option<&Span>) -> Result<Timestamp, Fault> {
    let fault = |(code, detail)| Fault::new("/rsvp_deadline", code, detail);
    let deadline = when::moment(zone, when).map_err(fault)?;
    if span.is_some_and(|span| deadline > span.ends_at) {
        let detail = "Answers are taken until the event ends at the latest.".to_owned();
        return Err(fault(("after_end", detail)));
    }
    Ok(deadline)
}

/// What is wrong with a location, if anything. One that the caller does not see answers as if it did not exist:
/// an event there would show its address.
pub(super) fn location_fault(
    tx: &Tx<'_>,
    reach: &Reach,
    id: Option<LocationId>,
) -> Result<Option<Fault>> {
    let Some(id) = id else { return Ok(None) };
    let detail = match location::find(tx, reach, id) {
        Ok(found) if found.status == location::Status::Active => return Ok(None),
        Ok(_) => "This location is archived.",
        Err(error) if error.code == Code::NotFound => "There is no such location.",
        Err(error) => return Err(error),
    };
    Ok(Some(Fault::new("/location_id", "unknown", detail)))
}

fn first(tx: &Tx<'_>, team: &Team, new: NewEvent, plan: &Plan, duties: Duties) -> Event {
    let given = new.title;
    Event {
        id: tx.new_id(),
        account_id: tx.account(),
        team_id: team.id,
        series_id: None,
        recurrence: None,
        occurrence: None,
        edited: false,
        kind: new.kind,
        title: given.unwrap_or_else(|| title(new.kind, new.opponent.as_deref(), new.home_away)),
        starts_at: plan.span.starts_at,
        ends_at: plan.span.ends_at,
        timezone: plan.span.zone.clone(),
        all_day: plan.span.all_day,
        arrival_minutes: new.arrival_minutes,
        location_id: new.location_id,
        opponent: new.opponent,
        home_away: new.home_away,
        uniform: new.uniform,
        notes: new.notes,
        asks_rsvp: new.asks_rsvp,
        rsvp_deadline: plan.deadline,
        capacity: new.capacity,
        duties,
        status: Status::Scheduled,
        cancel_reason: None,
        cancelled_at: None,
        asked_count: team.roster_count,
        yes_count: 0,
        no_count: 0,
        maybe_count: 0,
        waiting_count: 0,
        revision: 0,
        revised_at: tx.now(),
        external_id: new.external_id,
        metadata: new.metadata,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    }
}

/// Every event of a series: the first one's clothes at each of these local times.
fn series(tx: &Tx<'_>, plan: &Plan, first: &Event, starts: &[LocalTime]) -> Result<Vec<Event>> {
    let series_id = Some(tx.new_id());
    let recurrence = plan.rule.as_ref().map(ToString::to_string);
    let mut events = Vec::with_capacity(starts.len());
    for start in starts {
        let span = plan.span.moved(*start).ok_or_else(|| {
            let detail = "The series goes beyond the year 2199.";
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
            rsvp_deadline: plan.deadline.map(|deadline| span.beside(&plan.span, deadline)),
            duties,
            ..first.clone()
        });
    }
    Ok(events)
}

/// What an event is called if nobody gave it a name.
pub(super) fn title(kind: Kind, opponent: Option<&str>, home_away: Option<HomeAway>) -> String {
    let against = if home_away == Some(HomeAway::Away) { "at" } else { "vs" };
    match (kind, opponent) {
        (Kind::Game, Some(opponent)) => format!("{against} {opponent}").chars().take(120).collect(),
        (Kind::Game, None) => "Game".to_owned(),
        (Kind::Practice, _) => "Practice".to_owned(),
        (Kind::Meeting, _) => "Meeting".to_owned(),
        (Kind::Tournament, _) => "Tournament".to_owned(),
        (Kind::Other, _) => "Event".to_owned(),
    }
}
