//! Folders for the time of one run, in memory where there is room.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Containers often give `/dev/shm` no more than 64 MiB, which the tests would fill.
const ROOM_KIB: u64 = 4 * 1024 * 1024;

/// Makes a new, empty folder. Its maker removes it.
pub(crate) fn folder(purpose: &str) -> Result<PathBuf, String> {
    let memory = Path::new("/dev/shm");
    if free_kib(memory) >= ROOM_KIB
        && let Ok(folder) = folder_in(memory, purpose)
    {
        return Ok(folder);
    }
    let base = std::env::temp_dir();
    folder_in(&base, purpose)
        .map_err(|e| format!("cannot make a folder in {}: {e}", base.display()))
}

/// The same in a folder of the caller's choice.
pub(crate) fn folder_in(base: &Path, purpose: &str) -> io::Result<PathBuf> {
    let mut number = std::process::id();
    loop {
        let folder = base.join(format!("touchline-{purpose}-{number}"));
        match std::fs::create_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| folder),
        }
    }
}

fn free_kib(folder: &Path) -> u64 {
    let told = Command::new("df").args(["-k", "--output=avail"]).arg(folder).output();
    let Ok(told) = told else { return 0 };
    let text = String::from_utf8_lossy(&told.stdout);
    text.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}
