//! The team record: its rules, its SQL and its functions.

use std::collections::BTreeMap;

use kit::{string_enum, text};
use macros::{inputs, query};

use crate::accounts::account;
use crate::error::UniqueViolationExt;
use crate::files::attaching;
use crate::files::file::Purpose;
use crate::hook::Hook;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::teams::age_group::is_adult_age_group;

/// Runs when a team becomes an adult team.
pub static ON_BECAME_ADULT: Hook<fn(&Tx<'_>, TeamId) -> Result<()>> =
    Hook::new("team::ON_BECAME_ADULT");

string_enum! {
    /// Whether a team is active.
    pub enum Status as TeamStatus {
        /// The team is in use.
        Active = "active",
        /// The team is read-only. Its history is kept.
        Archived = "archived",
    }
}
enum_column!(Status);

record! {
    /// A team of the club.
    #[inputs(
        /// A new team.
        create(NewTeam, as = CreateTeamRequest),
        /// Changes to a team. Omitted fields stay unchanged; `null` clears a field.
        update(TeamChange, as = UpdateTeamRequest),
    )]
    #[macros::object("team")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Team in team {
        pub id: TeamId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Name of the team; unique among the active teams of the account (case-insensitive).
        #[schema(examples("Harbour Hawks U12"))]
        #[input(line(120))]
        pub name: String,
        #[serde(skip)]
        #[derived(text::fold_case(&name))]
        pub name_folded: String,
        /// Sport of the team, such as `soccer`.
        #[schema(examples("soccer"))]
        #[input(line(60))]
        pub sport: Option<String>,
        /// Season of the team, such as `2026/27`.
        #[schema(examples("2026/27"))]
        #[input(line(60))]
        pub season: Option<String>,
        /// Age group, such as `U12`.
        #[schema(examples("U12"))]
        #[input(line(60))]
        pub age_group: Option<String>,
        /// Gender of the team, such as `girls` or `mixed`.
        #[schema(examples("girls"))]
        #[input(line(60))]
        pub gender: Option<String>,
        /// Time zone of the team's schedule and due dates.
        #[input(resolved, create = "Time zone of the team. Default: the account's time zone.",
            update = "Time zone of the team; `null` sets the account's time zone.")]
        pub timezone: Zone,
        /// Team color: `#` and six hexadecimal digits.
        #[schema(examples("#0b5cad"))]
        #[input(color, doc = "Color of the team as `#rrggbb`.")]
        pub color: Option<String>,
        /// ID of the file with the team's logo, uploaded with the purpose `logo`.
        #[input]
        pub logo_file_id: Option<FileId>,
        /// Description of the team.
        #[input(block(10_000))]
        pub description: Option<String>,
        /// Whether jersey numbers must be unique among active players.
        #[input(default, create = "Whether jersey numbers must be unique among active players. Default: `false`.")]
        pub unique_jerseys: bool,
        /// How many hours before the RSVP deadline (or the start of an event without one) people who have not answered are
        /// reminded by email; `null` for no reminders.
        #[schema(examples(48))]
        #[input(number(1, 168), default = Some(48), create = "How many hours before the RSVP deadline (or the start of an event without one) people who have not answered are reminded by email; `null` for no reminders. Default: 48.")]
        pub rsvp_reminder_hours: Option<i64>,
        /// Status of the team: `active`, or `archived` (read-only).
        #[value(Status::Active)]
        pub status: Status,
        /// Number of people on the roster.
        #[schema(examples(15))]
        #[value(0)]
        pub roster_count: i64,
        /// ID of the team in another system; unique in the account.
        #[input(line(120), doc = "")]
        pub external_id: Option<String>,
        #[input(default, update = "Replaces all metadata; `null` clears it.")]
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Increases with every change.
        pub version: i64,
    }
}

impl_resource!(Team by TeamId: Subject Versioned Paged Saved);

