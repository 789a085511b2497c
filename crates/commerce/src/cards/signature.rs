//! Verification of Stripe's webhook signatures.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use kit::Timestamp;
use sha2::Sha256;

/// Maximum difference between the signature's time and our clock, in both directions.
const TOLERANCE: Duration = Duration::from_secs(300);
/// Maximum number of signatures to check. Stripe sends two while a secret is being rolled.
const MAX_SIGNATURES: usize = 8;

/// Whether the header contains a recent signature of this body with this secret.
pub fn verify(header: &str, body: &[u8], secret: &str, now: Timestamp) -> bool {
    let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
    let Some((_, timestamp)) = parts().find(|(name, _)| *name == "t") else { return false };
    let Ok(seconds) = timestamp.parse::<i64>() else { return false };
    let difference = now.seconds().abs_diff(seconds);
    if difference > TOLERANCE.as_secs() {
        return false;
    }
    let signatures = parts().filter(|(name, _)| *name == "v1").take(MAX_SIGNATURES);
    let mut decoded = signatures.filter_map(|(_, text)| decode_hex(text));
    decoded.any(|signature| {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length fits");
        mac.update(timestamp.as_bytes());
        mac.update(b".");
        mac.update(body);
        // Compares in constant time.
        mac.verify_slice(&signature).is_ok()
    })
}

/// Decodes hexadecimal digits.
fn decode_hex(text: &str) -> Option<Vec<u8>> {
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
    fn a_signature_made_with_openssl_is_accepted() {
        let header =
            "t=1767225600,v1=6e0750b1f973b6d7ac1efcaaac1c8bbda865dbdbfc1656b7c5c1fa9651ee0ab0";
        assert!(verify(header, BODY, SECRET, at(1_767_225_600)));
    }

    #[test]
    fn one_valid_signature_among_several_is_enough() {
        let good = signed(1000, BODY, SECRET);
        let other = signed(1000, BODY, "whsec_other");
        for header in [
            format!("t=1000,v1={good}"),
            format!("t=1000,v1={other},v1={good},v0=00"),
            format!(" t=1000 , v1={good}"),
        ] {
            assert!(verify(&header, BODY, SECRET, at(1000)), "{header}");
        }
    }

    #[test]
    fn stale_altered_or_malformed_signatures_are_rejected() {
        let good = signed(1000, BODY, SECRET);
        let header = format!("t=1000,v1={good}");
        assert!(verify(&header, BODY, SECRET, at(1300)) && verify(&header, BODY, SECRET, at(700)));
        assert!(
            !verify(&header, BODY, SECRET, at(1301)) && !verify(&header, BODY, SECRET, at(699))
        );
        assert!(!verify(&header, b"{}", SECRET, at(1000)));
        assert!(!verify(&header, BODY, "whsec_other", at(1000)));
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
            assert!(!verify(&header, BODY, SECRET, at(1000)), "{header}");
        }
    }
}
