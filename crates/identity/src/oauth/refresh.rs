//! Refresh tokens. Each use rotates the token, so that a grant has one current refresh token.
//!
//! An app may lose our response, or send the same request twice. For a short grace period, a replaced token therefore
//! returns the same successor again. The successor is derived from the token, so that it need not be stored. After the
//! grace period, a replaced token gets a new successor only if the first one was never used, because then the response
//! was lost. Otherwise the token was probably stolen, and the grant is revoked.

use kit::secret::{Token, TokenKind};

use super::app::App;
use super::authorization_request;
use super::error::{ErrorCode, OAuthError, OAuthResult};
use super::grant;
use super::token::{self, Kind, TokenLifetimes, TokenPair};
use crate::prelude::*;
use crate::secrets::SealKey;

row! {
    /// A refresh token with its grant and app, read in one query.
    struct RefreshTokenRow {
        hash: [u8; 32],
        grant_id: GrantId,
        user_id: UserId,
        app_id: AppId,
        generation: i64,
        nonce: Option<[u8; 32]>,
        replaced_at: Option<Timestamp>,
        expires_at: Timestamp,
        /// The scopes of the grant.
        scopes: Scopes,
        /// The generation of the grant's current refresh token.
        current: i64,
        /// When the grant expires.
        ends_at: Timestamp,
        /// The scopes that the app is registered for.
        app_scopes: Scopes,
        /// Whether the user still belongs to the club and is not disabled.
        is_user_active: bool,
    }
}

/// The parameters of a token request with a refresh token.
#[derive(Debug, Clone)]
pub struct RefreshRequest {
    pub token: Token,
    pub scope: Option<String>,
}

/// Issues the next tokens for a refresh token.
pub fn refresh(
    tx: &Tx<'_>,
    app: &App,
    request: &RefreshRequest,
    key: &SealKey,
    lifetimes: TokenLifetimes,
) -> Result<OAuthResult<TokenPair>> {
    let invalid_grant = |description| Ok(Err(OAuthError::invalid_grant(description)));
    // Check the owner first, so that another client with a stolen old token cannot revoke the grant.
    let token = find(tx, &request.token)?.filter(|token| token.app_id == app.id);
    let Some(token) = token else { return invalid_grant("The refresh token is invalid.") };
    if !token.is_user_active {
        grant::revoke(tx, token.grant_id, "user_left")?;
        return invalid_grant("The user was disabled or no longer belongs to the club.");
    }
    let scopes = match requested_scopes(&token, request.scope.as_deref()) {
        Ok(scopes) => scopes,
        Err(error) => return Ok(Err(error)),
    };
    let rotation = Rotation { token: &token, request, key, lifetimes, scopes };
    match token.replaced_at {
        _ if tx.now() >= token.ends_at => invalid_grant("The grant has expired."),
        None if tx.now() >= token.expires_at => invalid_grant("The refresh token has expired."),
        None => Ok(rotation.rotate(tx)?.ok_or(GRANT_REVOKED)),
        Some(at) if tx.now() < at.plus(lifetimes.grace) => {
            Ok(rotation.repeat(tx)?.ok_or(GRANT_REVOKED))
        }
        Some(_) if tx.now() < token.expires_at && is_successor_unused(tx, &token)? => {
            rotation.reissue(tx).map(Ok)
        }
        Some(_) => {
            revoke_reused(tx, &token)?;
            invalid_grant("The refresh token was already used. Its grant was revoked.")
        }
    }
}

const GRANT_REVOKED: OAuthError = OAuthError::invalid_grant("The grant was revoked.");

