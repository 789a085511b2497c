//! Architecture rules, checked by reading the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The crates of the service, in dependency order.
pub(crate) const CRATES: [&str; 7] =
    ["base", "web", "club", "commerce", "identity", "integrations", "touchline"];

/// Every source file of the service with its text, without inline tests.
pub(crate) fn sources() -> Vec<(PathBuf, String)> {
    CRATES.iter().flat_map(|name| sources_of(name)).collect()
}

fn sources_of(name: &str) -> Vec<(PathBuf, String)> {
    sources_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"))
}

fn sources_below(root: &Path) -> Vec<(PathBuf, String)> {
    let (mut open, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                files.push((path.strip_prefix(root).unwrap().to_owned(), code));
            }
        }
    }
    files
}

/// Modules with a `MODULE` that are not domain code: they consist of pages or endpoints, fill the demo club, or talk to
/// the card provider.
const OTHER_MODULES: [&str; 5] = ["me", "home", "people", "demo", "cards"];

/// The modules with domain code: records, rules and SQL, beside their endpoints and pages. A module that declares a
/// `MODULE` is one of them without being listed anywhere.
static DOMAIN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let registered = sources().into_iter().filter(|(_, code)| code.contains("pub const MODULE: "));
    let mut modules: BTreeSet<_> = registered.map(|(path, _)| module_of(&path)).collect();
    for other in OTHER_MODULES {
        assert!(modules.remove(other), "{other} has no MODULE");
    }
    modules.insert("accounts".to_owned());
    modules
});

/// All modules, in the order of the crates and of their `lib.rs`.
fn modules() -> Vec<String> {
    let libs = sources().into_iter().filter(|(path, _)| path == Path::new("lib.rs"));
    let name = |line: &str| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    libs.flat_map(|(_, lib)| lib.lines().filter_map(name).collect::<Vec<_>>()).collect()
}

fn module_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Whether a file has HTTP endpoints: `api.rs`, `pages.rs`, or a file in a folder `api` or `pages`.
fn is_endpoint(path: &Path) -> bool {
    ["api.rs", "pages.rs"].iter().any(|name| path.ends_with(name))
        || path.parent().is_some_and(|folder| folder.ends_with("api") || folder.ends_with("pages"))
}

/// Whether a file of a domain module has domain code: not endpoints, and not `mod.rs`.
fn is_domain_code(path: &Path) -> bool {
    DOMAIN.contains(&module_of(path)) && !path.ends_with("mod.rs") && !is_endpoint(path)
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
    let modules = modules();
    assert!(modules.len() > 40, "{modules:?}");
    assert_eq!(modules.iter().collect::<BTreeSet<_>>().len(), modules.len(), "{modules:?}");
    let position = |name: &str| modules.iter().position(|module| module == name);
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        let module = module_of(&path);
        if matches!(module.as_str(), "lib" | "main") {
            continue;
        }
        let own = position(&module).unwrap_or_else(|| panic!("{module} is not in lib.rs"));
        for used in used_modules(&code) {
            if position(&used).is_some_and(|used| used > own) {
                wrong.push(format!("{} uses {used}", path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The modules of the crate that the code names, as `crate::name` or in `use crate::{…}`.
fn used_modules(code: &str) -> BTreeSet<String> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let group = rest.strip_prefix('{').and_then(|group| group.split_once("};"));
        let items = group.map_or(vec![rest], |(group, _)| group.split(',').collect());
        for item in items {
            names.insert(item.trim_start().chars().take_while(|c| is_name(*c)).collect());
        }
    }
    names
}

/// Crates that are not part of the order of modules.
const OTHER_CRATES: [&str; 7] = [
    "crates/kit",
    "crates/store",
    "crates/i18n",
    "crates/macros",
    "crates/testkit",
    "crates/bench",
    "xtask",
];

#[test]
fn modules_of_other_crates_have_no_import_cycles() {
    for name in OTHER_CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name).join("src");
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, code) in sources_below(&root) {
            let module = module_of(&path);
            let mut used = used_modules(&code);
            used.remove(&module);
            imports.entry(module).or_default().extend(used);
        }
        // The root declares the modules, so each of them may use what it re-exports.
        imports.retain(|module, _| !matches!(module.as_str(), "lib" | "main"));
        assert!(imports.len() > 3, "{name}: {imports:?}");
        // Modules that use no other module cannot be part of a cycle.
        loop {
            let before = imports.len();
            let modules: BTreeSet<_> = imports.keys().cloned().collect();
            imports.retain(|_, used| !used.is_disjoint(&modules));
            if imports.len() == before {
                break;
            }
        }
        assert!(imports.is_empty(), "{name}: {imports:?}");
    }
}

