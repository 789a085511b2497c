//! A new Debian in a temporary folder, with a network of its own.
//!
//! The network has only a loopback interface, so the ports of the guide are free. The file system `/proc` is mounted in
//! a mount namespace of its own, so no mount remains when the processes have ended.

use super::process::Process;
use crate::guard::Guard;
use crate::job::{self, Job};
use crate::scratch;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The version of Debian, and the smallest set of packages.
const DEBOOTSTRAP: [&str; 3] = ["debootstrap", "--variant=minbase", "bookworm"];
const DEBOOTSTRAP_LIMIT: Duration = Duration::from_mins(20);
const COMMAND_LIMIT: Duration = Duration::from_mins(10);

/// Keeps the namespaces open.
const KEEPER: &str =
    "mount -t proc proc \"$1/proc\" && ip link set lo up && echo ready && exec sleep infinity";
/// Ends the keeper and removes the folder. Processes in the folder have guards of their own and may end later.
const CLEANUP: &str = "kill -9 \"$1\"; for attempt in 1 2 3 4 5 6; do rm -rf --one-file-system -- \"$2\" && break; sleep 1; done";

/// The environment of all commands in the machine.
const ENVIRONMENT: [&str; 5] = [
    "/usr/bin/env",
    "-i",
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL=C.UTF-8",
    "DEBIAN_FRONTEND=noninteractive",
];
/// Runs a command as the user of the service, without any privileges.
const AS_SERVICE: [&str; 6] = [
    "setpriv",
    "--reuid=touchline",
    "--regid=touchline",
    "--init-groups",
    "--no-new-privs",
    "--bounding-set=-all",
];

/// A new Debian. Dropping it removes it.
pub(super) struct Machine {
    keeper: Child,
    folder: PathBuf,
    root: PathBuf,
    _guard: Guard,
}

/// Which network a command uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// The network of this machine, to install packages.
    Host,
    /// The loopback interface of the new Debian.
    Own,
}

