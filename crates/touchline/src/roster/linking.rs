//! Which person of the club somebody who signs in is.

use store::{Reader, Tx, bind, sql};

use super::person::{self, Person};
use super::ripple::Ripple;
use super::safeguarding::{self, ProtectionChange};
use crate::accounts::user;
use crate::error::{Error, Result, TakenExt};
use crate::ids::{PersonId, UserId};
use crate::signals::Tell;

/// The person of this club that a user is, if they are anybody.
pub fn person_of(db: &Reader<'_>, user: UserId) -> Result<Option<Person>> {
    let text = sql!(Person::SELECT, " where account_id = :account and user_id = :user");
    Ok(db.maybe(text, bind! { user })?)
}

/// Says that a person is this user, who belongs to the club. A user is one person of a club at most,
/// and a person one user. Saying it again changes nothing.
pub fn link(tx: &Tx<'_>, id: PersonId, user: UserId) -> Result<Person> {
    let before = person::find(tx, id)?;
    if before.erased_at.is_some() {
        return Err(Error::not_found());
    }
    match before.user_id {
        Some(known) if known == user => return Ok(before),
        Some(_) => return Err(Error::invalid_state("Somebody else signs in as this person.")),
        None => {}
    }
    if !user::clubs(tx, user)?.iter().any(|club| club.id == tx.account()) {
        return Err(Error::not_found());
    }
    let already = "This user is somebody else in the club already.";
    let linked = Person { user_id: Some(user), ..before.clone() };
    save(tx, before, &linked).taken("person_account_id_user_id_key", "/user_id", already)?;
    tx.audit("person.linked", &id.to_string(), &serde_json::json!({ "user": user }))?;
    if safeguarding::is_minor(tx, id)? {
        safeguarding::record(tx, id, &ProtectionChange::SignsIn)?;
    }
    person::find(tx, id)
}

/// Says that nobody signs in as this person any more. Saying it again changes nothing.
pub fn unlink(tx: &Tx<'_>, id: PersonId) -> Result<Person> {
    let before = person::find(tx, id)?;
    let Some(user) = before.user_id else { return Ok(before) };
    let loose = Person { user_id: None, ..before.clone() };
    save(tx, before, &loose)?;
    tx.audit("person.unlinked", &id.to_string(), &serde_json::json!({ "user": user }))?;
    person::find(tx, id)
}

fn save(tx: &Tx<'_>, before: Person, after: &Person) -> Result<()> {
    person::update(tx, after)?;
    let mut ripple = Ripple::default();
    ripple.changed(before, after);
    ripple.settle(tx, None)
}
