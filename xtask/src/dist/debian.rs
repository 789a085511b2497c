//! The Debian package, built with `dpkg-deb`.

use super::{Release, archive};
use crate::job::Job;
use crate::workspace;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Files that dpkg does not overwrite if they were changed.
const CONFFILES: &str = "/etc/touchline/touchline.toml\n";
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

impl Release {
    /// Debian's name for the processor.
    fn debian_architecture(&self) -> Result<&'static str, String> {
        match self.processor {
            "x86_64" => Ok("amd64"),
            "aarch64" => Ok("arm64"),
            other => Err(format!("no Debian architecture is known for {other}")),
        }
    }

    /// The name of the package file with this version.
    pub(super) fn debian_name(&self, version: &str) -> Result<String, String> {
        Ok(format!("touchline_{version}_{}.deb", self.debian_architecture()?))
    }
}

/// Writes the package with this version into `folder`. `compression` is one of `dpkg-deb`.
pub(super) fn write(
    release: &Release,
    version: &str,
    folder: &Path,
    compression: &str,
) -> Result<PathBuf, String> {
    let content = release.staging.join(format!("debian-{version}"));
    write_content(release, &content)?;
    let size = installed_kib(&content)?;
    write_control(release, version, &size, &content.join("DEBIAN"))?;
    let package = folder.join(release.debian_name(version)?);
    let compression = format!("-Z{compression}");
    let args: [&OsStr; 5] = [
        "--root-owner-group".as_ref(),
        compression.as_ref(),
        "--build".as_ref(),
        content.as_os_str(),
        package.as_os_str(),
    ];
    Job::new("dpkg-deb", args).env("SOURCE_DATE_EPOCH", &release.time).run_checked()?;
    Ok(package)
}

/// Writes the files that the package installs.
fn write_content(release: &Release, content: &Path) -> Result<(), String> {
    archive::copy(&release.program, &content.join("usr/bin/touchline"), 0o755)?;
    let unit = content.join("usr/lib/systemd/system/touchline.service");
    let values = [("PROGRAM", "/usr/bin/touchline")];
    Release::write_template("touchline.service", &values, &unit, 0o644)?;
    let settings = content.join("etc/touchline/touchline.toml");
    archive::write(&settings, release.settings.as_bytes(), 0o640)?;
    let docs = content.join("usr/share/doc/touchline");
    Release::write_template("debian/copyright", &[], &docs.join("copyright"), 0o644)?;
    let guide = workspace::root().join("docs/operations.md");
    archive::copy(&guide, &docs.join("operations.md"), 0o644)?;
    let sbom = release.packages.join(release.sbom_name());
    archive::copy(&sbom, &docs.join("touchline.cdx.json"), 0o644)
}

/// Writes the control file and the maintainer scripts.
fn write_control(
    release: &Release,
    version: &str,
    size: &str,
    folder: &Path,
) -> Result<(), String> {
    let values = [
        ("VERSION", version),
        ("ARCHITECTURE", release.debian_architecture()?),
        ("SIZE", size),
        ("DEPENDS", &release.linkage.debian_depends()?),
    ];
    Release::write_template("debian/control", &values, &folder.join("control"), 0o644)?;
    archive::write(&folder.join("conffiles"), CONFFILES.as_bytes(), 0o644)?;
    for script in SCRIPTS {
        let source = format!("debian/{script}");
        Release::write_template(&source, &[], &folder.join(script), 0o755)?;
    }
    Ok(())
}

/// The size of all files, in KiB.
fn installed_kib(content: &Path) -> Result<String, String> {
    let args = ["--summarize", "--apparent-size", "--block-size=1024"].map(OsStr::new);
    let lines = Job::new("du", args.into_iter().chain([content.as_os_str()])).run_checked()?;
    let size = lines.first().and_then(|line| line.split_whitespace().next());
    size.map(str::to_owned).ok_or_else(|| "`du` printed nothing".into())
}
