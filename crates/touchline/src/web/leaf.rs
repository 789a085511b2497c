//! A list on a page: the rows that are shown, and where "Load more" leads. It pages with the same
//! cursors as the API.

use store::Reader;

use super::cursor::{self, List, Place};
use super::form::Form;
use super::visitor::Visitor;
use crate::accounts::permits::Needs;
use crate::error::Result;
use crate::paging::{Order, Page, Paged};

/// How many rows a page shows at once, unless its address says otherwise.
const ROWS: i64 = 25;
const MOST: i64 = 100;

/// The address of a page with a list. Fields that were left empty count as not there, since that is how
/// browsers send a row of filters.
#[derive(Debug)]
pub struct Asked {
    path: String,
    pub form: Form,
    filters: String,
    order: Order,
}

impl Asked {
    /// What a visitor asked for, of a list in this order.
    pub fn of<N>(visitor: &Visitor<N>, order: Order) -> Result<Self> {
        let asked = &visitor.guest.asked;
        let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
        let pairs = form_urlencoded::parse(query.as_bytes());
        let told = pairs.filter(|(name, value)| name != "done" && !value.trim().is_empty());
        let told = form_urlencoded::Serializer::new(String::new()).extend_pairs(told).finish();
        let (path, form) = (path.to_owned(), visitor.guest.query()?);
        Ok(Self { path, form, filters: cursor::filters(&told), order })
    }

    /// The filters as they stand in an address.
    pub fn filters(&self) -> &str {
        &self.filters
    }

    fn limit(&self) -> i64 {
        let told = self.form.maybe("limit").and_then(|text| text.parse().ok());
        told.filter(|limit| (1..=MOST).contains(limit)).unwrap_or(ROWS)
    }

    fn list<N: Needs>(&self, visitor: &Visitor<N>) -> Result<List<'_>> {
        let account = visitor.club()?;
        Ok(List { account, route: &self.path, filters: &self.filters, order: self.order })
    }

    /// The part of the list that is asked for.
    pub fn page<N: Needs, P: Place>(&self, visitor: &Visitor<N>) -> Result<Page<P>> {
        let (key, own) = (&visitor.app().cursors, self.list(visitor)?);
        let cursor = self.form.maybe("cursor");
        let last = cursor.map(|cursor| key.place(&own, cursor)).transpose()?;
        Ok(Page { limit: self.limit(), order: self.order, last })
    }

    /// The address of what follows after a place.
    pub fn next<N: Needs, P: Place>(&self, visitor: &Visitor<N>, place: &P) -> Result<String> {
        let cursor = visitor.app().cursors.cursor(&self.list(visitor)?, place);
        let and = if self.filters.is_empty() { "" } else { "&" };
        let limit = self.limit();
        Ok(format!("{}?{}{and}limit={limit}&cursor={cursor}", self.path, self.filters))
    }
}

/// Rows of a list, and the address of the next ones; empty if there are none.
#[derive(Debug)]
pub struct Leaf<T> {
    pub rows: Vec<T>,
    pub next: String,
}

impl<T> Leaf<T>
where
    T: Paged + Send + 'static,
    T::Place: Place + Copy + Send + 'static,
{
    /// Reads the part of a list that is asked for.
    pub async fn read<N: Needs>(
        visitor: &Visitor<N>,
        asked: &Asked,
        work: impl FnOnce(&Reader<'_>, &Page<T::Place>) -> Result<Vec<T>> + Send + 'static,
    ) -> Result<Self> {
        let page: Page<T::Place> = asked.page(visitor)?;
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let mut rows = visitor.read(move |db| work(db, &page)).await?;
        // One more than wanted only tells that there is more.
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more);
        let next = last.map(|last| asked.next(visitor, &last.place())).transpose()?;
        Ok(Self { rows, next: next.unwrap_or_default() })
    }
}
