//! Paths of the repository and of Cargo's build output.

use std::path::{Path, PathBuf};

/// The root folder of the repository.
pub(crate) fn root() -> PathBuf {
    // Read at run time, not at compile time: two checkouts may share one target folder.
    std::env::var_os("CARGO_MANIFEST_DIR")
        .and_then(|xtask| Path::new(&xtask).parent().map(Path::to_path_buf))
        .unwrap_or_else(|| PathBuf::from("."))
}

/// The folder of the web checks.
pub(crate) fn web_tests_folder() -> PathBuf {
    root().join("tests/web")
}

/// The folder of this binary. The service's binary is beside it.
pub(crate) fn target_folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe()
        .map_err(|e| format!("cannot find the path of this program: {e}"))?;
    program
        .parent()
        .map(Path::to_path_buf)
        .ok_or_else(|| "the path of this program has no folder".into())
}

/// The service's binary.
pub(crate) fn service_binary() -> Result<PathBuf, String> {
    Ok(target_folder()?.join("touchline"))
}

/// The folder for tools that the checks install, inside the target folder.
pub(crate) fn tools_folder() -> Result<PathBuf, String> {
    Ok(target_folder()?.join("checks"))
}
