//! Parameters of OAuth requests. As RFC 6749 section 3.1 requires, a parameter must not be sent more than once, and an
//! empty one counts as omitted.

use super::error::{OAuthError, OAuthResult};

/// The parameters as bytes, in their original order, without empty ones.
#[derive(Debug, Clone, Default)]
pub struct Parameters(Vec<(Vec<u8>, Vec<u8>)>);

impl Parameters {
    /// Parses a query string or a form body.
    pub fn parse(text: &[u8]) -> Self {
        let pairs = text.split(|b| *b == b'&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| match pair.iter().position(|b| *b == b'=') {
            Some(equals) => (form_decode(&pair[..equals]), form_decode(&pair[equals + 1..])),
            None => (form_decode(pair), Vec::new()),
        });
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// All values of a parameter.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let matching = self.0.iter().filter(move |(key, _)| key == name.as_bytes());
        matching.map(|(_, value)| value.as_slice())
    }

    /// The value of a parameter. Fails if it was sent more than once.
    pub fn bytes(&self, name: &str) -> OAuthResult<Option<&[u8]>> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(OAuthError::invalid_request("A parameter was sent more than once."));
        }
        Ok(first)
    }

    /// The value of a parameter as text. Fails if it was sent more than once or is not valid UTF-8.
    pub fn text(&self, name: &str) -> OAuthResult<Option<&str>> {
        let Some(bytes) = self.bytes(name)? else { return Ok(None) };
        let text = std::str::from_utf8(bytes);
        text.map(Some).map_err(|_| OAuthError::invalid_request("A parameter is not valid UTF-8."))
    }
}

/// Decodes `application/x-www-form-urlencoded` text. Invalid escapes are kept as they are.
pub fn form_decode(text: &[u8]) -> Vec<u8> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let pair = tail.first().zip(tail.get(1)).filter(|_| *first == b'%');
        let value = pair.and_then(|(high, low)| Some(digit(*high)? * 16 + digit(*low)?));
        if let Some(value) = value {
            bytes.push(value);
            rest = &tail[2..];
        } else {
            bytes.push(if *first == b'+' { b' ' } else { *first });
            rest = tail;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn duplicates_empty_values_and_escapes_are_handled() {
        let parsed = Parameters::parse(b"a=1&b=%20+%zz&&a=2&c=&c=3&d&e=x=y&%66=%FF");
        assert!(parsed.bytes("a").is_err());
        assert_eq!(parsed.text("b"), Ok(Some("  %zz")));
        assert_eq!((parsed.text("c"), parsed.text("d")), (Ok(Some("3")), Ok(None)));
        assert_eq!((parsed.text("e"), parsed.bytes("f")), (Ok(Some("x=y")), Ok(Some(&[255][..]))));
        assert!(parsed.text("f").is_err());
    }

    proptest! {
        #[test]
        fn encoded_bytes_round_trip(bytes: Vec<u8>) {
            let text = format!("x={}", crate::oauth::redirect::percent_encode(&bytes));
            let parsed = Parameters::parse(text.as_bytes());
            prop_assert_eq!(parsed.bytes("x").unwrap().unwrap_or_default(), &bytes[..]);
        }

        #[test]
        fn parsing_never_panics(bytes: Vec<u8>) {
            let _ = Parameters::parse(&bytes).text("a");
        }
    }
}
