//! Builds and runs the benchmarks.
//!
//! The benchmarks are in the package `touchline-bench`. Their data, and a temporary durable PostgreSQL server,
//! are in the target folder unless `--folder` sets another.

use crate::install;
use crate::job::{Job, JobResult};
use crate::postgres::Postgres;
use crate::suite::cargo;
use crate::workspace;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs the benchmarks with these arguments.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (folder, args) = take_folder(args)?;
    let programs = install::from_debian(false)?;
    build()?;
    let built = workspace::target_folder()?;
    let programs_folder = built.parent().unwrap_or(&built).join("dist");
    let folder = folder.unwrap_or_else(|| programs_folder.join("bench"));
    fs::create_dir_all(&folder)
        .map_err(|e| format!("cannot create the folder {}: {e}", folder.display()))?;
    let postgres = Postgres::start_durable(&programs, &folder)?;
    let args = bench_arguments(&args, &folder, &programs_folder, &postgres);
    let JobResult { ok, .. } = Job::new(programs_folder.join("touchline-bench"), args)
        .current_dir(workspace::root())
        .run()?;
    if ok { Ok(()) } else { Err("the benchmark failed".into()) }
}

fn build() -> Result<(), String> {
    let packages = ["--package", "touchline", "--package", "touchline-bench"];
    let args = [&["build", "--profile", "dist"], &packages[..]].concat();
    if cargo(&args).run()?.ok { Ok(()) } else { Err("the build failed".into()) }
}

fn bench_arguments(
    args: &[String],
    folder: &Path,
    programs: &Path,
    postgres: &Postgres,
) -> Vec<OsString> {
    let command = format!("cargo xtask bench {}", args.join(" "));
    let mut bench_args: Vec<OsString> = vec!["measure".into()];
    bench_args.extend(args.iter().map(OsString::from));
    bench_args.extend(["--folder".into(), folder.into()]);
    bench_args.extend(["--service".into(), programs.join("touchline").into()]);
    bench_args.extend(["--postgres".into(), postgres.url().into()]);
    bench_args.extend(["--command".into(), command.trim_end().into()]);
    bench_args
}

/// Removes `--folder` from the arguments: PostgreSQL's data goes there too.
fn take_folder(args: &[String]) -> Result<(Option<PathBuf>, Vec<String>), String> {
    let mut rest = args.to_vec();
    let Some(at) = rest.iter().position(|arg| arg == "--folder") else { return Ok((None, rest)) };
    if at + 1 == rest.len() {
        return Err("--folder needs a value".into());
    }
    let folder: Vec<String> = rest.drain(at..=at + 1).collect();
    Ok((folder.last().map(PathBuf::from), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_removed_from_the_arguments() {
        let args = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let taken = take_folder(&args("--quick --folder /data --only reads")).unwrap();
        assert_eq!(taken, (Some("/data".into()), args("--quick --only reads")));
        assert_eq!(take_folder(&args("--quick")).unwrap(), (None, args("--quick")));
        assert!(take_folder(&args("--quick --folder")).is_err());
    }
}
