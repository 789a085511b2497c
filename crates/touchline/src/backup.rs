//! Backups: an archive with every row of every table, in the same format for both databases.
//!
//! All rows are read from one snapshot. Each table is a file of JSON lines; a manifest lists the files with
//! their hashes. An archive can be restored into an empty SQLite or PostgreSQL database, whichever it came
//! from, so it is also the way to migrate from one to the other. The hashes prove that an archive is complete;
//! an optional signature proves who made it.
//!
//! If uploaded files are stored in the data directory, the archive contains them, too. A bucket is backed up by its
//! provider.

mod files;
pub mod signature;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kit::secret::hex;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use store::{Db, Table, Value};

use crate::accounts::account;
use crate::file_store::FileStore;
use crate::files::inventory;
use crate::migrations::MIGRATIONS;
use crate::prelude::*;
use crate::signals;
use files::FileList;
use signature::{Origin, PublicKey, Signature, SigningKey};

/// The manifest of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    version: String,
    created_at: String,
    migrations: Vec<String>,
    tables: Vec<TableFile>,
    /// The uploaded files. `None` if they are not stored in the data directory.
    #[serde(default)]
    files: Option<FileList>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TableFile {
    name: String,
    rows: u64,
    sha256: String,
}

impl Manifest {
    /// The number of rows in the backup.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// The number of uploaded files in the backup.
    pub fn files(&self) -> usize {
        self.files.as_ref().map_or(0, |files| files.entries.len())
    }

    /// The keys of files that were missing or damaged when the backup was created.
    pub fn missing_files(&self) -> &[String] {
        self.files.as_ref().map_or(&[], |files| &files.missing)
    }
}

/// Why a backup could not be created, verified or restored.
pub type Fault = String;

/// The format that is written. Archives of earlier formats can be read.
const FORMAT: u32 = 2;
const MANIFEST: &str = "manifest.json";
const SIGNATURE: &str = "manifest.sig.json";
const NOT_EMPTY: &str = "the database is not empty; restore into an empty database";

/// The cause of an error, if it has one.
fn describe(error: &Error) -> Fault {
    error.cause.as_ref().map_or_else(|| error.detail.english(), ToString::to_string)
}

/// Adds a path to an error.
fn with_path<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> Fault + '_ {
    move |error| format!("{}: {error}", path.display())
}

/// Describes why an archive cannot be read. The cause is not included for a damaged archive, because it may
/// quote data.
fn read_error(path: &Path) -> impl Fn(std::io::Error) -> Fault + '_ {
    move |error| match error.kind() {
        ErrorKind::Other
        | ErrorKind::InvalidData
        | ErrorKind::InvalidInput
        | ErrorKind::UnexpectedEof => with_path(path)("the archive is damaged"),
        _ => with_path(path)(error),
    }
}

/// The default path of a backup.
pub fn default_path(data: &Path, now: Timestamp) -> PathBuf {
    let stamp: String =
        now.to_string().chars().filter(char::is_ascii_alphanumeric).take(21).collect();
    data.join("backups").join(format!("touchline-{stamp}.tar.gz"))
}

/// Creates a backup, and signs it if a key is given. The file gets its name only when it is complete.
pub async fn create(
    (db, store): (&Db, &FileStore),
    to: &Path,
    now: Timestamp,
    key: Option<&SigningKey>,
    progress: Progress,
) -> Result<Manifest, Fault> {
    let folder =
        to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if to.exists() {
        return Err(format!("{} already exists; choose another file", to.display()));
    }
    let applied = db.applied_migrations().await.map_err(|error| error.to_string())?;
    let work = tempfile::tempdir_in(folder).map_err(with_path(folder))?;
    let into = work.path().to_owned();
    let snapshot =
        move |db: &Reader<'_>| Ok((dump(db, &into, progress)?, inventory::list_all(db)?));
    let snapshot = db.snapshot(Scope::system("backup"), snapshot).await;
    let (tables, rows) = snapshot.map_err(|error| describe(&error))?;
    let files = store.folder().map(|from| files::collect(&rows, from, work.path()));
    let manifest = Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: now.to_string(),
        migrations: applied.into_iter().map(|step| step.name).collect(),
        tables,
        files: files.transpose().map_err(with_path(folder))?,
    };
    let packed = work.path().join("backup.tar.gz");
    pack(work.path(), &manifest, key, &packed).map_err(with_path(to))?;
    std::fs::rename(&packed, to).map_err(with_path(to))?;
    Ok(manifest)
}

