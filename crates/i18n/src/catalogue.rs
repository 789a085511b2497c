//! The translations, read from the `.po` files in the binary when a language is first used.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use polib::message::MessageView;

use crate::Locale;
use crate::locale::LOCALES;

/// The translations of one language: all plural forms by [`key`].
type Catalogue = HashMap<String, Vec<String>>;

/// The key of a text with a context, as in `.mo` files.
fn key<'a>(context: &str, text: &'a str) -> Cow<'a, str> {
    match context {
        "" => text.into(),
        _ => format!("{context}\u{4}{text}").into(),
    }
}

/// A text in the current locale. A text without a translation is returned as it is.
pub fn translate(text: &str) -> &str {
    lookup("", text)
}

/// A text with a context in the current locale.
pub fn lookup<'a>(context: &str, text: &'a str) -> &'a str {
    Locale::current().and_then(|locale| find(locale, context, text, 0)).unwrap_or(text)
}

/// A plural form of a text in a locale.
pub(crate) fn find(locale: Locale, context: &str, text: &str, form: usize) -> Option<&'static str> {
    static CATALOGUES: [OnceLock<Catalogue>; LOCALES] = [const { OnceLock::new() }; LOCALES];
    let catalogue = CATALOGUES[locale.index()].get_or_init(|| read(locale));
    let forms = catalogue.get(&*key(context, text))?;
    forms.get(form).map(String::as_str).filter(|text| !text.is_empty())
}

fn read(locale: Locale) -> Catalogue {
    #[cfg(debug_assertions)]
    if locale.tag() == crate::locale::PSEUDO {
        return entries(include_str!("../../../locale/touchline.pot"), |message| {
            let texts = [Some(message.msgid()), message.msgid_plural().ok()];
            texts.into_iter().flatten().map(crate::pseudo::pseudo).collect()
        });
    }
    entries(locale.definition().catalogue, |message| match message.msgstr_plural() {
        Ok(forms) => forms.clone(),
        Err(_) => vec![message.msgstr().unwrap_or_default().to_owned()],
    })
}

/// The entries of a `.po` file that are translated.
fn entries(file: &str, forms: impl Fn(&dyn MessageView) -> Vec<String>) -> Catalogue {
    if file.is_empty() {
        return Catalogue::new();
    }
    let parsed = polib::po_file::parse_from_reader(file.as_bytes());
    // `cargo xtask i18n --check` and the tests of this crate have read the same files.
    let parsed = parsed.expect("the catalogues are valid");
    let entry = |message: &dyn MessageView| {
        let context = message.msgctxt().unwrap_or_default();
        (key(context, message.msgid()).into_owned(), forms(message))
    };
    parsed.messages().filter(|message| !message.is_fuzzy()).map(entry).collect()
}
