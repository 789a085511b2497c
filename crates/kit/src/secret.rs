//! Secrets: made once, shown once, kept only as a hash, compared in constant time.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::Dice;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Whether two byte strings are the same, in a time that does not tell where they differ.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(half)]));
        }
        text
    })
}

/// What a [`Token`] opens. Its prefix says so, so that none is ever taken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Lets an app act for a user, for an hour.
    Access,
    /// Gets an app its next access token.
    Refresh,
    /// Is exchanged for the first two tokens, once.
    Code,
    /// The password of a server-side app.
    ClientSecret,
    /// Names what an app asked for while the user decides.
    Request,
    /// A browser's cookie.
    Session,
    /// A link that works once.
    Link,
    /// An invitation into a club.
    Invitation,
}

impl TokenKind {
    /// The first letters of every token of this kind.
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

/// A secret of 256 random bits: a prefix, 43 base62 digits, a checksum of 6. Only its hash is kept.
#[derive(Clone)]
pub struct Token {
    kind: TokenKind,
    text: String,
}

/// How many base62 digits hold 256 bits.
const TOKEN: usize = 43;

impl Token {
    /// A new token.
    pub fn make(kind: TokenKind, dice: &Dice) -> Self {
        Self::from_bytes(kind, dice.bytes())
    }

    /// The token that stands for these bytes.
    pub fn from_bytes(kind: TokenKind, mut bytes: [u8; 32]) -> Self {
        let mut digits = [b'0'; TOKEN];
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

    /// Reads a token of this kind. A mistyped one is refused before anybody asks the database.
    pub fn parse(kind: TokenKind, text: &str) -> Option<Self> {
        let rest = text.strip_prefix(kind.prefix())?;
        let shaped = rest.len() == TOKEN + CHECK && rest.bytes().all(|b| b.is_ascii_alphanumeric());
        let (body, check) = text.split_at_checked(text.len().checked_sub(CHECK)?)?;
        let right = shaped && same(checksum(body).as_bytes(), check.as_bytes());
        right.then(|| Self { kind, text: text.to_owned() })
    }

    /// What is kept of the token.
    pub fn hash(&self) -> [u8; 32] {
        sha256(self.text.as_bytes())
    }

    /// The whole token, for whoever it is made for.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Its last letters, by which its owner knows it again.
    pub fn hint(&self) -> &str {
        &self.text[self.text.len() - 4..]
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}…)", self.kind.prefix())
    }
}

/// An API key: `tl_live_`, a public id of 12 characters, `_`, a secret of 32, a checksum of 6.
#[derive(Clone)]
pub struct ApiKey(String);

/// The text is not an API key: another shape, or a wrong checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnApiKey;

const PREFIX: &str = "tl_live_";
const PUBLIC: usize = 12;
const SECRET: usize = 32;
const CHECK: usize = 6;

impl ApiKey {
    /// A new key.
    pub fn make(dice: &Dice) -> Self {
        let body = format!("{PREFIX}{}_{}", letters(dice, PUBLIC), letters(dice, SECRET));
        let check = checksum(&body);
        Self(body + &check)
    }

    /// Reads a key. A mistyped one is refused here, before anybody asks the database.
    pub fn parse(text: &str) -> Result<Self, NotAnApiKey> {
        let rest = text.strip_prefix(PREFIX).ok_or(NotAnApiKey)?;
        let shaped = rest.len() == PUBLIC + 1 + SECRET + CHECK
            && rest.bytes().enumerate().all(|(place, byte)| match place {
                PUBLIC => byte == b'_',
                _ => byte.is_ascii_alphanumeric(),
            });
        if !shaped {
            return Err(NotAnApiKey);
        }
        let (body, check) = text.split_at(text.len() - CHECK);
        if same(checksum(body).as_bytes(), check.as_bytes()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAnApiKey)
        }
    }

    /// The part that finds the key's row; it is no secret.
    pub fn public_id(&self) -> &str {
        &self.0[PREFIX.len()..PREFIX.len() + PUBLIC]
    }

    /// What is kept of the key.
    pub fn hash(&self) -> [u8; 32] {
        sha256(self.0.as_bytes())
    }

    /// The whole key, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({PREFIX}{}_…)", self.public_id())
    }
}

fn letters(dice: &Dice, count: usize) -> String {
    (0..count).map(|_| char::from(BASE62[dice.below(62) as usize])).collect()
}

/// CRC-32 in six base62 digits.
fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes()) as usize;
    let mut digits = [b'0'; CHECK];
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
        fn a_key_is_read_back_and_one_wrong_letter_is_noticed(seed: u64, place in 8usize..59, letter in "[0-9A-Za-z]") {
            let key = ApiKey::make(&Dice::seeded(seed));
            prop_assert_eq!(ApiKey::parse(key.reveal()).unwrap().hash(), key.hash());
            let mut typed = key.reveal().to_owned();
            typed.replace_range(place..=place, &letter);
            prop_assert_eq!(ApiKey::parse(&typed).is_ok(), typed == key.reveal());
        }

        #[test]
        fn a_token_is_read_back_and_is_of_one_kind(bytes: [u8; 32], place in 5usize..54, letter in "[0-9A-Za-z]") {
            let token = Token::from_bytes(TokenKind::Refresh, bytes);
            prop_assert_eq!(token.reveal().len(), 54);
            let read = Token::parse(TokenKind::Refresh, token.reveal()).unwrap();
            prop_assert_eq!(read.hash(), token.hash());
            prop_assert!(Token::parse(TokenKind::Access, token.reveal()).is_none());
            let mut typed = token.reveal().to_owned();
            typed.replace_range(place..=place, &letter);
            let same = typed == token.reveal();
            prop_assert_eq!(Token::parse(TokenKind::Refresh, &typed).is_some(), same);
            let shown = format!("{token:?}");
            prop_assert!(!shown.contains(&token.reveal()[5..20]));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,80}") {
            let _ = ApiKey::parse(&text);
            let _ = ApiKey::parse(&format!("tl_live_{text}"));
            let _ = Token::parse(TokenKind::Access, &text);
            let _ = Token::parse(TokenKind::Access, &format!("tlat_{text}"));
        }
    }

    #[test]
    fn the_checksum_is_the_documented_one() {
        assert_eq!(checksum("tk_live_8Zr3Qm1Vb0Xc_q7Yx2LpN0aTd9KsVw4HjRb6MzEuCg1Fo"), "21olxL");
    }

    #[test]
    fn debug_does_not_tell_the_secret() {
        let key = ApiKey::make(&Dice::seeded(1));
        let shown = format!("{key:?}");
        assert!(shown.contains(key.public_id()) && !shown.contains(&key.reveal()[25..40]));
        assert_eq!(hex(&[0, 0xab]), "00ab");
    }
}
