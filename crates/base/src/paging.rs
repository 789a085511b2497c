//! Keyset pagination of lists.
//!
//! The next page starts after the sort key of the last row, not after a number of rows. So no row is skipped or
//! repeated when rows are added or removed in between, and the last page is as cheap as the first.

use kit::{Id, string_enum};

string_enum! {
    /// The sort direction of a list.
    pub enum Order as SortOrder {
        Asc = "asc",
        Desc = "desc",
    }
}

/// A row of a paginated list.
pub trait Paged {
    /// The values that the list is sorted by.
    type SortKey;
    /// The sort key of this row.
    fn sort_key(&self) -> Self::SortKey;
}

/// A requested page.
#[derive(Debug, Clone)]
pub struct Page<P> {
    /// The maximum number of rows.
    pub limit: i64,
    pub order: Order,
    /// The sort key of the last row of the previous page.
    pub last: Option<P>,
}

impl<P: Clone> Page<P> {
    /// The sort key after which this page starts. The first page starts at the smallest or greatest possible key.
    pub fn after(&self, min: P, max: P) -> P {
        self.last.clone().unwrap_or(match self.order {
            Order::Asc => min,
            Order::Desc => max,
        })
    }

    /// The number of rows to fetch: one more than the limit, to find out whether there is a next page.
    pub fn fetch_limit(&self) -> i64 {
        self.limit + 1
    }
}

impl<K> Page<Id<K>> {
    /// The id after which this page starts, and the number of rows to fetch, for [`page_sql!`].
    pub fn bounds(&self) -> (Id<K>, i64) {
        (self.after(Id::MIN, Id::MAX), self.fetch_limit())
    }
}

/// The statement of a page in the order of `id`, with the parameters `after` and `limit`:
/// `page_sql!(page, Team::SELECT, FILTER)`. The last piece ends inside a `where` clause.
///
/// For another order, name its column: `page_sql!(page, by "member_id", Rsvp::SELECT, FILTER)`. With two columns, such as
/// `by ("listed_at", "id")`, the second one has the parameter `after_id`.
#[macro_export]
macro_rules! page_sql {
    ($page:expr, by $key:literal, $($piece:expr),+) => {
        match $page.order {
            $crate::paging::Order::Asc => ::store::sql!(
                $($piece),+, " and ", $key, " > :after order by ", $key, " limit :limit"
            ),
            $crate::paging::Order::Desc => ::store::sql!(
                $($piece),+, " and ", $key, " < :after order by ", $key, " desc limit :limit"
            ),
        }
    };
    ($page:expr, by ($key:literal, $id:literal), $($piece:expr),+) => {
        match $page.order {
            $crate::paging::Order::Asc => ::store::sql!(
                $($piece),+, " and (", $key, ", ", $id, ") > (:after, :after_id) order by ",
                $key, ", ", $id, " limit :limit"
            ),
            $crate::paging::Order::Desc => ::store::sql!(
                $($piece),+, " and (", $key, ", ", $id, ") < (:after, :after_id) order by ",
                $key, " desc, ", $id, " desc limit :limit"
            ),
        }
    };
    ($page:expr, $($piece:expr),+) => { $crate::paging::page_sql!($page, by "id", $($piece),+) };
}
pub use page_sql;

/// The matching entries of a part of a log.
#[derive(Debug)]
pub struct LogPage {
    /// The matching entries, each as JSON.
    pub entries: Vec<String>,
    /// The sequence number of the last entry that was examined, matching or not.
    pub last_sequence: i64,
    /// Whether the log has more entries after that.
    pub has_more: bool,
}
