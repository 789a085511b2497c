//! Attaching files to the objects that show them.

use super::file::{self, File, Purpose};
use crate::prelude::*;

/// Attaches files, which the caller must have uploaded for this purpose, to the object with the id `owner`. Those that it
/// has already stay. `pointer` is the JSON pointer of the list of ids, or of the only id. The files are returned in the
/// order of the ids.
pub fn attach(
    tx: &Tx<'_>,
    (purpose, owner): (Purpose, &str),
    ids: &[FileId],
    pointer: impl Fn(usize) -> String,
    violations: &mut Violations,
) -> Result<Vec<File>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let own = file::list_attachable(tx, ids, owner)?;
    let mut files: Vec<File> = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        match own.iter().find(|file| file.id == *id) {
            _ if ids[..index].contains(id) => {
                violations.invalid(pointer(index), "duplicate", "The file is in the list twice.");
            }
            None => violations.not_found(pointer(index)),
            Some(file) if file.purpose != purpose => {
                let detail = message!(
                    "The file was uploaded with the purpose `{other}`. Upload it with `{purpose}`.",
                    other = file.purpose.as_str(),
                    purpose = purpose.as_str()
                );
                violations.invalid(pointer(index), "wrong_purpose", detail);
            }
            Some(file) => files.push(file.clone()),
        }
    }
    let new = files.iter().filter(|file| file.attached_to.is_none());
    let attached: Vec<_> = new.map(|file| file.id).collect();
    if !attached.is_empty() {
        tx.execute(
            "update file set attached_to = :owner, updated_at = :now, version = version + 1
             where account_id = :account and id in (:attached)",
            bind! { owner, attached },
        )?;
    }
    Ok(files)
}

/// Replaces the only file of an object: removes the one it had and attaches the new one.
pub fn replace(
    tx: &Tx<'_>,
    (purpose, owner): (Purpose, &str),
    (before, after): (Option<FileId>, Option<FileId>),
    pointer: &str,
    violations: &mut Violations,
) -> Result<()> {
    if before == after {
        return Ok(());
    }
    if before.is_some() {
        remove_of(tx, owner)?;
    }
    let new: Vec<_> = after.into_iter().collect();
    attach(tx, (purpose, owner), &new, |_| pointer.to_owned(), violations).map(drop)
}

/// Removes some files of an object.
pub fn remove(tx: &Tx<'_>, owner: &str, ids: Vec<FileId>) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    tx.execute(
        "update file set removed_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and id in (:ids) and attached_to = :owner
           and removed_at is null",
        bind! { owner, ids },
    )?;
    Ok(())
}

/// Removes the files of an object. Nobody sees them anymore, and a job deletes their bytes.
pub fn remove_of(tx: &Tx<'_>, owner: &str) -> Result<()> {
    tx.execute(
        "update file set removed_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and attached_to = :owner and removed_at is null",
        bind! { owner },
    )?;
    Ok(())
}
