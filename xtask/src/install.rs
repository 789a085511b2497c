//! Installing what the checks need and this machine lacks, one line for each.

use crate::job::Job;
use crate::{postgres, workspace};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const CHROMIUM: &str = "/usr/bin/chromium";
const CLUSTERS: &str = "/etc/postgresql-common/createcluster.conf";

/// PostgreSQL's programs and, for the checks from outside, a browser.
pub(crate) fn from_debian(browser: bool) -> Result<PathBuf, String> {
    let mut missing = Vec::new();
    if postgres_programs().is_none() {
        missing.push("postgresql");
    }
    if browser && !Path::new(CHROMIUM).exists() {
        missing.push("chromium");
    }
    if !missing.is_empty() {
        install(&missing)?;
    }
    postgres_programs().ok_or_else(|| "PostgreSQL was installed but is not to be found".into())
}

/// Node's packages, into `tests/web/node_modules`, as the lock file says.
pub(crate) fn from_npm() -> Result<(), String> {
    let folder = workspace::web();
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/.installed");
    if same(&lock, &stamp) {
        return Ok(());
    }
    println!("installing the packages of tests/web from npm ...");
    let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    Job::new("npm", args).within(&folder).must()?;
    keep(&lock, &stamp)
}

/// Python's packages, into an environment of their own; answers with its programs.
pub(crate) fn from_pypi() -> Result<PathBuf, String> {
    let pins = workspace::web().join("requirements.txt");
    let folder = workspace::installed()?.join("python");
    let programs = folder.join("bin");
    let stamp = folder.join("installed");
    // An environment points to the Python it was made with, which may be gone by now.
    if same(&pins, &stamp) && programs.join("python").exists() {
        return Ok(programs);
    }
    println!("installing the packages of the tests from PyPI ...");
    Job::new("python3", ["-m".as_ref(), "venv".as_ref(), "--clear".as_ref(), folder.as_os_str()])
        .must()?;
    let args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    let args = args.iter().map(std::ffi::OsStr::new).chain([pins.as_os_str()]);
    Job::new(programs.join("python"), args).must()?;
    keep(&pins, &stamp)?;
    Ok(programs)
}

/// Debian keeps several versions side by side; the newest serves.
fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .filter_map(|version| {
            let version = version.ok()?;
            let number: u32 = version.file_name().to_str()?.parse().ok()?;
            let programs = version.path().join("bin");
            programs.join("initdb").exists().then_some((number, programs))
        })
        .max()
        .map(|(_, programs)| programs)
}

fn install(packages: &[&str]) -> Result<(), String> {
    if !postgres::is_root() {
        let packages = packages.join(" ");
        return Err(format!("missing, and only root may install them: {packages}"));
    }
    for package in packages {
        println!("installing {package} from Debian ...");
    }
    let lone = packages.contains(&"postgresql") && !Path::new(CLUSTERS).exists();
    if lone {
        forbid_cluster()?;
    }
    apt(&["update", "--quiet"])?;
    let mut args = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    args.extend(packages);
    apt(&args)?;
    if lone {
        Job::new("pg_conftool", [CLUSTERS, "remove", "create_main_cluster"]).must()?;
    }
    Ok(())
}

/// Installing the server would also make and start one for the whole machine, which nobody asked
/// for. Its package reads this setting before it does.
fn forbid_cluster() -> Result<(), String> {
    let told = |e| format!("cannot write {CLUSTERS}: {e}");
    fs::create_dir_all("/etc/postgresql-common").map_err(told)?;
    fs::write(CLUSTERS, "create_main_cluster = false\n").map_err(told)
}

fn apt(args: &[&str]) -> Result<(), String> {
    Job::new("apt-get", args).env("DEBIAN_FRONTEND", "noninteractive").must().map(drop)
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

fn keep(wanted: &Path, stamp: &Path) -> Result<(), String> {
    fs::copy(wanted, stamp).map(drop).map_err(|e| format!("cannot write {}: {e}", stamp.display()))
}
