//! Tests of the Debian package: installation, upgrade, removal and purge keep the data.

use super::machine::{Machine, Network};
use crate::dist::{DATA_FOLDER, Release, debian};
use crate::job::Job;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SETTINGS: &str = "/etc/touchline/touchline.toml";
const TEAMS: &str = "http://127.0.0.1:8080/api/public/v1/teams";
/// A change that an upgrade must keep.
const CHANGED_SETTING: &str = "log = \"warn\"\n";
const DATABASE: &str = "/var/lib/touchline/touchline.db";
/// A database with the schema of an earlier version, as SQL of SQLite.
const OLDER_DATA: &str = include_str!("older_data.sql");
/// The club in it.
const OLDER_ACCOUNT: &str = "acc_01kdvdmq00e008000000000001";

/// A club that was created with the packaged program.
pub(super) struct Club {
    pub(super) account: String,
    /// The header with its API key.
    pub(super) authorization: String,
}

/// Installs the package, creates data, upgrades with the data of an earlier version, removes and purges the package. The
/// data is always kept.
pub(super) fn check(release: &Release, machine: &Machine) -> Result<String, String> {
    install(release, machine, &release.version)?;
    check_permissions(machine)?;
    let service = machine.start_service()?;
    expect_status(machine, 200, &["http://127.0.0.1:8080/healthz"])?;
    let club = create_club(machine)?;
    let team = ["--json", r#"{"name":"Harbour Hawks U12","sport":"soccer"}"#];
    let created = [&team[..], &["--header", &club.authorization, TEAMS]].concat();
    expect_status(machine, 201, &created)?;
    check_backup(machine)?;
    drop(service);
    let newer = format!("{}+upgrade", release.version);
    let club = check_upgrade(release, machine, &newer)?;

    machine.run(Network::Own, &["dpkg", "--remove", "touchline"])?;
    expect_files(machine, &[DATABASE, SETTINGS], &["/usr/bin/touchline"])?;
    let lines = machine.run(Network::Own, &["dpkg", "--purge", "touchline"])?;
    expect_files(machine, &[DATABASE], &[SETTINGS])?;
    if !lines.iter().any(|line| line.contains(DATA_FOLDER)) {
        return Err("purging the package did not say where the data still is".into());
    }

    install(release, machine, &newer)?;
    check_data(machine, &club)?;
    Ok("installed, upgraded with older data, removed, purged and installed again, with the same data".into())
}

/// Upgrades to a newer package with changed settings and the data of an earlier version, which the service migrates.
/// Returns the club of that data.
fn check_upgrade(release: &Release, machine: &Machine, newer: &str) -> Result<Club, String> {
    append(&machine.path(SETTINGS), CHANGED_SETTING)?;
    restore_older_data(machine)?;
    install(release, machine, newer)?;
    let installed = machine.run(Network::Own, &["dpkg-query", "--show", "touchline"])?.join("");
    if !installed.ends_with(newer) || !read(machine, SETTINGS)?.ends_with(CHANGED_SETTING) {
        return Err(format!("the upgrade to {newer} lost a setting or left {installed}"));
    }
    let service = machine.start_service()?;
    let authorization = create_key(machine, OLDER_ACCOUNT, &[])?;
    drop(service);
    let club = Club { account: OLDER_ACCOUNT.to_owned(), authorization };
    check_data(machine, &club)?;
    Ok(club)
}

/// Replaces the database by one of an earlier version.
fn restore_older_data(machine: &Machine) -> Result<(), String> {
    for suffix in ["", "-wal", "-shm"] {
        let path = machine.path(&format!("{DATABASE}{suffix}"));
        if path.exists() {
            fs::remove_file(&path).map_err(|e| format!("cannot delete {}: {e}", path.display()))?;
        }
    }
    let (dump, database) = (machine.path("/tmp/older_data.sql"), machine.path(DATABASE));
    fs::write(&dump, OLDER_DATA).map_err(|e| format!("cannot write {}: {e}", dump.display()))?;
    let read = format!(".read '{}'", dump.display());
    Job::new("sqlite3", [database.as_os_str(), read.as_ref()]).run_checked()?;
    machine.run(Network::Own, &["chown", "touchline:touchline", DATABASE])?;
    machine.run(Network::Own, &["chmod", "0600", DATABASE]).map(drop)
}

/// The unit is valid and enabled. Systemd itself cannot run here.
pub(super) fn check_unit(release: &Release, machine: &Machine) -> Result<String, String> {
    install(release, machine, &release.version)?;
    install_from_debian(machine, "systemd")?;
    machine.run(Network::Own, &["systemctl", "is-enabled", "touchline.service"])?;
    let verify = ["systemd-analyze", "verify", "--man=no", "touchline.service"];
    let problems = machine.run(Network::Own, &verify)?;
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let unit = "/usr/lib/systemd/system/touchline.service";
    let lines = machine.run(
        Network::Own,
        &["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
    )?;
    let exposure = lines.iter().find_map(|line| line.split_once("Overall exposure level for "));
    exposure.map(|(_, text)| text.to_owned()).ok_or_else(|| lines.join("\n"))
}

/// Installs the package with this version, which is built for the test unless it is the release.
pub(super) fn install(release: &Release, machine: &Machine, version: &str) -> Result<(), String> {
    let name = release.debian_name(version)?;
    let path = machine.path("/tmp");
    if version == release.version {
        fs::copy(release.packages.join(&name), path.join(&name)).map_err(|e| e.to_string())?;
    } else {
        debian::write(release, version, &path, "none")?;
    }
    let package = format!("/tmp/{name}");
    machine.run(Network::Own, &["dpkg", "--install", "--force-downgrade", &package]).map(drop)
}

/// Installs a package from Debian, without the packages it only recommends.
pub(super) fn install_from_debian(machine: &Machine, package: &str) -> Result<(), String> {
    machine.run(Network::Host, &["apt-get", "update", "--quiet"])?;
    let install = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", package];
    machine.run(Network::Host, &install).map(drop)
}

/// Creates a club and an API key with the commands of the guide.
pub(super) fn create_club(machine: &Machine) -> Result<Club, String> {
    let create = ["touchline", "account", "create", "--json", "--name", "Harbour FC"];
    let output = run_json(machine, &[&create[..], &["--tier", "league"]].concat())?;
    let account = text(&output, "/account/id")?;
    let authorization = create_key(machine, &account, &[])?;
    Ok(Club { account, authorization })
}

/// Creates an API key. Returns the header with it.
pub(super) fn create_key(
    machine: &Machine,
    account: &str,
    options: &[&str],
) -> Result<String, String> {
    let scopes = "teams:read,teams:write,events:write";
    let create = ["touchline", "key", "create", "--json", "--account", account, "--name", "Check"];
    let output = run_json(machine, &[&create[..], &["--scopes", scopes], options].concat())?;
    Ok(format!("Authorization: Bearer {}", text(&output, "/key/value")?))
}

/// Fails unless the response has this status. Returns the body.
pub(super) fn expect_status(
    machine: &Machine,
    expected: u16,
    args: &[&str],
) -> Result<String, String> {
    match machine.curl(args)? {
        (status, body) if status == expected => Ok(body),
        (status, body) => Err(format!("{} responded with {status}: {body}", args.join(" "))),
    }
}

/// Appends a line to a file of the Debian.
pub(super) fn append(path: &Path, line: &str) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    fs::write(path, text + line).map_err(|e| format!("{}: {e}", path.display()))
}

/// A text in a JSON document.
pub(super) fn text(json: &Value, pointer: &str) -> Result<String, String> {
    let text = json.pointer(pointer).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("no {pointer} in {json}"))
}

