//! Stripe's signatures: whether what arrives at our door comes from them, is whole and is fresh.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use kit::Timestamp;
use sha2::Sha256;

/// How old, or how far ahead of our clock, a signature may be.
const TOLERANCE: Duration = Duration::from_secs(300);
/// More signatures than these are nobody's: while a secret is replaced there are two.
const MOST: usize = 8;

/// Whether one of the header's signatures is of this body with this secret, made lately.
pub fn holds(header: &str, body: &[u8], secret: &str, now: Timestamp) -> bool {
    let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
    let Some((_, told)) = parts().find(|(name, _)| *name == "t") else { return false };
    let Ok(seconds) = told.parse::<i64>() else { return false };
    let far = now.seconds().abs_diff(seconds);
    if far > TOLERANCE.as_secs() {
        return false;
    }
    let signatures = parts().filter(|(name, _)| *name == "v1").take(MOST);
    let mut known = signatures.filter_map(|(_, text)| bytes(text));
    known.any(|signature| {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length fits");
        mac.update(told.as_bytes());
        mac.update(b".");
        mac.update(body);
        // Takes as long whatever the signature is.
        mac.verify_slice(&signature).is_ok()
    })
}

/// The bytes of a text of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_test_secret";
    const BODY: &[u8] = br#"{"id":"evt_test"}"#;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn signed(seconds: i64, body: &[u8], secret: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{seconds}.").as_bytes());
        mac.update(body);
        let bytes = mac.finalize().into_bytes();
        bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
    }

    /// Made with `openssl dgst -sha256 -hmac`.
    #[test]
    fn signatures_are_those_that_others_make() {
        let header =
            "t=1767225600,v1=6e0750b1f973b6d7ac1efcaaac1c8bbda865dbdbfc1656b7c5c1fa9651ee0ab0";
        assert!(holds(header, BODY, SECRET, at(1_767_225_600)));
    }

    #[test]
    fn one_of_several_is_enough() {
        let good = signed(1000, BODY, SECRET);
        let other = signed(1000, BODY, "whsec_other");
        for header in [
            format!("t=1000,v1={good}"),
            format!("t=1000,v1={other},v1={good},v0=00"),
            format!(" t=1000 , v1={good}"),
        ] {
            assert!(holds(&header, BODY, SECRET, at(1000)), "{header}");
        }
    }

    #[test]
    fn what_is_stale_altered_or_malformed_is_not_believed() {
        let good = signed(1000, BODY, SECRET);
        let header = format!("t=1000,v1={good}");
        assert!(holds(&header, BODY, SECRET, at(1300)) && holds(&header, BODY, SECRET, at(700)));
        assert!(!holds(&header, BODY, SECRET, at(1301)) && !holds(&header, BODY, SECRET, at(699)));
        assert!(!holds(&header, b"{}", SECRET, at(1000)));
        assert!(!holds(&header, BODY, "whsec_other", at(1000)));
        for header in [
            String::new(),
            "t=1000".to_owned(),
            format!("v1={good}"),
            format!("t=x,v1={good}"),
            format!("t=1001,v1={good}"),
            format!("t=1000,v0={good}"),
            format!("t=1000,v1={}", &good[1..]),
            "t=1000,v1=".to_owned(),
            "t=1000,v1=zz".to_owned(),
            format!("t=-9223372036854775808,v1={good}"),
        ] {
            assert!(!holds(&header, BODY, SECRET, at(1000)), "{header}");
        }
    }
}
