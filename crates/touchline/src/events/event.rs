//! The event: what a team meets for, when and where.

use kit::{LocalTime, Timestamp, Zone, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::conflicts::Warning;
use super::duty::Duties;
use super::location::{self, Location};
use super::when::Span;
use crate::accounts::rights::Reach;
use crate::error::{Result, TakenExt};
use crate::expected::Versioned;
use crate::ids::{AccountId, EventId, LocationId, MemberId, SeriesId, TeamId};
use crate::metadata::Metadata;
use crate::paging::{Order, Page, Paged};
use crate::signals::Subject;
use crate::thing::thing;

words! {
    /// What a team meets for.
    pub enum Kind as EventType {
        Game = "game",
        Practice = "practice",
        Meeting = "meeting",
        Tournament = "tournament",
        Other = "other",
    }
}

words! {
    /// How an event stands.
    pub enum Status as EventStatus {
        /// It will be held, or was.
        Scheduled = "scheduled",
        /// It is not held; it stays visible.
        Cancelled = "cancelled",
        /// Its result was recorded.
        Completed = "completed",
        /// It will be held at a time not yet known.
        Postponed = "postponed",
    }
}

words! {
    /// Whose ground a game is played on.
    pub enum HomeAway {
        Home = "home",
        Away = "away",
        Neutral = "neutral",
    }
}
word_column!(Kind, Status, HomeAway);

record! {
    /// What is kept of an event.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    #[schema(as = EventRecord)]
    pub struct Event in event {
        pub id: EventId,
        #[serde(skip)]
        pub account_id: AccountId,
        pub team_id: TeamId,
        /// The series it belongs to, if it was made by a rule.
        pub series_id: Option<SeriesId>,
        /// The rule the series was made with (RFC 5545).
        #[schema(examples("FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20"))]
        pub recurrence: Option<String>,
        #[serde(skip)]
        pub occurrence: Option<LocalTime>,
        #[serde(skip)]
        pub edited: bool,
        #[serde(rename = "type")]
        pub kind: Kind,
        #[schema(examples("vs Breakwater"), max_length = 120)]
        pub title: String,
        pub starts_at: Timestamp,
        pub ends_at: Timestamp,
        /// The zone in which it was planned.
        pub timezone: Zone,
        /// It takes whole days, from midnight to midnight in its zone.
        pub all_day: bool,
        /// How many minutes before the start people are to be there.
        #[schema(examples(30), minimum = 0, maximum = 600)]
        pub arrival_minutes: Option<i64>,
        pub location_id: Option<LocationId>,
        #[schema(max_length = 120)]
        pub opponent: Option<String>,
        pub home_away: Option<HomeAway>,
        #[schema(examples("blue"), max_length = 120)]
        pub uniform: Option<String>,
        #[schema(max_length = 10000)]
        pub notes: Option<String>,
        /// Whether people are asked if they come.
        pub asks_rsvp: bool,
        /// Answers are taken until then.
        pub rsvp_deadline: Option<Timestamp>,
        /// How many can come; whoever says yes after that waits.
        #[schema(minimum = 1, maximum = 100_000)]
        pub capacity: Option<i64>,
        #[schema(value_type = Vec<super::duty::Duty>)]
        pub duties: Duties,
        pub status: Status,
        #[schema(max_length = 500)]
        pub cancel_reason: Option<String>,
        pub cancelled_at: Option<Timestamp>,
        #[serde(skip)]
        pub asked_count: i64,
        #[serde(skip)]
        pub yes_count: i64,
        #[serde(skip)]
        pub no_count: i64,
        #[serde(skip)]
        pub maybe_count: i64,
        #[serde(skip)]
        pub waiting_count: i64,
        #[serde(skip)]
        pub revision: i64,
        #[serde(skip)]
        pub revised_at: Timestamp,
        /// The event's id in another system, unique in the account.
        #[schema(max_length = 120)]
        pub external_id: Option<String>,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change and every answer.
        pub version: i64,
    }
}

impl Event {
    /// From when to when it is.
    pub fn span(&self) -> Span {
        Span {
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            zone: self.timezone.clone(),
            all_day: self.all_day,
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.ends_at <= now
    }
}

thing!(Event by EventId: Versioned);

/// How many answered what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Counts {
    pub yes: i64,
    pub no: i64,
    pub maybe: i64,
    /// Those who would come but wait for a place.
    pub waiting: i64,
    /// Those on the roster who have not answered.
    pub unanswered: i64,
}

/// Something a team meets for.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Event)]
#[serde(tag = "object", rename = "event")]
pub struct Shown {
    #[serde(flatten)]
    pub event: Event,
    /// What the clocks show in its zone when it starts.
    pub starts_local: LocalTime,
    /// What the clocks show in its zone when it ends.
    pub ends_local: LocalTime,
    pub location: Option<Location>,
    pub rsvp_counts: Counts,
    /// How it ended; `null` until that is recorded.
    #[schema(value_type = Option<Object>)]
    pub result: (),
    /// What should be looked at, told when an event is created or moved.
    pub warnings: Vec<Warning>,
}

impl Subject for Shown {
    fn subject(&self) -> String {
        self.event.id.to_string()
    }
}

impl Versioned for Shown {
    fn version(&self) -> i64 {
        self.event.version
    }
}

impl Paged for Shown {
    type Place = (Timestamp, EventId);

    fn place(&self) -> Self::Place {
        (self.event.starts_at, self.event.id)
    }
}

/// Which events to list.
#[derive(Debug, Default)]
pub struct EventFilter {
    pub team_id: Option<TeamId>,
    /// Only events that start at this moment or later.
    pub from: Option<Timestamp>,
    /// Only events that start before this moment.
    pub to: Option<Timestamp>,
    pub kind: Option<Kind>,
    pub status: Option<Status>,
    pub series_id: Option<SeriesId>,
    pub location_id: Option<LocationId>,
    pub external_id: Option<String>,
    /// Only events that ask for answers and lack some.
    pub needs_answer: bool,
    /// Together with `needs_answer`: lacks the answer of this member.
    pub member_id: Option<MemberId>,
}

/// One event of a team that the caller reaches.
pub fn find(db: &Reader<'_>, reach: &Reach, id: EventId) -> Result<Event> {
    let text = sql!(Event::SELECT, " where account_id = :account and id = :id");
    let event: Event = db.one(text, bind! { id })?;
    reach.check(event.team_id)?;
    Ok(event)
}

/// Every event of a series, in order.
pub fn of_series(db: &Reader<'_>, series_id: SeriesId) -> Result<Vec<Event>> {
    let text = sql!(
        Event::SELECT,
        " where account_id = :account and series_id = :series_id order by occurrence"
    );
    Ok(db.all(text, bind! { series_id })?)
}

/// A page of events by start, as they are shown.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &EventFilter,
    page: &Page<(Timestamp, EventId)>,
) -> Result<Vec<Shown>> {
    let (from, to) = (filter.from.unwrap_or(LEAST), filter.to.unwrap_or(GREATEST));
    // The bounds are part of the place where the page begins, so that no index is walked in vain.
    let (after_time, after_id) = match page.order {
        Order::Asc => page.after((from, EventId::LEAST), PLACES_END).max((from, EventId::LEAST)),
        Order::Desc => page.after(PLACES_START, (to, EventId::LEAST)).min((to, EventId::LEAST)),
    };
    let EventFilter { kind, status, series_id, location_id, external_id, member_id, .. } = filter;
    let (needs, limit) = (filter.needs_answer, page.fetch());
    let teams = match (filter.team_id, reach) {
        (Some(team), reach) => reach.check(team).map(|()| vec![team])?,
        (None, reach) => reach.narrowing().1,
    };
    let team_id = teams.first().copied();
    let narrowed = *reach != Reach::Everywhere;
    let text = match (teams.len(), narrowed, page.order) {
        (1, _, Order::Asc) => sql!(Event::SELECT, OF_TEAM, FILTER, ASCENDING_OF_TEAM),
        (1, _, Order::Desc) => sql!(Event::SELECT, OF_TEAM, FILTER, DESCENDING_OF_TEAM),
        (_, true, Order::Asc) => sql!(Event::SELECT, OF_TEAMS, FILTER, ASCENDING),
        (_, true, Order::Desc) => sql!(Event::SELECT, OF_TEAMS, FILTER, DESCENDING),
        (_, false, Order::Asc) => sql!(Event::SELECT, OF_ALL, FILTER, ASCENDING),
        (_, false, Order::Desc) => sql!(Event::SELECT, OF_ALL, FILTER, DESCENDING),
    };
    let found = db.all(
        text,
        bind! { team_id, teams, kind, status, series_id, location_id, external_id, needs,
        member_id, from, to, after_time, after_id, limit },
    )?;
    show(db, found)
}

