//! Email addresses and phone numbers.

/// The maximum number of bytes of an email address (RFC 5321).
const MAX_EMAIL_BYTES: usize = 254;

/// Whether a text has the form of an email address: a name, one `@` and a domain. Only an email that arrives proves
/// that the address exists.
pub fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else { return false };
    let plain = |c: char| {
        !c.is_whitespace()
            && !c.is_control()
            && !matches!(c, '<' | '>' | ',' | ';' | '"' | '(' | ')' | '[' | ']' | '\\')
    };
    let labels = || domain.split('.');
    text.len() <= MAX_EMAIL_BYTES
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

/// Normalizes a phone number for comparing: only digits, with a leading `+` if it has a country code. Returns `None` if
/// it has fewer than 3 or more than 15 digits.
pub fn normalize_phone(text: &str) -> Option<String> {
    // The number ends where an extension starts.
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
    fn email_addresses_have_a_name_and_a_domain() {
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
    fn separators_in_phone_numbers_are_ignored() {
        for same in ["+351 912 345 678", "00351912345678", "+351-912-345-678", "(+351) 912 345 678"]
        {
            assert_eq!(normalize_phone(same).as_deref(), Some("+351912345678"), "{same}");
        }
        assert_eq!(normalize_phone("555-0100 x12").as_deref(), Some("5550100"));
        assert_eq!(normalize_phone("112").as_deref(), Some("112"));
        for none in ["", "12", "call me", "1234567890123456"] {
            assert_eq!(normalize_phone(none), None, "{none}");
        }
    }
}