/// The module that owns each table: the one that declares its record or, without a record, writes it.
fn table_owners() -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for (path, code) in sources() {
        for table in written_tables(&code) {
            owners.insert(table, module_of(&path));
        }
    }
    owners.extend(records().into_iter().map(|record| (record.table, record.module)));
    owners
}

/// The tables that the statements of a file write.
fn written_tables(code: &str) -> BTreeSet<String> {
    let words: Vec<_> = code.split_whitespace().map(|word| word.trim_matches('"')).collect();
    let written = words.windows(3).filter_map(|window| match *window {
        ["insert", "into", table] | ["delete", "from", table] | ["update", table, "set"] => {
            Some(table.to_owned())
        }
        _ => None,
    });
    written.collect()
}

/// A record that is declared with `record!`.
struct DeclaredRecord {
    name: String,
    table: String,
    module: String,
}

fn records() -> Vec<DeclaredRecord> {
    let mut records = Vec::new();
    for (path, code) in sources() {
        for line in code.lines() {
            let words: Vec<_> =
                line.split_whitespace().skip_while(|word| *word != "struct").collect();
            if let ["struct", name, "in", table, "{"] = words[..] {
                let (name, table) = (name.to_owned(), table.to_owned());
                records.push(DeclaredRecord { name, table, module: module_of(&path) });
            }
        }
    }
    assert!(records.len() > 50, "few records: {}", records.len());
    records
}

#[test]
fn a_table_is_written_by_one_module() {
    let owners = table_owners();
    assert!(owners.len() > 50, "{owners:?}");
    let records = records();
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        let module = module_of(&path);
        for table in written_tables(&code).into_iter().filter(|table| owners[table] != module) {
            wrong.push(format!("{} writes {table}", path.display()));
        }
        for record in &records {
            let is_used = ["INSERT", "UPDATE"]
                .iter()
                .any(|statement| has_word(&code, &format!("{}::{statement}", record.name)));
            let is_declared_here =
                records.iter().any(|other| other.name == record.name && other.module == module);
            if is_used && !is_declared_here {
                wrong.push(format!(
                    "{} writes {} of {}",
                    path.display(),
                    record.name,
                    record.module
                ));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Whether a text contains these words, not as the end of a longer word.
fn has_word(code: &str, words: &str) -> bool {
    code.match_indices(words)
        .any(|(start, _)| !code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn statements_read_only_tables_of_modules_listed_above() {
    let (owners, modules) = (table_owners(), modules());
    let position = |name: &str| modules.iter().position(|module| module == name);
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        let own = position(&module_of(&path));
        for table in read_tables(&code) {
            if owners.get(&table).is_some_and(|owner| position(owner) > own) {
                wrong.push(format!("{} reads {table} of {}", path.display(), owners[&table]));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The words after `from` and `join`, which are tables in statements.
fn read_tables(code: &str) -> BTreeSet<String> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words: Vec<_> = lines.flat_map(str::split_whitespace).collect();
    let keyword = |word: &str| word.trim_start_matches(['"', '(']).to_owned();
    let pairs = words.windows(2).filter(|pair| ["from", "join"].contains(&&*keyword(pair[0])));
    pairs.map(|pair| pair[1].trim_matches(|c: char| !c.is_alphanumeric()).to_owned()).collect()
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
