//! Moves a member to another team.

use super::member::{self, Member};
use super::membership::{MemberStatus, MembershipChange};
use super::new_members::{self, NewMember};
use crate::prelude::*;

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
