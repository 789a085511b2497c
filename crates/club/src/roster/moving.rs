//! Moves a member to another team.

use super::member::{self, Member};
use super::membership::{MemberStatus, MembershipChange};
use super::new_members::{self, NewMember};
use crate::prelude::*;
use kit::text;

row! {
    /// A person who can be moved to another team.
    #[derive(Debug, Clone)]
    pub struct Movable {
        pub id: MemberId,
        pub first_name: String,
        pub last_name: Option<String>,
        pub preferred_name: Option<String>,
        pub team: String,
    }
}

impl Movable {
    /// The preferred name and the last name.
    pub fn name(&self) -> String {
        let first = self.preferred_name.as_ref().unwrap_or(&self.first_name);
        match &self.last_name {
            Some(last) => format!("{first} {last}"),
            None => first.clone(),
        }
    }
}

/// The people on active teams that the caller manages whose name contains `name`, by name, and one more than `max` if
/// there are more.
pub fn list_movable(
    db: &Reader<'_>,
    access: &TeamAccess,
    name: &str,
    max: usize,
) -> Result<Vec<Movable>> {
    let (is_limited, teams) = access.team_filter();
    if is_limited && teams.is_empty() {
        return Ok(Vec::new());
    }
    let pattern = text::contains_pattern(name);
    let limit = i64::try_from(max).unwrap_or(i64::MAX).saturating_add(1);
    let values = bind! { teams, pattern, limit };
    let found = if is_limited {
        db.all(sql!(MOVABLE, " and member.team_id in (:teams)", BY_NAME), values)
    } else {
        db.all(sql!(MOVABLE, BY_NAME), values)
    };
    Ok(found?)
}

const MOVABLE: &str = "
    select member.id, person.first_name, person.last_name, person.preferred_name, team.name as team
    from member
    join person on person.account_id = member.account_id and person.id = member.person_id
    join team on team.account_id = member.account_id and team.id = member.team_id
    where member.account_id = :account and member.status <> 'removed' and team.status = 'active'
      and (person.name_folded like :pattern escape '\\'
        or person.preferred_folded like :pattern escape '\\')";
const BY_NAME: &str = " order by person.name_folded, member.id limit :limit";

/// Where a member moves to.
pub struct Move {
    pub team_id: TeamId,
    /// The number on the new team.
    pub jersey_number: Option<String>,
}

/// Adds the person to another team, with the same role, positions and status, and removes them from their present
/// team. The person and the history on the old team stay. The same rules apply as for adding and removing.
pub fn move_to_team(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (from, id): (TeamId, MemberId),
    expected: &IfMatch,
    to: Move,
) -> Result<Member> {
    let Move { team_id: to, jersey_number } = to;
    let Member { person_id, role, positions, status, team_id, .. } = member::show(tx, from, id)?;
    Error::invalid_state("The member was removed. Add the person again.")
        .fail_if(status == MemberStatus::Removed)?;
    Error::new(Code::ValidationFailed, "Choose another team.")
        .at("/team_id")
        .fail_if(to == team_id)?;
    access.check(to).map_err(|error| error.at("/team_id"))?;
    let membership = MembershipChange {
        role: Change::Set(role),
        positions: Change::Set(positions.0),
        status: Change::Set(status),
        jersey_number: jersey_number.map_or(Change::Keep, Change::Set),
        ..MembershipChange::default()
    };
    let new = NewMember { person_id: Some(person_id), membership, ..NewMember::default() };
    // The person is added first, because callers see only people of their teams. Adding and removing also change the
    // version of the person, but not that of the membership.
    let added = new_members::add(tx, access, to, new)?;
    member::remove(tx, (from, id), expected)?;
    Ok(added)
}
