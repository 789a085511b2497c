//! The policy for claims: who may decide a claim, depending on which teams and people the user would see after it is
//! approved.

use std::collections::BTreeSet;

use super::invitation::Relation;
use crate::accounts::roster_access::RosterAccess;
use crate::accounts::user;
use crate::prelude::*;
use crate::roster::access;
use crate::roster::guardian::GuardianLink;
use crate::roster::guards::{self, Dependent};
use crate::roster::{enrollment, guardian, person, safeguarding};

/// The access that a claim asks for.
#[derive(Debug, Clone, Copy)]
pub struct RequestedAccess {
    pub user: UserId,
    pub relation: Relation,
    pub person: Option<PersonId>,
}

/// Whether a user who is not an admin may decide a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allowed,
    /// The user may see the claim, but only an admin may decide it.
    AdminOnly,
    /// The user may not see the claim.
    Hidden,
}

/// Whether a user who is not an admin may decide a claim on this team. Nobody decides their own claim. A confirmed
/// guardian decides who else becomes a guardian of their child, except for coaches and managers. Coaches decide claims
/// that only give access to their own teams.
pub fn decision(
    db: &Reader<'_>,
    (by, access): (UserId, &RosterAccess),
    team: TeamId,
    request: RequestedAccess,
) -> Result<Decision> {
    if request.user != by && can_decide_as_guardian(db, access, request)? {
        // A coach or manager who becomes a guardian could write to the child alone, so an admin decides.
        let leads = !access::for_user(db, request.user)?.managed_team_ids.is_empty();
        return Ok(if leads { Decision::AdminOnly } else { Decision::Allowed });
    }
    if !access.managed_team_ids.contains(&team) {
        return Ok(Decision::Hidden);
    }
    let is_allowed =
        request.user != by && can_decide_as_coach(db, &access.managed_team_ids, request)?;
    Ok(if is_allowed { Decision::Allowed } else { Decision::AdminOnly })
}

/// Whether the claim is to be a guardian of a child, and the deciding user is a confirmed guardian of that child.
pub fn can_decide_as_guardian(
    db: &Reader<'_>,
    access: &RosterAccess,
    request: RequestedAccess,
) -> Result<bool> {
    let Some(child) = request.person.filter(|_| request.relation == Relation::Guardian) else {
        return Ok(false);
    };
    let links = guardian::list_for(db, &[child])?;
    let own = links.iter().filter(|link| access.own_person_ids.contains(&link.guardian.id));
    Ok(own.into_iter().any(GuardianLink::is_confirmed))
}

/// Whether the claim would add another guardian to a minor who already has one. A user with the confirmed email
/// address of an existing guardian does not count as another one, if an admin has confirmed that guardian.
fn adds_another_guardian(db: &Reader<'_>, request: RequestedAccess) -> Result<bool> {
    let Some(child) = request.person.filter(|_| request.relation == Relation::Guardian) else {
        return Ok(false);
    };
    if guardian::list_for(db, &[child])?.is_empty() || !safeguarding::is_minor(db, child)? {
        return Ok(false);
    }
    let existing = enrollment::matching_guardian(db, child, &user::find(db, request.user)?)?;
    Ok(existing.is_none_or(|existing| existing.adult_confirmed_at.is_none()))
}

/// Whether an admin has confirmed this person as an adult, or the person is a guardian.
fn is_trusted_adult(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    let is_confirmed = person::find(db, id)?.adult_confirmed_at.is_some();
    Ok(is_confirmed || !guardian::list_by_guardian(db, &[id])?.is_empty())
}

/// Whether a coach or manager of these teams may decide the claim: the user would only see these teams and would not
/// coach any team. Otherwise a coach could approve a friend, or themselves under another name, to see the private
/// data of another team.
fn can_decide_as_coach(
    db: &Reader<'_>,
    managed_teams: &[TeamId],
    request: RequestedAccess,
) -> Result<bool> {
    let Some(person) = request.person else { return Ok(false) };
    if adds_another_guardian(db, request)? {
        return Ok(false);
    }
    // The person on the roster whom the user would be linked to, if there is one.
    let linked = match request.relation {
        Relation::Coach => return Ok(false),
        // A confirmed adult counts as a second adult in conversations with minors, so only an admin may decide who
        // signs in as them.
        Relation::SamePerson if is_trusted_adult(db, person)? => return Ok(false),
        Relation::SamePerson => Some(person),
        Relation::Guardian => {
            let existing =
                enrollment::matching_guardian(db, person, &user::find(db, request.user)?)?;
            existing.map(|existing| existing.id)
        }
    };
    let is_possible = match linked {
        Some(own) => !guards::is_coach_or_manager(db, own)?,
        // A new guardian.
        None => guards::can_have_guardian(db, Dependent::unchanged(&person::find(db, person)?))?,
    };
    if !is_possible {
        return Ok(false);
    }
    let own: Vec<_> = linked.into_iter().collect();
    // A guardian does not have to be on a team, but all their dependents must be on one of these teams.
    let mut dependents = BTreeSet::from([person]);
    if !own.is_empty() {
        dependents
            .extend(guardian::list_by_guardian(db, &own)?.into_iter().map(|link| link.person_id));
    }
    let family: Vec<_> = dependents.iter().copied().chain(own).collect();
    let memberships = guards::active_teams_of(db, family)?;
    let is_on_team = |id: &PersonId| memberships.iter().any(|(person, _)| person == id);
    Ok(dependents.iter().all(is_on_team)
        && memberships.iter().all(|(_, team)| managed_teams.contains(team)))
}
