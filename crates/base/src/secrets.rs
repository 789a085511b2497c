//! Encryption and signing with keys that are derived from the installation's root key, one for each purpose.

use hmac::{Hmac, KeyInit, Mac};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use sha2::Sha256;

/// The root key of this installation. All nodes share it.
#[derive(Clone)]
pub struct Secrets {
    root: [u8; 32],
    /// The root key without the operator's secret. Data that was sealed before the secret was set can still be opened.
    previous: Option<[u8; 32]>,
}

/// A key for one purpose, derived from the root key.
#[derive(Clone)]
pub struct SealKey {
    key: [u8; 32],
    previous: Option<[u8; 32]>,
}

/// The number of bytes of the nonce at the start of sealed data.
const NONCE_BYTES: usize = 12;

impl Secrets {
    /// Builds the root key from the installation's key, which is in the database, and the operator's secret, if one is
    /// configured, which is not.
    pub fn new(installation: [u8; 32], secret: Option<&str>) -> Self {
        match secret {
            Some(secret) => {
                let root = mac(&installation, &[b"touchline secret ", secret.as_bytes()]);
                Self { root, previous: Some(installation) }
            }
            None => Self { root: installation, previous: None },
        }
    }

    /// Derives the key for a purpose. Data that is sealed for one purpose cannot be opened for another.
    pub fn key(&self, purpose: &'static str) -> SealKey {
        let derive = |root: &[u8; 32]| mac(root, &[b"touchline ", purpose.as_bytes()]);
        SealKey { key: derive(&self.root), previous: self.previous.as_ref().map(derive) }
    }
}

impl SealKey {
    /// Computes the HMAC-SHA256 of the concatenated parts.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.key, parts)
    }

    /// The raw key.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.key
    }

    /// Encrypts and authenticates `plain` (ChaCha20-Poly1305). `about` is additional authenticated data: the same value
    /// is needed to open it.
    pub fn seal(&self, rng: &kit::Rng, about: &[u8], plain: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = rng.bytes();
        let mut sealed = plain.to_vec();
        cipher(&self.key)
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(about),
                &mut sealed,
            )
            .expect("the data is shorter than the cipher's limit");
        [nonce.as_slice(), &sealed].concat()
    }

    /// Decrypts sealed data. Returns `None` if the data was altered, or if the key or `about` is a different one.
    pub fn open(&self, about: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
        let open_with = |key: &[u8; 32]| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut text = sealed.to_vec();
            let plain = cipher(key).open_in_place(nonce, Aad::from(about), &mut text).ok()?;
            Some(plain.to_vec())
        };
        open_with(&self.key).or_else(|| open_with(self.previous.as_ref()?))
    }
}

fn cipher(key: &[u8; 32]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has 32 bytes");
    LessSafeKey::new(key)
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    hmac(key, parts).finalize().into_bytes().into()
}

/// The HMAC-SHA256 of the concatenated parts, not yet finished.
pub fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_data_can_only_be_opened_with_the_same_key() {
        let rng = kit::Rng::system();
        let key = Secrets::new([1; 32], None).key("totp");
        let sealed = key.seal(&rng, b"ana", b"seed");
        assert_eq!(key.open(b"ana", &sealed).as_deref(), Some(&b"seed"[..]));
        assert_ne!(sealed, key.seal(&rng, b"ana", b"seed"));
        assert!(key.open(b"bo", &sealed).is_none() && key.open(b"ana", &sealed[..9]).is_none());
        assert!(Secrets::new([1; 32], None).key("csrf").open(b"ana", &sealed).is_none());
        let mut altered = sealed.clone();
        altered[NONCE_BYTES] ^= 1;
        assert!(key.open(b"ana", &altered).is_none());
    }

    #[test]
    fn data_sealed_before_the_secret_was_set_can_still_be_opened() {
        let rng = kit::Rng::system();
        let (plain, secret) = (Secrets::new([1; 32], None), Secrets::new([1; 32], Some("hush")));
        let before = plain.key("totp").seal(&rng, b"ana", b"seed");
        assert!(secret.key("totp").open(b"ana", &before).is_some());
        let after = secret.key("totp").seal(&rng, b"ana", b"seed");
        assert!(plain.key("totp").open(b"ana", &after).is_none());
        assert!(Secrets::new([1; 32], Some("other")).key("totp").open(b"ana", &after).is_none());
    }
}
