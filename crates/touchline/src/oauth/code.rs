//! The code that an app exchanges for its first two tokens, once and soon.

use kit::Timestamp;
use store::{Tx, bind, record};

use crate::accounts::rights::Scopes;
use crate::error::Result;
use crate::ids::{AccountId, AppId, GrantId, SessionId, UserId};

record! {
    /// What is kept of a code.
    #[derive(Debug, Clone)]
    pub struct Code in oauth_code {
        pub account_id: AccountId,
        pub hash: [u8; 32],
        pub app_id: AppId,
        pub user_id: UserId,
        pub session_id: SessionId,
        pub redirect_uri: String,
        pub scopes: Scopes,
        pub challenge: Option<[u8; 32]>,
        pub expires_at: Timestamp,
        /// Set when the code was exchanged, with what came of it.
        pub used_at: Option<Timestamp>,
        pub grant_id: Option<GrantId>,
        pub created_at: Timestamp,
    }
}

/// Forgets the codes of an app that nobody has exchanged yet.
pub fn forget_of_app(tx: &Tx<'_>, app: AppId) -> Result<()> {
    tx.run(
        "delete from oauth_code
         where account_id = :account and app_id = :app and used_at is null",
        bind! { app },
    )?;
    Ok(())
}

/// Forgets the codes of a user that nobody has exchanged yet, in this club.
pub fn forget_of_user(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.run(
        "delete from oauth_code
         where account_id = :account and user_id = :user and used_at is null",
        bind! { user },
    )?;
    Ok(())
}

/// Forgets the codes of a user that nobody has exchanged yet, in every club.
pub fn forget_everywhere(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.run(
        "delete from oauth_code where user_id = :user and used_at is null /* any account */",
        bind! { user },
    )?;
    Ok(())
}