fn find(db: &Reader<'_>, token: &Token) -> Result<Option<RefreshTokenRow>> {
    Ok(db.optional(
        "select t.hash, t.grant_id, t.user_id, t.app_id, t.generation, t.nonce, t.replaced_at,
                t.expires_at, g.scopes, g.generation as current, g.expires_at as ends_at,
                a.scopes as app_scopes,
                exists (select 1 from account_user b join app_user u on u.id = b.user_id
                        where b.account_id = t.account_id and b.user_id = t.user_id
                          and u.disabled_at is null) as is_user_active
         from oauth_token t
         join oauth_grant g on g.account_id = t.account_id and g.id = t.grant_id
         join oauth_app a on a.account_id = t.account_id and a.id = t.app_id
         where t.account_id = :account and t.hash = :hash and t.kind = 'refresh'
           and g.revoked_at is null and a.disabled_at is null",
        bind! { hash: token.hash() },
    )?)
}

/// The scopes of the next access token: all granted scopes, or the subset that the app requests.
fn requested_scopes(token: &RefreshTokenRow, scope: Option<&str>) -> OAuthResult<Scopes> {
    let scopes = scope.map_or(Ok(token.scopes), authorization_request::parse_scopes)?;
    if !token.scopes.contains_all(scopes) {
        let description = "scope contains a scope that the user did not grant.";
        return Err(OAuthError::new(ErrorCode::InvalidScope, description));
    }
    if !token.app_scopes.contains_all(scopes) {
        let description = "The app is no longer registered for all granted scopes.";
        return Err(OAuthError::invalid_grant(description));
    }
    Ok(scopes)
}

/// Whether the successor was never used: it was not replaced itself, and its access token was not used.
fn is_successor_unused(db: &Reader<'_>, token: &RefreshTokenRow) -> Result<bool> {
    let next = token.generation + 1;
    let successor: Option<(Option<Timestamp>, Option<Timestamp>)> = db.optional(
        "select replaced_at, used_at from oauth_token
         where account_id = :account and grant_id = :grant and kind = 'refresh' and generation = :next",
        bind! { grant: token.grant_id, next },
    )?;
    Ok(token.current == next && successor == Some((None, None)))
}

/// Revokes the grant of a refresh token that was used again.
fn revoke_reused(tx: &Tx<'_>, token: &RefreshTokenRow) -> Result<()> {
    let details = json!({ "grant": token.grant_id, "user": token.user_id });
    tx.audit("oauth_token.reused", &token.app_id.to_string(), &details)?;
    grant::revoke(tx, token.grant_id, "refresh_token_reused")
}

/// The rotation of one refresh token.
struct Rotation<'a> {
    token: &'a RefreshTokenRow,
    request: &'a RefreshRequest,
    key: &'a SealKey,
    lifetimes: TokenLifetimes,
    scopes: Scopes,
}

