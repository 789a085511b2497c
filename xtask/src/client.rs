//! The TypeScript client in `clients/typescript`: its generated files, its build and its documentation.

use crate::job::Job;
use crate::{install, workspace};
use std::fs;
use std::path::{Path, PathBuf};

/// The generated files. They are checked in.
const GENERATED: [&str; 2] = ["types.gen.ts", "resources.ts"];

pub(crate) fn folder() -> PathBuf {
    workspace::root().join("clients/typescript")
}

/// Writes the generated files.
pub(crate) fn write() -> Result<(), String> {
    generate(&folder().join("src/generated"))?;
    println!("the TypeScript client is written");
    Ok(())
}

/// Compares the generated files with new ones.
pub(crate) fn check() -> Result<(), String> {
    let new = workspace::tools_folder()?.join("client");
    generate(&new)?;
    let old = folder().join("src/generated");
    let is_current = |name: &&str| {
        let read = |folder: &Path| fs::read(folder.join(name));
        matches!((read(&old), read(&new)), (Ok(old), Ok(new)) if old == new)
    };
    if GENERATED.iter().all(is_current) {
        println!("the TypeScript client is up to date");
        return Ok(());
    }
    Err("the TypeScript client is out of date: run `cargo xtask gen`".into())
}

fn generate(output: &Path) -> Result<(), String> {
    install::from_npm(&folder())?;
    let args = ["scripts/generate.mjs".as_ref(), output.as_os_str()];
    Job::new(install::node_22()?, args).current_dir(folder()).quiet().run_checked().map(drop)
}

/// Compiles the package into `dist`.
pub(crate) fn build() -> Result<(), String> {
    install::from_npm(&folder())?;
    let dist = folder().join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|e| format!("cannot remove {}: {e}", dist.display()))?;
    }
    let compiler = folder().join("node_modules/.bin/tsc");
    Job::new(compiler, ["-p", "tsconfig.json"]).current_dir(folder()).run_checked().map(drop)
}

/// Writes the documentation of the package into the target folder.
pub(crate) fn document() -> Result<(), String> {
    install::from_npm(&folder())?;
    let output = workspace::target_folder()?.join("client-docs");
    let args = ["--out".as_ref(), output.as_os_str()];
    let typedoc = folder().join("node_modules/.bin/typedoc");
    Job::new(typedoc, args).current_dir(folder()).run_checked()?;
    println!("the documentation of the TypeScript client: {}", output.join("index.html").display());
    Ok(())
}

/// The test files of the client, relative to the folder of the web checks.
pub(crate) fn test_files() -> Result<Vec<String>, String> {
    let folder = folder().join("test");
    let failed = |e| format!("cannot read {}: {e}", folder.display());
    let entries = fs::read_dir(&folder).map_err(failed)?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let tests = names.filter(|name| name.ends_with(".test.mjs"));
    let mut tests: Vec<_> =
        tests.map(|name| format!("../../clients/typescript/test/{name}")).collect();
    tests.sort();
    Ok(tests)
}
