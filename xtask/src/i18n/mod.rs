//! The translations in `locale`: extracts all texts into the template, adds new ones to the catalogues, and checks
//! them. `docs/translation.md` describes how texts are marked.

mod catalogue;
mod extract;
mod fields;
mod source;

use crate::workspace;
use polib::catalog::Catalog;
use polib::po_file;
use std::path::PathBuf;

const TEMPLATE: &str = "touchline.pot";

fn folder() -> PathBuf {
    workspace::root().join("locale")
}

/// The paths of all catalogues.
fn catalogues() -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder()).map_err(|e| format!("cannot read locale: {e}"))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "po")).collect();
    paths.sort();
    Ok(paths)
}

fn read(path: &std::path::Path) -> Result<Catalog, String> {
    po_file::parse(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// Writes the template, and adds new texts to all catalogues.
pub(crate) fn update() -> Result<(), String> {
    let template = catalogue::template(&extract::extract()?.texts);
    let path = folder().join(TEMPLATE);
    po_file::write_to_file(&template, &path)
        .map_err(|e| format!("cannot write {TEMPLATE}: {e}"))?;
    println!("{TEMPLATE}: {} texts", template.count());
    for path in catalogues()? {
        let merged = catalogue::merge(&template, &read(&path)?);
        po_file::write_to_file(&merged, &path)
            .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        let missing = merged.messages().filter(|message| !message.is_translated()).count();
        println!("{}: {missing} texts are not translated", path.display());
    }
    Ok(())
}

/// Fails if the template is out of date, or if a catalogue is incomplete or wrong.
pub(crate) fn check() -> Result<(), String> {
    let template = catalogue::template(&extract::extract()?.texts);
    let mut expected = Vec::new();
    let mut writer = std::io::BufWriter::new(&mut expected);
    po_file::write(&template, &mut writer).map_err(|e| e.to_string())?;
    drop(writer);
    if std::fs::read(folder().join(TEMPLATE)).unwrap_or_default() != expected {
        return Err(format!("locale/{TEMPLATE} is out of date: run `cargo xtask i18n`"));
    }
    for path in catalogues()? {
        let problems = catalogue::problems(&template, &read(&path)?);
        if !problems.is_empty() {
            return Err(format!("{}:\n{}", path.display(), problems.join("\n")));
        }
    }
    println!("{} texts are translated", template.count());
    Ok(())
}

/// Lists texts that are not marked for translation yet.
pub(crate) fn list(paths: &[String]) -> Result<(), String> {
    let prefix = paths.first().map_or("", String::as_str);
    let unmarked = extract::extract()?.unmarked;
    let below: Vec<_> = unmarked.iter().filter(|(file, ..)| file.starts_with(prefix)).collect();
    for (file, line, text) in &below {
        println!("{file}:{line}: {text}");
    }
    println!("{} texts", below.len());
    Ok(())
}
