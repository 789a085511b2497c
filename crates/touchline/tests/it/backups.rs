//! Tests of backups: signatures and file permissions.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use testkit::process::Program;
use testkit::{Client, json};

use crate::files::{png, upload};
use crate::program::{assert_fails_with, program};

/// An entry of an archive.
type Entry = (String, Vec<u8>);

/// Repacks an archive, replacing every entry by what `change` returns for it.
fn repack(archive: &Path, change: impl Fn(Entry) -> Vec<Entry>) -> Vec<u8> {
    let bytes = fs::read(archive).unwrap();
    let mut old = tar::Archive::new(GzDecoder::new(&bytes[..]));
    let mut new = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in old.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        for (name, bytes) in change((name, bytes)) {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o600);
            new.append_data(&mut header, name, &bytes[..]).unwrap();
        }
    }
    new.into_inner().unwrap().finish().unwrap()
}

/// Changes a signed archive without the key.
fn forge(archive: &Path, what: &str) -> Vec<u8> {
    let replaced = |bytes: &[u8], from: &str, to: &str| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        assert!(text.contains(from), "{text}");
        text.replacen(from, to, 1).into_bytes()
    };
    repack(archive, |(name, bytes)| match (what, name.as_str()) {
        ("manifest", "manifest.json") => vec![(name, replaced(&bytes, "rows", "Rows"))],
        ("version", "manifest.json") => vec![(name, replaced(&bytes, "0.1.0", "0.1.1"))],
        ("unsigned", "manifest.sig.json") => Vec::new(),
        ("row", "tables/account.jsonl") => vec![(name, replaced(&bytes, "club", "clab"))],
        ("added", "manifest.json") => {
            vec![(name, bytes), ("tables/extra.jsonl".to_owned(), b"[]\n".to_vec())]
        }
        ("twice", "tables/account.jsonl") | ("manifests", "manifest.json") => {
            vec![(name.clone(), bytes.clone()), (name, bytes)]
        }
        _ => vec![(name, bytes)],
    })
}

/// A folder with a demo club, a signed and an unsigned backup, and two keys.
struct Fixture {
    folder: TempDir,
    program: Program,
}

impl Fixture {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let fixture = Self { program: program(folder.path()), folder };
        let program = &fixture.program;
        program.json(&["seed", "demo"]);
        program.json(&["backup", "key", &fixture.path("key")]);
        program.json(&["backup", "key", &fixture.path("other")]);
        program.json(&["backup", "create", "--to", &fixture.path("plain.tar.gz")]);
        let signed = fixture.path("signed.tar.gz");
        program.json(&["backup", "create", "--to", &signed, "--sign", &fixture.path("key")]);
        fixture
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn verify_reports_whether_a_backup_is_signed() {
    let fixture = Fixture::new();
    let (program, signed) = (&fixture.program, fixture.path("signed.tar.gz"));
    let (plain, key, public) =
        (fixture.path("plain.tar.gz"), fixture.path("key"), fixture.path("key.pub"));
    assert_fails_with(&program.run(&["backup", "key", &key]), &["already exists"]);
    let signature = |args: &[&str]| program.json(args)["backup"]["signature"].clone();
    assert_eq!(signature(&["backup", "verify", &signed, "--key", &public]), "verified");
    assert_eq!(signature(&["backup", "verify", &signed, "--key", &key]), "verified");
    assert_eq!(signature(&["backup", "verify", &signed]), "unchecked");
    assert_eq!(signature(&["backup", "verify", &plain]), "unsigned");
    let prints = |args: &[&str], words: &str| {
        let output = program.run(args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(words), "{text}");
    };
    let unsigned_note = "The backup is not signed, so its origin cannot be verified.";
    prints(&["backup", "verify", &plain], unsigned_note);
    prints(
        &["backup", "verify", &signed],
        "The backup is signed, but the signature was not verified.",
    );
    prints(&["backup", "verify", &signed, "--key", &public], "The signature is valid.");
    let empty = TempDir::new().unwrap();
    let restored =
        Program::new(env!("CARGO_BIN_EXE_touchline"), empty.path()).run(&["restore", &plain]);
    assert!(String::from_utf8(restored.stdout).unwrap().contains(unsigned_note));
}

#[test]
fn rejects_backups_that_were_changed_or_signed_with_another_key() {
    let fixture = Fixture::new();
    let (signed, public) = (fixture.path("signed.tar.gz"), fixture.path("key.pub"));
    let empty = TempDir::new().unwrap();
    let target = program(empty.path());
    for what in ["manifest", "version", "unsigned", "row", "added", "twice", "manifests"] {
        let file = fixture.path(&format!("{what}.tar.gz"));
        fs::write(&file, forge(Path::new(&signed), what)).unwrap();
        for args in [
            &["backup", "verify", &file, "--key", &public][..],
            &["restore", &file, "--verify-key", &public],
        ] {
            assert_fails_with(&target.run(args), &[&format!("{what}.tar.gz")]);
        }
    }
    let restore = |file: &str, key: &str| {
        target.run(&["restore", &fixture.path(file), "--key", &fixture.path(key)])
    };
    assert_fails_with(&restore("signed.tar.gz", "other.pub"), &["the signature is not valid"]);
    assert_fails_with(&restore("plain.tar.gz", "key.pub"), &["not signed"]);
    assert_fails_with(&restore("signed.tar.gz", "plain.tar.gz"), &["plain.tar.gz"]);
    // None of these attempts wrote to the database.
    let restored = target.json(&["restore", &signed, "--verify-key", &public]);
    assert_eq!(restored["backup"]["signature"], "verified");
}

#[tokio::test]
async fn a_backup_contains_the_uploaded_files() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let program = program(folder.path());
    let account = program.json(&["account", "create", "--name", "Harbour"])["account"].clone();
    let id = account["id"].as_str().unwrap();
    let scopes = ["--name", "x", "--scopes", "teams:read,teams:write"];
    let key = program.json(&[&["key", "create", "--account", id][..], &scopes].concat());
    let service = program.serve(&[]);
    let client = Client::new(service.address, key["key"]["value"].as_str());
    let logo = upload(&client, "logo", "logo.png", &png(300, 300)).await.created();
    client.post("/teams", json!({ "name": "Hawks", "logo_file_id": logo.id() })).await.created();
    drop(service);