/// Filters for listing teams.
#[query(items = "teams")]
#[derive(Default)]
pub struct TeamFilter {
    /// Filter by status: `active` (default), `archived` or `all`.
    #[param(or_all(Status::Active))]
    pub status: Option<Status>,
    /// Only teams with this sport.
    #[param(line(60))]
    pub sport: Option<String>,
    /// Only teams of this season.
    #[param(line(60))]
    pub season: Option<String>,
    /// Only the team with this ID in another system.
    #[param(line(120))]
    pub external_id: Option<String>,
    pub updated_since: Option<Timestamp>,
    /// Only teams whose name contains this text (case-insensitive).
    #[param(line(120))]
    pub q: Option<String>,
}

/// Creates a team. The insert is deferred, so a duplicate name may only be detected when the transaction ends. Pass the
/// result of the transaction to [`map_unique_violation`].
pub fn create(tx: &Tx<'_>, new: NewTeam) -> Result<Team> {
    let timezone = match new.timezone.clone() {
        Some(zone) => zone,
        None => account::find(tx)?.timezone,
    };
    let team = new.into_record(tx, timezone);
    replace_logo(tx, (team.id, None), team.logo_file_id)?;
    tx.execute_deferred(Team::INSERT, &team.bind())?;
    tx.publish("team.created", &team)?;
    Ok(team)
}

