//! The installation's key for what it seals and signs, one key for each purpose.

use hmac::{Hmac, KeyInit, Mac};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use sha2::Sha256;

/// The keys of this installation; all nodes share them.
#[derive(Clone)]
pub struct Secrets {
    root: [u8; 32],
    /// The root before the operator set a secret: what was sealed then can still be opened.
    earlier: Option<[u8; 32]>,
}

/// A key for one purpose.
#[derive(Clone)]
pub struct SealKey {
    key: [u8; 32],
    earlier: Option<[u8; 32]>,
}

/// How many bytes of something sealed are its nonce.
const NONCE: usize = 12;

impl Secrets {
    /// Keys that are made from the installation's and, where the operator has set one, a secret that
    /// does not lie in the database.
    pub fn new(installation: [u8; 32], secret: Option<&str>) -> Self {
        match secret {
            Some(secret) => {
                let root = mac(&installation, &[b"touchline secret ", secret.as_bytes()]);
                Self { root, earlier: Some(installation) }
            }
            None => Self { root: installation, earlier: None },
        }
    }

    /// The key for a purpose: nothing sealed for another purpose is ever taken for this one.
    pub fn key(&self, purpose: &'static str) -> SealKey {
        let derive = |root: &[u8; 32]| mac(root, &[b"touchline ", purpose.as_bytes()]);
        SealKey { key: derive(&self.root), earlier: self.earlier.as_ref().map(derive) }
    }
}

impl SealKey {
    /// What only this installation can make of these parts.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.key, parts)
    }

    /// The key itself, for a cipher.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.key
    }

    /// Seals something so that only this installation can read it, and only as what `about` says.
    pub fn seal(&self, dice: &kit::Dice, about: &[u8], plain: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE] = dice.bytes();
        let mut sealed = plain.to_vec();
        cipher(&self.key)
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(about),
                &mut sealed,
            )
            .expect("what is sealed here is short");
        [nonce.as_slice(), &sealed].concat()
    }

    /// What was sealed, unless it was altered, or sealed by somebody else or as something else.
    pub fn open(&self, about: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE)?;
        let with = |key: &[u8; 32]| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut text = sealed.to_vec();
            let plain = cipher(key).open_in_place(nonce, Aad::from(about), &mut text).ok()?;
            Some(plain.to_vec())
        };
        with(&self.key).or_else(|| with(self.earlier.as_ref()?))
    }
}

fn cipher(key: &[u8; 32]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key of thirty-two bytes fits");
    LessSafeKey::new(key)
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length fits");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_by_its_own_key_only() {
        let dice = kit::Dice::system();
        let key = Secrets::new([1; 32], None).key("totp");
        let sealed = key.seal(&dice, b"ana", b"seed");
        assert_eq!(key.open(b"ana", &sealed).as_deref(), Some(&b"seed"[..]));
        assert_ne!(sealed, key.seal(&dice, b"ana", b"seed"));
        assert!(key.open(b"bo", &sealed).is_none() && key.open(b"ana", &sealed[..9]).is_none());
        assert!(Secrets::new([1; 32], None).key("csrf").open(b"ana", &sealed).is_none());
        let mut altered = sealed.clone();
        altered[NONCE] ^= 1;
        assert!(key.open(b"ana", &altered).is_none());
    }

    #[test]
    fn a_secret_set_later_opens_what_was_sealed_before_and_hides_the_rest() {
        let dice = kit::Dice::system();
        let (plain, secret) = (Secrets::new([1; 32], None), Secrets::new([1; 32], Some("hush")));
        let before = plain.key("totp").seal(&dice, b"ana", b"seed");
        assert!(secret.key("totp").open(b"ana", &before).is_some());
        let after = secret.key("totp").seal(&dice, b"ana", b"seed");
        assert!(plain.key("totp").open(b"ana", &after).is_none());
        assert!(Secrets::new([1; 32], Some("other")).key("totp").open(b"ana", &after).is_none());
    }
}
