//! Access tokens: opaque, kept as hashes, looked up for every request.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::{Timestamp, words};
use store::{Reader, Tx, bind, record, row, word_column};

use super::grant::Grant;
use crate::accounts::account::Tier;
use crate::accounts::credential::{Credential, Holder};
use crate::accounts::rights::Scopes;
use crate::accounts::user::Role;
use crate::error::Result;
use crate::ids::{AccountId, AppId, GrantId, UserId};

words! {
    /// What a token is for.
    pub enum Kind {
        Access = "access",
        Refresh = "refresh",
    }
}
word_column!(Kind);

record! {
    /// What is kept of a token.
    #[derive(Debug, Clone)]
    pub struct Kept in oauth_token {
        pub account_id: AccountId,
        pub hash: [u8; 32],
        pub kind: Kind,
        pub grant_id: GrantId,
        pub user_id: UserId,
        pub app_id: AppId,
        pub scopes: Scopes,
        pub generation: i64,
        pub nonce: Option<[u8; 32]>,
        pub replaced_at: Option<Timestamp>,
        pub used_at: Option<Timestamp>,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

/// Gives out an access token of a grant, for these scopes and so long.
pub fn give_access(tx: &Tx<'_>, grant: &Grant, scopes: Scopes, life: Duration) -> Result<Token> {
    let token = Token::make(TokenKind::Access, tx.dice());
    let kept = Kept {
        account_id: tx.account(),
        hash: token.hash(),
        kind: Kind::Access,
        grant_id: grant.id,
        user_id: grant.user_id,
        app_id: grant.app_id,
        scopes,
        generation: grant.generation,
        nonce: None,
        replaced_at: None,
        used_at: None,
        expires_at: tx.now().plus(life).min(grant.expires_at),
        created_at: tx.now(),
    };
    tx.run(Kept::INSERT, &kept.bind())?;
    Ok(token)
}

row! {
    /// What a request learns of its access token in one look.
    struct Found {
        account_id: AccountId,
        user_id: UserId,
        app_id: AppId,
        grant_id: GrantId,
        scopes: Scopes,
        expires_at: Timestamp,
        role: Role,
        tier: Tier,
        sequence: i64,
    }
}

/// The credential of an access token, if it is good now. Whoever ends a grant, takes an app out of
/// service, disables a user or takes them out of the account also takes the tokens away.
pub fn authenticate(db: &Reader<'_>, token: &Token) -> Result<Option<Credential>> {
    let found: Option<Found> = db.maybe(
        "select t.account_id, t.user_id, t.app_id, t.grant_id, t.scopes, t.expires_at,
                u.role, a.tier, j.sequence
         from oauth_token t
         join account_user u on u.account_id = t.account_id and u.user_id = t.user_id
         join account a on a.id = t.account_id
         join journal j on j.account_id = t.account_id
         where t.hash = :hash and t.kind = 'access' /* any account */",
        bind! { hash: token.hash() },
    )?;
    let found = found.filter(|found| db.now() < found.expires_at);
    Ok(found.map(|found| Credential {
        holder: Holder::App {
            user: found.user_id,
            app: found.app_id,
            grant: found.grant_id,
            role: found.role,
        },
        account_id: found.account_id,
        scopes: found.scopes,
        tier: found.tier,
        sequence: found.sequence,
    }))
}
