//! Who may decide a claim, and how far it reaches: which teams somebody would see once it is approved.

use std::collections::BTreeSet;

use store::Reader;

use super::invitation::Relation;
use crate::accounts::user;
use crate::error::Result;
use crate::ids::{PersonId, TeamId, UserId};
use crate::roster::guardian::Link;
use crate::roster::standing::{self, Standing};
use crate::roster::trust::{self, Ward};
use crate::roster::{arrival, guardian, person, safeguarding};

/// What a claim asks for.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    pub user: UserId,
    pub relation: Relation,
    pub person: Option<PersonId>,
}

/// Whether somebody who is no admin may decide a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allowed,
    /// They may see it, but an admin decides it.
    AdminOnly,
    /// They may not know about it.
    Hidden,
}

/// Whether a user who is no admin may decide a claim on this team. Nobody decides their own. A confirmed
/// guardian decides who else is a guardian of their child. Coaches decide what stays within their teams.
pub fn decision(
    db: &Reader<'_>,
    (by, standing): (UserId, &Standing),
    team: TeamId,
    wish: Wish,
) -> Result<Decision> {
    if wish.user != by && is_guardian(db, standing, wish)? {
        // A coach who is a guardian could write to the child alone.
        let leads = !standing::of(db, wish.user)?.leads.is_empty();
        return Ok(if leads { Decision::AdminOnly } else { Decision::Allowed });
    }
    if !standing.leads.contains(&team) {
        return Ok(Decision::Hidden);
    }
    let within = wish.user != by && is_within(db, &standing.leads, wish)?;
    Ok(if within { Decision::Allowed } else { Decision::AdminOnly })
}

/// Whether this is about a guardian of somebody whose confirmed guardian the user is.
pub fn is_guardian(db: &Reader<'_>, standing: &Standing, wish: Wish) -> Result<bool> {
    let Some(child) = wish.person.filter(|_| wish.relation == Relation::Guardian) else {
        return Ok(false);
    };
    let links = guardian::of(db, &[child])?;
    let own = links.iter().filter(|link| standing.own.contains(&link.guardian.id));
    Ok(own.into_iter().any(Link::is_confirmed))
}

/// Whether this would be a further guardian of a minor who has one. Somebody who has shown that the address
/// of a guardian is theirs is no further one, if an admin knows that guardian.
fn is_further_guardian(db: &Reader<'_>, wish: Wish) -> Result<bool> {
    let Some(child) = wish.person.filter(|_| wish.relation == Relation::Guardian) else {
        return Ok(false);
    };
    if guardian::of(db, &[child])?.is_empty() || !safeguarding::is_minor(db, child)? {
        return Ok(false);
    }
    let known = arrival::becomes(db, child, &user::find(db, wish.user)?)?;
    Ok(known.is_none_or(|known| known.adult_confirmed_at.is_none()))
}

/// Whether an admin has confirmed this person as an adult, or they look after somebody.
fn is_trusted_adult(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    let is_confirmed = person::find(db, id)?.adult_confirmed_at.is_some();
    Ok(is_confirmed || !guardian::children(db, &[id])?.is_empty())
}

/// Whether whoever leads these teams may decide this: all that it lets the user see is on teams they lead,
/// and it makes nobody lead a team. Otherwise a coach could let in a friend, or themselves by another name,
/// to see what another team keeps to itself.
fn is_within(db: &Reader<'_>, leads: &[TeamId], wish: Wish) -> Result<bool> {
    let Some(person) = wish.person else { return Ok(false) };
    if is_further_guardian(db, wish)? {
        return Ok(false);
    }
    // Who they would be, if somebody who is on the roster already.
    let becomes = match wish.relation {
        Relation::Coach => return Ok(false),
        // An adult whom an admin knows counts in conversations with minors: only an admin says who signs in as them.
        Relation::Itself if is_trusted_adult(db, person)? => return Ok(false),
        Relation::Itself => Some(person),
        Relation::Guardian => {
            arrival::becomes(db, person, &user::find(db, wish.user)?)?.map(|known| known.id)
        }
    };
    let fit = match becomes {
        Some(own) => !trust::is_leader(db, own)?,
        // A new guardian, for somebody who is looked after.
        None => trust::is_looked_after(db, Ward::same(&person::find(db, person)?))?,
    };
    if !fit {
        return Ok(false);
    }
    let own: Vec<_> = becomes.into_iter().collect();
    // A guardian need be on no team, but whoever they look after is on one of these.
    let mut wards = BTreeSet::from([person]);
    if !own.is_empty() {
        wards.extend(guardian::children(db, &own)?.into_iter().map(|tie| tie.person_id));
    }
    let family: Vec<_> = wards.iter().copied().chain(own).collect();
    let places = trust::places(db, family)?;
    let known = |ward: &PersonId| places.iter().any(|(person, _)| person == ward);
    Ok(wards.iter().all(known) && places.iter().all(|(_, team)| leads.contains(team)))
}
