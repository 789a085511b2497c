//! Access and refresh tokens. They are opaque, stored as hashes, and looked up for every request.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::string_enum;

use super::grant::{self, Grant};
use super::refresh::seconds_until;
use crate::accounts::credential::{Credential, Holder};
use crate::accounts::user::Role;
use crate::prelude::*;
use crate::tier::Tier;

string_enum! {
    /// The type of a token.
    pub enum Kind {
        Access = "access",
        Refresh = "refresh",
    }
}
enum_column!(Kind);

record! {
    /// A token. Only its hash is stored.
    #[derive(Debug, Clone)]
    pub struct StoredToken in oauth_token {
        pub account_id: AccountId,
        pub hash: [u8; 32],
        pub kind: Kind,
        pub grant_id: GrantId,
        pub user_id: UserId,
        pub app_id: AppId,
        pub scopes: Scopes,
        /// How often the grant was refreshed before this token was issued.
        pub generation: i64,
        /// Input for deriving the successor of a refresh token.
        pub nonce: Option<[u8; 32]>,
        /// When a refresh token was replaced by its successor.
        pub replaced_at: Option<Timestamp>,
        pub used_at: Option<Timestamp>,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

/// Lifetimes of tokens.
#[derive(Debug, Clone, Copy)]
pub struct TokenLifetimes {
    pub access: Duration,
    pub refresh: Duration,
    /// How long a replaced refresh token returns the same successor again.
    pub grace: Duration,
}

/// An access token and a refresh token for an app.
#[derive(Debug, Clone)]
pub struct TokenPair {
    pub access: Token,
    pub refresh: Token,
    pub scopes: Scopes,
    /// Lifetime of the access token, in seconds.
    pub expires_in: i64,
}

/// Issues the first tokens of a grant.
pub fn issue_pair(tx: &Tx<'_>, grant: &Grant, lifetimes: TokenLifetimes) -> Result<TokenPair> {
    let access = issue_access_token(tx, grant, grant.scopes, lifetimes.access)?;
    let refresh = Token::generate(TokenKind::Refresh, tx.rng());
    let stored = StoredToken::new(tx, grant, &refresh, Kind::Refresh, lifetimes.refresh);
    tx.execute(StoredToken::INSERT, &stored.bind())?;
    let expires_in = seconds_until(tx, tx.now().plus(lifetimes.access).min(grant.expires_at));
    Ok(TokenPair { access, refresh, scopes: grant.scopes, expires_in })
}

/// Issues an access token of a grant with these scopes and this lifetime.
pub fn issue_access_token(
    tx: &Tx<'_>,
    grant: &Grant,
    scopes: Scopes,
    lifetime: Duration,
) -> Result<Token> {
    let token = Token::generate(TokenKind::Access, tx.rng());
    let stored = StoredToken::new(tx, grant, &token, Kind::Access, lifetime);
    tx.execute(StoredToken::INSERT, &StoredToken { scopes, ..stored }.bind())?;
    Ok(token)
}

impl StoredToken {
    /// A token of a grant, with all scopes of the grant.
    pub(super) fn new(
        tx: &Tx<'_>,
        grant: &Grant,
        token: &Token,
        kind: Kind,
        lifetime: Duration,
    ) -> Self {
        Self {
            account_id: tx.account(),
            hash: token.hash(),
            kind,
            grant_id: grant.id,
            user_id: grant.user_id,
            app_id: grant.app_id,
            scopes: grant.scopes,
            generation: grant.generation,
            nonce: (kind == Kind::Refresh).then(|| tx.rng().bytes()),
            replaced_at: None,
            used_at: None,
            expires_at: tx.now().plus(lifetime).min(grant.expires_at),
            created_at: tx.now(),
        }
    }
}

/// The stored access or refresh token with this value, if it belongs to the app. `token_type_hint` is ignored, because
/// the prefix tells the type.
fn find_own(db: &Reader<'_>, app: AppId, text: &str) -> Result<Option<StoredToken>> {
    let parse = |kind| Token::parse(kind, text);
    let token = parse(TokenKind::Access).or_else(|| parse(TokenKind::Refresh));
    let Some(token) = token else { return Ok(None) };
    let text = sql!(StoredToken::SELECT, " where account_id = :account and hash = :hash");
    let stored: Option<StoredToken> = db.optional(text, bind! { hash: token.hash() })?;
    Ok(stored.filter(|token| token.app_id == app))
}

/// Revokes a token (RFC 7009). Revoking a refresh token revokes the whole grant. A token that is unknown or belongs to
/// another app is silently ignored.
pub fn revoke(tx: &Tx<'_>, app: AppId, text: &str) -> Result<()> {
    let Some(token) = find_own(tx, app, text)? else { return Ok(()) };
    if token.kind == Kind::Refresh {
        return grant::revoke(tx, token.grant_id, "revoked_by_app");
    }
    let text = "delete from oauth_token where account_id = :account and hash = :hash";
    tx.execute(text, bind! { hash: token.hash })?;
    tx.audit("oauth_token.revoked", &token.grant_id.to_string(), &json!({ "app": app }))
}

/// The app's access token with this value, if it is active (RFC 7662).
pub fn introspect(db: &Reader<'_>, app: AppId, text: &str) -> Result<Option<StoredToken>> {
    let Some(token) = find_own(db, app, text)? else { return Ok(None) };
    let text = "select user_id from account_user where account_id = :account and user_id = :user";
    let member: Option<(UserId,)> = db.optional(text, bind! { user: token.user_id })?;
    let active = token.kind == Kind::Access && db.now() < token.expires_at && member.is_some();
    Ok(active.then_some(token))
}

/// Records that an access token was used now, on its grant and on all tokens of its generation.
pub fn record_use(tx: &Tx<'_>, grant: GrantId, generation: i64) -> Result<()> {
    tx.execute(
        "update oauth_grant set last_used_at = :now where account_id = :account and id = :grant",
        bind! { grant },
    )?;
    tx.execute(
        "update oauth_token set used_at = :now
         where account_id = :account and grant_id = :grant and generation = :generation",
        bind! { grant, generation },
    )?;
    Ok(())
}

/// Deletes a batch of expired tokens. Returns the number of deleted rows.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.execute(
        "delete from oauth_token where hash in
            (select hash from oauth_token where expires_at < :now limit 500) /* any account */",
        bind! {},
    )?)
}

