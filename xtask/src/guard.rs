//! Cleanup that runs however this program ends.
//!
//! A guard is a shell that waits for the end of its standard input. The kernel closes that pipe when
//! this program ends, and then the shell cleans up. This works for a normal exit, an error, a panic,
//! Ctrl-C and even `kill -9`.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const WAIT: &str = "trap '' HUP INT TERM; read -r word; [ \"$word\" = dismissed ] && exit 0; ";

/// Cleans up when it is dropped or when this program ends.
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// `cleanup` is a shell script that gets `args` as `$1`, `$2` and so on.
    pub(crate) fn new(cleanup: &str, args: &[&OsStr]) -> Result<Self, String> {
        Command::new("sh")
            .arg("-c")
            .arg(format!("{WAIT}{cleanup}"))
            .arg("guard")
            .args(args)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C reaches the whole process group; the cleanup must survive it.
            .process_group(0)
            .spawn()
            .map(|shell| Self { shell })
            .map_err(|e| format!("cannot start a shell: {e}"))
    }

    /// Ends the guard without cleaning up.
    pub(crate) fn dismiss(mut self) {
        if let Some(pipe) = &mut self.shell.stdin {
            // The shell may have exited already.
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
    fn dropped_guard_cleans_up() {
        let folder = scratch::folder("guard").unwrap();
        drop(Guard::new("rm -rf -- \"$1\"", &[folder.as_os_str()]).unwrap());
        assert!(!folder.exists());
    }

    #[test]
    fn dismissed_guard_does_not_clean_up() {
        let folder = scratch::folder("guard").unwrap();
        Guard::new("rm -rf -- \"$1\"", &[folder.as_os_str()]).unwrap().dismiss();
        assert!(folder.exists());
        std::fs::remove_dir(folder).unwrap();
    }
}