/// Called with the name of a table and the number of its rows processed so far.
pub type Progress = fn(&str, u64);

fn dump(db: &Reader<'_>, into: &Path, progress: Progress) -> store::Result<Vec<TableFile>> {
    let failed = |error: std::io::Error| {
        store::Error::Unavailable(format!("cannot write the backup: {error}"))
    };
    let mut files = Vec::new();
    for table in db.tables()? {
        let mut file = HashingWriter::new(private_file(&into.join(&table.name)).map_err(failed)?);
        let mut rows = 0;
        db.rows(&table, |values| {
            let line = serde_json::Value::Array(values.iter().map(to_json).collect());
            rows += 1;
            if rows % 10_000 == 0 {
                progress(&table.name, rows);
            }
            writeln!(file, "{line}").map_err(failed)
        })?;
        let sha256 = file.finish().map_err(failed)?;
        files.push(TableFile { name: table.name, rows, sha256 });
    }
    Ok(files)
}

/// A writer that hashes what it writes.
struct HashingWriter {
    file: BufWriter<File>,
    hash: Sha256,
}

impl HashingWriter {
    fn new(file: File) -> Self {
        Self { file: BufWriter::new(file), hash: Sha256::new() }
    }

    fn finish(mut self) -> std::io::Result<String> {
        self.file.flush()?;
        Ok(hex(&self.hash.finalize()))
    }
}

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

fn pack(
    folder: &Path,
    manifest: &Manifest,
    key: Option<&SigningKey>,
    to: &Path,
) -> std::io::Result<()> {
    let file = private_file(to)?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    let text = serde_json::to_vec_pretty(manifest)?;
    let signature = key.map(|key| serde_json::to_vec_pretty(&key.sign(&text))).transpose()?;
    for (name, text) in [(MANIFEST, Some(text)), (SIGNATURE, signature)] {
        let Some(text) = text else { continue };
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, name, &text[..])?;
    }
    for table in &manifest.tables {
        let name = format!("tables/{}.jsonl", table.name);
        archive.append_path_with_name(folder.join(&table.name), name)?;
    }
    for file in manifest.files.iter().flat_map(|files| &files.entries) {
        let name = files::entry_name(&file.key);
        archive.append_path_with_name(folder.join(&name), name)?;
    }
    // Synced before it is renamed, so that a crash cannot leave an empty file under the final name.
    archive.into_inner()?.finish()?.sync_all()
}

/// Creates a file that only its owner can read, because it contains all data.
pub fn private_file(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn to_json(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Null | Value::List(_) => serde_json::Value::Null,
        Value::Bool(yes) => (*yes).into(),
        Value::Int(number) => (*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => text.as_ref().into(),
        Value::Bytes(bytes) => json!({ "base64": STANDARD.encode(bytes) }),
        Value::Id(bytes) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

fn from_json(value: serde_json::Value) -> Option<Value<'static>> {
    Some(match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(yes) => Value::Bool(yes),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Real(number.as_f64()?),
        },
        serde_json::Value::String(text) => Value::Text(text.into()),
        serde_json::Value::Object(object) => {
            Value::Bytes(STANDARD.decode(object.get("base64")?.as_str()?).ok()?.into())
        }
        serde_json::Value::Array(_) => return None,
    })
}

/// An unpacked archive that is complete.
struct UnpackedArchive {
    manifest: Manifest,
    origin: Origin,
    folder: tempfile::TempDir,
}

