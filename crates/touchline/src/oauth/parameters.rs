//! The parameters of a request by an app: read pair by pair, since one that stands there twice is a
//! fault and an empty one counts as absent.

use super::refusal::{Refusal, Told};

/// The parameters as bytes, in the order they came, empty ones left out.
#[derive(Debug, Clone, Default)]
pub struct Parameters(Vec<(Vec<u8>, Vec<u8>)>);

impl Parameters {
    /// Reads a query or the body of a form.
    pub fn parse(text: &[u8]) -> Self {
        let pairs = text.split(|b| *b == b'&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| match pair.iter().position(|b| *b == b'=') {
            Some(place) => (decoded(&pair[..place]), decoded(&pair[place + 1..])),
            None => (decoded(pair), Vec::new()),
        });
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Every value of a parameter.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let named = self.0.iter().filter(move |(known, _)| known == name.as_bytes());
        named.map(|(_, value)| value.as_slice())
    }

    /// The value of a parameter that stands there once or not at all.
    pub fn bytes(&self, name: &str) -> Told<Option<&[u8]>> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(Refusal::invalid_request("A parameter stands there more than once."));
        }
        Ok(first)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> Told<Option<&str>> {
        let Some(bytes) = self.bytes(name)? else { return Ok(None) };
        let text = std::str::from_utf8(bytes);
        text.map(Some).map_err(|_| Refusal::invalid_request("A parameter is not valid UTF-8."))
    }
}

/// Takes the encoding of forms off. What is not properly encoded stays as it is.
pub fn decoded(text: &[u8]) -> Vec<u8> {
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
    fn pairs_are_read_one_by_one() {
        let read = Parameters::parse(b"a=1&b=%20+%zz&&a=2&c=&c=3&d&e=x=y&%66=%FF");
        assert!(read.bytes("a").is_err());
        assert_eq!(read.text("b"), Ok(Some("  %zz")));
        assert_eq!((read.text("c"), read.text("d")), (Ok(Some("3")), Ok(None)));
        assert_eq!((read.text("e"), read.bytes("f")), (Ok(Some("x=y")), Ok(Some(&[255][..]))));
        assert!(read.text("f").is_err());
    }

    proptest! {
        #[test]
        fn whatever_bytes_are_encoded_come_back(bytes: Vec<u8>) {
            let text = format!("x={}", crate::oauth::redirect::encoded(&bytes));
            let read = Parameters::parse(text.as_bytes());
            prop_assert_eq!(read.bytes("x").unwrap().unwrap_or_default(), &bytes[..]);
        }

        #[test]
        fn no_text_breaks_the_reader(bytes: Vec<u8>) {
            let _ = Parameters::parse(&bytes).text("a");
        }
    }
}
