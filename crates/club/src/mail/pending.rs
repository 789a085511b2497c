//! Emails of one kind that wait to be sent, to cancel only some of those about an object.

use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;

/// The pending emails of one kind about an object, with their recipients.
pub fn list(db: &Reader<'_>, about: &str, kind: EmailKind) -> Result<Vec<(EmailId, PersonId)>> {
    Ok(db.all(
        "select id, person_id from mail
         where account_id = :account and about = :about and kind = :kind and status = 'pending'
           and person_id is not null",
        bind! { about, kind },
    )?)
}

/// The people at addresses whose emails of one kind about an object were all cancelled.
pub fn list_cancelled(db: &Reader<'_>, about: &str, kind: EmailKind) -> Result<Vec<PersonId>> {
    let people: Vec<(PersonId,)> = db.all(
        "select p.id from mail m
         join person own on own.account_id = m.account_id and own.id = m.person_id
         join person p on p.account_id = own.account_id and p.email_folded = own.email_folded
         where m.account_id = :account and m.about = :about and m.kind = :kind
         group by p.id
         having min(case when m.status = 'cancelled' then 1 else 0 end) = 1",
        bind! { about, kind },
    )?;
    Ok(people.into_iter().map(|(id,)| id).collect())
}

/// Cancels these emails, unless they were sent in the meantime.
pub fn cancel(tx: &Tx<'_>, ids: Vec<EmailId>) -> Result<()> {
    tx.execute(
        "update mail set status = 'cancelled', updated_at = :now, version = version + 1
         where account_id = :account and id in (:ids) and status = 'pending'",
        bind! { ids },
    )?;
    Ok(())
}
