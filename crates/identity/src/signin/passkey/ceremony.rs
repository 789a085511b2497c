//! `WebAuthn` ceremonies in progress. Each can be finished once, within five minutes, on any node.

use std::time::Duration;

use kit::string_enum;

use crate::prelude::*;

/// How long the browser has to finish a ceremony.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

string_enum! {
    /// The type of a ceremony.
    pub enum Kind {
        Register = "register",
        SignIn = "sign_in",
    }
}
enum_column!(Kind);

record! {
    /// A ceremony in progress.
    #[derive(Debug, Clone)]
    pub struct Ceremony in ceremony {
        id: CeremonyId,
        token_hash: [u8; 32],
        user_id: Option<UserId>,
        kind: Kind,
        state: Vec<u8>,
        expires_at: Timestamp,
    }
}

/// Stores a ceremony until the browser finishes it. With a `user`, only that user can finish it.
pub fn begin(
    tx: &Tx<'_>,
    kind: Kind,
    user_id: Option<UserId>,
    token_hash: [u8; 32],
    state: Vec<u8>,
) -> Result<()> {
    let (id, expires_at) = (tx.new_id(), tx.now().plus(TIMEOUT));
    let ceremony = Ceremony { id, token_hash, user_id, kind, state, expires_at };
    tx.execute(sql!(Ceremony::INSERT, " /* any account */"), &ceremony.bind())?;
    Ok(())
}

/// Deletes a ceremony and returns its state. It cannot be retried, even if verification fails afterwards.
pub fn take(
    tx: &Tx<'_>,
    kind: Kind,
    user: Option<UserId>,
    token_hash: [u8; 32],
) -> Result<Vec<u8>> {
    let ceremony: Option<Ceremony> = tx.optional(
        sql!(Ceremony::SELECT, " where token_hash = :token_hash /* any account */"),
        bind! { token_hash },
    )?;
    let ceremony = ceremony.filter(|ceremony| ceremony.kind == kind && ceremony.user_id == user);
    let ceremony = ceremony.ok_or_else(ceremony_expired)?;
    // Of two concurrent requests, only one deletes the row.
    let text = "delete from ceremony where id = :id /* any account */";
    let deleted = tx.execute(text, bind! { id: ceremony.id })?;
    if deleted == 0 || ceremony.expires_at <= tx.now() {
        return Err(ceremony_expired());
    }
    Ok(ceremony.state)
}

fn ceremony_expired() -> Error {
    Error::new(Code::Gone, "The passkey request has expired or was already used. Start again.")
}
