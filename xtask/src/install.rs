//! Installs what the checks need and this machine lacks. Prints one line for each package.

use crate::job::Job;
use crate::{postgres, workspace};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const CHROMIUM: &str = "/usr/bin/chromium";
const NODE_22: &str = "node@22.23.3";
const CLUSTER_CONFIG: &str = "/etc/postgresql-common/createcluster.conf";

/// Installs PostgreSQL and, for the web checks, Chromium. Returns the folder of PostgreSQL's programs.
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
    postgres_programs()
        .ok_or_else(|| "PostgreSQL was installed, but its programs were not found".into())
}

/// Installs the Debian packages of those programs that are missing. Each has its path and its package.
pub(crate) fn programs(programs: &[(&str, &str)]) -> Result<(), String> {
    let missing = programs.iter().filter(|(program, _)| !Path::new(program).exists());
    let missing: Vec<_> = missing.map(|(_, package)| *package).collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

/// Installs the Node packages of a folder's lock file into its `node_modules`.
pub(crate) fn from_npm(folder: &Path) -> Result<(), String> {
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/.installed");
    if same_content(&lock, &stamp) {
        return Ok(());
    }
    let name = folder.strip_prefix(workspace::root()).unwrap_or(folder);
    println!("installing the packages of {} from npm ...", name.display());
    let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    Job::new("npm", args).current_dir(folder).run_checked()?;
    write_stamp(&lock, &stamp)
}

/// Node 22, which the generator of the TypeScript client needs. Installed from npm if Node is older.
pub(crate) fn node_22() -> Result<PathBuf, String> {
    let version = Job::new("node", ["--version"]).quiet().run_checked()?;
    if version.first().is_some_and(|version| is_new_enough(version)) {
        return Ok("node".into());
    }
    npm_program(NODE_22)
}

/// A program that npm provides as a package: `deno@2.9.6`. It is installed on first use.
pub(crate) fn npm_program(package: &str) -> Result<PathBuf, String> {
    let name = package.split('@').next().unwrap_or(package);
    let folder = workspace::tools_folder()?.join(package);
    let program = folder.join("node_modules/.bin").join(name);
    if !program.exists() {
        println!("installing {package} from npm ...");
        // The install scripts of these packages put the program for this machine in its place.
        let args = ["install", "--no-audit", "--no-fund", "--loglevel=error"];
        let args = args.iter().chain(&["--ignore-scripts=false"]).map(std::ffi::OsStr::new);
        let args = args.chain(["--prefix".as_ref(), folder.as_os_str(), package.as_ref()]);
        Job::new("npm", args).run_checked()?;
    }
    Ok(program)
}

/// Whether this is version 22.18 or later: `v22.23.3`.
fn is_new_enough(version: &str) -> bool {
    let mut numbers =
        version.trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (22, 18)
}

/// Installs the Python packages into a virtual environment. Returns its `bin` folder.
pub(crate) fn from_pypi() -> Result<PathBuf, String> {
    let pins = workspace::web_tests_folder().join("requirements.txt");
    let folder = workspace::tools_folder()?.join("python");
    let programs = folder.join("bin");
    let stamp = folder.join("installed");
    // The environment links to the Python that created it, which may have been removed.
    if same_content(&pins, &stamp) && programs.join("python").exists() {
        return Ok(programs);
    }
    println!("installing the packages of the tests from PyPI ...");
    Job::new("python3", ["-m".as_ref(), "venv".as_ref(), "--clear".as_ref(), folder.as_os_str()])
        .run_checked()?;
    let args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    let args = args.iter().map(std::ffi::OsStr::new).chain([pins.as_os_str()]);
    Job::new(programs.join("python"), args).run_checked()?;
    write_stamp(&pins, &stamp)?;
    Ok(programs)
}

/// The programs of the newest PostgreSQL. Debian can have several versions installed.
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
        return Err(format!("missing packages, which only root can install: {packages}"));
    }
    for package in packages {
        println!("installing {package} from Debian ...");
    }
    let only_ours = packages.contains(&"postgresql") && !Path::new(CLUSTER_CONFIG).exists();
    if only_ours {
        prevent_main_cluster()?;
    }
    apt(&["update", "--quiet"])?;
    let mut args = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    args.extend(packages);
    apt(&args)?;
    if only_ours {
        Job::new("pg_conftool", [CLUSTER_CONFIG, "remove", "create_main_cluster"]).run_checked()?;
    }
    Ok(())
}

/// Keeps Debian's package from creating and starting a server for the whole machine.
fn prevent_main_cluster() -> Result<(), String> {
    let failed = |e| format!("cannot write {CLUSTER_CONFIG}: {e}");
    fs::create_dir_all("/etc/postgresql-common").map_err(failed)?;
    fs::write(CLUSTER_CONFIG, "create_main_cluster = false\n").map_err(failed)
}

fn apt(args: &[&str]) -> Result<(), String> {
    Job::new("apt-get", args).env("DEBIAN_FRONTEND", "noninteractive").run_checked().map(drop)
}

fn same_content(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

fn write_stamp(file: &Path, stamp: &Path) -> Result<(), String> {
    fs::copy(file, stamp).map(drop).map_err(|e| format!("cannot write {}: {e}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_versions_of_node() {
        assert!(is_new_enough("v22.18.0") && is_new_enough("v24.1.0"));
        assert!(!is_new_enough("v22.9.0") && !is_new_enough("v20.19.0") && !is_new_enough(""));
    }
}
