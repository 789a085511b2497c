//! Confirmation of people's email addresses.

use super::person::{self, Person};
use super::version_cascade::save_person;
use crate::prelude::*;

/// Marks the email addresses of these new people as confirmed.
pub fn confirm_new_emails(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<()> {
    tx.execute(
        "update person set email_confirmed_at = :now
         where account_id = :account and id in (:people) and email is not null",
        bind! { people },
    )?;
    Ok(())
}

/// Confirms the email address of a person who opened the link sent to it. Returns `false` if they have another address
/// now.
pub fn confirm_email(tx: &Tx<'_>, id: PersonId, email_folded: &str) -> Result<bool> {
    let before = person::find(tx, id)?;
    if before.erased_at.is_some() || before.email_folded.as_deref() != Some(email_folded) {
        return Ok(false);
    }
    if before.email_confirmed_at.is_none() {
        let after = Person { email_confirmed_at: Some(tx.now()), ..before.clone() };
        save_person(tx, before, &after)?;
        tx.audit("person.email_confirmed", &id.to_string(), &json!({}))?;
    }
    Ok(true)
}
