//! The caller: who asks, what they may do, and the only door to the database.
//!
//! A handler that wants a [`Caller`] names the permit it needs in the type. By the time it runs, the
//! caller was let in: [`admission`] checked the credential, charged the quota, and found the scope and
//! what the user must be. Revocation holds at once, because the credential is looked up every time.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use store::{Reader, Scope, Tx};

use super::admission;
use super::body::Body;
use super::cache::Answer;
use super::context::Context;
use super::cursor::{self, List, Paging, Place};
use super::edge::API;
use super::idempotency::{self, IDEMPOTENCY_KEY, IdempotencyKey};
use super::precondition;
use super::reply::{self, Written};
use crate::accounts::credential::{Credential, Holder};
pub use crate::accounts::permits::*;
use crate::accounts::rights::{Reach, ScopeName, Voice};
use crate::app::App;
use crate::config::BaseUrl;
use crate::error::{Code, Error, Result};
use crate::expected::{Expected, Versioned};
use crate::ids::TeamId;
use crate::paging::{Page, Paged, Stretch};
use crate::roster::standing::Standing;
use crate::signals::{Seen, Tell};

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

    /// Looks at something that has no version and may depend on the clock.
    pub async fn look<T: Serialize + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        let value = self.app.db.read(self.scope(), work).await?;
        Ok(reply::complete(StatusCode::OK, reply::envelope(&value)?, self.context.id()))
    }

    /// Looks at one object. While nothing in the account changes, it is read only once.
    pub async fn one<T: Serialize + Versioned + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.one_seen(work, |_| None).await
    }

    /// Looks at one object that changes as time passes, too, without a new version. If the work says that it may
    /// have since its version was given, nobody is told that they know it already.
    pub async fn one_in_time<T: Serialize + Versioned + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<(T, bool)> + Send + 'static,
    ) -> Result<Response> {
        let (object, moved) = self.app.db.glance(self.scope(), work).await?;
        self.versioned(reply::one(&object)?, moved)
    }

    /// Looks at one object; what `delicate` finds in it is entered in the audit log before the caller
    /// sees it, every time.
    pub async fn one_seen<T: Serialize + Versioned + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
        delicate: impl FnOnce(&T) -> Option<Seen> + Send,
    ) -> Result<Response> {
        let answer = if let Some(answer) = self.remembered() {
            answer
        } else {
            let object = self.app.db.glance(self.scope(), work).await?;
            self.enter_or_keep(delicate(&object), reply::one(&object)?).await?
        };
        self.versioned(answer, false)
    }

    fn versioned(&self, answer: Answer, moved: bool) -> Result<Response> {
        let version = answer.version.unwrap_or_default();
        if precondition::none_match(&self.headers, version)? && !moved {
            return Ok(reply::not_modified(version));
        }
        Ok(reply::versioned(StatusCode::OK, answer.body, Some(version), self.context.id()))
    }

    /// An answer that is delicate is entered in the audit log and not remembered.
    async fn enter_or_keep(&self, seen: Option<Seen>, answer: Answer) -> Result<Answer> {
        let Some(seen) = seen else { return Ok(self.keep(answer)) };
        let enter = move |tx: &Tx<'_>| tx.audit(seen.action, &seen.subject, &seen.details);
        self.app.db.write(self.scope(), enter).await?;
        Ok(answer)
    }

    /// Looks at a page of a list. While nothing in the account changes, it is read only once.
    pub async fn page<T, F>(
        self,
        paging: Paging<F>,
        work: impl FnOnce(&Reader<'_>, &Reach, &F, &Page<T::Place>) -> Result<Vec<T>> + Send + 'static,
    ) -> Result<Response>
    where
        T: Serialize + Paged + Send + 'static,
        T::Place: Place + Send,
        F: Send + 'static,
    {
        self.page_seen(paging, work, |_| None).await
    }

    /// Looks at a page of a list, with what is delicate in it entered in the audit log.
    pub async fn page_seen<T, F>(
        self,
        paging: Paging<F>,
        work: impl FnOnce(&Reader<'_>, &Reach, &F, &Page<T::Place>) -> Result<Vec<T>> + Send + 'static,
        delicate: impl FnOnce(&[T]) -> Option<Seen> + Send,
    ) -> Result<Response>
    where
        T: Serialize + Paged + Send + 'static,
        T::Place: Place + Send,
        F: Send + 'static,
    {
        let filters = cursor::filters(&self.query);
        let list = List {
            account: self.credential.account_id,
            route: &self.path,
            filters: &filters,
            order: paging.order,
        };
        let page: Page<T::Place> = paging.page(&self.app.cursors, &list)?;
        let limit = paging.limit;
        let answer = if let Some(answer) = self.remembered() {
            answer
        } else {
            let (db, reach) = (&self.app.db, self.reach.clone());
            let looked = db.read(self.scope(), move |db| work(db, &reach, &paging.filter, &page));
            let cursor = |place: T::Place| self.app.cursors.cursor(&list, &place);
            let rows = looked.await?;
            // The row beyond the page only tells that there is one; nobody sees it.
            let shown = usize::try_from(limit).map_or(rows.len(), |limit| limit.min(rows.len()));
            let seen = delicate(&rows[..shown]);
            self.enter_or_keep(seen, reply::list(rows, limit, cursor)?).await?
        };
        Ok(self.linked(&answer, &list, limit))
    }

    /// Looks at a stretch of a log, of which the caller may see some. The next page begins where the look
    /// ended, whether or not anything was found. Who may see what is no part of what is remembered of other
    /// answers, so this one is read anew every time.
    pub async fn stretch<F: Send + 'static>(
        self,
        paging: Paging<F>,
        work: impl FnOnce(&Reader<'_>, &F, &Page<i64>) -> Result<Stretch> + Send + 'static,
    ) -> Result<Response> {
        let filters = cursor::filters(&self.query);
        let (account, order) = (self.credential.account_id, paging.order);
        let list = List { account, route: &self.path, filters: &filters, order };
        let page = paging.page(&self.app.cursors, &list)?;
        let limit = paging.limit;
        let looked = self.app.db.read(self.scope(), move |db| work(db, &paging.filter, &page));
        let cursor = |place| self.app.cursors.cursor(&list, &place);
        let answer = reply::stretch(&looked.await?, order, cursor)?;
        Ok(self.linked(&answer, &list, limit))
    }

    /// The response with a page, and with the address of the next one.
    fn linked(&self, answer: &Answer, list: &List<'_>, limit: i64) -> Response {
        let List { route, filters, order, .. } = list;
        let link = answer.next.as_deref().map(|next| {
            let base = self.app.config.base_url.as_ref().map_or("", BaseUrl::as_str);
            let and = if filters.is_empty() { "" } else { "&" };
            format!(
                "<{base}{route}?{filters}{and}limit={limit}&order={order}&cursor={next}>; rel=\"next\""
            )
        });
        reply::linked(answer.body.clone(), link.as_deref(), self.context.id())
    }

    /// What an earlier request with the same rights got for the same question.
    fn remembered(&self) -> Option<Answer> {
        if self.afresh {
            return None;
        }
        self.app.cache.get(&self.question(), self.credential.sequence)
    }

    fn keep(&self, answer: Answer) -> Answer {
        if !self.afresh {
            self.app.cache.put(self.question(), self.credential.sequence, answer.clone());
        }
        answer
    }

    /// What the answer depends on beside the state of the account. Whoever does not see everything has
    /// answers of their own; what a user sees follows from the state of the account.
    fn question(&self) -> String {
        let account = self.credential.account_id.bits();
        let narrowed = match self.reach {
            Reach::Everywhere => String::new(),
            Reach::Teams(_) | Reach::User(_) => self.credential.actor(),
        };
        format!("{account:x} {narrowed} {}?{}", self.path, self.query)
    }

    /// Creates something and answers 201.
    pub async fn create<B: Send + 'static, T: Serialize + Versioned + Send + 'static>(
        self,
        body: Body<B>,
        work: impl FnOnce(&Tx<'_>, B) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.change_as(StatusCode::CREATED, body, move |tx, value, _| work(tx, value)).await
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
        let expected = precondition::if_match(&self.headers)?;
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
        let written = self
            .app
            .db
            .write(self.scope(), move |tx| {
                if let Some(before) = Written::recall(tx, key.as_ref(), kept)? {
                    return Ok(before);
                }
                let written = work(tx, body.value, &expected)?;
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
        let base = self.app.config.base_url.as_ref().map_or("", BaseUrl::as_str);
        Some(match self.folder {
            Some(folder) => format!("{base}{API}{folder}/{id}"),
            None => format!("{base}{}/{id}", self.path),
        })
    }
}