/// The entries of an archive.
#[derive(Default)]
struct Entries {
    manifest: Option<Vec<u8>>,
    signature: Option<Vec<u8>>,
    /// The hash of each table file.
    tables: BTreeMap<String, String>,
    /// The hash of each uploaded file, by its key.
    files: BTreeMap<String, String>,
}

/// Unpacks an archive into a directory. Duplicate entries and unknown names are rejected.
fn unpack_entries(from: &Path, folder: &Path) -> Result<Entries, Fault> {
    let damaged = || with_path(from)("the file is damaged or is not a backup");
    let mut entries = Entries::default();
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(from).map_err(with_path(from))?));
    for entry in archive.entries().map_err(read_error(from))? {
        let mut entry = entry.map_err(read_error(from))?;
        let name = entry.path().map_err(read_error(from))?.display().to_string();
        let single = match name.as_str() {
            MANIFEST => Some(&mut entries.manifest),
            SIGNATURE => Some(&mut entries.signature),
            _ => None,
        };
        if let Some(slot) = single {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(read_error(from))?;
            if slot.replace(bytes).is_some() {
                return Err(damaged());
            }
            continue;
        }
        if let Some(key) = files::key_of(&name) {
            let hash = files::unpack(&mut entry, folder, key).map_err(read_error(from))?;
            if entries.files.insert(key.to_owned(), hash).is_some() {
                return Err(damaged());
            }
            continue;
        }
        // Only table names are accepted, so an entry can never be written outside of the directory.
        let table = name.strip_prefix("tables/").and_then(|name| name.strip_suffix(".jsonl"));
        let plain = |table: &&str| table.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let table = table.filter(plain).ok_or_else(damaged)?;
        let mut file =
            HashingWriter::new(private_file(&folder.join(table)).map_err(with_path(from))?);
        std::io::copy(&mut entry, &mut file).map_err(read_error(from))?;
        let hash = file.finish().map_err(with_path(from))?;
        if entries.tables.insert(table.to_owned(), hash).is_some() {
            return Err(damaged());
        }
    }
    Ok(entries)
}

/// Unpacks an archive and checks that it contains exactly what its manifest lists. Also checks the signature.
fn unpack(from: &Path, key: Option<&PublicKey>) -> Result<UnpackedArchive, Fault> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let Entries { manifest, signature, tables, files } = unpack_entries(from, folder.path())?;
    let missing = "the manifest is missing; the file is damaged or is not a backup";
    let text = manifest.ok_or_else(|| with_path(from)(missing))?;
    let damaged = |error: serde_json::Error| read_error(from)(error.into());
    let signature = signature.map(|text| serde_json::from_slice::<Signature>(&text)).transpose();
    let origin = signature::verify(&text, signature.map_err(damaged)?.as_ref(), key)
        .map_err(with_path(from))?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(damaged)?;
    if manifest.format > FORMAT {
        return Err(with_path(from)("the backup was made by a newer version of Touchline"));
    }
    for table in &manifest.tables {
        if tables.get(&table.name) != Some(&table.sha256) {
            let fault = format!("the table {} is missing or damaged", table.name);
            return Err(with_path(from)(fault));
        }
    }
    if tables.len() != manifest.tables.len() {
        let fault = "the archive is damaged: a table is not in the manifest";
        return Err(with_path(from)(fault));
    }
    files::check_entries(manifest.files.as_ref(), &files).map_err(with_path(from))?;
    Ok(UnpackedArchive { manifest, origin, folder })
}

