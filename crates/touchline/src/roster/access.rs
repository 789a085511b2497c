//! The access that a user has through the rosters, in addition to their role in the club: the people they are linked
//! to, their dependents, and the teams they manage and see.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::{Reader, bind, row};

use super::guardian;
use super::membership::Role;
use crate::accounts::permissions::AccessLevel;
use crate::accounts::rights::{TeamAccess, UserAccess};
use crate::error::Result;
use crate::ids::{MemberId, PersonId, TeamId, UserId};

/// The access of a user through the rosters. Archived teams and removed members do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RosterAccess {
    /// The people that the user is linked to.
    pub own_person_ids: Vec<PersonId>,
    /// The people that the user is a guardian of.
    pub dependent_ids: Vec<PersonId>,
    /// The teams that the user coaches or manages at present.
    pub managed_team_ids: Vec<TeamId>,
    /// All teams of the user and their dependents, including managed teams.
    pub visible_team_ids: Vec<TeamId>,
    /// The roster entries of the user and their dependents.
    pub memberships: Vec<FamilyMembership>,
}

/// A roster entry of the user or of one of their dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyMembership {
    pub person_id: PersonId,
    pub team_id: TeamId,
    pub member_id: MemberId,
}

impl RosterAccess {
    /// The highest access level on any team.
    pub fn level(&self) -> AccessLevel {
        if !self.managed_team_ids.is_empty() {
            AccessLevel::Staff
        } else if !self.visible_team_ids.is_empty() {
            AccessLevel::Family
        } else if !self.own_person_ids.is_empty() {
            AccessLevel::KnownPerson
        } else {
            AccessLevel::SignedIn
        }
    }

    /// The user's own people and their dependents.
    pub fn family_person_ids(&self) -> Vec<PersonId> {
        self.own_person_ids.iter().chain(&self.dependent_ids).copied().collect()
    }

    /// The teams that the user has access to for an operation with this minimum level: managed teams if it requires
    /// staff, otherwise all visible teams.
    pub fn team_access(&self, min_level: AccessLevel) -> TeamAccess {
        let (allowed_team_ids, family_person_ids) = if min_level >= AccessLevel::Staff {
            (self.managed_team_ids.clone(), Vec::new())
        } else {
            (self.visible_team_ids.clone(), self.family_person_ids())
        };
        TeamAccess::User(Arc::new(UserAccess {
            allowed_team_ids,
            visible_team_ids: self.visible_team_ids.clone(),
            managed_team_ids: self.managed_team_ids.clone(),
            own_person_ids: self.own_person_ids.clone(),
            family_person_ids,
        }))
    }
}

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
    let own: Vec<(PersonId,)> = db.all(
        "select id from person
         where account_id = :account and user_id = :user and erased_at is null",
        bind! { user },
    )?;
    let own: Vec<_> = own.into_iter().map(|(person,)| person).collect();
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
    Ok(RosterAccess {
        own_person_ids: own,
        dependent_ids: dependents,
        managed_team_ids: managed_teams.into_iter().collect(),
        visible_team_ids: visible_teams.into_iter().collect(),
        memberships: memberships
            .into_iter()
            .map(|row| FamilyMembership {
                person_id: row.person_id,
                team_id: row.team_id,
                member_id: row.id,
            })
            .collect(),
    })
}
