//! Enrollment of users: links a new user of the club to a person on the roster, as a guardian or as a coach.

use super::guardian::{self, GuardianLink};
use super::linking;
use super::membership::{MembershipChange, Role};
use super::new_members::{self, NewMember};
use super::person::{self, Person, PersonChange};
use super::version_cascade::VersionCascade;
use crate::accounts::user::User;
use crate::prelude::*;

/// Makes a user of the club a guardian of this child. The user becomes, in this order: the person they are already
/// linked to, the child's existing guardian with the user's confirmed email address, or a new person. `confirmed` says
/// whether an admin or a confirmed guardian made the decision.
pub fn enroll_guardian(
    tx: &Tx<'_>,
    child: PersonId,
    user: &User,
    confirmed: bool,
) -> Result<Person> {
    let child = person::find(tx, child)?;
    Error::not_found().fail_if(child.erased_at.is_some())?;
    let guardians = guardian::list_for(tx, &[child.id])?;
    let matching = || find_by_confirmed_email(&guardians, user).cloned();
    let existing = linking::find_person(tx, user.id)?.or_else(matching);
    let mut cascade = VersionCascade::default();
    let own = match existing {
        Some(person) => person,
        None => create_person(tx, user, &mut cascade)?,
    };
    Error::invalid_state("A person cannot be their own guardian.").fail_if(own.id == child.id)?;
    if !guardians.iter().any(|link| link.guardian.id == own.id) {
        guardian::add(tx, (child.id, own.id), confirmed, &mut cascade)?;
    }
    cascade.apply(tx, None)?;
    if confirmed {
        guardian::confirm(tx, own.id, Some(child.id))?;
    }
    linking::link(tx, own.id, user.id)
}

/// The existing guardian of this child whom a user would be linked to. The user would then also be the guardian of all
/// other dependents of that person. `None` if the user is already linked to a person.
pub fn matching_guardian(db: &Reader<'_>, child: PersonId, user: &User) -> Result<Option<Person>> {
    if linking::find_person(db, user.id)?.is_some() {
        return Ok(None);
    }
    Ok(find_by_confirmed_email(&guardian::list_for(db, &[child])?, user).cloned())
}

/// The guardian with the user's email address who is not linked to a user yet. The user must have confirmed the
/// address: otherwise anyone could type a mother's address and get access to all her children.
fn find_by_confirmed_email<'a>(guardians: &'a [GuardianLink], user: &User) -> Option<&'a Person> {
    user.email_verified_at?;
    let has_email = |guardian: &&Person| guardian.email_folded.as_ref() == Some(&user.email_folded);
    guardians.iter().map(|link| &link.guardian).filter(|g| g.user_id.is_none()).find(has_email)
}

fn create_person(tx: &Tx<'_>, user: &User, cascade: &mut VersionCascade) -> Result<Person> {
    let person = person_fields(tx, user)?.apply(&person::blank(tx));
    tx.execute(Person::INSERT, &person.bind())?;
    cascade.person_created(person.id);
    Ok(person)
}

/// Adds a user of the club to a team as a coach.
pub fn enroll_coach(tx: &Tx<'_>, team: TeamId, user: &User) -> Result<Person> {
    let own = linking::find_person(tx, user.id)?.map(|own| own.id);
    let person = if own.is_some() { PersonChange::default() } else { person_fields(tx, user)? };
    let role = Change::Set(Role::Coach);
    let membership = MembershipChange { role, ..MembershipChange::default() };
    let new = NewMember {
        person_id: own,
        person,
        membership,
        allow_duplicate: true,
        ..NewMember::default()
    };
    let member = new_members::add(tx, &TeamAccess::AllTeams, team, new)?;
    linking::link(tx, member.person_id, user.id)
}

/// Name and email address of a user, for a new person. An unconfirmed address that another person in the club has is
/// left out, because people are matched by address.
fn person_fields(db: &Reader<'_>, user: &User) -> Result<PersonChange> {
    let use_email = user.email_verified_at.is_some()
        || person::find_by_email(db, &user.email_folded)?.is_empty();
    let (first, last) = user.name.split_once(' ').unwrap_or((&user.name, ""));
    Ok(PersonChange {
        first_name: Some(first.to_owned()),
        last_name: if last.is_empty() { Change::Keep } else { Change::Set(last.to_owned()) },
        email: if use_email { Change::Set(user.email.clone()) } else { Change::Keep },
        ..PersonChange::default()
    })
}
