//! Paginated lists on pages: the rows to show and the URL of "Load more". They use the same cursors as the API.

use super::cursor::{self, SortKey};
use super::form::Form;
use super::list::{Column, List, Times};
use super::sentence::Label;
use super::visitor::Visitor;
use crate::accounts::permissions::Permission;
use crate::prelude::*;

/// The number of rows on a page if the URL has no `limit`.
const DEFAULT_ROWS: i64 = 25;
const MAX_ROWS: i64 = 100;

/// The request for a page with a list. Empty parameters count as absent, because browsers also send the filters that
/// were left empty.
#[derive(Debug)]
pub struct ListRequest {
    path: String,
    pub form: Form,
    filters: String,
    order: Order,
}

impl ListRequest {
    /// Reads the path, filters and paging parameters from the visitor's request.
    pub fn from_visitor<N>(visitor: &Visitor<N>, order: Order) -> Result<Self> {
        let uri = &visitor.guest.path_and_query;
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let pairs = form_urlencoded::parse(query.as_bytes());
        let pairs = pairs.filter(|(name, value)| name != "done" && !value.trim().is_empty());
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let (path, form) = (path.to_owned(), visitor.guest.query()?);
        Ok(Self { path, form, filters: cursor::filters(&query), order })
    }

    /// The filters as a query string.
    pub fn filters(&self) -> &str {
        &self.filters
    }

    fn limit(&self) -> i64 {
        let limit = self.form.optional("limit").and_then(|text| text.parse().ok());
        limit.filter(|limit| (1..=MAX_ROWS).contains(limit)).unwrap_or(DEFAULT_ROWS)
    }

    fn list<N: Permission>(&self, visitor: &Visitor<N>) -> Result<cursor::List<'_>> {
        let account = visitor.club()?;
        Ok(cursor::List { account, route: &self.path, filters: &self.filters, order: self.order })
    }

    /// The requested page of the list.
    pub fn page<N: Permission, P: SortKey>(&self, visitor: &Visitor<N>) -> Result<Page<P>> {
        let (key, list) = (&visitor.app().cursor_key, self.list(visitor)?);
        let cursor = self.form.optional("cursor");
        let previous = cursor.map(|text| key.decode(&list, text)).transpose()?;
        Ok(Page { limit: self.limit(), order: self.order, last: previous })
    }

    /// The URL of the page that follows the row with this sort key.
    pub fn next_url<N: Permission, P: SortKey>(
        &self,
        visitor: &Visitor<N>,
        sort_key: &P,
    ) -> Result<String> {
        let cursor = visitor.app().cursor_key.encode(&self.list(visitor)?, sort_key);
        let and = if self.filters.is_empty() { "" } else { "&" };
        let limit = self.limit();
        Ok(format!("{}?{}{and}limit={limit}&cursor={cursor}", self.path, self.filters))
    }
}

/// A page of rows, and the URL of the next page. The URL is empty on the last page.
#[derive(Debug)]
pub struct RowPage<T> {
    pub rows: Vec<T>,
    pub next: String,
}

impl<T> RowPage<T>
where
    T: Paged + Send + 'static,
    T::SortKey: SortKey + Clone + Send + 'static,
{
    /// Reads the requested page.
    pub async fn read<N: Permission>(
        visitor: &Visitor<N>,
        request: &ListRequest,
        work: impl FnOnce(&Reader<'_>, &Page<T::SortKey>) -> Result<Vec<T>> + Send + 'static,
    ) -> Result<Self> {
        let page: Page<T::SortKey> = request.page(visitor)?;
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let mut rows = visitor.read(move |db| work(db, &page)).await?;
        // One extra row was read to learn whether there is another page.
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| has_more);
        let next = last.map(|last| request.next_url(visitor, &last.sort_key())).transpose()?;
        Ok(Self { rows, next: next.unwrap_or_default() })
    }
}

impl<T> RowPage<T> {
    /// A table of the rows with a link to the next page.
    pub fn list(self, caption: impl Label, columns: &[Column<T>], times: &Times) -> List {
        List::new(caption, columns, &self.rows, times).next(self.next)
    }
}
