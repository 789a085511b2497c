//! The caller: who asks, what they may do, and the only door to the database.
//!
//! A handler that wants a [`Caller`] names the permit it needs in the type. By the time it runs, the
//! caller was let in: [`admission`] checked the credential, charged the quota, and found the scope and
//! what the user must be. Revocation holds at once, because the credential is looked up every time.

mod looking;

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use store::{Scope, Tx};

use super::admission;
use super::body::Body;
use super::context::Context;
use super::edge::API;
use super::idempotency::{self, IDEMPOTENCY_KEY, IdempotencyKey};
use super::precondition;
use super::public_url;
use super::reply::Written;
use crate::accounts::credential::{Credential, Holder};
pub use crate::accounts::permits::*;
use crate::accounts::rights::{Reach, ScopeName, Voice};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::expected::{Expected, Versioned};
use crate::ids::TeamId;
use crate::roster::standing::Standing;
use crate::signals;

/// An authenticated caller who has the permit `N`.
pub struct Caller<N> {
    app: App,
    context: Context,
    credential: Credential,
    reach: Reach,
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    /// Whether an earlier answer will not do.
    afresh: bool,
    /// Below which address what is made is found, if not below the one that was asked.
    folder: Option<&'static str>,
    needs: PhantomData<fn() -> N>,
}

impl<N: Needs> FromRequestParts<App> for Caller<N> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let context = parts.extensions.get::<Context>().cloned().ok_or_else(|| {
            Error::internal("a request reached a handler without passing the edge")
        })?;
        let credential = admission::authenticate(app, &context, &parts.headers).await?;
        admission::charge(app, &context, &credential).await?;
        let reach = admission::permit::<N>(app, &credential).await?;
        Ok(Self {
            app: app.clone(),
            reach,
            context,
            credential,
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: conditions(&parts.headers),
            afresh: false,
            folder: None,
            needs: PhantomData,
        })
    }
}

