//! The event record: a game, practice or other meeting of a team.

use kit::{LocalTime, string_enum};
use macros::query;

use super::conflicts::Warning;
use super::duty::Duties;
use super::event_time::Span;
use super::location::{self, Location};
use super::result::GameResult;
use crate::error::UniqueViolationExt;
use crate::prelude::*;
use crate::signals::Subject;

string_enum! {
    /// The type of an event.
    pub enum Kind as EventType {
        Game = "game",
        Practice = "practice",
        Meeting = "meeting",
        Tournament = "tournament",
        Other = "other",
    }
}

string_enum! {
    /// The status of an event.
    pub enum Status as EventStatus {
        /// The event takes place at its time. Past events without a final result stay `scheduled`.
        Scheduled = "scheduled",
        /// The event does not take place. It stays visible.
        Cancelled = "cancelled",
        /// The game is over and its result is recorded.
        Completed = "completed",
        /// The event takes place at a later time that is not known yet.
        Postponed = "postponed",
    }
}

string_enum! {
    /// Whether a game is at home, away or on neutral ground.
    pub enum HomeAway {
        Home = "home",
        Away = "away",
        Neutral = "neutral",
    }
}
enum_column!(Kind, Status, HomeAway);

record! {
    /// An event as stored in the database.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    #[schema(as = EventRecord)]
    pub struct Event in event {
        pub id: EventId,
        #[serde(skip)]
        pub account_id: AccountId,
        pub team_id: TeamId,
        /// The series that the event belongs to, if it was created by a recurrence rule.
        pub series_id: Option<SeriesId>,
        /// Recurrence rule of the series (RFC 5545).
        pub recurrence: Option<String>,
        #[serde(skip)]
        pub occurrence: Option<LocalTime>,
        #[serde(skip)]
        pub edited: bool,
        /// Type of the event.
        #[serde(rename = "type")]
        pub kind: Kind,
        /// Title of the event.
        #[schema(examples("vs Breakwater"), max_length = 120)]
        pub title: String,
        /// When the event starts.
        pub starts_at: Timestamp,
        /// When the event ends.
        pub ends_at: Timestamp,
        /// Time zone in which the event was planned.
        pub timezone: Zone,
        /// Whether the event lasts whole days, from midnight to midnight in its time zone.
        pub all_day: bool,
        /// How many minutes before the start people should arrive.
        #[schema(examples(30), minimum = 0, maximum = 600)]
        pub arrival_minutes: Option<i64>,
        pub location_id: Option<LocationId>,
        /// Name of the opponent; `null` if there is none.
        #[schema(max_length = 120)]
        pub opponent: Option<String>,
        /// Whether a game is at home, away or on neutral ground; `null` if it does not apply.
        pub home_away: Option<HomeAway>,
        /// What to wear; `null` if it does not matter.
        #[schema(examples("blue"), max_length = 120)]
        pub uniform: Option<String>,
        /// Notes for members; `null` if there are none.
        #[schema(max_length = 10000)]
        pub notes: Option<String>,
        /// Whether members are asked for an RSVP.
        #[schema(examples(true))]
        pub rsvp_enabled: bool,
        /// Time until which RSVPs are accepted; `null` for no deadline before the event ends.
        pub rsvp_deadline: Option<Timestamp>,
        /// Maximum number of members who can attend; `null` for no limit. Members who answer yes after that are put on
        /// the waiting list.
        #[schema(minimum = 1, maximum = 100_000)]
        pub capacity: Option<i64>,
        /// Duties that members can take on.
        #[schema(value_type = Vec<super::duty::Duty>)]
        pub duties: Duties,
        /// Status of the event: `scheduled`, `cancelled` (it does not take place), `completed` (its result is recorded)
        /// or `postponed` (the new time is not known yet).
        pub status: Status,
        /// Why the event was cancelled; `null` if no reason was given or it was not cancelled.
        #[schema(max_length = 500)]
        pub cancel_reason: Option<String>,
        /// When the event was cancelled; `null` if it was not.
        pub cancelled_at: Option<Timestamp>,
        /// The result of a game, seen from the team of the event; `null` until it is recorded.
        pub result: Option<GameResult>,
        #[serde(skip)]
        pub asked_count: i64,
        #[serde(skip)]
        pub yes_count: i64,
        #[serde(skip)]
        pub no_count: i64,
        #[serde(skip)]
        pub maybe_count: i64,
        #[serde(skip)]
        pub waitlisted_count: i64,
        #[serde(skip)]
        pub revision: i64,
        #[serde(skip)]
        pub revised_at: Timestamp,
        /// When the time, place or status last changed.
        #[serde(skip)]
        pub changed_at: Option<Timestamp>,
        /// ID of the event in another system; unique in the account.
        #[schema(max_length = 120)]
        pub external_id: Option<String>,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Increases with every change and every RSVP.
        pub version: i64,
    }
}

