//! The root file system of the container image: the program, its shared libraries, and the few files they read.

use super::{DATA_FOLDER, Release, archive, linkage};
use crate::workspace;
use std::path::{Path, PathBuf};

/// The user of the service, also in the Containerfile. Not in the range of system users of common distributions.
const USER: u32 = 10001;
const PASSWD: &str = "root:x:0:0:root:/:/sbin/nologin\n\
    touchline:x:10001:10001::/var/lib/touchline:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\ntouchline:x:10001:\n";
/// The container engine provides `/etc/hosts` and `/etc/resolv.conf`.
const NSSWITCH: &str = "passwd: files\ngroup: files\nhosts: files dns\n";
/// The licenses of the shared libraries must accompany them.
const LIBRARY_LICENSES: [&str; 2] =
    ["/usr/share/doc/libc6/copyright", "/usr/share/doc/libgcc-s1/copyright"];

/// The file name of the instructions for the image.
pub(super) const CONTAINERFILE: &str = "Containerfile";

impl Release {
    /// The file name of the root file system, without `.gz`.
    fn root_tar(&self) -> String {
        format!("touchline-{}-{}-container-root.tar", self.version, self.processor)
    }

    /// The path of the root file system.
    pub(super) fn root_archive(&self) -> PathBuf {
        self.packages.join(format!("{}.gz", self.root_tar()))
    }
}

/// Writes the root file system and the Containerfile.
pub(super) fn write(release: &Release) -> Result<(), String> {
    let root = release.staging.join("container");
    write_root(release, &root)?;
    let tar = release.packages.join(release.root_tar());
    for folder in ["etc", "lib", "lib64", "tmp", "usr"] {
        if root.join(folder).exists() {
            archive::append(release, &tar, &root, (folder, archive::ROOT))?;
        }
    }
    // An engine that creates a volume copies the owner of the folder.
    archive::append(release, &tar, &root, (DATA_FOLDER.trim_start_matches('/'), USER))?;
    archive::compress(&tar)?;
    let values = [("ROOT_ARCHIVE", format!("{}.gz", release.root_tar()))];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    Release::write_template(CONTAINERFILE, &values, &release.packages.join(CONTAINERFILE), 0o644)
}

fn write_root(release: &Release, root: &Path) -> Result<(), String> {
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    archive::copy(&release.program, &root.join("usr/bin/touchline"), 0o755)?;
    for library in linkage::library_paths(&release.program)? {
        archive::copy(&library, &inside(&library), 0o755)?;
    }
    for license in LIBRARY_LICENSES.map(Path::new) {
        archive::copy(license, &inside(license), 0o644)?;
    }
    let docs = root.join("usr/share/doc/touchline");
    archive::copy(&workspace::root().join("LICENSE"), &docs.join("LICENSE"), 0o644)?;
    let sbom = release.packages.join(release.sbom_name());
    archive::copy(&sbom, &docs.join("touchline.cdx.json"), 0o644)?;
    archive::write(&root.join("etc/passwd"), PASSWD.as_bytes(), 0o644)?;
    archive::write(&root.join("etc/group"), GROUP.as_bytes(), 0o644)?;
    archive::write(&root.join("etc/nsswitch.conf"), NSSWITCH.as_bytes(), 0o644)?;
    // `backup verify` and SQLite create temporary files.
    archive::create_folder(&root.join("tmp"), 0o1777)?;
    archive::create_folder(&inside(Path::new(DATA_FOLDER)), 0o700)
}
