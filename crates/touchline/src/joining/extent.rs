//! How far a claim reaches: which teams somebody would see once a coach has said yes.

use std::collections::BTreeSet;

use store::Reader;

use super::invitation::Relation;
use crate::accounts::user;
use crate::error::Result;
use crate::ids::{PersonId, TeamId, UserId};
use crate::roster::trust::{self, Ward};
use crate::roster::{arrival, guardian, person};

/// What a claim asks for.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    pub user: UserId,
    pub relation: Relation,
    pub person: Option<PersonId>,
}

/// Whether whoever leads these teams may decide this: all that it lets the user see is on teams they lead,
/// and it makes nobody lead a team. Otherwise a coach could let in a friend, or themselves by another name,
/// to see what another team keeps to itself.
pub fn is_within(db: &Reader<'_>, leads: &[TeamId], wish: Wish) -> Result<bool> {
    let Some(person) = wish.person else { return Ok(false) };
    // Who they would be, if somebody who is on the roster already.
    let becomes = match wish.relation {
        Relation::Coach => return Ok(false),
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