impl Event {
    /// Start, end and time zone of the event.
    pub fn span(&self) -> Span {
        let Self { starts_at, ends_at, all_day, .. } = *self;
        Span { starts_at, ends_at, zone: self.timezone.clone(), all_day }
    }

    /// Whether the event has ended.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.ends_at <= now
    }
}

impl_resource!(Event by EventId: Versioned);

/// Number of RSVPs by answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RsvpCounts)]
pub struct Counts {
    /// Number of members who accepted.
    #[schema(examples(9))]
    pub yes: i64,
    /// Number of members who declined.
    #[schema(examples(2))]
    pub no: i64,
    /// Number of members who answered maybe.
    #[schema(examples(1))]
    pub maybe: i64,
    /// Number of members on the waiting list.
    #[schema(examples(0))]
    pub waitlisted: i64,
    /// Number of members on the roster who have not answered.
    #[schema(examples(3))]
    pub unanswered: i64,
}

/// An event of a team, such as a game or a practice.
#[macros::object("event")]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = TeamEvent)]
pub struct EventView {
    #[serde(flatten)]
    pub event: Event,
    /// Local start time in `timezone`.
    pub starts_local: LocalTime,
    /// Local end time in `timezone`.
    pub ends_local: LocalTime,
    /// The location of the event.
    pub location: Option<Location>,
    /// Number of RSVPs by answer.
    pub rsvp_counts: Counts,
    /// Warnings about overlapping events. Only set in the response to creating or moving an event.
    pub warnings: Vec<Warning>,
}

impl Subject for EventView {
    fn subject(&self) -> String {
        self.event.id.to_string()
    }
}

impl Versioned for EventView {
    fn version(&self) -> i64 {
        self.event.version
    }
}

impl Paged for EventView {
    type SortKey = (Timestamp, EventId);

    fn sort_key(&self) -> Self::SortKey {
        (self.event.starts_at, self.event.id)
    }
}

/// Filters for listing events.
#[query(items = "events", check = super::api::events::check_filter)]
#[derive(Default)]
pub struct EventFilter {
    /// Only objects of these teams, separated by commas; at most 50.
    #[param(several(team_ids))]
    pub team_id: Option<TeamId>,
    /// Only events of these teams; empty if there are fewer than two.
    #[param(skip)]
    pub team_ids: Vec<TeamId>,
    /// Only events that start at this time or later. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only events that start before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
    /// Only events of these types, separated by commas.
    #[param(name = "type", several(kinds))]
    pub kind: Option<Kind>,
    /// Only events of these types; empty if there are fewer than two.
    #[param(skip)]
    pub kinds: Vec<Kind>,
    /// Filter by status.
    pub status: Option<Status>,
    /// Only events of this series.
    pub series_id: Option<SeriesId>,
    /// Only events at this location.
    pub location_id: Option<LocationId>,
    /// Only the event with this ID in another system.
    #[param(line(120))]
    pub external_id: Option<String>,
    pub updated_since: Option<Timestamp>,
    /// Set to `true` for scheduled events with missing RSVPs only. Best combined with `from`.
    pub needs_rsvp: bool,
    /// With `needs_rsvp`: only events without an RSVP of this member.
    pub member_id: Option<MemberId>,
}

/// One event of a team that the caller can access.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: EventId) -> Result<Event> {
    let text = sql!(Event::SELECT, " where account_id = :account and id = :id");
    let event: Event = db.one(text, bind! { id })?;
    access.check(event.team_id)?;
    Ok(event)
}

