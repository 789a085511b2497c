//! Tokens of unsubscribe links: a signed pair of account and person, so that nobody has to sign in.
//!
//! Nothing is stored. A token only allows the holder to unsubscribe the person and to subscribe them again. The
//! signature includes the address that the link was sent to, so a link is no longer valid when the person's address
//! changes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use kit::text;
use sha2::Sha256;

use crate::ids::{AccountId, PersonId};
use crate::secrets::hmac;

/// Length of the truncated signature, in bytes.
const SIGNATURE_BYTES: usize = 16;
/// Length of a token in characters: two ids and the signature, in base64.
const TOKEN_CHARS: usize = 64;

/// The key that signs the links. All nodes of an installation share it.
#[derive(Clone)]
pub struct UnsubscribeKey([u8; 32]);

impl UnsubscribeKey {
    /// Derives the key from the key of the installation, so that signatures for other purposes are not valid here.
    pub fn derive(installation: &[u8; 32]) -> Self {
        Self(hmac(installation, &[b"touchline unsubscribe link"]).finalize().into_bytes().into())
    }

    /// The token for a person of an account who has this email address.
    pub fn token(&self, account: AccountId, person: PersonId, email: &str) -> String {
        let mut bytes = [account.bits().to_be_bytes(), person.bits().to_be_bytes()].concat();
        let signature = self.signature(&bytes, email).finalize().into_bytes();
        bytes.extend_from_slice(&signature[..SIGNATURE_BYTES]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn signature(&self, ids: &[u8], email: &str) -> Hmac<Sha256> {
        hmac(&self.0, &[ids, text::fold_case(email).as_bytes()])
    }

    /// Whether the signature of a token is valid for this email address.
    pub fn verify(&self, token: &str, email: &str) -> bool {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return false };
        let Some(at) = bytes.len().checked_sub(SIGNATURE_BYTES) else { return false };
        let (ids, signature) = bytes.split_at(at);
        self.signature(ids, email).verify_truncated_left(signature).is_ok()
    }

    /// The account and person of a token. Does not check the signature, because that needs the person's address: see
    /// [`Self::verify`].
    pub fn parse(token: &str) -> Option<(AccountId, PersonId)> {
        let token = Some(token).filter(|token| token.len() == TOKEN_CHARS)?;
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (account, rest) = bytes.split_first_chunk()?;
        let (person, _) = rest.split_first_chunk()?;
        let (account, person) = (u128::from_be_bytes(*account), u128::from_be_bytes(*person));
        Some((AccountId::from_bits(account), PersonId::from_bits(person)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_round_trips(account: u128, person: u128, key: [u8; 32]) {
            let key = UnsubscribeKey::derive(&key);
            let ids = (AccountId::from_bits(account), PersonId::from_bits(person));
            let token = key.token(ids.0, ids.1, "Ana@example.org");
            prop_assert_eq!(token.len(), TOKEN_CHARS);
            prop_assert_eq!(UnsubscribeKey::parse(&token), Some(ids));
            prop_assert!(key.verify(&token, "ana@example.org"));
            prop_assert!(!key.verify(&token, "other@example.org"));
        }

        #[test]
        fn a_flipped_bit_invalidates_the_token(person: u128, at in 0usize..48, bit in 0u8..8) {
            let key = UnsubscribeKey::derive(&[7; 32]);
            let token = key.token(AccountId::from_bits(1), PersonId::from_bits(person), "a@b.org");
            let mut bytes = URL_SAFE_NO_PAD.decode(token).unwrap();
            bytes[at] ^= 1 << bit;
            prop_assert!(!key.verify(&URL_SAFE_NO_PAD.encode(bytes), "a@b.org"));
        }

        #[test]
        fn arbitrary_text_is_rejected(text in "\\PC{0,90}") {
            prop_assert!(!UnsubscribeKey::derive(&[7; 32]).verify(&text, "a@b.org"));
            // Must not panic.
            let _ = UnsubscribeKey::parse(&text);
        }
    }

    #[test]
    fn a_token_of_another_installation_is_rejected() {
        let token = UnsubscribeKey::derive(&[7; 32]).token(
            AccountId::from_bits(1),
            PersonId::from_bits(2),
            "a@b.org",
        );
        assert!(!UnsubscribeKey::derive(&[8; 32]).verify(&token, "a@b.org"));
    }
}
