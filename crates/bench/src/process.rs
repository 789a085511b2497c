//! A server as a process of its own, ended with the benchmark, and the memory it holds.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::Result;

/// What a server says on standard error once it answers, with its address behind.
pub(crate) const LISTENING: &str = "listening on http://";
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. Dropped, it is killed: nothing it holds is worth keeping.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a server and waits until it listens. Its log lies in `folder` while it runs.
    pub(crate) async fn start(mut command: Command, folder: &Path) -> Result<Self> {
        let log = folder.join("log");
        let told = |error: std::io::Error| format!("cannot start a server: {error}");
        let file = File::create(&log).map_err(told)?;
        let child = command.stderr(file).spawn().map_err(told)?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut process = Self { child, log, address: nowhere };
        process.address = process.listening().await?;
        Ok(process)
    }

    async fn listening(&mut self) -> Result<SocketAddr> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(address) = address_in(&self.log()) {
                return Ok(address);
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(format!("a server does not come up:\n{}", self.log()))
    }

    /// What the server has said so far.
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The resident size now and the largest so far, in bytes.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        let file = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {file}: {error}"))?;
        let size = |name: &str| kib_in(&status, name).ok_or_else(|| format!("{file} lacks {name}"));
        Ok((size("VmRSS:")? * 1024, size("VmHWM:")? * 1024))
    }

    /// Lets the largest size so far begin anew. Where the kernel does not allow that, it stays what it
    /// was, and is no smaller than it should be.
    pub(crate) fn forget_peak(&self) {
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Either may fail only because the server has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address_in(log: &str) -> Option<SocketAddr> {
    // Without its line's end the address may be half written.
    let (_, rest) = log.split_once(LISTENING)?;
    rest.split_once('\n')?.0.trim().parse().ok()
}

/// A size in one of the files that the kernel writes as `Name:   123 kB`.
pub(crate) fn kib_in(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_once_its_line_is_whole() {
        assert_eq!(address_in("listening on http://127.0.0.1:80"), None);
        let log = "one\nlistening on http://127.0.0.1:8080\nmore\n";
        assert_eq!(address_in(log), Some(SocketAddr::from(([127, 0, 0, 1], 8080))));
    }

    #[test]
    fn sizes_are_found() {
        assert_eq!(kib_in("VmHWM:\t   12 kB\nVmRSS:\t    7 kB\n", "VmRSS:"), Some(7));
        assert_eq!(kib_in("VmHWM:\t   12 kB\n", "VmRSS:"), None);
    }
}
