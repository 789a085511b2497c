//! How fast the service is: builds what is measured and what measures, and runs it.
//!
//! The benchmark itself is the package `touchline-bench`. Its data, and a durable PostgreSQL of our own
//! beside them, lie on the disk of the target folder unless `--folder` says otherwise.

use crate::install;
use crate::job::{Finished, Job};
use crate::postgres::Postgres;
use crate::suite::cargo;
use crate::workspace;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Measures the service; the arguments go to the benchmark.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (folder, args) = folder_in(args)?;
    let programs = install::from_debian(false)?;
    build()?;
    let built = workspace::built()?;
    let release = built.parent().unwrap_or(&built).join("release");
    let folder = folder.unwrap_or_else(|| release.join("bench"));
    fs::create_dir_all(&folder)
        .map_err(|e| format!("cannot make the folder {}: {e}", folder.display()))?;
    let postgres = Postgres::start_durable(&programs, &folder)?;
    let words = words(&args, &folder, &release, &postgres);
    let Finished { ok, .. } =
        Job::new(release.join("touchline-bench"), words).within(workspace::root()).run()?;
    if ok { Ok(()) } else { Err("the benchmark did not come to its end".into()) }
}

fn build() -> Result<(), String> {
    let packages = ["--package", "touchline", "--package", "touchline-bench"];
    let words = [&["build", "--release"], &packages[..]].concat();
    if cargo(&words).run()?.ok { Ok(()) } else { Err("the release does not build".into()) }
}

fn words(args: &[String], folder: &Path, release: &Path, postgres: &Postgres) -> Vec<OsString> {
    let command = format!("cargo xtask bench {}", args.join(" "));
    let mut words: Vec<OsString> = vec!["measure".into()];
    words.extend(args.iter().map(OsString::from));
    words.extend(["--folder".into(), folder.into()]);
    words.extend(["--service".into(), release.join("touchline").into()]);
    words.extend(["--postgres".into(), postgres.url().into()]);
    words.extend(["--command".into(), command.trim_end().into()]);
    words
}

/// Takes the folder out of the arguments, since PostgreSQL has to lie in it too.
fn folder_in(args: &[String]) -> Result<(Option<PathBuf>, Vec<String>), String> {
    let mut rest = args.to_vec();
    let Some(at) = rest.iter().position(|arg| arg == "--folder") else { return Ok((None, rest)) };
    if at + 1 == rest.len() {
        return Err("--folder needs a folder".into());
    }
    let folder: Vec<String> = rest.drain(at..=at + 1).collect();
    Ok((folder.last().map(PathBuf::from), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_taken_out() {
        let args = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let taken = folder_in(&args("--quick --folder /data --only reads")).unwrap();
        assert_eq!(taken, (Some("/data".into()), args("--quick --only reads")));
        assert_eq!(folder_in(&args("--quick")).unwrap(), (None, args("--quick")));
        assert!(folder_in(&args("--quick --folder")).is_err());
    }
}
