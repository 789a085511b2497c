//! What a person wants of us: whether letters reach them.

use kit::Timestamp;
use serde::Serialize;
use store::{Reader, Tx, bind, row};

use crate::error::Result;
use crate::ids::PersonId;
use crate::signals::Tell;
use crate::thing::thing;

row! {
    /// What a person wants.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    #[serde(tag = "object", rename = "person")]
    pub struct Preferences {
        pub id: PersonId,
        /// Where letters go; nobody else is told.
        #[serde(skip)]
        pub email: Option<String>,
        pub wants_email: bool,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

thing!(Preferences by PersonId: Subject);

/// What a person wants, unless they were erased.
pub fn find(db: &Reader<'_>, id: PersonId) -> Result<Preferences> {
    Ok(db.one(
        "select id, email, wants_email, updated_at, version from person
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
    let version = before.version + 1;
    let after = Preferences { wants_email, updated_at: tx.now(), version, ..before.clone() };
    tx.run(
        "update person set wants_email = :wants_email, updated_at = :now, version = :version
         where account_id = :account and id = :id",
        bind! { id, wants_email, version },
    )?;
    tx.tell_change("roster.person_updated", &before, &after)?;
    Ok(after)
}
