//! The packages of a release: a tarball, a Debian package, the root file system of a container image, the list of
//! contained packages (SBOM) and the checksums.
//!
//! The same sources give the same archives: names are sorted, and all times are the time of the last commit.

mod archive;
mod check;
mod container;
mod debian;
mod linkage;
mod sbom;
mod tarball;

use crate::guard::Guard;
use crate::job::Job;
use crate::{scratch, server, suite, workspace};
use linkage::Linkage;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the packages store data. The unit and the Containerfile name the same folder.
const DATA_FOLDER: &str = "/var/lib/touchline";
/// The line of the sample settings that chooses the data folder.
const DATA_SETTING: &str = "#data = \"./touchline-data\"";
const CHECKSUMS: &str = "SHA256SUMS";

/// The arguments of `cargo xtask dist`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// A program to package instead of building one.
    binary: Option<PathBuf>,
    /// Whether to test the packages.
    check: bool,
}

/// What all packages are made from.
struct Release {
    version: String,
    /// The processor, as Rust names it: `x86_64`.
    processor: &'static str,
    program: PathBuf,
    linkage: Linkage,
    /// The sample settings, with the data folder of the packages.
    settings: String,
    /// The time of all files, in seconds since 1970.
    time: String,
    /// Where the packages are written.
    packages: PathBuf,
    /// A temporary folder.
    staging: PathBuf,
}

impl Release {
    /// Writes a file of the folder `packaging` to `path`. `values` are the values of its `@NAME@` placeholders.
    fn write_template(
        name: &str,
        values: &[(&str, &str)],
        path: &Path,
        mode: u32,
    ) -> Result<(), String> {
        let source = workspace::root().join("packaging").join(name);
        let mut text = fs::read_to_string(&source)
            .map_err(|e| format!("cannot read {}: {e}", source.display()))?;
        for (placeholder, value) in values {
            text = text.replace(&format!("@{placeholder}@"), value);
        }
        archive::write(path, text.as_bytes(), mode)
    }

    /// The file name of the SBOM.
    fn sbom_name(&self) -> String {
        format!("touchline-{}.cdx.json", self.version)
    }
}

/// Builds the packages and, with `--check`, tests them.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    let staging = scratch::folder("dist")?;
    let _guard = Guard::new("rm -rf -- \"$1\"", &[staging.as_os_str()])?;
    let release = prepare(&options, staging)?;
    println!("touchline {} needs {}", release.version, release.linkage);
    sbom::write(&release)?;
    tarball::write(&release)?;
    debian::write(&release, &release.version, &release.packages, "xz")?;
    container::write(&release)?;
    write_checksums(&release.packages)?;
    list(&release.packages)?;
    if options.check { check::run(&release) } else { Ok(()) }
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--check" => options.check = true,
            "--binary" => {
                let path = args.next().ok_or("--binary needs the path of a program")?;
                options.binary = Some(path.into());
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(options)
}

/// Builds the program unless one was given, reads what the packages need to know about it, and empties the folder of
/// the packages.
fn prepare(options: &Options, staging: PathBuf) -> Result<Release, String> {
    let target = workspace::target_folder()?;
    let target = target.parent().ok_or("the target folder has no parent")?;
    let program = match &options.binary {
        Some(program) => {
            program.canonicalize().map_err(|e| format!("cannot find {}: {e}", program.display()))?
        }
        None => build(target)?,
    };
    let version = version(&program)?;
    let settings = output(&program, &["config", "template"])?;
    if !settings.contains(DATA_SETTING) {
        return Err(format!("`touchline config template` does not print {DATA_SETTING}"));
    }
    let settings = settings.replace(DATA_SETTING, &format!("data = {DATA_FOLDER:?}"));
    let packages = target.join("packages");
    recreate(&packages)?;
    let linkage = Linkage::read(&program)?;
    let processor = std::env::consts::ARCH;
    let time = commit_time();
    Ok(Release { version, processor, program, linkage, settings, time, packages, staging })
}

/// Builds the service with the profile `dist`.
fn build(target: &Path) -> Result<PathBuf, String> {
    let args = ["build", "--locked", "--profile", "dist", "--package", "touchline", "--target-dir"];
    let folder = target.to_str().ok_or("the path of the target folder is not UTF-8")?;
    if !suite::cargo(&[&args[..], &[folder]].concat()).run()?.ok {
        return Err("the build failed".into());
    }
    Ok(target.join("dist/touchline"))
}

/// The version that the program prints.
fn version(program: &Path) -> Result<String, String> {
    let text = output(program, &["--version"])?;
    let version = text.trim().strip_prefix("touchline ");
    version
        .map(str::to_owned)
        .ok_or_else(|| format!("`touchline --version` printed an unexpected text: {text}"))
}

/// What a command of the service prints, without the settings of our own environment.
fn output(program: &Path, args: &[&str]) -> Result<String, String> {
    let failed = |e: String| format!("cannot run {}: {e}", program.display());
    let output = server::command(program)
        .args(args)
        .current_dir("/")
        .output()
        .map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    String::from_utf8(output.stdout).map_err(|e| failed(e.to_string()))
}

/// `SOURCE_DATE_EPOCH`, or the time of the last commit. 1980 if there is neither, because zip files cannot be older.
fn commit_time() -> String {
    let chosen = std::env::var_os("SOURCE_DATE_EPOCH").and_then(|time| time.into_string().ok());
    let committed = || {
        let job = Job::new("git", ["log", "-1", "--format=%ct"]).current_dir(workspace::root());
        job.run_checked().ok()?.into_iter().next()
    };
    chosen.or_else(committed).unwrap_or_else(|| "315532800".into())
}

fn recreate(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .map_err(|e| format!("cannot remove {}: {e}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))
}

/// The names of the files in the folder, sorted.
fn file_names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder)
        .map_err(|e| format!("cannot read the folder {}: {e}", folder.display()))?;
    let mut names: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn write_checksums(packages: &Path) -> Result<(), String> {
    let args = ["--".to_owned()].into_iter().chain(file_names(packages)?);
    let lines = Job::new("sha256sum", args).current_dir(packages).run_checked()?;
    archive::write(&packages.join(CHECKSUMS), (lines.join("\n") + "\n").as_bytes(), 0o644)
}

fn list(packages: &Path) -> Result<(), String> {
    println!("{}", packages.display());
    for name in file_names(packages)? {
        let size = fs::metadata(packages.join(&name)).map_or(0, |file| file.len());
        println!("  {name}  {}", megabytes(size));
    }
    Ok(())
}

/// A size in MB, with one decimal.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Options, String> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn reads_the_arguments() {
        assert_eq!(parse_words(&[]), Ok(Options::default()));
        let options = Options { binary: Some("a".into()), check: true };
        assert_eq!(parse_words(&["--check", "--binary", "a"]), Ok(options));
        assert!(parse_words(&["--binary"]).is_err());
        assert!(parse_words(&["check"]).is_err());
    }

    #[test]
    fn sizes_have_one_decimal() {
        assert_eq!(megabytes(59_960_000), "60.0 MB");
        assert_eq!(megabytes(1_234_567), "1.3 MB");
    }
}