/// One team.
pub fn find(db: &Reader<'_>, id: TeamId) -> Result<Team> {
    Ok(db.one(sql!(Team::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// Those of these teams that exist.
pub fn filter_existing(db: &Reader<'_>, ids: &[TeamId]) -> Result<Vec<TeamId>> {
    let ids = ids.to_vec();
    let existing: Vec<(TeamId,)> =
        db.all("select id from team where account_id = :account and id in (:ids)", bind! { ids })?;
    Ok(existing.into_iter().map(|(id,)| id).collect())
}

/// One active team. Fails for an archived team, whose data cannot be changed.
pub fn find_active(db: &Reader<'_>, id: TeamId) -> Result<Team> {
    let team = find(db, id)?;
    Error::invalid_state("The team is archived. Restore it first.")
        .fail_if(team.status == Status::Archived)?;
    Ok(team)
}

/// The team in the field `team_id` of a request. It must exist, be active, and be accessible to the caller.
pub fn find_referenced(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: TeamId,
    violations: &mut Violations,
) -> Result<Option<Team>> {
    let team = access.check(id).and_then(|()| find_active(db, id));
    violations.collect_reference("/team_id", team)
}

/// A page of teams, in order of creation.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &TeamFilter,
    page: &Page<TeamId>,
) -> Result<Vec<Team>> {
    let TeamFilter { status, sport, season, external_id, updated_since, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (after, limit) = page.bounds();
    let (narrowed, ids) = access.team_filter();
    let text = match (narrowed, external_id) {
        (true, _) => page_sql!(page, Team::SELECT, FILTER, WITH_IDS),
        (_, Some(_)) => page_sql!(page, Team::SELECT, FILTER, WITH_EXTERNAL_ID),
        (_, None) => page_sql!(page, Team::SELECT, FILTER),
    };
    let values = bind! { after, limit, status, sport, season, external_id, updated_since, pattern,
    ids };
    Ok(db.all(text, values)?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:sport as text) is null or sport = :sport)
      and (cast(:season as text) is null or season = :season)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\')";
const WITH_IDS: &str = "
      and (cast(:external_id as text) is null or external_id = :external_id) and id in (:ids)";
/// Matches at most one team, and uses the unique index.
const WITH_EXTERNAL_ID: &str = " and external_id = :external_id";

/// Updates a team. If nothing changes, the version stays the same and nothing is published.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: TeamId,
    expected: &IfMatch,
    change: TeamChange,
) -> Result<Team> {
    let before = expected.check(find(tx, id))?;
    Error::invalid_state("An archived team cannot be changed. Restore it first.")
        .fail_if(before.status == Status::Archived)?;
    let timezone = match change.timezone.clone() {
        Change::Clear => account::find(tx)?.timezone,
        other => other.apply_or(before.timezone.clone(), Zone::utc()),
    };
    let after = before.apply(change, timezone);
    if after == before {
        return Ok(before);
    }
    let is_adult = |team: &Team| is_adult_age_group(team.age_group.as_deref());
    let becomes_adult = is_adult(&after) && !is_adult(&before);
    Error::new(Code::Forbidden, "Only an admin can change a youth team to an adult team.")
        .at("/age_group")
        .fail_if(becomes_adult && *access != TeamAccess::AllTeams)?;
    replace_logo(tx, (id, before.logo_file_id), after.logo_file_id)?;
    let after = update(tx, "team.updated", &before, after)?;
    if becomes_adult {
        ON_BECAME_ADULT.get()?(tx, id)?;
    }
    Ok(after)
}

/// Attaches the logo of a team, and removes the one it had before.
fn replace_logo(
    tx: &Tx<'_>,
    (team, before): (TeamId, Option<FileId>),
    after: Option<FileId>,
) -> Result<()> {
    let (owner, mut violations) = (team.to_string(), Violations::default());
    let logo = (Purpose::Logo, owner.as_str());
    attaching::replace(tx, logo, (before, after), "/logo_file_id", &mut violations)?;
    violations.finish()
}

/// Archives a team: it becomes read-only and its name becomes available again.
pub fn archive(tx: &Tx<'_>, id: TeamId, expected: &IfMatch) -> Result<Team> {
    let before = expected.check(find(tx, id))?;
    Error::invalid_state("The team is already archived.")
        .fail_if(before.status == Status::Archived)?;
    let after = Team { status: Status::Archived, ..before.clone() };
    update(tx, "team.archived", &before, after)
}

/// Restores an archived team, if no other active team has its name.
pub fn restore(tx: &Tx<'_>, id: TeamId, expected: &IfMatch) -> Result<Team> {
    let before = expected.check(find(tx, id))?;
    Error::invalid_state("The team is not archived.").fail_if(before.status == Status::Active)?;
    let after = Team { status: Status::Active, ..before.clone() };
    update(tx, "team.restored", &before, after)
}

/// Adds `more`, which may be negative, to the roster count. Publishes nothing: the code that changes the roster does.
pub fn adjust_roster_count(tx: &Tx<'_>, id: TeamId, more: i64) -> Result<()> {
    if more != 0 {
        tx.execute(
            "update team set roster_count = roster_count + :more, updated_at = :now,
                 version = version + 1
             where account_id = :account and id = :id",
            bind! { id, more },
        )?;
    }
    Ok(())
}

/// Adjusts the roster counts of several teams, as [`adjust_roster_count`] does.
pub fn adjust_roster_counts(
    tx: &Tx<'_>,
    changes: impl Iterator<Item = (TeamId, i64)>,
) -> Result<()> {
    let mut sums: BTreeMap<TeamId, i64> = BTreeMap::new();
    changes.for_each(|(team, more)| *sums.entry(team).or_default() += more);
    sums.into_iter().try_for_each(|(team, more)| adjust_roster_count(tx, team, more))
}

fn update(tx: &Tx<'_>, notification: &'static str, before: &Team, after: Team) -> Result<Team> {
    let after = map_unique_violation(after.save(tx))?;
    tx.publish_change(notification, before, &after)?;
    Ok(after)
}

/// Turns violations of the unique constraints into errors for the caller.
pub fn map_unique_violation<T>(result: std::result::Result<T, impl Into<Error>>) -> Result<T> {
    let duplicate_name = mark!("Another active team already has this name.");
    let duplicate_id = mark!("Another team already has this external ID.");
    result
        .on_unique_violation("team_account_id_name_folded_key", "/name", duplicate_name)
        .on_unique_violation("team_account_id_external_id_key", "/external_id", duplicate_id)
}