/// Restores a backup into an empty database, completely or not at all. With a key, only a backup that was
/// signed with it is accepted. The uploaded files are restored into the store, if there is one.
pub async fn restore(
    (db, store): (&Db, Option<&FileStore>),
    from: &Path,
    key: Option<&PublicKey>,
    progress: Progress,
) -> Result<(Manifest, Origin), Fault> {
    let UnpackedArchive { manifest, origin, folder } = unpack(from, key)?;
    let migrations = migration_count(&manifest)?;
    let failed = |error: store::Error| error.to_string();
    db.migrate(&MIGRATIONS[..migrations]).await.map_err(|error| match error {
        store::Error::NewerSchema(_) => NOT_EMPTY.to_owned(),
        other => other.to_string(),
    })?;
    let path = folder.path().to_owned();
    if let (Some(store), Some(list)) = (store, &manifest.files) {
        files::restore(store, list, folder.path()).await?;
    }
    let names: Vec<_> = manifest.tables.iter().map(|table| table.name.clone()).collect();
    db.write(Scope::system("restore"), move |tx| load(tx, &path, &names, progress))
        .await
        .map_err(failed)?;
    db.migrate(MIGRATIONS).await.map_err(failed)?;
    Ok((manifest, origin))
}

/// The number of migrations that the backup's database had. Fails if this version does not know one of them.
fn migration_count(manifest: &Manifest) -> Result<usize, Fault> {
    let known = MIGRATIONS.iter().map(|step| step.name);
    if manifest.migrations.iter().map(String::as_str).eq(known.take(manifest.migrations.len())) {
        Ok(manifest.migrations.len())
    } else {
        Err("the backup was made by a newer version of Touchline; use that version".to_owned())
    }
}

fn load(tx: &Tx<'_>, folder: &Path, names: &[String], progress: Progress) -> store::Result<()> {
    let tables = tx.tables()?;
    for table in &tables {
        let mut empty = true;
        tx.rows(table, |_| {
            empty = false;
            Ok(())
        })?;
        if !empty {
            return Err(store::Error::Unavailable(NOT_EMPTY.to_owned()));
        }
    }
    for table in tables.iter().filter(|table| names.contains(&table.name)) {
        load_table(tx, table, &folder.join(&table.name), progress)?;
    }
    Ok(())
}

fn load_table(tx: &Tx<'_>, table: &Table, file: &Path, progress: Progress) -> store::Result<()> {
    let damaged =
        || store::Error::Corrupt(format!("a row of the table {} in the backup", table.name));
    let lines = BufReader::new(File::open(file).map_err(|_| damaged())?).lines();
    for (number, line) in lines.enumerate() {
        let line = line.map_err(|_| damaged())?;
        let values: Vec<serde_json::Value> = serde_json::from_str(&line).map_err(|_| damaged())?;
        let values: Option<Vec<_>> = values.into_iter().map(from_json).collect();
        let values = values.filter(|values| values.len() == table.columns.len());
        tx.insert_row(table, values.ok_or_else(damaged)?)?;
        if number % 10_000 == 9_999 {
            progress(&table.name, number as u64 + 1);
        }
    }
    Ok(())
}

/// Verifies a backup: restores it into a temporary database and checks the logs of every account.
pub async fn verify(
    from: &Path,
    key: Option<&PublicKey>,
    options: store::Options,
    progress: Progress,
) -> Result<(Manifest, Origin), Fault> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let url = format!("sqlite:{}", folder.path().join("verify.db").display());
    let db = Db::open(store::Options { url, ..options }).map_err(|error| error.to_string())?;
    let outcome = async {
        let restored = restore((&db, None), from, key, progress).await?;
        files::verify(&db, restored.0.files.as_ref()).await.map_err(with_path(from))?;
        verify_logs(&db).await?.map_or(Ok(restored), Err)
    }
    .await;
    db.close();
    outcome
}

/// Verifies the logs of every account and returns the first fault.
pub async fn verify_logs(db: &Db) -> Result<Option<Fault>, Fault> {
    let accounts = db.read(Scope::system("doctor"), account::list).await;
    let accounts = accounts.map_err(|error| describe(&error))?;
    for account in accounts {
        let scope = Scope::account(account.id, "system");
        let fault = db.snapshot(scope, signals::verify).await.map_err(|error| describe(&error))?;
        if let Some(fault) = fault {
            return Ok(Some(format!("{} ({}): {fault}", account.name, account.id)));
        }
    }
    Ok(None)
}
