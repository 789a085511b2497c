//! How dates and times are written for a reader, by the language that the browser prefers.

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;

/// A convention for dates and times in English texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Locale {
    /// `Nov 14, 2026, 6:05 PM`
    UnitedStates,
    /// `14 Nov 2026, 18:05`
    #[default]
    International,
}

tokio::task_local! {
    static CURRENT: Locale;
}

impl Locale {
    /// The locale of the first language that the client prefers.
    pub fn read(headers: &HeaderMap) -> Self {
        let languages = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let first = languages.and_then(|languages| languages.split([',', ';']).next());
        match first {
            Some(language) if language.trim().eq_ignore_ascii_case("en-US") => Self::UnitedStates,
            _ => Self::International,
        }
    }

    /// The locale of the request that is being handled.
    pub fn current() -> Self {
        CURRENT.try_with(|locale| *locale).unwrap_or_default()
    }

    /// Handles a request for a reader with this locale.
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_preferred_language_decides() {
        let locale = |value: &'static str| {
            let headers = [(ACCEPT_LANGUAGE, HeaderValue::from_static(value))];
            Locale::read(&headers.into_iter().collect())
        };
        assert_eq!(locale("en-US,en;q=0.9"), Locale::UnitedStates);
        assert_eq!(locale("en-us"), Locale::UnitedStates);
        assert_eq!(locale("en-GB,en-US;q=0.8"), Locale::International);
        assert_eq!(locale("de"), Locale::International);
        assert_eq!(Locale::read(&HeaderMap::new()), Locale::International);
    }
}
