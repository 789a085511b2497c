//! The access that a user has through the rosters, in addition to their role in the club: the people they are linked
//! to, their dependents, and the teams they manage and see.

use std::sync::Arc;

use super::permissions::AccessLevel;
use crate::prelude::*;
use crate::rights::UserAccess;

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
