//! Where things lie: the repository and what Cargo built from it.

use std::path::{Path, PathBuf};

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    // Asked at run time, not baked in: two checkouts may share one target folder.
    std::env::var_os("CARGO_MANIFEST_DIR")
        .and_then(|xtask| Path::new(&xtask).parent().map(Path::to_path_buf))
        .unwrap_or_else(|| PathBuf::from("."))
}

/// The folder of the checks from outside.
pub(crate) fn web() -> PathBuf {
    root().join("tests/web")
}

/// The folder this program was built into; the service lies beside it.
pub(crate) fn built() -> Result<PathBuf, String> {
    let program =
        std::env::current_exe().map_err(|e| format!("cannot find this very program: {e}"))?;
    program.parent().map(Path::to_path_buf).ok_or_else(|| "this program lies nowhere".into())
}

/// The service as it was built last.
pub(crate) fn service() -> Result<PathBuf, String> {
    Ok(built()?.join("touchline"))
}

/// A folder for what is installed for the checks; it lives as long as the target folder.
pub(crate) fn installed() -> Result<PathBuf, String> {
    Ok(built()?.join("checks"))
}
