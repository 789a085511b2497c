//! The supported locales, and the locale of the request or email that is being handled.

use std::cell::Cell;

/// What differs between locales, apart from the translations.
#[derive(Debug)]
pub(crate) struct Definition {
    /// The language tag (BCP 47).
    pub(crate) tag: &'static str,
    /// The name of the language in that language. Empty for a variant, which nobody can choose.
    name: &'static str,
    /// The locale of Unicode CLDR that dates and numbers follow.
    pub(crate) formats: &'static str,
    /// The `.po` file. Empty for English.
    pub(crate) catalogue: &'static str,
    /// Which plural form a number needs, as in the `Plural-Forms` of the `.po` file.
    pub(crate) plural_form: fn(u64) -> usize,
    /// Whether the symbol of a currency is written before the amount.
    pub(crate) symbol_first: bool,
    /// Whether a space separates a number from a percent sign.
    pub(crate) percent_space: bool,
}

const ENGLISH: Definition = Definition {
    tag: "en",
    name: "English",
    formats: "en-150",
    catalogue: "",
    plural_form: |n| usize::from(n != 1),
    symbol_first: true,
    percent_space: false,
};

/// The number of locales.
pub(crate) const LOCALES: usize = DEFINITIONS.len();

/// All locales. To add a language, add its `.po` file and a line here.
pub(crate) static DEFINITIONS: &[Definition] = &[
    ENGLISH,
    Definition { tag: "en-US", name: "", formats: "en-US", ..ENGLISH },
    Definition {
        tag: "es",
        name: "Español",
        formats: "es",
        catalogue: include_str!("../../../locale/es.po"),
        symbol_first: false,
        percent_space: true,
        ..ENGLISH
    },
    #[cfg(debug_assertions)]
    Definition { tag: PSEUDO, name: "[Ŧḗşŧ]", ..ENGLISH },
];

/// The pseudo-locale, which shows which texts of a page are not translated. Only in debug builds.
pub(crate) const PSEUDO: &str = "en-XA";

/// A language, and the conventions for dates and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locale(u8);

tokio::task_local! {
    static CURRENT: Cell<Locale>;
}

impl Locale {
    /// English with international dates: `14 Nov 2026, 18:05`.
    pub const ENGLISH: Self = Self(0);

    /// The locale with this language tag.
    pub fn find(tag: &str) -> Option<Self> {
        Self::all().find(|locale| locale.tag().eq_ignore_ascii_case(tag))
    }

    /// The languages that people can choose, each with its tag and its name.
    pub fn choices() -> impl Iterator<Item = (&'static str, &'static str)> {
        let named = DEFINITIONS.iter().filter(|definition| !definition.name.is_empty());
        named.map(|definition| (definition.tag, definition.name))
    }

    /// The locale for a user who chose `setting` and whose browser sends `accept_language`. A browser that prefers a
    /// variant of the chosen language, such as `en-US`, decides about the formats.
    pub fn negotiate(setting: Option<&str>, accept_language: &str) -> Self {
        let setting = setting.and_then(Self::find);
        let mut accepted: Vec<_> = accept_language.split(',').filter_map(Self::accepted).collect();
        // The sort is stable: of two languages with the same weight the first is preferred.
        accepted.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        let mut accepted = accepted.into_iter().map(|(locale, _)| locale);
        match setting {
            Some(chosen) => {
                accepted.find(|locale| locale.has_language_of(chosen)).unwrap_or(chosen)
            }
            None => accepted.next().unwrap_or(Self::ENGLISH),
        }
    }

    /// One entry of the header `Accept-Language`, with its weight in thousandths.
    fn accepted(entry: &str) -> Option<(Self, u16)> {
        let mut parts = entry.split(';').map(str::trim);
        let tag = parts.next()?;
        let weight = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
        let weight = weight.parse::<f32>().ok().filter(|weight| (0.001..=1.0).contains(weight))?;
        let language = tag.split('-').next().unwrap_or(tag);
        let locale = Self::find(tag).or_else(|| Self::find(language))?;
        #[expect(clippy::cast_sign_loss, reason = "a weight is between 0 and 1")]
        Some((locale, (weight * 1000.0) as u16))
    }

    fn has_language_of(self, other: Self) -> bool {
        let language = |locale: Self| match locale.tag() {
            PSEUDO => PSEUDO,
            tag => tag.split('-').next().unwrap_or(tag),
        };
        language(self) == language(other)
    }

    /// The locale of the request or email that is being handled. `None` outside of these, such as in the API: texts
    /// are then in English, and values in texts have their technical format.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Cell::get).ok()
    }

    /// The locale of the request or email that is being handled, or English.
    pub fn current_or_english() -> Self {
        Self::current().unwrap_or(Self::ENGLISH)
    }

    /// Handles a request for a reader with this locale.
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(Cell::new(self), work).await
    }

    /// Does something for a reader with this locale, such as writing an email.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(Cell::new(self), work)
    }

    /// Changes the locale for the rest of the current scope, once it is known which user makes the request.
    pub fn set_current(self) {
        let _ = CURRENT.try_with(|current| current.set(self));
    }

    /// The language tag, for storing it.
    pub fn tag(self) -> &'static str {
        self.definition().tag
    }

    /// The value of the attribute `lang`.
    pub fn lang(self) -> &'static str {
        if self.has_language_of(Self::ENGLISH) { "en" } else { self.tag() }
    }

    /// The value of the attribute `dir`.
    pub fn dir(self) -> &'static str {
        let language = self.tag().split('-').next().unwrap_or_default();
        if matches!(language, "ar" | "fa" | "he" | "ur") { "rtl" } else { "ltr" }
    }

    /// All locales.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..DEFINITIONS.len()).map(|index| Self(index as u8))
    }

    pub(crate) fn index(self) -> usize {
        self.0.into()
    }

    pub(crate) fn definition(self) -> &'static Definition {
        &DEFINITIONS[self.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_decides_and_then_the_browser() {
        let tag = |setting, header| Locale::negotiate(setting, header).tag();
        assert_eq!(tag(None, "en-US,en;q=0.9"), "en-US");
        assert_eq!(tag(None, "en-us"), "en-US");
        assert_eq!(tag(None, "en-GB,en-US;q=0.8"), "en");
        assert_eq!(tag(None, "de, es-MX;q=0.7, en;q=0.5"), "es");
        assert_eq!(tag(None, "en;q=0.5, es;q=0.7"), "es");
        assert_eq!(tag(None, "es;q=0, en-US"), "en-US");
        assert_eq!(tag(None, "de"), "en");
        assert_eq!(tag(None, ""), "en");
        assert_eq!(tag(Some("es"), "en-US"), "es");
        assert_eq!(tag(Some("en"), "es, en-US;q=0.3"), "en-US");
        assert_eq!(tag(Some("en"), "en-XA"), "en");
        assert_eq!(tag(Some("en-XA"), "en-US"), "en-XA");
        assert_eq!(tag(Some("tlh"), "es"), "es");
    }

    #[test]
    fn the_current_locale_belongs_to_its_scope() {
        assert_eq!(Locale::current(), None);
        let spanish = Locale::find("es").unwrap();
        spanish.run(|| {
            assert_eq!(Locale::current(), Some(spanish));
            Locale::ENGLISH.set_current();
            assert_eq!(Locale::current(), Some(Locale::ENGLISH));
        });
        assert_eq!(Locale::current(), None);
    }
}
