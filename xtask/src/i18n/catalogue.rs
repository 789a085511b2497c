//! The template and the catalogues: writing, merging and checking them.

use super::source::Text;
use polib::catalog::Catalog;
use polib::message::{Message, MessageFlags, MessageMutView, MessageView};
use polib::metadata::CatalogMetadata;
use std::collections::BTreeSet;

/// The template with all texts.
pub(super) fn template(texts: &[Text]) -> Catalog {
    let mut catalog = Catalog::new(CatalogMetadata {
        project_id_version: "touchline".into(),
        mime_version: "1.0".into(),
        content_type: "text/plain; charset=UTF-8".into(),
        content_transfer_encoding: "8bit".into(),
        ..CatalogMetadata::default()
    });
    for text in texts {
        let plural = text.plural.is_some();
        let mut builder = if plural { Message::build_plural() } else { Message::build_singular() };
        let mut flags = MessageFlags::new();
        if !placeholders(&text.key).is_empty() {
            // Weblate and Poedit then check the placeholders.
            flags.add_flag("python-brace-format");
        }
        builder.with_msgid(text.key.clone()).with_source(text.files.join("\n")).with_flags(flags);
        if !text.comment.is_empty() {
            builder.with_extracted_comments(text.comment.clone());
        }
        if !text.context.is_empty() {
            builder.with_msgctxt(text.context.clone());
        }
        if let Some(many) = &text.plural {
            builder.with_msgid_plural(many.clone()).with_msgstr_plural(vec![String::new(); 2]);
        }
        catalog.append_or_update(builder.done());
    }
    catalog
}

/// The texts of the template with the translations of a catalogue.
pub(super) fn merge(template: &Catalog, old: &Catalog) -> Catalog {
    let mut merged = template.clone();
    merged.metadata = old.metadata.clone();
    merged.preheader.clone_from(&old.preheader);
    for mut new in merged.messages_mut() {
        let existing = old.find_message(new.msgctxt(), new.msgid(), new.msgid_plural().ok());
        if let Some(existing) = existing {
            new.translator_comments_mut().push_str(existing.translator_comments());
            if existing.is_fuzzy() {
                new.flags_mut().add_flag("fuzzy");
            }
        }
        if let Ok(forms) = new.msgstr_plural_mut() {
            let translated = existing.and_then(|existing| existing.msgstr_plural().ok());
            let empty = vec![String::new(); old.metadata.plural_rules.nplurals];
            *forms = translated.cloned().unwrap_or(empty);
        } else if let Ok(text) = new.msgstr_mut() {
            let translated = existing.and_then(|existing| existing.msgstr().ok());
            translated.unwrap_or_default().clone_into(text);
        }
    }
    merged
}

fn find<'a>(catalog: &'a Catalog, message: &dyn MessageView) -> Option<&'a dyn MessageView> {
    catalog.find_message(message.msgctxt(), message.msgid(), message.msgid_plural().ok())
}

/// What is wrong with a catalogue.
pub(super) fn problems(template: &Catalog, catalog: &Catalog) -> Vec<String> {
    let mut problems = Vec::new();
    for wanted in template.messages() {
        let key = wanted.msgid();
        let Some(message) = find(catalog, wanted) else {
            problems.push(format!("  not in the catalogue, run `cargo xtask i18n`: \"{key}\""));
            continue;
        };
        if message.is_fuzzy() || !message.is_translated() {
            problems.push(format!("  not translated: \"{key}\""));
            continue;
        }
        let forms = match message.msgstr_plural() {
            Ok(forms) => forms.clone(),
            Err(_) => vec![message.msgstr().unwrap_or_default().to_owned()],
        };
        let original = message.msgid_plural().unwrap_or(key);
        for form in forms {
            if !has_same_values(&form, original, message.is_plural()) {
                problems.push(format!("  other placeholders than \"{original}\": \"{form}\""));
            }
            if tags(&form) != tags(original) {
                problems.push(format!("  other markup than \"{original}\": \"{form}\""));
            }
        }
    }
    let surplus = catalog.messages().filter(|message| find(template, *message).is_none());
    problems.extend(surplus.map(|message| {
        format!("  no longer used, run `cargo xtask i18n`: \"{}\"", message.msgid())
    }));
    problems
}

/// Whether a translation has the placeholders of the original. A plural form may omit the number ("one person").
fn has_same_values(translation: &str, original: &str, is_plural: bool) -> bool {
    let (mut found, wanted) = (placeholders(translation), placeholders(original));
    if is_plural && wanted.contains("count") {
        found.insert("count");
    }
    found == wanted
}

/// The names in braces.
fn placeholders(text: &str) -> BTreeSet<&str> {
    let parts = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    parts.map(|(name, _)| name).filter(|name| is_name(name)).collect()
}

/// The HTML tags of a text, in alphabetical order.
fn tags(text: &str) -> Vec<&str> {
    let parts = text.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
    let mut tags: Vec<_> = parts.map(|(tag, _)| tag).collect();
    tags.sort_unstable();
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translation_keeps_placeholders_and_markup() {
        assert!(has_same_values("Hola {name}", "Hello {name}", false));
        assert!(!has_same_values("Hola {nombre}", "Hello {name}", false));
        assert!(has_same_values("una persona", "{count} people", true));
        assert_eq!(tags("<b>x</b> <a href=\"{url}\">y</a>").len(), 4);
    }
}
