//! Files and reproducible archives.

use super::Release;
use crate::job::Job;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The owner of the files in an archive.
pub(super) const ROOT: u32 = 0;

/// Writes a file with this mode, and creates its folder.
pub(super) fn write(path: &Path, content: &[u8], mode: u32) -> Result<(), String> {
    let failed = |e| format!("cannot write {}: {e}", path.display());
    create_parent(path)?;
    fs::write(path, content).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Copies the content of a file, not a link, with this mode, and creates its folder.
pub(super) fn copy(source: &Path, path: &Path, mode: u32) -> Result<(), String> {
    let failed = |e| format!("cannot copy {} to {}: {e}", source.display(), path.display());
    create_parent(path)?;
    fs::copy(source, path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Creates a folder with this mode.
pub(super) fn create_folder(path: &Path, mode: u32) -> Result<(), String> {
    let failed = |e| format!("cannot create {}: {e}", path.display());
    fs::create_dir_all(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Creates the folder of a file. Everybody can enter it, whatever the umask is.
fn create_parent(path: &Path) -> Result<(), String> {
    match path.parent() {
        Some(folder) if !folder.is_dir() => {
            create_parent(folder)?;
            create_folder(folder, 0o755)
        }
        _ => Ok(()),
    }
}

/// Adds a path below `folder` to a tar archive. All its files belong to `owner`.
pub(super) fn append(
    release: &Release,
    tar: &Path,
    folder: &Path,
    (path, owner): (&str, u32),
) -> Result<(), String> {
    let mode = if tar.exists() { "--append" } else { "--create" };
    let args = [
        mode.to_owned(),
        "--format=gnu".to_owned(),
        "--sort=name".to_owned(),
        format!("--mtime=@{}", release.time),
        format!("--owner={owner}"),
        format!("--group={owner}"),
        "--numeric-owner".to_owned(),
        format!("--file={}", tar.display()),
        format!("--directory={}", folder.display()),
        "--".to_owned(),
        path.to_owned(),
    ];
    Job::new("tar", args).run_checked().map(drop)
}

/// Compresses a tar archive. Its name gets `.gz` appended.
pub(super) fn compress(tar: &Path) -> Result<(), String> {
    Job::new("gzip", ["--no-name".as_ref(), "--force".as_ref(), tar.as_os_str()])
        .run_checked()
        .map(drop)
}
