//! The installation's key for what it seals and signs, one key for each purpose.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The keys of this installation; all nodes share them.
#[derive(Clone)]
pub struct Secrets([u8; 32]);

/// A key for one purpose.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

impl Secrets {
    /// Keys that are made from the installation's.
    pub fn new(installation: [u8; 32]) -> Self {
        Self(installation)
    }

    /// The key for a purpose: nothing sealed for another purpose is ever taken for this one.
    pub fn key(&self, purpose: &'static str) -> SealKey {
        SealKey(mac(&self.0, &[b"touchline ", purpose.as_bytes()]))
    }
}

impl SealKey {
    /// What only this installation can make of these parts.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.0, parts)
    }

    /// The key itself, for a cipher.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length fits");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
