//! What must not outlive this program, whatever ends it.
//!
//! A guard is a small shell that waits for the end of its standard input. The kernel closes that
//! pipe when this program ends, by itself or by any signal, and then the shell cleans up. So one
//! way of cleaning serves a good end, a failure, a panic, Ctrl-C and even `kill -9`.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const WAIT: &str = "trap '' HUP INT TERM; read -r word; [ \"$word\" = dismissed ] && exit 0; ";

/// Cleans up when it is dropped or when this program is gone.
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// `cleaning` is shell text that sees `words` as `$1`, `$2` and so on.
    pub(crate) fn new(cleaning: &str, words: &[&OsStr]) -> Result<Self, String> {
        Command::new("sh")
            .arg("-c")
            .arg(format!("{WAIT}{cleaning}"))
            .arg("guard")
            .args(words)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C reaches a whole process group; the cleaning must survive it.
            .process_group(0)
            .spawn()
            .map(|shell| Self { shell })
            .map_err(|e| format!("cannot start a shell: {e}"))
    }

    /// Lets the guard go without cleaning.
    pub(crate) fn dismiss(mut self) {
        if let Some(pipe) = &mut self.shell.stdin {
            // A shell that is gone already has nothing left to be told.
            let _ = pipe.write_all(b"dismissed\n");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn a_dropped_guard_cleans() {
        let folder = scratch::folder("guard").unwrap();
        drop(Guard::new("rm -rf -- \"$1\"", &[folder.as_os_str()]).unwrap());
        assert!(!folder.exists());
    }

    #[test]
    fn a_dismissed_guard_does_not() {
        let folder = scratch::folder("guard").unwrap();
        Guard::new("rm -rf -- \"$1\"", &[folder.as_os_str()]).unwrap().dismiss();
        assert!(folder.exists());
        std::fs::remove_dir(folder).unwrap();
    }
}
