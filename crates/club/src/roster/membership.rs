//! The membership: the record of a person on a team, and its rules.

use kit::string_enum;
use macros::input;
use serde::Deserialize;

use super::api;
use crate::prelude::*;
use crate::teams::team::Team;

/// The error for a member who left before they joined.
pub const LEFT_BEFORE_JOINED: &str =
    mark!("The day of leaving must not be before the day of joining.");

string_enum! {
    /// The role of a member on the team.
    pub enum Role as MemberRole {
        /// Plays on the team.
        Player = "player",
        /// Coaches the team and can manage it.
        Coach = "coach",
        /// Manages the team.
        Manager = "manager",
        /// Other staff, without permission to manage the team.
        Staff = "staff",
    }
}

impl Role {
    /// The name of the role on pages.
    pub fn label(self) -> &'static str {
        match self {
            Self::Player => t!("player"),
            Self::Coach => t!("coach"),
            Self::Manager => t!("manager"),
            Self::Staff => t!("staff"),
        }
    }

    /// Whether members with this role can manage the team.
    pub fn can_manage_team(self) -> bool {
        matches!(self, Self::Coach | Self::Manager)
    }
}

string_enum! {
    /// The status of a member.
    pub enum MemberStatus {
        /// Takes part in events and counts on the roster.
        Active = "active",
        /// Injured, but still counts on the roster.
        Injured = "injured",
        /// On the team, but does not take part at present.
        Inactive = "inactive",
        /// No longer on the team. The history is kept.
        Removed = "removed",
    }
}
enum_column!(Role, MemberStatus);

/// The positions that a member plays, stored as a JSON list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions(pub Vec<String>);
json_column!(Positions);

record! {
    /// The membership of a person in a team.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Membership in member {
        pub account_id: AccountId,
        pub id: MemberId,
        pub team_id: TeamId,
        pub person_id: PersonId,
        pub role: Role,
        /// Whether they are or ever were a player on this team. A possible minor stays one in another role.
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

impl_resource!(Membership by MemberId: Versioned Saved);

/// Changes to a membership. Fields that are left out stay unchanged; `null` clears a field.
#[input(faults(if_rejected))]
#[derive(Clone, Default)]
pub struct MembershipChange {
    /// Role on the team: `player`, `coach`, `manager`, or `staff` (other staff, who cannot manage the team). Default
    /// for new members: `player`.
    pub role: Change<Role>,
    /// Jersey number as printed, as a string: `00` and `0` are different.
    #[schema(examples("7"))]
    #[input(line(10))]
    pub jersey_number: Change<String>,
    /// Positions that the member plays. At most 10, each at most 60 characters.
    #[input(lines(10, 60))]
    pub positions: Change<Vec<String>>,
    /// Status on the team: `active`, `injured` (still on the roster) or `inactive` (does not take part at present).
    /// Default for new members: `active`. To remove a member, use `DELETE`; `removed` is not allowed.
    #[input(with(api::status))]
    pub status: Change<MemberStatus>,
    /// Day on which the member joined the team.
    #[schema(value_type = Option<String>, format = Date)]
    pub joined_on: Change<Day>,
    /// Day on which the member left the team. Must not be before `joined_on`.
    #[schema(value_type = Option<String>, format = Date)]
    pub left_on: Change<Day>,
    /// ID of the member in another system; unique in the account.
    #[input(line(120))]
    pub external_id: Change<String>,
    /// Replaces all metadata; `null` clears it.
    pub metadata: Change<Metadata>,
}

impl MembershipChange {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        let (Change::Set(joined), Change::Set(left)) = (&self.joined_on, &self.left_on) else {
            return Vec::new();
        };
        let fault = || Fault::new("/left_on", "before_joined_on", LEFT_BEFORE_JOINED);
        (left < joined).then(fault).into_iter().collect()
    }

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

/// All memberships of these people, including removed ones.
pub fn list_for(db: &Reader<'_>, people: Vec<PersonId>) -> Result<Vec<Membership>> {
    if people.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql!(
        Membership::SELECT,
        " where account_id = :account and person_id in (:people) order by id"
    );
    Ok(db.all(text, bind! { people })?)
}

/// 1 if a member with this status counts in `roster_count`, otherwise 0.
pub(super) fn roster_count(status: MemberStatus) -> i64 {
    i64::from(matches!(status, MemberStatus::Active | MemberStatus::Injured))
}

/// Validates a membership. Values that are already in use are removed from it, so that it can be inserted and the
/// following members of a batch can be checked against it.
pub(super) fn validate(
    tx: &Tx<'_>,
    team: &Team,
    before: Option<&Membership>,
    after: &mut Membership,
    violations: &mut Violations,
) -> Result<()> {
    let dates = (after.joined_on, after.left_on);
    let same = before.is_some_and(|before| (before.joined_on, before.left_on) == dates);
    if let (Some(joined), Some(left)) = dates
        && left < joined
        && !same
    {
        violations.invalid("/left_on", "before_joined_on", LEFT_BEFORE_JOINED);
    }
    let is_same_id = before.is_some_and(|before| before.external_id == after.external_id);
    if !is_same_id && is_external_id_taken(tx, after)? {
        violations.already_in_use("/external_id", "Another member already has this external ID.");
        after.external_id = None;
    }
    let jersey_key = |m: &Membership| (m.jersey_number.clone(), m.role, m.status);
    let is_changed = before.is_none_or(|before| jersey_key(before) != jersey_key(after));
    if team.unique_jerseys && is_changed && is_jersey_number_taken(tx, after)? {
        let detail = "Another active player of the team already has this jersey number.";
        violations.already_in_use("/jersey_number", detail);
        after.jersey_number = None;
    }
    Ok(())
}

fn is_external_id_taken(tx: &Tx<'_>, membership: &Membership) -> Result<bool> {
    let Membership { id, external_id: Some(external_id), .. } = membership else {
        return Ok(false);
    };
    tx.exists(
        "select id from member
         where account_id = :account and external_id = :external_id and id <> :id",
        bind! { id, external_id },
    )
}

/// Whether the member is an active player and another active player of the team has the same jersey number.
fn is_jersey_number_taken(tx: &Tx<'_>, membership: &Membership) -> Result<bool> {
    let Membership { id, team_id: team, jersey_number: Some(number), .. } = membership else {
        return Ok(false);
    };
    if (membership.role, membership.status) != (Role::Player, MemberStatus::Active) {
        return Ok(false);
    }
    tx.exists(
        "select id from member
         where account_id = :account and team_id = :team and jersey_number = :number
           and role = 'player' and status = 'active' and id <> :id
         limit 1",
        bind! { id, team, number },
    )
}
