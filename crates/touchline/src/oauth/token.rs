//! Tokens: opaque, kept as hashes, looked up for every request.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::{Timestamp, words};
use store::{Reader, Tx, bind, record, row, sql, word_column};

use super::grant::{self, Grant};
use super::refresh::left;
use crate::accounts::account::Tier;
use crate::accounts::credential::{Credential, Holder};
use crate::accounts::rights::Scopes;
use crate::accounts::user::Role;
use crate::error::Result;
use crate::ids::{AccountId, AppId, GrantId, UserId};
use crate::signals::Tell;

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

/// How long tokens live, and how long one that was replaced gives the same successor.
#[derive(Debug, Clone, Copy)]
pub struct Lives {
    pub access: Duration,
    pub refresh: Duration,
    pub grace: Duration,
}

/// What an app gets.
#[derive(Debug, Clone)]
pub struct Pair {
    pub access: Token,
    pub refresh: Token,
    pub scopes: Scopes,
    /// The seconds for which the access token is good.
    pub expires_in: i64,
}

/// Gives out the first two tokens of a grant.
pub fn give_first(tx: &Tx<'_>, grant: &Grant, lives: Lives) -> Result<Pair> {
    let access = give_access(tx, grant, grant.scopes, lives.access)?;
    let refresh = Token::make(TokenKind::Refresh, tx.dice());
    let nonce = Some(tx.dice().bytes());
    let kept = Kept { nonce, ..kept(tx, grant, &refresh, Kind::Refresh, lives.refresh) };
    tx.run(Kept::INSERT, &kept.bind())?;
    let expires_in = left(tx, tx.now().plus(lives.access).min(grant.expires_at));
    Ok(Pair { access, refresh, scopes: grant.scopes, expires_in })
}

/// Gives out an access token of a grant, for these scopes and so long.
pub fn give_access(tx: &Tx<'_>, grant: &Grant, scopes: Scopes, life: Duration) -> Result<Token> {
    let token = Token::make(TokenKind::Access, tx.dice());
    let kept = Kept { scopes, ..kept(tx, grant, &token, Kind::Access, life) };
    tx.run(Kept::INSERT, &kept.bind())?;
    Ok(token)
}

fn kept(tx: &Tx<'_>, grant: &Grant, token: &Token, kind: Kind, life: Duration) -> Kept {
    Kept {
        account_id: tx.account(),
        hash: token.hash(),
        kind,
        grant_id: grant.id,
        user_id: grant.user_id,
        app_id: grant.app_id,
        scopes: grant.scopes,
        generation: grant.generation,
        nonce: None,
        replaced_at: None,
        used_at: None,
        expires_at: tx.now().plus(life).min(grant.expires_at),
        created_at: tx.now(),
    }
}

/// Reads a token of either kind, whatever it is said to be.
fn of_either_kind(text: &str) -> Option<Token> {
    let read = |kind| Token::parse(kind, text);
    read(TokenKind::Access).or_else(|| read(TokenKind::Refresh))
}

/// What is kept of a token that an app shows us, if the token is its own.
fn shown(db: &Reader<'_>, app: AppId, text: &str) -> Result<Option<Kept>> {
    let Some(token) = of_either_kind(text) else { return Ok(None) };
    let text = sql!(Kept::SELECT, " where account_id = :account and hash = :hash");
    let kept: Option<Kept> = db.maybe(text, bind! { hash: token.hash() })?;
    Ok(kept.filter(|kept| kept.app_id == app))
}

/// Takes back a token that its app no longer needs. With a refresh token the whole grant ends. A token
/// that is unknown or another app's is left as it is, and nobody is told.
pub fn give_back(tx: &Tx<'_>, app: AppId, text: &str) -> Result<()> {
    let Some(kept) = shown(tx, app, text)? else { return Ok(()) };
    if kept.kind == Kind::Refresh {
        return grant::revoke(tx, kept.grant_id, "revoked_by_app");
    }
    tx.run(
        "delete from oauth_token where account_id = :account and hash = :hash",
        bind! { hash: kept.hash },
    )?;
    let details = serde_json::json!({ "app": app });
    tx.audit("oauth_token.revoked", &kept.grant_id.to_string(), &details)
}

/// What an app learns of an access token of its own that is good now.
pub fn inspect(db: &Reader<'_>, app: AppId, text: &str) -> Result<Option<Kept>> {
    let Some(kept) = shown(db, app, text)? else { return Ok(None) };
    let belongs: Option<(UserId,)> = db.maybe(
        "select user_id from account_user where account_id = :account and user_id = :user",
        bind! { user: kept.user_id },
    )?;
    let good = kept.kind == Kind::Access && db.now() < kept.expires_at && belongs.is_some();
    Ok(good.then_some(kept))
}

/// Notes that an access token is in use, with its grant and the refresh token that came with it.
pub fn touch(tx: &Tx<'_>, grant: GrantId, generation: i64) -> Result<()> {
    tx.run(
        "update oauth_grant set last_used_at = :now where account_id = :account and id = :grant",
        bind! { grant },
    )?;
    tx.run(
        "update oauth_token set used_at = :now
         where account_id = :account and grant_id = :grant and generation = :generation",
        bind! { grant, generation },
    )?;
    Ok(())
}

/// Forgets tokens that have expired. Says how many.
pub fn forget(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.run(
        "delete from oauth_token where hash in
            (select hash from oauth_token where expires_at < :now limit 500) /* any account */",
        bind! {},
    )?)
}

row! {
    /// What a request learns of its access token in one look.
    struct Found {
        account_id: AccountId,
        user_id: UserId,
        app_id: AppId,
        grant_id: GrantId,
        scopes: Scopes,
        generation: i64,
        used_at: Option<Timestamp>,
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
        "select t.account_id, t.user_id, t.app_id, t.grant_id, t.scopes, t.generation, t.used_at, t.expires_at,
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
            generation: found.generation,
            last_used_at: found.used_at,
        },
        account_id: found.account_id,
        scopes: found.scopes,
        tier: found.tier,
        sequence: found.sequence,
    }))
}