row! {
    /// What a request needs to know about its access token, read in one query.
    struct AccessTokenRow {
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

/// The credential of an access token, if it is valid. Revoking a grant, disabling an app or user, and removing a user
/// from the account all delete the tokens, so that only the expiry is checked here.
pub fn authenticate(db: &Reader<'_>, token: &Token) -> Result<Option<Credential>> {
    let row: Option<AccessTokenRow> = db.optional(
        "select t.account_id, t.user_id, t.app_id, t.grant_id, t.scopes, t.generation, t.used_at, t.expires_at,
                u.role, a.tier, j.sequence
         from oauth_token t
         join account_user u on u.account_id = t.account_id and u.user_id = t.user_id
         join account a on a.id = t.account_id
         join journal j on j.account_id = t.account_id
         where t.hash = :hash and t.kind = 'access' /* any account */",
        bind! { hash: token.hash() },
    )?;
    let row = row.filter(|row| db.now() < row.expires_at);
    Ok(row.map(|row| Credential {
        holder: Holder::App {
            user: row.user_id,
            app: row.app_id,
            grant: row.grant_id,
            role: row.role,
            generation: row.generation,
            last_used_at: row.used_at,
        },
        account_id: row.account_id,
        scopes: row.scopes,
        tier: row.tier,
        sequence: row.sequence,
    }))
}
