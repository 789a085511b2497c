//! The extractor of API handlers: who calls, what they may do, and access to the database.
//!
//! A handler that takes a [`Caller`] names the permission it needs in the type. Before it runs, [`admission`]
//! has checked the credential, charged the quota, and checked the scope and the user's role. The credential is
//! looked up for every request, so revoking it takes effect at once.

mod reads;

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};

use super::admission;
use super::body::Body;
use super::context::Context;
use super::edge::API;
use super::idempotency::{self, IDEMPOTENCY_KEY, IdempotencyKey, ReplaySettings};
use super::precondition;
use super::public_url;
use super::reply::WriteResponse;
use crate::accounts::credential::{Credential, Holder};
use crate::accounts::permissions::Permission;
use crate::accounts::roster_access::RosterAccess;
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::signals;
use crate::web::app::App;

/// An authenticated caller who has the permission `N`.
pub struct Caller<N> {
    app: App,
    context: Context,
    credential: Credential,
    team_access: TeamAccess,
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    /// Whether the response must not come from the cache.
    bypass_cache: bool,
    /// The path prefix of created objects, if it is not the path of the request.
    location_prefix: Option<&'static str>,
    permission: PhantomData<fn() -> N>,
}

impl<N: Permission> FromRequestParts<App> for Caller<N> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let context = parts.extensions.get::<Context>().cloned().ok_or_else(|| {
            Error::internal("the request has no context: it did not pass through web::edge")
        })?;
        let credential = admission::authenticate(app, &context, &parts.headers).await?;
        admission::charge_quota(app, &context, &credential).await?;
        let access = admission::authorize::<N>(app, &credential).await?;
        Ok(Self {
            app: app.clone(),
            team_access: access,
            context,
            credential,
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: conditional_headers(&parts.headers),
            bypass_cache: false,
            location_prefix: None,
            permission: PhantomData,
        })
    }
}

/// Copies the headers that are needed later. Copying all would cost more.
fn conditional_headers(headers: &HeaderMap) -> HeaderMap {
    let mut copied = HeaderMap::new();
    for name in [IF_MATCH, IF_NONE_MATCH, IDEMPOTENCY_KEY] {
        for value in headers.get_all(&name) {
            copied.append(name.clone(), value.clone());
        }
    }
    copied
}

impl<N: Permission> Caller<N> {
    /// The service.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The absolute URL of a path. It must be shown only to this caller, never stored or cached.
    pub fn url(&self, path: &str) -> String {
        public_url::for_request(&self.app, &self.context, path)
    }

    /// The caller's credential.
    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    /// Fails if the caller has no access to the team: with 404, unless the caller may know that it exists.
    pub fn require_team(&self, team: TeamId) -> Result<()> {
        self.team_access.check(team)
    }

    /// Fails if the caller has no access to one of the teams of a filter: a single team, or several.
    pub fn require_teams(&self, one: Option<TeamId>, several: &[TeamId]) -> Result<()> {
        self.team_access.check_filter(one, several)
    }

    /// Fails if the credential is restricted to certain teams.
    pub fn require_all_teams(&self) -> Result<()> {
        match self.team_access {
            TeamAccess::AllTeams => Ok(()),
            TeamAccess::User(_) => Err(Error::forbidden()),
            TeamAccess::Teams(_) => {
                let detail =
                    "This API key is restricted to certain teams. Use a key for all teams.";
                Err(Error::new(Code::Forbidden, detail))
            }
        }
    }

    /// The user's positions on the rosters. `None` for an API key.
    pub async fn roster_access(&self) -> Result<Option<Arc<RosterAccess>>> {
        match self.credential.holder {
            Holder::Key { .. } => Ok(None),
            Holder::App { user, .. } => {
                Ok(Some(admission::roster_access(&self.app, &self.credential, user).await?))
            }
        }
    }

    /// The people on whose behalf the caller may act.
    pub async fn sender_identity(&self) -> Result<SenderIdentity> {
        let roster_access = self.roster_access().await?;
        Ok(roster_access.map_or(SenderIdentity::Anybody, |roster_access| {
            SenderIdentity::OneOf(roster_access.own_person_ids.clone())
        }))
    }

    /// The teams the caller may access, for reads that learn the team only from the object they read.
    pub fn team_access(&self) -> TeamAccess {
        self.team_access.clone()
    }

    /// Bypasses the cache, for data that changes without raising the account's sequence, such as the status of
    /// an email.
    #[must_use]
    pub fn bypass_cache(self) -> Self {
        Self { bypass_cache: true, ..self }
    }

    /// Sets the path prefix for the `Location` of created objects.
    #[must_use]
    pub fn with_location_prefix(self, prefix: &'static str) -> Self {
        Self { location_prefix: Some(prefix), ..self }
    }

    /// The database scope: the account, with the caller as actor.
    pub fn scope(&self) -> Scope {
        self.credential.scope().for_request(self.context.id())
    }

    /// The caller's `If-Match`.
    pub fn if_match(&self) -> Result<IfMatch> {
        precondition::if_match(&self.headers)
    }