/// The settings can be read by the service only, and the data by nobody else.
fn check_permissions(machine: &Machine) -> Result<(), String> {
    let stat = ["stat", "--format=%U %G %a %n", SETTINGS, DATA_FOLDER];
    let found = machine.run(Network::Own, &stat)?;
    let expected = [
        format!("root touchline 640 {SETTINGS}"),
        format!("touchline touchline 700 {DATA_FOLDER}"),
    ];
    if found == expected { Ok(()) } else { Err(format!("wrong permissions: {found:?}")) }
}

/// The commands of the guide for a backup work while the service runs.
fn check_backup(machine: &Machine) -> Result<(), String> {
    let created = run_json(machine, &["touchline", "backup", "create", "--json"])?;
    let file = text(&created, "/backup/file")?;
    machine.run_as_service(&["touchline", "backup", "verify", &file]).map(drop)
}

/// Starts the service and finds the team that was created earlier.
fn check_data(machine: &Machine, club: &Club) -> Result<(), String> {
    let _service = machine.start_service()?;
    let teams = expect_status(machine, 200, &["--header", &club.authorization, TEAMS])?;
    if teams.contains("Harbour Hawks U12") {
        Ok(())
    } else {
        Err(format!("the team is not in the data any more: {teams}"))
    }
}

fn run_json(machine: &Machine, command: &[&str]) -> Result<Value, String> {
    let lines = machine.run_as_service(command)?;
    serde_json::from_str(&lines.join("\n"))
        .map_err(|e| format!("{} did not print JSON: {e}: {lines:?}", command.join(" ")))
}

fn read(machine: &Machine, path: &str) -> Result<String, String> {
    fs::read_to_string(machine.path(path)).map_err(|e| format!("cannot read {path}: {e}"))
}

fn expect_files(machine: &Machine, present: &[&str], absent: &[&str]) -> Result<(), String> {
    let exists = |path: &&&str| machine.path(path).exists();
    if let Some(path) = present.iter().find(|path| !exists(path)) {
        return Err(format!("{path} was deleted"));
    }
    absent.iter().find(exists).map_or(Ok(()), |path| Err(format!("{path} still exists")))
}
