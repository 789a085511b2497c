//! Stories about backups: who made them, and who can read them.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use testkit::process::Program;

use crate::program::{program, refuses};

/// An entry of an archive.
type Entry = (String, Vec<u8>);

/// An archive in which every entry is replaced by what `change` makes of it.
fn repacked(archive: &Path, change: impl Fn(Entry) -> Vec<Entry>) -> Vec<u8> {
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

/// A signed archive that somebody without the key has changed.
fn forged(archive: &Path, what: &str) -> Vec<u8> {
    let replaced = |bytes: &[u8], from: &str, to: &str| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        assert!(text.contains(from), "{text}");
        text.replacen(from, to, 1).into_bytes()
    };
    repacked(archive, |(name, bytes)| match (what, name.as_str()) {
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

/// A folder with a demo club, a signed and an unsigned backup of it, and two keys.
struct Scene {
    folder: TempDir,
    program: Program,
}

impl Scene {
    fn set() -> Self {
        let folder = TempDir::new().unwrap();
        let scene = Self { program: program(folder.path()), folder };
        let program = &scene.program;
        program.json(&["seed", "demo"]);
        program.json(&["backup", "key", &scene.path("key")]);
        program.json(&["backup", "key", &scene.path("other")]);
        program.json(&["backup", "create", "--to", &scene.path("plain.tar.gz")]);
        let signed = scene.path("signed.tar.gz");
        program.json(&["backup", "create", "--to", &signed, "--sign", &scene.path("key")]);
        scene
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn a_signed_backup_shows_who_made_it() {
    let scene = Scene::set();
    let (program, signed) = (&scene.program, scene.path("signed.tar.gz"));
    let (plain, key, public) =
        (scene.path("plain.tar.gz"), scene.path("key"), scene.path("key.pub"));
    refuses(&program.run(&["backup", "key", &key]), &["exists already"]);
    let signature = |args: &[&str]| program.json(args)["backup"]["signature"].clone();
    assert_eq!(signature(&["backup", "verify", &signed, "--key", &public]), "verified");
    assert_eq!(signature(&["backup", "verify", &signed, "--key", &key]), "verified");
    assert_eq!(signature(&["backup", "verify", &signed]), "unchecked");
    assert_eq!(signature(&["backup", "verify", &plain]), "unsigned");
    let says = |args: &[&str], words: &str| {
        let done = program.run(args);
        let text = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success() && text.contains(words), "{text}");
    };
    let unknown =
        "This backup is not signed: Touchline can tell that it is complete but not who made it.";
    says(&["backup", "verify", &plain], unknown);
    says(&["backup", "verify", &signed], "This backup is signed, but no key was given");
    says(&["backup", "verify", &signed, "--key", &public], "The signature is valid.");
    let empty = TempDir::new().unwrap();
    let restored =
        Program::new(env!("CARGO_BIN_EXE_touchline"), empty.path()).run(&["restore", &plain]);
    assert!(String::from_utf8(restored.stdout).unwrap().contains(unknown));
}

#[test]
fn a_backup_that_was_changed_or_signed_by_somebody_else_is_not_restored() {
    let scene = Scene::set();
    let (signed, public) = (scene.path("signed.tar.gz"), scene.path("key.pub"));
    let empty = TempDir::new().unwrap();
    let elsewhere = program(empty.path());
    for what in ["manifest", "version", "unsigned", "row", "added", "twice", "manifests"] {
        let file = scene.path(&format!("{what}.tar.gz"));
        fs::write(&file, forged(Path::new(&signed), what)).unwrap();
        for args in [
            &["backup", "verify", &file, "--key", &public][..],
            &["restore", &file, "--verify-key", &public],
        ] {
            refuses(&elsewhere.run(args), &[&format!("{what}.tar.gz")]);
        }
    }
    let restore = |file: &str, key: &str| {
        elsewhere.run(&["restore", &scene.path(file), "--key", &scene.path(key)])
    };
    refuses(&restore("signed.tar.gz", "other.pub"), &["the signature is wrong"]);
    refuses(&restore("plain.tar.gz", "key.pub"), &["not signed"]);
    refuses(&restore("signed.tar.gz", "plain.tar.gz"), &["plain.tar.gz"]);
    // Nothing of all that was put into the database.
    let restored = elsewhere.json(&["restore", &signed, "--verify-key", &public]);
    assert_eq!(restored["backup"]["signature"], "verified");
}

#[test]
fn nobody_else_can_read_what_is_kept() {
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
    // A file that was made by an earlier version stays as it is, and doctor says so.
    fs::set_permissions(path("touchline.db"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let findings = program.json(&["doctor"])["findings"].to_string();
    assert!(findings.contains("Run chmod 600 on it"), "{findings}");
}
