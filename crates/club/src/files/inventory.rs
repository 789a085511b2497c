//! Compares the file store with the rows: for backups, and to find bytes without a row.

use super::file;
use crate::prelude::*;
use crate::uploads::ContentType;

/// The number of files to read at once.
const BATCH_SIZE: i64 = 1000;

/// The keys among these that belong to no row.
pub fn without_row(db: &Reader<'_>, keys: Vec<(String, AccountId, FileId)>) -> Result<Vec<String>> {
    let mut without = Vec::new();
    for (key, owner, id) in keys {
        let exists = db.exists(
            "select id from file where account_id = :owner and id = :id /* any account */",
            bind! { owner, id },
        )?;
        if !exists {
            without.push(key);
        }
    }
    Ok(without)
}

row! {
    /// A file of any account.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ListedFile {
        pub account_id: AccountId,
        pub id: FileId,
        pub content_type: ContentType,
        pub sha256: String,
    }
}

impl ListedFile {
    /// The keys of its bytes and of its thumbnail, and the hash of the bytes.
    pub fn keys(&self) -> impl Iterator<Item = (String, Option<&str>)> {
        let key = |thumbnail| file::store_key(self.account_id, self.id, thumbnail);
        let thumbnail = self.content_type.is_image().then(|| (key(true), None));
        [(key(false), Some(self.sha256.as_str()))].into_iter().chain(thumbnail)
    }
}

/// The files of all accounts.
pub fn list_all(db: &Reader<'_>) -> Result<Vec<ListedFile>> {
    let mut all = Vec::new();
    loop {
        let batch = list_batch(db, all.last())?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.extend(batch);
    }
}

fn list_batch(db: &Reader<'_>, last: Option<&ListedFile>) -> Result<Vec<ListedFile>> {
    let after = last.map_or(AccountId::MIN, |file| file.account_id);
    let after_id = last.map_or(FileId::MIN, |file| file.id);
    Ok(db.all(
        "select account_id, id, content_type, sha256 from file
         where account_id >= :after and (account_id, id) > (:after, :after_id) and removed_at is null
         order by account_id, id limit :limit /* any account */",
        bind! { after, after_id, limit: BATCH_SIZE },
    )?)
}
