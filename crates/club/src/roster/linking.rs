//! Links between users and people on the roster.

use super::person::{self, Person};
use super::safeguarding::{self, ProtectionChange};
use super::version_cascade::save_person;
use crate::accounts::user;
use crate::error::UniqueViolationExt;
use crate::prelude::*;

/// The person of this club that a user is linked to.
pub fn find_person(db: &Reader<'_>, user: UserId) -> Result<Option<Person>> {
    let text = sql!(Person::SELECT, " where account_id = :account and user_id = :user");
    Ok(db.optional(text, bind! { user })?)
}

/// Links a person to a user of the club. In a club, a user is linked to at most one person and a person to at most one
/// user. Idempotent.
pub fn link(tx: &Tx<'_>, id: PersonId, user: UserId) -> Result<Person> {
    let before = person::find(tx, id)?;
    Error::not_found().fail_if(before.erased_at.is_some())?;
    if before.user_id == Some(user) {
        return Ok(before);
    }
    Error::invalid_state("Another user already signs in as this person.")
        .fail_if(before.user_id.is_some())?;
    let is_in_club = user::clubs(tx, user)?.iter().any(|club| club.id == tx.account());
    Error::not_found().fail_if(!is_in_club)?;
    let constraint = "person_account_id_user_id_key";
    let detail = "This user is already linked to another person of the club.";
    let linked = Person { user_id: Some(user), ..before.clone() };
    save_person(tx, before, &linked).on_unique_violation(constraint, "/user_id", detail)?;
    tx.audit("person.linked", &id.to_string(), &json!({ "user": user }))?;
    if safeguarding::is_minor(tx, id)? {
        safeguarding::record(tx, id, ProtectionChange::SignsIn, None)?;
    }
    person::find(tx, id)
}

/// Removes the link between a person and their user. Idempotent.
pub fn unlink(tx: &Tx<'_>, id: PersonId) -> Result<Person> {
    let before = person::find(tx, id)?;
    let Some(user) = before.user_id else { return Ok(before) };
    let unlinked = Person { user_id: None, ..before.clone() };
    save_person(tx, before, &unlinked)?;
    tx.audit("person.unlinked", &id.to_string(), &json!({ "user": user }))?;
    person::find(tx, id)
}