impl Machine {
    /// Installs Debian.
    pub(super) fn create() -> Result<Self, String> {
        let base = std::env::temp_dir();
        // Not in memory: /dev/shm often forbids device files.
        let folder = scratch::folder_in(&base, "debian")
            .map_err(|e| format!("cannot create a folder in {}: {e}", base.display()))?;
        let root = folder.join("root");
        let removal = Guard::new(CLEANUP, &["".as_ref(), folder.as_os_str()])?;
        // In a mount namespace, so that the mounts of debootstrap vanish with it.
        let args = ["--mount"].into_iter().chain(DEBOOTSTRAP).map(OsString::from);
        let args = args.chain([root.clone().into_os_string()]);
        Job::new("unshare", args).time_limit(DEBOOTSTRAP_LIMIT).run_checked()?;
        configure(&root)?;
        let mut keeper = Command::new("unshare")
            .args(["--mount", "--net", "sh", "-c", KEEPER, "keeper"])
            .arg(&root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot run unshare: {e}"))?;
        let pid = OsString::from(keeper.id().to_string());
        let guard = Guard::new(CLEANUP, &[&pid, folder.as_os_str()])?;
        removal.dismiss();
        let ready = keeper.stdout.take().map(|output| BufReader::new(output).lines().next());
        if !matches!(ready, Some(Some(Ok(line))) if line == "ready") {
            return Err("cannot create a network and mounts for the new Debian".into());
        }
        Ok(Self { keeper, folder, root, _guard: guard })
    }

    /// A temporary folder outside of the Debian.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file of the Debian on this machine.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Runs a command as root. Returns its output.
    pub(super) fn run(&self, network: Network, command: &[&str]) -> Result<Vec<String>, String> {
        let words = self.enter(network, &self.root, &[&ENVIRONMENT[..], command].concat());
        Job::new("nsenter", words).time_limit(COMMAND_LIMIT).run_checked()
    }

    /// Runs a command as the guide says: as the user of the service, in the folder of the settings. Returns its output.
    pub(super) fn run_as_service(&self, command: &[&str]) -> Result<Vec<String>, String> {
        let guide = ["env", "--chdir=/etc/touchline", "runuser", "-u", "touchline", "--"];
        self.run(Network::Own, &[&guide[..], command].concat())
    }

    /// Starts a command as root.
    pub(super) fn start(&self, command: &[&str]) -> Result<Process, String> {
        let command = [&ENVIRONMENT[..], command].concat();
        Process::start(&self.enter(Network::Own, &self.root, &command), &self.folder)
    }

    /// Starts the service as systemd does: with the command, the user and the working directory of the unit.
    pub(super) fn start_service(&self) -> Result<Process, String> {
        let unit = self.path("/usr/lib/systemd/system/touchline.service");
        let unit = fs::read_to_string(&unit).map_err(|e| format!("cannot read the unit: {e}"))?;
        let value = |name: &str| {
            let line = unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.ok_or_else(|| format!("the unit has no {name}"))
        };
        let folder = format!("--chdir={}", value("WorkingDirectory")?);
        let program: Vec<_> = value("ExecStart")?.split_whitespace().collect();
        let mut process = self.start(&[&AS_SERVICE[..], &["env", &folder], &program].concat())?;
        process.wait_until("listening on")?;
        Ok(process)
    }

    /// Starts a command in another root folder, as another user, with these variables and without its own `/proc`.
    pub(super) fn start_in(
        &self,
        root: &Path,
        user: &str,
        variables: &[&str],
        command: &[&str],
    ) -> Result<Process, String> {
        let target = format!("--target={}", self.keeper.id());
        let mut words: Vec<_> = [target.as_str(), "--mount", "--net", "env", "-i"].into();
        words.extend(variables);
        let user = format!("--userspec={user}");
        words.extend(["/usr/sbin/chroot", &user]);
        let words = words.into_iter().map(OsString::from).chain([root.as_os_str().to_owned()]);
        let words: Vec<_> = words.chain(command.iter().map(OsString::from)).collect();
        Process::start(&words, &self.folder)
    }

    /// Requests a URL in the network of the Debian. Returns the status and the body.
    pub(super) fn curl(&self, args: &[&str]) -> Result<(u16, String), String> {
        let target = format!("--target={}", self.keeper.id());
        let options = ["curl", "--disable", "--silent", "--show-error", "--max-time", "30"];
        let status = ["--write-out", "\n%{http_code}"];
        let words = [&[target.as_str(), "--net"], &options[..], &status, args].concat();
        let lines = Job::new("nsenter", words).run_checked()?;
        let (status, body) = lines.split_last().ok_or("curl printed nothing")?;
        let status = status.parse().map_err(|_| format!("curl printed no status: {status}"))?;
        Ok((status, body.join("\n")))
    }

    /// The arguments of `nsenter` that run a command in this root folder.
    fn enter(&self, network: Network, root: &Path, command: &[&str]) -> Vec<OsString> {
        let mut words = vec![format!("--target={}", self.keeper.id()).into(), "--mount".into()];
        if network == Network::Own {
            words.push("--net".into());
        }
        words.extend(["chroot".into(), root.as_os_str().to_owned()]);
        words.extend(command.iter().map(OsString::from));
        words
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        job::stop(&mut self.keeper);
    }
}

/// Lets the new Debian resolve names, and keeps its packages from starting services.
fn configure(root: &Path) -> Result<(), String> {
    let failed = |e| format!("cannot configure the new Debian: {e}");
    fs::copy("/etc/resolv.conf", root.join("etc/resolv.conf")).map_err(failed)?;
    let policy = root.join("usr/sbin/policy-rc.d");
    crate::dist::archive::write(&policy, b"#!/bin/sh\nexit 101\n", 0o755)
}
