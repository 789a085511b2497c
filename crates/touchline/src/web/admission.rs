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
use crate::accounts::user::Role;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, UserId};
use crate::oauth::token;
use crate::roster::standing::{self, Standing};

/// The credential of the request's key or access token. Every refusal looks the same.
pub async fn authenticate(app: &App, context: &Context, headers: &HeaderMap) -> Result<Credential> {
    let refused = || Error::new(Code::InvalidCredentials, "The credentials are not valid.");
    let fail = |error| app.limits.fail(context.address(), error);
    let text = bearer(headers)?;
    let scope = Scope::system("authenticate");
    if let Some(token) = Token::parse(TokenKind::Access, text) {
        let found = app.db.glance(scope, move |db| token::authenticate(db, &token)).await?;
        return found.ok_or_else(|| fail(refused()));
    }
    let key = ApiKey::parse(text).map_err(|_| fail(refused()))?;
    let found = app.db.glance(scope, move |db| api_key::authenticate(db, &key)).await?;
    let found = found.ok_or_else(|| fail(refused()))?;
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
    let refused = || Error::new(Code::InvalidCredentials, "The credentials are not valid.");
    let (scheme, token) = line.to_str().ok().and_then(|l| l.split_once(' ')).ok_or_else(refused)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(refused()) }
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
    let level = Least::from(role);
    if role != Role::Member {
        return if level >= N::LEAST { Ok(Reach::Everywhere) } else { Err(Error::forbidden()) };
    }
    if N::LEAST > Least::Staff {
        return Err(Error::forbidden());
    }
    let standing = standing(app, credential, user).await?;
    if standing.level() < N::LEAST { Err(Error::forbidden()) } else { Ok(standing.reach(N::LEAST)) }
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
pub struct Standings(Mutex<HashMap<Whose, (i64, Arc<Standing>)>>);

/// A user in one of their clubs.
type Whose = (AccountId, UserId);

/// So many users are remembered; after that it begins anew.
const MOST: usize = 10_000;

impl Standings {
    fn get(&self, whose: Whose, sequence: i64) -> Option<Arc<Standing>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, standing) = known.get(&whose)?;
        (*at == sequence).then(|| standing.clone())
    }

    fn put(&self, whose: Whose, sequence: i64, found: Standing) -> Arc<Standing> {
        let found = Arc::new(found);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(whose, (sequence, found.clone()));
        found
    }
}
