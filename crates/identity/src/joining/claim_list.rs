//! Claims as the pages list them, and the choices in the invitation forms.

use super::age;
use super::claim::OpenClaim;
use super::claim_policy::{self, Decision, RequestedAccess};
use super::invitation::Relation;
use crate::accounts::roster_access::RosterAccess;
use crate::i18n::Message;
use crate::prelude::*;
use crate::roster::person;

/// A claim with the information that helps to decide it.
#[derive(Debug, Clone)]
pub struct ClaimView {
    pub claim: OpenClaim,
    /// Name of the person on the roster.
    pub person: Option<String>,
    /// A note for the person who decides, such as the age of a minor.
    pub minor_note: Option<Message>,
    /// Whether the viewer may decide the claim.
    pub can_decide: bool,
}

/// Claims as a user who is not an admin sees them, in the same order. Claims that they may not see are left out.
pub fn for_viewer(
    db: &Reader<'_>,
    viewer: (UserId, &RosterAccess),
    claims: Vec<OpenClaim>,
) -> Result<Vec<ClaimView>> {
    let mut visible = Vec::new();
    for mut view in for_admin(db, claims)? {
        let OpenClaim { user_id: user, team_id, relation, person_id: person, .. } = view.claim;
        let request = RequestedAccess { user, relation, person };
        let decision = claim_policy::decision(db, viewer, team_id, request)?;
        view.can_decide = decision == Decision::Allowed;
        if decision != Decision::Hidden {
            visible.push(view);
        }
    }
    Ok(visible)
}

/// Claims as an admin sees them, in the same order. Admins may decide all claims.
pub fn for_admin(db: &Reader<'_>, claims: Vec<OpenClaim>) -> Result<Vec<ClaimView>> {
    let people =
        person::find_many(db, claims.iter().filter_map(|claim| claim.person_id).collect())?;
    let view = |claim: OpenClaim| {
        let person = claim.person_id.and_then(|id| people.get(&id));
        let is_self = claim.relation == Relation::SamePerson;
        ClaimView {
            person: person.map(person::display_name),
            minor_note: person.filter(|_| is_self).and_then(|person| age::minor_note(db, person)),
            can_decide: true,
            claim,
        }
    };
    Ok(claims.into_iter().map(view).collect())
}

/// Ids and names of these teams, sorted by name.
pub fn team_names(db: &Reader<'_>, teams: Vec<TeamId>) -> Result<Vec<(TeamId, String)>> {
    if teams.is_empty() {
        return Ok(Vec::new());
    }
    Ok(db.all(
        "select id, name from team where account_id = :account and id in (:teams) order by name, id",
        bind! { teams },
    )?)
}

/// Ids and names of the active teams of the club, sorted by name.
pub fn active_teams(db: &Reader<'_>) -> Result<Vec<(TeamId, String)>> {
    Ok(db.all(
        "select id, name from team where account_id = :account and status = 'active'
         order by name, id limit 500",
        bind! {},
    )?)
}

/// Ids and names of everybody on a roster, sorted by name.
pub fn people_on_rosters(db: &Reader<'_>) -> Result<Vec<(PersonId, String)>> {
    let rows = db.all(
        "select p.id, p.first_name, p.last_name from person p
         where p.account_id = :account and p.erased_at is null
           and exists (select 1 from member m
                       where m.account_id = p.account_id and m.person_id = p.id
                         and m.status <> 'removed')
         order by p.name_folded, p.id limit 1000",
        bind! {},
    )?;
    let with_full_name = |(id, first, last): (PersonId, String, Option<String>)| {
        (id, last.map_or(first.clone(), |last| format!("{first} {last}")))
    };
    Ok(rows.into_iter().map(with_full_name).collect())
}
