//! The pseudo-locale: English with accents, in brackets, and longer. Text without brackets is not translated.
#![cfg(any(debug_assertions, test))]

/// `Save {count}` becomes `⟦Şȧṽḗ {count} ···⟧`. Placeholders, HTML tags and entities stay as they are.
pub(crate) fn pseudo(text: &str) -> String {
    let mut result = String::from("⟦");
    let (mut end, mut letters) = (None, 0_usize);
    for c in text.chars() {
        match (end, c) {
            (Some(last), _) => {
                if c == last || (last == ';' && c == ' ') {
                    end = None;
                }
                result.push(c);
            }
            (None, '{' | '<' | '&') => {
                end = Some(match c {
                    '{' => '}',
                    '<' => '>',
                    _ => ';',
                });
                result.push(c);
            }
            (None, _) => {
                letters += 1;
                result.push(accented(c));
            }
        }
    }
    // Translations are often longer than the English text.
    result.push(' ');
    result.extend(std::iter::repeat_n('·', (letters * 2 / 5).max(1)));
    result.push('⟧');
    result
}

fn accented(c: char) -> char {
    const PLAIN: &str = "abcdeghijklnoprstuvwyzACDEGHIKLNORSTUWYZ";
    const ACCENTED: &str = "ȧƀƈḓḗɠħīĵķŀƞǿƥřşŧŭṽẇẏẑȦƇḒḖƓĦĪĶĿȠǾŘŞŦŬẆẎẐ";
    let place = PLAIN.chars().position(|plain| plain == c);
    place.and_then(|place| ACCENTED.chars().nth(place)).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_markup_stay() {
        assert_eq!(pseudo("Save"), "⟦Şȧṽḗ ·⟧");
        let text = pseudo("Read <a href=\"{url}\">it</a>, {name} &amp; Co");
        assert!(text.contains("<a href=\"{url}\">īŧ</a>, {name} &amp; Ƈǿ"), "{text}");
    }
}
