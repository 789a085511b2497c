//! What those who decide and those who wait are shown of claims.

use store::{Reader, bind};

use super::age;
use super::claim::Waiting;
use super::extent::{self, Decision, Wish};
use super::invitation::Relation;
use crate::error::Result;
use crate::ids::{PersonId, TeamId, UserId};
use crate::roster::person;
use crate::roster::standing::Standing;

/// A claim with what helps to decide it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub claim: Waiting,
    /// Whom on the roster they name.
    pub person: Option<String>,
    /// What the roster knows that whoever decides should know.
    pub remark: Option<String>,
    /// Whether whoever looks at it may decide it.
    pub decides: bool,
}

/// Claims as somebody who is no admin sees them, in the same order.
pub fn asked_of(
    db: &Reader<'_>,
    viewer: (UserId, &Standing),
    claims: Vec<Waiting>,
) -> Result<Vec<Asked>> {
    let mut visible = Vec::new();
    for mut one in asked(db, claims)? {
        let claim = &one.claim;
        let (user, relation, person) = (claim.user_id, claim.relation, claim.person_id);
        let wish = Wish { user, relation, person };
        let decision = extent::decision(db, viewer, claim.team_id, wish)?;
        one.decides = decision == Decision::Allowed;
        if decision != Decision::Hidden {
            visible.push(one);
        }
    }
    Ok(visible)
}

/// Claims with what helps to decide them, in the same order, as those see them who decide everything.
pub fn asked(db: &Reader<'_>, claims: Vec<Waiting>) -> Result<Vec<Asked>> {
    let people = person::all(db, claims.iter().filter_map(|claim| claim.person_id).collect())?;
    let told = |claim: Waiting| {
        let person = claim.person_id.and_then(|id| people.get(&id));
        let own = claim.relation == Relation::Itself;
        Asked {
            person: person.map(person::display_name),
            remark: person.filter(|_| own).and_then(|person| age::remark(db, person)),
            decides: true,
            claim,
        }
    };
    Ok(claims.into_iter().map(told).collect())
}

/// These teams with their names, by name.
pub fn named(db: &Reader<'_>, teams: Vec<TeamId>) -> Result<Vec<(TeamId, String)>> {
    if teams.is_empty() {
        return Ok(Vec::new());
    }
    Ok(db.all(
        "select id, name from team where account_id = :account and id in (:teams) order by name, id",
        bind! { teams },
    )?)
}

/// The active teams of the club with their names, by name.
pub fn teams(db: &Reader<'_>) -> Result<Vec<(TeamId, String)>> {
    Ok(db.all(
        "select id, name from team where account_id = :account and status = 'active'
         order by name, id limit 500",
        bind! {},
    )?)
}

/// Everybody on a team's roster, for whom somebody can be invited, by name.
pub fn people(db: &Reader<'_>) -> Result<Vec<(PersonId, String)>> {
    let rows: Vec<(PersonId, String, Option<String>)> = db.all(
        "select p.id, p.first_name, p.last_name from person p
         where p.account_id = :account and p.erased_at is null
           and exists (select 1 from member m
                       where m.account_id = p.account_id and m.person_id = p.id
                         and m.status <> 'removed')
         order by p.name_folded, p.id limit 1000",
        bind! {},
    )?;
    let named = |(id, first, last): (PersonId, String, Option<String>)| {
        (id, last.map_or(first.clone(), |last| format!("{first} {last}")))
    };
    Ok(rows.into_iter().map(named).collect())
}
