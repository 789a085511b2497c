//! Temporary folders, in memory if there is enough space.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The free space that `/dev/shm` needs. Containers often limit it to 64 MiB, too little for the tests.
const ROOM_KIB: u64 = 4 * 1024 * 1024;

/// Creates a new, empty folder. The caller removes it.
pub(crate) fn folder(purpose: &str) -> Result<PathBuf, String> {
    let memory = Path::new("/dev/shm");
    if free_kib(memory) >= ROOM_KIB
        && let Ok(folder) = folder_in(memory, purpose)
    {
        return Ok(folder);
    }
    let base = std::env::temp_dir();
    folder_in(&base, purpose)
        .map_err(|e| format!("cannot create a folder in {}: {e}", base.display()))
}

/// Creates a new, empty folder in `base`.
pub(crate) fn folder_in(base: &Path, purpose: &str) -> io::Result<PathBuf> {
    let mut number = std::process::id();
    loop {
        let folder = base.join(format!("touchline-{purpose}-{number}"));
        match std::fs::create_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
            result => return result.map(|()| folder),
        }
    }
}

fn free_kib(folder: &Path) -> u64 {
    let output = Command::new("df").args(["-k", "--output=avail"]).arg(folder).output();
    let Ok(output) = output else { return 0 };
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}
