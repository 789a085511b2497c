//! One-time links: to set up the service, to reset a password, and to confirm an email address.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::string_enum;

use crate::prelude::*;

/// How long a link is valid.
const TTL: Duration = Duration::from_secs(30 * 60);

string_enum! {
    /// The purpose of a link.
    pub enum LinkKind {
        /// Set up the service.
        SetUp = "set_up",
        /// Reset the password.
        Reset = "reset",
        /// Reset the password, turn off two-step sign-in and remove all passkeys.
        ResetAll = "reset_all",
        /// Confirm an email address.
        Verify = "verify",
    }
}
enum_column!(LinkKind);

record! {
    /// A one-time link. Only the hash of its token is stored.
    #[derive(Debug, Clone)]
    pub struct OneTimeLink in once_link {
        pub hash: [u8; 32],
        pub kind: LinkKind,
        pub user_id: Option<UserId>,
        /// The email address to confirm.
        pub email: Option<String>,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

/// Creates a link and returns its token.
pub fn create(
    tx: &Tx<'_>,
    kind: LinkKind,
    user_id: Option<UserId>,
    email: Option<String>,
) -> Result<Token> {
    let token = Token::generate(TokenKind::Link, tx.rng());
    let link = OneTimeLink {
        hash: token.hash(),
        kind,
        user_id,
        email,
        expires_at: tx.now().plus(TTL),
        created_at: tx.now(),
    };
    tx.execute(sql!(OneTimeLink::INSERT, " /* any account */"), &link.bind())?;
    Ok(token)
}

/// The link with this token, if it is valid.
pub fn find(db: &Reader<'_>, kind: LinkKind, token: &str) -> Result<OneTimeLink> {
    let token = Token::parse(TokenKind::Link, token).ok_or_else(link_expired)?;
    let text = sql!(
        OneTimeLink::SELECT,
        " where hash = :hash and kind = :kind and expires_at > :now /* any account */"
    );
    db.optional(text, bind! { hash: token.hash(), kind })?.ok_or_else(link_expired)
}

/// Consumes a link. Of several concurrent attempts, one succeeds.
pub fn consume(tx: &Tx<'_>, kind: LinkKind, token: &str) -> Result<OneTimeLink> {
    let link = find(tx, kind, token)?;
    let text = "delete from once_link where hash = :hash /* any account */";
    let deleted = tx.execute(text, bind! { hash: link.hash })?;
    if deleted == 1 { Ok(link) } else { Err(link_expired()) }
}

/// Revokes every link of this kind of a user.
pub fn revoke_of_user(tx: &Tx<'_>, kind: LinkKind, user: UserId) -> Result<()> {
    let text = "delete from once_link where user_id = :user and kind = :kind /* any account */";
    Ok(tx.execute(text, bind! { user, kind }).map(drop)?)
}

/// Revokes every link of this kind.
pub fn revoke_all(tx: &Tx<'_>, kind: LinkKind) -> Result<()> {
    tx.execute("delete from once_link where kind = :kind /* any account */", bind! { kind })?;
    Ok(())
}

fn link_expired() -> Error {
    Error::new(Code::Gone, "This link has expired or was already used. Request a new one.")
}
