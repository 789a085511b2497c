//! The ceremony: a question that a browser answers with a passkey, once and within five minutes, on
//! whichever node it comes back to.

use std::time::Duration;

use kit::{Timestamp, words};
use store::{Tx, bind, record, sql, word_column};

use crate::error::{Code, Error, Result};
use crate::ids::{CeremonyId, UserId};

/// So long a question waits for its answer.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

words! {
    /// What a question is for.
    pub enum Kind {
        Register = "register",
        SignIn = "sign_in",
    }
}
word_column!(Kind);

record! {
    /// A question that waits for its answer.
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

/// Keeps a question until it is answered. One that is for a user is answered by nobody else.
pub fn begin(
    tx: &Tx<'_>,
    kind: Kind,
    user: Option<UserId>,
    token_hash: [u8; 32],
    state: Vec<u8>,
) -> Result<()> {
    let ceremony = Ceremony {
        id: tx.new_id(),
        token_hash,
        user_id: user,
        kind,
        state,
        expires_at: tx.now().plus(PATIENCE),
    };
    tx.run(sql!(Ceremony::INSERT, " /* any account */"), &ceremony.bind())?;
    Ok(())
}

/// Takes a question to compare an answer with. It is gone afterwards, whatever becomes of the answer.
pub fn take(
    tx: &Tx<'_>,
    kind: Kind,
    user: Option<UserId>,
    token_hash: [u8; 32],
) -> Result<Vec<u8>> {
    let found: Option<Ceremony> = tx.maybe(
        sql!(Ceremony::SELECT, " where token_hash = :token_hash /* any account */"),
        bind! { token_hash },
    )?;
    let found = found.filter(|found| found.kind == kind && found.user_id == user);
    let ceremony = found.ok_or_else(over)?;
    let id = ceremony.id;
    // Of two who take it at once, only one finds it.
    let taken = tx.run("delete from ceremony where id = :id /* any account */", bind! { id })?;
    if taken == 0 || ceremony.expires_at <= tx.now() {
        return Err(over());
    }
    Ok(ceremony.state)
}

fn over() -> Error {
    Error::new(Code::Gone, "This took too long, or was done already. Please start again.")
}