    /// Creates an object and responds with 201.
    pub async fn create<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.change_with_status(StatusCode::CREATED, body, move |tx, value, _| work(tx, value))
            .await
    }

    /// Creates an object that belongs to an existing one, which must match `If-Match`, and responds with 201.
    pub async fn create_for<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &IfMatch) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.change_with_status(StatusCode::CREATED, body, work).await
    }

    /// Creates an object with a secret, which cannot be read later, and responds with 201. `work` also
    /// returns the object without the secret: the response is stored encrypted.
    pub async fn create_secret<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B) -> Result<(T, T)> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, _: &IfMatch| work(tx, value);
        self.write_secret(StatusCode::CREATED, body, work).await
    }

    /// Changes an object that gets a new secret. See [`create_secret`](Self::create_secret).
    pub async fn change_secret<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &IfMatch) -> Result<(T, T)> + Send + 'static,
    ) -> Result<Response> {
        self.write_secret(StatusCode::OK, body, work).await
    }

    async fn write_secret<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        status: StatusCode,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &IfMatch) -> Result<(T, T)> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, expected: &IfMatch| {
            let (with_secret, without_secret) = work(tx, value, expected)?;
            let written = WriteResponse::new(status, Some(with_secret.version()), &with_secret)?;
            written.without_secret(&without_secret)
        };
        self.write(body, work).await
    }

    /// Creates several objects, all or none, and responds with 201 and the list.
    pub async fn create_all<B: Send + 'static, T: Serialize + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B) -> Result<Vec<T>> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, _: &IfMatch| {
            WriteResponse::new(StatusCode::CREATED, None, &work(tx, value)?)
        };
        self.write(body, work).await
    }

    /// Starts a background operation and responds with 202.
    pub async fn accept<B: Send + 'static, T: Serialize + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &IfMatch) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, expected: &IfMatch| {
            WriteResponse::new(StatusCode::ACCEPTED, None, &work(tx, value, expected)?)
        };
        self.write(body, work).await
    }

    /// Changes an object, which must match `If-Match`.
    pub async fn change<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &IfMatch) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.change_with_status(StatusCode::OK, body, work).await
    }

    /// Changes the object with this id, if it matches `If-Match` and the caller has access to it. `id` may be a tuple of ids.
    pub async fn change_by_id<I, B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        id: I,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, &TeamAccess, I, &IfMatch, B) -> Result<T> + Send + 'static,
    ) -> Result<Response>
    where
        I: Send + 'static,
    {
        let access = self.team_access();
        self.change(body, move |tx, value, expected| work(tx, &access, id, expected, value)).await
    }

    async fn change_with_status<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        status: StatusCode,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &IfMatch) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, expected: &IfMatch| {
            let object = work(tx, value, expected)?;
            WriteResponse::new(status, Some(object.version()), &object)
        };
        self.write(body, work).await
    }

    /// The write path: idempotency key, precondition, the change with its notifications, and the stored
    /// response, all in one transaction.
    async fn write<B: Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &IfMatch) -> Result<WriteResponse> + Send + 'static,
    ) -> Result<Response> {
        let expected = self.if_match()?;
        let key = idempotency::parse_key(&self.headers)?.map(|key| IdempotencyKey {
            key,
            request_hash: idempotency::request_hash(
                &self.method,
                &self.path,
                &body.canonical,
                &self.access_fingerprint(),
            ),
        });
        let guard = match &key {
            Some(key) => {
                let running = self.app.idempotent_requests.clone();
                Some(running.acquire(self.credential.account_id, &key.key).await?)
            }
            None => None,
        };
        let settings = ReplaySettings {
            ttl: self.app.config.idempotency_ttl,
            seal: self.app.secrets.key("repeated response"),
        };
        let recheck = admission::Recheck::new::<N>(&self.credential, &self.team_access);
        let written = self
            .app
            .db
            .write(self.scope(), move |tx| {
                signals::prefetch_journal(tx)?;
                recheck.before_change(tx)?;
                if let Some(replayed) = WriteResponse::replay(tx, key.as_ref(), &settings)? {
                    recheck.after_change(tx)?;
                    return Ok(replayed);
                }
                let written = work(tx, body.value, &expected)?;
                recheck.after_change(tx)?;
                if let Some(key) = key {
                    written.save(tx, key, &settings)?;
                }
                Ok::<_, Error>(written)
            })
            .await?;
        drop(guard);
        let location =
            (written.status == StatusCode::CREATED).then(|| self.location(&written)).flatten();
        Ok(written.response(location.as_deref(), self.context.id()))
    }

    /// The caller's access as text, for the hash of idempotent requests. Empty for an API key with full access.
    /// Responses to users may be about themselves, so no two users share one.
    fn access_fingerprint(&self) -> String {
        let user = match self.credential.holder {
            Holder::Key { .. } => String::new(),
            Holder::App { user, .. } => format!("{user}\n"),
        };
        let access = match &self.team_access {
            TeamAccess::AllTeams => String::new(),
            TeamAccess::Teams(teams) => format!("{teams:?}\n"),
            TeamAccess::User(user) => format!("{user:?}\n"),
        };
        let private = self.credential.scopes.contains(ScopeName::RosterRead);
        user + &access + if private { "" } else { "nothing private\n" }
    }

    /// The `Location` of a created object, by default below the path of the request.
    fn location(&self, written: &WriteResponse) -> Option<String> {
        let id = written.id()?;
        let path = match self.location_prefix {
            Some(prefix) => format!("{API}{prefix}/{id}"),
            None => format!("{}/{id}", self.path),
        };
        Some(public_url::reference(&self.app, &path))
    }
}
