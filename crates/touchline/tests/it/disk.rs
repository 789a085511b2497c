//! Tests of a full and of a read-only disk. They need permission to mount a tmpfs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use testkit::process::Program;
use testkit::{Client, json};

/// A small tmpfs that is unmounted on drop.
struct Disk {
    folder: TempDir,
}

impl Disk {
    /// `None` where mounting is not allowed; the test is then skipped with a message.
    #[expect(clippy::print_stderr, reason = "a skipped test must not go unnoticed")]
    fn mount(options: &str) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Self { folder });
        }
        eprintln!("SKIPPED: this machine does not let us mount a small disk");
        None
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

fn program(data: PathBuf) -> Program {
    Program::new(env!("CARGO_BIN_EXE_touchline"), &data)
        .variable("TOUCHLINE_RATE_LIMITS", "club=100000")
}

#[tokio::test]
async fn a_full_disk_rejects_writes_without_losing_data_and_recovers() {
    let Some(disk) = Disk::mount("size=14m") else { return };
    let ballast = disk.path().join("ballast");
    // Larger than the database, because a restart copies the write-ahead log into the database file.
    fs::write(&ballast, vec![0; 9 * 1024 * 1024]).unwrap();
    let program = program(disk.path().join("data"));
    let club = program.json(&["account", "create", "--name", "Small", "--tier", "club"]);
    let club = club["account"]["id"].as_str().unwrap().to_owned();
    let created =
        program.json(&["key", "create", "--account", &club, "--name", "k", "--scopes", "*"]);
    let key = created["key"]["value"].as_str().unwrap().to_owned();
    let service = program.serve(&[]);
    let client = Client::new(service.address, Some(&key));
    let body = |n: usize| json!({ "name": format!("Team {n}"), "description": "x".repeat(9000) });
    let mut created = Vec::new();
    let refused = loop {
        let answer = client.post("/teams", body(created.len())).await;
        if answer.status != 201 {
            break answer;
        }
        created.push(answer.id().to_owned());
        assert!(created.len() < 5000, "the disk does not fill up");
    };
    let refused = refused.assert_problem(503, "overloaded");
    assert!(refused.header("retry-after").is_some());
    assert!(!refused.text.contains("disk") && !refused.text.contains("sqlite"));
    client.get(&format!("/teams/{}", created[created.len() - 1])).await.ok();
    client.get("/readyz").await.ok();

    fs::remove_file(&ballast).unwrap();
    client.post("/teams", body(created.len())).await.created();
    drop(service);
    let findings = program.json(&["doctor"])["findings"].clone();
    assert!(!findings.to_string().contains("\"failed\""), "{findings}");
    let service = program.serve(&[]);
    let client = Client::new(service.address, Some(&key));
    for id in &created {
        client.get(&format!("/teams/{id}")).await.ok();
    }
}

#[test]
fn a_read_only_folder_is_reported_in_one_line() {
    let Some(disk) = Disk::mount("size=1m,ro") else { return };
    for data in [disk.path().to_owned(), disk.path().join("below")] {
        let output = program(data).run(&["serve"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.lines().count() == 1 && errors.starts_with("touchline: "), "{errors}");
    }
}