impl Rotation<'_> {
    /// The next access and refresh token. Only this installation can derive them, and only from the value of the current
    /// token.
    fn derive_pair(&self, nonce: [u8; 32]) -> (Token, Token) {
        let RefreshTokenRow { grant_id, generation, .. } = self.token;
        let derive = |kind: TokenKind| {
            let parts: [&[u8]; 5] = [
                self.request.token.reveal().as_bytes(),
                &grant_id.bits().to_be_bytes(),
                &generation.to_be_bytes(),
                &nonce,
                kind.prefix().as_bytes(),
            ];
            Token::from_bytes(kind, self.key.sign(&parts))
        };
        (derive(TokenKind::Access), derive(TokenKind::Refresh))
    }

    /// Replaces the refresh token by the next generation. `None` if the grant was revoked or rotated in the meantime.
    fn rotate(&self, tx: &Tx<'_>) -> Result<Option<TokenPair>> {
        let RefreshTokenRow { grant_id, generation, hash, .. } = self.token;
        let next = generation + 1;
        // Locks the grant before its tokens; see the module `grant`.
        let updated = tx.execute(
            "update oauth_grant set generation = :next, last_used_at = :now
             where account_id = :account and id = :grant and generation = :generation
               and revoked_at is null",
            bind! { grant: grant_id, next, generation },
        )?;
        if updated == 0 {
            return Ok(None);
        }
        tx.execute_deferred(
            "update oauth_token set replaced_at = :now where account_id = :account and hash = :hash",
            bind! { hash },
        )?;
        self.issue(tx, self.token.nonce.unwrap_or_default()).map(Some)
    }

    /// Returns the same tokens as the previous request, within the grace period.
    fn repeat(&self, tx: &Tx<'_>) -> Result<Option<TokenPair>> {
        let (access, refresh) = self.derive_pair(self.token.nonce.unwrap_or_default());
        let find = |token: &Token| -> Result<Option<(Scopes, Timestamp)>> {
            Ok(tx.optional(
                "select scopes, expires_at from oauth_token
                 where account_id = :account and hash = :hash",
                bind! { hash: token.hash() },
            )?)
        };
        if find(&refresh)?.is_none() {
            return Ok(None);
        }
        if let Some((scopes, expires_at)) = find(&access)?.filter(|(_, end)| tx.now() < *end) {
            let expires_in = seconds_until(tx, expires_at);
            return Ok(Some(TokenPair { access, refresh, scopes, expires_in }));
        }
        // The access token was revoked separately, or its lifetime is shorter than the grace period. Issue another one.
        self.insert_access(tx, Token::generate(TokenKind::Access, tx.rng()), refresh).map(Some)
    }

    /// Replaces a successor that was lost by another one.
    fn reissue(&self, tx: &Tx<'_>) -> Result<TokenPair> {
        let RefreshTokenRow { grant_id, generation, hash, .. } = self.token;
        let nonce: [u8; 32] = tx.rng().bytes();
        tx.execute(
            "update oauth_grant set last_used_at = :now where account_id = :account and id = :grant",
            bind! { grant: grant_id },
        )?;
        tx.execute(
            "delete from oauth_token
             where account_id = :account and grant_id = :grant and generation = :next",
            bind! { grant: grant_id, next: generation + 1 },
        )?;
        tx.execute(
            "update oauth_token set replaced_at = :now, nonce = :nonce
             where account_id = :account and hash = :hash",
            bind! { hash, nonce },
        )?;
        let details = json!({ "user": self.token.user_id });
        tx.audit("oauth_grant.reissued", &grant_id.to_string(), &details)?;
        self.issue(tx, nonce)
    }

    fn issue(&self, tx: &Tx<'_>, nonce: [u8; 32]) -> Result<TokenPair> {
        let (access, refresh) = self.derive_pair(nonce);
        self.insert(tx, &refresh, Kind::Refresh)?;
        self.insert_access(tx, access, refresh)
    }

    fn insert_access(&self, tx: &Tx<'_>, access: Token, refresh: Token) -> Result<TokenPair> {
        let expires_in = seconds_until(tx, self.insert(tx, &access, Kind::Access)?);
        Ok(TokenPair { access, refresh, scopes: self.scopes, expires_in })
    }

    /// Stores a token of the next generation and returns when it expires. A refresh token keeps all granted scopes,
    /// even if the access token has fewer.
    fn insert(&self, tx: &Tx<'_>, token: &Token, kind: Kind) -> Result<Timestamp> {
        let (lifetime, scopes) = match kind {
            Kind::Access => (self.lifetimes.access, self.scopes),
            Kind::Refresh => (self.lifetimes.refresh, self.token.scopes),
        };
        let stored = token::StoredToken {
            account_id: tx.account(),
            hash: token.hash(),
            kind,
            grant_id: self.token.grant_id,
            user_id: self.token.user_id,
            app_id: self.token.app_id,
            scopes,
            generation: self.token.generation + 1,
            nonce: (kind == Kind::Refresh).then(|| tx.rng().bytes()),
            replaced_at: None,
            used_at: None,
            expires_at: tx.now().plus(lifetime).min(self.token.ends_at),
            created_at: tx.now(),
        };
        tx.execute_deferred(token::StoredToken::INSERT, &stored.bind())?;
        Ok(stored.expires_at)
    }
}

/// Whole seconds until `end`.
pub(super) fn seconds_until(tx: &Tx<'_>, end: Timestamp) -> i64 {
    (end.micros() - tx.now().micros()) / 1_000_000
}
