//! Finds the texts of all Rust sources and templates.

use super::fields;
use super::source::{self, Text, Unmarked};
use crate::workspace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files whose texts are never on a page or in an email: programs for developers and operators, demo data, and what
/// only the API says.
const EXCLUDED: [&str; 28] = [
    "crates/bench/",
    "crates/kit/",
    "crates/store/",
    "crates/testkit/",
    "crates/base/src/config",
    "crates/base/src/card_provider",
    "crates/base/src/outbound",
    "crates/web/src/web/document/",
    "crates/web/src/web/admission.rs",
    "crates/web/src/web/caller",
    "crates/web/src/web/docs",
    "crates/web/src/web/query.rs",
    "crates/web/src/web/json.rs",
    "crates/web/src/web/limits.rs",
    "crates/web/src/web/routes.rs",
    "crates/web/src/web/server.rs",
    "crates/web/src/web/stream.rs",
    "crates/web/src/web/cursor.rs",
    "crates/web/src/web/idempotency.rs",
    "crates/web/src/web/precondition.rs",
    "crates/web/src/web/request_head.rs",
    "crates/web/templates/docs/",
    "crates/web/templates/gallery/",
    "crates/integrations/src/dispatch/client.rs",
    "crates/touchline/src/cli/",
    "crates/touchline/src/demo/",
    "crates/touchline/src/backup",
    "crates/touchline/src/main.rs",
];

/// All texts.
#[derive(Default)]
pub(super) struct Extracted {
    /// The texts that are marked for translation, by their first file.
    pub(super) texts: Vec<Text>,
    /// Texts that look as if people read them and are not marked: file, line and text.
    pub(super) unmarked: Vec<(String, usize, String)>,
}

/// Reads all sources.
pub(super) fn extract() -> Result<Extracted, String> {
    let root = workspace::root();
    let mut files = Vec::new();
    collect_files(&root.join("crates"), &mut files)?;
    let mut names: Vec<_> = files.iter().filter_map(|file| source_name(&root, file)).collect();
    names.sort();
    let mut extracted = Extracted::default();
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for name in names {
        let path = root.join(&name);
        let content =
            std::fs::read_to_string(&path).map_err(|e| format!("cannot read {name}: {e}"))?;
        let is_template = path.extension().is_some_and(|extension| extension == "html");
        let read = if is_template { source::template } else { source::rust };
        let (texts, unmarked) = read(&content).map_err(|error| format!("{name}: {error}"))?;
        for text in texts {
            add(&mut extracted.texts, &mut known, text, &name)?;
        }
        let located = |Unmarked { line, text }| (name.clone(), line, text);
        extracted.unmarked.extend(unmarked.into_iter().map(located));
    }
    for text in fields::labels()? {
        add(&mut extracted.texts, &mut known, text, fields::FILE)?;
    }
    // The order does not depend on where in its file a text is, so that moved code changes no catalogue.
    extracted.texts.sort_by(|one, other| {
        let key = |text: &Text| (text.files[0].clone(), text.key.clone(), text.context.clone());
        key(one).cmp(&key(other))
    });
    let texts = &extracted.texts;
    let is_marked = |text: &str| texts.iter().any(|known| known.key == text);
    extracted.unmarked.retain(|(_, _, text)| !is_marked(text));
    Ok(extracted)
}

/// Adds a text, or another place of a known text.
fn add(
    texts: &mut Vec<Text>,
    known: &mut BTreeMap<(String, String), usize>,
    mut text: Text,
    file: &str,
) -> Result<(), String> {
    let key = (text.context.clone(), text.key.clone());
    let Some(index) = known.get(&key) else {
        known.insert(key, texts.len());
        text.files.push(file.to_owned());
        texts.push(text);
        return Ok(());
    };
    let existing = &mut texts[*index];
    if existing.plural.is_some() && text.plural.is_some() && existing.plural != text.plural {
        return Err(format!("{file}: \"{}\" has two different plurals", text.key));
    }
    existing.plural = existing.plural.take().or(text.plural);
    if existing.files.last().is_none_or(|last| last != file) {
        existing.files.push(file.to_owned());
    }
    if existing.comment.is_empty() {
        existing.comment = text.comment;
    }
    Ok(())
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder);
    for entry in entries.map_err(|e| format!("cannot read {}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The path of a file below the root, if its texts are translated.
fn source_name(root: &Path, file: &Path) -> Option<String> {
    let name = file.strip_prefix(root).ok()?.to_str()?.to_owned();
    let folder = match file.extension()?.to_str()? {
        "rs" => "/src/",
        "html" => "/templates/",
        _ => return None,
    };
    let is_source = name.contains(folder) && !name.ends_with("/tests.rs");
    let is_api = name.ends_with("/api.rs") || name.contains("/api/");
    let is_page = name.ends_with("/pages.rs");
    let is_technical = EXCLUDED.iter().any(|start| name.starts_with(start)) && !is_page;
    let excluded = is_api || is_technical;
    (is_source && !excluded).then_some(name)
}
