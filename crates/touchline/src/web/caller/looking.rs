//! What a caller looks at, and how it is answered: read once while it stays true.

use axum::response::Response;
use http::StatusCode;
use kit::Timestamp;
use serde::Serialize;
use store::{Reader, Tx};

use super::super::cache::Answer;
use super::super::cursor::{self, List, Paging, Place};
use super::super::{precondition, public_url, reply};
use super::{Caller, Needs};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::expected::Versioned;
use crate::paging::{Page, Paged, Stretch};
use crate::signals::{Seen, Tell};

impl<N: Needs> Caller<N> {
    /// Looks at something that has no version and may depend on the clock.
    pub async fn look<T: Serialize + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        let value = self.app.db.read(self.scope(), work).await?;
        Ok(reply::complete(StatusCode::OK, reply::envelope(&value)?, self.context.id()))
    }

    /// Looks at something that has no version and stays as it is until the moment that the work names, unless
    /// something in the account changes. So long it is read only once.
    pub async fn look_until<T: Serialize + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<(T, Option<Timestamp>)> + Send + 'static,
    ) -> Result<Response> {
        let body = if let Some(answer) = self.remembered() {
            answer.body
        } else {
            let (value, until) = self.app.db.read(self.scope(), work).await?;
            let answer = Answer { body: reply::envelope(&value)?, version: None, next: None };
            self.keep_until(answer, until).body
        };
        Ok(reply::complete(StatusCode::OK, body, self.context.id()))
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
            let and = if filters.is_empty() { "" } else { "&" };
            let path = format!("{route}?{filters}{and}limit={limit}&order={order}&cursor={next}");
            format!("<{}>; rel=\"next\"", public_url::reference(&self.app, &path))
        });
        reply::linked(answer.body.clone(), link.as_deref(), self.context.id())
    }

    /// What an earlier request with the same rights got for the same question.
    fn remembered(&self) -> Option<Answer> {
        if self.afresh {
            return None;
        }
        self.app.cache.get(&self.question(), self.credential.sequence, self.app.clock.now())
    }

    fn keep(&self, answer: Answer) -> Answer {
        self.keep_until(answer, None)
    }

    fn keep_until(&self, answer: Answer, until: Option<Timestamp>) -> Answer {
        if !self.afresh {
            let sequence = self.credential.sequence;
            self.app.cache.put(self.question(), (sequence, until), answer.clone());
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
}
