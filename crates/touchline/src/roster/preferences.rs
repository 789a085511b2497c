//! What a person wants of us: whether letters reach them.

use store::{Reader, Tx, bind, row};

use super::profile;
use crate::error::Result;
use crate::ids::PersonId;
use crate::signals::Tell;

row! {
    /// What a person wants.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Preferences {
        pub id: PersonId,
        /// Where letters go; nobody else is told.
        pub email: Option<String>,
        pub wants_email: bool,
    }
}

/// What a person wants, unless they were erased.
pub fn find(db: &Reader<'_>, id: PersonId) -> Result<Preferences> {
    Ok(db.one(
        "select id, email, wants_email from person
         where account_id = :account and id = :id and erased_at is null",
        bind! { id },
    )?)
}

/// Whether a person wants letters; somebody who is gone does not.
pub fn wants_email(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    let wants: Option<(bool,)> = db.maybe(
        "select wants_email from person
         where account_id = :account and id = :id and erased_at is null",
        bind! { id },
    )?;
    Ok(wants.is_some_and(|(wants,)| wants))
}

/// Notes whether a person wants letters. Saying the same again changes nothing.
pub fn want_email(tx: &Tx<'_>, id: PersonId, wants_email: bool) -> Result<Preferences> {
    let before = find(tx, id)?;
    if before.wants_email == wants_email {
        return Ok(before);
    }
    let was = profile::told(tx, id)?;
    tx.run(
        "update person set wants_email = :wants_email, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id, wants_email },
    )?;
    tx.tell_change("roster.person_updated", &was, &profile::told(tx, id)?)?;
    Ok(Preferences { wants_email, ..before })
}
