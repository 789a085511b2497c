//! Personal data in dues: export, erasure, and the move to another record of a person.

use super::due::{self, Due};
use crate::mail::email;
use crate::money::payment;
use crate::personal_data::MergedRecords;
use crate::prelude::*;

/// Exports the dues that a person owes or pays, with payments and refunds.
pub fn export_person(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let dues = due::with_plans(db, dues_of(db, person)?)?;
    let dues = dues.iter().map(|record| {
        let payments = payment::find_by_subject(db, &record.due.id.to_string())?;
        let refunds = payment::find_refunds_by_subject(db, &record.due.id.to_string())?;
        Ok(json!({ "due": record.view(db.now()), "payments": payments, "refunds": refunds }))
    });
    Ok(Value::Array(dues.collect::<Result<_>>()?))
}

/// Erases a person from their dues: notes, reasons, payment references and the emails about the dues. Amounts owed and
/// paid stay, without the person. Returns the ids of the changed dues.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<Vec<String>> {
    let dues = dues_of(tx, person)?;
    for due in &dues {
        let (id, subject) = (due.id, due.id.to_string());
        tx.execute(
            "update due set note = null, discount_reason = null, waive_reason = null,
                 metadata = '{}', updated_at = :now, version = version + 1
             where account_id = :account and id = :id",
            bind! { id },
        )?;
        payment::clear_free_text(tx, &subject)?;
        email::erase_about(tx, &subject)?;
    }
    Ok(dues.into_iter().map(|due| due.id.to_string()).collect())
}

/// The dues that a person owes or pays, without duplicates.
fn dues_of(db: &Reader<'_>, person: PersonId) -> Result<Vec<Due>> {
    let own = sql!(Due::SELECT, " where account_id = :account and person_id = :person order by id");
    let paid = sql!(
        Due::SELECT,
        " where account_id = :account and payer_id = :person and person_id <> :person order by id"
    );
    let mut dues: Vec<Due> = db.all(own, bind! { person })?;
    dues.extend(db.all::<Due>(paid, bind! { person })?);
    Ok(dues)
}

/// Moves the dues that a person owes or pays to another record of the same person.
pub fn merge_person(tx: &Tx<'_>, records: &MergedRecords) -> Result<()> {
    for (from, into) in &records.members {
        tx.execute(
            "update due set member_id = :into, updated_at = :now, version = version + 1
             where account_id = :account and member_id = :from",
            bind! { from, into },
        )?;
    }
    let (from, into) = (records.from, records.into);
    for text in [
        "update due set person_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and person_id = :from",
        "update due set payer_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and payer_id = :from",
    ] {
        tx.execute(text, bind! { from, into })?;
    }
    Ok(())
}
