//! Signatures of backups, by an Ed25519 key that the operator keeps apart from the backups.
//!
//! The signature covers the manifest, byte for byte. The manifest has the hash of every table, the migrations and the
//! format, so that everything that a restore reads is covered.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kit::Dice;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::{Fault, private_file, told};

/// What a key file begins with.
const SIGNING: &str = "touchline-backup-signing-key:";
const PUBLIC: &str = "touchline-backup-public-key:";
/// What is signed before the manifest, so that the key signs nothing but manifests of backups.
const CONTEXT: &[u8] = b"touchline backup manifest 1\n";

/// A key that signs backups.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

/// The key that checks what a signing key has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

/// The signature of a manifest, as the archive holds it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Signature {
    algorithm: String,
    public_key: String,
    value: String,
}

/// What is known about who made a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was signed with the key that was given.
    Verified,
    /// It is signed, but no key was given to check the signature.
    Unchecked,
    /// It is not signed.
    Unsigned,
}

impl Origin {
    /// What the operator is told about it.
    pub fn notice(self) -> &'static str {
        match self {
            Self::Verified => "The signature is valid.",
            Self::Unchecked => {
                "This backup is signed, but no key was given: Touchline can tell that it is complete but not who made it. \
                 Give the public key with --key."
            }
            Self::Unsigned => {
                "This backup is not signed: Touchline can tell that it is complete but not who made it."
            }
        }
    }
}

impl SigningKey {
    /// A new key.
    pub fn generate(dice: &Dice) -> Result<Self, Fault> {
        Self::from_seed(dice.bytes())
    }

    fn from_seed(seed: [u8; 32]) -> Result<Self, Fault> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
        pair.map(|pair| Self { seed, pair }).map_err(|error| error.to_string())
    }

    /// Reads a key file.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path).map_err(told(path))?;
        let seed = decoded(&text, SIGNING).and_then(|bytes| bytes.try_into().ok());
        let seed = seed.ok_or_else(|| format!("{}: not a backup signing key", path.display()))?;
        Self::from_seed(seed)
    }

    /// Writes the key to a new file that only its owner can read, and the public key beside it. Returns the path of the
    /// public key.
    pub fn write(&self, path: &Path) -> Result<PathBuf, Fault> {
        let public = path.with_added_extension("pub");
        for file in [path, &public] {
            if file.exists() {
                return Err(format!("{} exists already; choose another file", file.display()));
            }
        }
        let put = |path: &Path, name: &str, bytes: &[u8]| {
            let mut file: File = private_file(path)?;
            writeln!(file, "{name} {}", STANDARD.encode(bytes))?;
            file.sync_all()
        };
        put(path, SIGNING, &self.seed).map_err(told(path))?;
        put(&public, PUBLIC, &self.public().0).map_err(told(&public))?;
        Ok(public)
    }

    /// The key that checks signatures of this one.
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
    /// Reads a file with a public key. A file with a signing key will do as well.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path).map_err(told(path))?;
        match decoded(&text, PUBLIC).filter(|bytes| bytes.len() == 32) {
            Some(bytes) => Ok(Self(bytes)),
            None if text.starts_with(SIGNING) => Ok(SigningKey::read(path)?.public()),
            None => Err(format!("{}: not a public key for backups", path.display())),
        }
    }

    fn verifies(&self, signature: &Signature, manifest: &[u8]) -> bool {
        let signed = STANDARD.decode(&signature.value).unwrap_or_default();
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        signature.algorithm == "ed25519"
            && key.verify(&[CONTEXT, manifest].concat(), &signed).is_ok()
    }
}

/// What a manifest's signature says of where it comes from. With a key, anything but its own signature is refused.
pub(super) fn check(
    manifest: &[u8],
    signature: Option<&Signature>,
    key: Option<&PublicKey>,
) -> Result<Origin, Fault> {
    match (signature, key) {
        (None, None) => Ok(Origin::Unsigned),
        (Some(_), None) => Ok(Origin::Unchecked),
        (None, Some(_)) => {
            Err("the backup is not signed, but a key was given to check it".to_owned())
        }
        (Some(signature), Some(key)) if key.verifies(signature, manifest) => Ok(Origin::Verified),
        (Some(_), Some(_)) => {
            Err("the signature is wrong: the backup was changed, or signed with another key"
                .to_owned())
        }
    }
}

fn decoded(text: &str, name: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.strip_prefix(name)?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_key_verifies_the_same_bytes() {
        let key = SigningKey::generate(&Dice::seeded(1)).unwrap();
        let other = SigningKey::generate(&Dice::seeded(2)).unwrap().public();
        let signature = key.sign(b"manifest");
        let (own, signed) = (key.public(), Some(&signature));
        assert_eq!(check(b"manifest", signed, Some(&own)), Ok(Origin::Verified));
        assert_eq!(check(b"manifest", signed, None), Ok(Origin::Unchecked));
        assert_eq!(check(b"manifest", None, None), Ok(Origin::Unsigned));
        assert!(check(b"Manifest", signed, Some(&own)).is_err());
        assert!(check(b"manifest", signed, Some(&other)).is_err());
        assert!(check(b"manifest", None, Some(&own)).is_err());
    }
}