    let (archive, stored) = (path("b.tar.gz"), format!("files/{id}/{}", logo.id()));
    let created = program.json(&["backup", "create", "--to", &archive]);
    assert_eq!(
        (&created["backup"]["files"], &created["backup"]["missing_files"]),
        (&json!(2), &json!([]))
    );
    assert_eq!(program.json(&["backup", "verify", &archive])["backup"]["files"], 2);
    let empty = TempDir::new().unwrap();
    crate::program::program(empty.path()).json(&["restore", &archive]);
    let bytes = fs::read(folder.path().join(&stored)).unwrap();
    assert_eq!(fs::read(empty.path().join(&stored)).unwrap(), bytes);

    let changed = repack(Path::new(&archive), |(name, mut bytes)| {
        if name == stored {
            bytes.push(0);
        }
        vec![(name, bytes)]
    });
    fs::write(path("changed.tar.gz"), changed).unwrap();
    let outside = repack(Path::new(&archive), |(name, bytes)| {
        let name = if name == stored { "files/evil".to_owned() } else { name };
        vec![(name, bytes)]
    });
    fs::write(path("outside.tar.gz"), outside).unwrap();
    let verify = |name: &str| program.run(&["backup", "verify", &path(name)]);
    assert_fails_with(&verify("changed.tar.gz"), &["missing or damaged"]);
    assert_fails_with(&verify("outside.tar.gz"), &["outside.tar.gz"]);

    fs::remove_file(folder.path().join(&stored)).unwrap();
    let without = program.json(&["backup", "create", "--to", &path("c.tar.gz")]);
    assert_eq!(without["backup"]["missing_files"], json!([format!("{id}/{}", logo.id())]));
    program.json(&["backup", "verify", &path("c.tar.gz")]);
    let findings = program.json(&["doctor"])["findings"].to_string();
    assert!(findings.contains("Files can be stored, read and deleted"), "{findings}");
}

#[test]
fn data_files_are_readable_by_their_owner_only() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = program(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let service = program.serve(&[]);
    program.json(&["seed", "demo"]);
    program.json(&["backup", "create", "--to", &path("b.tar.gz")]);
    program.json(&["backup", "key", &path("key")]);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let (name, mode) = (entry.file_name(), entry.metadata().unwrap().permissions().mode());
        assert_eq!(mode & 0o077, 0, "{name:?} has mode {mode:o}");
        names.push(name.into_string().unwrap());
    }
    for name in
        ["touchline.db", "touchline.db-wal", "touchline.db-shm", "b.tar.gz", "key", "key.pub"]
    {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    drop(service);
    // The mode of an existing file is not changed, but doctor reports it.
    fs::set_permissions(path("touchline.db"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let findings = program.json(&["doctor"])["findings"].to_string();
    assert!(findings.contains("Run `chmod 600 "), "{findings}");
}
