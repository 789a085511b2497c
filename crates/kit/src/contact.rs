//! How people are reached: addresses of mail and telephone numbers.

/// The longest address that mail servers carry (RFC 5321).
const EMAIL: usize = 254;

/// Whether a text can be an address of mail: something, one `@`, a domain. Nothing but a letter that
/// arrives proves more.
pub fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else { return false };
    let plain = |c: char| {
        !c.is_whitespace()
            && !c.is_control()
            && !matches!(c, '<' | '>' | ',' | ';' | '"' | '(' | ')' | '[' | ']' | '\\')
    };
    let labels = || domain.split('.');
    text.len() <= EMAIL
        && (1..=64).contains(&name.len())
        && !name.contains('@')
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && text.chars().all(|c| plain(c) || c == '@')
        && labels().count() >= 2
        && labels().all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        })
}

/// A telephone number in the form in which numbers are compared: digits, with `+` in front if it says
/// its country. `None` if it has too few digits to be one.
pub fn phone_normalized(text: &str) -> Option<String> {
    // An extension is not part of the number that is dialled.
    let number = text.split(['x', 'X', '#', ';']).next().unwrap_or_default();
    let digits: String = number
        .chars()
        .filter_map(|c| c.to_digit(10))
        .filter_map(|d| char::from_digit(d, 10))
        .collect();
    let international = number.trim_start_matches([' ', '(']).starts_with('+');
    let (plus, digits) = match digits.strip_prefix("00") {
        Some(rest) if !international => ("+", rest),
        _ if international => ("+", digits.as_str()),
        _ => ("", digits.as_str()),
    };
    (3..=15).contains(&digits.len()).then(|| format!("{plus}{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_name_and_a_domain() {
        for good in
            ["ana@example.org", "a.b+c@mail.example.co.uk", "zoë@exämple.org", "o'neil@x-y.io"]
        {
            assert!(is_email(good), "{good}");
        }
        let long = format!("{}@example.org", "a".repeat(65));
        for wrong in [
            "",
            "ana",
            "@x.org",
            "ana@",
            "ana@localhost",
            "a b@x.org",
            "a@b@x.org",
            "a@x..org",
            "a@-x.org",
            "a@x.org>",
            "a..b@x.org",
            &long,
        ] {
            assert!(!is_email(wrong), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_compared_without_what_people_put_between_digits() {
        for same in ["+351 912 345 678", "00351912345678", "+351-912-345-678", "(+351) 912 345 678"]
        {
            assert_eq!(phone_normalized(same).as_deref(), Some("+351912345678"), "{same}");
        }
        assert_eq!(phone_normalized("555-0100 x12").as_deref(), Some("5550100"));
        assert_eq!(phone_normalized("112").as_deref(), Some("112"));
        for none in ["", "12", "call me", "1234567890123456"] {
            assert_eq!(phone_normalized(none), None, "{none}");
        }
    }
}
