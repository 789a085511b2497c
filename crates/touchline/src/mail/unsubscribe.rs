//! The address by which somebody stops our letters without signing in: who they are, sealed.
//!
//! Nothing is stored. Whoever has the link may stop the letters, or want them again, and no more. It is sealed together
//! with the address it was sent to, so it stops working when the person has another one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use kit::text;
use sha2::Sha256;

use crate::ids::{AccountId, PersonId};

/// How many bytes of the seal are kept.
const SEAL: usize = 16;
/// The length of every token: two ids and the seal, in base64.
const LENGTH: usize = 64;

/// The key that seals the links; all nodes of an installation share it.
#[derive(Clone)]
pub struct LinkKey([u8; 32]);

impl LinkKey {
    /// A key of its own, made from the installation's, so that nothing sealed for another purpose is
    /// ever a link.
    pub fn derive(installation: &[u8; 32]) -> Self {
        Self(mac(installation, b"touchline unsubscribe link").finalize().into_bytes().into())
    }

    /// The token that stands for this person of this account, at this address.
    pub fn token(&self, account: AccountId, person: PersonId, email: &str) -> String {
        let mut bytes = [account.bits().to_be_bytes(), person.bits().to_be_bytes()].concat();
        let seal = self.seal(&bytes, email).finalize().into_bytes();
        bytes.extend_from_slice(&seal[..SEAL]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn seal(&self, ids: &[u8], email: &str) -> Hmac<Sha256> {
        let mut mac = mac(&self.0, ids);
        mac.update(text::folded(email).as_bytes());
        mac
    }

    /// Whether we made this token for somebody with this address.
    pub fn is_for(&self, token: &str, email: &str) -> bool {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return false };
        let Some((ids, seal)) = bytes.len().checked_sub(SEAL).map(|at| bytes.split_at(at)) else {
            return false;
        };
        self.seal(ids, email).verify_truncated_left(seal).is_ok()
    }

    /// Whom a token names. Whether we made it is known once their address is: see [`Self::is_for`].
    pub fn parse(token: &str) -> Option<(AccountId, PersonId)> {
        let token = Some(token).filter(|token| token.len() == LENGTH)?;
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (account, rest) = bytes.split_first_chunk()?;
        let (person, _) = rest.split_first_chunk()?;
        let (account, person) = (u128::from_be_bytes(*account), u128::from_be_bytes(*person));
        Some((AccountId::from_bits(account), PersonId::from_bits(person)))
    }
}

fn mac(key: &[u8; 32], text: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length fits");
    mac.update(text);
    mac
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_link_leads_back_to_its_person(account: u128, person: u128, key: [u8; 32]) {
            let key = LinkKey::derive(&key);
            let ids = (AccountId::from_bits(account), PersonId::from_bits(person));
            let token = key.token(ids.0, ids.1, "Ana@example.org");
            prop_assert_eq!(token.len(), LENGTH);
            prop_assert_eq!(LinkKey::parse(&token), Some(ids));
            prop_assert!(key.is_for(&token, "ana@example.org"));
            prop_assert!(!key.is_for(&token, "other@example.org"));
        }

        #[test]
        fn a_flipped_bit_is_noticed(person: u128, at in 0usize..48, bit in 0u8..8) {
            let key = LinkKey::derive(&[7; 32]);
            let token = key.token(AccountId::from_bits(1), PersonId::from_bits(person), "a@b.org");
            let mut bytes = URL_SAFE_NO_PAD.decode(token).unwrap();
            bytes[at] ^= 1 << bit;
            prop_assert!(!key.is_for(&URL_SAFE_NO_PAD.encode(bytes), "a@b.org"));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,90}") {
            prop_assert!(!LinkKey::derive(&[7; 32]).is_for(&text, "a@b.org"));
            let _ = LinkKey::parse(&text);
        }
    }

    #[test]
    fn another_installation_does_not_open_our_links() {
        let token = LinkKey::derive(&[7; 32]).token(
            AccountId::from_bits(1),
            PersonId::from_bits(2),
            "a@b.org",
        );
        assert!(!LinkKey::derive(&[8; 32]).is_for(&token, "a@b.org"));
    }
}