/// Which of these accounts an event belongs to.
pub fn find_account(
    db: &Reader<'_>,
    accounts: Vec<AccountId>,
    id: EventId,
) -> Result<Option<AccountId>> {
    if accounts.is_empty() {
        return Ok(None);
    }
    let account: Option<(AccountId,)> = db.optional(
        "select account_id from event where account_id in (:accounts) and id = :id
         /* any account */",
        bind! { accounts, id },
    )?;
    Ok(account.map(|(id,)| id))
}

/// All events of a series, in order.
pub fn of_series(db: &Reader<'_>, series_id: SeriesId) -> Result<Vec<Event>> {
    let text = sql!(
        Event::SELECT,
        " where account_id = :account and series_id = :series_id order by occurrence"
    );
    Ok(db.all(text, bind! { series_id })?)
}

/// A page of events, ordered by start.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &EventFilter,
    page: &Page<(Timestamp, EventId)>,
) -> Result<Vec<EventView>> {
    let (from, to) = (filter.from.unwrap_or(MIN_TIMESTAMP), filter.to.unwrap_or(MAX_TIMESTAMP));
    // The bounds are part of the start position of the page, so that the index scan skips rows outside of them.
    let (after_time, after_id) = match page.order {
        Order::Asc => page.after((from, EventId::MIN), LAST_POSITION).max((from, EventId::MIN)),
        Order::Desc => page.after(FIRST_POSITION, (to, EventId::MIN)).min((to, EventId::MIN)),
    };
    let EventFilter { kind, status, series_id, location_id, external_id, member_id, .. } = filter;
    let (needs, updated_since) = (filter.needs_rsvp, filter.updated_since);
    let kinds: Vec<_> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
    let (several_kinds, limit) = (!kinds.is_empty(), page.fetch_limit());
    let several_teams = !filter.team_ids.is_empty();
    access.check_filter(filter.team_id, &filter.team_ids)?;
    let teams = match filter.team_id {
        Some(team) => vec![team],
        None if several_teams => filter.team_ids.clone(),
        None => access.team_filter().1,
    };
    let team_id = teams.first().copied();
    let narrowed = several_teams || *access != TeamAccess::AllTeams;
    let text = match (teams.len(), narrowed, page.order) {
        (1, _, Order::Asc) => sql!(Event::SELECT, OF_TEAM, FILTER, ASCENDING_OF_TEAM),
        (1, _, Order::Desc) => sql!(Event::SELECT, OF_TEAM, FILTER, DESCENDING_OF_TEAM),
        (_, true, Order::Asc) => sql!(Event::SELECT, OF_TEAMS, FILTER, ASCENDING),
        (_, true, Order::Desc) => sql!(Event::SELECT, OF_TEAMS, FILTER, DESCENDING),
        (_, false, Order::Asc) => sql!(Event::SELECT, OF_ALL, FILTER, ASCENDING),
        (_, false, Order::Desc) => sql!(Event::SELECT, OF_ALL, FILTER, DESCENDING),
    };
    let events = db.all(
        text,
        bind! { team_id, teams, kind, several_kinds, kinds, status, series_id, location_id,
        external_id, updated_since, needs, member_id, from, to, after_time, after_id, limit },
    )?;
    views(db, events)
}

const MIN_TIMESTAMP: Timestamp = Timestamp::from_micros(i64::MIN);
const MAX_TIMESTAMP: Timestamp = Timestamp::from_micros(i64::MAX);
const FIRST_POSITION: (Timestamp, EventId) = (MIN_TIMESTAMP, EventId::MIN);
const LAST_POSITION: (Timestamp, EventId) = (MAX_TIMESTAMP, EventId::MAX);

