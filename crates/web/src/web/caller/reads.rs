//! The read operations of a caller. Responses are cached until something in the account changes.

use axum::response::Response;
use http::StatusCode;

use super::super::cache::CachedResponse;
use super::super::cursor::{self, List, Paging, SortKey};
use super::super::{precondition, public_url, reply};
use super::{Caller, Permission};
use crate::paging::LogPage;
use crate::prelude::*;
use crate::signals::SensitiveRead;

impl<N: Permission> Caller<N> {
    /// Reads data that has no version and may depend on the current time. Not cached.
    pub async fn read<T: Serialize + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        let value = self.app.db.read(self.scope(), work).await?;
        Ok(reply::json_response(StatusCode::OK, reply::envelope(&value)?, self.context.id()))
    }

    /// Reads data that has no version and stays valid until the time that `work` returns, unless something in the
    /// account changes. The response is cached until then.
    pub async fn read_until<T: Serialize + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<(T, Option<Timestamp>)> + Send + 'static,
    ) -> Result<Response> {
        let body = if let Some(response) = self.find_cached() {
            response.body
        } else {
            let (value, until) = self.app.db.read(self.scope(), work).await?;
            let response =
                CachedResponse { body: reply::envelope(&value)?, version: None, next: None };
            self.cache_until(response, until).body
        };
        Ok(reply::json_response(StatusCode::OK, body, self.context.id()))
    }

    /// Reads one object. The response is cached until something in the account changes.
    pub async fn read_object<T: Serialize + Versioned + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Response> {
        self.read_object_audited(work, |_| None).await
    }

    /// Reads one object that also changes as time passes, without a new version. If `work` returns `true`, it
    /// may have changed since its version was assigned, and the response is never 304.
    pub async fn read_time_dependent_object<T: Serialize + Versioned + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<(T, bool)> + Send + 'static,
    ) -> Result<Response> {
        let (object, changed) = self.app.db.read_inline(self.scope(), work).await?;
        self.versioned_response(reply::object_response(&object)?, changed)
    }

    /// Reads one object. If `sensitive` finds sensitive data in it, every read is recorded in the audit log
    /// before the response is sent.
    pub async fn read_object_audited<T: Serialize + Versioned + Send + 'static>(
        self,
        work: impl FnOnce(&Reader<'_>) -> Result<T> + Send + 'static,
        sensitive: impl FnOnce(&T) -> Option<SensitiveRead> + Send,
    ) -> Result<Response> {
        let response = if let Some(response) = self.find_cached() {
            response
        } else {
            let object = self.app.db.read_inline(self.scope(), work).await?;
            self.audit_or_cache(sensitive(&object), reply::object_response(&object)?).await?
        };
        self.versioned_response(response, false)
    }

    fn versioned_response(&self, response: CachedResponse, changed: bool) -> Result<Response> {
        let version = response.version.unwrap_or_default();
        if precondition::has_version(&self.headers, version)? && !changed {
            return Ok(reply::not_modified(version));
        }
        Ok(reply::versioned_response(
            StatusCode::OK,
            response.body,
            Some(version),
            self.context.id(),
        ))
    }

    /// Records a response with sensitive data in the audit log. Other responses are cached.
    async fn audit_or_cache(
        &self,
        sensitive: Option<SensitiveRead>,
        response: CachedResponse,
    ) -> Result<CachedResponse> {
        let Some(read) = sensitive else { return Ok(self.cache(response)) };
        let audit = move |tx: &Tx<'_>| tx.audit(read.action, &read.subject, &read.details);
        self.app.db.write(self.scope(), audit).await?;
        Ok(response)
    }

    /// Reads a page of a list. The response is cached until something in the account changes.
    pub async fn page<T, F>(
        self,
        paging: Paging<F>,
        work: impl FnOnce(&Reader<'_>, &TeamAccess, &F, &Page<T::SortKey>) -> Result<Vec<T>>
        + Send
        + 'static,
    ) -> Result<Response>
    where
        T: Serialize + Paged + Send + 'static,
        T::SortKey: SortKey + Send,
        F: Send + 'static,
    {
        self.page_audited(paging, work, |_| None).await
    }

    /// Reads a page of a list. If `sensitive` finds sensitive data in it, every read is recorded in the audit log.
    pub async fn page_audited<T, F>(
        self,
        paging: Paging<F>,
        work: impl FnOnce(&Reader<'_>, &TeamAccess, &F, &Page<T::SortKey>) -> Result<Vec<T>>
        + Send
        + 'static,
        sensitive: impl FnOnce(&[T]) -> Option<SensitiveRead> + Send,
    ) -> Result<Response>
    where
        T: Serialize + Paged + Send + 'static,
        T::SortKey: SortKey + Send,
        F: Send + 'static,
    {
        let filters = cursor::filters(&self.query);
        let list = List {
            account: self.credential.account_id,
            route: &self.path,
            filters: &filters,
            order: paging.order,
        };
        let page: Page<T::SortKey> = paging.page(&self.app.cursor_key, &list)?;
        let limit = paging.limit;
        let response = if let Some(response) = self.find_cached() {
            response
        } else {
            let (db, access) = (&self.app.db, self.team_access.clone());
            let read = db.read(self.scope(), move |db| work(db, &access, &paging.filter, &page));
            let cursor = |place: T::SortKey| self.app.cursor_key.encode(&list, &place);
            let rows = read.await?;
            // The last row only shows that there is a next page. It is not sent.
            let sent = usize::try_from(limit).map_or(rows.len(), |limit| limit.min(rows.len()));
            let sensitive_read = sensitive(&rows[..sent]);
            self.audit_or_cache(sensitive_read, reply::list_response(rows, limit, cursor)?).await?
        };
        Ok(self.page_response(&response, &list, limit))
    }

    /// Reads a page of a log of which the caller may see only some entries. The next page continues after the
    /// last entry that was examined, visible or not. Never cached, because the cache key does not cover what
    /// the caller may see.
    pub async fn log_page<F: Send + 'static>(
        self,
        paging: Paging<F>,
        work: impl FnOnce(&Reader<'_>, &F, &Page<i64>) -> Result<LogPage> + Send + 'static,
    ) -> Result<Response> {
        let filters = cursor::filters(&self.query);
        let (account, order) = (self.credential.account_id, paging.order);
        let list = List { account, route: &self.path, filters: &filters, order };
        let page = paging.page(&self.app.cursor_key, &list)?;
        let limit = paging.limit;
        let read = self.app.db.read(self.scope(), move |db| work(db, &paging.filter, &page));
        let cursor = |position| self.app.cursor_key.encode(&list, &position);
        let response = reply::log_response(&read.await?, order, cursor)?;
        Ok(self.page_response(&response, &list, limit))
    }

    /// The response with a page and the `Link` to the next one.
    fn page_response(&self, response: &CachedResponse, list: &List<'_>, limit: i64) -> Response {
        let List { route, filters, order, .. } = list;
        let link = response.next.as_deref().map(|next| {
            let and = if filters.is_empty() { "" } else { "&" };
            let path = format!("{route}?{filters}{and}limit={limit}&order={order}&cursor={next}");
            format!("<{}>; rel=\"next\"", public_url::reference(&self.app, &path))
        });
        reply::page_response(response.body.clone(), link.as_deref(), self.context.id())
    }

    /// The cached response to the same request with the same access.
    fn find_cached(&self) -> Option<CachedResponse> {
        if self.bypass_cache {
            return None;
        }
        self.app.cache.get(&self.cache_key(), self.credential.sequence, self.app.clock.now())
    }

    fn cache(&self, response: CachedResponse) -> CachedResponse {
        self.cache_until(response, None)
    }

    fn cache_until(&self, response: CachedResponse, until: Option<Timestamp>) -> CachedResponse {
        if !self.bypass_cache {
            let sequence = self.credential.sequence;
            self.app.cache.put(self.cache_key(), (sequence, until), response.clone());
        }
        response
    }

    /// The cache key: everything the response depends on besides the state of the account. A caller with restricted
    /// access has entries of its own. What a user may see follows from the state of the account.
    fn cache_key(&self) -> String {
        let account = self.credential.account_id.bits();
        let restricted = match self.team_access {
            TeamAccess::AllTeams => String::new(),
            TeamAccess::Teams(_) | TeamAccess::User(_) => self.credential.actor(),
        };
        format!("{account:x} {restricted} {}?{}", self.path, self.query)
    }
}