const LEAST: Timestamp = Timestamp::from_micros(i64::MIN);
const GREATEST: Timestamp = Timestamp::from_micros(i64::MAX);
const PLACES_START: (Timestamp, EventId) = (LEAST, EventId::LEAST);
const PLACES_END: (Timestamp, EventId) = (GREATEST, EventId::GREATEST);

const OF_TEAM: &str = " where account_id = :account and team_id = :team_id";
const OF_TEAMS: &str = " where account_id = :account and team_id in (:teams)";
const OF_ALL: &str = " where account_id = :account";
const FILTER: &str = "
      and (cast(:kind as text) is null or kind = :kind)
      and (cast(:status as text) is null or status = :status)
      and (cast(:series_id as bytea) is null or series_id = :series_id)
      and (cast(:location_id as bytea) is null or location_id = :location_id)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (not cast(:needs as boolean) or (asks_rsvp and status = 'scheduled'
          and case when cast(:member_id as bytea) is null
              then yes_count + no_count + maybe_count + waiting_count < asked_count
              else team_id = (
                  select member.team_id from member
                  where member.account_id = event.account_id and member.id = :member_id
                    and member.status in ('active', 'injured'))
                and not exists (
                  select 1 from rsvp
                  where rsvp.account_id = event.account_id and rsvp.event_id = event.id
                    and rsvp.member_id = :member_id)
              end))";
