//! Personal data in files: the photo of a person. Attachments belong to their message.

use super::attaching;
use super::file::File;
use crate::prelude::*;

/// The files that are attached to a person.
pub fn export_person(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let owner = person.to_string();
    let text = sql!(
        File::SELECT,
        " where account_id = :account and attached_to = :owner and removed_at is null order by id"
    );
    let files: Vec<File> = db.all(text, bind! { owner })?;
    Ok(json!(files))
}

/// Removes the files that are attached to a person. A job deletes their bytes within a minute.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<Vec<String>> {
    attaching::remove_of(tx, &person.to_string())?;
    Ok(Vec::new())
}
