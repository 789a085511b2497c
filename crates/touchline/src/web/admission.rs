//! Letting callers in: the credential, the quota, the scope, and what a user is in the club.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kit::secret::{ApiKey, Token, TokenKind};
use kit::word::Word;
use store::{Scope, Tx};

use super::context::Context;
use crate::accounts::api_key;
use crate::accounts::credential::{Credential, Holder};
use crate::accounts::permits::{Least, Needs};
use crate::accounts::rights::Reach;
use crate::accounts::user::{self, Role};
use crate::app::App;
use crate::bounded;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, UserId};
use crate::oauth::{grant, token};
use crate::roster::standing::{self, Standing};
use crate::signals;

/// The credential of the request's key or access token. Every refusal looks the same.
pub async fn authenticate(app: &App, context: &Context, headers: &HeaderMap) -> Result<Credential> {
    let fail = |error| app.limits.fail(context.address(), error);
    let text = bearer(headers)?;
    let scope = Scope::system("authenticate");
    if let Some(token) = Token::parse(TokenKind::Access, text) {
        let found = app.db.glance(scope, move |db| token::authenticate(db, &token)).await?;
        return found.ok_or_else(|| fail(invalid()));
    }
    let key = ApiKey::parse(text).map_err(|_| fail(invalid()))?;
    let found = app.db.glance(scope, move |db| api_key::authenticate(db, &key)).await?;
    let found = found.ok_or_else(|| fail(invalid()))?;
    if found.welcomes(context.address()) {
        Ok(found.into())
    } else {
        let detail = "This key may not be used from this address.";
        Err(fail(Error::new(Code::Forbidden, detail)))
    }
}

/// The token of the one `Authorization` header; a credential anywhere else is not looked at.
fn bearer(headers: &HeaderMap) -> Result<&str> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let Some(line) = lines.next() else {
        let detail =
            "Send the header Authorization: Bearer followed by an API key or an access token.";
        return Err(Error::new(Code::MissingCredentials, detail));
    };
    if lines.next().is_some() {
        return Err(Error::new(
            Code::InvalidRequest,
            "There is more than one Authorization header.",
        ));
    }
    let (scheme, token) = line.to_str().ok().and_then(|l| l.split_once(' ')).ok_or_else(invalid)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(invalid()) }
}

/// Takes the request from the account's quota.
pub async fn charge(app: &App, context: &Context, credential: &Credential) -> Result<()> {
    let quota = app.config.rate_limits.of(credential.tier);
    let (allowance, outcome) = app.limits.take(&app.db, credential.account_id, quota).await;
    context.identify(credential.account_id, allowance);
    let refused = outcome.as_ref().is_err_and(|error| error.code == Code::RateLimited);
    app.usage.count(credential.account_id, credential.into(), refused);
    outcome
}

/// Notes that the key or the token is in use, at most once a minute and without holding up the request.
fn note_use(app: &App, credential: &Credential) {
    let (subject, last) = match credential.holder {
        Holder::Key { id, last_used_at, .. } => (id.bits(), last_used_at),
        Holder::App { grant, last_used_at, .. } => (grant.bits(), last_used_at),
    };
    let Some(turn) = app.touches.due(subject, last, app.clock.now()) else { return };
    let (db, scope, holder) = (app.db.clone(), credential.scope(), credential.holder.clone());
    app.spawn(async move {
        let before = turn.before;
        let note = move |tx: &Tx<'_>| match holder {
            Holder::Key { id, .. } => api_key::touch(tx, id, before),
            Holder::App { grant, generation, .. } => token::touch(tx, grant, generation),
        };
        if let Err(error) = db.write(scope, note).await {
            tracing::warn!(cause = ?error.cause, "could not note that a credential was used");
        }
        drop(turn);
    });
}

/// Which teams a credential reaches that was let in; refuses one without the permit.
pub async fn permit<N: Needs>(app: &App, credential: &Credential) -> Result<Reach> {
    check_scope::<N>(credential)?;
    let reach = reach::<N>(app, credential).await?;
    note_use(app, credential);
    Ok(reach)
}

/// Refuses a credential without the scope that the permit needs.
fn check_scope<N: Needs>(credential: &Credential) -> Result<()> {
    let Some(scope) = N::SCOPE.filter(|scope| !credential.scopes.allow(*scope)) else {
        return Ok(());
    };
    let error = Error::new(Code::InsufficientScope, format!("This needs the scope {scope}."));
    Err(Error { needs: Some(scope.word()), ..error })
}

/// Which teams the caller reaches for what the permit is for. A user who is less than the permit asks
/// is refused, whatever the scopes say.
async fn reach<N: Needs>(app: &App, credential: &Credential) -> Result<Reach> {
    let (user, role) = match credential.holder {
        Holder::Key { .. } => return Ok(credential.reach()),
        Holder::App { user, role, .. } => (user, role),
    };
    if role != Role::Member {
        return reach_of_role(role, N::LEAST);
    }
    if N::LEAST > Least::Staff {
        return Err(Error::forbidden());
    }
    reach_of(&*standing(app, credential, user).await?, N::LEAST)
}

