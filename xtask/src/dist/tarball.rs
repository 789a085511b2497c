//! The tarball for any Linux with a glibc that is new enough.

use super::{Release, archive};
use crate::workspace;

impl Release {
    /// The name of the tarball without its ending, and of the folder in it.
    pub(super) fn tarball_name(&self) -> String {
        format!("touchline-{}-{}-linux", self.version, self.processor)
    }
}

/// Writes the tarball: one folder with the program, the license, the guide, the unit and sample settings.
pub(super) fn write(release: &Release) -> Result<(), String> {
    let name = release.tarball_name();
    let folder = release.staging.join("tarball");
    let content = folder.join(&name);
    let root = workspace::root();
    archive::copy(&release.program, &content.join("touchline"), 0o755)?;
    archive::copy(&root.join("LICENSE"), &content.join("LICENSE"), 0o644)?;
    archive::copy(&root.join("README.md"), &content.join("README.md"), 0o644)?;
    let guide = root.join("docs/operations.md");
    archive::copy(&guide, &content.join("docs/operations.md"), 0o644)?;
    let sbom = release.packages.join(release.sbom_name());
    archive::copy(&sbom, &content.join("touchline.cdx.json"), 0o644)?;
    let settings = content.join("touchline.toml.example");
    archive::write(&settings, release.settings.as_bytes(), 0o644)?;
    let values = [("PROGRAM", "/usr/local/bin/touchline")];
    let unit = content.join("touchline.service");
    Release::write_template("touchline.service", &values, &unit, 0o644)?;
    let tar = release.packages.join(format!("{name}.tar"));
    archive::append(release, &tar, &folder, (&name, archive::ROOT))?;
    archive::compress(&tar)
}
