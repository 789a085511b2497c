//! Random secrets (API keys and tokens): shown once, stored only as a hash, compared in constant time.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::Rng;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Computes the SHA-256 hash.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Compares two byte strings in constant time.
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

/// Encodes bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(half)]));
        }
        text
    })
}

/// The purpose of a [`Token`]. Each has its own prefix, so a token is only accepted for its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An OAuth access token.
    Access,
    /// An OAuth refresh token.
    Refresh,
    /// An OAuth authorization code.
    Code,
    /// The client secret of an OAuth app.
    ClientSecret,
    /// An OAuth authorization request that the user has not decided on yet.
    Request,
    /// The session cookie of a browser.
    Session,
    /// A link that can be used once.
    Link,
    /// An invitation to a club.
    Invitation,
}

impl TokenKind {
    /// The prefix of every token of this kind.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Access => "tlat_",
            Self::Refresh => "tlrt_",
            Self::Code => "tlac_",
            Self::ClientSecret => "tlcs_",
            Self::Request => "tlrq_",
            Self::Session => "tlss_",
            Self::Link => "tlln_",
            Self::Invitation => "tlin_",
        }
    }
}

/// A secret of 256 random bits: a prefix, 43 base62 digits, and a checksum of 6 digits. Only its hash is stored.
#[derive(Clone)]
pub struct Token {
    kind: TokenKind,
    text: String,
}

/// The number of base62 digits of 256 bits.
const TOKEN_DIGITS: usize = 43;

impl Token {
    /// Generates a token.
    pub fn generate(kind: TokenKind, rng: &Rng) -> Self {
        Self::from_bytes(kind, rng.bytes())
    }

    /// Creates the token with these bytes.
    pub fn from_bytes(kind: TokenKind, mut bytes: [u8; 32]) -> Self {
        let mut digits = [b'0'; TOKEN_DIGITS];
        for digit in digits.iter_mut().rev() {
            let rest = bytes.iter_mut().fold(0, |rest, byte| {
                let value = rest * 256 + usize::from(*byte);
                *byte = (value / 62) as u8;
                value % 62
            });
            *digit = BASE62[rest];
        }
        let digits = digits.iter().map(|digit| char::from(*digit));
        let body: String = kind.prefix().chars().chain(digits).collect();
        let check = checksum(&body);
        Self { kind, text: body + &check }
    }

    /// Parses a token of this kind. The checksum rejects mistyped tokens without a database lookup.
    pub fn parse(kind: TokenKind, text: &str) -> Option<Self> {
        let rest = text.strip_prefix(kind.prefix())?;
        let well_formed = rest.len() == TOKEN_DIGITS + CHECKSUM_LEN
            && rest.bytes().all(|b| b.is_ascii_alphanumeric());
        let (body, check) = text.split_at_checked(text.len().checked_sub(CHECKSUM_LEN)?)?;
        let valid = well_formed && constant_time_eq(checksum(body).as_bytes(), check.as_bytes());
        valid.then(|| Self { kind, text: text.to_owned() })
    }

    /// The hash that is stored.
    pub fn hash(&self) -> [u8; 32] {
        sha256(self.text.as_bytes())
    }

    /// The token in plain text.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The last four characters, by which the owner can recognize the token.
    pub fn hint(&self) -> &str {
        &self.text[self.text.len() - 4..]
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}…)", self.kind.prefix())
    }
}

/// An API key: `tl_live_`, a public id of 12 characters, `_`, a secret of 32 characters, and a checksum of 6.
#[derive(Clone)]
pub struct ApiKey(String);

/// The text is not an API key: the form or the checksum is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnApiKey;

const PREFIX: &str = "tl_live_";
const PUBLIC_LEN: usize = 12;
const SECRET_LEN: usize = 32;
const CHECKSUM_LEN: usize = 6;

impl ApiKey {
    /// Generates a key.
    pub fn generate(rng: &Rng) -> Self {
        let body = format!(
            "{PREFIX}{}_{}",
            random_base62(rng, PUBLIC_LEN),
            random_base62(rng, SECRET_LEN)
        );
        let check = checksum(&body);
        Self(body + &check)
    }

