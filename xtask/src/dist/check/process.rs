//! A process that runs in the background until it is dropped.

use crate::guard::Guard;
use crate::{job, scratch};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START_TIMEOUT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A running process, which `nsenter` became. Dropping it stops it.
pub(super) struct Process {
    child: Child,
    log: PathBuf,
    _guard: Guard,
}

impl Process {
    /// Starts `nsenter` with these arguments. Its output is written to a file in `folder`.
    pub(super) fn start(args: &[OsString], folder: &Path) -> Result<Self, String> {
        let failed = |e| format!("cannot run nsenter: {e}");
        let log = scratch::folder_in(folder, "process").map_err(failed)?.join("log");
        let output = File::create(&log).map_err(failed)?;
        let mut command = Command::new("nsenter");
        // nsenter and its successors keep the environment, so the settings of our own must not be in it.
        job::env_remove_matching(&mut command, |name| name.starts_with("TOUCHLINE_"));
        let child = command
            .args(args)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output)
            .spawn()
            .map_err(failed)?;
        let pid = OsString::from(child.id().to_string());
        let guard = Guard::new("kill \"$1\" && sleep 2 && kill -9 \"$1\"", &[&pid])?;
        Ok(Self { child, log, _guard: guard })
    }

    /// Waits until the output contains a text.
    pub(super) fn wait_until(&mut self, text: &str) -> Result<(), String> {
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            // Asked first, because the process may print the text and end right away.
            let ended = matches!(self.child.try_wait(), Ok(Some(_)) | Err(_));
            if self.output().contains(text) {
                return Ok(());
            }
            if ended {
                return Err(format!("a process ended early:\n{}", self.output()));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(format!("a process did not start in time:\n{}", self.output()))
    }

    /// Everything it has printed.
    fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            job::stop(&mut self.child);
        }
    }
}
