//! Signatures of backups with an Ed25519 key that the operator stores apart from the backups.
//!
//! The signature covers the bytes of the manifest. The manifest contains the hash of every table, the
//! migrations and the format, so everything that a restore reads is covered.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kit::Rng;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::{Fault, private_file, with_path};

/// The prefixes of key files.
const SIGNING_KEY_PREFIX: &str = "touchline-backup-signing-key:";
const PUBLIC_KEY_PREFIX: &str = "touchline-backup-public-key:";
/// Signed in front of the manifest, so that a signature is valid only for manifests of backups.
const CONTEXT: &[u8] = b"touchline backup manifest 1\n";

/// A key that signs backups.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

/// The key that verifies signatures of a signing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

/// The signature of a manifest, as it is stored in the archive.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Signature {
    algorithm: String,
    public_key: String,
    value: String,
}

/// What the signature of a backup proves about its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is signed with the given key.
    Verified,
    /// It is signed, but no key was given to verify the signature.
    Unchecked,
    /// It is not signed.
    Unsigned,
}

impl Origin {
    /// The message for the operator.
    pub fn notice(self) -> &'static str {
        match self {
            Self::Verified => "The signature is valid.",
            Self::Unchecked => {
                "The backup is signed, but the signature was not verified. Pass the public key with --key to verify who \
                 made it."
            }
            Self::Unsigned => "The backup is not signed, so its origin cannot be verified.",
        }
    }
}

impl SigningKey {
    /// Generates a key.
    pub fn generate(rng: &Rng) -> Result<Self, Fault> {
        Self::from_seed(rng.bytes())
    }

    fn from_seed(seed: [u8; 32]) -> Result<Self, Fault> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
        pair.map(|pair| Self { seed, pair }).map_err(|error| error.to_string())
    }

    /// Reads a key file.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path).map_err(with_path(path))?;
        let seed = decode_key(&text, SIGNING_KEY_PREFIX).and_then(|bytes| bytes.try_into().ok());
        let seed = seed.ok_or_else(|| format!("{}: not a backup signing key", path.display()))?;
        Self::from_seed(seed)
    }

    /// Writes the key to a new file that only its owner can read, and the public key next to it. Returns the
    /// path of the public key.
    pub fn write(&self, path: &Path) -> Result<PathBuf, Fault> {
        let public = path.with_added_extension("pub");
        for file in [path, &public] {
            if file.exists() {
                return Err(format!("{} already exists; choose another file", file.display()));
            }
        }
        let write = |path: &Path, name: &str, bytes: &[u8]| {
            let mut file: File = private_file(path)?;
            writeln!(file, "{name} {}", STANDARD.encode(bytes))?;
            file.sync_all()
        };
        write(path, SIGNING_KEY_PREFIX, &self.seed).map_err(with_path(path))?;
        write(&public, PUBLIC_KEY_PREFIX, &self.public().0).map_err(with_path(&public))?;
        Ok(public)
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.pair.public_key().as_ref().to_vec())
    }

    pub(super) fn sign(&self, manifest: &[u8]) -> Signature {
        Signature {
            algorithm: "ed25519".to_owned(),
            public_key: STANDARD.encode(&self.public().0),
            value: STANDARD.encode(self.pair.sign(&[CONTEXT, manifest].concat())),
        }
    }
}

impl PublicKey {
    /// Reads a public key file. A signing key file is accepted too.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path).map_err(with_path(path))?;
        match decode_key(&text, PUBLIC_KEY_PREFIX).filter(|bytes| bytes.len() == 32) {
            Some(bytes) => Ok(Self(bytes)),
            None if text.starts_with(SIGNING_KEY_PREFIX) => Ok(SigningKey::read(path)?.public()),
            None => Err(format!("{}: not a backup public key", path.display())),
        }
    }

    fn verifies(&self, signature: &Signature, manifest: &[u8]) -> bool {
        let signed = STANDARD.decode(&signature.value).unwrap_or_default();
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        signature.algorithm == "ed25519"
            && key.verify(&[CONTEXT, manifest].concat(), &signed).is_ok()
    }
}

/// Checks the signature of a manifest. With a key, only a valid signature of that key is accepted.
pub(super) fn verify(
    manifest: &[u8],
    signature: Option<&Signature>,
    key: Option<&PublicKey>,
) -> Result<Origin, Fault> {
    match (signature, key) {
        (None, None) => Ok(Origin::Unsigned),
        (Some(_), None) => Ok(Origin::Unchecked),
        (None, Some(_)) => {
            Err("the backup is not signed, but a key was given to verify it".to_owned())
        }
        (Some(signature), Some(key)) if key.verifies(signature, manifest) => Ok(Origin::Verified),
        (Some(_), Some(_)) => {
            Err("the signature is not valid: the backup was changed, or signed with another key"
                .to_owned())
        }
    }
}

fn decode_key(text: &str, name: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.strip_prefix(name)?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_valid_only_for_its_key_and_bytes() {
        let key = SigningKey::generate(&Rng::seeded(1)).unwrap();
        let other = SigningKey::generate(&Rng::seeded(2)).unwrap().public();
        let signature = key.sign(b"manifest");
        let (public, signed) = (key.public(), Some(&signature));
        assert_eq!(verify(b"manifest", signed, Some(&public)), Ok(Origin::Verified));
        assert_eq!(verify(b"manifest", signed, None), Ok(Origin::Unchecked));
        assert_eq!(verify(b"manifest", None, None), Ok(Origin::Unsigned));
        assert!(verify(b"Manifest", signed, Some(&public)).is_err());
        assert!(verify(b"manifest", signed, Some(&other)).is_err());
        assert!(verify(b"manifest", None, Some(&public)).is_err());
    }
}
