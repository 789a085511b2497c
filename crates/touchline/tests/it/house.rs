//! The rules of the house, checked by reading the source.

use std::fs;
use std::path::{Path, PathBuf};

/// Every source file of the service with its text, tests inside files cut off.
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

/// The rooms, in the order of `lib.rs`: the modules before the first blank line.
fn rooms() -> Vec<String> {
    let (_, lib) = sources().into_iter().find(|(path, _)| path == Path::new("lib.rs")).unwrap();
    let modules = lib.lines().skip_while(|line| !line.starts_with("pub mod"));
    let rooms = modules.take_while(|line| !line.is_empty());
    rooms.map(|line| line.trim_start_matches("pub mod ").trim_end_matches(';').to_owned()).collect()
}

fn room_of(path: &Path) -> String {
    path.components().next().unwrap().as_os_str().to_string_lossy().into_owned()
}

/// The doors of a room: `api.rs`, `pages.rs`, or a folder `api` or `pages` where there are many.
fn is_door(path: &Path) -> bool {
    ["api.rs", "pages.rs"].iter().any(|name| path.ends_with(name))
        || path.parent().is_some_and(|folder| folder.ends_with("api") || folder.ends_with("pages"))
}

/// A thing is a file of a room that is not one of its doors.
fn is_thing(path: &Path) -> bool {
    rooms().contains(&room_of(path)) && !path.ends_with("mod.rs") && !is_door(path)
}

fn offenders(what: &[&str], suspect: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (path, code) in sources().iter().filter(|(path, _)| suspect(path)) {
        for (number, line) in code.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            if !comment && what.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    found
}

#[test]
fn things_know_no_http_and_no_waiting() {
    let words = ["axum", "async fn", ".await", "SystemTime", "http::", "crate::web::"];
    assert_eq!(offenders(&words, is_thing), Vec::<String>::new());
}

#[test]
fn doors_contain_no_sql() {
    let words = ["\"select ", "\"insert ", "\"update ", "\"delete ", "sql!("];
    assert_eq!(offenders(&words, is_door), Vec::<String>::new());
}

#[test]
fn a_room_uses_only_rooms_above_it() {
    let rooms = rooms();
    assert!(rooms.len() >= 2, "{rooms:?}");
    for (place, room) in rooms.iter().enumerate() {
        let below: Vec<_> =
            rooms[place + 1..].iter().map(|below| format!("crate::{below}")).collect();
        let below: Vec<_> = below.iter().map(String::as_str).collect();
        let found = offenders(&below, |path| room_of(path) == *room);
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn only_the_settings_read_the_environment() {
    let found = offenders(&["std::env", "env::var"], |path| !path.ends_with("config.rs"));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn files_and_functions_stay_small() {
    for (path, code) in sources() {
        let lines = code.lines().count();
        assert!(lines <= 500, "{} has {lines} lines", path.display());
        assert!(code.starts_with("//!"), "{} does not say what it is", path.display());
    }
}

#[test]
fn migrations_are_all_listed_and_speak_five_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let listed: Vec<_> = touchline::migrations::STEPS.iter().map(|step| step.name).collect();
    let found: Vec<_> =
        names.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(found, listed);
    for path in &names {
        let text = fs::read_to_string(path).unwrap().to_lowercase();
        for word in
            ["integer", " int ", "varchar", "timestamp", "json", "serial", "uuid", "now()", "::"]
        {
            let used = text
                .lines()
                .any(|line| !line.trim_start().starts_with("--") && line.contains(word));
            assert!(!used, "{} says {word}", path.display());
        }
    }
}
