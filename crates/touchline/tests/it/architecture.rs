//! Architecture rules, checked by reading the source.

use std::fs;
use std::path::{Path, PathBuf};

/// Every source file of the service with its text, without inline tests.
pub(crate) fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut open, mut files) = (vec![root.clone()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                files.push((path.strip_prefix(&root).unwrap().to_owned(), code));
            }
        }
    }
    files
}

/// The domain modules, in the order of `lib.rs`: those before the first blank line.
fn domain_modules() -> Vec<String> {
    let (_, lib) = sources().into_iter().find(|(path, _)| path == Path::new("lib.rs")).unwrap();
    let lines = lib.lines().skip_while(|line| !line.starts_with("pub mod"));
    let modules = lines.take_while(|line| !line.is_empty());
    modules
        .map(|line| line.trim_start_matches("pub mod ").trim_end_matches(';').to_owned())
        .collect()
}

fn module_of(path: &Path) -> String {
    path.components().next().unwrap().as_os_str().to_string_lossy().into_owned()
}

/// Whether a file has HTTP endpoints: `api.rs`, `pages.rs`, or a file in a folder `api` or `pages`.
fn is_endpoint(path: &Path) -> bool {
    ["api.rs", "pages.rs"].iter().any(|name| path.ends_with(name))
        || path.parent().is_some_and(|folder| folder.ends_with("api") || folder.ends_with("pages"))
}

/// Whether a file of a domain module has domain code: not endpoints, and not `mod.rs`.
fn is_domain_code(path: &Path) -> bool {
    domain_modules().contains(&module_of(path)) && !path.ends_with("mod.rs") && !is_endpoint(path)
}

fn violations(words: &[&str], applies_to: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, code) in sources().iter().filter(|(path, _)| applies_to(path)) {
        for (number, line) in code.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            if !comment && words.iter().any(|word| line.contains(word)) {
                lines.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    lines
}

#[test]
fn domain_code_uses_no_http_and_no_async() {
    let words = ["axum", "async fn", ".await", "SystemTime", "http::", "crate::web::"];
    assert_eq!(violations(&words, is_domain_code), Vec::<String>::new());
}

#[test]
fn endpoints_contain_no_sql() {
    let words = ["\"select ", "\"insert ", "\"update ", "\"delete ", "sql!("];
    assert_eq!(violations(&words, is_endpoint), Vec::<String>::new());
}

#[test]
fn a_module_uses_only_modules_listed_above_it() {
    let modules = domain_modules();
    assert!(modules.len() >= 2, "{modules:?}");
    for (index, module) in modules.iter().enumerate() {
        let below: Vec<_> = modules[index + 1..]
            .iter()
            .flat_map(|below| [format!("crate::{below}::"), format!("crate::{below};")])
            .collect();
        let below: Vec<_> = below.iter().map(String::as_str).collect();
        let lines = violations(&below, |path| module_of(path) == *module);
        assert_eq!(lines, Vec::<String>::new());
    }
}

#[test]
fn only_the_config_reads_the_environment() {
    let lines = violations(&["std::env", "env::var"], |path| !path.ends_with("config.rs"));
    assert_eq!(lines, Vec::<String>::new());
}

#[test]
fn files_are_small_and_documented() {
    for (path, code) in sources() {
        let lines = code.lines().count();
        assert!(lines <= 500, "{} has {lines} lines", path.display());
        assert!(code.starts_with("//!"), "{} has no module documentation", path.display());
    }
}

#[test]
fn migrations_are_listed_and_use_portable_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let listed: Vec<_> = touchline::migrations::MIGRATIONS.iter().map(|step| step.name).collect();
    let files: Vec<_> =
        names.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(files, listed);
    for path in &names {
        let text = fs::read_to_string(path).unwrap().to_lowercase();
        for word in
            ["integer", " int ", "varchar", "timestamp", "json", "serial", "uuid", "now()", "::"]
        {
            let used = text
                .lines()
                .any(|line| !line.trim_start().starts_with("--") && line.contains(word));
            assert!(!used, "{} uses {word}", path.display());
        }
    }
}
