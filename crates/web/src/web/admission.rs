//! Authentication and authorization of API callers: credential, quota, scope, and the user's role in the club.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use kit::secret::{ApiKey, Token, TokenKind};

use super::context::Context;
use crate::accounts::api_key;
use crate::accounts::credential::{Credential, Holder};
use crate::accounts::permissions::{AccessLevel, Permission};
use crate::accounts::roster_access::RosterAccess;
use crate::accounts::user::{self, Role};
use crate::bounded;
use crate::hook::Hook;
use crate::prelude::*;
use crate::signals;
use crate::web::app::App;

/// How long a rejected response may wait until its API key is found.
const IDENTIFY_TIMEOUT: Duration = Duration::from_secs(1);

type AuthenticateToken = fn(&Reader<'_>, &Token) -> Result<Option<Credential>>;
type RecordTokenUse = fn(&Tx<'_>, GrantId, i64) -> Result<()>;

/// Finds the credential of an access token, if it is valid.
pub static AUTHENTICATE_TOKEN: Hook<AuthenticateToken> = Hook::new("admission::AUTHENTICATE_TOKEN");
/// Records that an access token of this grant and generation was used.
pub static RECORD_TOKEN_USE: Hook<RecordTokenUse> = Hook::new("admission::RECORD_TOKEN_USE");
/// Whether a grant is neither revoked nor expired, and its user still belongs to the account.
pub static IS_GRANT_ACTIVE: Hook<fn(&Reader<'_>, GrantId) -> Result<bool>> =
    Hook::new("admission::IS_GRANT_ACTIVE");
/// Loads the access that a user has through the rosters.
pub static LOAD_ROSTER_ACCESS: Hook<fn(&Reader<'_>, UserId) -> Result<RosterAccess>> =
    Hook::new("admission::LOAD_ROSTER_ACCESS");

/// Authenticates the API key or access token of a request. Every failure looks the same, so that nothing about the
/// credential is revealed.
pub async fn authenticate(app: &App, context: &Context, headers: &HeaderMap) -> Result<Credential> {
    let fail = |error| app.limits.count_failure(context.address(), error);
    let text = bearer_token(headers)?;
    let scope = Scope::system("authenticate");
    if let Some(token) = Token::parse(TokenKind::Access, text) {
        let credential =
            app.db.read_inline(scope, move |db| AUTHENTICATE_TOKEN.get()?(db, &token)).await?;
        return credential.ok_or_else(|| fail(invalid_credentials()));
    }
    let key = ApiKey::parse(text).map_err(|_| fail(invalid_credentials()))?;
    let key = app.db.read_inline(scope, move |db| api_key::authenticate(db, &key)).await?;
    let key = key.ok_or_else(|| fail(invalid_credentials()))?;
    context.identify_key(key.account_id, key.id);
    if key.allows_address(context.address()) {
        Ok(key.into())
    } else {
        let detail =
            "This API key may not be used from your IP address. See the key's allowed networks.";
        Err(fail(Error::new(Code::Forbidden, detail)))
    }
}

/// Finds the API key of a request that was rejected before it was authenticated, for the request log.
pub async fn identify_rejected(app: &App, context: &Context, authorization: Option<&HeaderValue>) {
    let text = authorization.and_then(|value| value.to_str().ok()?.split_once(' '));
    let Some(Ok(key)) = text.map(|(_, token)| ApiKey::parse(token.trim())) else { return };
    let scope = Scope::system("authenticate");
    let read = app.db.read_inline(scope, move |db| api_key::authenticate(db, &key));
    if let Ok(Ok(Some(key))) = tokio::time::timeout(IDENTIFY_TIMEOUT, read).await {
        context.identify_key(key.account_id, key.id);
    }
}

/// The token in the `Authorization` header. Credentials elsewhere are ignored.
fn bearer_token(headers: &HeaderMap) -> Result<&str> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let Some(line) = lines.next() else {
        let detail = "Send an API key or an access token in the header `Authorization: Bearer`.";
        return Err(Error::new(Code::MissingCredentials, detail));
    };
    if lines.next().is_some() {
        return Err(Error::new(
            Code::InvalidRequest,
            "The header `Authorization` was sent more than once.",
        ));
    }
    let (scheme, token) =
        line.to_str().ok().and_then(|l| l.split_once(' ')).ok_or_else(invalid_credentials)?;
    if scheme.eq_ignore_ascii_case("bearer") {
        Ok(token.trim())
    } else {
        Err(invalid_credentials())
    }
}

/// Charges the request to the account's quota.
pub async fn charge_quota(app: &App, context: &Context, credential: &Credential) -> Result<()> {
    let quota = app.config.rate_limits.of(credential.tier);
    let (allowance, outcome) = app.limits.take(&app.db, credential.account_id, quota).await;
    context.identify(credential.account_id);
    context.set_allowance(allowance);
    let rate_limited = outcome.as_ref().is_err_and(|error| error.code == Code::RateLimited);
    app.usage.count(credential.account_id, credential.into(), rate_limited);
    outcome
}

/// Records that the key or token is in use, at most once a minute and without delaying the request.
fn record_use(app: &App, credential: &Credential) {
    let (subject, last) = match credential.holder {
        Holder::Key { id, last_used_at, .. } => (id.bits(), last_used_at),
        Holder::App { grant, last_used_at, .. } => (grant.bits(), last_used_at),
    };
    let Some(touch) = app.pending_touches.begin_if_due(subject, last, app.clock.now()) else {
        return;
    };
    let (db, scope, holder) = (app.db.clone(), credential.scope(), credential.holder.clone());
    app.spawn(async move {
        let before = touch.before;
        let record = move |tx: &Tx<'_>| match holder {
            Holder::Key { id, .. } => api_key::record_use(tx, id, before),
            Holder::App { grant, generation, .. } => RECORD_TOKEN_USE.get()?(tx, grant, generation),
        };
        if let Err(error) = db.write(scope, record).await {
            tracing::warn!(cause = ?error.cause, "could not record that a credential was used");
        }
        drop(touch);
    });
}

/// Authorizes a credential for the permission `N` and returns the teams it may access.
pub async fn authorize<N: Permission>(app: &App, credential: &Credential) -> Result<TeamAccess> {
    check_scope::<N>(credential)?;
    let access = team_access::<N>(app, credential).await?;
    record_use(app, credential);
    Ok(access)
}

/// Fails if the credential lacks the scope of the permission.
fn check_scope<N: Permission>(credential: &Credential) -> Result<()> {
    let Some(scope) = N::SCOPE.filter(|scope| !credential.scopes.contains(*scope)) else {
        return Ok(());
    };
    let error =
        Error::new(Code::InsufficientScope, format!("The credentials lack the scope `{scope}`."));
    Err(Error { required_scope: Some(scope.as_str()), ..error })
}

/// The teams the caller may access with this permission. Fails if the user's role is too low for it, whatever
/// the scopes are.
async fn team_access<N: Permission>(app: &App, credential: &Credential) -> Result<TeamAccess> {
    let (user, role) = match credential.holder {
        Holder::Key { .. } => return Ok(credential.team_access()),
        Holder::App { user, role, .. } => (user, role),
    };
    if role != Role::Member {
        return role_access(role, N::MIN_LEVEL);
    }
    if N::MIN_LEVEL > AccessLevel::Staff {
        return Err(Error::forbidden());
    }
    member_access(&*roster_access(app, credential, user).await?, N::MIN_LEVEL)
}

/// Checks the access of a caller again in the transaction of the change: while the body was arriving, the
/// credential may have been revoked, or the user may have lost access.
pub struct Recheck {
    credential: Credential,
    team_access: TeamAccess,
    min_level: AccessLevel,
}

impl Recheck {
    /// Keeps what a caller with the permission `N` was authorized with.
    pub fn new<N: Permission>(credential: &Credential, access: &TeamAccess) -> Self {
        Self {
            credential: credential.clone(),
            team_access: access.clone(),
            min_level: N::MIN_LEVEL,
        }
    }

    /// Call this before the change. For a key, this only sends the query, to save a round trip;
    /// [`after_change`] checks the result.
    ///
    /// [`after_change`]: Self::after_change
    pub fn before_change(&self, tx: &Tx<'_>) -> Result<()> {
        match self.credential.holder {
            Holder::Key { id, .. } => api_key::prefetch_is_active(tx, id),
            Holder::App { user, grant, .. } => {
                signals::prefetch_sequence(tx)?;
                if !IS_GRANT_ACTIVE.get()?(tx, grant)? {
                    return Err(invalid_credentials());
                }
                // Changes of roles and rosters raise the sequence, so the same sequence means nothing has changed.
                if signals::sequence(tx)? == self.credential.sequence {
                    return Ok(());
                }
                self.check_user(tx, user)
            }
        }
    }

    /// Call this after the change, in the same transaction. A key cannot be revoked in between, because the
    /// transactions of an account do not overlap.
    pub fn after_change(&self, tx: &Tx<'_>) -> Result<()> {
        match self.credential.holder {
            Holder::Key { id, .. } if !api_key::is_active(tx, id)? => Err(invalid_credentials()),
            _ => Ok(()),
        }
    }

    fn check_user(&self, tx: &Tx<'_>, user: UserId) -> Result<()> {
        let role = user::role_of(tx, user)?.ok_or_else(invalid_credentials)?;
        let access = if role == Role::Member {
            member_access(&LOAD_ROSTER_ACCESS.get()?(tx, user)?, self.min_level)?
        } else {
            role_access(role, self.min_level)?
        };
        if access == self.team_access {
            return Ok(());
        }
        let detail =
            "Your access rights changed while this request was being processed. Send it again.";
        Err(Error::new(Code::Conflict, detail))
    }
}

fn invalid_credentials() -> Error {
    Error::new(Code::InvalidCredentials, "The API key or access token is not valid.")
}

/// The access of an owner or an admin.
fn role_access(role: Role, min_level: AccessLevel) -> Result<TeamAccess> {
    if AccessLevel::from(role) >= min_level {
        Ok(TeamAccess::AllTeams)
    } else {
        Err(Error::forbidden())
    }
}

/// The access of a member.
fn member_access(access: &RosterAccess, min_level: AccessLevel) -> Result<TeamAccess> {
    if min_level > AccessLevel::Staff || access.level() < min_level {
        return Err(Error::forbidden());
    }
    Ok(access.team_access(min_level))
}

/// The user's positions on the rosters. Cached until something in the account changes.
pub async fn roster_access(
    app: &App,
    credential: &Credential,
    user: UserId,
) -> Result<Arc<RosterAccess>> {
    let (key, sequence) = ((credential.account_id, user), credential.sequence);
    if let Some(cached) = app.roster_access_cache.get(key, sequence) {
        return Ok(cached);
    }
    let access = app
        .db
        .read_inline(credential.scope(), move |db| LOAD_ROSTER_ACCESS.get()?(db, user))
        .await?;
    Ok(app.roster_access_cache.put(key, sequence, access))
}

/// A cache of users' positions on rosters, with the account's sequence at the time. Every change of a roster
/// raises the sequence, so an outdated entry is never used.
#[derive(Debug, Default)]
pub struct RosterAccessCache(Mutex<CacheState>);

/// A user in one of their accounts.
type CacheKey = (AccountId, UserId);

/// The maximum number of cached users.
const CAPACITY: usize = 10_000;

#[derive(Debug, Default)]
struct CacheState {
    entries: HashMap<CacheKey, CacheEntry>,
    /// Counts uses, to find the least recently used entries.
    uses: u64,
}

#[derive(Debug)]
struct CacheEntry {
    sequence: i64,
    access: Arc<RosterAccess>,
    last_use: u64,
}

impl RosterAccessCache {
    fn get(&self, key: CacheKey, sequence: i64) -> Option<Arc<RosterAccess>> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.uses += 1;
        let last_use = cache.uses;
        let entry = cache.entries.get_mut(&key)?;
        entry.last_use = last_use;
        (entry.sequence == sequence).then(|| entry.access.clone())
    }

    fn put(&self, key: CacheKey, sequence: i64, access: RosterAccess) -> Arc<RosterAccess> {
        let access = Arc::new(access);
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.uses += 1;
        let last_use = cache.uses;
        bounded::make_room(&mut cache.entries, CAPACITY, |entry| entry.last_use);
        let entry = CacheEntry { sequence, access: access.clone(), last_use };
        cache.entries.insert(key, entry);
        access
    }
}
