//! Deleting files that are not used: a job deletes their bytes from the file store, and then their rows.

use std::time::Duration;

use crate::prelude::*;
use crate::uploads::ContentType;

/// A file that is not attached within this time is removed. Bytes without a row are deleted after it, too.
pub const UNATTACHED_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of files to read at once.
const BATCH_SIZE: i64 = 100;

row! {
    /// A file that was not attached in time.
    #[derive(Debug, Clone, Copy)]
    pub struct UnattachedFile {
        pub account_id: AccountId,
        pub id: FileId,
        pub created_at: Timestamp,
    }
}

/// Files of all accounts that were not attached in time, sorted by age. `last` is the last one of the previous batch.
pub fn list_unattached(
    db: &Reader<'_>,
    last: Option<UnattachedFile>,
) -> Result<Vec<UnattachedFile>> {
    let after = last.map_or(Timestamp::from_micros(0), |file| file.created_at);
    let after_id = last.map_or(FileId::MIN, |file| file.id);
    let until = db.now().minus(UNATTACHED_TTL);
    Ok(db.all(
        "select account_id, id, created_at from file
         where attached_to is null and removed_at is null and created_at <= :until
           and (created_at, id) > (:after, :after_id)
         order by created_at, id limit :limit /* any account */",
        bind! { until, after, after_id, limit: BATCH_SIZE },
    )?)
}

/// Removes a file, unless it was attached in the meantime.
pub fn remove_unattached(tx: &Tx<'_>, id: FileId) -> Result<()> {
    tx.execute(
        "update file set removed_at = :now
         where account_id = :account and id = :id and attached_to is null and removed_at is null",
        bind! { id },
    )?;
    Ok(())
}

row! {
    /// A removed file, whose bytes are still stored.
    #[derive(Debug, Clone, Copy)]
    pub struct RemovedFile {
        pub account_id: AccountId,
        pub id: FileId,
        pub content_type: ContentType,
    }
}

/// Removed files of all accounts with greater ids than `after`.
pub fn list_removed(db: &Reader<'_>, after: FileId) -> Result<Vec<RemovedFile>> {
    Ok(db.all(
        "select account_id, id, content_type from file
         where removed_at is not null and id > :after
         order by id limit :limit /* any account */",
        bind! { after, limit: BATCH_SIZE },
    )?)
}

/// Deletes the row of a removed file, after its bytes.
pub fn delete(tx: &Tx<'_>, id: FileId) -> Result<()> {
    tx.execute(
        "delete from file where account_id = :account and id = :id and removed_at is not null",
        bind! { id },
    )?;
    Ok(())
}
