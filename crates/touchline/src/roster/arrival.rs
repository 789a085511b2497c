//! How somebody who signs in comes to be on the roster: as a person who is there already, as the
//! guardian of one, or as a coach.

use kit::Change;
use store::{Reader, Tx};

use super::guardian::{self, Link};
use super::linking;
use super::membership::{MembershipChange, Role};
use super::newcomer::{self, NewMember};
use super::person::{self, Person, PersonChange};
use super::ripple::Ripple;
use crate::accounts::rights::Reach;
use crate::accounts::user::User;
use crate::error::{Error, Result};
use crate::ids::{PersonId, TeamId};

/// Makes the user, who belongs to the club, a guardian of this child. They are whoever they are in the
/// club already, or the child's guardian with their confirmed address, or somebody new. `confirmed` says
/// whether an admin or a confirmed guardian decided it.
pub fn as_guardian(tx: &Tx<'_>, child: PersonId, user: &User, confirmed: bool) -> Result<Person> {
    let child = person::find(tx, child)?;
    if child.erased_at.is_some() {
        return Err(Error::not_found());
    }
    let known = guardian::of(tx, &[child.id])?;
    let own = match linking::person_of(tx, user.id)? {
        Some(own) => Some(own),
        None => recognised(&known, user).cloned(),
    };
    let mut ripple = Ripple::default();
    let own = match own {
        Some(own) => own,
        None => newly(tx, user, &mut ripple)?,
    };
    if own.id == child.id {
        return Err(Error::invalid_state("A person cannot be their own guardian."));
    }
    if !known.iter().any(|link| link.guardian.id == own.id) {
        guardian::add(tx, (child.id, own.id), confirmed, &mut ripple)?;
    }
    ripple.settle(tx, None)?;
    if confirmed {
        guardian::confirm(tx, own.id, Some(child.id))?;
    }
    linking::link(tx, own.id, user.id)
}

/// The guardian on the roster whom a user becomes when they are let in as a guardian of this child, with
/// everybody that guardian looks after. Nobody, if the user is somebody in the club already.
pub fn becomes(db: &Reader<'_>, child: PersonId, user: &User) -> Result<Option<Person>> {
    if linking::person_of(db, user.id)?.is_some() {
        return Ok(None);
    }
    Ok(recognised(&guardian::of(db, &[child])?, user).cloned())
}

/// The guardian whom nobody signs in as yet and whose address is the user's. An address that the user
/// only says to have proves nothing: anybody can type a mother's, and would have all her children.
fn recognised<'a>(known: &'a [Link], user: &User) -> Option<&'a Person> {
    user.email_verified_at?;
    let own = |guardian: &&Person| guardian.email_folded.as_ref() == Some(&user.email_folded);
    known.iter().map(|link| &link.guardian).filter(|g| g.user_id.is_none()).find(own)
}

fn newly(tx: &Tx<'_>, user: &User, ripple: &mut Ripple) -> Result<Person> {
    let person = described(tx, user)?.apply(&person::blank(tx));
    person::insert(tx, &person)?;
    ripple.made(person.id);
    Ok(person)
}

/// Puts the user, who belongs to the club, on a team as its coach.
pub fn as_coach(tx: &Tx<'_>, team: TeamId, user: &User) -> Result<Person> {
    let own = linking::person_of(tx, user.id)?.map(|own| own.id);
    let person = if own.is_some() { PersonChange::default() } else { described(tx, user)? };
    let new = NewMember {
        person_id: own,
        person,
        membership: MembershipChange {
            role: Change::Set(Role::Coach),
            ..MembershipChange::default()
        },
        guardians: Vec::new(),
        allow_duplicate: true,
    };
    let member = newcomer::add(tx, &Reach::Everywhere, team, new)?;
    linking::link(tx, member.person_id, user.id)
}

/// What a user says of themselves. The address of somebody else in the club is not noted on their word
/// alone: people are recognised by it.
fn described(db: &Reader<'_>, user: &User) -> Result<PersonChange> {
    let is_theirs =
        user.email_verified_at.is_some() || person::with_email(db, &user.email_folded)?.is_empty();
    let (first, last) = user.name.split_once(' ').unwrap_or((&user.name, ""));
    Ok(PersonChange {
        first_name: Some(first.to_owned()),
        last_name: if last.is_empty() { Change::Keep } else { Change::Set(last.to_owned()) },
        email: if is_theirs { Change::Set(user.email.clone()) } else { Change::Keep },
        ..PersonChange::default()
    })
}