const OF_TEAM: &str = " where account_id = :account and team_id = :team_id";
const OF_TEAMS: &str = " where account_id = :account and team_id in (:teams)";
const OF_ALL: &str = " where account_id = :account";
const FILTER: &str = "
      and (cast(:kind as text) is null or kind = :kind)
      and (not cast(:several_kinds as boolean) or kind in (:kinds))
      and (cast(:status as text) is null or status = :status)
      and (cast(:series_id as bytea) is null or series_id = :series_id)
      and (cast(:location_id as bytea) is null or location_id = :location_id)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (not cast(:needs as boolean) or (rsvp_enabled and status = 'scheduled'
          and case when cast(:member_id as bytea) is null
              then yes_count + no_count + maybe_count + waitlisted_count < asked_count
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

// `+ 0` keeps the bound out of the index choice: with two bounds on `starts_at`, SQLite would use the index of all
// events of the account instead of the index by team.
const ASCENDING_OF_TEAM: &str =
    " and starts_at + 0 < :to and (starts_at, id) > (:after_time, :after_id)
    order by starts_at, id limit :limit";
const DESCENDING_OF_TEAM: &str =
    " and starts_at + 0 >= :from and (starts_at, id) < (:after_time, :after_id)
    order by starts_at desc, id desc limit :limit";

/// The API representations of events, with local times, locations and RSVP counts.
pub fn views(db: &Reader<'_>, events: Vec<Event>) -> Result<Vec<EventView>> {
    let locations = location::find_all(db, events.iter().filter_map(|event| event.location_id))?;
    let views = events.into_iter().map(|event| {
        let location = locations.iter().find(|location| Some(location.id) == event.location_id);
        let (yes, no) = (event.yes_count, event.no_count);
        let (maybe, waitlisted) = (event.maybe_count, event.waitlisted_count);
        let answered = yes + no + maybe + waitlisted;
        let asked = if event.rsvp_enabled { event.asked_count } else { 0 };
        let unanswered = (asked - answered).max(0);
        EventView {
            starts_local: event.timezone.local(event.starts_at),
            ends_local: event.timezone.local(event.ends_at),
            location: location.cloned(),
            rsvp_counts: Counts { yes, no, maybe, waitlisted, unanswered },
            warnings: Vec::new(),
            event,
        }
    });
    Ok(views.collect())
}

/// The API representation of one event.
pub fn view(db: &Reader<'_>, event: Event) -> Result<EventView> {
    Ok(views(db, vec![event])?.remove(0))
}

/// The active team whose event was created last.
pub fn newest_team(db: &Reader<'_>, access: &TeamAccess) -> Result<Option<TeamId>> {
    let (narrowed, teams) = access.team_filter();
    let row: Option<(TeamId,)> = db.optional(
        "select e.team_id from event e
         join team t on t.account_id = e.account_id and t.id = e.team_id
         where e.account_id = :account and t.status = 'active'
           and (not cast(:narrowed as boolean) or e.team_id in (:teams))
         order by e.id desc limit 1",
        bind! { narrowed, teams },
    )?;
    Ok(row.map(|(team,)| team))
}

/// Updates the number of invited members in a team's events that are not over, after the roster has changed. The
/// number of missing RSVPs depends on it, so the versions of the events increase.
pub fn update_roster_count(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    // No event lasts longer, so earlier ones are over.
    let earliest = tx.now().minus(super::event_time::MAX_DURATION);
    tx.execute(
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

/// Increases the versions of all events at a location after it has changed, since events and calendars contain it.
pub fn touch_at_location(tx: &Tx<'_>, location: LocationId) -> Result<()> {
    tx.execute(
        "update event set version = version + 1, updated_at = :now, revision = revision + 1,
             revised_at = :now
         where account_id = :account and location_id = :location",
        bind! { location },
    )?;
    Ok(())
}

/// Updates the row of an event.
pub fn update(tx: &Tx<'_>, event: &Event) -> Result<()> {
    map_unique_violation(tx.execute(Event::UPDATE, &event.bind())).map(drop)
}

/// Updates the position of an event in its series, and whether it is an exception to the series. Both are internal,
/// so the version stays the same.
pub fn set_occurrence(
    tx: &Tx<'_>,
    event: &Event,
    occurrence: Option<LocalTime>,
    edited: bool,
) -> Result<()> {
    if (event.occurrence, event.edited) == (occurrence, edited) {
        return Ok(());
    }
    tx.execute(
        "update event set occurrence = :occurrence, edited = :edited
         where account_id = :account and id = :id",
        bind! { occurrence, edited, id: event.id },
    )?;
    Ok(())
}

/// Turns a violation of the unique constraint into an error for the caller.
pub fn map_unique_violation(result: store::Result<u64>) -> Result<u64> {
    let detail = "Another event already has this external ID.";
    result.on_unique_violation("event_account_id_external_id_key", "/external_id", detail)
}
