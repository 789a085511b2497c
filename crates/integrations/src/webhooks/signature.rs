//! Signatures according to Standard Webhooks. With them the receiver verifies that a notification comes from us, was not
//! altered and is recent.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use kit::{Rng, Timestamp};

/// The prefix of a secret in text form.
const PREFIX: &str = "whsec_";

/// The secret that signs the notifications of a webhook.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Generates a new random secret.
    pub fn generate(rng: &Rng) -> Self {
        Self(rng.bytes::<32>().to_vec())
    }

    /// The secret with these bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes of the secret, to be encrypted for storage.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret as text, to be shown once.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// The signature of a notification that is sent at this time.
    pub fn sign(&self, id: &str, at: Timestamp, body: &[u8]) -> String {
        self.signer().sign(id, at, body)
    }

    /// A signer for many notifications, which computes only once what all signatures have in common.
    pub fn signer(&self) -> Signer {
        Signer(Hmac::new_from_slice(&self.0).expect("HMAC accepts keys of any length"))
    }
}

/// Signs the notifications of a webhook.
pub struct Signer(Hmac<Sha256>);

impl Signer {
    /// See [`Secret::sign`].
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

    /// The expected signatures were made with the reference implementation of Standard Webhooks.
    #[test]
    fn signatures_match_the_reference_implementation() {
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
