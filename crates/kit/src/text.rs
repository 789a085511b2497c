//! Normalizes and validates text that people enter: trimmed, in NFC, of limited length, without control characters.
//!
//! Length is counted in characters after normalizing to NFC, so `é` is one character however a keyboard composed it.
//! Nothing inside the text is removed: a text with characters that are not allowed is rejected.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Why a text was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFault {
    /// The text is empty after trimming, or contains only invisible characters.
    Empty,
    /// The text has too many characters.
    TooLong {
        /// The maximum number of characters.
        max: usize,
    },
    /// The text contains a control character, such as NUL or escape.
    Control,
}

/// Normalizes a single line of text, such as a name. Line breaks and tabs are not allowed.
pub fn normalize_line(text: &str, max: usize) -> Result<String, TextFault> {
    normalize(text, max, char::is_control)
}

/// Normalizes text of several lines, such as a description. Line feeds and tabs are allowed.
pub fn normalize_block(text: &str, max: usize) -> Result<String, TextFault> {
    normalize(text, max, |c| c.is_control() && c != '\n' && c != '\t')
}

fn normalize(text: &str, max: usize, is_forbidden: fn(char) -> bool) -> Result<String, TextFault> {
    let text = text.trim();
    // A text of only invisible characters would be an invisible name.
    if text.chars().all(|c| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')) {
        return Err(TextFault::Empty);
    }
    if text.chars().any(is_forbidden) {
        return Err(TextFault::Control);
    }
    let text = to_nfc(text);
    // Skips counting if there are no more bytes than allowed characters.
    if text.len() > max && text.chars().count() > max {
        return Err(TextFault::TooLong { max });
    }
    Ok(text.into_owned())
}

/// Converts the text to Unicode normalization form C.
pub fn to_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// Folds the case of the text for comparing and searching: `Hawks` and `HAWKS` become the same.
pub fn fold_case(text: &str) -> String {
    // Upper case first, so `Straße` and `STRASSE` become the same.
    to_nfc(&text.to_uppercase().to_lowercase()).into_owned()
}

/// Builds a pattern for `like … escape '\'` that matches texts containing the case-folded text. Wildcards in it are
/// escaped.
pub fn contains_pattern(text: &str) -> String {
    contains_pattern_exact_case(&fold_case(text))
}

/// Like [`contains_pattern`], without folding the case.
pub fn contains_pattern_exact_case(text: &str) -> String {
    format!("%{}%", escape_like(text))
}

/// Escapes the wildcards of a text for use in a pattern of `like … escape '\'`.
pub fn escape_like(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Escapes a text for HTML, in elements and in quoted attributes, exactly as the templates do.
pub fn escape_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '&' | '\'' | '<' | '>' => html.push_str(&format!("&#{};", u32::from(c))),
            _ => html.push(c),
        }
    }
    html
}

/// Whether the text is a color as in HTML: `#` and six hexadecimal digits.
pub fn is_color(text: &str) -> bool {
    text.strip_prefix('#')
        .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn normalizing_is_idempotent(text in "\\PC{0,80}") {
            if let Ok(normalized) = normalize_block(&text, 60) {
                prop_assert_eq!(normalize_block(&normalized, 60), Ok(normalized.clone()));
                prop_assert!(normalized.chars().count() <= 60);
                prop_assert_eq!(normalized.trim(), &normalized);
            }
        }

        #[test]
        fn control_characters_are_rejected(before in "[a-z]{1,9}", code in 0u32..0xa0, after in "[a-z]{1,9}") {
            let c = char::from_u32(code).unwrap();
            let text = format!("{before}{c}{after}");
            prop_assert_eq!(normalize_line(&text, 100).is_err(), c.is_control());
            prop_assert_eq!(normalize_block(&text, 100).is_err(), c.is_control() && c != '\n' && c != '\t');
        }

        #[test]
        fn composed_and_decomposed_accents_become_the_same(name in "[a-zäöüéñ]{1,20}") {
            let decomposed: String = name.nfd().collect();
            prop_assert_eq!(normalize_line(&decomposed, 20), Ok(name));
        }
    }

    #[test]
    fn errors_name_the_reason() {
        assert_eq!(normalize_line(" \u{3000}\t", 5), Err(TextFault::Empty));
        assert_eq!(normalize_line("abcdef", 5), Err(TextFault::TooLong { max: 5 }));
        assert_eq!(normalize_line("a\u{0}b", 5), Err(TextFault::Control));
        assert_eq!(normalize_line("🏉🏉🏉🏉🏉", 5).unwrap(), "🏉🏉🏉🏉🏉");
    }

    #[test]
    fn wildcards_are_escaped_in_patterns() {
        assert_eq!(contains_pattern("50%_Ä"), "%50\\%\\_ä%");
        assert!(
            is_color("#00FFaa")
                && !is_color("#00ff")
                && !is_color("00ffaa7")
                && !is_color("#00ffé")
        );
    }
}
