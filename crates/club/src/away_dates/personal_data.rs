//! Personal data in away dates: export and erasure.

use super::away_date::AwayDate;
use crate::personal_data::MergedRecords;
use crate::prelude::*;

/// The away dates of a person.
pub fn export_person(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let all: Vec<AwayDate> = db.all(
        sql!(
            AwayDate::SELECT,
            " where account_id = :account and person_id = :person order by starts_on, id"
        ),
        bind! { person },
    )?;
    Ok(json!(all))
}

/// Deletes the away dates of a person.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.execute(
        "delete from away_date where account_id = :account and person_id = :person",
        bind! { person },
    )?;
    Ok(())
}

/// Moves the away dates to the other record of the same person.
pub fn merge_person(tx: &Tx<'_>, records: &MergedRecords) -> Result<()> {
    let (from, into) = (records.from, records.into);
    tx.execute(
        "update away_date set person_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and person_id = :from",
        bind! { from, into },
    )?;
    Ok(())
}
