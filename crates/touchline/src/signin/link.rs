//! Links that work once: to set the service up, to choose a new password, to confirm an address.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::{Timestamp, words};
use store::{Reader, Tx, bind, record, sql, word_column};

use crate::error::{Code, Error, Result};
use crate::ids::UserId;

/// A link works for so long.
const LIFE: Duration = Duration::from_secs(30 * 60);

words! {
    /// What a link is for.
    pub enum LinkKind {
        SetUp = "set_up",
        Reset = "reset",
        /// To choose a new password, after which the second step and the passkeys are gone too.
        ResetAll = "reset_all",
        Verify = "verify",
    }
}
word_column!(LinkKind);

record! {
    /// A link that works once.
    #[derive(Debug, Clone)]
    pub struct OnceLink in once_link {
        pub hash: [u8; 32],
        pub kind: LinkKind,
        pub user_id: Option<UserId>,
        /// The address that is to be confirmed.
        pub email: Option<String>,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

/// Makes a link.
pub fn make(
    tx: &Tx<'_>,
    kind: LinkKind,
    user: Option<UserId>,
    email: Option<String>,
) -> Result<Token> {
    let token = Token::make(TokenKind::Link, tx.dice());
    let link = OnceLink {
        hash: token.hash(),
        kind,
        user_id: user,
        email,
        expires_at: tx.now().plus(LIFE),
        created_at: tx.now(),
    };
    tx.run(sql!(OnceLink::INSERT, " /* any account */"), &link.bind())?;
    Ok(token)
}

/// The link of this token, if it still works.
pub fn look(db: &Reader<'_>, kind: LinkKind, token: &str) -> Result<OnceLink> {
    let token = Token::parse(TokenKind::Link, token).ok_or_else(gone)?;
    let text = sql!(
        OnceLink::SELECT,
        " where hash = :hash and kind = :kind and expires_at > :now /* any account */"
    );
    let found = db.maybe(text, bind! { hash: token.hash(), kind })?;
    found.ok_or_else(gone)
}

/// Uses a link up. Of many who try at once, one succeeds.
pub fn take(tx: &Tx<'_>, kind: LinkKind, token: &str) -> Result<OnceLink> {
    let link = look(tx, kind, token)?;
    let hash = link.hash;
    let deleted =
        tx.run("delete from once_link where hash = :hash /* any account */", bind! { hash })?;
    if deleted == 1 { Ok(link) } else { Err(gone()) }
}

/// Takes back every link of a kind that a user has.
pub fn forget_of(tx: &Tx<'_>, kind: LinkKind, user: UserId) -> Result<()> {
    tx.run(
        "delete from once_link where user_id = :user and kind = :kind /* any account */",
        bind! { user, kind },
    )?;
    Ok(())
}

/// Takes back every link of a kind, whoever has it.
pub fn forget_all(tx: &Tx<'_>, kind: LinkKind) -> Result<()> {
    tx.run("delete from once_link where kind = :kind /* any account */", bind! { kind })?;
    Ok(())
}

fn gone() -> Error {
    Error::new(Code::Gone, "This link has expired or was already used. Ask for a new one.")
}
