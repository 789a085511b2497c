//! The team: what it is, its rules, its SQL and what can be done with it.

use kit::{Change, Timestamp, Zone, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use crate::accounts::account;
use crate::accounts::rights::Reach;
use crate::error::{AsTaken, Code, Error, Result, TakenExt};
use crate::expected::Expected;
use crate::ids::{AccountId, TeamId};
use crate::metadata::Metadata;
use crate::paging::{Order, Page};
use crate::reactions;
use crate::signals::Tell;
use crate::teams::age_group::is_adult_age_group;
use crate::thing::thing;

words! {
    /// Whether a team plays.
    pub enum Status {
        /// It plays.
        Active = "active",
        /// It has stopped; its history is kept.
        Archived = "archived",
    }
}
word_column!(Status);

record! {
    /// A group of people that plays together.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "team")]
    pub struct Team in team {
        pub id: TeamId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Unique among the active teams of the account, whatever its case.
        #[schema(examples("Harbour Hawks U12"), max_length = 120)]
        pub name: String,
        #[serde(skip)]
        pub name_folded: String,
        /// What they play, such as `soccer`.
        #[schema(examples("soccer"), max_length = 60)]
        pub sport: Option<String>,
        /// When they play it.
        #[schema(examples("2026/27"), max_length = 60)]
        pub season: Option<String>,
        #[schema(examples("U12"), max_length = 60)]
        pub age_group: Option<String>,
        #[schema(examples("girls"), max_length = 60)]
        pub gender: Option<String>,
        /// The zone in which the team's times are meant.
        pub timezone: Zone,
        /// `#` and six hexadecimal digits.
        #[schema(examples("#0b5cad"), pattern = "^#[0-9a-fA-F]{6}$")]
        pub color: Option<String>,
        #[schema(max_length = 10000)]
        pub description: Option<String>,
        /// Whether no two active players may wear the same number.
        pub unique_jerseys: bool,
        pub status: Status,
        /// How many people are on the roster now.
        pub roster_count: i64,
        /// The team's id in another system, unique in the account.
        #[schema(max_length = 120)]
        pub external_id: Option<String>,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

thing!(Team by TeamId: Subject Versioned Paged);

/// A team to be created.
#[derive(Debug, ToSchema)]
pub struct NewTeam {
    #[schema(examples("Harbour Hawks U12"), min_length = 1, max_length = 120)]
    pub name: String,
    #[schema(examples("soccer"), max_length = 60)]
    pub sport: Option<String>,
    #[schema(examples("2026/27"), max_length = 60)]
    pub season: Option<String>,
    #[schema(examples("U12"), max_length = 60)]
    pub age_group: Option<String>,
    #[schema(examples("girls"), max_length = 60)]
    pub gender: Option<String>,
    /// The account's zone if left out.
    pub timezone: Option<Zone>,
    #[schema(examples("#0b5cad"), pattern = "^#[0-9a-fA-F]{6}$")]
    pub color: Option<String>,
    #[schema(max_length = 10000)]
    pub description: Option<String>,
    /// `false` if left out.
    #[schema(required = false)]
    pub unique_jerseys: bool,
    #[schema(max_length = 120)]
    pub external_id: Option<String>,
    #[schema(required = false)]
    pub metadata: Metadata,
}

/// What is to be changed: members that are left out stay, `null` clears.
#[derive(Debug, ToSchema)]
pub struct TeamChange {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 120)]
    pub name: Option<String>,
    #[schema(value_type = Option<String>, max_length = 60)]
    pub sport: Change<String>,
    #[schema(value_type = Option<String>, max_length = 60)]
    pub season: Change<String>,
    #[schema(value_type = Option<String>, max_length = 60)]
    pub age_group: Change<String>,
    #[schema(value_type = Option<String>, max_length = 60)]
    pub gender: Change<String>,
    /// `null` sets the account's zone.
    #[schema(value_type = Option<Zone>)]
    pub timezone: Change<Zone>,
    #[schema(value_type = Option<String>, pattern = "^#[0-9a-fA-F]{6}$")]
    pub color: Change<String>,
    #[schema(value_type = Option<String>, max_length = 10000)]
    pub description: Change<String>,
    #[schema(value_type = Option<bool>)]
    pub unique_jerseys: Change<bool>,
    #[schema(value_type = Option<String>, max_length = 120)]
    pub external_id: Change<String>,
    /// Replaces all pairs; `null` clears them.
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Change<Metadata>,
}

/// Which teams to list.
#[derive(Debug, Default)]
pub struct TeamFilter {
    /// `None` is every status.
    pub status: Option<Status>,
    pub sport: Option<String>,
    pub season: Option<String>,
    pub external_id: Option<String>,
    /// Part of the name, whatever its case.
    pub q: Option<String>,
}

/// Creates a team. That its name is taken may show only when the job ends; [`unique`] says what that means.
pub fn create(tx: &Tx<'_>, new: NewTeam) -> Result<Team> {
    let timezone = match new.timezone {
        Some(zone) => zone,
        None => account::find(tx)?.timezone,
    };
    let team = Team {
        id: tx.new_id(),
        account_id: tx.account(),
        name_folded: text::folded(&new.name),
        name: new.name,
        sport: new.sport,
        season: new.season,
        age_group: new.age_group,
        gender: new.gender,
        timezone,
        color: new.color,
        description: new.description,
        unique_jerseys: new.unique_jerseys,
        status: Status::Active,
        roster_count: 0,
        external_id: new.external_id,
        metadata: new.metadata,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.later(Team::INSERT, &team.bind())?;
    tx.tell("team.created", &team)?;
    Ok(team)
}

/// One team.
pub fn find(db: &Reader<'_>, id: TeamId) -> Result<Team> {
    Ok(db.one(sql!(Team::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// One team that plays: what belongs to an archived team cannot be changed.
pub fn playing(db: &Reader<'_>, id: TeamId) -> Result<Team> {
    let team = find(db, id)?;
    if team.status == Status::Archived {
        return Err(Error::invalid_state("The team is archived; restore it first."));
    }
    Ok(team)
}

/// A page of teams, in order of creation.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &TeamFilter,
    page: &Page<TeamId>,
) -> Result<Vec<Team>> {
    let TeamFilter { status, sport, season, external_id, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let after = page.after(TeamId::LEAST, TeamId::GREATEST);
    let limit = page.fetch();
    let (narrowed, ids) = reach.narrowing();
    let text = match (narrowed, external_id, page.order) {
        (true, _, Order::Asc) => sql!(Team::SELECT, FILTER, LISTED, ASCENDING),
        (true, _, Order::Desc) => sql!(Team::SELECT, FILTER, LISTED, DESCENDING),
        (_, Some(_), Order::Asc) => sql!(Team::SELECT, FILTER, KNOWN_ELSEWHERE, ASCENDING),
        (_, Some(_), Order::Desc) => sql!(Team::SELECT, FILTER, KNOWN_ELSEWHERE, DESCENDING),
        (_, None, Order::Asc) => sql!(Team::SELECT, FILTER, ASCENDING),
        (_, None, Order::Desc) => sql!(Team::SELECT, FILTER, DESCENDING),
    };
    Ok(db.all(text, bind! { after, limit, status, sport, season, external_id, pattern, ids })?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:sport as text) is null or sport = :sport)
      and (cast(:season as text) is null or season = :season)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\')";
const LISTED: &str = "
      and (cast(:external_id as text) is null or external_id = :external_id) and id in (:ids)";
/// At most one team: the unique rule finds it without walking through the others.
const KNOWN_ELSEWHERE: &str = " and external_id = :external_id";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";

/// Changes a team. A change that changes nothing leaves the version as it is and tells nobody.
pub fn change(
    tx: &Tx<'_>,
    reach: &Reach,
    id: TeamId,
    expected: &Expected,
    change: TeamChange,
) -> Result<Team> {
    let before = expected.check(find(tx, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("An archived team cannot be changed; restore it first."));
    }
    let timezone = match change.timezone {
        Change::Clear => account::find(tx)?.timezone,
        other => other.apply_or(before.timezone.clone(), Zone::utc()),
    };
    let name = change.name.unwrap_or_else(|| before.name.clone());
    let after = Team {
        name_folded: text::folded(&name),
        name,
        sport: change.sport.apply(before.sport.clone()),
        season: change.season.apply(before.season.clone()),
        age_group: change.age_group.apply(before.age_group.clone()),
        gender: change.gender.apply(before.gender.clone()),
        timezone,
        color: change.color.apply(before.color.clone()),
        description: change.description.apply(before.description.clone()),
        unique_jerseys: change.unique_jerseys.apply_or(before.unique_jerseys, false),
        external_id: change.external_id.apply(before.external_id.clone()),
        metadata: change.metadata.apply_or(before.metadata.clone(), Metadata::default()),
        ..before.clone()
    };
    if after == before {
        return Ok(before);
    }
    let is_adult = |team: &Team| is_adult_age_group(team.age_group.as_deref());
    let becomes_adult = is_adult(&after) && !is_adult(&before);
    if becomes_adult && *reach != Reach::Everywhere {
        let detail = "Only an admin can turn a youth team into a team of adults.";
        return Err(Error::new(Code::Forbidden, detail).at("/age_group"));
    }
    let after = update(tx, "team.updated", &before, after)?;
    if becomes_adult {
        reactions::became_adult_team(tx, id)?;
    }
    Ok(after)
}

/// Archives a team: it stops playing, its history stays, its name is free again.
pub fn archive(tx: &Tx<'_>, id: TeamId, expected: &Expected) -> Result<Team> {
    let before = expected.check(find(tx, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("The team is already archived."));
    }
    let after = Team { status: Status::Archived, ..before.clone() };
    update(tx, "team.archived", &before, after)
}

/// Brings an archived team back, if no active team has taken its name.
pub fn restore(tx: &Tx<'_>, id: TeamId, expected: &Expected) -> Result<Team> {
    let before = expected.check(find(tx, id))?;
    if before.status == Status::Active {
        return Err(Error::invalid_state("The team is not archived."));
    }
    let after = Team { status: Status::Active, ..before.clone() };
    update(tx, "team.restored", &before, after)
}

/// So many more people are on the roster, or fewer. Whoever changes the roster tells of it.
pub fn count_roster(tx: &Tx<'_>, id: TeamId, more: i64) -> Result<()> {
    if more != 0 {
        tx.run(
            "update team set roster_count = roster_count + :more, updated_at = :now,
                 version = version + 1
             where account_id = :account and id = :id",
            bind! { id, more },
        )?;
    }
    Ok(())
}

fn update(tx: &Tx<'_>, news: &'static str, before: &Team, after: Team) -> Result<Team> {
    let after = Team { updated_at: tx.now(), version: before.version + 1, ..after };
    unique(tx.run(
        "update team set name = :name, name_folded = :name_folded, sport = :sport,
             season = :season, age_group = :age_group, gender = :gender, timezone = :timezone,
             color = :color, description = :description, unique_jerseys = :unique_jerseys,
             status = :status, external_id = :external_id, metadata = :metadata,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    ))?;
    tx.tell_change(news, before, &after)?;
    Ok(after)
}

/// What the two unique rules of the table mean to the caller.
pub fn unique<T>(done: std::result::Result<T, impl Into<Error> + AsTaken>) -> Result<T> {
    let names = "Another active team already has this name.";
    let others = "Another team already has this external id.";
    done.taken("team_account_id_name_folded_key", "/name", names).taken(
        "team_account_id_external_id_key",
        "/external_id",
        others,
    )
}
