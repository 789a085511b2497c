//! Text that people type: normalised, trimmed, bounded, free of control characters.
//!
//! Length is counted in characters, after normalising to NFC, so that `é` is one character however
//! a keyboard composed it. Nothing inside the text is removed: what cannot be kept is refused.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Why a text was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFault {
    /// Nothing is left after trimming.
    Empty,
    /// More characters than allowed.
    TooLong {
        /// How many are allowed.
        max: usize,
    },
    /// A NUL, an escape or another character that is not text.
    Control,
}

/// A text on one line, such as a name: no line breaks or tabs either.
pub fn line(text: &str, max: usize) -> Result<String, TextFault> {
    checked(text, max, char::is_control)
}

/// A text of several lines, such as a description: line feeds and tabs are kept.
pub fn block(text: &str, max: usize) -> Result<String, TextFault> {
    checked(text, max, |c| c.is_control() && c != '\n' && c != '\t')
}

fn checked(text: &str, max: usize, refused: fn(char) -> bool) -> Result<String, TextFault> {
    let text = text.trim();
    // Characters that show nothing alone would make a name that nobody can see.
    if text.chars().all(|c| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')) {
        return Err(TextFault::Empty);
    }
    if text.chars().any(refused) {
        return Err(TextFault::Control);
    }
    let text = normalised(text);
    // Cheap bound first: a character has at least one byte.
    if text.len() > max && text.chars().count() > max {
        return Err(TextFault::TooLong { max });
    }
    Ok(text.into_owned())
}

/// The text in Unicode's normal form C.
pub fn normalised(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// The text as it is compared and searched: case is ignored, so `Hawks` and `HAWKS` are one name.
pub fn folded(text: &str) -> String {
    // By way of capitals, so that `Straße` and `STRASSE` are one.
    normalised(&text.to_uppercase().to_lowercase()).into_owned()
}

/// A pattern for `like … escape '\'` that finds the folded text anywhere, wildcards taken literally.
pub fn contains_pattern(text: &str) -> String {
    literal_pattern(&folded(text))
}

/// The same of the text as it is typed, whatever its case means.
pub fn literal_pattern(text: &str) -> String {
    format!("%{}%", literal(text))
}

/// Text in a pattern for `like … escape '\'`, wildcards taken literally.
pub fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A colour as browsers write it: `#` and six hexadecimal digits.
pub fn is_colour(text: &str) -> bool {
    text.strip_prefix('#')
        .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_is_stable(text in "\\PC{0,80}") {
            if let Ok(kept) = block(&text, 60) {
                prop_assert_eq!(block(&kept, 60), Ok(kept.clone()));
                prop_assert!(kept.chars().count() <= 60);
                prop_assert_eq!(kept.trim(), &kept);
            }
        }

        #[test]
        fn control_characters_never_pass(before in "[a-z]{1,9}", code in 0u32..0xa0, after in "[a-z]{1,9}") {
            let c = char::from_u32(code).unwrap();
            let text = format!("{before}{c}{after}");
            prop_assert_eq!(line(&text, 100).is_err(), c.is_control());
            prop_assert_eq!(block(&text, 100).is_err(), c.is_control() && c != '\n' && c != '\t');
        }

        #[test]
        fn both_ways_to_write_an_accent_are_one(name in "[a-zäöüéñ]{1,20}") {
            let decomposed: String = name.nfd().collect();
            prop_assert_eq!(line(&decomposed, 20), Ok(name));
        }
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(line(" \u{3000}\t", 5), Err(TextFault::Empty));
        assert_eq!(line("abcdef", 5), Err(TextFault::TooLong { max: 5 }));
        assert_eq!(line("a\u{0}b", 5), Err(TextFault::Control));
        assert_eq!(line("🏉🏉🏉🏉🏉", 5).unwrap(), "🏉🏉🏉🏉🏉");
    }

    #[test]
    fn patterns_take_wildcards_literally() {
        assert_eq!(contains_pattern("50%_Ä"), "%50\\%\\_ä%");
        assert!(
            is_colour("#00FFaa")
                && !is_colour("#00ff")
                && !is_colour("00ffaa7")
                && !is_colour("#00ffé")
        );
    }
}
