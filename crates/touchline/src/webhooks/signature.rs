//! Signatures as Standard Webhooks has them: the receiver checks that a notification comes from us, is
//! whole and is fresh.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use kit::{Dice, Timestamp};

/// What a secret begins with.
const PREFIX: &str = "whsec_";

/// A secret that a webhook's notifications are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A new secret.
    pub fn make(dice: &Dice) -> Self {
        Self(dice.bytes::<32>().to_vec())
    }

    /// The secret with these bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Its bytes, to be sealed.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret as its owner is shown it, once.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// The signature of a notification that is sent at this moment.
    pub fn sign(&self, id: &str, at: Timestamp, body: &[u8]) -> String {
        self.signer().sign(id, at, body)
    }

    /// Signs many with it, and has reckoned beforehand what is the same for all signatures.
    pub fn signer(&self) -> Signer {
        Signer(Hmac::new_from_slice(&self.0).expect("a key of any length fits"))
    }
}

/// Signs notifications of a webhook.
pub struct Signer(Hmac<Sha256>);

impl Signer {
    /// As [`Secret::sign`].
    pub fn sign(&self, id: &str, at: Timestamp, body: &[u8]) -> String {
        let mut mac = self.0.clone();
        for part in [id.as_bytes(), b".", at.seconds().to_string().as_bytes(), b".", body] {
            mac.update(part);
        }
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret, an id, a moment, a body and the signature that the standard's own tools give them.
    #[test]
    fn signatures_are_those_of_the_standard() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let secret = Secret::from_bytes(key);
        for (id, seconds, body, signature) in [
            (
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1_614_265_330,
                r#"{"test": 2432232314}"#,
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
            (
                "evt_01JZX5T8Q4N3V7M2K9R6W1B0CD",
                1_767_225_600,
                r#"{"type":"member.created","data":{"name":"Zoë 🏉"}}"#,
                "v1,m7p0rEdB6bub/3JzRkASglAgfl8EbVbfW1Wbdfb0Ppo=",
            ),
        ] {
            let at = Timestamp::from_micros(seconds * 1_000_000);
            assert_eq!(secret.sign(id, at, body.as_bytes()), signature);
        }
        assert_eq!(secret.reveal(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    }
}
