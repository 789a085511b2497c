//! Tests of the packages: they are installed into a new Debian and used as the guide `docs/operations.md` says.

mod debian;
mod files;
mod machine;
mod process;
mod proxy;

use super::Release;
use crate::install;
use machine::Machine;
use std::time::Instant;

/// The programs that the tests run on this machine, and their Debian packages.
const PROGRAMS: [(&str, &str); 4] = [
    ("/usr/sbin/debootstrap", "debootstrap"),
    ("/usr/bin/curl", "curl"),
    ("/sbin/ip", "iproute2"),
    ("/usr/bin/sqlite3", "sqlite3"),
];

/// The results so far.
#[derive(Default)]
struct Report {
    passed: usize,
    failed: Vec<String>,
}

impl Report {
    /// Runs a test and prints its result. Later tests run even if it fails.
    fn test(&mut self, name: &str, test: impl FnOnce() -> Result<String, String>) {
        let started = Instant::now();
        let result = test();
        let seconds = started.elapsed().as_secs_f64();
        match result {
            Ok(detail) => {
                println!("passed  {name}: {detail} ({seconds:.1} s)");
                self.passed += 1;
            }
            Err(error) => {
                println!("FAILED  {name}: {error} ({seconds:.1} s)");
                self.failed.push(name.to_owned());
            }
        }
    }

    fn finish(self) -> Result<(), String> {
        println!("packages: {} passed, {} failed", self.passed, self.failed.len());
        let failed = self.failed.join(", ");
        if failed.is_empty() { Ok(()) } else { Err(format!("failed: {failed}")) }
    }
}

/// Tests all packages of a release.
pub(super) fn run(release: &Release) -> Result<(), String> {
    install::programs(&PROGRAMS)?;
    let mut report = Report::default();
    report.test("checksums", || files::check_checksums(release));
    report.test("size of the container", || files::check_container_size(release));
    println!("installing a new Debian in a temporary folder ...");
    let machine = Machine::create()?;
    report.test("tarball", || files::check_tarball(release, &machine));
    report.test("container", || files::check_container(release, &machine));
    report.test("debian package", || debian::check(release, &machine));
    report.test("unit", || debian::check_unit(release, &machine));
    report.test("nginx", || proxy::check(release, &machine));
    report.finish()
}
