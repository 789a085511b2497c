//! A page of a list: how many, in which order, and after which place.
//!
//! A page continues after the sort value of its last row, never after a number of rows, so nothing is
//! skipped or shown twice when rows come and go, and the last page costs what the first costs.

use kit::words;

words! {
    /// The direction of a list.
    pub enum Order {
        Asc = "asc",
        Desc = "desc",
    }
}

/// Something that is listed in pages.
pub trait Paged {
    /// The sort values of the list's order.
    type Place;
    /// Where this row stands in it.
    fn place(&self) -> Self::Place;
}

/// The page that was asked for.
#[derive(Debug, Clone)]
pub struct Page<P> {
    /// How many rows the caller wants.
    pub limit: i64,
    pub order: Order,
    /// The place of the last row of the page before.
    pub last: Option<P>,
}

impl<P: Copy> Page<P> {
    /// The place after which this page begins; a first page begins at the end of all places.
    pub fn after(&self, least: P, greatest: P) -> P {
        self.last.unwrap_or(match self.order {
            Order::Asc => least,
            Order::Desc => greatest,
        })
    }

    /// How many rows to fetch: one more than wanted tells whether there is a next page.
    pub fn fetch(&self) -> i64 {
        self.limit + 1
    }
}

/// A part of a log, as far as it was looked through.
#[derive(Debug)]
pub struct Stretch {
    /// What was found, each as JSON.
    pub found: Vec<String>,
    /// The last number that was looked at.
    pub until: i64,
    /// Whether the log goes on.
    pub more: bool,
}
