//! A list on a page: the part of it that is shown, and where "Load more" leads. It pages with the same
//! cursors as the API.

use super::cursor::{List, Place};
use super::form::Form;
use super::visitor::Visitor;
use crate::accounts::permits::Needs;
use crate::app::App;
use crate::error::Result;
use crate::ids::AccountId;
use crate::paging::{Order, Page, Paged};

/// How many rows a page shows at once, unless its address says otherwise.
const ROWS: i64 = 50;
const MOST: i64 = 100;

/// The part of a list that a visitor asked for.
#[derive(Debug)]
pub struct Leaf<P> {
    account: AccountId,
    /// The address of the list's page.
    route: &'static str,
    pub page: Page<P>,
}

impl<P: Place> Leaf<P> {
    /// The part that the address of the page asks for.
    pub fn of<N: Needs>(visitor: &Visitor<N>, route: &'static str, order: Order) -> Result<Self> {
        let account = visitor.club()?;
        let query = visitor.guest.asked.split_once('?').map_or("", |(_, query)| query);
        let query = Form::parse(query.as_bytes())?;
        let whole = List { account, route, filters: "", order };
        let place = |cursor| visitor.app().cursors.place(&whole, cursor);
        let last = query.maybe("cursor").map(place).transpose()?;
        let limit = query.maybe("limit").and_then(|text| text.parse().ok());
        let limit = limit.filter(|limit| (1..=MOST).contains(limit)).unwrap_or(ROWS);
        Ok(Self { account, route, page: Page { limit, order, last } })
    }

    /// Takes the row away that only told that there is more, and says where that is; empty if there is
    /// none.
    pub fn cut<T: Paged<Place = P>>(&self, app: &App, rows: &mut Vec<T>) -> String {
        let wanted = usize::try_from(self.page.limit).unwrap_or(usize::MAX);
        let more = rows.len() > wanted;
        rows.truncate(wanted);
        match rows.last().filter(|_| more) {
            Some(last) => {
                let (account, route, order) = (self.account, self.route, self.page.order);
                let whole = List { account, route, filters: "", order };
                let cursor = app.cursors.cursor(&whole, &last.place());
                format!("{route}?limit={}&cursor={cursor}", self.page.limit)
            }
            None => String::new(),
        }
    }
}