    /// Parses a key. The checksum rejects mistyped keys without a database lookup.
    pub fn parse(text: &str) -> Result<Self, NotAnApiKey> {
        let rest = text.strip_prefix(PREFIX).ok_or(NotAnApiKey)?;
        let well_formed = rest.len() == PUBLIC_LEN + 1 + SECRET_LEN + CHECKSUM_LEN
            && rest.bytes().enumerate().all(|(index, byte)| match index {
                PUBLIC_LEN => byte == b'_',
                _ => byte.is_ascii_alphanumeric(),
            });
        if !well_formed {
            return Err(NotAnApiKey);
        }
        let (body, check) = text.split_at(text.len() - CHECKSUM_LEN);
        if constant_time_eq(checksum(body).as_bytes(), check.as_bytes()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAnApiKey)
        }
    }

    /// The part by which the key's row is found. It is not secret.
    pub fn public_id(&self) -> &str {
        &self.0[PREFIX.len()..PREFIX.len() + PUBLIC_LEN]
    }

    /// The hash that is stored.
    pub fn hash(&self) -> [u8; 32] {
        sha256(self.0.as_bytes())
    }

    /// The key in plain text, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({PREFIX}{}_…)", self.public_id())
    }
}

fn random_base62(rng: &Rng, count: usize) -> String {
    (0..count).map(|_| char::from(BASE62[rng.below(62) as usize])).collect()
}

/// The CRC-32 of the text as six base62 digits.
fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes()) as usize;
    let mut digits = [b'0'; CHECKSUM_LEN];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[rest % 62];
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_with_one_wrong_character_is_rejected(seed: u64, index in 8usize..59, character in "[0-9A-Za-z]") {
            let key = ApiKey::generate(&crate::Rng::seeded(seed));
            prop_assert_eq!(ApiKey::parse(key.reveal()).unwrap().hash(), key.hash());
            let mut changed = key.reveal().to_owned();
            changed.replace_range(index..=index, &character);
            prop_assert_eq!(ApiKey::parse(&changed).is_ok(), changed == key.reveal());
        }

        #[test]
        fn a_token_with_one_wrong_character_or_of_another_kind_is_rejected(bytes: [u8; 32], index in 5usize..54, character in "[0-9A-Za-z]") {
            let token = Token::from_bytes(TokenKind::Refresh, bytes);
            prop_assert_eq!(token.reveal().len(), 54);
            let parsed = Token::parse(TokenKind::Refresh, token.reveal()).unwrap();
            prop_assert_eq!(parsed.hash(), token.hash());
            prop_assert!(Token::parse(TokenKind::Access, token.reveal()).is_none());
            let mut changed = token.reveal().to_owned();
            changed.replace_range(index..=index, &character);
            let same = changed == token.reveal();
            prop_assert_eq!(Token::parse(TokenKind::Refresh, &changed).is_some(), same);
            let shown = format!("{token:?}");
            prop_assert!(!shown.contains(&token.reveal()[5..20]));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,80}") {
            let _ = ApiKey::parse(&text);
            let _ = ApiKey::parse(&format!("tl_live_{text}"));
            let _ = Token::parse(TokenKind::Access, &text);
            let _ = Token::parse(TokenKind::Access, &format!("tlat_{text}"));
        }
    }

    #[test]
    fn the_checksum_matches_the_documentation() {
        assert_eq!(checksum("tk_live_8Zr3Qm1Vb0Xc_q7Yx2LpN0aTd9KsVw4HjRb6MzEuCg1Fo"), "21olxL");
    }

    #[test]
    fn debug_output_does_not_contain_the_secret() {
        let key = ApiKey::generate(&crate::Rng::seeded(1));
        let shown = format!("{key:?}");
        assert!(shown.contains(key.public_id()) && !shown.contains(&key.reveal()[25..40]));
        assert_eq!(hex(&[0, 0xab]), "00ab");
    }
}
