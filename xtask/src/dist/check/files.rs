//! Tests of the checksums, the tarball and the container image.

use super::machine::{Machine, Network};
use crate::dist::{CHECKSUMS, Release, container, file_names, megabytes};
use crate::job::Job;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// The largest root file system of the container, unpacked, in bytes.
const CONTAINER_LIMIT: u64 = 60_000_000;
const READY: &str = "listening on";

/// Every package has its checksum.
pub(super) fn check_checksums(release: &Release) -> Result<String, String> {
    let job = Job::new("sha256sum", ["--check", "--strict", CHECKSUMS]);
    let lines = job.current_dir(&release.packages).run_checked()?;
    let files = file_names(&release.packages)?.len() - 1;
    if lines.len() != files {
        return Err(format!("{} checksums for {files} files", lines.len()));
    }
    Ok(format!("{files} files"))
}

/// The root file system of the container is small.
pub(super) fn check_container_size(release: &Release) -> Result<String, String> {
    let archive = release.root_archive();
    let args = ["--list".as_ref(), "--verbose".as_ref(), "--file".as_ref(), archive.as_os_str()];
    let lines = Job::new("tar", args).run_checked()?;
    let size = unpacked_size(&lines);
    let packed = fs::metadata(&archive).map_or(0, |file| file.len());
    let text = format!("{} unpacked, {} packed", megabytes(size), megabytes(packed));
    if size < CONTAINER_LIMIT {
        Ok(text)
    } else {
        Err(format!("{text}; the limit is {} unpacked", megabytes(CONTAINER_LIMIT)))
    }
}

/// The program of the tarball runs in the new Debian.
pub(super) fn check_tarball(release: &Release, machine: &Machine) -> Result<String, String> {
    let name = release.tarball_name();
    extract(&release.packages.join(format!("{name}.tar.gz")), &machine.path("/opt"))?;
    for file in ["LICENSE", "README.md", "touchline.service", "touchline.toml.example"] {
        if !machine.path(&format!("/opt/{name}/{file}")).is_file() {
            return Err(format!("{file} is missing"));
        }
    }
    let program = format!("/opt/{name}/touchline");
    let settings = format!("/opt/{name}/touchline.toml.example");
    machine.run(Network::Own, &[&program, "config", "check", "--config", &settings])?;
    let version = machine.run(Network::Own, &[&program, "--version"])?.join("\n");
    if version == format!("touchline {}", release.version) {
        Ok(version)
    } else {
        Err(format!("`--version` printed {version}"))
    }
}

/// The service runs in the root file system of the container, with the user and variables of the Containerfile.
pub(super) fn check_container(release: &Release, machine: &Machine) -> Result<String, String> {
    let root = machine.folder().join("container");
    extract(&release.root_archive(), &root)?;
    let containerfile = fs::read_to_string(release.packages.join(container::CONTAINERFILE))
        .map_err(|e| format!("cannot read the Containerfile: {e}"))?;
    let user = instruction(&containerfile, "USER")?;
    let variables: Vec<_> = instruction(&containerfile, "ENV")?.split_whitespace().collect();
    let command = |args: &[&str]| {
        let words = [&["/usr/bin/touchline"], args].concat();
        machine.start_in(&root, user, &variables, &words)
    };
    let mut service = command(&["serve"])?;
    service.wait_until(READY)?;
    command(&["healthcheck"])?.wait_until("ready")?;
    let (status, _) = machine.curl(&["http://127.0.0.1:8080/healthz"])?;
    drop(service);
    if status != 200 {
        return Err(format!("/healthz responded with {status}"));
    }
    // Container engines provide this file.
    fs::write(root.join("etc/hosts"), "127.0.0.1 database.internal\n")
        .map_err(|e| e.to_string())?;
    // Nothing listens there, so an error other than a refused connection means that the name was not resolved.
    let database = ["migrate", "--database", "postgres://a@database.internal:9/a"];
    command(&database)?.wait_until("refused")?;
    Ok(format!("runs as user {user}, is healthy and resolves names"))
}

/// The size of all files in the verbose list of an archive.
fn unpacked_size(lines: &[String]) -> u64 {
    lines.iter().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok()).sum()
}

/// The arguments of an instruction of the Containerfile.
fn instruction<'a>(containerfile: &'a str, name: &str) -> Result<&'a str, String> {
    let line = containerfile.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.ok_or_else(|| format!("the Containerfile has no {name}"))
}

fn extract(archive: &Path, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let args: [&OsStr; 5] = [
        "--extract".as_ref(),
        "--file".as_ref(),
        archive.as_os_str(),
        "--directory".as_ref(),
        folder.as_os_str(),
    ];
    Job::new("tar", args).run_checked().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_the_sizes_of_files() {
        let list = "drwxr-xr-x 0/0 0 2026-01-01 00:00 lib/\n-rwxr-xr-x 0/0 19 2026-01-01 00:00 lib/a\n\
            -rw-r--r-- 0/0 23 2026-01-01 00:00 lib/b c";
        let lines: Vec<_> = list.lines().map(str::to_owned).collect();
        assert_eq!(unpacked_size(&lines), 42);
    }

    #[test]
    fn reads_the_containerfile() {
        let text = "FROM scratch\nUSER 1:1\n";
        assert_eq!(instruction(text, "USER"), Ok("1:1"));
        assert!(instruction(text, "CMD").is_err());
    }
}
