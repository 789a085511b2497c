//! `openapi.json`: written by the service itself, checked in, never edited.

use crate::job::Job;
use crate::{server, workspace};
use std::path::Path;
use std::process::Stdio;

const FILE: &str = "openapi.json";

pub(crate) fn write() -> Result<(), String> {
    let new = text(&built()?)?;
    let path = workspace::root().join(FILE);
    if std::fs::read(&path).is_ok_and(|old| old == new) {
        println!("{FILE} is up to date");
        return Ok(());
    }
    std::fs::write(&path, new).map_err(|e| format!("cannot write {FILE}: {e}"))?;
    println!("{FILE} written");
    Ok(())
}

pub(crate) fn check() -> Result<(), String> {
    check_with(&built()?)
}

/// Compares with what a service that is built already says.
pub(crate) fn check_with(service: &Path) -> Result<(), String> {
    let old = std::fs::read(workspace::root().join(FILE)).unwrap_or_default();
    if old == text(service)? {
        println!("{FILE} is up to date");
        return Ok(());
    }
    Err(format!("{FILE} is out of date: run `cargo xtask gen`"))
}

fn built() -> Result<std::path::PathBuf, String> {
    Job::new("cargo", ["build", "--package", "touchline"]).within(workspace::root()).must()?;
    workspace::service()
}

fn text(service: &Path) -> Result<Vec<u8>, String> {
    let told = server::command(service)
        .arg("openapi")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run {}: {e}", service.display()))?;
    // An empty document would pass for a valid one in a comparison of two failures.
    if !told.status.success() || told.stdout.is_empty() {
        return Err("`touchline openapi` failed".into());
    }
    Ok(told.stdout)
}