/// The rights of a caller, to be checked again in the job that changes something: a body may take its time to arrive, and
/// by then the credential may have been revoked or its user may have lost the right.
pub struct Recheck {
    credential: Credential,
    reach: Reach,
    least: Least,
}

impl Recheck {
    /// What a caller with the permit `N` was let in with.
    pub fn of<N: Needs>(credential: &Credential, reach: &Reach) -> Self {
        Self { credential: credential.clone(), reach: reach.clone(), least: N::LEAST }
    }

    /// Call this before the change. What a key needs is only asked for here, to save a round trip.
    pub fn before(&self, tx: &Tx<'_>) -> Result<()> {
        match self.credential.holder {
            Holder::Key { id, .. } => api_key::is_live_ahead(tx, id),
            Holder::App { user, grant, .. } => {
                signals::sequence_ahead(tx)?;
                if !grant::is_live(tx, grant)? {
                    return Err(invalid());
                }
                // A change of a role or of a roster is news, so without news nothing has changed.
                if signals::sequence(tx)? == self.credential.sequence {
                    return Ok(());
                }
                self.check_user(tx, user)
            }
        }
    }

    /// Call this after the change, before the job ends. No key is revoked in between: jobs of one account do not overlap.
    pub fn after(&self, tx: &Tx<'_>) -> Result<()> {
        match self.credential.holder {
            Holder::Key { id, .. } if !api_key::is_live(tx, id)? => Err(invalid()),
            _ => Ok(()),
        }
    }

    fn check_user(&self, tx: &Tx<'_>, user: UserId) -> Result<()> {
        let role = user::role_of(tx, user)?.ok_or_else(invalid)?;
        let reach = if role == Role::Member {
            reach_of(&standing::of(tx, user)?, self.least)?
        } else {
            reach_of_role(role, self.least)?
        };
        if reach == self.reach {
            return Ok(());
        }
        let detail = "Your rights changed while this request was on its way. Send it again.";
        Err(Error::new(Code::Conflict, detail))
    }
}

fn invalid() -> Error {
    Error::new(Code::InvalidCredentials, "The credentials are not valid.")
}

/// What an owner or an admin reaches.
fn reach_of_role(role: Role, least: Least) -> Result<Reach> {
    if Least::from(role) >= least { Ok(Reach::Everywhere) } else { Err(Error::forbidden()) }
}

/// What a member reaches.
fn reach_of(standing: &Standing, least: Least) -> Result<Reach> {
    if least > Least::Staff || standing.level() < least {
        return Err(Error::forbidden());
    }
    Ok(standing.reach(least))
}

/// Where a user stands. While nothing in the account changes, it is looked up only once.
pub async fn standing(app: &App, credential: &Credential, user: UserId) -> Result<Arc<Standing>> {
    let (whose, sequence) = ((credential.account_id, user), credential.sequence);
    if let Some(known) = app.standings.get(whose, sequence) {
        return Ok(known);
    }
    let found = app.db.glance(credential.scope(), move |db| standing::of(db, user)).await?;
    Ok(app.standings.put(whose, sequence, found))
}

/// Where users stood when they were last looked up, with the version of the account at that time. Whoever
/// joins, leaves or is looked after raises that version, so what is remembered is never old.
#[derive(Debug, Default)]
pub struct Standings(Mutex<StandingCache>);

/// A user in one of their clubs.
type Whose = (AccountId, UserId);

/// The most users that are remembered.
const CAPACITY: usize = 10_000;

#[derive(Debug, Default)]
struct StandingCache {
    entries: HashMap<Whose, CachedStanding>,
    /// The number of uses so far, by which the least recently used entries are found.
    uses: u64,
}

#[derive(Debug)]
struct CachedStanding {
    sequence: i64,
    standing: Arc<Standing>,
    last_use: u64,
}

impl Standings {
    fn get(&self, whose: Whose, sequence: i64) -> Option<Arc<Standing>> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.uses += 1;
        let last_use = cache.uses;
        let entry = cache.entries.get_mut(&whose)?;
        entry.last_use = last_use;
        (entry.sequence == sequence).then(|| entry.standing.clone())
    }

    fn put(&self, whose: Whose, sequence: i64, found: Standing) -> Arc<Standing> {
        let standing = Arc::new(found);
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.uses += 1;
        let last_use = cache.uses;
        bounded::make_room(&mut cache.entries, CAPACITY, |entry| entry.last_use);
        let entry = CachedStanding { sequence, standing: standing.clone(), last_use };
        cache.entries.insert(whose, entry);
        standing
    }
}