/// The headers that are looked at after the handler was chosen; a copy of all would cost more.
fn conditions(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in [IF_MATCH, IF_NONE_MATCH, IDEMPOTENCY_KEY] {
        for value in headers.get_all(&name) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

impl<N: Needs> Caller<N> {
    /// The service.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The absolute URL of a path, to be shown to this caller only: never stored, never cached.
    pub fn url(&self, path: &str) -> String {
        public_url::for_request(&self.app, &self.context, path)
    }

    /// What is known of the caller's key.
    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    /// Fails when the credential does not reach the team: as if it did not exist, unless the caller
    /// knows of it.
    pub fn reaches(&self, team: TeamId) -> Result<()> {
        self.reach.check(team)
    }

    /// Fails when the credential is narrowed to certain teams.
    pub fn reaches_all(&self) -> Result<()> {
        match self.reach {
            Reach::Everywhere => Ok(()),
            Reach::User(_) => Err(Error::forbidden()),
            Reach::Teams(_) => {
                let detail = "This key is narrowed to certain teams and cannot do this.";
                Err(Error::new(Code::Forbidden, detail))
            }
        }
    }

    /// Where the user stands; `None` for a key, which is nobody on a roster.
    pub async fn standing(&self) -> Result<Option<Arc<Standing>>> {
        match self.credential.holder {
            Holder::Key { .. } => Ok(None),
            Holder::App { user, .. } => {
                Ok(Some(admission::standing(&self.app, &self.credential, user).await?))
            }
        }
    }

    /// In whose name the caller speaks.
    pub async fn voice(&self) -> Result<Voice> {
        let standing = self.standing().await?;
        Ok(standing.map_or(Voice::Anybodys, |standing| Voice::Own(standing.own.clone())))
    }

    /// Which teams the credential reaches, for a look that learns the team only on the way.
    pub fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// Looks anew every time: for what changes without news, such as a letter that was sent.
    #[must_use]
    pub fn afresh(self) -> Self {
        Self { afresh: true, ..self }
    }

    /// What is made is found below this address.
    #[must_use]
    pub fn found_below(self, folder: &'static str) -> Self {
        Self { folder: Some(folder), ..self }
    }

    /// Whose job it is when this caller asks for something.
    pub fn scope(&self) -> Scope {
        self.credential.scope().for_request(self.context.id())
    }

    /// What the caller expects to change.
    pub fn expected(&self) -> Result<Expected> {
        precondition::if_match(&self.headers)
    }

    /// Creates something and answers 201.
    pub async fn create<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.change_as(StatusCode::CREATED, body, move |tx, value, _| work(tx, value)).await
    }

    /// Creates something for what is there, if that is what the caller expects, and answers 201.
    pub async fn create_for<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &Expected) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.change_as(StatusCode::CREATED, body, work).await
    }

    /// Creates something with a secret, shows both this once and answers 201. The second object, without
    /// the secret, is what is remembered and what a repeated request gets.
    pub async fn create_secret<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B) -> Result<(T, T)> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, _: &Expected| work(tx, value);
        self.secret_as(StatusCode::CREATED, body, work).await
    }

    /// Changes something that gets a new secret, and shows both this once, as with
    /// [`create_secret`](Self::create_secret).
    pub async fn change_secret<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &Expected) -> Result<(T, T)> + Send + 'static,
    ) -> Result<Response> {
        self.secret_as(StatusCode::OK, body, work).await
    }

    async fn secret_as<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        status: StatusCode,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &Expected) -> Result<(T, T)> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, expected: &Expected| {
            let (shown, kept) = work(tx, value, expected)?;
            let written = Written::new(status, Some(shown.version()), &shown)?;
            written.without_secret(&kept)
        };
        self.write(body, work).await
    }

    /// Creates several things, all or none, and answers 201 with the list of them.
    pub async fn create_all<B: Send + 'static, T: Serialize + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B) -> Result<Vec<T>> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, _: &Expected| {
            Written::new(StatusCode::CREATED, None, &work(tx, value)?)
        };
        self.write(body, work).await
    }

    /// Begins something that goes on beside requests, and answers 202.
    pub async fn begin<B: Send + 'static, T: Serialize + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &Expected) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, expected: &Expected| {
            Written::new(StatusCode::ACCEPTED, None, &work(tx, value, expected)?)
        };
        self.write(body, work).await
    }

    /// Changes something, if it is what the caller expects.
    pub async fn change<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &Expected) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.change_as(StatusCode::OK, body, work).await
    }

    async fn change_as<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        status: StatusCode,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &Expected) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        let work = move |tx: &Tx<'_>, value, expected: &Expected| {
            let object = work(tx, value, expected)?;
            Written::new(status, Some(object.version()), &object)
        };
        self.write(body, work).await
    }

    /// The write path: the memory of the key, the precondition, the change with its news, and the
    /// stored answer, in one transaction.
    async fn write<B: Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B, &Expected) -> Result<Written> + Send + 'static,
    ) -> Result<Response> {
        let expected = self.expected()?;
        let key = idempotency::key(&self.headers)?.map(|key| IdempotencyKey {
            key,
            request_hash: idempotency::request_hash(
                &self.method,
                &self.path,
                &body.canonical,
                &self.rights(),
            ),
        });
        let turn = match &key {
            Some(key) => {
                let running = self.app.running.clone();
                Some(running.enter(self.credential.account_id, &key.key).await?)
            }
            None => None,
        };
        let kept = self.app.config.idempotency_ttl;
        let recheck = admission::Recheck::of::<N>(&self.credential, &self.reach);
        let written = self
            .app
            .db
            .write(self.scope(), move |tx| {
                signals::journal_ahead(tx)?;
                recheck.before(tx)?;
                if let Some(before) = Written::recall(tx, key.as_ref(), kept)? {
                    recheck.after(tx)?;
                    return Ok(before);
                }
                let written = work(tx, body.value, &expected)?;
                recheck.after(tx)?;
                if let Some(key) = key {
                    written.remember(tx, key)?;
                }
                Ok::<_, Error>(written)
            })
            .await?;
        drop(turn);
        let location =
            (written.status == StatusCode::CREATED).then(|| self.location(&written)).flatten();
        Ok(written.response(location.as_deref(), self.context.id()))
    }

    /// Whose answer it is and what they may see that not everybody may, as text; empty for a key that
    /// sees everything. What a user is told may be about themselves, so no two share an answer.
    fn rights(&self) -> String {
        let user = match self.credential.holder {
            Holder::Key { .. } => String::new(),
            Holder::App { user, .. } => format!("{user}\n"),
        };
        let reach = match &self.reach {
            Reach::Everywhere => String::new(),
            Reach::Teams(teams) => format!("{teams:?}\n"),
            Reach::User(place) => format!("{place:?}\n"),
        };
        let private = self.credential.scopes.allow(ScopeName::RosterRead);
        user + &reach + if private { "" } else { "nothing private\n" }
    }

    /// Where the created object is found: below the address it was posted to.
    fn location(&self, written: &Written) -> Option<String> {
        let id = written.id()?;
        let path = match self.folder {
            Some(folder) => format!("{API}{folder}/{id}"),
            None => format!("{}/{id}", self.path),
        };
        Some(public_url::reference(&self.app, &path))
    }
}
