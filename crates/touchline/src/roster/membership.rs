//! The membership: that a person is on a team, as what, and the rules of that.

use kit::{Change, Day, Timestamp, words};
use serde::Serialize;
use store::{Bound, Column, Reader, Tx, Value, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::refusals::Refusals;
use crate::error::Result;
use crate::ids::{AccountId, MemberId, PersonId, TeamId};
use crate::metadata::Metadata;
use crate::teams::team::Team;
use crate::thing::thing;

words! {
    /// What a member does on the team.
    pub enum Role {
        Player = "player",
        Coach = "coach",
        Manager = "manager",
        Staff = "staff",
    }
}

words! {
    /// How a member stands with the team.
    pub enum MemberStatus {
        Active = "active",
        Injured = "injured",
        Inactive = "inactive",
        /// No longer on the team; the history stays.
        Removed = "removed",
    }
}
word_column!(Role, MemberStatus);

impl Role {
    /// Whether members who are this lead the team.
    pub fn leads(self) -> bool {
        matches!(self, Self::Coach | Self::Manager)
    }
}

/// Where a member plays, kept as a JSON list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Positions(pub Vec<String>);

impl Bound for Positions {
    fn write(&self) -> Value<'_> {
        Value::Text(serde_json::to_string(self).expect("text can be written as JSON").into())
    }
}

impl Column for Positions {
    fn read(value: Value<'_>) -> store::Result<Self> {
        let text = String::read(value)?;
        let list = serde_json::from_str(&text);
        list.map(Self).map_err(|_| store::Error::Corrupt(format!("the list {text:?}")))
    }
}

record! {
    /// That a person is on a team, and as what.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Membership in member {
        pub account_id: AccountId,
        pub id: MemberId,
        pub team_id: TeamId,
        pub person_id: PersonId,
        pub role: Role,
        /// Whether they are or ever were a player here: who may be a child stays one in another role.
        pub has_played: bool,
        pub jersey_number: Option<String>,
        pub positions: Positions,
        pub status: MemberStatus,
        pub joined_on: Option<Day>,
        pub left_on: Option<Day>,
        pub external_id: Option<String>,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

thing!(Membership by MemberId: Versioned);

/// What is to be said of a membership: members that are left out stay, `null` clears.
#[derive(Debug, Default, ToSchema)]
pub struct MembershipChange {
    /// `player` if it was never said.
    #[schema(value_type = Option<Role>)]
    pub role: Change<Role>,
    #[schema(value_type = Option<String>, examples("7"), max_length = 10)]
    pub jersey_number: Change<String>,
    #[schema(value_type = Option<Vec<String>>, max_items = 10)]
    pub positions: Change<Vec<String>>,
    /// `active` if it was never said; not `removed`.
    #[schema(value_type = Option<MemberStatus>)]
    pub status: Change<MemberStatus>,
    #[schema(value_type = Option<String>, format = Date)]
    pub joined_on: Change<Day>,
    #[schema(value_type = Option<String>, format = Date)]
    pub left_on: Change<Day>,
    #[schema(value_type = Option<String>, max_length = 120)]
    pub external_id: Change<String>,
    /// Replaces all pairs; `null` clears them.
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Change<Metadata>,
}

impl MembershipChange {
    pub(super) fn apply(self, before: &Membership) -> Membership {
        let positions = before.positions.0.clone();
        let role = self.role.apply_or(before.role, Role::Player);
        Membership {
            role,
            has_played: before.has_played || role == Role::Player,
            jersey_number: self.jersey_number.apply(before.jersey_number.clone()),
            positions: Positions(self.positions.apply_or(positions, Vec::new())),
            status: self.status.apply_or(before.status, MemberStatus::Active),
            joined_on: self.joined_on.apply(before.joined_on),
            left_on: self.left_on.apply(before.left_on),
            external_id: self.external_id.apply(before.external_id.clone()),
            metadata: self.metadata.apply_or(before.metadata.clone(), Metadata::default()),
            ..before.clone()
        }
    }
}

/// Every membership of these people, removed ones too.
pub fn of(db: &Reader<'_>, people: Vec<PersonId>) -> Result<Vec<Membership>> {
    if people.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql!(
        Membership::SELECT,
        " where account_id = :account and person_id in (:people) order by id"
    );
    Ok(db.all(text, bind! { people })?)
}

/// Whether somebody with this status counts as being on the roster.
pub(super) fn counted(status: MemberStatus) -> i64 {
    i64::from(matches!(status, MemberStatus::Active | MemberStatus::Injured))
}

/// What stands against a membership. What is refused is taken out of it, so that the rest can still
/// be held against what comes after.
pub(super) fn check(
    tx: &Tx<'_>,
    team: &Team,
    before: Option<&Membership>,
    after: &mut Membership,
    refusals: &mut Refusals,
) -> Result<()> {
    let dates = (after.joined_on, after.left_on);
    let same = before.is_some_and(|before| (before.joined_on, before.left_on) == dates);
    if let (Some(joined), Some(left)) = dates
        && left < joined
        && !same
    {
        refusals.invalid("/left_on", "before_joined_on", "Nobody leaves before they have joined.");
    }
    let known = before.is_some_and(|before| before.external_id == after.external_id);
    if !known && has_external_id(tx, after)? {
        refusals.taken("/external_id", "Another member already has this external id.");
        after.external_id = None;
    }
    let place = |m: &Membership| (m.jersey_number.clone(), m.role, m.status);
    let moved = before.is_none_or(|before| place(before) != place(after));
    if team.unique_jerseys && moved && wears_anothers(tx, after)? {
        refusals.taken("/jersey_number", "Another active player of the team wears this number.");
        after.jersey_number = None;
    }
    Ok(())
}

fn has_external_id(tx: &Tx<'_>, membership: &Membership) -> Result<bool> {
    let Membership { id, external_id: Some(external_id), .. } = membership else {
        return Ok(false);
    };
    let other: Option<(MemberId,)> = tx.maybe(
        "select id from member
         where account_id = :account and external_id = :external_id and id <> :id",
        bind! { id, external_id },
    )?;
    Ok(other.is_some())
}

/// Whether an active player would wear the number of another one.
fn wears_anothers(tx: &Tx<'_>, membership: &Membership) -> Result<bool> {
    let Membership { id, team_id: team, jersey_number: Some(number), .. } = membership else {
        return Ok(false);
    };
    if (membership.role, membership.status) != (Role::Player, MemberStatus::Active) {
        return Ok(false);
    }
    let other: Option<(MemberId,)> = tx.maybe(
        "select id from member
         where account_id = :account and team_id = :team and jersey_number = :number
           and role = 'player' and status = 'active' and id <> :id
         limit 1",
        bind! { id, team, number },
    )?;
    Ok(other.is_some())
}

/// Keeps a new membership.
pub(super) fn insert(tx: &Tx<'_>, membership: &Membership) -> Result<()> {
    tx.run(Membership::INSERT, &membership.bind())?;
    Ok(())
}

/// Keeps what has changed of a membership, with a new version.
pub(super) fn save(tx: &Tx<'_>, membership: Membership) -> Result<Membership> {
    let version = membership.version + 1;
    let after = Membership { version, updated_at: tx.now(), ..membership };
    tx.run(
        "update member set role = :role, has_played = :has_played, jersey_number = :jersey_number,
             positions = :positions, status = :status, joined_on = :joined_on, left_on = :left_on,
             external_id = :external_id, metadata = :metadata, updated_at = :updated_at,
             version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    Ok(after)
}
