//! The uploaded files of a backup.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use kit::secret::{hex, sha256};
use serde::Deserialize;
use store::Db;

use super::{Fault, HashingWriter, describe, private_file};
use crate::file_store::FileStore;
use crate::files::file::parse_store_key;
use crate::files::inventory::{self, ListedFile};
use crate::prelude::*;

/// The folder of the uploaded files in an archive.
const FOLDER: &str = "files/";

/// The uploaded files of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileList {
    pub(super) entries: Vec<FileEntry>,
    /// The keys of files that were missing or damaged when the backup was created.
    pub(super) missing: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) key: String,
    sha256: String,
}

/// The name of a file in the archive.
pub(super) fn entry_name(key: &str) -> String {
    format!("{FOLDER}{key}")
}

/// The key of a file in the archive. `None` if it is not an uploaded file. A key consists of two ids, so it never names a
/// path outside of the folder.
pub(super) fn key_of(name: &str) -> Option<&str> {
    name.strip_prefix(FOLDER).filter(|key| parse_store_key(key).is_some())
}

/// Collects the files of these rows in a directory, where the store may delete them without harm. Only the keys of
/// missing and damaged ones are kept.
pub(super) fn collect(rows: &[ListedFile], store: &Path, into: &Path) -> io::Result<FileList> {
    let mut list = FileList { entries: Vec::new(), missing: Vec::new() };
    for (key, expected) in rows.iter().flat_map(ListedFile::keys) {
        let target = into.join(entry_name(&key));
        let found = link(&store.join(&key), &target).and_then(|()| hash(&target));
        match found {
            Ok(sha256) if expected.is_none_or(|expected| expected == sha256) => {
                list.entries.push(FileEntry { key, sha256 });
            }
            Ok(_) => list.missing.push(key),
            Err(error) if error.kind() == io::ErrorKind::NotFound => list.missing.push(key),
            Err(error) => return Err(error),
        }
    }
    Ok(list)
}

/// Links a file, or copies it to another file system.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    create_parent(to)?;
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => io::copy(&mut File::open(from)?, &mut private_file(to)?).map(drop),
        Ok(()) => Ok(()),
    }
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn hash(path: &Path) -> io::Result<String> {
    Ok(hex(&sha256(&fs::read(path)?)))
}

/// Unpacks a file into a directory and returns its hash.
pub(super) fn unpack(entry: &mut impl Read, folder: &Path, key: &str) -> io::Result<String> {
    let path = folder.join(entry_name(key));
    create_parent(&path)?;
    let mut file = HashingWriter::new(private_file(&path)?);
    io::copy(entry, &mut file)?;
    file.finish()
}

/// Checks that an archive contains exactly the files of its manifest.
pub(super) fn check_entries(
    list: Option<&FileList>,
    found: &BTreeMap<String, String>,
) -> Result<(), Fault> {
    let entries = list.map_or(&[][..], |list| &list.entries);
    for entry in entries {
        if found.get(&entry.key) != Some(&entry.sha256) {
            return Err(format!("the file {} is missing or damaged", entry.key));
        }
    }
    let fault = "the archive is damaged: a file is not in the manifest";
    if found.len() == entries.len() { Ok(()) } else { Err(fault.to_owned()) }
}

/// Restores unpacked files into a store. Files that exist already have the same content, because files never change.
pub(super) async fn restore(
    store: &FileStore,
    list: &FileList,
    folder: &Path,
) -> Result<(), Fault> {
    for entry in &list.entries {
        let bytes = fs::read(folder.join(entry_name(&entry.key)));
        let bytes = bytes.map_err(|error| format!("{}: {error}", entry.key))?;
        store.put(&entry.key, bytes.into()).await.map_err(|error| describe(&error))?;
    }
    Ok(())
}

/// Checks that a restored database has the files that its rows name.
pub(super) async fn verify(db: &Db, list: Option<&FileList>) -> Result<(), Fault> {
    let Some(list) = list else { return Ok(()) };
    let rows = db.read(Scope::system("verify"), inventory::list_all).await;
    let rows = rows.map_err(|error| describe(&error))?;
    let hashes = list.entries.iter().map(|entry| (entry.key.as_str(), entry.sha256.as_str()));
    let hashes: BTreeMap<_, _> = hashes.collect();
    let missing: BTreeSet<_> = list.missing.iter().map(String::as_str).collect();
    for (key, expected) in rows.iter().flat_map(ListedFile::keys) {
        let found = hashes.get(key.as_str());
        let is_intact = found.is_some_and(|hash| expected.is_none_or(|one| one == *hash));
        if !is_intact && !missing.contains(key.as_str()) {
            return Err(format!("the file {key} is missing or damaged"));
        }
    }
    Ok(())
}