const ASCENDING: &str = " and starts_at < :to and (starts_at, id) > (:after_time, :after_id)
    order by starts_at, id limit :limit";
const DESCENDING: &str = " and starts_at >= :from and (starts_at, id) < (:after_time, :after_id)
    order by starts_at desc, id desc limit :limit";

// A bound that no index can use: with two, SQLite takes the index of all the account's events by start
// for better than the team's own.
const ASCENDING_OF_TEAM: &str =
    " and starts_at + 0 < :to and (starts_at, id) > (:after_time, :after_id)
    order by starts_at, id limit :limit";
const DESCENDING_OF_TEAM: &str =
    " and starts_at + 0 >= :from and (starts_at, id) < (:after_time, :after_id)
    order by starts_at desc, id desc limit :limit";

/// Events as they are shown: with local times, their locations and counts.
pub fn show(db: &Reader<'_>, events: Vec<Event>) -> Result<Vec<Shown>> {
    let places = location::find_all(db, events.iter().filter_map(|event| event.location_id))?;
    let shown = events.into_iter().map(|event| {
        let place = places.iter().find(|place| Some(place.id) == event.location_id);
        let Event {
            yes_count: yes, no_count: no, maybe_count: maybe, waiting_count: waiting, ..
        } = event;
        let answered = yes + no + maybe + waiting;
        let asked = if event.asks_rsvp { event.asked_count } else { 0 };
        let unanswered = (asked - answered).max(0);
        Shown {
            starts_local: event.timezone.local(event.starts_at),
            ends_local: event.timezone.local(event.ends_at),
            location: place.cloned(),
            rsvp_counts: Counts { yes, no, maybe, waiting, unanswered },
            result: (),
            warnings: Vec::new(),
            event,
        }
    });
    Ok(shown.collect())
}

/// One event as it is shown.
pub fn show_one(db: &Reader<'_>, event: Event) -> Result<Shown> {
    Ok(show(db, vec![event])?.remove(0))
}

/// Notes how many people are on the team's roster now, in the events that are not over. The events
/// show how many of them have not answered, so their versions rise.
pub fn recount(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    // No event lasts longer, so none that began earlier can still be going on.
    let earliest = tx.now().minus(super::when::LONGEST);
    tx.run(
        "update event set version = version + 1, updated_at = :now,
             asked_count = (select roster_count from team
                 where account_id = :account and id = :team)
         where account_id = :account and team_id = :team and starts_at > :earliest
           and ends_at > :now and asked_count <> (select roster_count from team
               where account_id = :account and id = :team)",
        bind! { team, earliest },
    )?;
    Ok(())
}

/// Notes that a location has changed, in the events there: they show it, and calendars do too.
pub fn relocated(tx: &Tx<'_>, location: LocationId) -> Result<()> {
    tx.run(
        "update event set version = version + 1, updated_at = :now, revision = revision + 1,
             revised_at = :now
         where account_id = :account and location_id = :location",
        bind! { location },
    )?;
    Ok(())
}

/// Writes what has changed in an event's row.
pub fn store(tx: &Tx<'_>, event: &Event) -> Result<()> {
    let done = tx.run(
        "update event set occurrence = :occurrence, edited = :edited, kind = :kind, title = :title, starts_at = :starts_at,
             ends_at = :ends_at, timezone = :timezone, all_day = :all_day,
             arrival_minutes = :arrival_minutes, location_id = :location_id, opponent = :opponent,
             home_away = :home_away, uniform = :uniform, notes = :notes, asks_rsvp = :asks_rsvp,
             rsvp_deadline = :rsvp_deadline, capacity = :capacity, duties = :duties,
             status = :status, cancel_reason = :cancel_reason, cancelled_at = :cancelled_at,
             yes_count = :yes_count, no_count = :no_count, maybe_count = :maybe_count,
             waiting_count = :waiting_count, revision = :revision, revised_at = :revised_at,
             external_id = :external_id, metadata = :metadata, updated_at = :updated_at,
             version = :version
         where account_id = :account and id = :id",
        &event.bind(),
    );
    unique(done)?;
    Ok(())
}

/// Notes where its series has an event that stays as it is, and whether it still goes its own way.
/// Nobody sees that.
pub fn place(
    tx: &Tx<'_>,
    event: &Event,
    occurrence: Option<LocalTime>,
    edited: bool,
) -> Result<()> {
    if (event.occurrence, event.edited) == (occurrence, edited) {
        return Ok(());
    }
    tx.run(
        "update event set occurrence = :occurrence, edited = :edited
         where account_id = :account and id = :id",
        bind! { occurrence, edited, id: event.id },
    )?;
    Ok(())
}

/// What the unique rule of the table means to the caller.
pub fn unique(done: store::Result<u64>) -> Result<u64> {
    let others = "Another event already has this external id.";
    done.taken("event_account_id_external_id_key", "/external_id", others)
}
