//! What a program needs from the system that runs it: shared libraries and their versions.

use crate::job::Job;
use std::fmt;
use std::path::{Path, PathBuf};

/// The shared libraries of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Linkage {
    /// Their names, such as `libc.so.6`.
    libraries: Vec<String>,
    /// The newest version of the GNU C library whose symbols the program uses.
    glibc: Version,
    /// The same for libgcc. None if the program does not use it.
    libgcc: Option<Version>,
}

/// A version with any number of parts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(Vec<u32>);

impl Version {
    fn parse(text: &str) -> Option<Self> {
        text.split('.').map(str::parse).collect::<Result<_, _>>().ok().map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

impl fmt::Display for Linkage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "glibc {} or newer, and {}", self.glibc, self.libraries.join(", "))
    }
}

impl Linkage {
    /// Reads the dynamic section of the program.
    pub(super) fn read(program: &Path) -> Result<Self, String> {
        let args = ["--private-headers".as_ref(), program.as_os_str()];
        let lines = Job::new("objdump", args).env("LC_ALL", "C").run_checked()?;
        Self::parse(&lines).ok_or_else(|| {
            format!("{} is not a program that uses the GNU C library", program.display())
        })
    }

    fn parse(lines: &[String]) -> Option<Self> {
        let words: Vec<Vec<&str>> =
            lines.iter().map(|line| line.split_whitespace().collect()).collect();
        let libraries = words.iter().filter_map(|words| match words[..] {
            ["NEEDED", library] => Some(library.to_owned()),
            _ => None,
        });
        // Version references have four columns: hash, flags, number, name.
        let newest = |prefix: &str| {
            let versions = words.iter().filter_map(|words| match words[..] {
                [_, _, _, name] => name.strip_prefix(prefix).and_then(Version::parse),
                _ => None,
            });
            versions.max()
        };
        let (glibc, libgcc) = (newest("GLIBC_")?, newest("GCC_"));
        Some(Self { libraries: libraries.collect(), glibc, libgcc })
    }

    /// The `Depends` of a Debian package with this program.
    pub(super) fn debian_depends(&self) -> Result<String, String> {
        const OF_GLIBC: [&str; 6] =
            ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux"];
        let mut depends = vec![format!("libc6 (>= {})", self.glibc)];
        for library in &self.libraries {
            if library == "libgcc_s.so.1" {
                let version = self.libgcc.as_ref();
                let version = version.map_or(String::new(), |version| format!(" (>= {version})"));
                depends.push(format!("libgcc-s1{version}"));
            } else if !OF_GLIBC.iter().any(|name| library.starts_with(name)) {
                return Err(format!("no Debian package is known for the library {library}"));
            }
        }
        Ok(depends.join(", "))
    }
}

/// The paths of all shared libraries of the program on this machine, and of the loader.
pub(super) fn library_paths(program: &Path) -> Result<Vec<PathBuf>, String> {
    let lines = Job::new("ldd", [program]).env("LC_ALL", "C").run_checked()?;
    parse_library_paths(&lines)
}

fn parse_library_paths(lines: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in lines {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [_, "=>", "not", "found"] => return Err(format!("missing library: {line}")),
            [_, "=>", path, _] => paths.push(path.into()),
            [path, _] if path.starts_with('/') => paths.push(path.into()),
            // The kernel provides this one.
            [name, _] if name.starts_with("linux-vdso") => {}
            _ => return Err(format!("`ldd` printed an unexpected line: {line}")),
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DYNAMIC_SECTION: &str = "\
Dynamic Section:
  NEEDED               libgcc_s.so.1
  NEEDED               libc.so.6
  NEEDED               ld-linux-x86-64.so.2
  INIT                 0x0000000000001000
Version References:
  required from libgcc_s.so.1:
    0x0b792650 0x00 04 GCC_3.0
    0x09276060 0x00 25 GCC_4.2.0
  required from libc.so.6:
    0x069691b4 0x00 02 GLIBC_2.34
    0x0d696917 0x00 12 GLIBC_2.7";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn newest_symbol_version_is_needed() {
        let linkage = Linkage::parse(&lines(DYNAMIC_SECTION)).unwrap();
        let depends = "libc6 (>= 2.34), libgcc-s1 (>= 4.2.0)";
        assert_eq!(linkage.debian_depends().unwrap(), depends);
        let text = "glibc 2.34 or newer, and libgcc_s.so.1, libc.so.6, ld-linux-x86-64.so.2";
        assert_eq!(linkage.to_string(), text);
        assert_eq!(Linkage::parse(&lines("Dynamic Section:")), None);
    }

    #[test]
    fn unknown_library_has_no_debian_package() {
        let text = DYNAMIC_SECTION.replace("libgcc_s.so.1", "libssl.so.3");
        assert!(Linkage::parse(&lines(&text)).unwrap().debian_depends().is_err());
    }

    #[test]
    fn finds_libraries_and_the_loader() {
        let text =
            "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld.so (0x3)";
        let paths = parse_library_paths(&lines(text)).unwrap();
        assert_eq!(paths, [PathBuf::from("/lib/libc.so.6"), PathBuf::from("/lib64/ld.so")]);
        assert!(parse_library_paths(&lines("\tlibx.so => not found")).is_err());
    }
}
