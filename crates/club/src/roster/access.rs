//! Loads the access that a user has through the rosters, in addition to their role in the club.

use std::collections::BTreeSet;

use super::guardian;
use super::membership::Role;
use crate::accounts::roster_access::{FamilyMembership, RosterAccess};
use crate::prelude::*;

row! {
    struct MembershipRow {
        team_id: TeamId,
        person_id: PersonId,
        id: MemberId,
        role: Role,
        present: bool,
    }
}

/// The access of a user in the account.
pub fn for_user(db: &Reader<'_>, user: UserId) -> Result<RosterAccess> {
    let own: Vec<PersonId> = db.ids(
        "select id from person
         where account_id = :account and user_id = :user and erased_at is null",
        bind! { user },
    )?;
    if own.is_empty() {
        return Ok(RosterAccess::default());
    }
    let dependents: BTreeSet<_> =
        guardian::list_by_guardian(db, &own)?.into_iter().map(|one| one.person_id).collect();
    let dependents: Vec<_> = dependents.into_iter().filter(|id| !own.contains(id)).collect();
    let family: Vec<_> = own.iter().chain(&dependents).copied().collect();
    let memberships: Vec<MembershipRow> = db.all(
        "select m.team_id, m.person_id, m.id, m.role, m.status in ('active', 'injured') as present
         from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.person_id in (:family)
           and m.status <> 'removed' and t.status = 'active'
         order by m.id",
        bind! { family },
    )?;
    let managing = memberships
        .iter()
        .filter(|row| row.present && own.contains(&row.person_id) && row.role.can_manage_team());
    let managed_teams: BTreeSet<_> = managing.map(|row| row.team_id).collect();
    let visible_teams: BTreeSet<_> = memberships.iter().map(|row| row.team_id).collect();
    let membership = |row: MembershipRow| {
        copy_fields! {
            FamilyMembership { member_id: row.id, ..row { person_id, team_id } }
        }
    };
    Ok(RosterAccess {
        own_person_ids: own,
        dependent_ids: dependents,
        managed_team_ids: managed_teams.into_iter().collect(),
        visible_team_ids: visible_teams.into_iter().collect(),
        memberships: memberships.into_iter().map(membership).collect(),
    })
}
