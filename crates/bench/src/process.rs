//! A server as a separate process that ends with the benchmark, and its memory usage.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::Result;

/// What a server prints on standard error when it is ready, followed by its address.
pub(crate) const LISTENING: &str = "listening on http://";
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running server. Dropping it kills it.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a server and waits until it listens. Its log is in `folder`.
    pub(crate) async fn start(mut command: Command, folder: &Path) -> Result<Self> {
        let log = folder.join("log");
        let failed = |error: std::io::Error| format!("cannot start a server: {error}");
        let file = File::create(&log).map_err(failed)?;
        let child = command.stderr(file).spawn().map_err(failed)?;
        let unknown = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut process = Self { child, log, address: unknown };
        process.address = process.wait_until_listening().await?;
        Ok(process)
    }

    async fn wait_until_listening(&mut self) -> Result<SocketAddr> {
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            if let Some(address) = parse_address(&self.log()) {
                return Ok(address);
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(format!("a server did not start:\n{}", self.log()))
    }

    /// The server's log so far.
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The current and the peak resident memory, in bytes.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        let file = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {file}: {error}"))?;
        let size =
            |name: &str| parse_kib(&status, name).ok_or_else(|| format!("{file} lacks {name}"));
        Ok((size("VmRSS:")? * 1024, size("VmHWM:")? * 1024))
    }

    /// Resets the peak of the resident memory. If the kernel does not allow that, the peak stays, so it is
    /// never too small.
    pub(crate) fn reset_peak_memory(&self) {
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the server has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse_address(log: &str) -> Option<SocketAddr> {
    // Before the newline, the address may be incomplete.
    let (_, rest) = log.split_once(LISTENING)?;
    rest.split_once('\n')?.0.trim().parse().ok()
}

/// Parses a size in a file of `/proc`, written as `Name:   123 kB`.
pub(crate) fn parse_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_parsed_from_a_complete_line() {
        assert_eq!(parse_address("listening on http://127.0.0.1:80"), None);
        let log = "one\nlistening on http://127.0.0.1:8080\nmore\n";
        assert_eq!(parse_address(log), Some(SocketAddr::from(([127, 0, 0, 1], 8080))));
    }

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(parse_kib("VmHWM:\t   12 kB\nVmRSS:\t    7 kB\n", "VmRSS:"), Some(7));
        assert_eq!(parse_kib("VmHWM:\t   12 kB\n", "VmRSS:"), None);
    }
}
